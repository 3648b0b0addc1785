"""Figures and tables of the paper on servo-constraints (document 003), each with its characteristic numbers.

Nothing of the reference solutions below is Kingpost's; they are the document's equations with its misprints put right.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from numpy.polynomial import Polynomial
from scipy.integrate import solve_ivp, trapezoid

from kingpost import inverse, open_model
from kingpost.base.arrays import FloatArray
from kingpost.control.servo.index.analysis import analyse
from kingpost.control.servo.index.realisation import Realisation
from kingpost.control.servo.posing import pose_servo
from kingpost.gallery.entry import Panel, Sheet
from kingpost.results.history import History

#: The step of the document; inputs by `bdf2` err with its square.
STEP = 0.001


def rest_to_rest(start: float, end: float, duration: float) -> list[Callable[[Any], Any]]:
    """Return eq. (26) and its derivatives up to the fourth, as functions of a time that may be after the end."""
    path = Polynomial([0, 0, 0, 0, 0, 126, -420, 540, -315, 70])(Polynomial([0, 1 / duration])) * (end - start) + start
    at = [path.deriv(k) if k else path for k in range(5)]

    def held(p: Any) -> Callable[[Any], Any]:
        return lambda t: p(np.minimum(t, duration)) * 1.0

    return [held(p) for p in at]


def follow(model: str, t_end: float, method: str = "minimal-extension", **settings: Any) -> History:
    """Return the inverse dynamics of the task '003' up to a time after the manoeuvre."""
    machine = open_model(model)
    task = dataclasses.replace(machine.task("003"), t_end=t_end)
    return inverse(machine.mechanism, task, method=method, stepper=f"bdf2:step={STEP}", settings=settings)


def arm_reference(times: FloatArray, damping: float, kappa: float = 1 / 3) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return theta1, theta2 and the torque from eqs. (22), (23) and (12), by an integrator of order eight.

    (24) mixes the form for general links with that for equal ones, and (25) prints l^3 for l^2; neither is used here.
    """
    gamma = rest_to_rest(0.0, np.pi, 6.0)
    m, l, s, J, c = 2.0, 1.0, 0.5, 2.0 / 12, 1.0

    def solved(t: Any, theta2: Any, rate2: Any) -> tuple[Any, Any, Any]:
        theta1, rate1 = (gamma[0](t) - kappa * theta2) / (1 - kappa), (gamma[1](t) - kappa * rate2) / (1 - kappa)
        bend, coupling = theta2 - theta1, m * s * l
        pull = c * bend + damping * (rate2 - rate1)
        # Second row of (22), with theta1'' = (gamma'' - kappa theta2'') / (1 - kappa); then the torque from the first.
        off = coupling * np.cos(bend)
        a2 = (-coupling * rate1**2 * np.sin(bend) - pull - off * gamma[2](t) / (1 - kappa)) / (
            J + m * s**2 - off * kappa / (1 - kappa)
        )
        a1 = (gamma[2](t) - kappa * a2) / (1 - kappa)
        torque = (J + m * s**2 + m * l**2) * a1 + off * a2 - coupling * rate2**2 * np.sin(bend) - pull
        return theta1, a2, torque

    found = solve_ivp(
        lambda t, x: [x[1], solved(t, *x)[1]], (0, times[-1]), [0, 0], "DOP853", times, rtol=1e-12, atol=1e-13, max_step=0.05
    )
    theta1, _, torque = solved(times, *found.y)
    return theta1, found.y[0], torque


