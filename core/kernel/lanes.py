"""Several runs side by side in the registers of a processor: generated C code with rows of numbers in place of numbers."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from kingpost.base.arrays import FloatArray
from kingpost.kernel.loops import Status

NAME = r"[\w.]+"
#: Statements that C has no form of for rows of numbers, as CasADi writes them, and those of lanes.c in their place.
REWRITTEN = (
    # Values that only the tables of a function have.
    (re.compile(r"CASADI_SYMBOL_EXPORT casadi_real \w+_default_in\(casadi_int i\) \{.*?\n\}\n", re.DOTALL), ""),
    (
        re.compile(r"(static const casadi_real casadi_\w+\[\d+\] =\s*\{)([^{}]*)(\};)"),
        lambda found: _constants(*found.groups()),
    ),
    (re.compile(r"(arg\[\d+\]) ?\? (arg\[\d+\]\[\d+\]) : 0;"), r"\1 ? \2 : kp_all(0.);"),
    (re.compile(r"(\w|\)|\+\+) ?= ?(-?(?:\d+\.\d*(?:e[-+]\d+)?|casadi_nan|casadi_inf));"), r"\1 = kp_all(\2);"),
    (
        re.compile(r"return x<0 \? -1 : x>0 \? 1 : x;"),
        "return kp_select(x < 0., kp_all(-1.), kp_select(x > 0., kp_all(1.), x));",
    ),
    (re.compile(r"(\*\w\+\+|casadi_real \w+) ?= ?0;"), r"\1 = kp_all(0.);"),
    (re.compile(rf"\(({NAME})\?({NAME}):0\);"), r"kp_if(\1, \2);"),
    (re.compile(rf"\(({NAME})<({NAME})\);"), r"kp_less(\1, \2);"),
    (re.compile(rf"\(({NAME})<=({NAME})\);"), r"kp_less_or_equal(\1, \2);"),
    (re.compile(rf"\(({NAME})==({NAME})\);"), r"kp_equal(\1, \2);"),
    (re.compile(rf"\(({NAME})!=({NAME})\);"), r"kp_unequal(\1, \2);"),
    (re.compile(rf"\(!({NAME})\);"), r"kp_not(\1);"),
    (re.compile(rf"\(({NAME})&&({NAME})\);"), r"kp_and(\1, \2);"),
    (re.compile(rf"\(({NAME})\|\|({NAME})\);"), r"kp_or(\1, \2);"),
)


def _constants(begin: str, values: str, end: str) -> str:
    """Return a table of constants, each in all lanes."""
    return begin + ", ".join(f"KP_EACH({value.strip()})" for value in values.split(",")) + end


#: The C code of the time loop.
LOOP = "march_lanes.c"


def in_lanes(code: str) -> str:
    """Return generated C code in which every number is a row of them, with what that needs before it."""
    for pattern, form in REWRITTEN:
        code = pattern.sub(form, code)
    return f"{files('kingpost.kernel').joinpath('lanes.c').read_text()}\n{code}"


class LaneRun(NamedTuple):
    """One of several runs: the state at its start, rows of inputs (one for good, or in turn), parameters; where outputs go."""

    x: FloatArray
    u: FloatArray
    p: FloatArray
    y: FloatArray


class LaneStop(NamedTuple):
    """How one of several runs ended: status, finished steps, and the time of a failure if there was one."""

    status: Status
    steps: int
    t: float


class Lanes:
    """A compiled time loop that advances several runs at once, each to the bits that it has on its own."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._march = library.kp_march_lanes
        #: How many runs it advances at once.
        self.count = int(library.kp_lane_count())
        self._job = _job_type(self.count)

    def march(self, runs: Sequence[LaneRun], substeps: int, every: int, t0: float, h: float) -> list[LaneStop]:
        """Advance up to :attr:`count` runs by ``substeps`` steps for each row of their outputs; return how each ended.

        Row k of the inputs holds over ``every`` so many steps from k ``every`` on. All arrays must be contiguous float64, and
        the states are left as they are.
        """
        job = self._job()
        first = runs[0]
        job.n, job.substeps, job.u_every, job.t0, job.h = len(first.y) * substeps, substeps, every, t0, h
        job.nx, job.nu, job.np, job.ny = first.x.size, first.u.shape[1], first.p.size, first.y.shape[1]
        for k in range(self.count):
            run = runs[min(k, len(runs) - 1)]  # lanes that are left over do what the last one does
            job.x[k], job.u[k], job.p[k], job.y[k] = (array.ctypes.data for array in run)
            job.u_stride[k] = run.u.shape[1] if len(run.u) > 1 else 0
        failed = self._march(ctypes.byref(job))
        if failed:
            return [LaneStop(Status(failed), 0, t0) for _ in runs]
        return [LaneStop(Status(job.status[k]), job.done[k], job.t_stop[k]) for k in range(len(runs))]


def _job_type(lanes: int) -> Any:
    """Return kp_lanes_job of march_lanes.c."""
    number, whole, place = ctypes.c_double, ctypes.c_longlong, ctypes.c_void_p

    class Job(ctypes.Structure):
        _fields_ = (
            *((name, whole) for name in ("n", "substeps", "u_every")),
            *((name, number) for name in ("t0", "h")),
            *((name, place * lanes) for name in ("x", "u", "p", "y")),
            ("u_stride", whole * lanes),
            *((name, whole) for name in ("nx", "nu", "np", "ny")),
            *((name, whole * lanes) for name in ("done", "status")),
            ("t_stop", number * lanes),
        )

    return Job
