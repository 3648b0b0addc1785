"""The files of a run: which formats, whether they can be written, and what is kept of a run that stopped."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kingpost.base.errors import FileError, Interrupted, SolverError
from kingpost.base.files import write_json, write_whole
from kingpost.cli.output import ProgressBar, print_json, print_table
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import make, split_selection

if TYPE_CHECKING:
    from kingpost.base.channels import Channel
    from kingpost.registry.pluginset import PluginSet
    from kingpost.results.history import History
    from kingpost.results.writer import Writer

#: Channels that a summary shows.
SHOWN = 12


def add_result_arguments(
    parser: argparse.ArgumentParser, what: str = "MODEL", report: str = "plots, loads, animation in one file"
) -> None:
    """Add what every verb asks that runs something: where its results go, in which form, and what is printed."""
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"folder for the results (default: results/{what})")
    parser.add_argument("--write", metavar="FORMAT,...", help="file formats (default: csv, and png if there is matplotlib)")
    parser.add_argument("--report", action="store_true", help=f"also write report.html: {report}")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def choose_writers(chosen: str | Sequence[str] | None, plugins: PluginSet) -> list[Writer]:
    """Return the writers of ``"csv,png"`` or a list of names; by default CSV, and a picture if that can be made."""
    if chosen is None:
        names = ["csv"] + [name for name in ("png",) if name in plugins.writers and not plugins.writers.get(name).missing()]
    else:
        names = [name.strip() for name in (chosen.split(",") if isinstance(chosen, str) else chosen)]
    writers = []
    for text in names:
        name, options = split_selection(text)
        cls = plugins.writers.get(name)
        cls.check_installed()
        writers.append(make(cls, options))
    return writers


def check_folder(out: Path) -> None:
    """Find out before a long run, not after it, that its results cannot be written."""
    nearest = out
    while not nearest.exists():
        nearest = nearest.parent
    if not nearest.is_dir():
        raise FileError(f"--out {out}: '{nearest}' is a file, not a folder; choose another")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise FileError(f"--out {out}: no permission to write in '{nearest}'; choose another folder")


def write_results(history: History, out: Path, writers: list[Writer], prefix: str = "") -> list[Path]:
    """Write a history and its record; return the files."""
    files = []
    for writer in writers:
        path = out / f"{prefix}history{writer.suffix}"
        write_whole(path, partial(writer.write, history))
        files.append(path)
    record = out / f"{prefix}run.json"
    write_json(record, {**history.provenance, "files": [path.name for path in files]})
    return [*files, record]


def carried_out(
    run: Callable[[ProgressBar], History], name: str, out: Path, writers: list[Writer], report: bool
) -> tuple[History, list[Path]]:
    """Carry a run out with a progress bar; return its history and the files it was written to.

    Of a run that stops, what it had computed is written, and the error tells where.
    """
    bar = ProgressBar(name)
    try:
        history = run(bar)
    except SolverError as error:
        raise SolverError(f"{error}{keep_results(error.history, out, writers)}") from None
    except Interrupted as interrupt:
        raise KeyboardInterrupt(f"{interrupt}{keep_results(interrupt.history, out, writers)}") from None
    finally:
        bar.close()
    files = write_results(history, out, writers)
    if report:
        from kingpost.report import write_report  # brings SciPy's signal processing, which takes time to import

        files.append(out / "report.html")
        write_report(history, files[-1])
    return history, files


def keep_results(history: History | None, out: Path, writers: list[Writer]) -> str:
    """Write what a stopped run had computed, beside the results of an earlier complete run; return a sentence on where."""
    if history is None:
        return ""
    files = write_results(history, out, writers, prefix=f"{history.provenance['outcome']}-")
    count = "The sample" if len(history) == 1 else f"The {len(history)} samples"
    return f"\n{count} up to t = {history.time[-1]:g} s {'is' if len(history) == 1 else 'are'} in {listed_files(files)}"


def print_run(history: History, rows: Sequence[tuple[str, str]], as_json: bool, said: Collection[str] = ()) -> None:
    """Print the warnings of a run but those that were said before, then its record or a table."""
    for warning in history.provenance["warnings"]:
        if warning not in said:
            print(f"kingpost: warning: {warning}", file=sys.stderr)
    if as_json:
        print_json(history.provenance)
    else:
        print_table(rows)


def channel_rows(history: History, channels: Sequence[Channel]) -> list[tuple[str, str]]:
    """Return rows of a table: the last value of each channel and its limits, of the first channels only."""
    rows = []
    for channel in channels[:SHOWN]:
        values = history[channel.name]
        rows.append((channel.name, f"{values[-1]:.6g} {channel.unit} at the end, {values.min():.6g} to {values.max():.6g}"))
    return rows if len(channels) <= SHOWN else [*rows, ("...", f"{len(channels) - SHOWN} more channels")]


def listed_files(files: list[Path]) -> str:
    """Return file paths in one line."""
    return ", ".join(map(str, files))
