"""The cases of a study in columns: what they are, how they weigh, what came of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.studies.store import DONE, FAILED, OUTSIDE, StoredCase

Label: TypeAlias = float | str | None
#: The label that tells repetitions under the same conditions apart.
SEED = "seed"
CELL = ("Hs", "Tp")
HEADING = "heading"


@dataclass(frozen=True, eq=False)
class CaseTable:
    """Cases in columns, in the order of the plan; numbers that a run does not have are NaN."""

    keys: tuple[str, ...]
    seas: tuple[str, ...]
    labels: dict[str, tuple[Label, ...]]
    settings: dict[str, FloatArray]
    weight: FloatArray
    state: tuple[str, ...]
    error: tuple[str, ...]
    #: How cases left linear theory; empty for those that did not.
    outside: tuple[str, ...]
    cpu_s: FloatArray
    names: tuple[str, ...]
    values: FloatArray

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def done(self) -> NDArray[np.bool_]:
        """Which cases have numbers."""
        return self._are(DONE)

    @cached_property
    def failed(self) -> NDArray[np.bool_]:
        """Which cases failed."""
        return self._are(FAILED)

    @cached_property
    def left_theory(self) -> NDArray[np.bool_]:
        """Which cases have no numbers since a floating body left the small angles of linear theory in them."""
        return self._are(OUTSIDE)

    def _are(self, state: str) -> NDArray[np.bool_]:
        return np.array([own == state for own in self.state], dtype=bool)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def numbers(self, name: str) -> FloatArray:
        """Return one number of all cases; NaN in place of all of them as long as no run has any."""
        if name not in self._places:
            if not self.names:
                return np.full(len(self), np.nan)
            raise KingpostError(f"runs have no number '{name}'{closest(name, self.names)} Numbers: {listed(self.names, 20)}.")
        return self.values[:, self._places[name]]

    @cached_property
    def has_cells(self) -> bool:
        """Whether cases are told apart by height and period of a sea."""
        return all(name in self.labels for name in CELL)

    @cached_property
    def positions(self) -> tuple[str, ...]:
        """The labels that are neither of the sea nor a seed: positions of the crane, parameters."""
        return tuple(name for name in self.labels if name not in (*CELL, HEADING, SEED))

    def groups(self, names: Sequence[str]) -> Groups:
        """Return the cases grouped by some labels."""
        return grouped([tuple(self.labels[name][i] for name in names) for i in range(len(self))], tuple(names))

    @cached_property
    def conditions(self) -> Groups:
        """The cases grouped by all labels but the seed."""
        return self.groups([name for name in self.labels if name != SEED])

    @cached_property
    def weights(self) -> Weights:
        """How the cases that have numbers weigh, those of failed repetitions shared by the others under the same conditions."""
        return shared_weights(self.conditions, self.weight, self.done, self.left_theory)


@dataclass(frozen=True, eq=False)
class Groups:
    """Cases that are alike: what each group is called, and to which group every case belongs."""

    names: tuple[str, ...]
    members: tuple[tuple[Label, ...], ...]
    of: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.members)

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum over each group."""
        return np.bincount(self.of, weights=values, minlength=len(self)).astype(float)

    def labelled(self, i: int) -> dict[str, Label]:
        """Return what a group is, by label."""
        return dict(zip(self.names, self.members[i], strict=True))


def grouped(entries: Sequence[tuple[Label, ...]], names: tuple[str, ...]) -> Groups:
    """Return groups of equal entries, in the order in which they first occur."""
    places: dict[tuple[Label, ...], int] = {}
    of = np.array([places.setdefault(entry, len(places)) for entry in entries], dtype=np.int64)
    return Groups(names, tuple(places), of)


