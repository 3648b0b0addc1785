"""Figs. 5.12 to 5.16: the rotary crane with two winches of section 5.4.4."""

from __future__ import annotations

import numpy as np

from kingpost.gallery.document_000.following import follow, snapshots
from kingpost.gallery.document_000.rotary import ROTARY, rotary_reference
from kingpost.gallery.entry import Panel, Sheet


def two_winches(number: str, step: float, sheet: Sheet) -> None:
    """Draw and check the crane with two winches: Ft = M1/r1 + M2/r2 and Mw = rw M2/r2, eq. (5.140)."""
    sheet.because("places are exact; errors of inputs to three percent of those of an independent implementation")
    history = follow("rotary-crane-two-winches", "000-5.4.4", "minimal-extension", f"backward-euler:step={step}")
    there = rotary_reference(history.time, *ROTARY["000-5.3.2"])
    # The radii of the winches are not in the document; the model has 0.1 m, and only torque over radius counts.
    force = (history["winch1_torque"] + history["winch2_torque"]) / 0.1
    found = (
        history["slew.angle"],
        np.hypot(history["carriage.x"], history["carriage.y"]),
        np.hypot(
            np.hypot(history["load.x"] - history["carriage.x"], history["load.y"] - history["carriage.y"]), history["load.z"]
        ),
        history["slew_torque"],
        force,
        history["winch2_torque"],
    )
    names = ("phi [rad]", "s [m]", "l [m]", "M_b [N m]", "F_t [N]", "M_w [N m]")
    for name, values, other in zip(names[:3], found, there, strict=False):
        sheet.below(f"{name}, to the closed form", np.abs(values - other).max(), 1e-7)
    # An independent implementation in the document's coordinates, where (x2, y2) with a circle are the slewing angle, has
    # other errors of Mb: 54.38 and 6.339 N m. Here the error of Mb is that of phi'' itself.
    expected = {1.0: (None, 0.960, 0.0531), 0.1: (None, 0.246, 6.20e-3)}[step]
    for name, values, other, bound in zip(names[3:], found[3:], there[3:], expected, strict=True):
        error = np.abs(values - other)[1:].max()
        if bound is None:
            sheet.below(f"largest error of {name}", error, 64 * step)
        else:
            sheet.row(f"largest error of {name}", error, bound, 0.03 * bound)
    panels = [
        Panel(name, [("REF", history.time, other, {"color": "k"}), ("NUM", history.time, values, {"ls": "--"})])
        for name, values, other in zip(names, found, there, strict=True)
    ]
    sheet.draw(f"Document 000, Fig. {number}: rotary crane with two winches, {step:g} s", panels, 3)


def figure_5_12(sheet: Sheet) -> None:
    """Fig. 5.12: rotary crane with two winches, steps of 1 s."""
    two_winches("5.12", 1.0, sheet)


def figure_5_13(sheet: Sheet) -> None:
    """Fig. 5.13: the same in steps of 0.1 s."""
    two_winches("5.13", 0.1, sheet)


def figure_5_14(sheet: Sheet) -> None:
    """Figs. 5.14 to 5.16: the extended crane coordinates of the crane with two winches, and snapshots."""
    sheet.because("closed form, to what Newton's method leaves")
    history = follow("rotary-crane-two-winches", "000-5.4.4", "minimal-extension", "backward-euler:step=0.1")
    t, phi = history.time, history["slew.angle"]
    s = np.hypot(history["carriage.x"], history["carriage.y"])
    l = rotary_reference(t, *ROTARY["000-5.3.2"])[2]
    # Eq. (5.135) with r = 4 and alpha = 1/2, from phi, s and l of the closed form.
    wanted = {"L1": s + 2, "L2": s + 4 + l, "L0": s + 4}
    found = {
        "L1": 7 + 0.1 * history["winch1.angle"],
        "L2": 14 + 0.1 * history["winch2.angle"],
        "L0": 9 + history["share.growth"],
    }
    for name in wanted:
        sheet.below(f"{name}, to eq. (5.135)", np.abs(found[name] - wanted[name]).max(), 1e-8, "m")
    places = {"x2": -4 * np.cos(phi), "y2": -4 * np.sin(phi), "x0": history["carriage.x"], "y0": history["carriage.y"]}
    panels = [
        Panel("winch and trolley [m]", [(name, t, values) for name, values in places.items()]),
        Panel("ropes [m]", [(name, t, values) for name, values in found.items()]),
        snapshots(
            "from above",
            t,
            np.arange(0, 21, 2.5),
            ((places["x2"], places["y2"]), (places["x0"], places["y0"])),
            labels=("x [m]", "y [m]"),
            paths=[("load", (history["load.x"], history["load.y"]))],
        ),
    ]
    sheet.draw("Document 000, Figs. 5.14 to 5.16: rotary crane with two winches", panels, 3)
