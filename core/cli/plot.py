"""``kingpost plot``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kingpost.base.errors import FileError, KingpostError, listed
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
        from kingpost.cli.unfinished import note_unfinished
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
        with _blaming():
            history = read_history(result, plugins, start=arguments.start, end=arguments.end)
        note_unfinished(history, result)
        run_id = history.run_id
        names = _choose(history, arguments.channels, arguments.joint)
        asked = bool(arguments.channels or arguments.joint)
        panels = make_panels(map(history.channel, names), among=history.channels, everything=asked)
        left_out = panels[USUAL_PANELS:] if not asked else []
        panels = panels[: MOST_PANELS + 1] if asked else panels[:USUAL_PANELS]
        if len(panels) > MOST_PANELS:
            raise FileError(f"more than {MOST_PANELS} panels do not fit into one picture; narrow --channels, or give --joint")
        figure = draw(history, panels, (arguments.width, arguments.height))
        figure.suptitle(title_of(history))
        write_whole(out, partial(save, figure, run_id=run_id))
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


def _choose(history: History, patterns: str | None, joint: str | None) -> list[str]:
    from kingpost.results.choosing import belonging, matching

    names: list[str] = list(history.names)
    if joint is not None:
        with _blaming(f"--joint {joint}: "):
            names = belonging(names, joint)
    if patterns is None:
        return names
    with _blaming(f"--channels {patterns}: "):
        return matching(names, [pattern.strip() for pattern in patterns.split(",")], joint)


@contextmanager
def _blaming(words: str = "") -> Iterator[None]:
    """Say which words of the command line an error is about."""
    try:
        yield
    except KingpostError as error:
        raise FileError(f"{words}{error}") from None
