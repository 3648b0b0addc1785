"""Numbers by name, as study files write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.numbers import finite, shown

EVEN = ("from", "to", "count")
#: More values of one number, or points, than this are a slip of the pen.
MOST = 1_000_000


def values_by_name(table: Any, key: str, least: int = 1) -> dict[str, tuple[float, ...]]:
    """Return the values of each name: a list, a single number, or evenly spaced ones."""
    if not isinstance(table, Mapping) or not table:
        raise MechanismError(f"'{key}' is {shown(table)}; give values by name, such as {{mass = [900, 1100]}}", path=(key,))
    found = {}
    for name, given in table.items():
        numbers = _numbers(str(name), given, key)
        if len(numbers) < least or len(set(numbers)) < len(numbers):
            raise MechanismError(
                f"'{name}' has the values {shown(list(numbers))}; give {least} or more that differ", path=(key, str(name))
            )
        found[str(name)] = numbers
    return found


def _numbers(name: str, given: Any, key: str) -> tuple[float, ...]:
    if isinstance(given, Mapping):
        return _even(name, given, key)
    entries = given if isinstance(given, list | tuple) else [given]
    numbers = [finite(entry) for entry in entries]
    if None in numbers or not numbers:
        raise MechanismError(f"'{name}' = {shown(given)} is no list of finite numbers", path=(key, name))
    return tuple(float(number) for number in numbers if number is not None)


def _even(name: str, given: Mapping[str, Any], key: str) -> tuple[float, ...]:
    for word in given:
        if word not in EVEN:
            raise MechanismError(f"'{name}' has no '{word}'{closest(word, EVEN)} It takes: {listed(EVEN)}.", path=(key, name))
    low, high, count = finite(given.get("from")), finite(given.get("to")), given.get("count")
    if low is None or high is None or isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MOST:
        raise MechanismError(
            f"'{name}' = {shown(dict(given))}: give two finite numbers, 'from' and 'to', and a 'count' of 2 or more, "
            f"up to {MOST}",
            path=(key, name),
        )
    return tuple(float(number) for number in np.linspace(low, high, count))
