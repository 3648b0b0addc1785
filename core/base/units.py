"""Units as text, such as ``N.m/rad3``, and what they are in base units: the one table for files, FMUs, SSP and results."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from kingpost.base.errors import MechanismError, listed

#: The base units of FMI and SSP.
BASE = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")

#: Units that take the prefixes below: factor, then exponents of base units. A gram is here, since the kilogram has a prefix.
PREFIXABLE: dict[str, tuple[float, dict[str, int]]] = {
    "g": (1e-3, {"kg": 1}),
    "m": (1.0, {"m": 1}),
    "s": (1.0, {"s": 1}),
    "A": (1.0, {"A": 1}),
    "K": (1.0, {"K": 1}),
    "mol": (1.0, {"mol": 1}),
    "cd": (1.0, {"cd": 1}),
    "rad": (1.0, {"rad": 1}),
    "N": (1.0, {"kg": 1, "m": 1, "s": -2}),
    "Pa": (1.0, {"kg": 1, "m": -1, "s": -2}),
    "J": (1.0, {"kg": 1, "m": 2, "s": -2}),
    "W": (1.0, {"kg": 1, "m": 2, "s": -3}),
    "Hz": (1.0, {"s": -1}),
    "C": (1.0, {"A": 1, "s": 1}),
    "V": (1.0, {"kg": 1, "m": 2, "s": -3, "A": -1}),
    "Ohm": (1.0, {"kg": 1, "m": 2, "s": -3, "A": -2}),
    "F": (1.0, {"kg": -1, "m": -2, "s": 4, "A": 2}),
    "H": (1.0, {"kg": 1, "m": 2, "s": -2, "A": -2}),
    "Wb": (1.0, {"kg": 1, "m": 2, "s": -2, "A": -1}),
    "T": (1.0, {"kg": 1, "s": -2, "A": -1}),
    "bar": (1e5, {"kg": 1, "m": -1, "s": -2}),
    "L": (1e-3, {"m": 3}),
    "l": (1e-3, {"m": 3}),
}
PREFIXES = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "c": 1e-2, "d": 1e-1, "h": 1e2, "k": 1e3, "M": 1e6, "G": 1e9}
#: Units that stand as they are. They come before a prefix and a unit that would read the same, such as cd and min.
PLAIN: dict[str, tuple[float, dict[str, int]]] = {
    "1": (1.0, {}),
    "%": (0.01, {}),
    "t": (1e3, {"kg": 1}),
    "min": (60.0, {"s": 1}),
    "h": (3600.0, {"s": 1}),
    "d": (86400.0, {"s": 1}),
    "deg": (math.pi / 180, {"rad": 1}),
    "rev": (2 * math.pi, {"rad": 1}),
    "rpm": (2 * math.pi / 60, {"rad": 1, "s": -1}),
    "degC": (1.0, {"K": 1}),
    "nmi": (1852.0, {"m": 1}),
    "kn": (1852 / 3600, {"m": 1, "s": -1}),
}
#: What must be added after the factor, where zero is not zero of the base unit.
OFFSETS = {"degC": 273.15}
#: Words that people write for units, for a hint.
WORDS = {
    "ton": "t", "tons": "t", "tonne": "t", "tonnes": "t", "kilogram": "kg", "kilograms": "kg", "kgs": "kg", "gram": "g",
    "meter": "m", "meters": "m", "metre": "m", "metres": "m", "sec": "s", "secs": "s", "second": "s", "seconds": "s",
    "minute": "min", "minutes": "min", "hour": "h", "hours": "h", "hr": "h", "day": "d", "days": "d",
    "degree": "deg", "degrees": "deg", "°": "deg", "radian": "rad", "radians": "rad", "revolution": "rev", "turn": "rev",
    "newton": "N", "newtons": "N", "kilonewton": "kN", "Nm": "N.m", "kNm": "kN.m", "joule": "J", "watt": "W", "pascal": "Pa",
    "hertz": "Hz", "volt": "V", "ampere": "A", "amp": "A", "kelvin": "K", "celsius": "degC", "°C": "degC", "ohm": "Ohm",
    "liter": "L", "litre": "L", "knot": "kn", "knots": "kn", "kts": "kn", "none": "1", "percent": "%", "kmh": "km/h",
}  # fmt: skip
#: Other ways to write a product or a power.
_SPELLINGS = str.maketrans({" ": ".", "·": ".", "*": ".", "^": None, "²": "2", "³": "3", "_": "/"})
_FACTOR = re.compile(r"([A-Za-z%]+|1)(-?\d{1,2})?\Z")
#: Hints in a message.
MOST_HINTS = 3


@dataclass(frozen=True)
class Unit:
    """A unit and what it is in base units: value in base units = factor times value, plus offset."""

    name: str
    factor: float = 1.0
    exponents: Mapping[str, int] = field(default_factory=dict)
    #: Whether all its parts were known, so that factor and exponents mean something.
    known: bool = True
    offset: float = 0.0

    @property
    def coherent(self) -> bool:
        """Whether numbers in it are numbers in base units, so that formulas can take them as they are."""
        return self.known and self.factor == 1.0 and self.offset == 0.0

    def to(self, other: Unit) -> tuple[float, float] | None:
        """Return factor and offset by which numbers in this unit become numbers in the other, or None if they cannot."""
        if not (self.known and other.known):
            return (1.0, 0.0) if self.name == other.name else None
        if dict(self.exponents) != dict(other.exponents):
            return None
        factor, offset = self.factor / other.factor, (self.offset - other.offset) / other.factor
        # deg by way of rad and back is one, and not a bit beside it.
        return (1.0 if abs(factor - 1) < 1e-12 else factor), offset


@lru_cache(maxsize=1024)
def parse_unit(text: str) -> Unit:
    """Return a unit: factors joined by dots, exponents after them, divisors after slashes, several of them in parentheses.

    It may stand in square brackets, and a single dash is a pure number.
    """
    factor, exponents = 1.0, dict.fromkeys(BASE, 0)
    try:
        bare = text[1:-1] if text[:1] + text[-1:] == "[]" else text
        for name, power in _factors("1" if bare == "-" else bare):
            scale, parts = _symbol(name)
            factor *= scale**power
            for base, exponent in parts.items():
                exponents[base] += exponent * power
    except (ValueError, OverflowError):
        return Unit(text, known=False)
    return Unit(
        text, factor, {base: exponent for base, exponent in exponents.items() if exponent}, offset=OFFSETS.get(text, 0.0)
    )


def check_unit(what: str, text: object) -> None:
    """Refuse a unit that is not known; ``what`` is the subject of the sentence."""
    if not isinstance(text, str) or not text:
        raise MechanismError(f"{what} lacks a unit; write '1' for a pure number", path=("unit",))
    if not parse_unit(text).known:
        raise MechanismError(f"{what} is in {text!r}, which is no unit that is known here; {unit_hint(text)}", path=("unit",))


def unit_hint(text: str) -> str:
    """Return the end of a sentence about a unit that is not known: those that may be meant, and how units are written."""
    meant = WORDS.get(text) or WORDS.get(text.strip().lower()) or _respelled(text)
    if meant:
        hints = [meant]
    else:
        known = [*BASE, *PREFIXABLE, *PLAIN, "mm", "km", "kN", "kPa", "MPa", "kJ", "kW"]
        word = re.split(r"[./ ]", text)[0]
        near = (name for name in difflib.get_close_matches(word.lower(), [name.lower() for name in known], n=9, cutoff=0.5))
        hints = list(dict.fromkeys(name for match in near for name in known if name.lower() == match))[:MOST_HINTS]
    said = f"did you mean {' or '.join(repr(hint) for hint in hints)}? " if hints else ""
    return f"{said}Units are written like 'kg', 'N.m', 'm/s2', 'N.m.s/rad', '1'; known are {listed([*BASE, *_DERIVED])}"


#: Units other than base units, once each, for a message.
_DERIVED = [name for name in (*PREFIXABLE, *PLAIN) if name not in BASE and name not in ("1", "l")]


def _respelled(text: str) -> str:
    """Return a text that means a unit when its products and powers are written as ours are, or nothing."""
    other = text.strip().translate(_SPELLINGS)
    parts = re.split(r"([./])", other)
    other = "".join(WORDS.get(part, WORDS.get(part.lower(), part)) for part in parts)
    return other if other != text and parse_unit(other).known else ""


def _symbol(name: str) -> tuple[float, Mapping[str, int]]:
    """Return factor and exponents of a single unit, with a prefix or without; a ValueError if there is none."""
    if name in PLAIN:
        return PLAIN[name]
    if name in PREFIXABLE:
        return PREFIXABLE[name]
    if name[:1] in PREFIXES and name[1:] in PREFIXABLE:
        scale, parts = PREFIXABLE[name[1:]]
        # A kilogram is the base unit itself, exactly.
        return (1.0 if name == "kg" else PREFIXES[name[0]] * scale), parts
    raise ValueError(name)


def _factors(text: str) -> Iterator[tuple[str, int]]:
    """Yield each factor of a unit and its exponent; divisors have negative ones. A ValueError tells of what is none."""
    numerator, slash, bracketed = text.partition("/(")
    if slash:
        if not bracketed.endswith(")") or "/" in bracketed:
            raise ValueError(text)
        groups = [*numerator.split("/"), *bracketed[:-1].split(".")]
    else:
        groups = text.split("/")
    for i, group in enumerate(groups):
        for word in group.split("."):
            match = _FACTOR.match(word)
            if match is None:
                raise ValueError(word)
            yield match[1], int(match[2] or 1) * (1 if i == 0 else -1)
