"""Numbers that are read from a history, and how they depend on each of its samples: what a text asks for.

A text such as ``"max abs slew.My"`` or ``"2 * rms hull.roll + end energy.total"`` becomes a :class:`Functional`. What is
computed is what somebody would compute from the samples that a run leaves, so that its derivative is that of the very number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.gradients.readings import Combination, Functional, Measured, Number, Slopes, Watched
from kingpost.results.choosing import MOST_NAMED

#: Words that a channel can be asked for with; without one of them it is the value at the end.
READINGS = ("max", "min", "range", "mean", "rms", "std", "integral", "equivalent", "settling", "end", "start", "damage")
#: Words behind a channel, each with a number; the first three of them with a time.
NUMBERED = ("at", "from", "to", "slope", "near", "within")
_WORD = re.compile(r"\s*([(),]|[^\s(),]+)")
HOW = (
    "write e.g. 'hull.roll at 0.3', 'max abs slew.My', 'rms hull.roll from 5 to 20', 'max norm(slew.Mx, slew.My)' or "
    "'2 * max slew.Fz + end energy.total', with blanks around +, -, * and /"
)


def read_functional(text: str, special: Mapping[str, Callable[[str], Functional]] | None = None) -> Functional:
    """Return what a text asks for; ``special`` makes functionals of the words after a word."""
    return _Parser(text, special or {}).whole()


class _Parser:
    """Sums of products of what is read from channels."""

    def __init__(self, text: str, special: Mapping[str, Callable[[str], Functional]]) -> None:
        self.text, self.special = text, special
        self.words = _WORD.findall(text)
        self.at = 0

    def whole(self) -> Functional:
        if not self.words:
            raise KingpostError(f"nothing is asked for; {HOW}")
        found = self._sum()
        if self.at < len(self.words):
            self._refuse(f"'{self.words[self.at]}' is not understood")
        return found

    def _refuse(self, what: str) -> None:
        raise KingpostError(f"'{self.text}': {what}; {HOW}")

    def _next(self) -> str | None:
        return self.words[self.at] if self.at < len(self.words) else None

    def _take(self, *words: str) -> str | None:
        word = self._next()
        if word is None or word not in words:
            return None
        self.at += 1
        return word

    def _sum(self) -> Functional:
        negative = self._take("-") is not None
        found = self._product()
        found = Combination("*", Number(-1.0), found) if negative else found
        while operator := self._take("+", "-"):
            found = Combination(operator, found, self._product())
        return found

    def _product(self) -> Functional:
        found = self._factor()
        while operator := self._take("*", "/"):
            found = Combination(operator, found, self._factor())
        return found

    def _factor(self) -> Functional:
        if self._take("("):
            found = self._sum()
            if not self._take(")"):
                self._refuse("a bracket is not closed")
            return found
        word = self._next()
        number = None if word is None else _number(word)
        if number is not None:
            self.at += 1
            return Number(number)
        return self._quantity()

    def _quantity(self) -> Functional:
        reading = self._take(*READINGS)
        if reading is not None and reading in self.special:
            return self.special[reading](self._name(f"the name after '{reading}'"))
        absolute = self._take("abs") is not None
        signal = self._signal(absolute)
        times: dict[str, float] = {}
        while word := self._take(*NUMBERED):
            if word in times:
                self._refuse(f"'{word}' stands twice")
            times[word] = self._time(word)
        if "at" in times and (reading is not None or len(times) > 1):
            self._refuse("'at' is for the value at one time, and stands without max, mean, 'from' and the like")
        if (reading == "equivalent") != ("slope" in times):
            self._refuse("'equivalent' and the inverse slope m of an S-N curve go together, as in 'equivalent slew.My slope 4'")
        if (reading == "settling") != ("near" in times) or (reading == "settling") != (times.get("within", 0.0) > 0.0):
            self._refuse("'settling' goes with a value and a distance, as in 'settling slew.angle near 1.57 within 0.03'")
        return Measured(reading or "end", signal, *(times.get(word) for word in NUMBERED))

    def _signal(self, absolute: bool) -> Watched:
        name = self._name("a channel")
        if name != "norm" or self._next() != "(":
            return Watched((name,), absolute=absolute)
        self.at += 1
        names = [self._name("a channel")]
        while self._take(","):
            names.append(self._name("a channel"))
        if not self._take(")"):
            self._refuse("a bracket is not closed")
        return Watched(tuple(names), vector=True)

    def _name(self, what: str) -> str:
        word = self._next()
        if word is None or word in ("(", ")", ",", "+", "-", "*", "/", *NUMBERED):
            self._refuse(f"{what} is missing" + (f" before '{word}'" if word is not None else " at the end"))
        self.at += 1
        return str(word)

    def _time(self, word: str) -> float:
        given = self._next()
        number = None if given is None else _number(given)
        if number is None:
            found = f", not '{given}'" if given is not None else ""
            self._refuse(f"after '{word}' comes {'a time in s' if word in NUMBERED[:3] else 'a number'}{found}")
        self.at += 1
        return float(number or 0.0)


def _number(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def check_channels(functional: Functional, known: Sequence[str], others: Mapping[str, str] | None = None) -> list[str]:
    """Return the channels that a functional looks at, each once; refuse unknown ones. ``others`` are refused with a reason."""
    names = list(dict.fromkeys(functional.channels))
    for name in names:
        if others and name in others:
            raise KingpostError(f"channel '{name}' {others[name]}")
        if name not in known:
            raise KingpostError(
                f"the run has no channel '{name}'{closest(name, known)} Channels: {listed(known, most=MOST_NAMED)}."
            )
    return names


def weights_of(slopes: Slopes, names: Sequence[str], samples: int) -> FloatArray:
    """Return slopes as a matrix with a row for each sample and a column for each channel."""
    nothing: Any = np.zeros(samples)
    return np.column_stack([slopes.get(name, nothing) for name in names])