@dataclass(frozen=True, eq=False)
class Weights:
    """The parts of the time that cases stand for."""

    #: Of each case; 0 for those without numbers.
    of: FloatArray
    #: Of each case that left linear theory; 0 for the others.
    outside: FloatArray
    #: Of all planned cases together.
    planned: float
    #: Of conditions of which no run came to its end.
    uncovered: float

    @property
    def covered(self) -> float:
        """The part of the time that runs came to their end for, within linear theory or not."""
        return self.planned - self.uncovered

    @property
    def left_out(self) -> float:
        """The part of the time of which nothing is counted since cases left linear theory in it."""
        return float(self.outside.sum())


def shared_weights(
    conditions: Groups, weight: FloatArray, done: NDArray[np.bool_], left_theory: NDArray[np.bool_] | None = None
) -> Weights:
    """Return how cases weigh: what failed seeds stand for is shared by the others under the same conditions.

    This is what seeds of one state are in a table of states: averaged, however many there are. What cases stand for that left
    linear theory is nobody's: they are no accidents of numerics, and calm seeds say nothing about them.
    """
    outside = np.zeros(len(weight), dtype=bool) if left_theory is None else left_theory
    every, known = conditions.sums(weight), conditions.sums(np.where(done | outside, weight, 0.0))
    missing = known < every * (1 - 1e-12)
    scale = np.ones(len(every))
    some = known > 0.0
    # Where nothing is missing the weights stay as they are, to the last bit.
    scale[missing & some] = every[missing & some] / known[missing & some]
    uncovered = float(every[~some].sum())
    shared = weight * scale[conditions.of]
    return Weights(np.where(done, shared, 0.0), np.where(outside, shared, 0.0), float(every.sum()), uncovered)


def case_table(entries: Iterable[StoredCase], names: Sequence[str] = ()) -> CaseTable:
    """Return stored cases in columns; ``names`` are those of the numbers, as far as they are known before."""
    places = {name: i for i, name in enumerate(names)}
    columns: dict[str, list[Any]] = {key: [] for key in ("key", "sea", "weight", "state", "error", "outside", "cpu_s")}
    labels: dict[str, list[Label]] = {}
    settings: dict[str, list[float]] = {}
    rows: list[FloatArray] = []
    orders: dict[tuple[str, ...], NDArray[np.int64]] = {}
    for count, entry in enumerate(entries):
        case, outcome = entry.case, entry.outcome
        for key, value in (("key", case.key), ("sea", case.sea), ("weight", case.weight), ("state", entry.state)):
            columns[key].append(value)
        columns["error"].append(outcome.error if outcome else "")
        columns["outside"].append(outcome.outside if outcome else "")
        columns["cpu_s"].append(outcome.cpu_s if outcome else np.nan)
        _put(labels, case.labels, count, None)
        _put(settings, case.settings, count, np.nan)
        numbers = outcome.numbers if outcome and entry.state == DONE else {}
        order = tuple(numbers)
        if order not in orders:
            for name in order:
                places.setdefault(name, len(places))
            orders[order] = np.array([places[name] for name in order], dtype=np.int64)
        row = np.full(len(places), np.nan)
        row[orders[order]] = list(numbers.values())
        rows.append(row)
    values = np.full((len(rows), len(places)), np.nan)
    for i, row in enumerate(rows):
        values[i, : len(row)] = row
    return CaseTable(
        keys=tuple(columns["key"]),
        seas=tuple(columns["sea"]),
        labels={name: tuple(column) for name, column in labels.items()},
        settings={name: np.array(column, dtype=float) for name, column in settings.items()},
        weight=np.array(columns["weight"], dtype=float),
        state=tuple(columns["state"]),
        error=tuple(columns["error"]),
        outside=tuple(columns["outside"]),
        cpu_s=np.array(columns["cpu_s"], dtype=float),
        names=tuple(places),
        values=values,
    )


def _put(columns: dict[str, list[Any]], entry: Any, count: int, gap: Any) -> None:
    """Add a row to columns; names that come up later, or are missing, leave gaps."""
    for name, value in entry.items():
        if name not in columns:
            columns[name] = [gap] * count
        columns[name].append(value)
    for column in columns.values():
        if len(column) == count:
            column.append(gap)
