"""Examples 4.4 and 4.7: a sphere that rolls in a trough, and a disc that rolls in a ring."""

from __future__ import annotations

import numpy as np

from kingpost import evaluate, open_model
from kingpost.base.arrays import FloatArray
from kingpost.gallery.entry import Panel, Sheet
from kingpost.results.history import History


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
