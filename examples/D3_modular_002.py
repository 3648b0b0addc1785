"""Figures of the document on modular and recursive modelling (document 002), each with its characteristic numbers.

Writes PNG files (needs the 'viz' extra) and prints what was found beside closed forms and the author's data:

    python D3_modular_002.py            # all of them
    python D3_modular_002.py ring whitworth

Nothing of the references below is Kingpost's. Curves of the document did not survive but for some readings.
"""

import dataclasses
import sys

import numpy as np
from gallery import Panel, Table, draw, run
from scipy.interpolate import CubicSpline

from kingpost import RunSettings, inverse, open_model, sweep_linearisation


def torques_of(model, step, t_end=None, loads=()):
    """Return what method `modular` (theorem 4.3) finds for the task of the document."""
    machine = open_model(model)
    task = machine.task("002")
    task = task if t_end is None else dataclasses.replace(task, t_end=t_end)
    how, stepper = RunSettings(loads=loads), f"backward-euler:step={step}"
    return inverse(machine.mechanism, task, method="modular", stepper=stepper, how=how, plugins=machine.plugins)


def steady_angle(slope, ratio):
    """Return the angle at which everything speeds up alike, of the formula for m2/m1 in example 4.2; by halving."""
    low, high = 0.0, slope
    for _ in range(60):
        middle = (low + high) / 2
        below = np.sin(middle) / (2 * np.sin(slope) * np.cos(middle - slope) - 3 * np.sin(middle) + np.sin(slope)) - 1
        low, high = (middle, high) if -1 <= below < ratio else (low, middle)
    return (low + high) / 2


def ring(table: Table) -> None:
    """Figs. 4.15 and 4.17: a disc rolls in a ring that rolls down a slope; where it stays, and how it swings about that."""
    machine = open_model("ring-and-disc")
    history = machine.simulate(t_end=5.0, step=1e-3, output_step=5e-3)
    theta = history["theta"]
    # Errors of rk4 are (w h)^4 of a swing with 3 rad/s, and samples miss a turning point by (w h)^2 / 8 of it: 3e-5 rad.
    for t, wanted in ((1.0, 0.228206), (2.0, 0.883813), (5.0, 1.143761)):
        table.row(f"theta({t:g} s)", theta[round(t / 5e-3)], wanted, 1e-6, "rad")
    table.row("theta, lowest", np.degrees(theta.min()), 8.4108, 2e-3, "deg")
    slopes = np.radians(np.linspace(2.0, 80.0, 40))
    curves = []
    for name, ratio, wanted in (("8/67", 8 / 67, 22.525), ("1/2", 0.5, 24.056), ("1", 1.0, 25.316), ("5", 5.0, 28.264)):
        angles = np.degrees([steady_angle(slope, ratio) for slope in slopes])
        curves.append((f"m2/m1 = {name}", np.degrees(slopes), angles))
        at_30 = np.degrees(steady_angle(np.radians(30.0), ratio))
        table.row(f"steady angle at 30 deg, m2/m1 = {name}", at_30, wanted, 6e-4, "deg")
    held = steady_angle(np.arcsin(0.8), 8 / 67)
    table.row("steady angle of the run", np.degrees(held), np.degrees(np.arcsin(0.6)), 1e-9, "deg")
    swing = Panel("theta [rad]", [("", history.time, theta), ("steady", [0, 5], [held, held], {"ls": "--"})])
    draw("002-ring.png", "Document 002, Figs. 4.15, 4.17: ring and disc",
         [Panel("steady theta [deg]", curves, xlabel="slope [deg]"), swing])  # fmt: skip


def slider_crank(table: Table) -> None:
    """Figs. 4.9 to 4.13: torque, reactions and friction of the slider-crank in space; jumps where the slider turns back."""
    history = torques_of("spatial-slider-crank", 0.005, loads=("guide",))
    rows = {
        0.05: (27.44449, -5.80370, 17.38870, 9.16583),
        0.10: (6.93901, -8.00520, 12.92572, 7.60193),
        0.15: (-8.25343, 6.97690, -3.80674, 3.97393),
        0.40: (4.55973, -3.98349, 8.16715, -4.54342),
        0.45: (25.09193, -3.44144, 12.68357, -6.57108),
    }
    names = ("torque", "guide.Fy", "guide.Fz", "guide.Fx")
    for t, wanted in rows.items():
        for name, value in zip(names, wanted, strict=True):
            table.row(f"{name} at {t:g} s", history[name][round(t / 0.005)], value, 6e-6, history.unit(name))
    # Power of torque and friction is the rate of the kinetic energy, 16 J at up to 50 rad/s: a spline is off by h^3 / 24 of
    # its fourth derivative.
    power = history["torque"] * history["shaft.angle.rate"] + history["guide.friction.Fx"] * history["guide.displacement.rate"]
    rate = CubicSpline(history.time, history["energy.kinetic"])(history.time, 1)
    inner = slice(5, -5)
    table.below("power less rate of energy", np.abs(power - rate)[inner].max(), 0.5, "W")
    panels = [Panel(f"{name} [{history.unit(name)}]", [("", history.time, history[name])]) for name in names]
    draw("002-slider-crank.png", "Document 002, Figs. 4.9-4.13: slider-crank in space", panels)


