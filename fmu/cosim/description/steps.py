"""Steps of components that were written for masters of others."""

from __future__ import annotations

import math

#: A step is a whole number of others if it is so to this relative precision.
WHOLE = 1e-9


def fitting_step(name: str, wanted: float | None, step: float | None) -> tuple[float | None, str]:
    """Return the step of a component that fits the communication step, and a note if it is not the one that is wanted.

    As in libcosim it is the largest whole number of communication steps that is not longer, and at least one; a shorter one is
    left to those who can take several steps between communication points.
    """
    if wanted is None or step is None or wanted <= 0 or step <= 0 or wanted < step * (1 - WHOLE):
        return wanted, ""
    if not math.isfinite(wanted / step):
        return wanted, ""  # as no number of steps fits, it is refused with the others that do not
    count = max(1, int(wanted / step * (1 + WHOLE)))
    note = ""
    if abs(wanted / step - count) > WHOLE * count:
        note = (
            f"component '{name}' steps by {count * step:g} s instead of {wanted:g} s: whole communication steps of {step:g} s"
        )
    return (None if count == 1 else count * step), note
