"""Figs. 4.7 to 4.9 and 5.7 to 5.9: the rotary crane of sections 4.4.2 and 5.3.2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.gallery.document_000.following import G, apart, converges, follow, largest, rate, sampled, snapshots
from kingpost.gallery.entry import Panel, Sheet

ROTARY = {"000-4.4.2": (10.0, 53.0, 19.01, 0.02), "000-5.3.2": (100.0, 10.0, 480.0, 0.1)}


def on_path(times: FloatArray, expressions: Callable[[Any, Any], list[Any]]) -> FloatArray:
    """Return expressions in the reference function c and the time, a row for each, at some times.

    The function is (4.126)-(4.128) without the printed factors 1/2 in two terms, with which it would not be continuous.
    """
    t = ca.SX.sym("t")

    def first(t: Any) -> Any:
        return (-5 * t**8 / (2 * 5**7) + 10 * t**7 / 5**6 - 14 * t**6 / 5**5 + 7 * t**5 / 5**4) / 15

    phases = ((first(t), times < 5), ((t - 2.5) / 15, (times >= 5) & (times <= 15)), (1 - first(20 - t), times > 15))
    return np.concatenate([sampled(t, expressions(c, t), times[here]) for c, here in phases if here.any()], axis=1)


def rotary_reference(times: FloatArray, m: float, mt: float, Jb: float, Jw: float, rw: float = 0.1) -> FloatArray:
    """Return phi, s, l, Mb, Ft and Mw by eqs. (4.118)-(4.122); (4.120) prints arctan, which fails beyond a quarter turn.

    The signs of Coriolis and centrifugal terms are those of (5.137); (5.75) and (5.83) print them reversed.
    """

    def along(c: Any, t: Any) -> list[Any]:
        x, y, z = 5 - 7 * c, 2 * c, -5 + 3 * c
        up = rate(z, t, 2) + G
        ax, ay = x - z * rate(x, t, 2) / up, y - z * rate(y, t, 2) / up
        pull = ca.sqrt(rate(x, t, 2) ** 2 + rate(y, t, 2) ** 2 + up**2)
        s, phi, l, lam = ca.sqrt(ax**2 + ay**2), ca.atan2(ay, ax), -z * pull / up, m * pull
        slew = (Jb + mt * s**2) * rate(phi, t, 2) + 2 * mt * s * rate(s, t) * rate(phi, t)
        slew += lam * s * (x * ca.sin(phi) - y * ca.cos(phi)) / l
        drive = mt * rate(s, t, 2) - mt * s * rate(phi, t) ** 2 + lam * (s - x * ca.cos(phi) - y * ca.sin(phi)) / l
        winch = rw * (Jw / rw**2 * rate(l, t, 2) - lam)
        return [phi, s, l, slew, drive, winch]

    return on_path(times, along)


#: Largest errors of Mb, Ft and Mw by backward Euler in dependent coordinates, from an independent implementation.
ROTARY_ERRORS = {
    ("000-4.4.2", 0.1): (1.792, 1.313, 1.24e-3),
    ("000-4.4.2", 0.005): (0.1207, 0.0833, 6.21e-5),
    ("000-5.3.2", 1.0): (38.61, 0.988, 0.0531),
    ("000-5.3.2", 0.1): (4.309, 0.2477, 6.20e-3),
}
ROTARY_INPUTS = ("slew_torque", "trolley_force", "winch_torque")


def rotary(number: str, task: str, step: float, schemes: Any, sheet: Sheet) -> list[float]:
    """Draw and check the rotary crane by some schemes with one step; return the largest errors of all inputs."""
    every: list[float] = []
    sheet.because("places are exact; errors of inputs to a percent of those of an independent implementation")
    fine = np.linspace(0, 20, 801)
    names = ("phi [rad]", "s [m]", "l [m]", "M_b [N m]", "F_t [N]", "M_w [N m]")
    curves = [[("REF", fine, row, {"color": "k"})] for row in rotary_reference(fine, *ROTARY[task])]
    for scheme, (model, method) in schemes.items():
        history = follow(model, task, method, f"backward-euler:step={step}")
        there = rotary_reference(history.time, *ROTARY[task])
        length = 5 + 0.1 * history["winch-axle.angle"]
        places = (history["slew.angle"], history["travel.displacement"], length)
        worst = max(np.abs(found - other).max() for found, other in zip(places, there, strict=False))
        sheet.below(f"{scheme}: phi, s, l, to the closed form", worst, 1e-7)
        errors = largest(history, ROTARY_INPUTS, there[3:])
        every += errors
        for name, error, expected in zip(ROTARY_INPUTS, errors, ROTARY_ERRORS[task, step], strict=True):
            if scheme in ("RED", "B1"):
                sheet.row(f"{scheme}: largest error of {name}", error, expected, 0.01 * expected, history.unit(name))
            else:
                sheet.below(f"{scheme}: largest error of {name}", error, 1.5 * expected, history.unit(name))
        for column, values in zip(curves, (*places, *(history[name] for name in ROTARY_INPUTS)), strict=True):
            column.append((scheme, history.time, values, {"ls": "--"}))
    panels = [Panel(name, column) for name, column in zip(names, curves, strict=True)]
    sheet.draw(f"Document 000, Fig. {number}: rotary crane, {step:g} s", panels, 3)
    return every


PROJECTIONS = {
    "RED": ("rotary-crane:form=rope", "projection"),
    "ALT": ("rotary-crane:form=rope", "projection-dependent"),
    "GEN": ("rotary-crane", "projection"),
}
EXTENSIONS = {"B1": ("rotary-crane:form=rope", "minimal-extension"), "B3": ("rotary-crane", "minimal-extension")}


def figure_4_8(sheet: Sheet) -> None:
    """Fig. 4.8: rotary crane, projections in steps of 0.1 s."""
    rotary("4.8", "000-4.4.2", 0.1, PROJECTIONS, sheet)


def figure_4_9(sheet: Sheet) -> None:
    """Fig. 4.9: the same in steps of 5 ms. The offset of 0.1 that the document reports for ALT is not there."""
    coarse = rotary("4.8", "000-4.4.2", 0.1, PROJECTIONS, Sheet())
    converges(sheet, coarse, rotary("4.9", "000-4.4.2", 0.005, PROJECTIONS, sheet), "section 4.4.2")
    red, alt = (
        follow(*PROJECTIONS[scheme][:1], "000-4.4.2", PROJECTIONS[scheme][1], "backward-euler:step=0.005")
        for scheme in ("RED", "ALT")
    )
    worst = max(np.abs(red[name] - alt[name])[1:].max() for name in ROTARY_INPUTS)
    sheet.below("largest difference of ALT and RED", worst, 1e-3)


def figure_5_7(sheet: Sheet) -> None:
    """Fig. 5.7: rotary crane, minimal extension in steps of 1 s."""
    rotary("5.7", "000-5.3.2", 1.0, EXTENSIONS, sheet)


def figure_5_8(sheet: Sheet) -> None:
    """Fig. 5.8: the same in steps of 0.1 s."""
    coarse = rotary("5.7", "000-5.3.2", 1.0, EXTENSIONS, Sheet())
    converges(sheet, coarse, rotary("5.8", "000-5.3.2", 0.1, EXTENSIONS, sheet), "section 5.3.2")
    runs = [follow(model, "000-5.3.2", method, "backward-euler:step=0.1") for model, method in EXTENSIONS.values()]
    close = apart(runs[0], runs[1], ROTARY_INPUTS) < 0.05
    sheet.says("redundant and minimal coordinates yield practically the same (5 % of inputs)", close, "section 5.3.2")


def figure_4_7(sheet: Sheet) -> None:
    """Figs. 4.7 and 5.9: snapshots of the rotary crane, from above and from the side."""
    sheet.because("closed forms of the end, and work by trapezoids")
    history = follow("rotary-crane", "000-5.3.2", "flat", "backward-euler:step=0.1")
    phi, s = history["slew.angle"], history["travel.displacement"]
    load = [history[f"load.{axis}"] for axis in "xyz"]
    trolley = (s * np.cos(phi), s * np.sin(phi), 0.0)
    sheet.row("final slewing angle, 3 pi / 4", phi[-1], 0.75 * np.pi, 1e-9, "rad")
    sheet.row("final place of the trolley", s[-1], 2 * np.sqrt(2), 1e-9, "m")
    sheet.row("work of the inputs", history["servo.work"][-1], 2943.0, 1.0, "J")
    uniform = (history.time >= 5) & (history.time <= 15)
    sheet.below("F_t while the load moves uniformly", np.abs(history["trolley_force"][uniform]).max(), 1e-6, "N")
    instants = np.arange(0, 21, 2.5)
    above = snapshots("from above", history.time, instants, ((0.0, 0.0), trolley, load), labels=("x [m]", "y [m]"))
    side = snapshots("from the side", history.time, instants, *(((a[0], a[2]), (b[0], b[2])) for a, b in [(trolley, load)]))
    sheet.draw("Document 000, Figs. 4.7 and 5.9", [above, side])
