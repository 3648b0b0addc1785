"""An FMU without a solver (model exchange), with one from fmpy: CVode of SUNDIALS, or Euler's steps."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from fmpy import fmi2, fmi3
from fmpy.simulation import ForwardEuler

from kingpost.base.arrays import FloatArray
from kingpost.fmu.file.opened import Fmu
from kingpost.fmu.instance.fmi1 import CoSimulation1
from kingpost.fmu.instance.instance import CoSimulation, Feed, FmiError, FmuEndedError, Instance
from kingpost.fmu.instance.solvers import SolverName

#: Relative tolerance of CVode, if neither the user nor the FMU has another.
TOLERANCE = 1e-6
#: Rounds after which an event is taken to go on for ever.
ROUNDS = 100
#: Events in one step after which a run is taken to stand still.
MOST_EVENTS = 10_000
#: Steps of the solver, each of which the FMU is told of, after which one communication step is taken to have no end.
MOST_ROUNDS = 1_000_000
#: Times closer than this part of a step are the same time.
SAME = 1e-9


class ModelExchange(Instance):
    """An FMU whose rates are integrated here.

    With ``restart``, CVode forgets its past before every step: slower, but a step then depends on the state alone, as it must
    to be repeated bit by bit.
    """

    def __init__(
        self, *arguments: Any, solver: SolverName = "CVode", restart: bool = False, t_span: float = 1.0, **options: Any
    ) -> None:
        self.solver_name = solver
        self.restart = restart
        self.t_span = t_span
        self.tolerance = TOLERANCE
        self._stop = math.inf
        self._inputs = Inputs()
        self._solver: Any = None
        self._next_event: float | None = None
        super().__init__(*arguments, **options)

    def _load(self, **arguments: Any) -> Any:
        return (fmi2.FMU2Model if self.fmu.major == 2 else fmi3.FMU3Model)(**arguments)

    def _enter(self) -> None:
        """Set start values and enter initialisation mode; the tolerance is also the solver's."""
        self.tolerance = self.beginning.tolerance or TOLERANCE
        self._stop = math.inf if self.beginning.t_stop is None else self.beginning.t_stop
        super()._enter()

    def exit_initialization(self) -> None:
        """Leave initialisation mode, settle discrete states, and make the solver."""
        super().exit_initialization()
        self._update_discrete_states()
        self.call("entering continuous-time mode", self.raw.enterContinuousTimeMode)
        self._solver = self._make_solver()
        self._limit_solver()

    def step(self, t: float, h: float) -> None:
        """Integrate over a step, from event to event."""
        end = t + h
        if self.restart:
            self._reset_solver(t)
        events = rounds = 0
        while end - t > SAME * h:
            due = self._next_event is not None and self._next_event <= end + SAME * h
            target = end if not due or self._next_event is None else min(max(self._next_event, t), end)
            state_event = False
            if target - t > SAME * h:
                state_event, _, t = self.call(f"integrating from t = {t!r} s to {target!r} s", self._solver.step, t, target)
            else:
                t = target
            self.time = t
            self.call("setting the time", self.raw.setTime, t)
            self._inputs.apply(t)
            if self._step_completed() or state_event or (due and abs(t - target) <= SAME * h):
                events += 1
                self._event(t)
            rounds += 1
            if events > MOST_EVENTS or rounds > MOST_ROUNDS:
                what = f"{MOST_EVENTS} events" if events > MOST_EVENTS else f"{MOST_ROUNDS} steps of the solver"
                raise FmiError(f"more than {what} up to t = {t:g} s in a step of {h:g} s")

    def follow(self, inputs: Callable[[float], None] | None) -> None:
        """Let ``inputs`` set the continuous inputs of any time from now on; None: they stay as they are."""
        self._inputs.follow = inputs

    def jump(self, write: Callable[[], None]) -> None:
        """Let ``write`` give inputs other values: an event, for the FMU and for the solver."""
        self.call("entering event mode", self.raw.enterEventMode)
        write()
        self._leave_event_mode(self.time)

    def feed(self, inputs: Feed, values: FloatArray) -> None:
        """Give inputs new values; a jump is an event, for the FMU and for the solver."""
        if len(inputs) and not np.array_equal(inputs.read(), values):
            self.jump(lambda: inputs.write(values))

    def save(self) -> Any:
        """Return the state of the FMU, and what is known about it here."""
        return super().save(), self.time, self._next_event

    def restore(self, state: Any) -> None:
        """Go back to a state; the solver begins anew."""
        super().restore(state[0])
        _, self.time, self._next_event = state
        self.call("setting the time", self.raw.setTime, self.time)
        self._reset_solver(self.time)

    def forget(self, state: Any) -> None:
        """Free a state."""
        super().forget(state[0])

    def to_bytes(self, state: Any) -> bytes:
        """Return a state as bytes, with time and next event before it."""
        return struct.pack("<dd", state[1], math.nan if state[2] is None else state[2]) + super().to_bytes(state[0])

    def from_bytes(self, content: bytes) -> Any:
        """Return the state that bytes hold."""
        time, event = struct.unpack("<dd", content[:16])
        return super().from_bytes(content[16:]), time, None if math.isnan(event) else event

    def states(self) -> FloatArray:
        """Return the continuous states."""
        values = np.zeros(self.state_count)
        self.call("getting the states", self.raw.getContinuousStates, _pointer(values), len(values))
        return values

    def set_states(self, values: FloatArray) -> None:
        """Set the continuous states."""
        self.call("setting the states", self.raw.setContinuousStates, _pointer(values), len(values))

    @property
    def state_count(self) -> int:
        """How many continuous states there are."""
        return int(self.fmu.description.numberOfContinuousStates)

    @cached_property
    def _wants_steps(self) -> bool:
        """Whether the FMU wants to be told of every step of the solver; each may be an event."""
        flags = self.fmu.capabilities["model-exchange"]
        if self.fmu.major == 2:
            return flags.get("completedIntegratorStepNotNeeded") not in ("true", "1")
        return flags.get("needsCompletedIntegratorStep") in ("true", "1")

    def _step_completed(self) -> bool:
        if not self._wants_steps:
            return False
        event, ended = self.call("completing an integrator step", self.raw.completedIntegratorStep)
        if ended:
            raise FmuEndedError(self.time)
        return bool(event)

    def _event(self, t: float) -> None:
        self.call("entering event mode", self.raw.enterEventMode)
        self._leave_event_mode(t)

    def _leave_event_mode(self, t: float) -> None:
        self._update_discrete_states()
        self.call("entering continuous-time mode", self.raw.enterContinuousTimeMode)
        self._reset_solver(t)

    def _reset_solver(self, t: float) -> None:
        self.time = t
        self._solver.reset(t)
        self._limit_solver()

    def _limit_solver(self) -> None:
        """Ask for no rates beyond the stop time, which FMI forbids, nor beyond the next event."""
        limits = [limit for limit in (self._stop, self._next_event) if limit is not None and limit > self.time]
        if self.solver_name == "CVode" and limits:
            self._solver.stop_at(min(limits))

    def _update_discrete_states(self) -> None:
        update = self.raw.newDiscreteStates if self.fmu.major == 2 else self.raw.updateDiscreteStates
        for _ in range(ROUNDS):
            again, ended, _, _, defined, time = self.call("updating discrete states", update)
            if ended:
                raise FmuEndedError(self.time)
            if not again:
                self._next_event = time if defined else None
                return
        raise FmiError(f"the event at t = {self.time:g} s did not settle in {ROUNDS} rounds")

    def _make_solver(self) -> Any:
        raw = self.raw
        arguments = {
            "nx": self.state_count,
            "nz": self.fmu.description.numberOfEventIndicators,
            "get_x": raw.getContinuousStates,
            "set_x": raw.setContinuousStates,
            "get_dx": raw.getDerivatives if self.fmu.major == 2 else raw.getContinuousStateDerivatives,
            "get_z": raw.getEventIndicators,
            "input": self._inputs,
        }
        if self.solver_name == "Euler":
            return ForwardEuler(**arguments)
        from kingpost.fmu.instance.cvode import CVode

        return CVode(
            get_nominals=raw.getNominalsOfContinuousStates,
            set_time=raw.setTime,
            startTime=self.time,
            maxStep=self.t_span / 50,
            relativeTolerance=self.tolerance,
            singly=self._wants_steps,
            **arguments,
        )


class Inputs:
    """Inputs between communication points, in the form that fmpy's solvers expect: they stay, or follow something."""

    follow: Callable[[float], None] | None = None

    def apply(self, time: float) -> None:
        """Give them their values at a time."""
        if self.follow is not None:
            self.follow(time)


def _pointer(values: FloatArray) -> Any:
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def make_instance(
    fmu: Fmu, folder: Path, *, solver: SolverName = "CVode", restart: bool = False, t_span: float = 1.0, **options: Any
) -> Instance:
    """Return an instance for the interface that ``fmu`` is used by; solver, restart and t_span are for model exchange."""
    if fmu.interface == "co-simulation":
        return (CoSimulation1 if fmu.major == 1 else CoSimulation)(fmu, folder, **options)
    return ModelExchange(fmu, folder, solver=solver, restart=restart, t_span=t_span, **options)
