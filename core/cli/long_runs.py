"""Runs whose history is large: written while they go on, in a format that is made for it."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from kingpost.base.errors import listed
from kingpost.cli.output import ProgressBar
from kingpost.cli.results import note_older_report

if TYPE_CHECKING:
    from pathlib import Path

    from kingpost.cli.result_options import ResultOptions
    from kingpost.registry.pluginset import PluginSet
    from kingpost.results.history import History
    from kingpost.simulation.run import Simulation

#: Bytes of a number in memory, and about so many in a CSV file.
IN_MEMORY, IN_CSV = 8, 20


def for_size(
    options: ResultOptions, simulation: Simulation, formats_chosen: bool, plugins: PluginSet
) -> tuple[ResultOptions, bool]:
    """Return the options of a run by its size, and whether it is written while it goes on; say why not, if it is large."""
    from kingpost.results.run_folder import LARGE, choose_writers

    for place in _left_over(options.folder):
        _note(f"'{place}' has the first part of a run that was stopped from outside; delete it when you have what you need")
    numbers = _numbers(simulation)
    if numbers <= LARGE:
        return options, False
    if not formats_chosen:
        options = replace(options, writers=choose_writers(None, plugins, numbers))
    how = simulation.problem.how
    obstacles = [
        *(f"a file of format {writer.name}" for writer in options.writers if not writer.grows()),
        *(["the report"] if options.report else []),
        *(["monitors"] if how.monitors else []),
        *(["the check by another formalism"] if how.verify is not None else []),
        *(["the check of the step"] if how.check_step is not None else []),
    ]
    if obstacles:
        _note(
            f"{listed(obstacles)} {'takes' if len(obstacles) == 1 else 'take'} all samples at once, so this run is kept in "
            f"memory ({numbers * IN_MEMORY / 1e9:.3g} GB) until its end, and nothing is written before"
        )
    return options, not obstacles


def carried_out_long(simulation: Simulation, options: ResultOptions) -> tuple[History, list[Path]]:
    """Carry a large run out with a progress bar; return the samples with its extremes, and its files."""
    from kingpost.simulation.long_run import run_into

    bar = ProgressBar(simulation.mechanism.name)
    try:
        done = run_into(simulation, options.folder, writers=options.writers, progress=bar)
    finally:
        bar.close()
    note_older_report(options, done.files)
    return done.extremes, done.files


def written_row(simulation: Simulation, history: History) -> list[tuple[str, str]]:
    """Return the row of a summary that says how, and why, a large run was written."""
    if "written" not in history.provenance:
        return []
    numbers = _numbers(simulation)
    return [
        (
            "written",
            f"while running, {numbers / 1e6:.3g} million numbers in all: more than is well kept in memory "
            f"({numbers * IN_MEMORY / 1e9:.2g} GB) or as text ({numbers * IN_CSV / 1e9:.2g} GB); '--write' chooses the format",
        )
    ]


def _left_over(folder: Path) -> list[Path]:
    if next(folder.glob("unfinished-*"), None) is None:
        return []
    from kingpost.results.growing import left_over

    return left_over(folder)


def _note(words: str) -> None:
    print(f"kingpost: note: {words}", file=sys.stderr)


def _numbers(simulation: Simulation) -> int:
    from kingpost.results.run_folder import numbers_of

    return numbers_of(simulation.grid.samples + 1, len(simulation.channels))
