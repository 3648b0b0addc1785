"""Section 5.2: a tadpole tricycle."""

from __future__ import annotations

from typing import Any

import numpy as np

from kingpost import open_model, sweep_linearisation
from kingpost.gallery.entry import Panel, Sheet

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
