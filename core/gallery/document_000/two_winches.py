"""Figs. 5.12 to 5.16: the rotary crane with two winches of section 5.4.4."""

from __future__ import annotations

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.gallery.document_000.following import converges, follow, rate, snapshots
from kingpost.gallery.document_000.rotary import EXTENSIONS, ROTARY, ROTARY_INPUTS, on_path, rotary_reference
from kingpost.gallery.entry import Panel, Sheet
from kingpost.results.history import History

DATA = ROTARY["000-5.3.2"]
NAMES = ("phi [rad]", "s [m]", "l [m]", "M_b [N m]", "F_t [N]", "M_w [N m]")
#: Largest errors of Ft and Mw by backward Euler, from an independent implementation in the document's coordinates. There
#: (x2, y2) with a circle are the slewing angle, and the errors of Mb are others: 54.38 and 6.339 N m.
ERRORS = {1.0: (0.960, 0.0531), 0.1: (0.246, 6.20e-3)}


def solved(step: float) -> History:
    """Return the run with one step."""
    return follow("rotary-crane-two-winches", "000-5.4.4", "minimal-extension", f"backward-euler:step={step}")


def as_reduced(history: History) -> tuple[FloatArray, ...]:
    """Return phi, s, l, Mb, Ft = M1/r1 + M2/r2 and Mw = rw M2/r2, eq. (5.140).

    The radii of the winches are not in the document; the model has 0.1 m, and only torque over radius counts.
    """
    x, y = history["carriage.x"], history["carriage.y"]
    down = np.sqrt((history["load.x"] - x) ** 2 + (history["load.y"] - y) ** 2 + history["load.z"] ** 2)
    force = (history["winch1_torque"] + history["winch2_torque"]) / 0.1
    return history["slew.angle"], np.hypot(x, y), down, history["slew_torque"], force, history["winch2_torque"]


def second_differences(values: FloatArray, step: float) -> FloatArray:
    """Return what backward Euler takes for second derivatives of exact values that begin at rest."""
    padded = np.concatenate([[values[0], values[0]], values])
    found: FloatArray = (padded[2:] - 2 * padded[1:-1] + padded[:-2]) / step**2
    return found


def slewing_torque(times: FloatArray, step: float) -> FloatArray:
    """Return Mb as backward Euler has to find it: places of the closed form, and their accelerations by differences.

    Girder and trolley have coordinates of their own here, phi and (x0, y0); the load pulls with its own, prescribed
    acceleration.
    """
    load, trolley, girder, _ = DATA
    phi, s, *_ = rotary_reference(times, *DATA)
    x, y = s * np.cos(phi), s * np.sin(phi)
    ax, ay = on_path(times, lambda c, t: [-7 * rate(c, t, 2), 2 * rate(c, t, 2)])
    carried = trolley * (x * second_differences(y, step) - y * second_differences(x, step))
    torque: FloatArray = girder * second_differences(phi, step) + carried + load * (x * ay - y * ax)
    return torque


def two_winches(number: str, step: float, sheet: Sheet) -> list[float]:
    """Draw and check the crane with two winches; return the largest errors of the inputs."""
    history = solved(step)
    there, found = rotary_reference(history.time, *DATA), as_reduced(history)
    sheet.because("places are exact, to what Newton's method leaves")
    for name, values, other in zip(NAMES[:3], found, there, strict=False):
        sheet.below(f"{name}, to the closed form", np.abs(values - other).max(), 1e-10)
    errors = [float(np.abs(values - other)[1:].max()) for values, other in zip(found[3:], there[3:], strict=True)]
    sheet.because("what is left of places, over the square of the step: 480 kg m^2 of 1e-12 in (0.1 s)^2")
    expected = slewing_torque(history.time, step)
    sheet.below("M_b [N m], to backward differences of the closed form", np.abs(found[3] - expected)[1:].max(), 5e-8)
    sheet.because("three digits of an independent implementation")
    for name, error, wanted in zip(NAMES[4:], errors[1:], ERRORS[step], strict=True):
        sheet.row(f"largest error of {name}", error, wanted, 0.005 * wanted)
    panels = [
        Panel(name, [("REF", history.time, other, {"color": "k"}), ("NUM", history.time, values, {"ls": "--"})])
        for name, values, other in zip(NAMES, found, there, strict=True)
    ]
    sheet.draw(f"Document 000, Fig. {number}: rotary crane with two winches, {step:g} s", panels, 3)
    return errors


def figure_5_12(sheet: Sheet) -> None:
    """Fig. 5.12: rotary crane with two winches, steps of 1 s."""
    two_winches("5.12", 1.0, sheet)


def figure_5_13(sheet: Sheet) -> None:
    """Fig. 5.13: the same in steps of 0.1 s."""
    converges(sheet, two_winches("5.12", 1.0, Sheet()), two_winches("5.13", 0.1, sheet), "section 5.4.4")


def figure_5_14(sheet: Sheet) -> None:
    """Figs. 5.14 to 5.16: the extended crane coordinates of the crane with two winches, and snapshots in both kinds."""
    sheet.because("closed form, to what Newton's method leaves")
    history = solved(0.1)
    t, phi = history.time, history["slew.angle"]
    _, s, l, *_ = rotary_reference(t, *DATA)
    # Eq. (5.135) with r = 4 and alpha = 1/2.
    wanted = {"L1": s + 2, "L2": s + 4 + l, "L0": s + 4}
    found = {
        "L1": 7 + 0.1 * history["winch1.angle"],
        "L2": 14 + 0.1 * history["winch2.angle"],
        "L0": 9 + history["share.growth"],
    }
    for name in wanted:
        sheet.below(f"{name}, to eq. (5.135)", np.abs(found[name] - wanted[name]).max(), 1e-10, "m")
    model, method = EXTENSIONS["B1"]
    reduced = follow(model, "000-5.3.2", method, "backward-euler:step=0.1")
    pairs = zip(ROTARY_INPUTS, as_reduced(history)[3:], strict=True)
    differences = [np.abs(values - reduced[name])[1:].max() / np.ptp(reduced[name]) for name, values in pairs]
    close = max(differences) < 0.02
    sheet.says("extended and reduced coordinates are practically indistinguishable (2 % of inputs)", close, "section 5.4.4")
    places = {"x2": -4 * np.cos(phi), "y2": -4 * np.sin(phi), "x0": history["carriage.x"], "y0": history["carriage.y"]}
    trolley = [reduced["travel.displacement"] * turned(reduced["slew.angle"]) for turned in (np.cos, np.sin)]
    load = [reduced[f"load.{axis}"] for axis in "xyz"]
    instants = np.arange(0, 21, 2.5)
    panels = [
        Panel("winch and trolley [m]", [(name, t, values) for name, values in places.items()]),
        Panel("ropes [m]", [(name, t, values) for name, values in found.items()]),
        snapshots(
            "extended: winches and trolley from above",
            t,
            instants,
            ((places["x2"], places["y2"]), (places["x0"], places["y0"])),
            labels=("x [m]", "y [m]"),
            paths=[("load", (history["load.x"], history["load.y"]))],
        ),
        snapshots(
            "reduced: pillar, trolley and load from the side",
            t,
            instants,
            ((0.0, 0.0), (trolley[0], 0.0), (load[0], load[2])),
            paths=[("load", (load[0], load[2]))],
        ),
    ]
    sheet.draw("Document 000, Figs. 5.14 to 5.16: rotary crane with two winches", panels)
