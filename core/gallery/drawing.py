"""Pictures of panels, for light and dark pages alike. Needs matplotlib."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from kingpost.gallery.entry import Picture

#: Text and axes: a grey that can be read on white and on black, since pictures are transparent.
GREY = "#7d8894"
#: A curve that is the reference; black would vanish on a dark page.
INK = "#8f9aa5"
COLOURS = ("#2f81d6", "#e08a1e", "#2fa866", "#d8505f", "#9a6fd8", "#12a3b4", "#b0714f", "#7d8894")


def png(picture: Picture) -> bytes:
    """Return a picture as PNG."""
    from kingpost.results.figures import check_installed

    check_installed()
    from cycler import cycler
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: Any = {
        "text.color": GREY,
        "axes.labelcolor": GREY,
        "axes.edgecolor": GREY,
        "xtick.color": GREY,
        "ytick.color": GREY,
        "axes.prop_cycle": cycler(color=COLOURS),
        "axes.facecolor": "none",
        "font.size": 9,
    }
    with rc_context(settings):
        rows = -(-len(picture.panels) // picture.columns)
        figure = Figure(figsize=(5.2 * picture.columns, 2.8 * rows + 0.5))
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, picture.columns, squeeze=False)
        for axis in axes.flat[len(picture.panels) :]:
            axis.set_visible(False)
        for axis, panel in zip(axes.flat, picture.panels, strict=False):
            _fill(axis, panel.curves)
            axis.set_title(panel.title, fontsize=10)
            axis.set_xlabel(panel.xlabel)
            axis.grid(alpha=0.25, color=GREY)
            axis.spines[["top", "right"]].set_visible(False)
            if panel.ticks is not None:
                axis.set_yticks(list(panel.ticks))
            if panel.equal:
                axis.set_aspect("equal", adjustable="datalim")
            if panel.logarithmic:
                axis.set_xscale("log")
                axis.set_yscale("log")
            if any(curve[0] and not curve[0].startswith("_") for curve in panel.curves):
                axis.legend(fontsize=7, frameon=False)
        figure.suptitle(picture.title, fontsize=11)
        figure.tight_layout()
        stream = io.BytesIO()
        figure.savefig(stream, dpi=100, transparent=True)
    return stream.getvalue()


def _fill(axis: Any, curves: Sequence[tuple[Any, ...]]) -> None:
    for label, x, y, *style in curves:
        how = {"lw": 1.2, **(style[0] if style else {})}
        if how.get("color") in ("k", "black"):
            # A reference lies under curves that should hide it: it is broad enough to be seen.
            how |= {"color": INK, "lw": 2.6}
        axis.plot(x, y, label=label, **how)
