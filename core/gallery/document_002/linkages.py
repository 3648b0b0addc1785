"""Linkages and a parallel machine: example 4.5 and section 5.3, by the modular method."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.interpolate import CubicSpline

from kingpost import RunSettings, inverse, open_model, simulate
from kingpost.base.arrays import FloatArray
from kingpost.gallery.document_002.numbers import QUICK_RETURN, SLIDER_CRANK, THREE_LEGS
from kingpost.gallery.entry import Panel, Sheet
from kingpost.results.history import History


def torques_of(model: str, step: float, t_end: float | None = None, loads: tuple[str, ...] = ()) -> History:
    """Return what method `modular` (theorem 4.3) finds for the task of the document."""
    machine = open_model(model)
    task = machine.task("002")
    task = task if t_end is None else dataclasses.replace(task, t_end=t_end)
    how, stepper = RunSettings(loads=loads), f"backward-euler:step={step}"
    return inverse(machine.mechanism, task, method="modular", stepper=stepper, how=how, plugins=machine.plugins)


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
    names = ("torque", "guide.Fy", "guide.Fz", "guide.Fx")
    for t, _, _, _, *wanted in SLIDER_CRANK:
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
    channels = list(dict.fromkeys(name for name, _, _ in QUICK_RETURN))
    for name in channels:
        values = [value for other, _, value in QUICK_RETURN if other == name]
        for what, found, value in (
            ("highest", history[name].max(), max(values)),
            ("lowest", history[name].min(), min(values)),
        ):
            sheet.row(f"{name}, {what}", found, value, 6e-4 * abs(value) + 6e-6, history.unit(name))
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
    panels = [Panel(f"{name} [{history.unit(name)}]", [("", history.time, history[name])]) for name in channels]
    panels.append(Panel("error at the slider [m]", [("", history.time, error)]))
    sheet.draw("Document 002, Figs. 5.11-5.14: quick return", panels)


def legs_at_start(history: History) -> Panel:
    """Return bases, bars and platform of the manipulator at the start: bars of 2 m, by the angles of their joints."""
    directions = np.array([0.0, 2 * np.pi / 3, -2 * np.pi / 3])
    corners = np.column_stack([np.cos(directions), np.sin(directions)])
    curves = [("platform", *np.vstack([corners, corners[:1]]).T, {"color": "C1", "lw": 2})]
    for i, out in enumerate(corners, start=1):
        first = history[f"base{i}.angle"][0]
        second = first + history[f"elbow{i}.angle"][0]
        elbow = 3 * out + 2 * np.array([np.cos(first), np.sin(first)])
        end = elbow + 2 * np.array([np.cos(second), np.sin(second)])
        curves.append(("", *np.array([3 * out, elbow, end]).T, {"color": "C0", "marker": "o"}))
    return Panel("at the start, y [m]", curves, xlabel="x [m]", equal=True)


def three_legs(sheet: Sheet) -> None:
    """Figs. 5.19 to 5.21: torques of the plane manipulator on three legs, over 8 s."""
    sheet.because("five decimals of an independent computation")
    history = torques_of("rrr-parallel", 0.02, 8.0)
    for second, wanted in enumerate(THREE_LEGS, start=1):
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
    sheet.because(
        "five decimals of the loop in closed form; extrema of samples 20 ms apart are off by (2.5 h)^2 / 8 of 2 rad/s"
    )
    bar = history["base3.angle.rate"]
    for what, rate, printed in (("start", bar[0], 0.84615), ("highest", bar.max(), 0.89191), ("lowest", bar.min(), -1.57788)):
        sheet.row(f"q_R,0,7, {what}", rate, printed, 6e-4 if what != "start" else 6e-6, "rad/s")
    curves = [(f"torque{k}", t, history[f"torque{k}"]) for k in (1, 2, 3)]
    nodes = Panel("first node of the platform [m]", [("q_N,1,3", t, node[0]), ("q_N,1,4", t, node[1])])
    path = Panel("platform [m]", [("", history["platform.x"], history["platform.y"])], xlabel="x [m]", equal=True)
    sheet.draw(
        "Document 002, Figs. 5.16-5.23: 3RRR",
        [
            nodes,
            Panel("rate of the third bar at the base, q_R,0,7 [rad/s]", [("", t, bar)]),
            Panel("torques [N m]", curves),
            Panel("error of the constraints [m]", [("", t, error)]),
            path,
            legs_at_start(history),
        ],
    )
