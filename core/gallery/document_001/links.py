"""Three links in a plane at the least cost: Table 6.1, and figures of chapters 6 and 7."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from kingpost import Optimum, open_model
from kingpost.base.arrays import FloatArray
from kingpost.gallery.document_001.optima import (
    BEM,
    DIGITS,
    GC,
    REM,
    angles,
    at_instants,
    balance,
    chain_moves,
    costs_panel,
    energies,
    held,
    solved,
)
from kingpost.gallery.entry import Panel, Sheet

LINKS = "three-link-manipulator"
LENGTHS = (7.0, 6.0, 8.0)


def links_table(sheet: Sheet) -> None:
    """Table 6.1: masses, Euler tensors, lengths and end angles of the three links."""
    opened = open_model(LINKS)
    values = {parameter.name: parameter.default for parameter in opened.mechanism.parameters}
    sheet.because("printed numbers, as they are; in a plane only E1 + E2 counts")
    rows = ((30.0, 1.225, 143.3027, 7.0), (25.0, 1.0208, 88.0208, 6.0), (10.0, 0.4083, 60.2083, 8.0))
    for i, (mass, E1, E2, length) in enumerate(rows, start=1):
        sheet.row(f"link {i}: m", values[f"mass{i}"], mass, 0, "kg", "Table 6.1")
        sheet.row(f"link {i}: l", values[f"length{i}"], length, 0, "m", "Table 6.1")
        body: Any = opened.mechanism.body(f"link{i}")
        sheet.row(
            f"link {i}: E1 + E2, moment about the normal", float(max(body.inertia[:3])), E1 + E2, 6e-5, "kg m^2", "Table 6.1"
        )
    for i, start in enumerate((np.pi / 2, -np.pi / 2, np.pi / 2), start=1):
        sheet.row(
            f"joint {i}: start",
            float(cast(float, opened.mechanism.joints[i - 1].start_values[0])),
            start,
            1e-12,
            "rad",
            "Table 6.1",
        )
    sheet.draw(
        "Document 001, Table 6.1: the links at the start",
        [arm(np.array([[np.pi / 2, -np.pi / 2, np.pi / 2]]), [0], "start")],
        1,
    )


def arm(places: FloatArray, rows: Any, title: str) -> Panel:
    """Return the three links at some nodes."""
    curves = []
    for row in rows:
        turned = np.cumsum(places[row])
        x = np.concatenate([[0.0], np.cumsum(LENGTHS * np.cos(turned))])
        y = np.concatenate([[0.0], np.cumsum(LENGTHS * np.sin(turned))])
        curves.append(("", x, y, {"marker": "o", "ms": 3, "color": "#2f81d6"}))
    return Panel(f"{title}, z [m]", curves, xlabel="x [m]", equal=True)


def link_panels(found: Optimum, other: Optimum, friction: float, sheet: Sheet, N: int) -> list[Panel]:
    """Return torques, angles, energies and snapshots of an energy-momentum scheme beside the mid-point rule."""
    T, _ = energies(found)
    ours = balance(found, chain_moves(found), friction)
    mean = found.h * (other.states[1:, 3:] + other.states[:-1, 3:]) / 2
    theirs = balance(other, mean, friction)
    sheet.because("what the solver leaves: 1e-9 in rows of some hundred joules, N times")
    sheet.below(f"N = {N}: T + V + W + D of the energy-momentum scheme", np.abs(ours).max(), 1e-5, "J")
    place = "section 6.2"
    sheet.says("that sum is not constant in generalized coordinates", np.abs(theirs).max() > 1e-2, place)
    t = held(found)
    return [
        Panel(
            "the document's u, torques [N m]",
            [(f"u{k + 1}", t, -found.inputs[:, k], {"drawstyle": "steps-mid"}) for k in range(3)],
        ),
        Panel("angles [rad]", [(f"alpha{k + 1}", found.times, angles(found)[:, k]) for k in range(3)]),
        Panel("kinetic energy [J]", [("", found.times, T)]),
        Panel(
            "T + V + W + D, change [J]",
            [("energy-momentum", found.times, ours), ("mid-point rule", other.times, theirs, {"ls": "--"})],
        ),
        arm(angles(found), at_instants(found), "0, 0.75, 1.5, 2.25, 3 s"),
    ]


def links(
    sheet: Sheet, task: str, friction: float, wanted: dict[str, dict[int, float]], relative: float, title: str
) -> Optimum:
    """Compare costs with independent ones by both schemes, and draw the first."""
    series: dict[str, dict[int, float]] = {"REM": {}, "GC": {}}
    for name, how in (("REM", REM), ("GC", GC)):
        for N, cost in wanted[name].items():
            series[name][N] = solved(LINKS, N, how, task).cost
            sheet.because(DIGITS)
            sheet.row(f"{name}, N = {N}: cost", series[name][N], cost, max(0.006, relative * cost), "N^2 m^2 s")
    found, other = solved(LINKS, 20, REM, task), solved(LINKS, 20, GC, task)
    panels = [*link_panels(found, other, friction, sheet, 20), costs_panel(series)]
    sheet.draw(title, panels, 3)
    return found


def one_sided(sheet: Sheet) -> None:
    """Figs. 6.2 and 6.4: three links with a third torque of one sign."""
    wanted = {"REM": {10: 9884550.27, 20: 9832299.44}, "GC": {10: 9961229.75, 20: 9851572.95, 80: 9814242.57}}
    found = links(sheet, "001-one-sided", 0.0, wanted, 2e-8, "Document 001, Figs. 6.2 and 6.4: three links, u3 >= 0")
    sheet.says("u3 >= 0 holds", bool((-found.inputs[:, 2]).min() >= -1e-6), "section 6.2")


def with_friction(sheet: Sheet) -> None:
    """Figs. 6.3 and 6.5: three links with friction."""
    wanted = {"REM": {10: 4740210.35, 20: 4723744.60}, "GC": {10: 4737967.70, 20: 4724947.29, 40: 4721773.47, 80: 4720922.27}}
    links(sheet, "001-friction", 300.0, wanted, 0.0, "Document 001, Figs. 6.3 and 6.5: three links with friction")


#: N: cost and range of the Hamiltonian, by both energy-momentum schemes and by the mid-point rule.
HAMILTONIANS = {
    "BEM": {10: (4012225.50, 580902, 708279), 20: (3987882.02, 624379, 658181)},
    "REM": {10: (4012225.50, 580902, 708279)},
    "GC": {
        10: (4004528.93, 491203, 712789),
        20: (3987959.42, 597837, 666068),
        40: (3982816.96, 632968, 651342),
        80: (3981479.11, 643265, 647946),
    },
}


def free_links(sheet: Sheet) -> None:
    """Figs. 7.4 to 7.6: three links without limits, by the basic scheme, and Hamiltonians of direct methods."""
    series: dict[str, dict[int, float]] = {name: {} for name in HAMILTONIANS}
    curves: dict[str, list[Any]] = {name: [] for name in HAMILTONIANS}
    spreads = {}
    for name, how in (("BEM", BEM), ("REM", REM), ("GC", GC)):
        for N, (cost, low, high) in HAMILTONIANS[name].items():
            found = solved(LINKS, N, how)
            series[name][N] = found.cost
            sheet.because(DIGITS)
            sheet.row(f"{name}, N = {N}: cost", found.cost, cost, 0.006, "N^2 m^2 s")
            sheet.row(f"{name}, N = {N}: lowest Hamiltonian", found.hamiltonian.min(), low, 1.0)
            sheet.row(f"{name}, N = {N}: highest Hamiltonian", found.hamiltonian.max(), high, 1.0)
            curves[name].append((f"N = {N}", held(found), found.hamiltonian))
            spreads[name, N] = float(np.ptp(found.hamiltonian))
    basic, reduced = solved(LINKS, 10, BEM), solved(LINKS, 10, REM)
    same = abs(basic.cost / reduced.cost - 1) < 1e-8 and np.abs(basic.hamiltonian / reduced.hamiltonian - 1).max() < 1e-6
    sheet.says("BEM and REM have the same costs and Hamiltonians", bool(same), "section 7.3")
    sheet.says(
        "the Hamiltonian is conserved only in the limit",
        spreads["GC", 10] > spreads["GC", 20] > spreads["GC", 80] > 1,
        "section 7.3",
    )
    found = solved(LINKS, 20, BEM)
    panels = link_panels(found, solved(LINKS, 20), 0.0, sheet, 20)
    panels += [
        costs_panel(series),
        Panel("Hamiltonian, BEM", curves["BEM"] + [("REM, N = 10", *curves["REM"][0][1:], {"ls": ":"})]),
    ]
    sheet.draw("Document 001, Figs. 7.4 to 7.6: three links", [*panels, Panel("Hamiltonian, GC", curves["GC"])], 3)
