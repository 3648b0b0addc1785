"""A crane on a vessel as one machine, and the same in two halves that are coupled: when that works, and what it costs.

The crane is parked, its load swings. The lighter the vessel against it, the worse the usual interface does (acceleration one
way, wrench the other): beyond a ratio of roll inertias of about one it diverges at any step. With the crane's interface inertia
it does not. Run it in any folder:

    python B4_split_or_whole.py
    python B4_split_or_whole.py --ratios 1.06 --steps 0.01
"""

import argparse

import numpy as np

from kingpost import PluginSet, SolverError, prepare, simulate
from kingpost.fmu.cosim import Component, Connection, System, cosimulate

END = 20.0
#: Channels of the whole, and of the halves.
COMPARED = {
    "roll": ("hull.qx", "vessel.hull.qx"),
    "heave": ("hull.z", "vessel.hull.z"),
    "rope force": ("rope.Fz", "crane.rope.Fz"),
    "slew moment": ("slew.Mx", "crane.slew.Mx"),
    "slew force": ("slew.Fz", "crane.slew.Fz"),
}
COUPLINGS = {
    "interface inertia": ("small-vessel", "interface-inertia"),
    "Gauss-Seidel": ("small-vessel-plain", "gauss-seidel"),
    "Jacobi": ("small-vessel-plain", "jacobi"),
}

plugins = PluginSet()
whole = plugins.models.get("small-crane-parked")().build()
# The crane alone, on a base at rest.
still = simulate(plugins.models.get("small-crane-parked-on-base")().build(), 0.01, output_step=0.01, plugins=plugins)


def hull_for(ratio):
    """Return the radius of gyration with which the crane's apparent roll inertia is ``ratio`` times the vessel's."""
    A = {(i, j): still[f"foot.A{i}{j}"][0] for i in range(1, 7) for j in range(i, 7)}
    mount = next(force for force in plugins.models.get("small-vessel")().build().forces if force.name == "crane")
    _, y, z = mount.options["position"]
    # About the vessel's origin: a roll of 1 rad/s^2 there moves the foot by -z to the side and y upwards.
    apparent = A[1, 1] + 2 * (y * A[1, 6] - z * A[1, 5]) + z**2 * A[5, 5] + y**2 * A[6, 6] - 2 * y * z * A[5, 6]
    mass = next(parameter.default for parameter in whole.parameters if parameter.name == "hull_mass")
    return (apparent / (ratio * 1.2 * mass)) ** 0.5  # the water adds a fifth to the hull's own inertia


def reference(settings):
    """Return the start of the whole machine at rest, and its motion at a tight tolerance."""
    rest = prepare(whole, 0.01, output_step=0.01, settings=settings, start="equilibrium", plugins=plugins).x0
    names = [quantity.name for quantity in whole.coordinates]
    start = dict(zip(names, map(float, rest), strict=False))
    history = simulate(
        whole, END, settings={**settings, **start}, integrator="dop853:rtol=1e-9,atol=1e-9", output_step=0.1,
        loads=["slew", "rope"], plugins=plugins,
    )  # fmt: skip
    return start, history


def halves(vessel, master, step, settings, start):
    """Return the coupled system."""
    of_hull = {name: value for name, value in start.items() if name.startswith("hull.")}
    of_crane = {name: value for name, value in start.items() if name not in of_hull}
    if vessel.endswith("-plain"):
        # Its acceleration depends on the wrench at once, so it needs one to begin with; the other finds its own.
        of_hull |= {f"crane_{name}": float(still[f"foot.{name}"][0]) for name in ("Mx", "My", "Mz", "Fx", "Fy", "Fz")}
    return System(
        "split",
        components=[
            Component("crane", model="small-crane-parked-on-base", settings=of_crane, loads=["slew", "rope"]),
            Component("vessel", model=vessel, settings={**settings, **of_hull}),
        ],
        connections=[Connection("crane.foot", "vessel.mount")],
        step=step,
        t_end=END,
        master=master,
    )


def row(system, exact):
    """Return the largest error of each channel, in percent of its largest value, or how the coupling ended."""
    try:
        history = cosimulate(system, plugins=plugins)
    except SolverError as error:
        why = "the coupling diverges" if "diverge" in str(error) else str(error)
        return f"  stopped at t = {error.history.time[-1]:.3g} s: {why}"
    every, errors = round(0.1 / system.step), []
    for one, split in COMPARED.values():
        difference = history[split][::every] - exact[one]
        errors.append(100 * np.abs(difference).max() / np.abs(exact[one]).max())
    return "  ".join(f"{error:11.4f}" for error in errors)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ratios", type=float, nargs="+", default=[0.2, 0.75, 1.06, 1.6])
    parser.add_argument("--steps", type=float, nargs="+", default=[0.01, 0.1])
    arguments = parser.parse_args()
    print(f"{'ratio':>5}  {'step':>5}  {'coupling':<18}" + "  ".join(f"{name:>11}" for name in COMPARED) + "   (errors in %)")
    for ratio in arguments.ratios:
        settings = {"roll_radius": hull_for(ratio)}
        start, exact = reference(settings)
        for step in arguments.steps:
            for name, (vessel, master) in COUPLINGS.items():
                print(
                    f"{ratio:5g}  {step:5g}  {name:<18}{row(halves(vessel, master, step, settings, start), exact)}", flush=True
                )
