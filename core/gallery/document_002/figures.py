"""Figures of chapters 4 and 5 of the thesis on modular and recursive modelling (document 002).

Nothing of the references below is Kingpost's. Curves of the document did not survive but for readings of the author's own
pictures, which two packages hold that the document points to.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from kingpost import RunSettings, evaluate, inverse, open_model, simulate, sweep_linearisation
from kingpost.base.arrays import FloatArray
from kingpost.gallery.entry import Panel, Sheet
from kingpost.results.history import History


def torques_of(model: str, step: float, t_end: float | None = None, loads: tuple[str, ...] = ()) -> History:
    """Return what method `modular` (theorem 4.3) finds for the task of the document."""
    machine = open_model(model)
    task = machine.task("002")
    task = task if t_end is None else dataclasses.replace(task, t_end=t_end)
    how, stepper = RunSettings(loads=loads), f"backward-euler:step={step}"
    return inverse(machine.mechanism, task, method="modular", stepper=stepper, how=how, plugins=machine.plugins)


def steady_angle(slope: float, ratio: float) -> float:
    """Return the angle at which everything speeds up alike, of the formula for m2/m1 in example 4.2; by halving."""
    low, high = 0.0, slope
    for _ in range(60):
        middle = (low + high) / 2
        below = np.sin(middle) / (2 * np.sin(slope) * np.cos(middle - slope) - 3 * np.sin(middle) + np.sin(slope)) - 1
        low, high = (middle, high) if -1 <= below < ratio else (low, middle)
    return (low + high) / 2


def swing_rate(held: float, **changes: float) -> float:
    """Return w of the linear model, w^2 = -d theta'' / d theta at rest, by central differences of accelerations."""
    machine = open_model("ring-and-disc")
    slope = changes.get("slope", float(np.arcsin(0.8)))

    def acceleration(angle: float) -> float:
        settings = {**changes, "start_angle": angle}
        found = evaluate(machine.mechanism, settings=settings, loads=(), plugins=machine.plugins)
        along = dict(zip(found["names"]["v"], found["vdot"], strict=True))
        # x of the disc less that of the ring's centre is (r1 - r2) sin(slope - theta), and nothing moves.
        across = along["disc.x.rate"] - along["centre.x.rate"]
        return float(-across / (0.7 * np.cos(slope - angle)))

    step = 1e-4
    return float(np.sqrt(-(acceleration(held + step) - acceleration(held - step)) / (2 * step)))


def turning(history: History, body: str) -> FloatArray:
    """Return the rate of ring or disc less that of the steady motion, which grows with 4.027397 m/s^2 over the radius."""
    name, radius = ("ring.angle.rate", 1.0) if body == "ring" else ("disc.angle.rate", 0.3)
    sign = np.sign(history[name][-1])
    return history[name] - sign * 4.027397 / radius * history.time


def ring(sheet: Sheet) -> None:
    """Figs. 4.15 and 4.17: a disc rolls in a ring that rolls down a slope; where it stays, and how it swings about that."""
    machine = open_model("ring-and-disc")
    history = machine.simulate(t_end=5.0, step=1e-3, output_step=5e-3, monitors=True)
    theta = history["theta"]
    sheet.because(
        "errors of rk4 are (w h)^4 of a swing with 3 rad/s; samples miss a turning point by (w h)^2 / 8 of it, 3e-5 rad"
    )
    for at, wanted in ((1.0, 0.228206), (2.0, 0.883813), (5.0, 1.143761)):
        sheet.row(f"theta({at:g} s)", theta[round(at / 5e-3)], wanted, 1e-6, "rad")
    sheet.row("theta, lowest", np.degrees(theta.min()), 8.4108, 2e-3, "deg")
    slopes = np.radians(np.linspace(2.0, 80.0, 40))
    curves = []
    for name, ratio, wanted in (("8/67", 8 / 67, 22.525), ("1/2", 0.5, 24.056), ("1", 1.0, 25.316), ("5", 5.0, 28.264)):
        angles = np.degrees([steady_angle(slope, ratio) for slope in slopes])
        curves.append((f"m2/m1 = {name}", np.degrees(slopes), angles))
        at_30 = np.degrees(steady_angle(np.radians(30.0), ratio))
        sheet.row(f"steady angle at 30 deg, m2/m1 = {name}", at_30, wanted, 6e-4, "deg")
    held = steady_angle(np.arcsin(0.8), 8 / 67)
    sheet.row("steady angle of the run", np.degrees(held), np.degrees(np.arcsin(0.6)), 1e-9, "deg")
    # The linear model about the steady motion: theta swings with w, and everything else follows it.
    t, start, w = history.time, np.pi / 6, 2.632965
    linear = start * np.cos(w * t)
    sheet.because("w of an independent linearisation, seven digits; turning points of samples are off by half a step")
    rates = np.diff(theta)
    turns = t[1:-1][rates[1:] * rates[:-1] < 0]
    sheet.row("non-linear: half a period", float(np.mean(np.diff([0.0, *turns]))), 1.2195, 0.003, "s")
    sheet.row("linear: w", swing_rate(held), w, 2e-6, "rad/s")
    sheet.says(
        "the linear model has about the period and the amplitude of the other",
        abs(2 * np.pi / w / (2 * 1.2195) - 1) < 0.05 and abs(np.ptp(theta) / (2 * start) - 1) < 0.05,
        "example 4.7",
    )
    rate = np.gradient(theta, t)
    frequencies = []
    for name, ratio, wanted in (("8/67", 8 / 67, 3.0074), ("1/2", 0.5, 3.3654), ("1", 1.0, 3.7863), ("5", 5.0, 6.2077)):
        sheet.because("five digits of an independent linearisation")
        at_30 = swing_rate(steady_angle(np.pi / 6, ratio), slope=np.pi / 6, mass_ratio=ratio)
        sheet.row(f"w at 30 deg, m2/m1 = {name}", at_30, wanted, 6e-5, "rad/s")
        frequencies.append((ratio, at_30))
    swing = Panel(
        "theta [rad]",
        [("non-linear", t, theta), ("linear", t, held + linear, {"ls": "--"}), ("steady", [0, 5], [held, held], {"ls": ":"})],
    )
    sheet.because("rk4 in steps of 1 ms: 1000 (13 h)^5 / 120 of energies of 100 J, and rounding of invariants")
    sheet.below("error of the energy", np.abs(history["energy.error"]).max(), 1e-5, "J")
    sheet.below("error of the constraints", history["constraints.speed"].max(), 1e-11, "m/s")
    sheet.says("the numerical error is under control", history["constraints.speed"].max() < 1e-8, "example 4.7")
    further = [
        Panel("w at 30 deg [rad/s]", [("", *zip(*frequencies, strict=True), {"marker": "o"})], xlabel="m2 / m1"),
        Panel("rate of theta [rad/s]", [("non-linear", t, rate), ("linear", t, -start * w * np.sin(w * t), {"ls": "--"})]),
        *(
            Panel(f"rate of {body} less that of the steady motion [rad/s]", [("", t, turning(history, body))])
            for body in ("ring", "disc")
        ),
        Panel("error of the constraints [m/s]", [("", t, history["constraints.speed"])]),
    ]
    sheet.draw(
        "Document 002, Figs. 4.15, 4.17: ring and disc",
        [Panel("steady theta [deg]", curves, xlabel="slope [deg]"), swing, *further],
    )


def loop_errors(history: History) -> FloatArray:
    """Return how far the rod of the slider-crank is from its length, by crank and slider alone, a row for each time."""
    chi, s = history["shaft.angle"], history["guide.displacement"]
    l1, l2 = 0.5, np.sqrt(2.0)
    # The ends of the rod: l1 (0, 1 - cos chi, sin chi) across and l2 + s along.
    squared = (l2 + s) ** 2 + (l1 * (1 - np.cos(chi))) ** 2 + (l1 * np.sin(chi)) ** 2
    return np.abs(np.sqrt(squared) - l2)[:, None]


def slider_crank(sheet: Sheet) -> None:
    """Figs. 4.9 to 4.13: torque, reactions and friction of the slider-crank in space; jumps where the slider turns back."""
    sheet.because("five decimals of an independent computation")
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
            sheet.row(f"{name} at {t:g} s", history[name][round(t / 0.005)], value, 6e-6, history.unit(name))
    sheet.because("rate of a kinetic energy of 16 J at up to 50 rad/s, by a spline: off by h^3 / 24 of its fourth derivative")
    power = history["torque"] * history["shaft.angle.rate"] + history["guide.friction.Fx"] * history["guide.displacement.rate"]
    rate = CubicSpline(history.time, history["energy.kinetic"])(history.time, 1)
    inner = slice(5, -5)
    sheet.below("power less rate of energy", np.abs(power - rate)[inner].max(), 0.5, "W")
    sheet.because("closed form of the loop, to rounding")
    start = loop_errors(history)[0].max()
    sheet.below("norm of the invariants at the start", start, 1e-12, "m")
    jump = history.time[int(np.abs(np.diff(history["guide.Fx"])).argmax())]
    sheet.says(
        "friction and torque jump where the slider turns back", abs((jump + 0.0025) % 0.25 - 0.0025) < 0.006, "example 4.5"
    )
    shown = ("guide.displacement", "shaft.angle", "shaft.angle.rate", *names)
    panels = [Panel(f"{name} [{history.unit(name)}]", [("", history.time, history[name])]) for name in shown]
    panels.append(Panel("power less rate of energy [W]", [("", history.time[inner], (power - rate)[inner])]))
    sheet.draw("Document 002, Figs. 4.9-4.13: slider-crank in space", panels)


def whitworth_slider(times: FloatArray) -> FloatArray:
    """Return the place of the slider by the loop: crank from (0, 0.3), lever from the origin, rod to the rail at 0.8 m."""
    turn = np.pi / 4 + np.pi / 2 * times
    crank, lever, rod = 0.1 * np.sqrt(2), np.hypot(0.15, 0.6), np.hypot(0.65, 0.2)
    angle = np.arctan2(0.3 + crank * np.sin(turn), crank * np.cos(turn))
    place: FloatArray = lever * np.cos(angle) + np.sqrt(rod**2 - (0.8 - lever * np.sin(angle)) ** 2)
    return place


def whitworth(sheet: Sheet) -> None:
    """Figs. 5.11 to 5.13: Whitworth's quick return over a turn of its crank, in 4 s."""
    history = torques_of("whitworth", 0.005, 4.0)
    sheet.because("extrema of samples 5 ms apart are off by (12 h)^2 / 8, 5e-4 of them")
    extrema = {
        "rail.displacement.rate": (0.87072, -0.31477),
        "lever-pivot.angle.rate": (0.50325, -1.40085),
        "torque": (0.95237, -1.00406),
    }
    for name, (high, low) in extrema.items():
        sheet.row(f"{name}, highest", history[name].max(), high, 6e-4 * abs(high) + 6e-6, history.unit(name))
        sheet.row(f"{name}, lowest", history[name].min(), low, 6e-4 * abs(low) + 6e-6, history.unit(name))
    x = history["rail.displacement"]
    sheet.row("stroke", np.ptp(x), 0.58310, 2e-5, "m")
    sheet.below("work of a turn", abs(history["servo.work"][-1]), 1e-6, "J")
    error = np.abs(x - whitworth_slider(history.time))
    sheet.because("the slider's place by the closed form of the loop, to rounding; the document's own error is 8e-6")
    sheet.below("error of the constraints, at the slider", error.max(), 8e-6, "m")
    back = history["rail.displacement.rate"]
    sheet.says(
        "torque peaks where the slider returns quickly",
        abs(history.time[history["torque"].argmax()] - history.time[back.argmax()]) < 0.3,
        "section 5.3.1",
    )
    panels = [Panel(f"{name} [{history.unit(name)}]", [("", history.time, history[name])]) for name in extrema]
    panels.append(Panel("error at the slider [m]", [("", history.time, error)]))
    sheet.draw("Document 002, Figs. 5.11-5.14: quick return", panels)


