"""The time loop: in machine code or in Python, on arrays that it changes in place; and how a march ended."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError

if TYPE_CHECKING:
    from kingpost.kernel.kernel import Evaluator


class Status(IntEnum):
    """How a march ended, as in march.c."""

    OK = 0
    STEP_FAILED = 1
    NOT_FINITE = 2
    NO_MEMORY = 3
    OUTPUT_NOT_FINITE = 4
    SINGULAR = 5


#: By their numbers, which is quicker than to ask the enumeration.
STATUSES = tuple(Status)


class Stop(NamedTuple):
    """How a march ended: status, finished steps, the time of a failure if there was one, and the last good state."""

    status: Status
    steps: int
    t: float
    x: FloatArray
    #: The sum of what the steps told beside their states.
    told: int = 0


class Trail(NamedTuple):
    """Where a march leaves states on its way: row k of ``states`` is that after ``first`` + k ``every`` steps."""

    states: FloatArray
    every: int = 1
    first: int = 0


class Portion:
    """How many steps are taken in one go, so that some 50 ms pass between two looks at the user's keyboard."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def taken(
        self,
        loop: Loop | InterpretedLoop,
        t0: float,
        h: float,
        substeps: int,
        first: int,
        end: int,
        progress: Callable[[int], None] = lambda done: None,
    ) -> tuple[int, Status]:
        """Take the steps from ``first`` to ``end``; return how many are finished then, and how it went."""
        status = Status.OK
        while first < end and status == Status.OK:
            started = time.perf_counter()
            portion = min(self.steps, end - first)
            try:
                status = loop.go(t0, h, portion, substeps, first)
            finally:
                first += loop.done
                if sys.exc_info()[0] is not None:
                    progress(first)
            progress(first)
            if time.perf_counter() - started < 0.025 and portion == self.steps:
                self.steps *= 2
        return first, status


