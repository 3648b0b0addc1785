"""Which channels and which samples of a history are meant."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, closest, listed

#: A message names no more channels than this.
MOST_NAMED = 20


def belonging(names: Sequence[str], owner: str) -> list[str]:
    """Return the channels of a joint, body or output."""
    owners = {name.partition(".")[0]: None for name in names}
    if owner not in owners:
        known = sorted(owners)
        raise KingpostError(
            f"no channel belongs to '{owner}'{closest(owner, known)} There are: {listed(known, most=MOST_NAMED)}."
        )
    return [name for name in names if name.partition(".")[0] == owner]


def matching(names: Sequence[str], patterns: Sequence[str], owner: str | None = None) -> list[str]:
    """Return the channels (of ``owner``) that any pattern fits, ``*`` standing for any text; each pattern must fit some."""
    of = "" if owner is None else f" of '{owner}'"
    chosen: set[str] = set()
    for pattern in patterns:
        fitting = [name for name in names if fnmatchcase(name, pattern)]
        if not fitting:
            raise KingpostError(
                f"no channel{of} is called '{pattern}'{closest(pattern, names)} Channels: {listed(names, most=MOST_NAMED)}."
            )
        chosen.update(fitting)
    return [name for name in names if name in chosen]


def window(time: FloatArray, start: float | None, end: float | None) -> NDArray[np.bool_]:
    """Return which samples lie between two times, both included."""
    first = -np.inf if start is None else start
    last = np.inf if end is None else end
    rows = (time >= first) & (time <= last)
    if not rows.any() and (start is not None or end is not None):
        span = f"from {time[0]:g} s to {time[-1]:g} s" if len(time) else "and has no samples"
        raise KingpostError(f"there is no sample between {first:g} s and {last:g} s; the history goes {span}")
    return np.asarray(rows)