def three_legs(sheet: Sheet) -> None:
    """Figs. 5.19 to 5.21: torques of the plane manipulator on three legs, over 8 s."""
    sheet.because("five decimals of an independent computation")
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
    for second, wanted in enumerate(rows, start=1):
        for k, value in enumerate(wanted, start=1):
            sheet.row(f"torque{k} at {second} s", history[f"torque{k}"][round(second / 0.02)], value, 6e-6, "N m")
    t = history.time
    x, y, angle = -np.sin(np.pi * t / 2), np.sin(np.pi * t / 4), np.pi / 6 * np.sin(np.pi * t / 4) ** 4
    error = np.hypot(history["platform.x"] - x, history["platform.y"] - y)
    sheet.because("the platform is led along the path itself; the document's own error is 4.5e-5")
    sheet.below("error of the constraints, at the platform", error.max(), 4.5e-5, "m")
    node = (x + np.cos(angle), y + np.sin(angle))
    sheet.because("places of the first node by the path, of samples 20 ms apart")
    for k, (low, high) in enumerate(((-0.00921, 1.99198), (-0.58748, 1.5))):
        sheet.row(f"q_N,1,{k + 3}, lowest", node[k].min(), low, 3e-4, "m")
        sheet.row(f"q_N,1,{k + 3}, highest", node[k].max(), high, 3e-4, "m")
    curves = [(f"torque{k}", t, history[f"torque{k}"]) for k in (1, 2, 3)]
    nodes = Panel("first node of the platform [m]", [("q_N,1,3", t, node[0]), ("q_N,1,4", t, node[1])])
    path = Panel("platform [m]", [("", history["platform.x"], history["platform.y"])], xlabel="x [m]", equal=True)
    sheet.draw(
        "Document 002, Figs. 5.16-5.23: 3RRR",
        [nodes, Panel("torques [N m]", curves), path, Panel("error of the constraints [m]", [("", t, error)])],
    )


