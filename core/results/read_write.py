"""Histories from files and run folders, and back into files, by the writer plugin that knows the suffix."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import FileError, KingpostError, closest, listed
from kingpost.base.files import json_file, write_together
from kingpost.base.record_form import fault_of_record
from kingpost.base.text_files import is_dir, is_file, parse_json, possible
from kingpost.base.transactions import Fill, current, settle
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import make
from kingpost.results.history import History
from kingpost.results.metadata import plain_json
from kingpost.results.writer import Writer

if TYPE_CHECKING:
    from kingpost.results.part import Part

#: The record of a run, in its folder.
RECORD = "run.json"
#: What the record says of its files, and not of the run.
OWN = ("run_id", "files")
#: How often files that do not fit together are read again before they are refused.
AGAIN = 4


class ExchangedError(FileError):
    """Files do not fit together, or one is gone: another process may have exchanged them between two looks."""


def read_history(
    path: str | Path,
    plugins: PluginSet | None = None,
    *,
    channels: str | Sequence[str] | None = None,
    start: float | None = None,
    end: float | None = None,
) -> History:
    """Return the history in a file, or in a run folder, or a part of it.

    Of a folder (or its ``run.json``) the first file whose format can be read here is taken. The provenance comes from the file
    itself if its format holds it, else from the JSON file beside it: ``NAME.json``, with the whole NAME of the file, or the
    ``run.json`` that lists the file. A history of another run than its record is refused; an exchange of files that was cut off
    is finished, or, where nothing can be written, read as if it were.

    Of a long run a part may be enough: ``channels`` by names, with ``*`` for any text, and the samples from ``start`` to
    ``end`` (s). Parquet and HDF5 files are then not read beyond that.
    """
    from kingpost.results.part import Part

    part = Part((channels,) if isinstance(channels, str) else None if channels is None else tuple(channels), start, end)
    path = Path(path)
    plugins = plugins or PluginSet()
    if not is_file(path) and not is_dir(path) and not is_dir(path.parent):
        raise FileError(f"there is no file or folder '{path}'")
    if not possible(path.name):
        raise FileError(f"there is no file or folder '{path}': no file can have such a name")
    for _ in range(AGAIN):
        with contextlib.suppress(OSError):
            settle(path if path.is_dir() else path.parent)
        try:
            return _read_once(path, plugins, part)
        except ExchangedError:
            continue
    return _read_once(path, plugins, part)


def _read_once(path: Path, plugins: PluginSet, part: Part) -> History:
    if path.is_dir():
        if not current(path / RECORD).is_file():
            raise FileError(f"folder '{path}' holds no {RECORD}, so it is not the folder of a run{_instead(path, plugins)}")
        return _read_recorded(path / RECORD, plugins, part)
    if not current(path).exists():
        siblings = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        raise FileError(f"there is no file or folder '{path}'{closest(path.name, siblings)}")
    if path.suffix.lower() == ".json":
        return _read_recorded(path, plugins, part)
    cls = _format_of(path, plugins)
    history = _read(cls, path, part)
    if cls.embeds:
        return history
    for beside in _sidecars(path):
        record = _load_record(beside) if current(beside).is_file() else {}
        if path.name in _files(record):
            return _with_record(history, path, record, beside)
    return history


def write_history(history: History, path: str | Path, plugins: PluginSet | None = None, **options: Any) -> list[Path]:
    """Write ``history`` in the format that the suffix of ``path`` names, and return the files written.

    ``options`` are those of the format, e.g. ``float32=True``. A format that cannot hold the provenance gets a JSON file beside
    it, ``NAME.json`` with the whole NAME of the file. Files appear whole or not at all.
    """
    path = Path(path)
    cls = _format_of(path, plugins or PluginSet())
    cls.check_installed()
    writer = make(cls, options)
    history = history.identified()
    files: dict[str, Fill] = {path.name: partial(writer.write, history)}
    if not cls.embeds:
        check_record(history)
        files[f"{path.name}.json"] = json_file({**history.provenance, "run_id": history.run_id, "files": [path.name]})
    write_together(path.parent, files)
    return [path.with_name(name) for name in files]


def _read(cls: type[Writer], path: Path, part: Part) -> History:
    cls.check_installed()
    try:
        history = cls().read(current(path)) if part.whole else cls().read_part(current(path), part)
    except KingpostError:
        raise
    except FileNotFoundError as error:  # it was there
        raise ExchangedError(f"'{path}' cannot be read: {error}") from error
    except OSError as error:
        raise FileError(f"'{path}' cannot be read: {error}") from error
    except Exception as error:  # whatever a library says about a damaged file
        reason = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
        raise FileError(f"'{path}' is damaged, or is no {cls.name} file with a history: {reason}") from error
    _check_times(path, history.time)
    return history


def _check_times(path: Path, times: FloatArray) -> None:
    """Refuse times that no history has: whatever is asked of it would be answered with nonsense."""
    lost = np.flatnonzero(~np.isfinite(times))
    if lost.size:
        raise FileError(f"'{path}': the time of sample {lost[0]} is {times[lost[0]]}; every sample needs a time")
    back = np.flatnonzero(np.diff(times) <= 0.0)
    if back.size:
        i = int(back[0])
        raise FileError(
            f"'{path}': times must rise, but sample {i + 1} is at {times[i + 1]} s after {times[i]} s ({back.size} such "
            "places); sort the samples and drop repeated times"
        )


def _read_recorded(record_path: Path, plugins: PluginSet, part: Part) -> History:
    """Return the history of a run, by its record."""
    record = _load_record(record_path)
    names = _files(record)
    if not names:
        raise FileError(f"'{record_path}' lists no 'files', so it is not the record of a run")
    uninstalled = ""
    for name in names:
        path = record_path.parent / name
        found = _formats(path, plugins)
        if not found or not found[0].readable() or not current(path).is_file():
            continue
        if found[0].missing():
            uninstalled = uninstalled or name
            continue
        history = _read(found[0], path, part)
        described = _with_record(history, path, record, record_path)
        return history if found[0].embeds else described
    if uninstalled:
        _format_of(Path(uninstalled), plugins).check_installed()
    gone = [name for name in names if not current(record_path.parent / name).is_file()]
    reason = f"of its files {listed(gone)} are not there" if gone else f"of its files ({listed(names)}) none can be read back"
    raise FileError(f"'{record_path}': {reason}; run again, with csv among the formats")


def _formats(path: Path, plugins: PluginSet) -> list[type[Writer]]:
    """Return the formats with the suffix of ``path``: Kingpost's own first, so that no plugin changes what a file means."""
    entries = sorted(plugins.writers.entries(), key=lambda entry: entry[1].origin != "built-in")
    return [cls for cls, _ in entries if cls.suffix == path.suffix.lower()]


