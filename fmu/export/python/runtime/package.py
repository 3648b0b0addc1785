"""The engine for models with plain Python in them, and for machines without a compiled library: Kingpost itself.

Runs in the copy of the package that an FMU carries. What may be done when, and what is refused, is what c/core.c and
c/motion.c say, so that both engines behave alike; a state of one can be given to the other.
"""

from __future__ import annotations

import math
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.control.blocks.clock import sample_times, time_reached, verdict
from kingpost.equations.guard import guarded_joints
from kingpost.equations.integrator import InitialValueProblem, Solver
from kingpost.fmu.export.python.runtime.engine import DISCARD, ERROR, Engine, EngineError
from kingpost.fmu.interface.interface import INPUT_ORDER, Interface
from kingpost.kernel.kernel import Evaluator
from kingpost.mechanism.given import no_rotation
from kingpost.simulation.export_model import ExportModel, SampleRows
from kingpost.symbols.externals import python_error

MAGIC = b"kpstate1"
#: The order of kp_phase in c/core.h; an FMU for co-simulation needs no other.
INSTANTIATED, INITIALIZING, STEPPING, TERMINATED = 0, 1, 2, 5
PHASES = {INSTANTIATED: "instantiated", INITIALIZING: "in its initialization", STEPPING: "between two steps",
          TERMINATED: "terminated"}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """A model derived again from its description; all instances in a process share it."""

    interface: Interface
    #: By the names that generated C has for them; kp_step, or kp_jacobian for a solver.
    functions: Mapping[str, ca.Function]
    token: str
    label: str
    #: Python forces tell their errors through the shared equations, so instances take turns.
    turn: threading.RLock = field(default_factory=threading.RLock)

    @property
    def model(self) -> ExportModel:
        return self.interface.model