COLOURS = {"weave": "C0", "capsize": "C2", "castering": "C3"}


def tricycle(sheet: Sheet) -> None:
    """Figs. 5.4 and 5.5: eigenvalues of the tadpole tricycle over its speed, and ratios of steer to lean."""
    sheet.because("three digits, of one of the ways to close the printed geometry")
    machine = open_model("tadpole-tricycle")
    loci = sweep_linearisation(machine.mechanism, "speed=0.5..10:39", plugins=machine.plugins)
    rows = [loci.shape_names.index(name) for name in ("steer.angle", "attitude.lean")]
    speeds, values = loci.values, loci.eigenvalues
    # Of our way to close the table of the document, which does not: weave gets stable, then capsize unstable.
    for what, kind, wanted in (("weave is stable from", "flutter", 3.66), ("capsize is stable up to", "divergence", 4.34)):
        (change,) = (item.value for item in loci.criticals if item.kind == kind)
        sheet.row(what, change, wanted, 6e-3, "m/s")
    ratios = loci.shapes[:, rows[0], :] / loci.shapes[:, rows[1], :]
    castering = int(np.argmin(values[-1].real))
    sheet.below("1 / castering's ratio of steer to lean", 1 / np.abs(ratios[:, castering]).min(), 1 / 5)
    names = ["weave" if abs(values[-1, k].imag) > 1e-6 else "castering" if k == castering else "capsize" for k in range(4)]
    names = [name if name not in names[:k] else f"_{name}" for k, name in enumerate(names)]  # a pair has one name

    def over_speed(title: str, curves: Any, **style: Any) -> Panel:
        drawn = [(name, speeds, curves[:, k], {"color": COLOURS[name.strip("_")], **style}) for k, name in enumerate(names)]
        return Panel(title, drawn, xlabel="v [m/s]")

    place = "section 5.2.5"
    sheet.says(
        "castering is real, negative and falls with speed",
        bool(np.all(np.diff(values[:, castering].real) < 0) and np.all(values[:, castering].real < 0)),
        place,
    )
    weave = [k for k in range(4) if abs(values[-1, k].imag) > 1e-6]
    sheet.says("weave becomes stable at some speed", values[0, weave].real.max() > 0 > values[-1, weave].real.max(), place)
    sheet.says(
        "the frequency of weave grows with speed", np.abs(values[-1, weave[0]].imag) > np.abs(values[5, weave[0]].imag), place
    )
    (capsize,) = (k for k in range(4) if k not in (castering, *weave))
    above = values[:, capsize].real
    sheet.says(
        "capsize is negative, passes zero, peaks and tends to it again",
        above[0] < 0 < above.max() and above[-1] < above.max(),
        place,
    )
    sheet.note(
        "Capsize's ratio of steer to lean does not change its phase twice, and settles above weave's; see the misprints."
    )
    dots = {"ls": "", "marker": ".", "ms": 3}
    table = [
        (f"{speed:g} m/s", np.arange(1, 5), np.abs(ratios[int(np.argmin(np.abs(speeds - speed)))]), {"ls": "", "marker": "o"})
        for speed in (1.0, 3.0, 5.0, 8.0)
    ]
    panels = [
        over_speed("real parts [1/s]", values.real),
        over_speed("frequencies [rad/s]", np.abs(values.imag)),
        over_speed("|steer / lean|, up to 20", np.minimum(np.abs(ratios), 20)),
        over_speed("phase of steer / lean [rad]", np.abs(np.angle(ratios)), **dots),
        Panel("eigenvectors: |steer / lean| of four modes", table, xlabel="mode"),
    ]
    sheet.draw("Document 002, Figs. 5.4 to 5.6: tadpole tricycle", panels)


