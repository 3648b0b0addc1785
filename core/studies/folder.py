"""The folder of a study: one process at a time works in it, and its files are written together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeAlias

from kingpost.base.errors import FileError
from kingpost.base.files import json_file, write_together
from kingpost.base.transactions import Fill
from kingpost.base.version import __version__
from kingpost.kernel.locks import locked
from kingpost.studies.planning import StudyPlan
from kingpost.studies.results import PAGE, RECORD, RUNS, STATES, case_files, states_text
from kingpost.studies.study import ALL, WORST
from kingpost.studies.summary.page_runs import page_runs
from kingpost.studies.summary.record import summary_record
from kingpost.studies.summary.summary import Summary

#: What makes the page of a study, from its record and its runs.
Page: TypeAlias = Callable[[dict[str, Any], dict[str, Any]], Fill]
LOCK = ".study.lock"
#: Seconds that are waited for another process to end.
PATIENCE = 2.0


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep other processes from working on the same study for the time of the context."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / LOCK, PATIENCE) as waited:
        if waited >= PATIENCE:
            raise FileError(f"another process works on the study in '{folder}'; wait for it, or choose another folder")
        yield


@dataclass(frozen=True, eq=False)
class Written:
    """The files of a study, its record, and what is to be said about them."""

    files: tuple[Path, ...]
    record: dict[str, Any]
    notes: tuple[str, ...]


def study_record(plan: StudyPlan, summary: Summary, ran: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything that ``study.json`` holds: what was studied, how, by what, and what came of it."""
    study, opened = plan.study, plan.opened
    return {
        "kingpost": __version__,
        "written": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "name": study.name,
        "file": str(study.path or ""),
        "study": dict(study.spec),
        "model": {"name": opened.mechanism.name, "digest": opened.mechanism.digest(), "source": study.model},
        "recipe": plan.digest,
        "t_end_s": study.t_end,
        "skip_s": study.skip,
        "ran": dict(ran),
        "units": {name: unit for name, unit in summary.units.items() if _is_kept(name, summary)},
        "plugins": opened.plugins.sources(),
        **summary_record(summary),
    }


def _is_kept(channel: str, summary: Summary) -> bool:
    return any(name.startswith(f"{channel}:") for name in summary.table.names)


def write_results(folder: Path, plan: StudyPlan, summary: Summary, ran: Mapping[str, Any], page: Page | None = None) -> Written:
    """Write the files of a study, all at one point; ``page`` makes the page of the record and of runs in columns."""
    files, notes = case_files(summary.table)
    kept = {path.name for path in (folder / RUNS).iterdir()} if (folder / RUNS).is_dir() else set()
    record = study_record(plan, summary, ran) | {"kept_runs": sorted(kept & set(summary.table.keys))}
    files[RECORD] = json_file(record)
    if plan.study.keep.histories.which == ALL and kept.issuperset(_done(summary)):
        text = states_text(summary.table, rest=summary.calm > 0.0 or summary.table.weights.left_out > 0.0)
        files[STATES] = lambda path: _write(path, text)
    if page is not None:
        files[PAGE] = page(record, page_runs(summary))
    write_together(folder, files)
    return Written(tuple(folder / name for name in files), record, notes)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _done(summary: Summary) -> list[str]:
    return [key for key, done in zip(summary.table.keys, summary.table.done.tolist(), strict=True) if done]


def wanted_histories(summary: Summary) -> list[str]:
    """Return the keys of the runs that are to be kept whole, the worst first."""
    histories = summary.study.keep.histories
    if histories.which == ALL:
        return list(dict.fromkeys(_done(summary)))
    count = histories.count if histories.which == WORST else 0
    return [summary.table.keys[i] for i in summary.ranking.worst(count)]
