"""The folder of a run: its history in the formats asked for, and the record that lists them. Nothing else writes them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from kingpost.base.errors import PluginError
from kingpost.base.files import Fill, json_file, write_together
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.results.history import History
from kingpost.results.read_write import RECORD, check_record
from kingpost.results.writer import Writer

#: Formats, e.g. ``"csv,png"`` or ``["csv", "npz:float32=true"]``.
WritersWanted: TypeAlias = str | Sequence[Selection[Writer]]


def write_run(
    history: History,
    folder: str | Path,
    *,
    writers: WritersWanted = ("csv",),
    prefix: str = "",
    plugins: PluginSet | None = None,
) -> list[Path]:
    """Write a history as ``kingpost run`` does, into a folder that ``read_history``, ``kingpost fatigue`` and ``report`` open.

    The folder gets ``history.csv`` (or of another format) and ``run.json``, the provenance; they replace those of an earlier
    run once all of them are complete.

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

    Returns
    -------
    list of Path
        The files, ``run.json`` last.

    """
    folder = Path(folder)
    check_record(history)
    chosen = {f"{prefix}history{writer.suffix}": writer for writer in choose_writers(writers, plugins or PluginSet())}
    files: dict[str, Fill] = {name: partial(writer.write, history) for name, writer in chosen.items()}
    # The record is moved into place last: it never lists what is not there.
    files[f"{prefix}{RECORD}"] = json_file({**history.provenance, "files": list(chosen)})
    write_together(folder, files)
    return [folder / name for name in files]


def choose_writers(wanted: WritersWanted | None, plugins: PluginSet) -> list[Writer]:
    """Return the writers of the formats that are wanted; by default CSV, and a picture if that can be made."""
    if wanted is None:
        wanted = ["csv"] + [name for name in ("png",) if name in plugins.writers and not plugins.writers.get(name).missing()]
    elif isinstance(wanted, str):
        wanted = [name.strip() for name in wanted.split(",")]
    writers: dict[str, Writer] = {}
    for selection in wanted:
        writer = select(plugins.writers, selection)
        writer.check_installed()
        if writer.suffix in writers:
            both = f"'{writers[writer.suffix].name}' and '{writer.name}'"
            raise PluginError(f"writers {both} both make a file history{writer.suffix}; choose one of them")
        writers[writer.suffix] = writer
    return list(writers.values())
