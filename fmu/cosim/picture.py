"""A picture of a coupled system: boxes in layers from left to right, and an arrow for each pair that is connected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kingpost.base.errors import FileError, listed
from kingpost.base.files import write_whole
from kingpost.fmu.cosim.plan import Plan
from kingpost.fmu.cosim.wiring.graph import layers
from kingpost.fmu.cosim.wiring.wires import Wire
from kingpost.results.figures import FORMATS, check_installed, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

#: Names at an arrow; of more the number is told.
MOST_NAMES = 4
WIDTH, HEIGHT = 1.5, 0.7
#: Distances of layers, and of boxes in a layer, in the units of the boxes.
ACROSS, DOWN = 4.6, 2.2


def draw_system(plan: Plan) -> Figure:
    """Return a picture of a system; arrows to the left and within a layer are bent, so that none lies on another."""
    check_installed()
    from matplotlib.figure import Figure  # an extra, and slow to import

    names = list(plan.components)
    columns = layers(names, plan.wires)
    tallest = max(map(len, columns))
    places = {
        name: (ACROSS * i, -DOWN * (j + (tallest - len(column)) / 2))
        for i, column in enumerate(columns)
        for j, name in enumerate(column)
    }
    figure = Figure(figsize=(2.2 + 2.6 * len(columns), 1.6 + 1.5 * tallest), layout="constrained")
    axis = figure.subplots()
    axis.set_axis_off()
    axis.set_aspect("equal")
    axis.set_xlim(-1.6, ACROSS * (len(columns) - 1) + 1.6)
    axis.set_ylim(-DOWN * (tallest - 1) - 1.6, 1.6)
    boxes = {name: _box(axis, name, _subtitle(plan, name), place) for name, place in places.items()}
    for source in names:
        for target in names:
            wires = [wire for wire in plan.wires if (wire.source, wire.target) == (source, target)]
            if wires:
                _arrow(axis, wires, places[source], places[target], (boxes[source], boxes[target]))
    figure.suptitle(_text(f"{plan.system.name} ({plan.master.name}, {plan.system.step:g} s)"), fontsize=11)
    return figure


def save_picture(figure: Figure, path: Path) -> None:
    """Write a picture in the format that its suffix names."""
    if path.suffix.lower() not in FORMATS:
        raise FileError(f"'{path}': the name of a picture must end in {listed(FORMATS)}")
    write_whole(path, lambda beside: save(figure, beside))


def _subtitle(plan: Plan, name: str) -> str:
    facts = plan.components[name].facts
    return str(facts["fmu"] if "fmu" in facts else facts["model"])


def _box(axis: Axes, name: str, subtitle: str, place: tuple[float, float]) -> Patch:
    from matplotlib.patches import FancyBboxPatch

    x, y = place
    box = FancyBboxPatch(
        (x - WIDTH / 2, y - HEIGHT / 2),
        WIDTH,
        HEIGHT,
        boxstyle="round,pad=0.12",
        facecolor="#eef3f8",
        edgecolor="#35506b",
        zorder=2,
    )
    axis.add_patch(box)
    axis.text(x, y + 0.13, _text(name), ha="center", va="center", fontsize=10, weight="bold", zorder=3)
    axis.text(x, y - 0.2, _text(subtitle), ha="center", va="center", fontsize=7, color="#555555", zorder=3)
    return box


def _arrow(
    axis: Axes, wires: list[Wire], start: tuple[float, float], end: tuple[float, float], boxes: tuple[Patch, Patch]
) -> None:
    from matplotlib.patches import FancyArrowPatch

    itself = start == end
    bend = 0.28 if not itself else 1.2
    lift = HEIGHT / 2 + 0.12
    a = (start[0] + WIDTH / 3, start[1] + lift) if itself else start
    b = (end[0] - WIDTH / 3, end[1] + lift) if itself else end
    axis.add_patch(
        FancyArrowPatch(
            a, b, connectionstyle=f"arc3,rad={bend}", arrowstyle="-|>", mutation_scale=13, color="#35506b", lw=1.2, zorder=1,
            patchA=None if itself else boxes[0], patchB=None if itself else boxes[1], shrinkA=1, shrinkB=1,
        )
    )  # fmt: skip
    dx, dy = b[0] - a[0], b[1] - a[1]
    # The middle of the bent line: half of the bend beside the middle of the straight one.
    x, y = (a[0] + b[0]) / 2 + bend * dy / 2, (a[1] + b[1]) / 2 - bend * dx / 2
    lines = [f"{wire.output} → {wire.input}" if wire.output != wire.input else wire.output for wire in wires[:MOST_NAMES]]
    if len(wires) > MOST_NAMES:
        lines.append(f"and {len(wires) - MOST_NAMES} more")
    below = y < (a[1] + b[1]) / 2
    side, shift = ("top", -0.06) if below else ("bottom", 0.06)
    veil = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.6}
    axis.text(x, y + shift, _text("\n".join(lines)), fontsize=7, ha="center", va=side, bbox=veil, zorder=3)


def _text(text: str) -> str:
    """Return a text that matplotlib does not take for a formula."""
    return text.replace("$", r"\$")