class PackageEngine(Engine):
    """One instance of a rebuilt model."""

    def __init__(self, rebuilt: Rebuilt) -> None:
        self._rebuilt, interface, model = rebuilt, rebuilt.interface, rebuilt.model
        self.label = rebuilt.label
        equations = model.equations
        self._names, self._first = interface.names, interface.first
        self._nx, self._nu, self._np = len(model.x0), equations.nu, equations.np
        evaluators = {name: Evaluator(function) for name, function in rebuilt.functions.items()}
        self._rhs, self._outputs, self._start = (evaluators[f"kp_{name}"] for name in ("rhs", "outputs", "start"))
        self._guard, self._step, self._jacobian, self._begin, self._projected = (
            evaluators.get(f"kp_{name}") for name in ("guard", "step", "jacobian", "memory", "projected")
        )
        first, by_reference = self._first["x"], {variable.reference: variable for variable in interface.variables}
        self._calculated = [
            first + i in by_reference and by_reference[first + i].initial == "calculated" for i in range(self._nx)
        ]
        self._time, self._stop, self._phase = 0.0, None, INSTANTIATED  # type: float, float | None, int
        self._x, self._u, self._p = model.x0.copy(), model.u0.copy(), model.p0.copy()
        self._given = np.zeros(self._nx)
        #: What the integrator carries from step to step beside the state, and the step that it is for; 0: begin anew.
        self._memory, self._memory_step = np.zeros(0), 0.0
        if "kp_memory" in rebuilt.functions:
            self._memory = np.zeros(rebuilt.functions["kp_memory"].numel_out(0))
        self._dx: FloatArray | None = None
        self._y: FloatArray | None = None
        self._samples, self._warnings = model.samples, []  # type: SampleRows | None, list[str]
        self.state_size = len(self.get_state())

    @property
    def time(self) -> float:
        return self._time

    def setup(self, start: float, stop: float | None) -> None:
        if self._phase != INSTANTIATED:
            self._refuse(f"start and stop time cannot be set any more: the model is {PHASES[self._phase]}; reset it first")
        if not math.isfinite(start) or (stop is not None and not stop >= start):
            self._refuse(f"a run from t = {start:g} s to {stop or 0.0:g} s makes no sense")
        self._time, self._stop = start, stop
        if self._samples is not None:
            self._x[self._samples.origin] = start
        self._stale()

    def enter_initialization(self) -> None:
        if self._phase != INSTANTIATED:
            self._refuse(f"the initialization cannot begin: the model is {PHASES[self._phase]}; reset it first")
        self._phase = INITIALIZING

    def exit_initialization(self) -> None:
        if self._phase != INITIALIZING:
            self._refuse(f"there is no initialization to end: the model is {PHASES[self._phase]}")
        self._settle()
        for first in self._rebuilt.model.equations.quaternions:
            length = float(np.linalg.norm(self._x[first : first + 4]))
            if not (math.isfinite(length) and length > 0):
                self._refuse(
                    f"the quaternion that begins with '{self._names[self._first['x'] + first]}' has length {length:g}; "
                    "(1, 0, 0, 0) is no rotation"
                )
            self._x[first : first + 4] /= length
        self._memory_step = 0.0
        self._stale()
        joint = self._singular_joint(self._x)
        if joint:
            self._refuse(f"joint '{joint}' starts where its coordinates are singular; choose other start values")
        self._phase = STEPPING

    def terminate(self) -> None:
        if self._phase != STEPPING:
            self._refuse(f"the model is {PHASES[self._phase]} and cannot be terminated")
        self._phase = TERMINATED

    def get(self, references: Sequence[int]) -> list[float]:
        self._settle()
        first, values = self._first, []
        for reference in references:
            self._check_reference(reference)
            if reference == 0:
                values.append(self._time)
            elif reference < first["u"]:
                values.append(float(self._p[reference - first["p"]]))
            elif reference < first["x"]:
                values.append(float(self._u[reference - first["u"]]))
            elif reference < first["dx"]:
                values.append(float(self._x[reference - first["x"]]))
            elif reference < first["y"]:
                self._dx = self._evaluated("derivatives", self._rhs, first["dx"]) if self._dx is None else self._dx
                values.append(float(self._dx[reference - first["dx"]]))
            else:
                self._y = self._evaluated("outputs", self._outputs, first["y"]) if self._y is None else self._y
                values.append(float(self._y[reference - first["y"]]))
        return values

    def set(self, references: Sequence[int], values: Sequence[float]) -> None:
        first = self._first
        for reference, value in zip(references, values, strict=True):
            self._check_reference(reference)
            name = self._names[reference]
            looked_at_later = self._samples is not None and first["u"] <= reference < first["x"]
            if not math.isfinite(value) and not looked_at_later:
                self._refuse(f"'{name}' was set to {value:g} at t = {self._time:.9g} s; it must be finite")
            if reference == 0 or reference >= first["dx"]:
                self._refuse(f"'{name}' is computed by the model and cannot be set")
            if reference >= first["x"] and self._phase not in (INSTANTIATED, INITIALIZING):
                self._refuse(f"the start value of '{name}' can be set only before the end of the initialization")
        for reference, value in zip(references, values, strict=True):
            if reference < first["u"]:
                if self._p[reference - first["p"]] != value:
                    self._memory_step = 0.0
                self._p[reference - first["p"]] = value
            elif reference < first["x"]:
                self._u[reference - first["u"]] = value
            else:
                self._x[reference - first["x"]] = value
                self._given[reference - first["x"]] = 1.0
        self._stale()

    def step(self, start: float, size: float) -> None:
        slack = 1e-6 * abs(size) + 1e-9 * abs(self._time)
        if self._phase != STEPPING:
            self._refuse(f"a step was asked for, but the model is {PHASES[self._phase]}")
        if not (math.isfinite(size) and size >= 0):
            self._refuse(f"a communication step of {size:g} s is impossible")
        if not abs(start - self._time) <= slack:
            self._refuse(f"a step from t = {start:.9g} s was asked for, but the model is at t = {self._time:.9g} s")
        if self._stop is not None and start + size > self._stop + slack:
            self._refuse(f"a step to t = {start + size:.9g} s was asked for, beyond the stop time of {self._stop:.9g} s")
        if size == 0:
            return
        if self._step is None:
            self._solve(start, size)
            self._time = start + size
        elif self._samples is not None:
            self._take_samples(start + size, self._step, self._samples)
        else:
            self._march(start, size, self._step)

    def get_state(self) -> bytes:
        def room(values: FloatArray) -> FloatArray:
            return values if values.size else np.zeros(1)

        courses = np.zeros(INPUT_ORDER * room(self._u).size)  # inputs hold here; in C they may change
        parts: list[Any] = [[self._time], room(self._p), room(self._u), courses, room(self._x)]
        stop = 0.0 if self._stop is None else self._stop
        parts += [[stop, float(self._phase), float(self._stop is not None)], room(self._given)]
        parts += [room(self._memory), [self._memory_step]]
        numbers = np.concatenate(parts).astype("=f8").tobytes()
        return self._head + numbers

    def set_state(self, state: bytes) -> None:
        self.check_state(state)
        time, self._p, self._u, _, self._x, end, self._given, self._memory, memory_step = self._pieces(state)
        self._time, self._phase, self._memory_step = float(time[0]), int(end[1]), float(memory_step[0])
        self._stop = float(end[0]) if end[2] else None
        self._stale()

    def check_state(self, state: bytes) -> None:
        if len(state) != self.state_size or not state.startswith(self._head):
            self._refuse(f"these {len(state)} bytes are not a state of this model")
        if self._pieces(state)[5][1] not in PHASES:
            self._refuse(f"these {len(state)} bytes are a damaged state")

    @property
    def _head(self) -> bytes:
        return MAGIC + self._rebuilt.token.encode() + b"\0"

    def _pieces(self, state: bytes) -> list[FloatArray]:
        """Return the arrays of kp_state in c/core.h: time, p, u, its courses, x, stop and phase, given starts, memory."""
        numbers = np.frombuffer(state[len(self._head) :], dtype="=f8")
        pieces, place = [], 0
        courses = INPUT_ORDER * max(self._nu, 1)
        for size in (1, self._np, self._nu, courses, self._nx, 3, self._nx, self._memory.size, 1):
            pieces.append(numbers[place : place + size].copy())
            place += max(size, 1)  # no array has length zero in C
        return pieces

    def take_warnings(self) -> list[str]:
        told, self._warnings = self._warnings, []
        return told

    def _take_samples(self, end: float, step: Evaluator, rows: SampleRows) -> None:
        """Take the samples that are due before ``end``."""
        origin, h, first = float(self._x[rows.origin]), self._rebuilt.model.step, self._first
        if not (end - self._time) / h < 1e9:
            self._refuse(f"a step of {end - self._time:g} s holds more than 1e9 samples, {h:g} s apart")
        inputs = self._names[first["u"] : first["x"]]
        self._stale()
        for t in sample_times(origin, self._time, end, h):
            self._time = t
            with self._explained(f"the sample at t = {t:.9g} s could not be taken"):
                following = step(t, self._x, self._u, self._p, h)
            self._check_following(following, t, h)
            said = verdict(rows, inputs, self._u, self._x, following, t)
            self._warnings += [said] if said else []
            self._x = following
        self._time = time_reached(origin, end, h)

    def _march(self, start: float, size: float, step: Evaluator) -> None:
        """Take as many internal steps as fit, none longer than the one the model was exported with."""
        longest = self._rebuilt.model.step
        count = math.ceil(size / longest * (1 - 1e-9))
        if count >= 1e9:
            self._refuse(f"a step of {size:g} s holds more than 1e9 internal steps of {longest:g} s")
        n, h, first = max(count, 1), size / max(count, 1), None
        steps = _whole_steps(start, longest), _whole_steps(start + size, longest)
        if steps[0] is not None and steps[1] is not None and steps[1] > steps[0]:
            n, h, first = steps[1] - steps[0], longest, steps[0]
        self._stale()
        for k in range(n):
            t = start + k * h if first is None else (first + k) * h
            self._time = t
            with self._explained(f"the step of {h:g} s from t = {t:.9g} s found no solution; try a shorter one"):
                self._remember(t, h)
                following = step(t, np.concatenate([self._x, self._memory]), self._u, self._p, h)
            self._check_following(following, t, h)
            self._x, self._memory = following[: self._nx], following[self._nx :]
        self._time = start + size if first is None else (first + n) * h

    def _remember(self, t: float, h: float) -> None:
        """Let the integrator begin anew where its memory does not belong to the state and to steps of length ``h``."""
        if self._begin is None or (self._memory_step > 0 and abs(h - self._memory_step) <= 1e-6 * h):
            return
        self._memory_step = 0.0
        self._memory = self._begin(t, self._x, self._u, self._p, h)
        if not np.isfinite(self._memory).all():
            raise SolverError("what the integrator needs to begin is not finite")
        self._memory_step = h

    def _solve(self, start: float, size: float) -> None:
        """Let a solver go from one communication point to the next."""
        integrator = self._rebuilt.model.integrator
        assert isinstance(integrator, Solver)
        self._stale()
        if self._nx:
            following = self._solved(integrator, np.array([start, start + size]))
            self._check_following(following, start, size)
            self._x = np.asarray(self._rebuilt.model.equations.normalised(following), dtype=float).ravel()

    def _solved(self, integrator: Solver, times: FloatArray) -> FloatArray:
        jacobian = self._jacobian
        assert jacobian is not None
        u, p = self._u.copy(), self._p.copy()
        project = self._projected
        problem = InitialValueProblem(
            times,
            self._x.copy(),
            lambda t, x: self._rhs(t, x, u, p),
            lambda t, x: jacobian.matrix(t, x, u, p),
            projected=None if project is None else lambda t, x: project(t, x, u, p),
        )
        with self._explained(f"'{integrator.name}' found no solution from t = {times[0]:.9g} s"):
            states = [np.array(state, dtype=float) for state in integrator.march(problem)]
            if len(states) != 1 or states[0].shape != self._x.shape:
                raise SolverError(f"integrator '{integrator.name}' gave {len(states)} states, expected one")
            return states[0] if project is None else project(times[1], states[0], p)

    def _check_following(self, following: FloatArray, t: float, h: float) -> None:
        if not np.isfinite(following).all():
            i = int(np.argmin(np.isfinite(following)))
            if i >= self._nx:
                raise EngineError(
                    DISCARD,
                    f"what the integrator remembers becomes {following[i]:g} in the step of {h:g} s from t = {t:.9g} s; try a "
                    "shorter step",
                )
            name = self._names[self._first["x"] + i]
            raise EngineError(
                DISCARD,
                f"'{name}' becomes {following[i]:g} in the step of {h:g} s from t = {t:.9g} s, where it was {self._x[i]:.9g}; "
                "try a shorter step",
            )
        joint = self._singular_joint(following[: self._nx])
        if joint:
            raise EngineError(
                DISCARD, f"joint '{joint}' is about to lock at t = {t + h:.9g} s: its coordinates become singular"
            )

    def _singular_joint(self, x: FloatArray) -> str:
        if self._guard is None:
            return ""
        measures = self._guard(x)
        joints = guarded_joints(self._rebuilt.model.mechanism)
        return next((name for name, measure in zip(joints, measures, strict=True) if not measure > 0), "")

    def _settle(self) -> None:
        """While the initialization lasts, let start values that are formulas of parameters follow them."""
        if self._phase != INITIALIZING:
            return
        found = self._start(self._p)
        follow = np.array(self._calculated, dtype=bool) & (self._given == 0) & (self._x != found)
        if follow.any():
            self._x = np.where(follow, found, self._x)
            self._stale()

    def _evaluated(self, what: str, function: Evaluator, first: int) -> FloatArray:
        with self._explained(f"the {what} cannot be evaluated at t = {self._time:.9g} s", ERROR):
            values = function(self._time, self._x, self._u, self._p)
        if not np.isfinite(values).all():
            why = no_rotation(self._rebuilt.model.mechanism, self._u)
            if why:
                self._refuse(f"{why}; t = {self._time:.9g} s")
            i = int(np.argmin(np.isfinite(values)))
            self._refuse(f"'{self._names[first + i]}' is {values[i]:g} at t = {self._time:.9g} s")
        return values

    @contextmanager
    def _explained(self, otherwise: str, status: int = DISCARD) -> Iterator[None]:
        """Turn what goes wrong inside into a failure; what a force in Python raised comes with its traceback."""
        ask = partial(python_error, self._rebuilt.model.equations.all_externals)
        with self._rebuilt.turn:
            ask()  # what another run left behind is not ours
            fault: SolverError | None = None
            try:
                yield
            except SolverError as refused:
                fault = refused
            raised = ask()
        if raised is not None:
            owner, error = raised
            details = "".join(traceback.format_exception(type(error), error, error.__traceback__)).rstrip()
            text = f"force '{owner}' raised {type(error).__name__}: {error}"
            raise EngineError(status, text, deadly=True, details=details)
        if fault is not None:
            raise EngineError(status, f"{otherwise} ({fault})")

    def _stale(self) -> None:
        self._dx = self._y = None

    def _check_reference(self, reference: int) -> None:
        if not 0 <= reference < len(self._names):
            self._refuse(f"there is no variable with value reference {reference}; the last one is {len(self._names) - 1}")

    def _refuse(self, text: str) -> NoReturn:
        raise EngineError(ERROR, text)


def _whole_steps(t: float, step: float) -> int | None:
    """Return the number of internal steps from time zero to ``t``, if it is whole but for rounding, as in c/motion.c."""
    n = round(t / step)
    return n if n >= 0 and abs(t - n * step) <= 1e-6 * step else None