def figure_5(sheet: Sheet) -> None:
    """Fig. 5: the arm with a passive joint, kappa = 1/3, damping 0 (left) and 0.2 N m s/rad (right); half a turn in 6 s."""
    panels = []
    for damping in (0.0, 0.2):
        history = follow("passive-joint-arm", 10.0, damping=damping)
        t = history.time
        theta1, theta2 = history["shoulder.angle"], history["shoulder.angle"] + history["elbow.angle"]
        wanted = arm_reference(t, damping)
        for name, found, other, unit, scale in zip(
            ("theta1", "theta2", "T"),
            (theta1, theta2, history["torque"]),
            wanted,
            ("rad", "rad", "N m"),
            (1, 2, 10),
            strict=True,
        ):
            sheet.because("order two: the internal motion, 3 rad/s, of 1 rad, errs by (3 dt)^2 for each radian of its phase")
            sheet.below(f"d = {damping}: {name}, largest difference to (12)", np.abs(found - other).max(), 3e-4 * scale, unit)
        if not damping:
            at = int(np.argmin(history["torque"]))
            sheet.because("digits of an independent computation, and the error of order two")
            sheet.row("d = 0: theta1(2 s)", theta1[2000], 0.84052539, 1e-5, "rad")
            sheet.row("d = 0: theta2(2 s)", theta2[2000], -0.31591123, 1e-5, "rad")
            sheet.row("d = 0: T(2 s)", history["torque"][2000], 2.8220034, 1e-4, "N m")
            sheet.row("d = 0: lowest torque", history["torque"][at], -3.966253, 1e-4, "N m")
            sheet.row("d = 0: its time", t[at], 4.423, 0.002, "s")
            # The document takes the bend for small, so that gamma is the azimuth of P; it is far from that.
            sheet.row("d = 0: largest bend", np.degrees(history["elbow.angle"]).min(), -66.7, 0.1, "deg")
        else:
            sheet.because("what is left after the manoeuvre decays with exp(-0.9 t), and swings meanwhile")
            after = np.abs(history["elbow.angle"])
            sheet.says("the motion goes on when the output is at its end: not flat", after[t > 6].max() > 1e-3, "section 4.1")
            part = after[t > 8].max() / after[(t >= 6) & (t <= 8)].max()
            sheet.row("d = 0.2: decay in 2 s, exp(-1.8)", part, np.exp(-1.8), 0.05)
        panels.append(
            [
                Panel(
                    f"d = {damping}: angles [deg]",
                    [
                        ("theta1", t, np.degrees(theta1)),
                        ("theta2", t, np.degrees(theta2)),
                        ("gamma", t, np.degrees(history["desired.azimuth"]), {"ls": ":"}),
                    ],
                ),
                Panel(
                    "rates [1/s]",
                    [
                        ("theta1'", t, history["shoulder.angle.rate"]),
                        ("theta2'", t, history["shoulder.angle.rate"] + history["elbow.angle.rate"]),
                    ],
                ),
                Panel("torque [N m]", [("T", t, history["torque"]), ("(12) by SciPy", t, wanted[2], {"ls": "--"})]),
            ]
        )
    sheet.draw(
        "Document 003, Fig. 5: arm with a passive joint",
        [p for both in zip(*panels, strict=True) for p in both],
    )


def crane_reference(times: FloatArray, damping: float) -> FloatArray:
    """Return s, l, theta, F, M and the tension from the closed form (z down), with friction on s and l.

    (27) prints -mL l^2 phi'^2 for -mL l theta'^2 in two places, and friction and gravity on the side of the forces; the load's
    own balance, from which this is, needs none of it. Eq. (29) has all signs reversed.
    """
    t = ca.SX.sym("t")
    c = sum(k * (t / 3) ** n for k, n in ((126, 5), (-420, 6), (540, 7), (-315, 8), (70, 9)))
    x, z = 5 * c, 4 - 2.5 * c

    def rate(y: Any, n: int = 1) -> Any:
        return y if n == 0 else rate(ca.jacobian(y, t), n - 1)

    up, along = 9.81 - rate(z, 2), rate(x, 2)
    s, l = x + z * along / up, z * ca.sqrt(along**2 + up**2) / up
    tension = 100 * ca.sqrt(along**2 + up**2)
    theta = ca.asin((x - s) / l)
    F = 10 * rate(s, 2) + damping * rate(s) - tension * (x - s) / l
    M = 0.1 * (10 * rate(l, 2) + damping * rate(l) - tension)
    every = ca.vertcat(s, l, theta, F, M, tension)
    return np.asarray(ca.Function("crane", [t], [every]).map(len(times))(np.minimum(times, 3.0)))


