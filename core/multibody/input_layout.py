"""Inputs that move: how an input becomes an expression of the time and of a row of numbers that holds for a while.

A run is cut into stretches, and for each there is a row of numbers. Of an input that is held the row has its value. Of one
that moves it has its polynomials there: the value at the begin of the stretch, the other coefficients in the time since then,
and for every further piece the time at which it begins and its coefficients in the time since. So the code that is made of
the equations depends on the number of pieces and on their degree alone, and an evaluation costs the same however long the
table is that the rows come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.mechanism.elements import TIME
from kingpost.mechanism.trajectories import Sampled, Trajectory, horner

#: Sampled data with more points than this become a table that generated code searches, instead of an expression.
TABLE = 32
#: Expressions of more samples than this would take a C compiler too long.
LONGEST_EXPRESSION = 1000


class InputForm(NamedTuple):
    """How many polynomial pieces of which degree a row has for an input that moves."""

    pieces: int = 1
    degree: int = 1

    @property
    def extra(self) -> int:
        """How many numbers a row has for it beside its first value."""
        return self.degree + (self.pieces - 1) * (self.degree + 2)

    def with_room_for(self, other: InputForm) -> InputForm:
        """Return a form into which both fit."""
        return InputForm(max(self.pieces, other.pieces), max(self.degree, other.degree))


class LazyScope(Mapping[str, Any]):
    """What names in formulas stand for, of which some are found when they are first asked for."""

    def __init__(self, known: Mapping[str, Any], found: Mapping[str, Callable[[], Any]]) -> None:
        self._known, self._found = known, found
        self._kept: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._found:
            return self._known[name]
        if name not in self._kept:
            self._kept[name] = self._found[name]()
        return self._kept[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**dict.fromkeys(self._known), **dict.fromkeys(self._found)})

    def __len__(self) -> int:
        return len({*self._known, *self._found})


@dataclass(frozen=True)
class InputLayout:
    """What the numbers of a row are: the inputs, the time since which polynomials count, and what else they consist of.

    ``forms`` are those of inputs that move by numbers in the row. ``driven`` inputs move as formulas of the time say, which
    become part of the equations.
    """

    names: tuple[str, ...]
    forms: Mapping[str, InputForm] = field(default_factory=dict)
    driven: Mapping[str, Trajectory] = field(default_factory=dict)

    @property
    def moving(self) -> tuple[str, ...]:
        """The inputs that are not held."""
        return tuple(name for name in self.names if name in self.forms or name in self.driven)

    @property
    def size(self) -> int:
        """How many numbers a row has."""
        return len(self.names) + len(self.further)

    @cached_property
    def further(self) -> tuple[str, ...]:
        """Names for the numbers behind the inputs."""
        return tuple(self._further()) if self.forms else ()

    def _further(self) -> Iterator[str]:
        yield "since"
        for name, form in self._ordered():
            yield from (f"{name}.{power}" for power in range(1, form.degree + 1))
            for piece in range(1, form.pieces):
                yield f"{name}.{piece}.begin"
                yield from (f"{name}.{piece}.{power}" for power in range(form.degree + 1))

    def _ordered(self) -> Iterator[tuple[str, InputForm]]:
        return ((name, self.forms[name]) for name in self.names if name in self.forms)

    @cached_property
    def _places(self) -> Mapping[str, int]:
        """Where the further numbers of each input begin in a row."""
        places, at = {}, len(self.names) + 1
        for name, form in self._ordered():
            places[name] = at
            at += form.extra
        return places

    @cached_property
    def tables(self) -> Mapping[str, Sampled]:
        """Driven inputs with so many samples that they are looked up instead of being expressions."""
        sampled = {name: path for name, path in self.driven.items() if isinstance(path, Sampled)}
        return {name: path for name, path in sampled.items() if len(path.times) > TABLE}

    def value(self, name: str, t: Any, u: Any, parameters: Mapping[str, Any]) -> Any:
        """Return an input as an expression of the time, of the row ``u`` and of parameters."""
        own = self.names.index(name)
        if name in self.tables and len(self.tables[name].times) > LONGEST_EXPRESSION:
            raise MechanismError(
                f"input '{name}' follows {len(self.tables[name].times)} samples and is used outside of forces, where at most "
                f"{LONGEST_EXPRESSION} can be; thin them out"
            )
        if name in self.driven:
            return self.driven[name].value(t, {**parameters, TIME: t})
        if name not in self.forms:
            return u[own]
        form, at = self.forms[name], self._places[name]
        values = [horner([u[own], *(u[at + power] for power in range(form.degree))], t - u[len(self.names)])]
        begins = []
        at += form.degree
        for _ in range(1, form.pieces):
            begins.append(u[at])
            values.append(horner([u[at + 1 + power] for power in range(form.degree + 1)], t - begins[-1]))
            at += form.degree + 2
        result = values.pop()
        for begin, before in zip(reversed(begins), reversed(values), strict=True):
            result = ca.if_else(t < begin, before, result)
        return result

    def rate_place(self, name: str) -> int | None:
        """Return where in a row the rate of an input stands, if it has one there."""
        return self._places.get(name)

    def write(self, rows: FloatArray, name: str, piece: int, begins: FloatArray, series: FloatArray) -> None:
        """Write a piece of an input into all rows: when it begins, and its coefficients in the time since, a row for each."""
        form, own = self.forms[name], self.names.index(name)
        padded = np.zeros((len(rows), form.degree + 1))
        count = min(series.shape[1], form.degree + 1)
        padded[:, :count] = series[:, :count]
        at = self._places[name]
        if piece == 0:
            rows[:, own], rows[:, at : at + form.degree] = padded[:, 0], padded[:, 1:]
            rows[:, len(self.names)] = begins
            return
        at += form.degree + (piece - 1) * (form.degree + 2)
        rows[:, at], rows[:, at + 1 : at + form.degree + 2] = begins, padded
