"""Steps that are too long for the fastest small motions of a machine."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.kernel.kernel import Evaluator
from kingpost.simulation.problem import Problem
from kingpost.statics.linearize import longest_stable_step

#: Above this many degrees of freedom the stability of the step is not estimated.
MANY = 50
#: States along a run at which it is.
STABILITY_LOOKS = 11


def step_warnings(
    problem: Problem,
    step: Callable[[], Evaluator],
    h: float,
    times: FloatArray,
    states: FloatArray,
    inputs: FloatArray,
    refused: Callable[[], object],
) -> list[str]:
    """Return a warning if the step is too long for the fastest small motions anywhere along a run.

    ``refused`` is called where a force in Python knows nothing of a state.
    """
    size = problem.equations.nx
    if not problem.stepper.fixed or not 0 < size <= 2 * MANY or len(times) < 2:
        return []
    if problem.equations.constraints.count or problem.stepper.remembered:
        return []  # a step map with constraints or a memory is not a map of small motions alone
    advance, rate = step(), Evaluator(problem.equations.rhs)
    # Evenly over the run, and closely before its end: a step that is too long may have ended it.
    last = len(times) - 1
    looks = sorted(
        {*np.linspace(0, last, STABILITY_LOOKS).astype(int).tolist(), *(last - back for back in (1, 2, 5, 10, 20, 50))}
    )
    # What comes out of an explosion says nothing about the motion before it.
    usual = 10 * (1 + np.abs(states[: len(states) // 2 + 1]).max(axis=0))
    limits: dict[float, float] = {}
    for k in (look for look in looks if look >= 0):
        if (np.abs(states[k]) > usual).any():
            continue
        t, u = float(times[k]), inputs[k]
        try:
            limit = longest_stable_step(
                partial(_step_at, advance, t, u, problem.p), partial(_rate_at, rate, t, u, problem.p), states[k], h
            )
        except SolverError:  # a force in Python may know nothing beyond the run
            refused()
            continue
        if limit is not None:
            limits[t] = limit
    if not limits:
        return []
    shortest = min(limits.values())
    return [
        f"a step of {h:g} s is too long for {problem.integrator.name}: from t = {min(limits):g} s on errors outgrow the "
        f"motion, whose fastest parts need {shortest:.2g} s or less. Use a step of {_round_down(shortest):g} s"
    ]


def _step_at(step: Evaluator, t: float, u: FloatArray, p: FloatArray, x: FloatArray, h: float) -> FloatArray:
    return step(t, x, u, p, h)


def _rate_at(rate: Evaluator, t: float, u: FloatArray, p: FloatArray, x: FloatArray) -> FloatArray:
    return rate(t, x, u, p)


def _round_down(step: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten that is not above ``step``."""
    power = 10.0 ** math.floor(math.log10(step))
    return max(factor * power for factor in (1.0, 2.0, 5.0) if factor * power <= step * (1 + 1e-9))
