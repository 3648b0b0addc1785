"""The way of a few tangents along a run: what changes with one or two names, carried from step to step with the state."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.gradients.functions import chosen, quick_rates
from kingpost.gradients.targets import Directions
from kingpost.kernel.kernel import Evaluator, Kernel, Status
from kingpost.simulation.run import Simulation
from kingpost.simulation.stepper import Stepper

#: More names than this are never cheaper this way.
FEW = 2
#: Evaluations by which two ways are compared, after one that warms up.
TRIES = 5


def tangent_functions(stepper: Stepper, channels: Sequence[int], along: Directions) -> list[ca.Function]:
    """Return a step and some channels with their derivatives along directions: of [x; dx] -> [x; dx] and [y; dy]."""
    quick = Stepper(quick_rates(stepper.equations), stepper.integrator)
    return [
        _with_tangents("kp_step", quick.step, along),
        _with_tangents("kp_observe", chosen(stepper.observe, channels), along),
    ]


def _with_tangents(name: str, function: ca.Function, along: Directions) -> ca.Function:
    count, many = function.n_in(), len(along)
    symbols = [ca.MX.sym(word, function.numel_in(k)) for k, word in enumerate("txuph"[:count])]
    size = function.numel_in(1)
    whole = ca.MX.sym("whole", size * (1 + many))
    t, _, u, p, *h = symbols
    x, dx = whole[:size], ca.reshape(whole[size:], size, many)
    arguments = [t, x, u, p, *h]
    seeds = [ca.MX.zeros(1, many), dx, ca.MX(ca.DM(along.inputs)), ca.MX(ca.DM(along.parameters)), ca.MX.zeros(1, many)][:count]
    value = function(*arguments)
    slopes = function.forward(many).call([*arguments, value, *seeds])[0]
    return ca.Function(name, [t, whole, u, p, *h], [ca.densify(ca.vertcat(value, ca.vec(slopes)))])


def cheaper_forward(simulation: Simulation, tangents: Sequence[ca.Function], back: Sequence[ca.Function], many: int) -> bool:
    """Say whether a step with its tangents takes less time than a step back, both as CasADi evaluates them, measured here."""
    x, u, p = simulation.x0, simulation.rows.values[0], simulation.p
    t, h = simulation.grid.t_start, simulation.grid.step
    forward = _seconds(Evaluator(tangents[0]), (t, np.concatenate([x, np.zeros(x.size * many)]), u, p, h))
    return forward < _seconds(Evaluator(back[0]), (t, x, u, p, h, np.ones(x.size)))


def _seconds(function: Evaluator, arguments: Sequence[object]) -> float:
    """Return the shortest time of some evaluations in s; infinite where there is no value."""
    best = float("inf")
    try:
        for _ in range(TRIES + 1):
            begin = time.perf_counter()
            function(*arguments)
            best = min(best, time.perf_counter() - begin)
    except SolverError:
        return float("inf")
    return best


def gone_along(
    simulation: Simulation,
    kernel: Kernel,
    start: FloatArray,
    weights: FloatArray,
    progress: Callable[[float], None] = lambda fraction: None,
) -> FloatArray:
    """Return the derivatives along directions of a number whose slopes by the samples of channels are ``weights``.

    ``start`` holds the derivatives of the state at the start, one direction in each column.
    """
    grid, rows, p = simulation.grid, simulation.rows, simulation.p
    begin = np.concatenate([simulation.x0, start.ravel(order="F")])
    channels, many = weights.shape[1], start.shape[1]
    y = np.empty((grid.samples + 1, channels * (1 + many)))
    y[:1] = kernel.sample(grid.times[:1], begin[None, :], rows.values[:1], p)
    total = grid.samples * grid.substeps
    stop = kernel.march(
        *(y[1:], grid.substeps, grid.t_start, grid.step, begin, rows.values, p),
        progress=lambda steps: progress(steps / total),
        every=grid.substeps // rows.per_sample,
    )
    if stop.status != Status.OK:
        raise SolverError(
            f"'{simulation.mechanism.name}': tangents of the run end at t = {stop.t:.9g} s ({stop.status.name}): a force has a "
            "corner or a root at zero there"
        )
    slopes = y[:, channels:].reshape(len(y), many, channels)
    return np.asarray(np.einsum("sc,skc->k", weights, slopes))
