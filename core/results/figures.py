"""Pictures of a history: channels over time, one panel for each group of like quantities. Needs matplotlib."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channel_roles import Role, roles_of
from kingpost.base.channels import Channel
from kingpost.base.errors import KingpostError, PluginError
from kingpost.base.load_frames import FORCE_UNIT, MOMENT_UNIT
from kingpost.results.line_groups import ANGLES, by_size, peak
from kingpost.results.monitor_channels import GROUP_OF, QUALITY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kingpost.results.history import History

#: What is drawn when nobody asks for more; each role in this order.
USUAL: tuple[Role, ...] = ("coordinates", "rates", "outputs", "energies", "monitors", "loads", "others")
#: What is left out then: parts of loads, what is recorded for inertia relief and as a measure of quality, what is there twice.
FURTHER: tuple[Role, ...] = ("parts", "positions", "orientations", "body motions", "gravity", "residuals", "repeats", "memory")
#: Roles whose channels share panels whoever they belong to.
SHARED: tuple[Role, ...] = ("coordinates", "rates", "energies", "residuals", "others")
#: Lines that can still be told apart in one panel, and panels that can still be found in one picture.
MOST_LINES = 8
USUAL_PANELS = 24
MOST_PANELS = 80
#: Stretches of time that are drawn by their smallest and largest value; a panel has fewer pixels than this.
STRETCHES = 2000
FORMATS = (".png", ".svg", ".pdf")
#: A load below this share of the largest in its panel is shown as zero.
LOAD_ROUNDING = 1e-12
#: Where zeros are drawn on a logarithmic axis that has nothing else.
LOG_ZERO = 1e-18
#: A logarithmic axis is drawn for what spreads by at least this factor; for less it is harder to read than a linear one.
DECADES = 30.0
#: Units that take a prefix when numbers are large.
PREFIXED = (FORCE_UNIT, MOMENT_UNIT, "J")


@dataclass(frozen=True)
class Panel:
    """Channels that share an axis."""

    title: str
    unit: str
    channels: tuple[Channel, ...]
    role: Role
    #: Whether the lines spread over powers of ten.
    log: bool = False
    #: Channels that would belong here, but are zero throughout.
    zero: tuple[str, ...] = ()


def make_panels(
    channels: Iterable[Channel], *, among: Iterable[Channel] | None = None, everything: bool = False
) -> list[Panel]:
    """Group channels: motion together as far as lines can be told apart, loads by joint, moments apart from forces.

    Unless ``everything`` is wanted, only the roles in ``USUAL`` are taken. ``among`` are all channels of the history, where
    only some are to be drawn.
    """
    drawn = tuple(channels)
    roles = roles_of(drawn if among is None else among)
    groups: dict[tuple[Role, str, str], list[Channel]] = {}
    for channel in drawn:
        role = roles[channel.name]
        owner = GROUP_OF[channel.name].title if role == "monitors" else channel.name.rpartition(".")[0]
        groups.setdefault((role, "" if role in SHARED else owner, channel.unit), []).append(channel)
    order = (*USUAL, *FURTHER) if everything else USUAL
    chosen = sorted((key for key in groups if key[0] in order), key=lambda key: order.index(key[0]))
    return [_panel(role, owner, unit, lines) for role, owner, unit in chosen for lines in _by_owner(groups[role, owner, unit])]


def _panel(role: Role, owner: str, unit: str, lines: list[Channel]) -> Panel:
    group = GROUP_OF.get(lines[0].name)
    if group is not None:
        return Panel(group.title, group.unit or unit, tuple(lines), role, group.log)
    return Panel(_title(role, owner, lines[0]), unit, tuple(lines), role)


def draw(history: History, panels: list[Panel], size: tuple[float | None, float | None] = (None, None)) -> Figure:
    """Return a figure with these panels; ``size`` is its width and height in inches, None for what they need."""
    check_installed()
    if len(panels) > MOST_PANELS:
        raise KingpostError(f"{len(panels)} panels do not fit into one picture (at most {MOST_PANELS}); choose fewer channels")
    from kingpost.results.picture import Picture  # brings matplotlib, which is an extra, and slow to import

    columns = 1 if len(panels) <= 1 else 2
    rows = max(1, -(-len(panels) // columns))
    figure = Picture(figsize=(size[0] or 7.6 * columns, size[1] or 2.6 * rows + 0.6), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, squeeze=False).ravel()
    for axis, panel in zip(axes, panels, strict=False):
        _draw_panel(axis, panel, history)
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    for axis in axes[max(0, len(panels) - columns) : len(panels)]:
        axis.set_xlabel("time [s]")
        axis.tick_params(labelbottom=True)
    return figure


def usual_figure(history: History, size: tuple[float | None, float | None] = (None, None)) -> tuple[Figure, int]:
    """Return the picture that a run gets by itself, and how many panels were left out of it."""
    panels = [part for panel in make_panels(history.channels) for part in worth_drawing(panel, history)]
    figure = draw(history, panels[:USUAL_PANELS], size)
    left_out = max(0, len(panels) - USUAL_PANELS)
    figure.suptitle(title_of(history) + (f" ({left_out} more panels left out)" if left_out else ""))
    return figure, left_out


def worth_drawing(panel: Panel, history: History) -> list[Panel]:
    """Return a panel without lines that are zero throughout, small and large angles apart; nothing if nothing is left."""
    rounding = LOAD_ROUNDING * max(map(peak, _lines(panel, history))) if panel.role in ("loads", "parts") else 0.0
    shown = [channel for channel in panel.channels if peak(history[channel.name]) > rounding]
    zero = tuple(channel.name for channel in panel.channels if channel not in shown)
    if not shown:
        return []
    groups = by_size(shown, lambda channel: history[channel.name]) if panel.unit in ANGLES else [shown]
    if len(groups) == 1:
        return [replace(panel, channels=tuple(shown), zero=zero)]
    words = ["small", *["medium"] * (len(groups) - 2), "large"]
    return [
        replace(panel, title=f"{panel.title}, {word}", channels=tuple(group), zero=zero if i == 0 else ())
        for i, (word, group) in enumerate(zip(words, groups, strict=True))
    ]


def figure_of(history: History, names: Sequence[str], size: tuple[float | None, float | None] = (None, None)) -> Figure:
    """Return a picture of these channels, whatever they are."""
    panels = make_panels(map(history.channel, names), among=history.channels, everything=True)
    figure = draw(history, panels, size)
    figure.suptitle(title_of(history))
    return figure


def save(figure: Figure, path: Path, run_id: str | None = None) -> None:
    """Write a figure in the format that the suffix names; a PNG picture says in its metadata of which run it is."""
    kind = path.suffix.lower().lstrip(".")
    metadata = {"run_id": run_id} if run_id and kind == "png" else None
    figure.savefig(path, format=kind, dpi=110, metadata=metadata)


def title_of(history: History) -> str:
    """Return the model and the integrator, as far as the history knows them."""
    words = [history.provenance.get(key) for key in ("model", "integrator")]
    return ", ".join(str(word["name"]) for word in words if isinstance(word, dict) and word.get("name"))


def check_installed() -> None:
    """Raise :class:`PluginError`, with what to install, if matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise PluginError("pictures need matplotlib; install it with: pip install 'kingpost[viz]'")


