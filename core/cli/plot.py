"""``kingpost plot``."""

from __future__ import annotations

import argparse
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kingpost.base.errors import FileError, closest, listed
from kingpost.base.files import write_whole
from kingpost.cli.command import Command
from kingpost.cli.output import print_table

if TYPE_CHECKING:
    from kingpost.registry.pluginset import PluginSet
    from kingpost.results.history import History

CENTIMETRES = 2.54


class Plot(Command):
    """Draw the history of a run over time.

    Without --channels and --joint: coordinates, rates, outputs, energies, monitors and the total load of every joint; with
    --joint also the parts of its load. Extremes of loads are marked, and their values stand beside the names. Needs the 'viz'
    extra.
    """

    name = "plot"
    example = "kingpost plot results/vessel-crane --joint luff --from 5 --out luff.svg"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("result", metavar="DIR|FILE", help="folder of a run, or a file with a history")
        parser.add_argument(
            "--channels",
            metavar="PATTERN,...",
            help="channels to draw, with * for any text, e.g. --channels 'slew.M*,tip.z' (default: the usual ones)",
        )
        parser.add_argument("--joint", metavar="NAME", help="only what belongs to this joint (or body, or output)")
        parser.add_argument("--from", dest="start", type=float, metavar="S", help="first time in s")
        parser.add_argument("--to", dest="end", type=float, metavar="S", help="last time in s")
        parser.add_argument(
            "--out", type=Path, metavar="FILE", help="picture, .png, .svg or .pdf (default: plot.png beside the history)"
        )
        parser.add_argument("--width", type=_length, metavar="CM", help="width of the picture in cm")
        parser.add_argument("--height", type=_length, metavar="CM", help="height of the picture in cm")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.results.figures import (
            FORMATS,
            MOST_PANELS,
            USUAL_PANELS,
            check_installed,
            draw,
            make_panels,
            save,
            title_of,
        )
        from kingpost.results.read_write import read_history

        check_installed()
        result = Path(arguments.result)
        out: Path = arguments.out or (result if result.is_dir() else result.parent) / "plot.png"
        if out.suffix.lower() not in FORMATS:
            raise FileError(f"--out {out}: a picture's name must end in one of {listed(FORMATS)}")
        history = read_history(result, plugins)
        names = _choose(history, arguments.channels, arguments.joint)
        history = _window(history, arguments.start, arguments.end)
        chosen = [channel for channel in history.channels if channel.name in names]
        asked = bool(arguments.channels or arguments.joint)
        panels = make_panels(chosen, everything=asked)
        left_out = panels[USUAL_PANELS:] if not asked else []
        panels = panels[: MOST_PANELS + 1] if asked else panels[:USUAL_PANELS]
        if len(panels) > MOST_PANELS:
            raise FileError(f"more than {MOST_PANELS} panels do not fit into one picture; narrow --channels, or give --joint")
        figure = draw(history, panels, (arguments.width, arguments.height))
        figure.suptitle(title_of(history))
        write_whole(out, partial(save, figure))
        rows = [
            ("channels", f"{sum(len(panel.channels) for panel in panels)} of {len(history.channels)}"),
            ("time", f"{history.time[0]:g} s to {history.time[-1]:g} s, {len(history)} samples"),
            ("file", str(out)),
        ]
        if left_out:
            rows.insert(
                1, ("left out", f"{len(left_out)} panels, the first one '{left_out[0].title}'; use --joint or --channels")
            )
        print_table(rows)
        return 0


def _length(text: str) -> float:
    """Return a length given in cm in inches, which matplotlib counts in."""
    value = float(text)
    if not 2 <= value <= 500:
        raise argparse.ArgumentTypeError(f"{text} cm is not between 2 cm and 500 cm")
    return value / CENTIMETRES


def _choose(history: History, patterns: str | None, joint: str | None) -> set[str]:
    names = list(history.names)
    if joint is not None:
        owners = sorted({name.partition(".")[0] for name in names})
        if joint not in owners:
            raise FileError(
                f"--joint {joint}: no channel belongs to '{joint}'{closest(joint, owners)} There are: {listed(owners)}."
            )
        names = [name for name in names if name.partition(".")[0] == joint]
    if patterns is None:
        return set(names)
    chosen: set[str] = set()
    for pattern in patterns.split(","):
        matching = [name for name in names if fnmatchcase(name, pattern.strip())]
        if not matching:
            of = f" of '{joint}'" if joint else ""
            raise FileError(
                f"--channels {pattern}: no channel{of} is called so{closest(pattern, names)} Channels: {_shortened(names)}."
            )
        chosen.update(matching)
    return chosen


def _shortened(names: list[str], most: int = 20) -> str:
    return listed(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _window(history: History, start: float | None, end: float | None) -> History:
    import numpy as np

    from kingpost.results.history import History

    first = -np.inf if start is None else start
    last = np.inf if end is None else end
    rows = (history.time >= first) & (history.time <= last)
    if not rows.any():
        span = f"from {history.time[0]:g} s to {history.time[-1]:g} s" if len(history) else "and has no samples"
        raise FileError(f"there is no sample between {first:g} s and {last:g} s; the history goes {span}")
    return History(history.time[rows], history.channels, history.values[rows], history.provenance)
