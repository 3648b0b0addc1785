"""Figs. 6.2 to 6.17: the US Navy cranes of sections 6.1 and 6.2, in the plane and in space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kingpost import MechanismError
from kingpost.gallery.document_000.following import compare, converges, follow, largest, snapshots
from kingpost.gallery.entry import Panel, Sheet
from kingpost.results.history import History


def navy(
    sheet: Sheet, title: str, reference: History, runs: Any, names: Sequence[str], shots: Sequence[Panel] = ()
) -> dict[str, float]:
    """Draw coordinates, inputs and tensions of runs beside a reference, and snapshots; return the lowest tensions."""
    panels = [
        Panel(
            f"{name} [{reference.unit(name)}]",
            [("REF", reference.time, reference[name], {"color": "k"})]
            + [(label, history.time, history[name], {"ls": "--"}) for label, history in runs.items()],
        )
        for name in names
    ]
    tensions = [name for name in reference.names if name.endswith(".tension")]
    panels.append(Panel("tensions [N]", [(name, reference.time, reference[name]) for name in tensions]))
    lowest = {name: reference[name].min() for name in tensions}
    for name, tension in lowest.items():
        if tension < -1:
            sheet.note(f"{name} would have to push: lowest tension {tension:.0f} N")
    sheet.draw(f"Document 000, {title}", [*panels, *shots], 3)
    return lowest


def in_the_plane(history: History, heavy: bool) -> Panel:
    """Return pole, ropes, pulley and load in the plane, at seven instants."""
    down = -np.array([np.sin(np.pi / 3), np.cos(np.pi / 3)])
    # Along the pole from its top: suspension winch S, hoisting winch P, guide winch A, and its foot.
    S, P, A, foot = (distance * down for distance in ((0.0, 5.0, 15.0, 20.0) if heavy else (0.0, 0.0, 10.0, 15.0)))
    pulley, load = ([history[f"{name}.{axis}"] for axis in "xz"] for name in ("pulley-centre", "load"))
    lines = [(P, pulley, load), (A, pulley), *([(S, pulley)] if heavy else [])]
    paths = [("pulley", pulley), ("load", load), ("pole", list(zip(S, foot, strict=True)))]
    return snapshots("every 0.5 s", history.time, np.arange(0, 3.1, 0.5), *lines, paths=paths)


def in_space(history: History, heavy: bool) -> list[Panel]:
    """Return pole, ropes, pulley and load in three views, at the instants of Fig. 6.17."""
    phi = history["slew.angle"]
    pole = [5 * np.sqrt(3) * np.cos(phi), 5 * np.sqrt(3) * np.sin(phi), 5.0]
    pulley, load = ([history[f"{name}.{axis}"] for axis in "xyz"] for name in ("pulley-centre", "load"))
    panels = []
    for a, b in ((0, 2), (1, 2), (0, 1)):
        guide, hoist, top = ((part * pole[a], part * pole[b]) for part in (0.5, 1.0, 1.5))
        B, C = (pulley[a], pulley[b]), (load[a], load[b])
        lines = [((0.0, 0.0), top if heavy else hoist), (guide, B), (hoist, B, C), *([(top, B)] if heavy else [])]
        labels = (f"{'xyz'[a]} [m]", f"{'xyz'[b]} [m]")
        paths = [("pulley", B), ("load", C)]
        panels.append(snapshots("0, 5, 10, 15, 20 s", history.time, (0, 5, 10, 15, 20), *lines, labels=labels, paths=paths))
    return panels


def errors_of(history: History, reference: History, names: Sequence[str]) -> list[float]:
    """Return the largest differences from a reference with finer steps, but for the ends, where inputs jump."""
    inside = (history.time > 0.05) & (history.time < 2.95)
    return [np.abs(history[name] - np.interp(history.time, reference.time, reference[name]))[inside].max() for name in names]


def same_places(sheet: Sheet, coarse: History, reference: History, names: Sequence[str], place: str) -> None:
    """Say whether coordinates are those of the reference for a coarse step, in units of their ranges."""
    worst = max(
        np.abs(coarse[name] - np.interp(coarse.time, reference.time, reference[name])).max() / np.ptp(reference[name])
        for name in names
    )
    sheet.says("coordinates are those of the reference even for steps of 0.1 s", worst < 1e-9, place)


def figure_6_2(sheet: Sheet) -> None:
    """Figs. 6.2 to 6.5: US Navy crane in the plane, pulley without mass, steps of 0.1 and 0.01 s.

    At t = 0, and twice on the way, the guide rope has no tension, and the equations of that time alone do not tell where
    along the hoisting rope the pulley is; further derivatives of the path do.
    """
    model, task = "us-navy-crane-2d:pulley=massless", "000-6.1.1"
    reference = follow(model, task, "flat", "backward-euler:step=0.01")
    # 0.05 s is the step that stopped a plain Newton method at 1.70 s.
    runs = {f"{h:g} s": follow(model, task, "minimal-extension", f"backward-euler:step={h}") for h in (0.1, 0.05, 0.01)}
    numbers = {
        0.0: {"guide_torque": 0.0, "hoist_torque": -98.1, "block.x": 0.0, "block.z": -5.0},
        0.5: {"guide_torque": -63.929257, "hoist_torque": -108.078930, "block.x": -2.1389770, "block.z": -5.5007464},
        1.0: {"guide_torque": -119.531360, "hoist_torque": -160.134936, "block.x": -4.2865100, "block.z": -5.6042681},
        2.0: {"guide_torque": 23.619502, "hoist_torque": -95.065090, "block.x": -0.9919886, "block.z": -8.1144666},
        3.0: {"guide_torque": -64.732662, "hoist_torque": -98.1, "block.x": -5.0, "block.z": -6.2792680},
    }
    sheet.because("six or seven digits of an independent solution of the flat equations")
    compare(sheet, reference, numbers, {"N.m": 1e-4, "m": 1e-6})
    names = ("block.x", "block.z", "guide.angle", "hoist.angle", "share.growth", "guide_torque", "hoist_torque")
    shots = [in_the_plane(reference, heavy=False)]
    lowest = navy(sheet, "Figs. 6.2 to 6.5: US Navy crane, m0 = 0", reference, runs, names, shots)
    sheet.row("lowest tension of the guide rope", lowest["guide-rope.tension"], -442, 1, "N")
    for label, history in runs.items():
        there = np.interp(history.time, reference.time, reference["block.z"])
        sheet.below(f"{label}: block.z", np.abs(history["block.z"] - there).max(), 1e-6, "m")
    torques = ("guide_torque", "hoist_torque")
    sheet.because("three digits of an independent implementation")
    found = {step: errors_of(runs[f"{step:g} s"], reference, torques) for step in (0.1, 0.01)}
    for step, expected in ((0.1, (17.2, 17.4)), (0.01, (2.08, 1.91))):
        for name, error, number in zip(torques, found[step], expected, strict=True):
            sheet.row(f"{step:g} s: largest error of {name}", error, number, 0.005 * number, "N m")
    place = "section 6.1.1"
    same_places(sheet, runs["0.1 s"], reference, names[:5], place)
    converges(sheet, found[0.1], found[0.01], place)
    level = abs(reference["block.z"][0] + 10 * np.cos(np.pi / 3)) < 1e-9
    sheet.says("the guide rope is horizontal at the start", level, place)


def figure_6_7(sheet: Sheet) -> None:
    """Figs. 6.7 to 6.10: US Navy crane in the plane, pulley with mass, steps of 0.1 and 0.01 s."""
    model, task = "us-navy-crane-2d", "000-6.1.2"
    reference = follow(model, task, "flat", "backward-euler:step=0.01")
    runs = {f"{h:g} s": follow(model, task, "minimal-extension", f"backward-euler:step={h}") for h in (0.1, 0.01)}
    torques = ("guide_torque", "hoist_torque", "suspension_torque")
    rows = {
        0.0: (-49.05, -98.1, -129.7741),
        0.5: (-68.36071, -124.55358, -135.81641),
        1.0: (-80.77108, -162.69750, -153.92959),
        2.0: (921.31095, -118.80908, -647.17323),
        3.0: (23.12505, -98.1, -161.02148),
    }
    numbers = {time: dict(zip(torques, row, strict=True)) for time, row in rows.items()}
    sheet.because("five digits of an independent solution of the flat equations")
    compare(sheet, reference, numbers, {"N.m": 1e-4})
    names = ("block.x", "guide.angle", "hoist.angle", "suspension.angle", "share.growth", *torques)
    shots = [in_the_plane(reference, heavy=True)]
    lowest = navy(sheet, "Figs. 6.7 to 6.10: US Navy crane, m0 = 150 kg", reference, runs, names, shots)
    sheet.row("lowest tension of the guide rope", lowest["guide-rope.tension"], -9177, 10, "N")
    sheet.because("three digits of an independent implementation")
    found = {}
    for step, expected in ((0.1, (561, 53.1, 280)), (0.01, (61.7, 6.10, 31.8))):
        history = runs[f"{step:g} s"]
        there = [np.interp(history.time, reference.time, reference[name]) for name in torques]
        found[step] = largest(history, torques, there)
        for name, error, number in zip(torques, found[step], expected, strict=True):
            sheet.row(f"{step:g} s: largest error of {name}", error, number, 0.005 * number, "N m")
    same_places(sheet, runs["0.1 s"], reference, names[:5], "section 6.1.2")
    converges(sheet, found[0.1], found[0.01], "section 6.1.2")


def figure_6_13(sheet: Sheet) -> None:
    """Figs. 6.13 and 6.14: US Navy crane in space, pulley without mass, steps of 0.01 s.

    The document has no reference, and at t = 0 ranks are lost, as in the plane: `bdf2` takes the place of one.
    """
    sheet.because("six digits of an independent solution; inputs by bdf2, which stands in for a reference")
    model, task = "us-navy-crane-3d:pulley=massless", "000-6.2.1"
    reference = follow(model, task, "minimal-extension", "bdf2:step=0.01")
    runs = {"0.01 s": follow(model, task, "minimal-extension", "backward-euler:step=0.01")}
    names = ("slew.angle", "block.x", "block.y", "block.z", "guide_torque", "hoist_torque", "slew_torque")
    rows = {
        2.5: (0.071201, 7.880184, 0.506975, 2.094352, -28.05181, -98.85577, 164.30906),
        10.0: (0.805114, 3.330127, 3.464102, 2.255080, -89.75256, -98.23751, 5.52204),
        17.5: (1.758659, -1.281961, 6.461543, 1.856143, -58.40562, -97.60973, -164.2204),
    }
    numbers = {time: dict(zip(names, row, strict=True)) for time, row in rows.items()}
    compare(sheet, reference, numbers, {"N.m": 0.02, "m": 2e-6, "rad": 2e-6})
    shots = in_space(reference, heavy=False)
    lowest = navy(sheet, "Figs. 6.13 and 6.14: US Navy crane in space, m0 = 0", reference, runs, names, shots)
    sheet.because("rounding: all ropes pull here, and the guide rope is slack at the start alone")
    sheet.below("the most that a rope would have to push", -min(lowest.values()), 1e-6, "N")
    sheet.row("work of the inputs", reference["servo.work"][-1], 1962.0, 1.0, "J")


def figure_6_16(sheet: Sheet) -> None:
    """Figs. 6.16 and 6.17: US Navy crane in space, pulley with mass, steps of 0.1 s.

    The path as it is printed has four continuous derivatives, and the problem index 7, not 5: its slewing torque would have
    impulses. It is refused; the path here has six. In the uniform phase, 5 to 15 s, both are the same.
    """
    sheet.because("yes or no")
    model = "us-navy-crane-3d"
    try:
        follow(model, "000-6.2.2", "minimal-extension", "backward-euler:step=0.1")
        refused = 0
    except MechanismError as error:
        refused = int("index 7" in str(error) and "C^6" in str(error))
    sheet.row("the printed path is refused: index 7", refused, 1, 0)
    task = "000-6.2.2-smooth"
    reference = follow(model, task, "flat", "backward-euler:step=0.1")
    runs = {"0.1 s": follow(model, task, "minimal-extension", "backward-euler:step=0.1")}
    names = ("slew.angle", "block.x", "block.y", "guide_torque", "suspension_torque", "hoist_torque", "slew_torque")
    row = (np.arctan2(6.243264, 6.001805), 3.330127, 3.464102, -79.6570, 26.9378, -98.2133, 5.57)
    sheet.because("numbers of backward Euler in steps of 6.25 ms, with errors of that order")
    compare(sheet, reference, {10.0: dict(zip(names, row, strict=True))}, {"N.m": 0.1, "m": 2e-6, "rad": 2e-6})
    sheet.row("work of the inputs", reference["servo.work"][-1], 1912.95, 0.5, "J")
    navy(sheet, "Fig. 6.16: US Navy crane in space, m0 = 5 kg", reference, runs, names)

    # Fig. 6.17, the only figure of the document whose axes survived.
    phi, t = reference["slew.angle"], reference.time
    pulley, load = ([reference[f"{name}.{axis}"] for axis in "xyz"] for name in ("pulley-centre", "load"))
    pole = [5 * np.sqrt(3) * np.cos(phi), 5 * np.sqrt(3) * np.sin(phi), 5.0]
    tip = [1.5 * np.asarray(part) for part in pole]
    for axis, ticks in (("x", (-5, 0, 5, 10, 15)), ("y", (-2, 4, 10, 16)), ("z", (-15, -10, -5, 0, 5))):
        k = "xyz".index(axis)
        every = [("", t, np.broadcast_to(point[k], t.shape)) for point in (pulley, load, pole, tip)]
        sheet.axis(Panel(f"Fig. 6.17, {axis} [m]", every, ticks=ticks), "Fig. 6.17")
    sheet.draw("Document 000, Fig. 6.17: snapshots of pole, ropes, pulley and load", in_space(reference, heavy=True), 3)
