"""Seas as they are written: ``jonswap:Hs=2.5,Tp=8,heading=150,seed=3,components=200``.

>>> sea = read_sea("jonswap:Hs=2.5,Tp=8,heading=150,seed=3")
>>> len(sea.components().frequency), round(sea.realised.hs, 9)
(200, 2.5)
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kingpost.base.errors import FileError, MechanismError, closest, listed
from kingpost.base.numbers import finite_in
from kingpost.base.text_files import read_text
from kingpost.marine.given_spectra import Tabulated
from kingpost.marine.sea import USUAL_COMPONENTS, USUAL_HEADING, Realised, Sea, realised, repetition
from kingpost.marine.spectra import (
    Jonswap,
    OchiHubble,
    PiersonMoskowitz,
    Spectrum,
    Torsethaugen,
    rule_gamma,
)
from kingpost.marine.spreading import Spreading

#: The unit of each key; a number may have it behind it.
UNITS = {
    "Hs": "m", "Hs1": "m", "Hs2": "m", "H": "m", "a": "m", "Tp": "s", "Tp1": "s", "Tp2": "s", "Tz": "s", "T": "s",
    "w": "rad/s", "heading": "deg", "phase": "deg", "spread": "deg",
}  # fmt: skip
#: What every irregular sea takes, with what that is.
COMMON = ("heading", "seed", "components", "cos2s", "cosn", "amplitudes")
__all__ = ["Realised", "Sea", "read_sea", "read_spectrum", "realised", "repetition", "sea_of"]
EXAMPLE = "jonswap:Hs=2.5,Tp=8,heading=150,seed=3"
_NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*\Z")


class _Words:
    """The keys and values of a sea, each asked for once; numbers with their units."""

    def __init__(self, kind: str, text: str, values: Mapping[str, str]) -> None:
        self.kind, self.text, self.values = kind, text, values

    def has(self, key: str) -> bool:
        return key in self.values

    def number(self, key: str, default: float | None = None) -> float:
        if key not in self.values:
            if default is None:
                raise MechanismError(f"sea '{self.text}' lacks '{key}'{_in(key)}, e.g. {EXAMPLE}", path=(key,))
            return default
        said = self.values[key]
        match = _NUMBER.match(said)
        value = None if match is None else finite_in(match.group(1))
        if match is None or value is None:
            raise MechanismError(f"sea '{self.text}': {key} = '{said}' is not a finite number{_in(key)}", path=(key,))
        unit = match.group(2)
        if unit and unit != UNITS.get(key):
            right = UNITS.get(key)
            raise MechanismError(
                f"sea '{self.text}': {key} = '{said}': {key} {f'is in {right}' if right else 'has no unit'}, not in '{unit}'",
                path=(key,),
            )
        return value

    def whole(self, key: str, default: int) -> int:
        value = self.number(key, float(default))
        if value != int(value):
            raise MechanismError(f"sea '{self.text}': {key} = {value:g} is not a whole number", path=(key,))
        # A number beyond 2^53 would have lost digits on its way through a float.
        said = self.values.get(key, "").strip()
        return int(said) if said.isdigit() else int(value)

    def choice(self, key: str, *known: str) -> str:
        said = self.values.get(key, known[0]).strip()
        if said not in known:
            raise MechanismError(
                f"sea '{self.text}': {key} is '{said}'{closest(said, known)} Known: {listed(known)}.", path=(key,)
            )
        return said


def _in(key: str) -> str:
    return f" in {UNITS[key]}" if key in UNITS else ""


def _period(words: _Words, ratio: Callable[[], float]) -> float:
    """Return Tp as said, or from Tz by the ratio Tp / Tz of the shape."""
    if words.has("Tz") and words.has("Tp"):
        raise MechanismError(f"sea '{words.text}' has both Tp and Tz; give one of them", path=("Tz",))
    return words.number("Tz") * ratio() if words.has("Tz") else words.number("Tp")


def _jonswap(words: _Words) -> Spectrum:
    hs = words.number("Hs")
    if words.values.get("gamma", "").strip() == "rule":
        if words.has("Tz"):
            raise MechanismError(f"sea '{words.text}': gamma = rule needs Tp, not Tz", path=("gamma",))
        return Jonswap(hs, words.number("Tp"), rule_gamma(hs, words.number("Tp")))
    gamma = words.number("gamma", 3.3)
    return Jonswap(hs, _period(words, lambda: _tp_over_tz(Jonswap(1.0, 10.0, gamma))), gamma)


def _pierson_moskowitz(words: _Words) -> Spectrum:
    return PiersonMoskowitz(words.number("Hs"), _period(words, lambda: _tp_over_tz(PiersonMoskowitz(1.0, 10.0))))


def _tp_over_tz(spectrum: Spectrum) -> float:
    return 2 * math.pi / spectrum.peak / spectrum.tz


def _torsethaugen(words: _Words) -> Spectrum:
    return Torsethaugen(words.number("Hs"), words.number("Tp"))


def _ochi_hubble(words: _Words) -> Spectrum:
    own = ("Hs1", "Tp1", "lambda1", "Hs2", "Tp2", "lambda2")
    given = [key for key in own if words.has(key)]
    if not given:
        return OchiHubble.most_probable(words.number("Hs"))
    if words.has("Hs"):
        raise MechanismError(
            f"sea '{words.text}' has Hs, for the most probable spectrum, and {given[0]} of one of its parts; give Hs alone, "
            f"or {listed(own)}",
            path=("Hs",),
        )
    h1, t1, l1, h2, t2, l2 = (words.number(key) for key in own)
    return OchiHubble(((h1, t1, l1), (h2, t2, l2)))


def _tabulated(words: _Words) -> Spectrum:
    if not words.has("file"):
        raise MechanismError(f"sea '{words.text}' lacks 'file', e.g. tabulated:file=spectrum.csv,heading=150", path=("file",))
    unit = words.choice("unit", "rad/s", "Hz") if words.has("unit") else None
    table = read_spectrum(Path(words.values["file"].strip()), unit)
    return Tabulated(table.frequencies, table.densities, words.number("Hs") if words.has("Hs") else None)


def read_spectrum(path: Path, unit: str | None = None) -> Tabulated:
    """Return the spectrum in a CSV file of two columns: frequencies, and densities per unit of these.

    Frequencies are in rad/s and densities in m^2 s/rad, unless ``unit``, or a heading of the file, says Hz: then in m^2/Hz.
    """
    lines = [line.strip() for line in read_text(path).splitlines()]
    rows: list[tuple[float, float]] = []
    heading = ""
    for number, line in enumerate(lines, start=1):
        if not line or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in re.split(r"[,;\t]|\s+", line) if cell.strip()]
        values = [finite_in(cell) for cell in cells]
        if None in values and not rows and not heading:
            heading = line
            continue
        if len(cells) != 2 or values[0] is None or values[1] is None:
            raise FileError(f"{path}:{number}: expected a frequency and a density, got '{line}'")
        rows.append((values[0], values[1]))
    hertz = unit == "Hz" or (unit is None and re.search(r"\bhz\b", heading.lower()) is not None)
    turn = 2 * math.pi if hertz else 1.0
    try:
        return Tabulated(tuple(w * turn for w, _ in rows), tuple(S / turn for _, S in rows))
    except MechanismError as error:
        raise FileError(f"{path}: {error}") from None


@dataclass(frozen=True)
class _Kind:
    """A kind of sea: the keys that are its own, and how a spectrum comes of them."""

    keys: tuple[str, ...]
    spectrum: Callable[[_Words], Spectrum]


KINDS: dict[str, _Kind] = {
    "jonswap": _Kind(("Hs", "Tp", "Tz", "gamma"), _jonswap),
    "pierson-moskowitz": _Kind(("Hs", "Tp", "Tz"), _pierson_moskowitz),
    "torsethaugen": _Kind(("Hs", "Tp"), _torsethaugen),
    "ochi-hubble": _Kind(("Hs", "Hs1", "Tp1", "lambda1", "Hs2", "Tp2", "lambda2"), _ochi_hubble),
    "tabulated": _Kind(("file", "unit", "Hs"), _tabulated),
}
REGULAR_KEYS = ("H", "a", "T", "w", "phase", "heading")


def read_sea(text: str) -> Sea:
    """Return the sea that a text describes: a kind of spectrum, and keys with values.

    ``jonswap:Hs=2.5,Tp=8,gamma=3.3``, ``pierson-moskowitz:Hs=2,Tz=7``, ``torsethaugen:Hs=4,Tp=12``, ``ochi-hubble:Hs=3``,
    ``tabulated:file=spectrum.csv``; each with ``heading`` (degrees, where waves go to; 180, a head sea, by default), ``seed``
    (0), ``components`` (200), ``cos2s`` or ``cosn`` (spreading by this power), ``amplitudes=rayleigh``. A regular wave is
    ``regular:H=2,T=8,heading=90``: height (or ``a``, the amplitude) in m, period in s (or ``w`` in rad/s), ``phase`` in deg.
    """
    if not isinstance(text, str):
        raise MechanismError(f"a sea is written as a text such as '{EXAMPLE}', not as {text!r}")
    kind, _, rest = (part.strip() for part in text.partition(":"))
    kinds = (*KINDS, "regular")
    if kind not in kinds:
        raise MechanismError(f"sea '{text}': there is no spectrum '{kind}'{closest(kind, kinds)} Known: {listed(kinds)}.")
    keys = REGULAR_KEYS if kind == "regular" else (*KINDS[kind].keys, *COMMON)
    words = _Words(kind, text, _values(text, rest, keys))
    try:
        return _regular(words) if kind == "regular" else _irregular(words)
    except MechanismError as error:
        if str(error).startswith("sea '"):
            raise
        raise MechanismError(f"sea '{text}': {error}", path=error.path) from None


def _values(text: str, rest: str, keys: tuple[str, ...]) -> dict[str, str]:
    known = {key.lower(): key for key in keys}
    values: dict[str, str] = {}
    for item in filter(str.strip, rest.split(",")):
        said, equals, value = (part.strip() for part in item.partition("="))
        key = known.get(said.lower())
        if key is None:
            raise MechanismError(f"sea '{text}' has no '{said}'{closest(said, keys)} It takes: {listed(keys)}.", path=(said,))
        if not equals or not value:
            raise MechanismError(f"sea '{text}': write {key}=VALUE, e.g. {EXAMPLE}", path=(key,))
        if key in values:
            raise MechanismError(f"sea '{text}' has '{key}' twice", path=(key,))
        values[key] = value
    return values


def _irregular(words: _Words) -> Sea:
    laws = [law for law in ("cos2s", "cosn") if words.has(law)]
    if len(laws) > 1:
        raise MechanismError(f"sea '{words.text}' is spread by cos2s and by cosn; give one of them", path=("cosn",))
    return Sea(
        KINDS[words.kind].spectrum(words),
        heading=words.number("heading", USUAL_HEADING),
        seed=words.whole("seed", 0),
        number=words.whole("components", USUAL_COMPONENTS),
        spreading=Spreading(laws[0], words.number(laws[0])) if laws else None,
        rayleigh=words.choice("amplitudes", "fixed", "rayleigh") == "rayleigh",
        text=words.text,
    )


def _regular(words: _Words) -> Sea:
    for one, other in (("H", "a"), ("T", "w")):
        if words.has(one) == words.has(other):
            what = "has both" if words.has(one) else "lacks"
            raise MechanismError(
                f"sea '{words.text}' {what} {one} {'and' if words.has(one) else 'or'} {other}; give one of them"
            )
    amplitude = words.number("a") if words.has("a") else words.number("H") / 2
    frequency = words.number("w") if words.has("w") else _frequency(words)
    if amplitude < 0 or not frequency > 0:
        raise MechanismError(
            f"sea '{words.text}': amplitude {amplitude:g} m and frequency {frequency:g} rad/s; neither can be negative, "
            "and the frequency not zero"
        )
    regular = (amplitude, frequency, math.radians(words.number("phase", 0.0)))
    return Sea(None, heading=words.number("heading", USUAL_HEADING), number=1, regular=regular, text=words.text)


def _frequency(words: _Words) -> float:
    period = words.number("T")
    if not period > 0:
        raise MechanismError(f"sea '{words.text}': T is {period:g} s; it must be positive", path=("T",))
    return 2 * math.pi / period


def sea_of(given: Any) -> Sea:
    """Return a sea that is given as such, or as a text."""
    return given if isinstance(given, Sea) else read_sea(given)