def thinned(values: FloatArray, stretches: int = STRETCHES) -> Any:
    """Return the samples that a line needs to look the same: the smallest and the largest of every stretch."""
    count = len(values)
    length = count // stretches
    if length < 4:
        return np.arange(count)
    whole = values[: length * stretches].reshape(stretches, length)
    starts = np.arange(stretches) * length
    lowest = np.where(np.isnan(whole), np.inf, whole).argmin(axis=1) + starts
    highest = np.where(np.isnan(whole), -np.inf, whole).argmax(axis=1) + starts
    return np.unique(np.concatenate([[0], lowest, highest, np.arange(length * stretches, count)]))


def _by_owner(channels: list[Channel]) -> list[list[Channel]]:
    """Split channels into panels of at most MOST_LINES, channels of one owner together where that can be."""
    panels: list[list[Channel]] = []
    owners: dict[str, list[Channel]] = {}
    for channel in channels:
        owners.setdefault(channel.name.partition(".")[0], []).append(channel)
    for own in owners.values():
        for first in range(0, len(own), MOST_LINES):
            lines = own[first : first + MOST_LINES]
            if panels and len(panels[-1]) + len(lines) <= MOST_LINES:
                panels[-1] += lines
            else:
                panels.append(lines)
    return panels


def _title(role: Role, owner: str, channel: Channel) -> str:
    axes = f", {channel.frame} axes" if channel.frame else ""
    if role in ("loads", "parts"):
        what = "moment" if channel.name.rpartition(".")[2].startswith("M") else "force"
        on = f" on the {channel.side}" if channel.side else ""
        at = f" about ({', '.join(f'{x:g}' for x in channel.at)}) m" if any(channel.at) and what == "moment" else ""
        return f"{owner.replace('.', ', ')}: {what}{on}{axes}{at}"
    if role == "body motions":
        kinds = {"rad/s": "angular velocity", "rad/s2": "angular acceleration", "m/s2": "acceleration"}
        return f"{owner.partition('.')[0]}: {kinds.get(channel.unit, 'motion')}{axes}"
    if role in ("positions", "orientations"):
        return f"{owner.partition('.')[0]}: {role[:-1]}{axes}"
    if role == "outputs":
        return f"{owner}{axes}"
    return {"residuals": "residual of Newton and Euler's equations", "gravity": f"gravity{axes}", "others": "channels"}.get(
        role, role
    )


