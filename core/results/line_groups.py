"""Which lines share a panel well: those of like size; and which are not worth one, since they are zero throughout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from kingpost.base.arrays import FloatArray

T = TypeVar("T")

#: Units of angles and their rates, in which vessels move a little and cranes a lot.
ANGLES = ("rad", "rad/s")
#: Beside a line that is this many times as large, another one looks flat.
MUCH_LARGER = 6.0


def by_size(lines: Sequence[T], values_of: Callable[[T], FloatArray]) -> list[list[T]]:
    """Return lines in groups of like size, small ones first, each in the order given."""
    sizes = {i: peak(values_of(line)) for i, line in enumerate(lines)}
    groups: list[list[int]] = []
    largest = 0.0
    for i in sorted(sizes, key=lambda i: sizes[i]):
        # What is zero goes with the smallest.
        if groups and (largest == 0.0 or sizes[i] <= MUCH_LARGER * largest):
            groups[-1].append(i)
        else:
            groups.append([i])
        largest = max(largest, sizes[i])
    return [[lines[i] for i in sorted(group)] for group in groups]


def peak(values: FloatArray) -> float:
    """Return the greatest size of a number in a column; zero if there is none."""
    known = np.abs(values[np.isfinite(values)])
    return float(known.max(initial=0.0))
