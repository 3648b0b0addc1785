"""The files of a study: cases in a table, the record, and states for ``kingpost fatigue``."""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kingpost.base.transactions import Fill
from kingpost.studies.case_table import CaseTable

PARQUET, CSV, RECORD, PAGE = "cases.parquet", "cases.csv", "study.json", "study.html"
#: Where runs that are kept whole stand, each in a folder called like its key.
RUNS = "runs"
STATES = "states.toml"
WITHOUT_PARQUET = (
    f"pyarrow is not installed, so that cases are in {CSV} instead of {PARQUET}; install kingpost[io] for the latter"
)


def case_files(table: CaseTable) -> tuple[dict[str, Fill], tuple[str, ...]]:
    """Return the file of the cases by name, and what is to be said about it."""
    if importlib.util.find_spec("pyarrow") is None:
        return {CSV: lambda path: write_csv(table, path)}, (WITHOUT_PARQUET,)
    return {PARQUET: lambda path: write_parquet(table, path)}, ()


def columns(table: CaseTable) -> Iterable[tuple[str, Sequence[Any] | Any]]:
    """Yield the columns of the table: what a case is, how it weighs, what came of it, numbers."""
    yield "key", table.keys
    taken = {"key", "sea", "weight", "state", "error", "outside", "cpu_s", *table.names}
    for name, column in table.labels.items():
        # A label of words and numbers is one of words.
        mixed = any(isinstance(entry, str) for entry in column)
        yield (f"label {name}" if name in taken else name), [_text(entry) for entry in column] if mixed else list(column)
    for name, numbers in table.settings.items():
        if name not in table.labels:
            yield (f"setting {name}" if name in taken else name), numbers
    yield "sea", table.seas
    yield "weight", table.weight
    yield "state", table.state
    yield "error", table.error
    yield "outside", table.outside
    yield "cpu_s", table.cpu_s
    for j, name in enumerate(table.names):
        yield name, table.values[:, j]


def _text(entry: Any) -> str | None:
    return entry if entry is None or isinstance(entry, str) else f"{entry:.12g}"


def write_parquet(table: CaseTable, path: Path) -> None:
    """Write one row for each case; numbers that a run does not have are null."""
    import pyarrow as pa  # an extra
    from pyarrow import parquet

    arrays = {
        name: pa.array(np.asarray(column), from_pandas=True) if isinstance(column, np.ndarray) else pa.array(list(column))
        for name, column in columns(table)
    }
    parquet.write_table(pa.table(arrays), path, compression="zstd")


def write_csv(table: CaseTable, path: Path) -> None:
    """Write the same as text; numbers that a run does not have are empty."""
    named = list(columns(table))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([name for name, _ in named])
        for row in zip(*(column.tolist() if isinstance(column, np.ndarray) else column for _, column in named), strict=True):
            writer.writerow(["" if entry is None or entry != entry else entry for entry in row])


def states_text(table: CaseTable, rest: bool) -> str:
    """Return a table of states for ``kingpost fatigue``: the conditions that were run, their probabilities, their runs."""
    groups, weights = table.conditions, table.weights
    lines = ["# Written by kingpost study: conditions, how often they occur, and the runs made in them.\n"]
    if weights.left_out > 0.0:
        lines.append(f"# {weights.left_out:.4%} of the time is left out: runs went outside linear theory in it.\n")
    if rest:
        lines.append('rest = "calm"\n')
    for i in range(len(groups)):
        members = np.flatnonzero((groups.of == i) & table.done)
        probability = float(table.weight[groups.of == i].sum() - weights.outside[groups.of == i].sum())
        if not len(members) or probability <= 0.0:
            continue
        name = ", ".join(f"{key} {value}" for key, value in groups.labelled(i).items() if value is not None)
        runs = ", ".join(f'"{RUNS}/{table.keys[j]}"' for j in members.tolist())
        lines.append(f"[[states]]\nname = {_quoted(name or 'all')}\nruns = [{runs}]\nprobability = {probability!r}\n")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
