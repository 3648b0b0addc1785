"""What the examples D share: a table of numbers with verdicts, and panels of curves. No example of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

#: label, times, values and, where wanted, how matplotlib is to draw it
Curve = tuple


@dataclass
class Panel:
    """One graph. ``ticks``: lowest and highest number that is printed along the axis of the document, where it survived."""

    title: str
    curves: Sequence[Curve]
    xlabel: str = "t [s]"
    ticks: Sequence[float] | None = None
    equal: bool = False


@dataclass
class Table:
    """Numbers that were found beside those that are wanted, with a verdict each."""

    failures: list[str] = field(default_factory=list)
    said: bool = False

    def row(self, what: str, found: float, wanted: float, within: float, unit: str = "") -> None:
        """Say how far a number is from the one that is wanted."""
        good = abs(found - wanted) <= within
        self._line(what, f"{found:14.7g} {wanted:14.7g} {unit:5s} +-{within:<8.1g}", good)

    def below(self, what: str, found: float, bound: float, unit: str = "") -> None:
        """Say whether a number, an error for the most part, is small enough."""
        self._line(what, f"{found:14.3g} {'< ' + format(bound, '.2g'):>14s} {unit:5s}{'':11s}", found <= bound)

    def axis(self, panel: Panel) -> None:
        """Say whether curves fit an axis of the document: within a tick of the printed ones, and beyond half of them."""
        assert panel.ticks is not None
        ticks = np.asarray(panel.ticks, dtype=float)
        values = np.concatenate([np.asarray(curve[2], dtype=float) for curve in panel.curves])
        step, low, high = ticks[1] - ticks[0], values.min(), values.max()
        inside = ticks[0] - step < low and high < ticks[-1] + step
        good = inside and high - low > (ticks[-1] - ticks[0]) / 2
        self._line(f"axis of {panel.title}", f"{low:14.4g} {high:14.4g} printed {ticks[0]:g} .. {ticks[-1]:g}", good)

    def _line(self, what: str, numbers: str, good: bool) -> None:
        if not self.said:
            print(f"    {'':46s} {'found':>14s} {'wanted':>14s}")
            self.said = True
        print(f"    {what:46s} {numbers:44s} {'as wanted' if good else 'DIFFERS'}")
        if not good:
            self.failures.append(what)


def draw(file: str, title: str, panels: Sequence[Panel], columns: int = 2) -> None:
    """Write a picture of some panels."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(5.2 * columns, 2.7 * rows + 0.5), squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, panel in zip(axes.flat, panels, strict=False):
        for label, x, y, *style in panel.curves:
            axis.plot(x, y, label=label, **{"lw": 1.2, **(style[0] if style else {})})
        axis.set_title(panel.title, fontsize=10)
        axis.set_xlabel(panel.xlabel)
        axis.grid(alpha=0.3)
        if panel.equal:
            axis.set_aspect("equal", adjustable="datalim")
        if any(curve[0] and not curve[0].startswith("_") for curve in panel.curves):
            axis.legend(fontsize=7, frameon=False)
    figure.suptitle(title, fontsize=11)
    figure.tight_layout()
    figure.savefig(file, dpi=100)
    plt.close(figure)
    print("    wrote", file)


def run(figures: Mapping[str, Callable[[Table], None]], names: Sequence[str]) -> None:
    """Make the figures that are named, or all; the status says whether every number was as wanted."""
    unknown = [name for name in names if name not in figures]
    if unknown:
        sys.exit(f"no figure is called {', '.join(unknown)}; there are {', '.join(figures)}")
    failures = []
    for name in dict.fromkeys(figures[name] for name in names or figures):
        print(next(line for line in (name.__doc__ or "").splitlines() if line))
        table = Table()
        name(table)
        failures += table.failures
    print("all numbers as wanted" if not failures else f"{len(failures)} numbers differ: {'; '.join(failures)}")
    sys.exit(1 if failures else 0)
