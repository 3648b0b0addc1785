"""A long computation cut into functions of a few operations each, which parts that are alike share.

It is written down once, from beginning to end, with quantities that have names. Where the functions are cut, what they take and
what they give follows from that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import casadi as ca


class Sharing(Protocol):
    """What makes functions, and gives one that it made before where that does the same."""

    def share(self, name: str, inputs: list[ca.SX], results: list[ca.SX]) -> ca.Function:
        """Return the function from inputs to results."""


class Part:
    """What becomes one function: quantities by name, with symbols for those that come from outside."""

    def __init__(self, shapes: dict[str, tuple[int, int]]) -> None:
        self._shapes = shapes
        self._values: dict[str, ca.SX] = {}
        #: Symbols of what comes from outside, and what was found here.
        self.taken: dict[str, ca.SX] = {}
        self.found: dict[str, ca.SX] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._shapes

    def __getitem__(self, name: str) -> ca.SX:
        if name not in self._values:
            self._values[name] = self.taken[name] = ca.SX.sym("i", *self._shapes[name])
        return self._values[name]

    def get(self, name: str, otherwise: ca.SX) -> ca.SX:
        """Return a quantity, or something else where it is not known."""
        if name not in self:
            return otherwise
        return self[name]

    def __setitem__(self, name: str, value: ca.SX) -> None:
        self._shapes[name] = value.shape
        self._values[name] = self.found[name] = value

    def add(self, name: str, value: ca.SX) -> None:
        """Add to a quantity, which is zero where it is not known yet."""
        if not value.is_zero():
            self[name] = self[name] + value if name in self else value

    def pop(self, name: str) -> ca.SX:
        """Return a quantity that nothing after this knows."""
        value = self[name]
        for known in (self._values, self.found, self._shapes):
            known.pop(name, None)
        return value


class Outline:
    """The parts of a computation, one after the other; ``given`` are the quantities that it begins with."""

    def __init__(self, given: Mapping[str, ca.MX], longest: float) -> None:
        self._given, self._longest = dict(given), longest
        self._shapes = {name: value.shape for name, value in given.items()}
        self._parts: list[Part] = []
        self._room = 0.0

    def __contains__(self, name: str) -> bool:
        return name in self._shapes

    def part(self, cost: float) -> Part:
        """Return the part in which something of this cost is written down: the last one, while there is room in it."""
        if not self._parts or self._room < cost:
            self._parts.append(Part(self._shapes))
            self._room = self._longest
        self._room -= cost
        return self._parts[-1]

    def results(self, names: list[str], name: str, sharing: Sharing) -> dict[str, ca.MX]:
        """Return quantities at the end, by calls of functions that give no more than what is used after them."""
        wanted = set(names)
        given: list[list[str]] = []
        for part in reversed(self._parts):
            given.insert(0, [item for item in part.found if item in wanted])
            wanted = (wanted - part.found.keys()) | part.taken.keys()
        values = dict(self._given)
        for part, items in zip(self._parts, given, strict=True):
            if items:
                function = sharing.share(name, list(part.taken.values()), [part.found[item] for item in items])
                found = function.call([values[item] for item in part.taken])
                values |= dict(zip(items, found, strict=True))
        return {item: values[item] for item in names}
