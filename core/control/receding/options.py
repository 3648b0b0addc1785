"""What a receding-horizon controller can be told."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from kingpost.base.errors import MechanismError
from kingpost.base.fields import Table


@dataclass(frozen=True)
class RecedingOptions:
    """How a receding-horizon controller plans.

    ``sample_time``: time between two samples, and the length of an interval of the plan, in s. ``horizon``: how far a plan
    reaches in s; that of the task where nobody says. ``step``: of the integrator inside of an interval; by default one a
    sample. ``arrival``: time at which the target is to be reached, in s; by default at the end of the task. Before it the costs
    of the task count alone, from then on also the distance from the target. ``target_weight``: what a second at a distance of
    one size from the target costs, compared with inputs of full size for the whole horizon, and ``terminal_weight`` the same
    for the end of the plan; ``sizes``: those of targets by name. ``bound_weight``: the same for bounds of anything but inputs,
    which are soft. ``disturbance_gain``: part of what is seen of a disturbance at a sample that is believed, 0 for none.
    ``iterations``: of the solver of quadratic programs, at most.
    """

    sample_time: float = 0.05
    horizon: float | None = None
    step: float | None = None
    arrival: float | None = None
    target_weight: float = 100.0
    terminal_weight: float = 1000.0
    bound_weight: float = 1e4
    disturbance_gain: float = 0.2
    iterations: int = 40
    sizes: Table = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("sample_time", "horizon", "step", "target_weight", "terminal_weight", "bound_weight"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise MechanismError(f"{name} = {value:g}: it must be positive and finite", path=(name,))
        if not 0 <= self.disturbance_gain <= 1:
            raise MechanismError(
                f"disturbance_gain = {self.disturbance_gain:g}: it must be from 0 (disturbances are not looked for) to 1",
                path=("disturbance_gain",),
            )
        if self.arrival is not None and not math.isfinite(self.arrival):
            raise MechanismError(f"arrival = {self.arrival:g} s: it must be finite", path=("arrival",))
        if self.iterations < 5:
            raise MechanismError(f"iterations = {self.iterations}: give at least 5", path=("iterations",))
        for name, value in self.sizes.items():
            if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
                raise MechanismError(f"sizes: '{name}' has the size {value!r}; it must be positive", path=("sizes", name))


def whole(length: float, part: float, what: str, of: str) -> int:
    """Return how many times ``part`` fits into ``length``, or say that it does not."""
    count = round(length / part)
    if count < 1 or abs(count * part - length) > 1e-9 * length:
        raise MechanismError(
            f"{what} is {length:g} s, which is not a multiple of {of}, {part:g} s: {length / part:g} times; "
            f"take {max(count, 1) * part:g} s"
        )
    return count