def whitworth(table: Table) -> None:
    """Figs. 5.11 to 5.13: Whitworth's quick return over a turn of its crank, in 4 s."""
    history = torques_of("whitworth", 0.005, 4.0)
    # Readings of the author's figures have two digits; extrema of samples 5 ms apart are off by (12 h)^2 / 8, 5e-4 of them.
    extrema = {
        "rail.displacement.rate": (0.87072, -0.31477),
        "lever-pivot.angle.rate": (0.50325, -1.40085),
        "torque": (0.95237, -1.00406),
    }
    for name, (high, low) in extrema.items():
        table.row(f"{name}, highest", history[name].max(), high, 6e-4 * abs(high) + 6e-6, history.unit(name))
        table.row(f"{name}, lowest", history[name].min(), low, 6e-4 * abs(low) + 6e-6, history.unit(name))
    x = history["rail.displacement"]
    table.row("stroke", np.ptp(x), 0.58310, 2e-5, "m")
    table.below("work of a turn", abs(history["servo.work"][-1]), 1e-6, "J")
    panels = [Panel(f"{name} [{history.unit(name)}]", [("", history.time, history[name])]) for name in extrema]
    draw("002-whitworth.png", "Document 002, Figs. 5.11-5.13: quick return", panels, columns=3)


def three_legs(table: Table) -> None:
    """Figs. 5.19 to 5.21: torques of the plane manipulator on three legs, over 8 s."""
    history = torques_of("rrr-parallel", 0.02, 8.0)
    rows = [
        (-4.10916, 4.79659, -5.02503),
        (7.17420, 4.16660, -0.61282),
        (6.90788, -7.33861, 3.28025),
        (-0.66276, 0.94118, 1.50228),
        (-7.33762, 8.05715, -4.34370),
        (4.12235, 1.42105, 6.43340),
        (0.11951, -10.96923, 2.68388),
    ]
    for t, wanted in enumerate(rows, start=1):
        for k, value in enumerate(wanted, start=1):
            table.row(f"torque{k} at {t} s", history[f"torque{k}"][round(t / 0.02)], value, 6e-6, "N m")
    curves = [(f"torque{k}", history.time, history[f"torque{k}"]) for k in (1, 2, 3)]
    path = Panel("platform [m]", [("", history["platform.x"], history["platform.y"])], xlabel="x [m]", equal=True)
    draw("002-three-legs.png", "Document 002, Figs. 5.19-5.21: 3RRR", [Panel("torques [N m]", curves), path])


COLOURS = {"weave": "C0", "capsize": "C2", "castering": "C3"}


def tricycle(table: Table) -> None:
    """Figs. 5.4 and 5.5: eigenvalues of the tadpole tricycle over its speed, and ratios of steer to lean."""
    machine = open_model("tadpole-tricycle")
    loci = sweep_linearisation(machine.mechanism, "speed=0.5..10:39", plugins=machine.plugins)
    rows = [loci.shape_names.index(name) for name in ("steer.angle", "attitude.lean")]
    speeds, values = loci.values, loci.eigenvalues
    # Of our way to close the table of the document, which does not: weave gets stable, then capsize unstable.
    for what, kind, wanted in (("weave is stable from", "flutter", 3.66), ("capsize is stable up to", "divergence", 4.34)):
        (change,) = (item.value for item in loci.criticals if item.kind == kind)
        table.row(what, change, wanted, 6e-3, "m/s")
    ratios = loci.shapes[:, rows[0], :] / loci.shapes[:, rows[1], :]
    castering = int(np.argmin(values[-1].real))
    table.below("1 / castering's ratio of steer to lean", 1 / np.abs(ratios[:, castering]).min(), 1 / 5)
    names = ["weave" if abs(values[-1, k].imag) > 1e-6 else "castering" if k == castering else "capsize" for k in range(4)]
    names = [name if name not in names[:k] else f"_{name}" for k, name in enumerate(names)]  # a pair has one name

    def over_speed(title, curves, **style):
        drawn = [(name, speeds, curves[:, k], {"color": COLOURS[name.strip("_")], **style}) for k, name in enumerate(names)]
        return Panel(title, drawn, xlabel="v [m/s]")

    dots = {"ls": "", "marker": ".", "ms": 3}
    panels = [
        over_speed("real parts [1/s]", values.real),
        over_speed("frequencies [rad/s]", np.abs(values.imag)),
        over_speed("|steer / lean|, up to 20", np.minimum(np.abs(ratios), 20)),
        over_speed("phase of steer / lean [rad]", np.abs(np.angle(ratios)), **dots),
    ]
    draw("002-tricycle.png", "Document 002, Figs. 5.4, 5.5: tadpole tricycle", panels)


FIGURES = {
    "ring": ring,
    "slider-crank": slider_crank,
    "whitworth": whitworth,
    "three-legs": three_legs,
    "tricycle": tricycle,
}

if __name__ == "__main__":
    run(FIGURES, sys.argv[1:])
