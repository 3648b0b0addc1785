"""The options that run, fmu-run and cosim share: where results go, in which formats, and what is printed."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kingpost.base.errors import FileError
from kingpost.base.files import safe_name

if TYPE_CHECKING:
    from kingpost.registry.pluginset import PluginSet
    from kingpost.results.run_folder import WritersWanted
    from kingpost.results.writer import Writer


@dataclass(frozen=True)
class ResultOptions:
    """Where and how results are written, found possible before a long run and not after it."""

    folder: Path
    writers: list[Writer]
    #: Whether report.html is written, too.
    report: bool
    #: Whether the record is printed instead of a table.
    json: bool
    #: Where the writers come from.
    plugins: PluginSet


def add_result_options(
    parser: argparse.ArgumentParser, *, subject: str = "MODEL", report: str = "plots, loads, animation", json: str = "run.json"
) -> None:
    """Add ``--out``, ``--write``, ``--plot``, ``--report`` and ``--json``."""
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"folder for the results (default: results/{subject})")
    parser.add_argument("--write", metavar="FORMAT,...", help="file formats of the history (default: csv)")
    parser.add_argument("--plot", action="store_true", help="also draw the history, into history.png (needs the 'viz' extra)")
    parser.add_argument("--report", action="store_true", help=f"also write report.html: {report} in one file")
    parser.add_argument("--json", action="store_true", help=f"print {json} instead of the table")


def result_options(arguments: argparse.Namespace, name: str, plugins: PluginSet, write: WritersWanted | None) -> ResultOptions:
    """Return the options of a run called ``name``, with the formats in ``write``; refuse a folder that cannot be written."""
    from kingpost.results.run_folder import choose_writers

    folder: Path = arguments.out or Path("results") / safe_name(name)
    writers = choose_writers(write, plugins, plot=arguments.plot)
    nearest = folder
    while not nearest.exists():
        nearest = nearest.parent
    if not nearest.is_dir():
        raise FileError(f"--out {folder}: '{nearest}' is a file, not a folder; choose another")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise FileError(f"--out {folder}: no permission to write in '{nearest}'; choose another folder")
    return ResultOptions(folder, writers, arguments.report, arguments.json, plugins)
