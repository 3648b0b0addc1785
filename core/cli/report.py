"""``kingpost report``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from kingpost.base.errors import FileError
from kingpost.cli.arguments import names_in
from kingpost.cli.command import Command
from kingpost.cli.output import print_table

if TYPE_CHECKING:
    from kingpost.registry.pluginset import PluginSet


class Report(Command):
    """Write a result as one HTML page: the machine in motion, plots, loads, spectra, cycles and the record of the run.

    The page needs no network and no other file; send it to anyone with a browser. Loads and the animation need a run that was
    asked for them (kingpost run MODEL --loads all); any other result gives a page with what it holds.
    """

    name = "report"
    example = "kingpost report results/vessel-crane --skip 2 --slopes 3,5 --joints slew,luff"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("result", metavar="DIR|FILE", help="folder of a run, or a file with a history")
        parser.add_argument("--out", type=Path, metavar="FILE.html", help="the page (default: report.html beside the history)")
        parser.add_argument("--title", metavar="TEXT", help="heading of the page (default: the model's name)")
        parser.add_argument(
            "--skip",
            type=float,
            default=0.0,
            metavar="S",
            help="leave the first S seconds out of extremes, spectra and cycles (default: 0)",
        )
        parser.add_argument(
            "--slopes",
            type=_numbers,
            default=(3.0, 4.0, 5.0),
            metavar="M,...",
            help="slopes m of equivalent loads (default: 3,4,5)",
        )
        parser.add_argument(
            "--joints", type=names_in, metavar="NAME,...", help="show the loads of these joints (default: all that have any)"
        )

        parser.add_argument("--hotspots", type=Path, metavar="FILE.toml", help="show the damage at these hot spots")
        parser.add_argument("--curves", type=Path, metavar="FILE.toml", help="S-N curves, beside those that are shipped")
        parser.add_argument(
            "--accept",
            action="append",
            default=[],
            metavar="DOUBT",
            help="count damage in spite of a doubt about the loads: residual, noise, step (repeatable)",
        )
        parser.set_defaults(refuse=parser.error)

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        from kingpost.cli.unfinished import note_unfinished
        from kingpost.fatigue.hotspots import read_hot_spots
        from kingpost.fatigue.sn import curve_set
        from kingpost.report import write_report  # brings SciPy's signal processing, which takes time to import
        from kingpost.results.read_write import read_history

        if arguments.curves and not arguments.hotspots:
            arguments.refuse("--curves is of use with --hotspots only")
        spots = read_hot_spots(arguments.hotspots) if arguments.hotspots else ()
        curves = curve_set(arguments.curves) if arguments.hotspots else None
        result = Path(arguments.result)
        out: Path = arguments.out or (result if result.is_dir() else result.parent) / "report.html"
        if out.suffix.lower() not in (".html", ".htm"):
            raise FileError(f"--out {out}: the name of a page must end in .html")
        history = read_history(result, plugins)
        note_unfinished(history, result)
        named = isinstance(history.provenance.get("model"), dict)
        report = write_report(
            history,
            out,
            title=arguments.title or (None if named else result.stem),
            skip=arguments.skip,
            slopes=arguments.slopes,
            joints=arguments.joints,
            spots=spots,
            curves=curves,
            accept=tuple(arguments.accept),
        )
        print_table(
            [
                ("file", str(report.path)),
                ("size", f"{report.size / 1e6:.2f} MB, complete in itself"),
                ("time", f"{history.time[0]:g} s to {history.time[-1]:g} s, {len(history)} samples"),
                *(("left out", note) for note in report.notes),
            ]
        )
        return 0


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers, such as 3,4,5") from None
