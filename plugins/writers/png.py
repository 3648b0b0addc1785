"""Plots of all channels in one picture."""

from __future__ import annotations

from pathlib import Path

from kingpost.equations import Channel
from kingpost.history import History
from kingpost.interfaces.writer import Writer


class PngWriter(Writer):
    """Picture with all channels over time, one panel for each group of like quantities."""

    name = "png"
    suffix = ".png"
    needs = ("matplotlib",)
    extra = "viz"

    def write(self, history: History, path: Path) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # an extra, and slow to import
        from matplotlib.figure import Figure

        panels = _panels(history.channels)
        columns = 1 if len(panels) == 1 else 2
        rows = -(-len(panels) // columns)
        figure = Figure(figsize=(7.2 * columns, 2.6 * rows + 0.6), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, columns, sharex=True, squeeze=False).ravel()
        for axis, (title, channels) in zip(axes, panels.items(), strict=False):
            for channel in channels:
                axis.plot(history.time, history[channel.name], lw=1.1, label=channel.name)
            axis.set_title(title, fontsize=10, loc="left")
            axis.grid(alpha=0.3)
            axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.02), frameon=False)
        for axis in axes[len(panels) :]:
            axis.set_axis_off()
        for axis in axes[max(0, len(panels) - columns) : len(panels)]:
            axis.set_xlabel("time [s]")
            axis.tick_params(labelbottom=True)
        model = history.provenance.get("model", {}).get("name", "")
        figure.suptitle(f"{model}, {history.provenance.get('integrator', {}).get('name', '')}".strip(", "))
        figure.savefig(path, format="png", dpi=110)


def _panels(channels: tuple[Channel, ...]) -> dict[str, list[Channel]]:
    """Group channels that can share an axis: same unit and same role, and a panel of its own for each larger joint."""
    owners = [channel.name.partition(".")[0] for channel in channels]
    panels: dict[str, list[Channel]] = {}
    for channel, owner in zip(channels, owners, strict=True):
        group = f"{owner} " if owners.count(owner) > 2 else ""
        if owner == "energy":
            role = "energies"
        elif channel.name.endswith(".rate"):
            role = f"{group}rates"
        elif channel.frame:
            role = f"{owner}, {channel.frame} axes"
        else:
            role = f"{group}coordinates" if channel.unit.partition("/")[1] == "" else f"{group}speeds"
        panels.setdefault(f"{role} [{channel.unit}]", []).append(channel)
    return panels