def _format_of(path: Path, plugins: PluginSet) -> type[Writer]:
    found = _formats(path, plugins)
    if found:
        return found[0]
    known = sorted({cls.suffix for cls, _ in plugins.writers.entries()})
    raise FileError(f"'{path}': no format has the suffix '{path.suffix}'{closest(path.suffix, known)} Known: {listed(known)}.")


def _sidecars(path: Path) -> list[Path]:
    """Return where the provenance of a file may be; an incomplete run has ``failed-history.csv`` and ``failed-run.json``."""
    names = [f"{path.name}.json", RECORD]
    if path.stem.endswith("-history"):
        names.append(path.stem.removesuffix("history") + RECORD)
    return [path.with_name(name) for name in names]


def _load_record(path: Path) -> dict[str, Any]:
    try:
        record = parse_json(current(path).read_text(encoding="utf-8"), finite=True)
    except FileNotFoundError as error:
        raise ExchangedError(f"'{path}', the record of a run, cannot be read: {error}") from None
    except (OSError, ValueError) as error:
        raise FileError(f"'{path}', the record of a run, cannot be read: {error}") from None
    if not isinstance(record, dict):
        raise FileError(f"'{path}' is not the record of a run: it holds {type(record).__name__}, expected an object")
    fault = fault_of_record(record)
    if fault:
        raise FileError(f"'{path}', the record of a run, is damaged: {fault}")
    return record


def _files(record: dict[str, Any]) -> list[str]:
    files = record.get("files")
    names = [name for name in files if isinstance(name, str)] if isinstance(files, list) else []
    return [name for name in names if possible(name) and "/" not in name]  # beside the record, nowhere else


def _with_record(history: History, path: Path, record: dict[str, Any], record_path: Path) -> History:
    """Return the history in ``path`` with the provenance from its record, if both are of one run."""
    recorded = str(record.get("run_id", ""))
    if history.run_id not in (None, recorded):
        raise ExchangedError(
            f"'{path}' is of {_run(history.run_id)}, but '{record_path.name}' beside it is of {_run(recorded)}: files of two "
            "runs were mixed. Run again, or put the files of one run into a folder of their own"
        )
    provenance = {key: value for key, value in record.items() if key not in OWN}
    return History(history.time, history.channels, history.values, provenance, history.run_id)


def _run(run_id: str | None) -> str:
    return f"run {run_id}" if run_id else "a run without an id, as earlier versions wrote it"


def check_record(history: History) -> None:
    """Refuse a history whose provenance cannot stand in a JSON file beside it."""
    for key in OWN:
        if key in history.provenance:
            raise KingpostError(
                f"the provenance of this history has an entry '{key}', which the JSON file beside it needs itself"
            )
    plain_json(history.provenance, "this history")


def _instead(folder: Path, plugins: PluginSet) -> str:
    """Return the end of a sentence: what in a folder could be read instead."""
    readable = [
        entry.name
        for entry in sorted(folder.iterdir())
        if (any(cls.readable() for cls in _formats(entry, plugins)) and entry.is_file()) or (entry / RECORD).is_file()
    ]
    return f"; name a file in it: {listed(readable)}" if readable else "; 'kingpost run MODEL' or write_run() makes one"