class InterpretedLoop:
    """The time loop in Python, as :class:`Loop` where there is no machine code."""

    def __init__(
        self,
        step: Evaluator,
        observe: Evaluator,
        guard: Evaluator | None,
        x: FloatArray,
        u: FloatArray,
        p: FloatArray,
        y: FloatArray,
        every: int | None = None,
        trail: Trail | None = None,
    ) -> None:
        self._every, self._trail = every, trail
        if trail is not None:
            trail.states[0] = x
        self._step, self._observe, self._guard = step, observe, guard
        self._x, self._u, self._p, self._y = x, u, p, y
        self.before = x.copy()
        self.done, self.told = 0, 0
        self.t_stop = 0.0
        #: The sample before the one that goes into the first row of ``y``.
        self.first_row = 0

    def go(self, t0: float, h: float, n: int, substeps: int, first: int = 0) -> Status:
        """Take steps ``first`` to ``first + n - 1`` of a run that began at ``t0``; samples go into the rows of ``y``."""
        self.done, self.t_stop = 0, t0
        x, u, p, y = self._x, self._u, self._p, self._y
        self.before[:] = x
        held, every = len(u) == 1, self._every or substeps
        for i in range(first, first + n):
            self.t_stop = t0 + i * h
            try:
                following = self._step(self.t_stop, x, u[0 if held else i // every], p, h)
                told = self._step.told
            except SolverError:
                return Status.STEP_FAILED
            if not np.isfinite(following).all():
                return Status.NOT_FINITE
            if self._guard is not None and not (self._guard(following) > 0).all():
                return Status.SINGULAR
            x[:] = following
            row, rest = divmod(i + 1, substeps)
            if rest == 0:
                self.t_stop = t0 + (i + 1) * h
                row -= 1 + self.first_row
                y[row] = self._observe(self.t_stop, x, u[0 if held else (i + 1) // every], p)
                if not np.isfinite(y[row]).all():
                    return Status.OUTPUT_NOT_FINITE
            if self._trail is not None and (i + 1 - self._trail.first) % self._trail.every == 0:
                self._trail.states[(i + 1 - self._trail.first) // self._trail.every] = x
            self.done += 1
            self.told += told
        return Status.OK

    def steady(self, h: float, n: int) -> Callable[[float], int]:
        """Return the function t0 -> status of ``n`` steps and one sample, always the same."""
        return lambda t0: self.go(t0, h, n, n)


class _Job(ctypes.Structure):
    """kp_job in march.c."""

    _fields_ = (
        ("first", ctypes.c_longlong),
        ("n", ctypes.c_longlong),
        ("substeps", ctypes.c_longlong),
        ("u_every", ctypes.c_longlong),
        ("t0", ctypes.c_double),
        ("h", ctypes.c_double),
        ("x", ctypes.c_void_p),
        ("nx", ctypes.c_longlong),
        ("u", ctypes.c_void_p),
        ("u_stride", ctypes.c_longlong),
        ("p", ctypes.c_void_p),
        ("y", ctypes.c_void_p),
        ("ny", ctypes.c_longlong),
        ("done", ctypes.c_longlong),
        ("t_stop", ctypes.c_double),
        ("before", ctypes.c_void_p),
        ("trail", ctypes.c_void_p),
        ("keep", ctypes.c_longlong),
        ("trail_first", ctypes.c_longlong),
        ("y_first", ctypes.c_longlong),
        ("told", ctypes.c_double),
        ("room", ctypes.c_void_p),
    )


class Loop:
    """The compiled time loop on arrays that it keeps; states ``x`` and outputs ``y`` change in place."""

    def __init__(
        self,
        library: ctypes.CDLL,
        x: FloatArray,
        u: FloatArray,
        p: FloatArray,
        y: FloatArray,
        every: int | None = None,
        trail: Trail | None = None,
    ) -> None:
        #: The state before the last call.
        self.before = x.copy()
        self._kept = (x, u, p, y, trail)
        self._job = job = _Job()
        job.x, job.nx = x.ctypes.data, x.size
        job.u_every = every or 0
        job.u, job.u_stride = u.ctypes.data, u.shape[1] if len(u) > 1 else 0
        job.p = p.ctypes.data
        job.y, job.ny = y.ctypes.data, y.shape[1]
        job.before = self.before.ctypes.data
        if trail is not None:
            trail.states[0] = x
            job.trail, job.keep, job.trail_first = trail.states.ctypes.data, trail.every, trail.first
        self._march, self._release = library.kp_march, library.kp_release
        self._at = ctypes.c_void_p(ctypes.addressof(job))

    def go(self, t0: float, h: float, n: int, substeps: int, first: int = 0) -> Status:
        """Take steps ``first`` to ``first + n - 1`` of a run that began at ``t0``; samples go into the rows of ``y``."""
        job = self._job
        job.first, job.n, job.substeps, job.t0, job.h = first, n, substeps, t0, h
        return STATUSES[self._march(self._at)]

    def steady(self, h: float, n: int) -> Callable[[float], int]:
        """Return the function t0 -> status of ``n`` steps and one sample, always the same; :meth:`go` must not be used then."""
        job, march, at = self._job, self._march, self._at
        job.first, job.n, job.substeps, job.h = 0, n, n, h

        def go(t0: float) -> int:
            job.t0 = t0
            return march(at)

        return go

    def addresses(self, h: float, n: int) -> tuple[int, int, int]:
        """Return where the compiled function is, its only argument, and the t0 in that, for C code that does the same.

        All is as with :meth:`steady` until :meth:`go` is used again; the function returns a status.
        """
        self.steady(h, n)
        function = ctypes.cast(self._march, ctypes.c_void_p).value
        assert function is not None
        at = ctypes.addressof(self._job)
        return function, at, at + _Job.t0.offset

    @property
    def first_row(self) -> int:
        """The sample before the one that goes into the first row of ``y``."""
        return int(self._job.y_first)

    @first_row.setter
    def first_row(self, sample: int) -> None:
        self._job.y_first = sample

    @property
    def done(self) -> int:
        """The steps that the last call finished."""
        return int(self._job.done)

    @property
    def told(self) -> int:
        """The sum of what the steps of all calls told beside their states."""
        return int(self._job.told)

    @property
    def t_stop(self) -> float:
        """The time at which it stopped, if it did not finish."""
        return float(self._job.t_stop)

    def __del__(self) -> None:
        if getattr(self, "_job", None) is not None and self._job.room:
            self._release(self._at)
