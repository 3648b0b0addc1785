"""Figs. 4.2 to 4.4 and 5.3 to 5.5: the overhead crane of sections 4.4.1 and 5.3.1."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.gallery.document_000.following import G, apart, converges, follow, largest, rate, sampled, snapshots
from kingpost.gallery.entry import Panel, Sheet

INPUTS = ("trolley_force", "winch_torque")


def overhead_reference(times: FloatArray) -> FloatArray:
    """Return s, l, F and M by eqs. (4.79)-(4.83), the load from (0, 4) to (5, 1) m in 3 s, with z down."""
    t = ca.SX.sym("t")
    c = sum(k * (t / 3) ** n for k, n in ((126, 5), (-420, 6), (540, 7), (-315, 8), (70, 9)))
    x, z = 5 * c, 4 - 3 * c
    along, up = rate(x, t, 2), G - rate(z, t, 2)
    s, l = x + z * along / up, z * ca.sqrt(along**2 + up**2) / up
    lam = 100 * up / (2 * z)
    force = 10 * rate(s, t, 2) + 2 * (s - x) * lam
    torque = 0.1 * rate(l / 0.1, t, 2) - 2 * 0.1 * l * lam
    return sampled(t, [s, l, force, torque], times)


#: Largest errors of F and M by backward Euler, from an independent implementation (Newton with complex-step Jacobians).
OVERHEAD_ERRORS = {
    0.1: {"": 70.04, "RED": 3.844, "ALT": 2.496, "GEN": 2.807, "B1": 3.844, "B3": 2.299},
    0.01: {"": 11.52, "B1": 0.4376, "B3": 0.2602},
}
SCHEMES = {
    "GEN": ("overhead-crane", "projection"),
    "RED": ("overhead-crane:form=dependent", "projection"),
    "ALT": ("overhead-crane:form=dependent", "projection-dependent"),
    "B1": ("overhead-crane:form=dependent", "minimal-extension"),
    "B3": ("overhead-crane", "minimal-extension"),
}


def overhead(number: str, step: float, schemes: Any, sheet: Sheet) -> list[float]:
    """Draw and check the overhead crane by some schemes with one step; return the largest errors of all inputs."""
    every: list[float] = []
    sheet.because("places are exact; errors of inputs to half a percent of those of an independent implementation")
    fine = np.linspace(0, 3, 601)
    wanted = overhead_reference(fine)
    curves = [[("REF", fine, row, {"color": "k"})] for row in wanted]
    for scheme in schemes:
        model, method = SCHEMES[scheme]
        history = follow(model, "000-4.4.1", method, f"backward-euler:step={step}")
        there = overhead_reference(history.time)
        length = history["reel.length"] if "reel.length" in history else 4 + 0.1 * history["drum.angle"]
        place = history["travel.displacement"]
        sheet.below(f"{scheme}: s, to the closed form", np.abs(place - there[0]).max(), 1e-8, "m")
        sheet.below(f"{scheme}: l, to the closed form", np.abs(length - there[1]).max(), 1e-8, "m")
        errors = largest(history, INPUTS, there[2:])
        every += errors
        expected = OVERHEAD_ERRORS.get(step)
        if expected:
            sheet.row(f"{scheme}: largest error of F", errors[0], expected[""], 0.005 * expected[""], "N")
            sheet.row(f"{scheme}: largest error of M", errors[1], expected[scheme], 0.005 * expected[scheme], "N m")
        else:
            sheet.because("order one: s''' begins with 126.85 m/s^3, which a step sees late; 10 kg of it")
            sheet.below(f"{scheme}: largest error of F", errors[0], 10 * 126.85 * step, "N")
            sheet.below(f"{scheme}: largest error of M", errors[1], 44 * step, "N m")
        for column, values in zip(curves, (place, length, *(history[name] for name in INPUTS)), strict=True):
            column.append((scheme, history.time, values, {"ls": "--", "marker": "." if step > 0.05 else ""}))
    names = ("s [m]", "l [m]", "F [N]", "M [N m]")
    sheet.draw(
        f"Document 000, Fig. {number}: overhead crane, {step:g} s",
        [Panel(name, column) for name, column in zip(names, curves, strict=True)],
    )
    return every


def figure_4_3(sheet: Sheet) -> None:
    """Fig. 4.3: overhead crane, projections GEN, RED and ALT in steps of 0.1 s."""
    overhead("4.3", 0.1, ("GEN", "RED", "ALT"), sheet)


def figure_4_4(sheet: Sheet) -> None:
    """Fig. 4.4: the same in steps of 1 ms."""
    schemes = ("GEN", "RED", "ALT")
    converges(sheet, overhead("4.3", 0.1, schemes, Sheet()), overhead("4.4", 1e-3, schemes, sheet), "section 4.4.1")


def figure_5_3(sheet: Sheet) -> None:
    """Fig. 5.3: overhead crane, minimal extension in dependent (B1) and minimal coordinates (B3), in steps of 0.1 s."""
    overhead("5.3", 0.1, ("B1", "B3"), sheet)


def figure_5_4(sheet: Sheet) -> None:
    """Fig. 5.4: the same in steps of 0.01 s. Eq. (5.33) prints - B u for + B u."""
    schemes = ("B1", "B3")
    converges(sheet, overhead("5.3", 0.1, schemes, Sheet()), overhead("5.4", 0.01, schemes, sheet), "section 5.3.1")
    one, other = (follow(*SCHEMES[name][:1], "000-4.4.1", SCHEMES[name][1], "backward-euler:step=0.01") for name in schemes)
    close = apart(one, other, INPUTS) < 0.05
    sheet.says("redundant and minimal coordinates yield very similar results (5 % of inputs)", close, "section 5.3.1")


def figure_4_2(sheet: Sheet) -> None:
    """Figs. 4.2 and 5.5: snapshots of the overhead crane."""
    sheet.because("second differences of samples 10 ms apart, and work by trapezoids")
    history = follow("overhead-crane", "000-4.4.1", "flat", "backward-euler:step=0.01")
    trolley, load = (history["travel.displacement"], 0.0), (history["load.x"], history["load.z"])
    tension = 100 * np.hypot(np.gradient(np.gradient(load[0], 0.01), 0.01), G + np.gradient(np.gradient(load[1], 0.01), 0.01))
    sheet.row("lowest tension of the rope", tension.min(), 841.2006, 0.5, "N")
    sheet.row("work of the inputs", history["servo.work"][-1], 2943.0, 0.1, "J")
    panel = snapshots("overhead crane", history.time, np.arange(0, 3.1, 0.3), (trolley, load), paths=[("load", load)])
    sheet.draw("Document 000, Figs. 4.2 and 5.5", [panel], 1)
