"""Runs carried out on the command line: a progress bar, files, what is kept of a run that stopped, and a summary."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kingpost.base.errors import Interrupted, SolverError, listed
from kingpost.base.load_frames import FORCE_UNIT, MOMENT_UNIT
from kingpost.base.open_loads import DECIDED, measure, open_loops
from kingpost.cli.output import ProgressBar, print_json, print_table
from kingpost.cli.signals import while_doing

if TYPE_CHECKING:
    from kingpost.base.channels import Channel
    from kingpost.base.transactions import Fill
    from kingpost.cli.result_options import ResultOptions
    from kingpost.results.history import History

#: What a report is called in the folder of a run.
REPORT = "report.html"
#: What its picture is called.
PICTURE = "history.png"
#: Channels that a summary shows.
SHOWN = 12


def carried_out(
    run: Callable[[ProgressBar], History],
    name: str,
    options: ResultOptions,
    more: Callable[[History], Mapping[str, Fill]] = lambda history: {},
) -> tuple[History, list[Path]]:
    """Carry a run out with a progress bar; return its history and the files it was written to.

    ``more`` gives further files of a complete run. Of a run that stops, what it had computed is written, and the error tells
    where.
    """
    bar = ProgressBar(name)
    try:
        history = run(bar)
    except SolverError as error:
        raise type(error)(f"{error}{_kept(error.history, options)}") from error
    except Interrupted as interrupt:
        raise KeyboardInterrupt(f"{interrupt}{_kept(interrupt.history, options)}") from None
    finally:
        bar.close()
    beside, obstacle = _report(history) if options.report else ({}, None)
    files = _written(history, options, {**more(history), **beside})
    note_older_report(options, files)
    if obstacle is not None:
        raise obstacle
    return history, files


def note_older_report(options: ResultOptions, files: Sequence[Path]) -> None:
    """Say that a report or picture in the folder of results is not of the run that was written there now, if so."""
    for name, option in ((REPORT, "--report"), (PICTURE, "--plot")):
        older = options.folder / name
        if older not in files and older.is_file():
            print(f"kingpost: note: '{older}' is of an earlier run; {option} makes it anew", file=sys.stderr)


def _written(history: History, options: ResultOptions, beside: Mapping[str, Fill]) -> list[Path]:
    """Write a complete run. The first interrupt does not throw away what was computed; a second one meanwhile does."""
    from kingpost.results.run_folder import write_run

    how: dict[str, Any] = {"writers": options.writers, "beside": beside, "plugins": options.plugins}
    try:
        return write_run(history, options.folder, **how)
    except KeyboardInterrupt:
        files = write_run(history, options.folder, **how)
        raise KeyboardInterrupt(f"interrupted after the run; its results are whole, in {file_row(files)[1]}") from None


def _report(history: History) -> tuple[dict[str, Fill], BaseException | None]:
    """Return the report as a file, or what is in its way: that must not cost the run its results."""
    from kingpost.report.page import report_file  # brings SciPy's signal processing, which takes time to import

    try:
        with while_doing("the report was being made; the results of the run are written"):
            return {REPORT: report_file(history.identified())}, None
    except BaseException as error:  # an impatient user included
        return {}, error


def tell(
    history: History, options: ResultOptions, summary: Callable[[], Sequence[Sequence[str]]], told: Collection[str] = ()
) -> None:
    """Print the warnings of a run, but for those that were ``told`` before, and its record or a summary."""
    for warning in history.provenance["warnings"]:
        if warning not in told:
            print(f"kingpost: warning: {warning}", file=sys.stderr)
    if options.json:
        print_json(history.provenance)
    else:
        print_table(summary())


def channel_rows(history: History, channels: Sequence[Channel]) -> list[tuple[str, str]]:
    """Return rows of a summary: the first channels with their last value and their extremes, and how many more there are."""
    rows = [(channel.name, _extremes(history, channel)) for channel in channels[:SHOWN]]
    return [*rows, *more_row(len(channels), "channels")]


def more_row(count: int, what: str) -> list[tuple[str, str]]:
    """Return the row that ends a list which was cut after ``SHOWN`` entries, if it was."""
    return [("...", f"{count - SHOWN} more {what}; the files hold them all")] if count > SHOWN else []


def _extremes(history: History, channel: Channel) -> str:
    """Return the last value and the extremes of a channel, those of angles also in degrees."""
    values = history[channel.name]
    low, high = values.min(), values.max()
    unit = "" if channel.unit == "1" else f" {channel.unit}"
    words = f"{values[-1]:.6g}{unit} at the end, {low:.6g} to {high:.6g}"
    if channel.unit != "rad":
        return words
    last, low, high = (math.degrees(value) for value in (values[-1], low, high))
    return f"{words} ({last:.4g} deg, {low:.4g} to {high:.4g})"


def load_rows(history: History, joints: Sequence[str]) -> list[tuple[str, str]]:
    """Return rows of a summary: the largest loads of the first joints, and how many more there are."""
    rows = [(joint, _largest_load(history, joint)) for joint in joints[:SHOWN]]
    return [*rows, *more_row(len(joints), "joints with loads")]


def _largest_load(history: History, joint: str) -> str:
    """Return the largest moment and force of a joint, and when they occur."""
    import numpy as np

    wrench = history.loads(joint).total
    words = []
    for name, part, unit in (("moment", wrench[:, :3], MOMENT_UNIT), ("force", wrench[:, 3:], FORCE_UNIT)):
        size = np.linalg.norm(part, axis=1)
        most = int(size.argmax())
        words.append(f"{name} up to {size[most]:.6g} {unit} at {history.time[most]:g} s")
    return ", ".join(words)


def not_unique_rows(history: History) -> list[tuple[str, str]]:
    """Return rows of a summary: the joints whose loads rigid bodies leave open, and invariants that say the same as others."""
    forces = (history.provenance.get("forces") or {}).values()
    return [
        *(
            (
                "not unique",
                f"efforts of {listed(names, 8)}: shared with each other, smallest sum of squares along all variables",
            )
            for names in (record.get("not_unique") for record in forces)
            if names
        ),
        *(
            (
                "not unique",
                f"loads of {listed(loop['joints'])}: {'shared' if loop['metric'] == DECIDED else 'smallest'} {measure(loop)}",
            )
            for loop in open_loops(history.provenance)
        ),
    ]


def file_row(files: Sequence[Path]) -> tuple[str, str]:
    """Return the row of a summary that names the files."""
    return "files", ", ".join(map(str, files))


def _kept(history: History | None, options: ResultOptions) -> str:
    """Write what a stopped run had computed, beside the results of an earlier complete run; return a sentence on where."""
    if history is None:
        return ""
    from kingpost.results.run_folder import write_run

    prefix = f"{history.provenance['outcome']}-"
    files = write_run(history, options.folder, writers=options.writers, prefix=prefix, plugins=options.plugins)
    count = "The sample" if len(history) == 1 else f"The {len(history)} samples"
    return f"\n{count} up to t = {history.time[-1]:g} s {'is' if len(history) == 1 else 'are'} in {file_row(files)[1]}"
