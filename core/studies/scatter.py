"""Scatter tables: how often sea states of a height and a period occur."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kingpost.base.errors import FileError, KingpostError, closest, listed
from kingpost.base.numbers import finite, finite_in, shown
from kingpost.base.text_files import read_text
from kingpost.fatigue.states import CALM, PROBABILITY_ROUNDING
from kingpost.fatigue.tables import as_tables, read_table

#: Heights (m) and periods (s) beyond these are in other units, or slips of the pen.
HIGHEST, LONGEST = 30.0, 60.0
COLUMNS = ("Hs", "Tp", "probability")
#: Numbers of observations, which are divided by their sum.
COUNTED = "occurrences"
HOW = "a scatter table has rows of Hs (m), Tp (s) and probability, the part of the time, or of Hs, Tp and occurrences"


@dataclass(frozen=True)
class SeaState:
    """Significant height in m, peak period in s, and the part of the time that it prevails."""

    hs: float
    tp: float
    probability: float

    def __post_init__(self) -> None:
        if not 0.0 < self.hs <= HIGHEST:
            raise KingpostError(f"Hs = {self.hs:g} m is no significant wave height; give one above 0, up to {HIGHEST:g} m")
        if not 0.0 < self.tp <= LONGEST:
            raise KingpostError(f"Tp = {self.tp:g} s is no peak period of a sea; give one above 0, up to {LONGEST:g} s")
        if not 0.0 <= self.probability <= 1.0:
            raise KingpostError(
                f"the probability of Hs = {self.hs:g} m, Tp = {self.tp:g} s is {self.probability:g}, not between 0 and 1; "
                "give a part of the time, not per cent"
            )


@dataclass(frozen=True)
class ScatterTable:
    """Sea states, each once, and what the rest of the time is like: ``"calm"``, or nothing if there is no rest."""

    states: tuple[SeaState, ...]
    rest: str | None = None

    def __post_init__(self) -> None:
        if not self.states:
            raise KingpostError(f"the scatter table is empty; {HOW}")
        if self.rest not in (None, CALM):
            raise KingpostError(f'rest = {self.rest!r} says nothing about the rest of the time; write rest = "{CALM}"')
        seen: set[tuple[float, float]] = set()
        for state in self.states:
            if (state.hs, state.tp) in seen:
                raise KingpostError(
                    f"the scatter table has two rows for Hs = {state.hs:g} m, Tp = {state.tp:g} s; add them together"
                )
            seen.add((state.hs, state.tp))
        total = self.total
        if total > 1.0 + PROBABILITY_ROUNDING:
            raise KingpostError(
                f"the probabilities of the {len(self.states)} sea states add up to {total:.9g}, more than 1; correct them, or "
                f"name the column '{COUNTED}' if they are numbers of observations"
            )
        if total < 1.0 - PROBABILITY_ROUNDING and self.rest is None:
            raise KingpostError(
                f"the probabilities of the {len(self.states)} sea states add up to {total:.9g}, not 1. If the rest of the time "
                f'({1 - total:.6g} of it) is without load, say so with rest = "{CALM}"; else complete the table'
            )

    @property
    def total(self) -> float:
        """The sum of the probabilities."""
        return math.fsum(state.probability for state in self.states)


def scatter_table(source: Any, rest: str | None = None) -> ScatterTable:
    """Return a scatter table: from a file (.csv or .toml), or from rows [Hs, Tp, probability]."""
    if isinstance(source, str | Path):
        return read_scatter(source, rest)
    if not isinstance(source, Sequence) or not source:
        raise KingpostError(f"'scatter' is {shown(source)}; give the name of a file, or rows [[Hs, Tp, probability], ...]")
    return ScatterTable(tuple(_state(row, f"row {i + 1} of the scatter table") for i, row in enumerate(source)), rest)


def read_scatter(path: str | Path, rest: str | None = None) -> ScatterTable:
    """Return the scatter table in a CSV file with a line of headings, or in a TOML file with ``[[states]]``."""
    path = Path(path)
    if path.suffix.lower() == ".toml":
        return _read_toml(path, rest)
    if path.suffix.lower() != ".csv":
        raise FileError(f"'{path}' is no scatter table: its name must end in .csv or .toml")
    rows = _rows(path)
    try:
        return ScatterTable(rows, rest)
    except KingpostError as error:
        raise FileError(f"{path}: {error}") from None


def _state(row: Any, what: str) -> SeaState:
    numbers = [finite(value) for value in row] if isinstance(row, Sequence) and not isinstance(row, str) else []
    if len(numbers) != len(COLUMNS) or None in numbers:
        raise KingpostError(f"{what} is {shown(row)}; write three numbers, [Hs, Tp, probability]")
    hs, tp, probability = (float(number) for number in numbers if number is not None)
    return SeaState(hs, tp, probability)


def _read_toml(path: Path, rest: str | None) -> ScatterTable:
    file = read_table(path, "scatter table")
    file.check_keys(("states", "rest"), "a scatter table")
    with file.refusing("states"):
        entries = as_tables(file.data.get("states", []), "states")
    states = []
    for i, entry in enumerate(entries):
        with file.refusing("states", i):
            states.append(_entry(entry, i))
    with file.refusing("states"):
        return ScatterTable(tuple(states), file.data.get("rest", rest))


def _entry(entry: Mapping[str, Any], i: int) -> SeaState:
    what = f"sea state number {i + 1}"
    for key in entry:
        if key not in COLUMNS:
            raise KingpostError(f"{what} has no '{key}'{closest(key, COLUMNS)} It takes: {listed(COLUMNS)}.")
    for key in COLUMNS:
        if finite(entry.get(key)) is None:
            raise KingpostError(f"{what}: {key} = {shown(entry.get(key))} is not a finite number")
    return SeaState(*(float(entry[key]) for key in COLUMNS))


def _rows(path: Path) -> tuple[SeaState, ...]:
    """Return the sea states of a CSV file, those that never occur included."""
    lines = [
        (number, cells)
        for number, cells in enumerate(csv.reader(read_text(path, "scatter table").splitlines()), start=1)
        if any(cell.strip() for cell in cells) and not cells[0].lstrip().startswith("#")
    ]
    if not lines:
        raise FileError(f"{path} is empty; {HOW}")
    first, heads = lines[0]
    columns, counted = _columns(path, first, heads)
    table = [(number, _numbers(path, number, cells, columns)) for number, cells in lines[1:]]
    total = math.fsum(row[2] for _, row in table) if counted else 1.0
    if table and not total > 0.0:
        raise FileError(f"{path}: the occurrences add up to {total:g}; there must be some")
    states = []
    for number, (hs, tp, value) in table:
        try:
            if value < 0.0:
                raise KingpostError(f"Hs = {hs:g} m, Tp = {tp:g} s occurs {value:g} times; give 0 or more")
            states.append(SeaState(hs, tp, value / total))
        except KingpostError as error:
            raise FileError(f"{path}:{number}: {error}") from None
    return tuple(states)


def _columns(path: Path, line: int, heads: Sequence[str]) -> tuple[tuple[int, int, int], bool]:
    """Return where height, period and probability stand, and whether the last are numbers of observations."""
    names = [head.partition("[")[0].partition("(")[0].strip().casefold() for head in heads]
    last = COUNTED if COUNTED in names else COLUMNS[2]
    places = []
    for wanted in (*COLUMNS[:2], last):
        if names.count(wanted.casefold()) != 1:
            raise FileError(
                f"{path}:{line}: the first line must name the columns, '{wanted}' once among them; it has "
                f"{listed(repr(head.strip()) for head in heads)}. {HOW[0].upper()}{HOW[1:]}"
            )
        places.append(names.index(wanted.casefold()))
    return (places[0], places[1], places[2]), last == COUNTED


def _numbers(path: Path, line: int, cells: Sequence[str], columns: tuple[int, int, int]) -> tuple[float, float, float]:
    found = [finite_in(cells[column]) if column < len(cells) else None for column in columns]
    for name, column, number in zip(COLUMNS, columns, found, strict=True):
        if number is None:
            text = shown(cells[column].strip()) if column < len(cells) else "missing"
            raise FileError(f"{path}:{line}: {name} is {text}, not a finite number")
    return found[0] or 0.0, found[1] or 0.0, found[2] or 0.0