def figure_8(sheet: Sheet) -> None:
    """Fig. 8: the overhead crane, damping 0 and 50 N s/m; the load from (0, 4) to (5, 1.5) m in 3 s."""
    histories = {damping: follow("overhead-crane", 4.0, trolley_damping=damping, winch_damping=damping) for damping in (0, 50)}
    names = ("travel.displacement", "reel.length", "swing.angle", "trolley_force", "winch_torque")
    sheet.because(
        "places are exact whatever the step; the trolley's acceleration begins with a slope of 126.85 m/s^3, "
        "so that its force, of "
        "10 kg, has order one at both ends; the winch has order two"
    )
    bounds = (1e-8, 1e-8, 1e-8, 1.3, 1e-3)
    for damping, history in histories.items():
        wanted = crane_reference(history.time, damping)
        for name, other, bound in zip(names, wanted, bounds, strict=False):
            error = np.abs(history[name] - other).max()
            sheet.below(f"damping {damping}: {name}, to the closed form", error, bound, history.unit(name))
    free, damped = histories[0], histories[50]
    for k, values in (
        (1000, (2.23023959, 3.93729331, -0.39249941, 466.12438, -139.89379)),
        (2000, (2.96032602, 2.27988287, 0.61502530, -438.81648, -93.61925)),
    ):
        for name, value, within in zip(names, values, (1e-7, 1e-7, 1e-7, 2e-2, 2e-3), strict=True):
            sheet.row(f"damping 0: {name}({k / 1000:g} s)", free[name][k], value, within, free.unit(name))
    angle = np.degrees(free["swing.angle"])
    sheet.row("swing, lowest", angle.min(), -22.7552, 1e-3, "deg")
    sheet.row("swing, highest", angle.max(), 35.8472, 1e-3, "deg")
    same = max(np.abs(free[name] - damped[name]).max() for name in names[:3])
    sheet.below("change of s, l, theta by the damping", same, 1e-8)
    sheet.says("damping has no influence on s, l and theta", same < 1e-8, "section 4.2")
    at_rest = [abs(free[name][-1] - end) for name, end in zip(names[:3], (5.0, 1.5, 0.0), strict=True)]
    sheet.says("the steady state (5 m, 1.5 m, 0) is reached when the manoeuvre ends", max(at_rest) < 1e-8, "section 4.2")
    lost = 50 * trapezoid(damped["travel.displacement.rate"] ** 2 + damped["reel.length.rate"] ** 2, damped.time)
    sheet.row("work without friction, damping 0", free["servo.work"][-1], 2452.5, 0.5, "J")
    sheet.row("work less friction, damping 50", damped["servo.work"][-1] - lost, 2452.5, 0.5, "J")
    sheet.because("the document gives m_L g as the input at the end; that is the tension, and the torque is -m_L g r_W")
    sheet.row("winch torque at the end", free["winch_torque"][-1], -98.1, 1e-6, "N m")

    def both(title: str, name: str, ticks: Any, scale: float = 1.0) -> Panel:
        style = {50: {"ls": "-"}, 0: {"ls": "--"}}
        label = {50: "with damping", 0: "no damping"}
        return Panel(title, [(label[d], histories[d].time, scale * histories[d][name], style[d]) for d in (50, 0)], ticks=ticks)

    panels = [
        both("s [m]", "travel.displacement", (0, 2.5, 5)),
        both("s' [m/s]", "travel.displacement.rate", (0, 2, 4)),
        both("l [m]", "reel.length", (1, 2, 3, 4, 5)),
        both("l' [m/s]", "reel.length.rate", (-3, -2, -1, 0, 1)),
        both("theta [deg]", "swing.angle", (-20, 0, 20, 40), 180 / np.pi),
        both("theta' [1/s]", "swing.angle.rate", (-1, 0, 1, 2)),
        both("F [N]", "trolley_force", (-400, 0, 400, 800)),
        both("M_W [N m]", "winch_torque", (-160, -120, -80)),
    ]
    for panel in panels:
        sheet.axis(panel, "Fig. 8")
    sheet.draw("Document 003, Fig. 8: overhead crane", panels)


