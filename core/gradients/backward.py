"""The way back along a run, step by step, in machine code where there is any."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.kernel.kernel import Kernel, Status, Trail
from kingpost.simulation.grid import NUMBER
from kingpost.simulation.run import Simulation

#: States of a run take no more memory than this (bytes); of longer ones some are kept, and those between found once more.
ROOM = 256 * 2**20
#: Samples so far apart that none is met.
NEVER = 2**62
#: Portions of the way back end after about so many s, for whoever wants to interrupt.
PORTION = 0.025


class AdjointKernel(Kernel):
    """The adjoints of a step and of samples, with the loop that goes back."""

    def _source(self) -> str:
        return f"{super()._source()}\n{files('kingpost.gradients').joinpath('backward.c').read_text()}"

    def go(self, job: WayBack) -> Status:
        """Go some steps back."""
        return job.compiled(self._library) if self._library is not None else job.interpreted(self)


@dataclass(frozen=True, eq=False)
class Collected:
    """How a number depends on what a run is made of: the state at the start, the rows of inputs, and parameters."""

    by_start: FloatArray
    by_rows: FloatArray
    by_parameters: FloatArray


class _Job(ctypes.Structure):
    """kp_way_back in backward.c."""

    _fields_ = (
        *((name, ctypes.c_longlong) for name in ("first", "n", "substeps", "u_every")),
        *((name, ctypes.c_double) for name in ("t0", "h")),
        *(("x", ctypes.c_void_p), ("nx", ctypes.c_longlong)),
        *(("u", ctypes.c_void_p), ("u_stride", ctypes.c_longlong), ("nu", ctypes.c_longlong)),
        *(("p", ctypes.c_void_p), ("np", ctypes.c_longlong)),
        *(("weights", ctypes.c_void_p), ("nw", ctypes.c_longlong)),
        *((name, ctypes.c_void_p) for name in ("lam", "by_rows", "by_parameters", "own")),
        ("t_stop", ctypes.c_double),
    )


@dataclass(eq=False)
class WayBack:
    """Some steps of a run, to be gone back."""

    simulation: Simulation
    #: How the number depends on what is looked at in each sample.
    weights: FloatArray
    lam: FloatArray
    by_rows: FloatArray
    by_parameters: FloatArray
    #: The states before the steps, and after the last.
    states: FloatArray
    first: int
    count: int
    t_stop: float = 0.0

    @cached_property
    def every(self) -> int:
        """How many steps a row of inputs holds for."""
        return self.simulation.grid.substeps // self.simulation.rows.per_sample

    def compiled(self, library: ctypes.CDLL) -> Status:
        """Go back in machine code."""
        grid, u, p = self.simulation.grid, self.simulation.rows.values, self.simulation.p
        u, p = np.ascontiguousarray(u, dtype=float), np.ascontiguousarray(p, dtype=float)
        own = np.zeros(self.lam.size + u.shape[1] + p.size + 1)
        job = _Job(
            *(self.first, self.count, grid.substeps, self.every, grid.t_start, grid.step),
            *(self.states.ctypes.data, self.lam.size),
            *(u.ctypes.data, u.shape[1], u.shape[1], p.ctypes.data, p.size),
            *(self.weights.ctypes.data, self.weights.shape[1]),
            *(array.ctypes.data for array in (self.lam, self.by_rows, self.by_parameters, own)),
        )
        status = Status(library.kp_back(ctypes.byref(job)))
        self.t_stop = float(job.t_stop)
        return status

    def interpreted(self, kernel: Kernel) -> Status:
        """Go back in Python."""
        grid = self.simulation.grid
        pull, look = kernel.evaluator("kp_pull"), kernel.evaluator("kp_look")
        try:
            for i in range(self.first + self.count - 1, self.first - 1, -1):
                self.t_stop = grid.t_start + i * grid.step
                if (i + 1) % grid.substeps == 0:
                    self._look(look, i + 1)
                if self.lam.any():
                    row = i // self.every
                    x, u = self.states[i - self.first], self.simulation.rows.values[row]
                    back = pull(self.t_stop, x, u, self.simulation.p, grid.step, self.lam)
                    self._collect(back, row)
                    self.lam[:] = back[: self.lam.size]
                if not np.isfinite(self.lam).all():
                    return Status.NOT_FINITE
            if self.first == 0:
                self._look(look, 0)
        except SolverError:
            return Status.STEP_FAILED
        return Status.OK if np.isfinite(self.lam).all() else Status.OUTPUT_NOT_FINITE

    def _look(self, look: Callable[..., FloatArray], step: int) -> None:
        grid, row = self.simulation.grid, step // self.every
        weights = self.weights[step // grid.substeps]
        if weights.any():
            t, x = grid.t_start + step * grid.step, self.states[step - self.first]
            back = look(t, x, self.simulation.rows.values[row], self.simulation.p, weights)
            self._collect(back, row)
            self.lam += back[: self.lam.size]

    def _collect(self, back: FloatArray, row: int) -> None:
        nx, nu = self.lam.size, self.by_rows.shape[1]
        self.by_rows[row] += back[nx : nx + nu]
        self.by_parameters += back[nx + nu :]


def with_trail(simulation: Simulation, room: int = ROOM) -> Simulation:
    """Return a run that keeps its states: all of them, or, of a long one, some from which the others are found once more."""
    steps, size = simulation.grid.samples * simulation.grid.substeps, simulation.x0.size
    every = 1
    if NUMBER * (steps + 1) * size > room:
        # As many are kept as lie between two of them.
        every = math.isqrt(steps - 1) + 1
    return replace(simulation, trail=Trail(np.empty((steps // every + 1, size)), every))


def gone_back(
    simulation: Simulation,
    kernel: AdjointKernel,
    weights: FloatArray,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Collected:
    """Return how a number depends on what a run is made of that has left its trail.

    ``weights`` has a row for each sample: the derivatives of the number with respect to the channels of ``kernel`` there.
    """
    assert simulation.trail is not None
    grid, rows, trail = simulation.grid, simulation.rows, simulation.trail
    total, size = grid.samples * grid.substeps, simulation.x0.size
    job = WayBack(
        simulation,
        np.ascontiguousarray(weights, dtype=float),
        *(np.zeros(size), np.zeros(rows.values.shape), np.zeros(simulation.p.size)),
        *(trail.states, 0, 0),
    )
    end = total
    for begin in range((total - 1) // trail.every * trail.every, -1, -trail.every) if trail.every > 1 else [0]:
        job.states = trail.states if trail.every == 1 else _found_again(simulation, trail, begin, end)
        _go(kernel, job, begin, end, lambda step: progress(1.0 - step / total))
        end = begin
    return Collected(job.lam, job.by_rows, job.by_parameters)


def adjoint_kernel(simulation: Simulation, functions: Sequence[ca.Function]) -> AdjointKernel:
    """Return the adjoints that the way back of a run needs, from :func:`kingpost.gradients.functions.adjoint_functions`."""
    return AdjointKernel(functions, simulation.problem.how.backend or "auto")


def _go(kernel: AdjointKernel, job: WayBack, begin: int, end: int, progress: Callable[[int], None]) -> None:
    """Go back from one step to another, in portions."""
    states, portion, at = job.states, 64, end
    while at > begin:
        started = time.perf_counter()
        job.count = min(portion, at - begin)
        job.first = at - job.count
        job.states = states[job.first - begin :]
        status = kernel.go(job)
        if status != Status.OK:
            _refuse(job, status)
        at = job.first
        progress(at)
        if time.perf_counter() - started < PORTION:
            portion *= 2


def _found_again(simulation: Simulation, trail: Trail, begin: int, end: int) -> FloatArray:
    """Return the states from one step to another, by going from the one that was kept before them once more."""
    grid, size = simulation.grid, simulation.x0.size
    states = np.empty((end - begin + 1, size))
    x = trail.states[begin // trail.every].copy()
    u, p = (np.ascontiguousarray(array, dtype=float) for array in (simulation.rows.values, simulation.p))
    room = np.empty((1, len(simulation.equations.channels)))
    every = grid.substeps // simulation.rows.per_sample
    loop = simulation.kernel.loop(x, u, p, room, every, Trail(states, 1, begin))
    status = loop.go(grid.t_start, grid.step, end - begin, NEVER, begin)
    if status != Status.OK:
        raise SolverError(f"a step at t = {loop.t_stop:.9g} s that had been taken could not be taken once more ({status.name})")
    return states


def _refuse(job: WayBack, status: Status) -> None:
    problem: Any = job.simulation.problem
    what = {
        Status.NOT_FINITE: "the step has no finite derivative there: a force has a corner or a root at zero",
        Status.OUTPUT_NOT_FINITE: "what is looked at has no finite derivative there",
        Status.STEP_FAILED: "the equations of the step could not be solved once more there",
        Status.NO_MEMORY: "there is no memory",
    }[status]
    raise SolverError(
        f"'{problem.mechanism.name}' with {problem.integrator.name}: the gradient ends at t = {job.t_stop:.9g} s on its way "
        f"back: {what}"
    )