#: Masses and other numbers of Table 5.1 that are parameters of the model.
TABLE_5_1 = {
    "frame_mass": 85.0,
    "rear_mass": 2.5,
    "front_mass": 2.0,
    "handlebar_mass": 3.0,
    "upper_mass": 0.75,
    "lower_mass": 0.75,
    "knuckle_mass": 0.5,
    "bar_mass": 0.3,
    "gravity": 9.81,
}


def tricycle_table(sheet: Sheet) -> None:
    """Table 5.1: masses, moments of inertia and places of the tricycle."""
    mechanism = open_model("tadpole-tricycle").mechanism
    values = {parameter.name: parameter.default for parameter in mechanism.parameters}
    sheet.because("printed numbers, as they are; masses are printed in m, and meant in kg")
    for name, value in TABLE_5_1.items():
        sheet.row(name, values[name], value, 0, "m/s^2" if name == "gravity" else "kg", "Table 5.1")
    parts: list[Any] = [mechanism.body(name) for name in ("frame", "rear-wheel", "handlebar")]
    frame, rear, handlebar = parts
    printed = {
        "frame: Ixx": (frame.inertia[0], 9.70),
        "frame: Izz": (frame.inertia[2], 3.10),
        "frame: Ixz, axes turned": (frame.inertia[4], -2.70),
        "frame: x of the centre": (frame.com[0], 0.375),
        "frame: height of the centre": (frame.com[2] + 0.253, 0.950),
        "rear wheel: axial": (rear.inertia[1], 0.180),
        "rear wheel: radial": (rear.inertia[0], 0.094),
        "handlebar: Ixx": (handlebar.inertia[0], 0.097),
        "handlebar: Izz": (handlebar.inertia[2], 0.015),
        "handlebar: x of the centre": (handlebar.com[0], 0.020),
        "handlebar: height of the centre": (handlebar.com[2], 0.820),
    }
    for name, (found, value) in printed.items():
        sheet.row(name, float(found), value, 1e-12, printed="Table 5.1")
    rods = np.array([1.040 - 1.070, 0.195 - 0.220, -0.310 + 0.209])
    knuckle = np.array([0.030 - 0.050, 0.025 - 0.0, -0.060 - 0.041])
    gap = np.abs(rods - knuckle).max()
    sheet.because("differences of printed numbers")
    sheet.row("the printed geometry does not close: gap between rods and knuckle", gap, 0.05, 1e-12, "m")
    sheet.draw(
        "Document 002, Table 5.1: upper to lower ball",
        [
            Panel(
                "components [m]",
                [
                    ("rods", [1, 2, 3], rods, {"ls": "", "marker": "o"}),
                    ("knuckle", [1, 2, 3], knuckle, {"ls": "", "marker": "x"}),
                ],
                xlabel="axis",
            )
        ],
        1,
    )


