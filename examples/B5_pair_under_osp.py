"""A crane FMU on a vessel FMU under the engine of the Open Simulation Platform, with all files written here.

The vessel is light: the crane's apparent roll inertia is 1.6 times its own. The crane's interface inertia, which the engine
does no more than pass on, keeps its fixed-step algorithm stable. Beside it: the same by 'kingpost cosim', and vessel and crane
as one machine. With --plain also the usual interface, acceleration one way and wrench the other, which diverges in any engine
of this kind.
Needs libcosimpy (pip install libcosimpy). Run it in any folder:

    python B5_pair_under_osp.py
"""

import argparse
from pathlib import Path

import numpy as np

from kingpost import PluginSet, SolverError, simulate
from kingpost.fmu.cosim import Component, Connection, System, cosimulate
from kingpost.fmu.osp import write_osp_description

STEP, END = 0.01, 5.0
HULL = {"roll_radius": 2.0957, "wave_amplitude": 0.3, "hull.wx": 0.05}

plugins = PluginSet()
crane = Component("crane", model="small-crane-parked-on-base", loads=["slew"])


def pair(vessel):
    """Return the coupled system with one of the two vessels."""
    return System(
        "pair",
        components=[crane, Component("vessel", model=vessel, settings=HULL)],
        connections=[Connection("crane.foot", "vessel.mount")],
        step=STEP,
        t_end=END,
        master="jacobi",  # libcosim's fixed-step algorithm under its name here
        record=["vessel.hull.*", "crane.slew.*", "crane.foot.*"],
    )


def under_libcosim(folder, shown):
    """Run a folder in libcosim and return samples of some variables, up to where it ends."""
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimObserver import CosimObserver

    log_output_level(CosimLogLevel.FATAL)
    execution = CosimExecution.from_osp_config_file(osp_path=str(folder))
    observer = CosimObserver.create_last_value()
    execution.add_observer(observer=observer)
    places = []
    for name in shown:
        simulator, _, variable = name.partition(".")
        index = execution.slave_index_from_instance_name(simulator)
        known = {entry.name.decode(): entry.reference for entry in execution.slave_variables(slave_index=index)}
        places.append((index, known[variable]))
    rows = []
    for _ in range(round(END / STEP)):
        if not execution.step():
            break
        rows.append([observer.last_real_values(slave_index=index, variable_references=[ref])[0] for index, ref in places])
    return np.array(rows).reshape(-1, len(shown))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--plain", action="store_true", help="the usual interface, too")
    vessels = ["small-vessel", "small-vessel-plain"] if parser.parse_args().plain else ["small-vessel"]
    shown = ["vessel.hull.qx", "vessel.hull.z", "crane.slew.Mx", "crane.slew.Fz"]
    whole = plugins.models.get("small-crane-parked")().build()
    exact = simulate(
        whole, END, settings=HULL, integrator="dop853:rtol=1e-9,atol=1e-9", output_step=STEP, loads=["slew"], plugins=plugins
    )
    exact = exact.select([name.partition(".")[2] for name in shown])[1:]
    largest = np.abs(exact).max(axis=0)
    for vessel in vessels:
        system = pair(vessel)
        folder = system.write_osp(Path(vessel), plugins).parent
        for name in ("crane", "vessel"):
            write_osp_description(folder / f"{name}.fmu")
        print(f"{folder}/: {', '.join(sorted(path.name for path in folder.iterdir()))}")
        theirs = under_libcosim(folder, shown)
        try:
            ours = cosimulate(system, plugins=plugins).select(shown)[1:]
        except SolverError as error:
            print(f"  kingpost cosim: stopped at t = {error.history.time[-1]:.2f} s, the coupling diverges")
            print(f"  libcosim: the last step that it could take ended at t = {STEP * len(theirs):.2f} s")
            continue
        print(f"  libcosim and kingpost cosim differ by {(np.abs(theirs - ours).max(axis=0) / largest).max():.1e}")
        errors = 100 * np.abs(ours - exact).max(axis=0) / largest
        print("  off the whole by " + ", ".join(f"{name} {error:.2f} %" for name, error in zip(shown, errors, strict=True)))
