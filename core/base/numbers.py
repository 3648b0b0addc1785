"""Numbers from files and command lines: finite ones, or none."""

from __future__ import annotations

import math
from typing import Any


def finite(value: Any) -> float | None:
    """Return a number as a float; None for what is no number, is not finite, or is beyond the range of floats."""
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def finite_in(text: str) -> float | None:
    """Return the finite number that a text spells; None if it spells none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def shown(value: Any, most: int = 60) -> str:
    """Return a value as a message shows it: not longer than helps."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole numbers of more than some thousand digits
        return f"a whole number of about {value.bit_length() * math.log10(2):.0f} digits"
    return text if len(text) <= most else f"{text[: most - 20]}... ({len(text)} characters)"
