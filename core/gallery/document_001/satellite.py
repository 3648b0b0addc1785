"""The satellite of chapter 6, which turns by half a turn at the least cost."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from kingpost import Optimum
from kingpost.base.arrays import FloatArray
from kingpost.gallery.document_001.optima import DIGITS, REM, balance, costs_panel, energies, held, solved
from kingpost.gallery.entry import Panel, Sheet

SATELLITE = "satellite"
#: Costs of a model of seven states that was reduced by hand, extrapolated.
LIMITS = {"001": 1434207.3, "001-friction": 2382583.3}


def satellite(sheet: Sheet, task: str, friction: float, coarse: dict[int, float], kinetic: float, title: str) -> None:
    """Compare the satellite's costs, energies and momentum with independent and with printed numbers."""
    found = solved(SATELLITE, 20, REM, task)
    T, _ = energies(found)
    sheet.because(DIGITS)
    for N, cost in coarse.items():
        sheet.row(f"REM, N = {N}: cost", solved(SATELLITE, N, REM, task).cost, cost, 0.006, "N^2 m^2 s")
    sheet.row("REM, N = 20: largest kinetic energy", T.max(), kinetic, 0.06, "J")
    plain = {N: solved(SATELLITE, N, task=task).cost for N in (20, 40)}
    sheet.because("order two: a third of the last change, and a sixteenth of that for the order four")
    limit = plain[40] + (plain[40] - plain[20]) / 3
    sheet.row("GC: limit of the cost", limit, LIMITS[task], abs(plain[40] - plain[20]) / 16, "N^2 m^2 s")
    sheet.says("the cost by REM is above that by GC", found.cost > plain[20], "section 6.3")
    names = [item.name for item in found.problem.equations.speed_quantities]
    columns = [names.index(f"spin{i}.angle.rate") for i in (1, 2, 3)]
    space = found.problem.equations.structure.discrete
    assert space is not None
    q, v = found.states[:, : space.natural.nq], found.program.layout.states(found.solution.w)[:, found.problem.equations.nx :]
    middles = zip((q[1:] + q[:-1]) / 2, (v[1:] + v[:-1]) / 2, strict=True)
    nu = [np.linalg.lstsq(np.asarray(space.motions(at, found.p)), mean, rcond=None)[0] for at, mean in middles]
    ours = balance(found, found.h * np.array(nu)[:, columns], friction)
    M = np.asarray(space.natural.mass_at(np.zeros(1), found.p))
    # Points and directors come first; turns and angles that are followed beside them have no mass.
    vectors = q[:, : v.shape[1]].reshape(len(q), -1, 3)
    J = np.cross(vectors, (v @ M.T).reshape(vectors.shape)).sum(axis=1)
    sheet.because("what the solver leaves: 1e-9 in rows relative to 212 kg m^2 at 5 rad/s; the figure has 2e-8")
    sheet.below("T + W + D, change", np.abs(ours).max(), 1e-5, "J")
    sheet.below("angular momentum", np.abs(J).max(), 1e-5, "kg m^2/s")
    t, u = held(found), -found.inputs
    turn = Rotation.from_quat(q_of(found)).as_rotvec()
    panels = [
        Panel(
            "rotation vector [rad]",
            [(f"theta{k + 1}", found.times, turn[:, k]) for k in range(3)],
            ticks=(-0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3),
        ),
        Panel("T [J]", [("", found.times, T)], ticks=(0, 5000, 10000)),
        Panel("u [N m]", [(f"u{k + 1}", t, u[:, k]) for k in range(3)], ticks=(-1500, -1000, -500, 0, 500, 1000, 1500)),
        Panel("T + W + D, change [J]", [("", found.times, ours)]),
        Panel("angular momentum [kg m^2/s]", [(f"J{k + 1}", found.times, J[:, k]) for k in range(3)]),
        costs_panel({"REM": {20: found.cost}, "GC": plain}),
        *axes_panels(found),
    ]
    if friction:
        for panel in panels[:3]:
            sheet.axis(panel, "Fig. 6.9")
        sheet.says("costs lie between 2.35e6 and 2.6e6", 2.35e6 < plain[40] < found.cost < 2.6e6, "Fig. 6.9")
    sheet.draw(title, panels, 3)


def axes_panels(found: Optimum) -> list[Panel]:
    """Return the axes of the main body, which are its directors, as a snapshot every 1.25 s in three views."""
    directors = found.states[:, 3:12].reshape(-1, 3, 3)
    rows = [int(np.argmin(np.abs(found.times - t))) for t in np.arange(0.0, 5.1, 1.25)]
    panels = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        curves: list[Any] = []
        for shade, row in zip(np.linspace(0.25, 1.0, len(rows)), rows, strict=True):
            for k in range(3):
                label = f"d{k + 1}" if row == rows[-1] else ""
                tip = directors[row, k]
                curves.append((label, [0.0, tip[a]], [0.0, tip[b]], {"color": f"C{k}", "alpha": shade, "lw": 2}))
        panels.append(Panel(f"axes every 1.25 s, {'xyz'[b]}", curves, xlabel="xyz"[a], equal=True))
    return panels


def q_of(found: Optimum) -> FloatArray:
    """Return the quaternion of the main body at all nodes, scalar last, from its directors."""
    axes = found.states[:, 3:12].reshape(-1, 3, 3).transpose(0, 2, 1)
    return Rotation.from_matrix(axes).as_quat()


def satellite_free(sheet: Sheet) -> None:
    """Figs. 6.6 and 6.8: the satellite turns by half a turn, without friction."""
    satellite(sheet, "001", 0.0, {}, 7035.1, "Document 001, Figs. 6.6 and 6.8: satellite")


def satellite_friction(sheet: Sheet) -> None:
    """Figs. 6.7 and 6.9: the same with friction; the second figure of the document whose axes survived."""
    satellite(
        sheet, "001-friction", 100.0, {20: 2496446.95}, 6480.9, "Document 001, Figs. 6.7 and 6.9: satellite with friction"
    )
    start = Rotation.from_euler("ZXZ", [2.0, 2.0, 2.0])
    turn = Rotation.from_rotvec(np.pi / np.sqrt(14.0) * np.array([1.0, 2.0, 3.0]))
    psi, theta, phi = np.mod((start * turn).as_euler("ZXZ"), 2 * np.pi)
    sheet.because("four decimals that are printed")
    for name, found, wanted in (("Phi", phi, 4.7543), ("Theta", theta, 1.6598), ("Psi", psi, 0.7074)):
        sheet.row(f"{name} at the end, Phi innermost", found, wanted, 6e-5, "rad", "section 6.3")
