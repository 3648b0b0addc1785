"""Figs. 6.21 to 6.30: CABLEV, section 6.3."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from kingpost.base.arrays import FloatArray
from kingpost.gallery.document_000.following import follow, snapshots
from kingpost.gallery.entry import Panel, Sheet
from kingpost.results.history import History

WINCHES = (("winch1_inertia", 0.75), ("winch2_inertia", 0.75), ("winch3_inertia", 1.5))
GANTRY = ("gantry-rail.y", "trolley1.x", "trolley2.x", "trolley3.x")
FORCES = ("gantry_force", "trolley1_force", "trolley2_force", "trolley3_force")
TORQUES = ("winch1_torque", "winch2_torque", "winch3_torque")


def corners(history: History) -> list[FloatArray]:
    """Return the platform's three corners over time: rows of x, y and z, eq. (6.70)."""
    middle = np.array([history[f"load.{axis}"] for axis in "xyz"])
    angles = history.select([f"attitude.{name}" for name in ("roll", "pitch", "yaw")])
    turned = Rotation.from_euler("XYZ", angles)
    third, sixth = 1.2 / np.sqrt(3), 0.6 / np.sqrt(3)
    return [middle + turned.apply(at).T for at in ((third, 0, 0), (-sixth, 0.6, 0), (-sixth, -0.6, 0))]


def trolleys(history: History) -> list[FloatArray]:
    """Return the places of the three trolleys over time."""
    y, level = history["gantry-rail.y"], np.zeros(len(history))
    return [np.array([history[f"trolley{i}.x"], y + shift, level]) for i, shift in ((1, 0.0), (2, 0.6), (3, -0.6))]


def shots(history: History, a: int, b: int, title: str) -> Panel:
    """Return platform, cables and trolleys in one view at the instants of the document, 0, 10 and 20 s."""
    ends = corners(history)
    lines: list[Any] = [[(end[a], end[b]) for end in (*ends, ends[0])]]
    lines += [[(at[a], at[b]), (end[a], end[b])] for at, end in zip(trolleys(history), ends, strict=True)]
    paths = [("middle", (history[f"load.{'xyz'[a]}"], history[f"load.{'xyz'[b]}"]))]
    labels = (f"{'xyz'[a]} [m]", f"{'xyz'[b]} [m]")
    return snapshots(f"{title}, 0, 10, 20 s", history.time, (0, 10, 20), *lines, labels=labels, paths=paths)


def cablev(number: str, case: str, rows: Any, work: float, sheet: Sheet) -> History:
    """Draw and check one manoeuvre of CABLEV in steps of 0.01 s, with `flat` as reference."""
    sheet.because("places are exact; forces have order one: 380 kg of the gantry, with 0.1 m/s^3, in steps of 10 ms")
    task = f"000-6.3.7-{case}"
    history = follow("cablev", task, "minimal-extension", "backward-euler:step=0.01", WINCHES)
    t = history.time
    for instant, values in rows.items():
        k = int(np.argmin(np.abs(t - instant)))
        for name, value in values.items():
            found, within = history[name][k], 5e-6
            if name in FORCES:  # order one: 380 kg of the gantry, with some 0.1 m/s^3
                within = 0.4 if name == "gantry_force" else 0.05
            elif name in TORQUES:
                within = 0.02
            sheet.row(f"{name}({instant:g} s)", found, value, within, history.unit(name))
    sheet.row("work of the inputs", history["servo.work"][-1], work, 1.0, "J")
    sheet.because("corners by the platform's angles, ropes by their drums: to what Newton's method leaves")
    spans = zip(corners(history), trolleys(history), (1, 2, 3), strict=True)
    gap = max(np.abs(np.linalg.norm(end - at, axis=0) - 3 - 0.1 * history[f"winch{i}.angle"]).max() for end, at, i in spans)
    sheet.below("cables: from trolleys to corners, less their lengths", gap, 1e-9, "m")
    lengths = [(f"cable {i}", t, 3 + 0.1 * history[f"winch{i}.angle"]) for i in (1, 2, 3)]
    panels = [
        Panel("gantry and trolleys [m]", [(name, t, history[name]) for name in GANTRY]),
        Panel("cables [m]", lengths),
        Panel("tensions [N]", [(f"cable{i}", t, history[f"cable{i}.tension"]) for i in (1, 2, 3)]),
        Panel("gantry and trolleys [N]", [(name, t, history[name]) for name in FORCES]),
        Panel("winches [N m]", [(name, t, history[name]) for name in TORQUES]),
    ]
    panels += [shots(history, *view) for view in ((0, 1, "from above"), (0, 2, "from the front"), (1, 2, "from the side"))]
    sheet.draw(f"Document 000, section 6.3.7, {case}, 0.01 s", panels, 3)
    return history


def figure_6_21(sheet: Sheet) -> None:
    """Figs. 6.21 to 6.24: CABLEV turns its platform by 60 degrees."""
    rows = {
        10: {
            "trolley2.x": 0.307180,
            "trolley3.x": 1.692820,
            "trolley1_force": 1.2647,
            "trolley2_force": -6.2997,
            "trolley3_force": 5.0350,
            "winch1_torque": -4.1116,
            "winch2_torque": -4.1090,
            "winch3_torque": -4.0830,
        },
        15: {"trolley2.x": -0.430104, "trolley3.x": 2.430104, "trolley2_force": -16.0896, "winch2_torque": -4.2242},
        20: {"trolley2.x": -1.078461, "trolley3.x": 3.078461, "trolley2_force": -23.5992, "winch2_torque": -4.7901},
    }
    history = cablev("6.21", "rotation", rows, 0.0, sheet)
    for name, value in (("gantry-rail.y", 1.2), ("trolley1.x", 1 + 0.6 * np.sqrt(3))):
        sheet.below(f"{name} stays where it is", np.abs(history[name] - value).max(), 1e-8, "m")


def figure_6_25(sheet: Sheet) -> None:
    """Figs. 6.25 and 6.26: CABLEV moves its platform along a line."""
    rows = {
        2.5: {"gantry-rail.y": 1.319770, "trolley1.x": 2.102268, "gantry_force": 31.220, "trolley1_force": 1.6893},
        17.5: {"gantry-rail.y": 4.901528, "trolley1.x": 3.987403, "gantry_force": -39.393, "trolley1_force": -2.0855},
        20: {"gantry-rail.y": 5.0, "trolley1.x": 4.0392305, "trolley2.x": 3.0},
    }
    history = cablev("6.25", "translation", rows, 245.25, sheet)
    sheet.because("backward Euler sees accelerations a step late: what was before 5 s is gone soon")
    uniform = (history.time >= 5.05) & (history.time <= 14.99)
    sheet.below("forces while the load moves uniformly", max(np.abs(history[n][uniform]).max() for n in FORCES), 1e-4, "N")


def figure_6_27(sheet: Sheet) -> None:
    """Figs. 6.27 to 6.30: CABLEV turns and moves at once. Eq. (6.97) lacks a factor 2."""
    row = {
        2.5: ((1.319795, 2.102210, 1.027892, 1.098067), (31.2866, 1.6816, 0.0625, 3.2894)),
        10: ((3.141008, 2.954896, 1.105689, 2.725642), (1.6197, 0.5987, -10.5058, 8.5874)),
        17.5: ((5.136886, 3.430850, 1.050363, 3.732877), (-45.6948, -5.7505, -17.6560, 20.9413)),
    }
    rows = {time: dict(zip(GANTRY + FORCES, places + forces, strict=True)) for time, (places, forces) in row.items()}
    cablev("6.27", "both", rows, 245.25, sheet)
