"""The files of a run: which formats, whether they can be written, and what is kept of a run that stopped."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kingpost.base.errors import FileError, Interrupted, SolverError
from kingpost.base.files import write_json, write_whole
from kingpost.cli.output import ProgressBar
from kingpost.registry.selection import make, split_selection

if TYPE_CHECKING:
    from kingpost.registry.pluginset import PluginSet
    from kingpost.results.history import History
    from kingpost.results.writer import Writer


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


def listed_files(files: list[Path]) -> str:
    """Return file paths in one line."""
    return ", ".join(map(str, files))
