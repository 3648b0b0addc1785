"""Steps that an FMU discarded, taken in shorter parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kingpost.fmu.instance.instance import Instance, StepDiscardedError

#: Parts of a step shorter than this part of it are not tried, and no more tries than so many are made.
SHORTEST, MOST_TRIES = 1e-9, 10_000


def step_in_parts(
    step: Callable[[float, float], Any], instance: Instance, t: float, h: float, first: StepDiscardedError
) -> None:
    """Take a step from ``t`` by ``h`` that was discarded as ``first`` says, the FMU being in its state at ``t``.

    Each part ends where the FMU says that it succeeded before, or half-way; after a good one the next may be twice as long. An
    FMU that does not stay as it was when it discards a step is brought back to where the part began.
    """
    end, length = t + h, _shorter(first, h)
    refused = first
    for _ in range(MOST_TRIES):
        length = min(length, end - t)
        if length < SHORTEST * h:
            break
        state = None if first.unchanged else instance.save()
        try:
            step(t, length)
        except StepDiscardedError as error:
            refused = error
            if state is not None:
                instance.restore(state)
            length = _shorter(error, length)
            continue
        finally:
            if state is not None:
                instance.forget(state)
        # The last part may miss the end by rounding only.
        if length >= end - t:
            return
        t += length
        length *= 2
    raise StepDiscardedError(
        refused.function, t, length, refused.reached, refused.unchanged, f"; parts down to {length:.3g} s were tried in vain"
    )


def _shorter(error: StepDiscardedError, length: float) -> float:
    """Return how long the next try should be."""
    good = error.reached - error.t
    return good if 0 < good < (1 - 1e-9) * length else length / 2
