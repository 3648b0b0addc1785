"""Numbers drawn by seed and place in line: the n-th is the same however many are drawn, everywhere and in every version."""

from __future__ import annotations

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError

#: What numbers are drawn for; each use has a line of its own, so that asking for one does not change another.
PHASES, HEIGHTS, DIRECTIONS = 1, 2, 3


def draws(seed: int, use: int, count: int) -> FloatArray:
    """Return ``count`` numbers between 0 and 1, neither of them included."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise MechanismError(f"seed is {seed!r}; it must be a whole number from 0 to 2^63 - 1", path=("seed",))
    # The raw bits of a counter-based generator are the same in all versions of NumPy; its distributions need not be.
    raw = np.random.Philox(key=[int(seed), use]).random_raw(count)
    found: FloatArray = ((raw >> np.uint64(11)).astype(float) + 0.5) / 2.0**53
    return found