def _draw_panel(axis: Axes, panel: Panel, history: History) -> None:
    largest = max(
        (float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) for values in _lines(panel, history)), default=0.0
    )
    factor, prefix = _prefix(largest) if panel.unit in PREFIXED else (1.0, "")
    smallest = _smallest(panel, history) if panel.log else 0.0
    log = panel.log and not largest < DECADES * smallest
    for channel, line in zip(panel.channels, _lines(panel, history), strict=True):
        values = line / factor
        if log:
            # Zero has no place on a logarithmic axis: it is drawn at the least that is not.
            values = np.maximum(np.abs(values), smallest)
        shown = thinned(values)
        label = _plain(channel.name)
        finite = np.flatnonzero(np.isfinite(values))
        (drawn,) = axis.plot(history.time[shown], values[shown], lw=1.1)
        if panel.role in ("loads", "parts") and len(finite):
            label += f"\n{_mark_extremes(axis, history.time, values, finite, drawn.get_color(), largest / factor)}"
        drawn.set_label(label)
    axis.set_title(_plain(panel.title), fontsize=10, loc="left")
    axis.set_ylabel(f"[{prefix}{panel.unit}]")
    if log:
        axis.set_yscale("log")
    elif panel.channels == QUALITY[:1]:
        axis.set_ylim(0, largest + 1)
        axis.locator_params(axis="y", integer=True)
    else:
        axis.ticklabel_format(axis="y", useOffset=False, scilimits=(-4, 6))
    axis.margins(x=0)
    axis.grid(alpha=0.3)
    beside = 1.0
    if panel.unit in ANGLES:
        degrees = axis.secondary_yaxis("right", functions=(np.degrees, np.radians))
        degrees.set_ylabel(f"[{panel.unit.replace('rad', 'deg')}]")
        beside = 1.17
    title = "\n".join(["zero throughout:", *map(_plain, panel.zero)]) if panel.zero else None
    place = (beside, 1.02)
    legend = axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=place, frameon=False, title=title, title_fontsize=7)
    legend.set_alignment("left")


def _mark_extremes(axis: Axes, time: FloatArray, values: FloatArray, finite: Any, color: Any, largest: float) -> str:
    """Mark the smallest and the largest value of a line, unless it does not change, and return them as words."""
    low, high = (int(finite[pick(values[finite])]) for pick in (np.argmin, np.argmax))
    smallest, greatest = (0.0 if abs(values[i]) <= LOAD_ROUNDING * largest else values[i] for i in (low, high))
    if smallest == greatest:
        return f"{smallest:.4g} throughout"
    for i, marker in ((low, "v"), (high, "^")):
        axis.plot(time[i], values[i], marker, color=color, ms=4.5, clip_on=False, zorder=3)
    return f"{smallest:.4g} to {greatest:.4g}"


def _plain(text: str) -> str:
    """Return a text that matplotlib takes as it is: no formula, and no name of something hidden."""
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")


def _lines(panel: Panel, history: History) -> list[FloatArray]:
    return [history[channel.name] for channel in panel.channels]


def _smallest(panel: Panel, history: History) -> float:
    """Return the size of the smallest number that is not zero."""
    lines = (np.abs(values[np.isfinite(values)]) for values in _lines(panel, history))
    return min((float(sizes[sizes > 0].min()) for sizes in lines if (sizes > 0).any()), default=LOG_ZERO)


def _prefix(largest: float) -> tuple[float, str]:
    return (1e6, "M") if largest >= 1e7 else (1e3, "k") if largest >= 1e4 else (1.0, "")
