"""What the first column of WAMIT's files is: asked for, written in NAME.cfg, or told by the numbers; never guessed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import FileError, closest, listed

#: By WAMIT's number IPEROUT, and the wave length, which HAMS has.
COLUMNS = {"period": 1, "frequency": 2, "deep-wavenumber": 3, "wavenumber": 4, "wavelength": 5}
#: How much nearer one end of the table must be to what long waves do than the other.
CLEARLY = 3.0


def column_meaning(path: Path, given: str | None, evidence: Mapping[str, Any], notes: list[str]) -> str:
    """Return what the column is, with a note where it was not asked for; refuse what could be several things."""
    if given is not None:
        if given not in COLUMNS:
            raise FileError(f"'column' cannot be '{given}'{closest(given, COLUMNS)} It is one of {listed(COLUMNS)}.")
        _refuse_contrary(path, given, _long_end(evidence))
        return given
    configured = _configured(path.with_suffix(".cfg"))
    if configured:
        notes.append(f"the first column is the {configured}, as IPEROUT in the .cfg file says")
        return configured
    end = _long_end(evidence)
    if end == "largest":
        notes.append("the first column is taken as the period in s: its largest value has the longest waves")
        return "period"
    why = "its smallest value has the longest waves" if end else "the numbers do not tell long waves from short ones"
    what = "a frequency or a wave number" if end else "a period, a frequency or a wave number"
    raise FileError(f"'{path}': the first column may be {what} ({why}); say which by 'column': {listed(COLUMNS)}")


def frequencies_of(column: str, values: FloatArray, ulen: float, gravity: float, depth: float) -> FloatArray:
    """Return circular frequencies in rad/s from a column of positive numbers."""
    if column == "period":
        return 2 * math.pi / values
    if column == "frequency":
        return values
    if column == "deep-wavenumber":
        return np.sqrt(gravity * values / ulen)
    k = values / ulen if column == "wavenumber" else 2 * math.pi / values
    tanh = np.tanh(np.minimum(k * depth, 50.0)) if math.isfinite(depth) else 1.0
    return np.sqrt(gravity * k * tanh)


def _configured(path: Path) -> str | None:
    if not path.is_file():
        return None
    found = re.findall(r"^\s*IPEROUT\s*=\s*(\d+)", path.read_text(encoding="latin-1"), flags=re.IGNORECASE | re.MULTILINE)
    names = {number: name for name, number in COLUMNS.items() if name != "wavelength"}
    return names.get(int(found[-1])) if found else None


def _long_end(evidence: Mapping[str, Any]) -> str | None:
    """Return at which end of the column waves are long: there heave force is stiffness, and added mass near its low limit."""
    if evidence["heave"] is not None:
        column, share = evidence["heave"]
        ends = [np.nanmean(np.abs(share[column == pick(column)])) for pick in (np.min, np.max)] if len(share) else []
        if len(ends) == 2 and np.isfinite(ends).all() and column.min() < column.max():
            return _nearer(abs(ends[0] - 1), abs(ends[1] - 1))
    column, added = evidence["added"]
    limits = evidence["limits"]
    if limits is None or len(column) < 2:
        return None
    low, high = added[column.argmin()], added[column.argmax()]
    # In the file of a period both limits have codes below all others, so only the one for w = 0 is of use: the first.
    return _nearer(abs(low - limits[0]), abs(high - limits[0]))


def _nearer(smallest: float, largest: float) -> str | None:
    if largest * CLEARLY < smallest:
        return "largest"
    return "smallest" if smallest * CLEARLY < largest else None


def _refuse_contrary(path: Path, given: str, end: str | None) -> None:
    expected = "largest" if given in ("period", "wavelength") else "smallest"
    if end is not None and end != expected:
        raise FileError(
            f"'{path}': the first column cannot be the {given}, for its {end} value has the longest waves; other choices of "
            f"'column': {listed(name for name in COLUMNS if name != given)}"
        )