#: Document 002's example 4.4 by an independent program: t, and x and y of the contact.
SPHERE = ((1, 0.139317, -0.088321), (2, 0.830153, 0.055936), (4, 1.661352, -0.037724), (20, 7.72638, -0.093659))


def sphere(sheet: Sheet) -> None:
    """Figs. 4.2 to 4.5: a charged sphere rolls in a trough under a field that changes its sign every 2 s."""
    machine = open_model("rolling-sphere")
    history = machine.simulate(t_end=50.0, step=2e-4, output_step=0.01)
    t, x, y, z = history.time, *(history[f"touch.{axis}"] for axis in "xyz")
    quaternion = history.select([f"motion.q{name}" for name in "wxyz"])
    norm = np.linalg.norm(quaternion, axis=1)
    for instant, at_x, at_y in SPHERE:
        k = round(instant / 0.01)
        sheet.because("rk4 in steps of 0.2 ms while the sphere spins with up to 90 rad/s; motions double an error in a second")
        sheet.row(f"x({instant} s)", x[k], at_x, 5e-6 if instant < 5 else 2e-3, "m")
        sheet.row(f"y({instant} s)", y[k], at_y, 2e-6 if instant < 5 else 1e-5, "m")
    up = np.flatnonzero((y[:-1] < 0) & (y[1:] >= 0))
    crossings = t[up] - y[up] * 0.01 / (y[up + 1] - y[up])
    sheet.because("zeros of samples 10 ms apart, by lines: (2.65 h)^2 / 8 of the amplitude")
    sheet.row("period of y", float(np.mean(np.diff(crossings))), 2.368858, 2e-4, "s")
    sheet.because("rounding, and the renormalised steps of the integrator")
    sheet.below("norm of the quaternion less 1", np.abs(norm - 1).max(), 1e-12)
    sheet.below("z less y^2 / 2", np.abs(z - y**2 / 2).max(), 1e-14, "m")
    sheet.says("x is not periodic with the field's 4 s", abs(x[800] - x[400]) > 0.1, "example 4.4")
    highs = np.flatnonzero((z[1:-1] > z[:-2]) & (z[1:-1] >= z[2:]))
    half = float(np.mean(np.diff(t[highs + 1])))
    sheet.says("z oscillates with twice the frequency of y", abs(half / (2.368858 / 2) - 1) < 0.01, "example 4.4")
    sheet.note("Beyond some 25 s x depends on tolerances: x(50 s) lies between 14.9 and 15.0 m in most programs.")
    panels = [
        Panel("x of the contact [m]", [("", t, x)]),
        Panel(
            "x, y, z over their largest values",
            [(name, t, values / np.abs(values).max()) for name, values in (("x", x), ("y", y), ("z", z))],
        ),
        Panel("quaternion", [(f"q{name}", t[:1000], quaternion[:1000, k]) for k, name in enumerate("wxyz")]),
        Panel("norm of the quaternion less 1", [("", t, norm - 1)]),
    ]
    sheet.draw("Document 002, Figs. 4.2 to 4.5: a sphere in a trough", panels)


