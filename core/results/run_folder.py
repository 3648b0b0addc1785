"""The folder of a run: its history in the formats asked for, and the record that lists them. Nothing else writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from kingpost.base.errors import PluginError
from kingpost.base.files import json_file, write_together
from kingpost.base.transactions import Fill
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.results.history import History
from kingpost.results.read_write import RECORD, check_record
from kingpost.results.writer import Writer

#: Formats, e.g. ``"csv,png"`` or ``["csv", "npz:float32=true"]``.
WritersWanted: TypeAlias = str | Sequence[Selection[Writer]]
#: Numbers in a history from which on it is large: 80 MB of memory, and 200 MB of text, which few programs open.
LARGE = 10_000_000


def numbers_of(samples: int, channels: int) -> int:
    """Return how many numbers a history has, times included."""
    return samples * (1 + channels)


def write_run(
    history: History,
    folder: str | Path,
    *,
    writers: WritersWanted = ("csv",),
    prefix: str = "",
    plugins: PluginSet | None = None,
    beside: Mapping[str, Fill] | None = None,
) -> list[Path]:
    """Write a history as ``kingpost run`` does, into a folder that ``read_history``, ``kingpost fatigue`` and ``report`` open.

    The folder gets ``history.csv`` (or of another format) and ``run.json``, the provenance. All of them replace those of an
    earlier run at one point, once they are complete and on disk, and carry the same ``run_id``; other files in the folder stay.

    Parameters
    ----------
    history
        A result.
    folder
        The folder; it is made if need be.
    writers
        The formats of the history: names, with options if there are any (``"npz:float32=true"``), or writers.
    prefix
        What stands before the names of the files, ``"failed-"`` for example, so that those of another run are spared.
    plugins
        Where the formats come from; the installed ones by default.
    beside
        Further files of the run by name, a report for example, and what fills each.

    Returns
    -------
    list of Path
        The files: the histories, ``run.json``, and those ``beside``.

    """
    folder = Path(folder)
    check_record(history)
    chosen = {f"{prefix}history{writer.suffix}": writer for writer in choose_writers(writers, plugins or PluginSet())}
    history = history.identified()
    files: dict[str, Fill] = {name: partial(writer.write, history) for name, writer in chosen.items()}
    files[f"{prefix}{RECORD}"] = json_file({**history.provenance, "run_id": history.run_id, "files": list(chosen)})
    files |= beside or {}
    write_together(folder, files)
    return [folder / name for name in files]


def choose_writers(wanted: WritersWanted | None, plugins: PluginSet, numbers: int = 0, *, plot: bool = False) -> list[Writer]:
    """Return the writers of the formats that are wanted; ``plot`` adds a picture.

    By default CSV; of a history with more than ``LARGE`` numbers Parquet, which takes a third of the room and can be read in
    parts, or CSV where that is not installed. A picture takes longer to draw than most machines take to run, so that it must
    be asked for.
    """
    if wanted is None:
        wanted = ["parquet" if numbers > LARGE and _installed("parquet", plugins) else "csv"]
    elif isinstance(wanted, str):
        wanted = [name.strip() for name in wanted.split(",")]
    chosen = [select(plugins.writers, selection) for selection in wanted]
    if plot and all(writer.suffix != ".png" for writer in chosen):
        chosen.append(select(plugins.writers, "png"))
    writers: dict[str, Writer] = {}
    for writer in chosen:
        writer.check_installed()
        if writer.suffix in writers:
            both = f"'{writers[writer.suffix].name}' and '{writer.name}'"
            raise PluginError(f"writers {both} both make a file history{writer.suffix}; choose one of them")
        writers[writer.suffix] = writer
    return list(writers.values())


def _installed(name: str, plugins: PluginSet) -> bool:
    return name in plugins.writers and not plugins.writers.get(name).missing()
