"""What a run says of steps that were not solved by the fast equations of their method, but by all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kingpost.kernel.kernel import Stop

if TYPE_CHECKING:
    from kingpost.simulation.stepper import Stepper

#: The name of their number in the record of a run; where it is not there, there are no two ways to solve a step.
COUNT = "steps_solved_otherwise"
#: From this part of all steps on, and from so many, they make a run slow.
MANY, LEAST = 0.1, 20


def counted(stepper: Stepper, stop: Stop) -> dict[str, int]:
    """Return what is recorded of the steps up to a stop; of halved steps every part counts."""
    return {COUNT: stop.told} if stepper.telling_step.n_out() > 1 else {}


def slow_warnings(statistics: Mapping[str, Any], h: float) -> list[str]:
    """Return a warning if so many steps were solved otherwise that a run takes much longer than it might."""
    count, steps = statistics.get(COUNT, 0), statistics.get("steps", 0)
    if count < max(MANY * steps, LEAST):
        return []
    return [
        f"{count} of {steps} steps were not found for the motions of bodies, and were solved for all coordinates and "
        "multipliers instead: the numbers are as good, but each of them takes ten to a hundred times as long. That is so where "
        f"a body turns by about half a turn in a step, or more; a step shorter than {h:g} s may be the faster one"
    ]
