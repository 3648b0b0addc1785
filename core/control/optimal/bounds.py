"""Bounds on the way: of states, which are limits of variables, and of what is seen, which are rows of a program.

``norm(slew.Mx, slew.My)`` is the length of a vector, such as the tilting moment in a slewing bearing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.transcription import Moments
from kingpost.mechanism.optimal_parts import Limits, channels_of


@dataclass(frozen=True)
class Bounded:
    """What a task keeps within limits on the way, apart from inputs."""

    states: dict[int, Limits]
    seen: dict[str, Limits]

    @property
    def sizes(self) -> list[float]:
        """By what the rows of all that is seen are divided."""
        return [limits.high if is_vector(name) else limits.size or 1.0 for name, limits in self.seen.items()]


@dataclass(frozen=True)
class BoundRow:
    """A row of an interval that is kept within limits; it was divided by the size of these, so that all are near one."""

    value: Any
    words: str
    limits: Limits
    size: float


def bounded(problem: OptimalProblem) -> Bounded:
    """Return what a task keeps within limits on the way."""
    states, seen = {}, {}
    for name, limits in problem.task.bounds.items():
        if name in problem.task.inputs:
            continue
        if name in problem.state_names:
            states[problem.state_names.index(name)] = limits
        else:
            seen[name] = limits
    return Bounded(states, seen)


def bound_rows(limited: Bounded, sizes: Any, moments: Moments) -> list[BoundRow]:
    """Return the rows of an interval: what is seen at its end, and at its start where it jumps with the inputs.

    ``sizes`` are symbols of the numbers in ``limited.sizes``, so that other limits are no other program.
    """
    wanted = tuple(dict.fromkeys(channel for name in limited.seen for channel in channels_of(name)))
    if not wanted:
        return []
    ends, starts = (moments.channels(wanted, at) for at in ("end", "start"))
    jumping = _depends_on_inputs(moments.problem, wanted)
    rows = []
    for k, ((name, limits), size) in enumerate(zip(limited.seen.items(), limited.sizes, strict=True)):
        places = [wanted.index(channel) for channel in channels_of(name)]
        moments_of = [(f"the bounds of '{name}'", ends)]
        if any(jumping[place] for place in places):
            moments_of.append((f"the bounds of '{name}' at the start of the interval", starts))
        within = Limits(high=1.0) if is_vector(name) else Limits(limits.low / size, limits.high / size)
        for words, values in moments_of:
            part = values[places] / sizes[k]
            # Of a vector the square, which is smooth at zero.
            rows.append(BoundRow(ca.dot(part, part) if is_vector(name) else part, words, within, size))
    return rows


def is_vector(name: str) -> bool:
    """Say whether what is bounded is the length of a vector."""
    return channels_of(name) != (name,)


def _depends_on_inputs(problem: OptimalProblem, names: tuple[str, ...]) -> list[bool]:
    """Say of channels whether they depend on inputs, so that they jump between intervals."""
    pattern = problem.observer(names).jac_sparsity(0, 2)
    rows = set(pattern.row())
    return [i in rows for i in range(len(names))]