def masses_reference(times: FloatArray, damping: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return x1, its rate and F: eq. (32) for d = 0, else the internal dynamics of the first mass, by SciPy."""
    s = [order(times) for order in rest_to_rest(0.5, 3.0, 6.0)]
    if not damping:
        return 0.2 * s[2] + s[0] - 0.5, 0.2 * s[3] + s[1], 0.2 * s[4] + 3 * s[2]
    path = rest_to_rest(0.5, 3.0, 6.0)

    # Balance of the second mass: 2 s'' = - c (s - x1 - l0) - d (s' - x1').
    def rate(t: Any, x: Any) -> Any:
        return path[1](t) + (2 * path[2](t) + 10 * (path[0](t) - x - 0.5)) / damping

    x1 = solve_ivp(rate, (0, times[-1]), [0.0], "DOP853", times, rtol=1e-12, atol=1e-13, max_step=0.05).y[0]
    v1 = rate(times, x1)
    a1 = s[2] + (2 * s[3] + 10 * (s[1] - v1)) / damping
    return x1, v1, a1 + 2 * s[2]


def figure_10(sheet: Sheet) -> None:
    """Fig. 10: two masses, d = 0 and 10 N s/m; the second mass from 0.5 to 3 m in 6 s."""
    histories = {damping: follow("mass-chain:n=2", 8.0, damping=damping) for damping in (0.0, 10.0)}
    for damping, history in histories.items():
        wanted = masses_reference(history.time, damping)
        sheet.because("x1 is exact for d = 0; slopes of F jump by 0.2 * 2.5 * 15120 / 6^5 = 1 N/s at the ends")
        bounds = (1e-9, 1e-2, 1e-2) if not damping else (1e-5, 1e-4, 1e-3)
        for name, other, bound in zip(("mass1.x", "slide1.x.rate", "force"), wanted, bounds, strict=True):
            error = np.abs(history[name] - other).max()
            sheet.below(f"d = {damping:g}: {name}, largest difference", error, bound, history.unit(name))
    free, damped = histories[0.0], histories[10.0]
    for sign, time in ((1, 1.8423), (-1, 4.1577)):
        at = int(np.argmax(sign * free["force"]))
        sheet.row("d = 0: largest force", free["force"][at], sign * 1.71709236, 1e-5, "N")
        sheet.row("d = 0: its time", free.time[at], time, 0.001, "s")
    sheet.row("d = 10: x1(4 s)", damped["mass1.x"][4000], 2.10834903, 1e-5, "m")
    sheet.because("what is left of x1 decays with exp(-t), eigenvalue -1: not at rest when the manoeuvre is over")
    left = np.abs(damped["mass1.x"] - 2.5)
    sheet.row("d = 10: decay from 6 to 8 s, exp(-2)", left[8000] / left[6000], np.exp(-2), 1e-3)
    style = {10.0: {"ls": "-"}, 0.0: {"ls": "--"}}
    label = {10.0: "with damping", 0.0: "no damping"}

    def both(title: str, name: str, ticks: Any) -> Panel:
        return Panel(title, [(label[d], histories[d].time, histories[d][name], style[d]) for d in (10.0, 0.0)], ticks=ticks)

    sheet.because("printed in the text of section 4.3; places are exact, and the force has order one where its slope jumps")
    sheet.row("d = 0: x1 at the end of the manoeuvre", free["mass1.x"][6000], 2.5, 1e-9, "m", "section 4.3")
    sheet.row("d = 0: x2 at the end of the manoeuvre", free["mass2.x"][6000], 3.0, 1e-9, "m", "section 4.3")
    sheet.row("d = 0: force at rest behind it", free["force"][-1], 0.0, 1e-8, "N", "section 4.3")
    sheet.says("with damping it is not at rest when the manoeuvre is over", left[6000] > 1e-3, "section 4.3")
    first = both("x1, x2 [m]", "mass1.x", (0, 1, 2, 3))
    places = dataclasses.replace(first, curves=[*first.curves, ("x2", free.time, free["mass2.x"], {"color": "k"})])
    panels = [
        places,
        both("v1 [m/s]", "slide1.x.rate", (0, 0.5, 1)),
        both("F [N]", "force", (-2, -1, 0, 1, 2)),
        Panel("v2 [m/s]", [("", free.time, free["slide2.x.rate"])], ticks=(0, 0.5, 1)),
    ]
    for panel in panels:
        sheet.axis(panel, "Fig. 10")
    sheet.draw("Document 003, Fig. 10: two masses", panels)


def figure_7(sheet: Sheet) -> None:
    """Fig. 7: the path of the load of the overhead crane, with its rates."""
    history = follow("overhead-crane", 4.0)
    t, paths = history.time, [rest_to_rest(0.0, 5.0, 3.0), rest_to_rest(4.0, 1.5, 3.0)]
    for name, path, sign in (("x", paths[0], 1.0), ("z", paths[1], -1.0)):
        sheet.because("the load is led along eq. (26) itself; z points down in the document")
        sheet.below(f"{name} of the load, to eq. (26)", np.abs(sign * history[f"load.{name}"] - path[0](t)).max(), 1e-9, "m")
        sheet.row(f"{name} at the start", sign * history[f"load.{name}"][0], (0.0, 4.0)[name == "z"], 1e-9, "m", "section 4.2")
        sheet.row(f"{name} at the end", sign * history[f"load.{name}"][-1], (5.0, 1.5)[name == "z"], 1e-9, "m", "section 4.2")
    inside = t <= 3.0
    panels = [
        Panel(title, [(name, t[inside], path[k](t[inside])) for name, path in zip(("x", "z"), paths, strict=True)])
        for k, title in enumerate(("path [m]", "rates [m/s]", "accelerations [m/s^2]"))
    ]
    panels.append(Panel("path in the plane, z down [m]", [("", paths[0][0](t), -paths[1][0](t))], xlabel="x [m]", equal=True))
    sheet.draw("Document 003, Fig. 7: path of the load", panels)


#: Model, settings, what the document calls the realisation, its rank, and the index and internal states that follow.
KINDS: tuple[tuple[str, dict[str, float], str, int, int, int], ...] = (
    ("passive-joint-arm", {"damping": 0.2}, "orthogonal", 1, 3, 2),
    ("overhead-crane", {}, "mixed", 1, 5, 0),
    ("mass-chain:n=2", {"damping": 0.0}, "tangential", 0, 5, 0),
    ("mass-chain:n=2", {"damping": 10.0}, "tangential", 0, 4, 1),
    ("mass-chain:n=3", {"damping": 0.0}, "tangential", 0, 7, 0),
)


def kinds_of_realisation(sheet: Sheet) -> None:
    """Table 2 and Fig. 1: how inputs realise servo-constraints, by the rank of Y = H M^-1 B."""
    sheet.because("whole numbers")
    ranks, indices, labels = [], [], []
    for model, settings, kind, rank, index, internal in KINDS:
        machine = open_model(model)
        posed = pose_servo(machine.mechanism, machine.task("003"), values=settings, plugins=machine.plugins)
        report = analyse(posed)
        found = report.realisation
        label = model + "".join(f", d = {value:g}" for value in settings.values())
        at = "section 5" if "n=3" in model else "section 4"
        sheet.says(f"{label}: the realisation is {kind}", isinstance(found, Realisation) and kind in found.kind, at)
        if isinstance(found, Realisation):
            sheet.row(f"{label}: rank of Y", found.rank, rank, 0, printed=at)
            ranks.append(found.rank)
        sheet.row(f"{label}: index", float(report.index or 0), index, 0)
        sheet.row(
            f"{label}: internal states", float(-1 if report.internal_states is None else report.internal_states), internal, 0
        )
        if kind == "orthogonal":
            sheet.says("orthogonal realisation leaves internal dynamics: not flat", bool(report.internal_states), "Table 2")
        if "n=3" in model:
            # The order r of the flat solution is the index less one.
            sheet.row(f"{label}: order r of the flat solution", float(report.index or 0) - 1, 6, 0, printed="section 5")
        indices.append(float(report.index or 0))
        labels.append(label)
    places = np.arange(len(labels), dtype=float)
    bars = {"ls": "", "marker": "s", "ms": 9}
    sheet.draw(
        "Document 003, Table 2: index and rank of Y",
        [
            Panel(
                "index (squares) and rank of Y (dots)",
                [(f"{k + 1}: {label}", [places[k] + 1], [indices[k]], bars) for k, label in enumerate(labels)]
                + [("_rank", places + 1, ranks, {"ls": "", "marker": "o", "color": "0.5"})],
                xlabel="machine",
            )
        ],
        1,
    )