def drift(sheet: Sheet) -> None:
    """Figs. 4.7 and 4.8: errors of the invariants of the slider-crank, without and with Baumgarte's stabilisation."""
    machine = open_model("spatial-slider-crank")
    errors = {}
    for rate in (0, 1):
        history = simulate(
            machine.mechanism,
            30.0,
            settings={"shaft.angle.rate": 2.0, "friction": 0.0},
            step=0.02,
            output_step=0.1,
            plugins=machine.plugins,
            backend="vm",
            formulation=f"kane:projection=false,baumgarte={rate}",
            monitors=True,
        )
        errors[rate] = history["constraints.position"]
    sheet.because("the loop is closed at the start, to rounding of lengths of 1.4 m")
    sheet.below("norm of the invariants at the start (6.245e-17 in the document)", errors[0][0], 1e-15, printed="example 4.5")
    late = {rate: error[-50:].max() for rate, error in errors.items()}
    sheet.says("stabilisation with b1 = b2 = b3 = 1 makes errors much smaller", late[1] < 0.5 * late[0], "example 4.5")
    sheet.note("The document's horizon is lost; here the crank turns freely for 30 s, with rk4 in steps of 20 ms.")
    t = history.time
    sheet.draw(
        "Document 002, Figs. 4.7 and 4.8: errors of the invariants",
        [
            Panel(f"#{rate + 1}, {'with' if rate else 'without'} stabilisation [m]", [("", t, error)])
            for rate, error in errors.items()
        ],
    )
