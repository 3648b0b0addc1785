"""Units as text, such as ``N.m/rad3``, and their exponents of base units, as FMI wants them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

BASE = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
#: Other units in base units: factor, then exponents.
DERIVED: dict[str, tuple[float, dict[str, int]]] = {
    "1": (1.0, {}),
    "%": (0.01, {}),
    "g": (1e-3, {"kg": 1}),
    "t": (1e3, {"kg": 1}),
    "mm": (1e-3, {"m": 1}),
    "km": (1e3, {"m": 1}),
    "min": (60.0, {"s": 1}),
    "h": (3600.0, {"s": 1}),
    "deg": (math.pi / 180, {"rad": 1}),
    "rpm": (2 * math.pi / 60, {"rad": 1, "s": -1}),
    "Hz": (1.0, {"s": -1}),
    "N": (1.0, {"kg": 1, "m": 1, "s": -2}),
    "kN": (1e3, {"kg": 1, "m": 1, "s": -2}),
    "Pa": (1.0, {"kg": 1, "m": -1, "s": -2}),
    "kPa": (1e3, {"kg": 1, "m": -1, "s": -2}),
    "MPa": (1e6, {"kg": 1, "m": -1, "s": -2}),
    "bar": (1e5, {"kg": 1, "m": -1, "s": -2}),
    "J": (1.0, {"kg": 1, "m": 2, "s": -2}),
    "kJ": (1e3, {"kg": 1, "m": 2, "s": -2}),
    "W": (1.0, {"kg": 1, "m": 2, "s": -3}),
    "kW": (1e3, {"kg": 1, "m": 2, "s": -3}),
    "V": (1.0, {"kg": 1, "m": 2, "s": -3, "A": -1}),
}
_FACTOR = re.compile(r"^([A-Za-z%]+|1)(-?\d+)?$")


@dataclass(frozen=True)
class Unit:
    """A unit and what it is in base units: value in base units = factor times value."""

    name: str
    factor: float = 1.0
    exponents: dict[str, int] = field(default_factory=dict)
    #: Whether all its parts were known, so that factor and exponents mean something.
    known: bool = True


def parse_unit(text: str) -> Unit:
    """Return the exponents of a unit: factors joined by dots, exponents after them, divisors after slashes."""
    factor, exponents = 1.0, dict.fromkeys(BASE, 0)
    for name, power in _factors(text):
        if name in BASE:
            exponents[name] += power
        elif name in DERIVED:
            scale, parts = DERIVED[name]
            factor *= scale**power
            for base, exponent in parts.items():
                exponents[base] += exponent * power
        else:
            return Unit(text, known=False)
    return Unit(text, factor, {base: exponent for base, exponent in exponents.items() if exponent})


def _factors(text: str) -> Iterator[tuple[str, int]]:
    """Yield each factor of a unit and its exponent; divisors have negative ones."""
    for i, group in enumerate(text.split("/")):
        for word in group.split("."):
            match = _FACTOR.match(word.strip())
            if match is None:
                yield word, 1  # no unit that we know
                continue
            yield match[1], int(match[2] or 1) * (1 if i == 0 else -1)
