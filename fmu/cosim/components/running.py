"""An FMU of a coupled system that runs: values passed in one call for each direction, steps taken by the FMU's own solver."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.scratch import Scratch
from kingpost.fmu.cosim.components.described import PartnerEnded, PartnerError, Places, Running, held
from kingpost.fmu.cosim.components.fmu import FmuComponent
from kingpost.fmu.cosim.components.operations import Parts, Stopped, Why, fmu_step
from kingpost.fmu.cosim.components.rows import Row
from kingpost.fmu.file.opened import Fmu
from kingpost.fmu.instance.instance import DISCARD, SAME_TIME, FmiError, FmuEndedError, Instance, StepDiscardedError, Trail
from kingpost.fmu.instance.log import Log, status_name
from kingpost.fmu.instance.modelexchange import make_instance
from kingpost.fmu.instance.shorter_steps import step_in_parts

#: A communication step is a whole number of a component's own steps if it is so to this relative precision.
WHOLE_OWN_STEPS = 1e-9
#: Messages of the FMU that go with an error.
LAST = 3


#: Derivatives of inputs that masters give.
GIVEN_ORDERS = 2


def _at(values: FloatArray, slopes: FloatArray, after: float) -> FloatArray:
    """Return inputs with these values and first and second derivatives, some time later."""
    result: FloatArray = values + after * slopes[0] + after * after / 2 * slopes[1]
    return result


class Between:
    """What an FMU of FMI 3 is told when it asks for its inputs in the middle of a step."""

    def __init__(self, component: FmuComponent, places: Places) -> None:
        self.references = list(dict.fromkeys(component.variable_of(label).reference for label in places.inputs))
        self.write: Callable[[], None] = lambda: None
        self._u = places.u
        self._course: tuple[float, FloatArray, FloatArray] | None = None
        self._asked = False
        self._fault: FmiError | None = None

    def follow(self, t: float, first: FloatArray, slopes: FloatArray) -> None:
        """Let inputs follow a parabola from ``t`` on."""
        self._course = t, first, slopes

    def __call__(self, environment: Any, t: float, wanted: bool, *others: Any) -> None:
        """Set the inputs if they are wanted; what goes wrong cannot be raised through the FMU."""
        if not wanted or self._course is None:
            return
        begin, first, slopes = self._course
        self._asked = True
        self._u[:] = _at(first, slopes, t - begin)
        try:
            self.write()
        except FmiError as error:
            self._fault = self._fault or error

    def ended(self) -> bool:
        """Say whether it ever asked, after a step; raise what went wrong in it."""
        self._course, fault, self._fault = None, self._fault, None
        if fault is not None:
            raise fault
        return self._asked


class RunningFmu(Running):
    """An instance of an FMU in this process."""

    def __init__(
        self,
        component: FmuComponent,
        places: Places,
        t_start: float,
        t_end: float,
        folder: Path | None = None,
        trail: Trail = lambda call: None,
    ) -> None:
        self.name, self._component = component.name, component
        self.can_go_back, self.varies_steps = component.can_go_back, component.varies_steps
        self.inputs, self.outputs = places.u, places.y
        self._own_step = component.step
        self._between = Between(component, places) if places.moving and component.asks_for(places.inputs) else None
        #: The present state, if the master has saved it, and how many steps were taken in parts because it was.
        self._saved: Any = None
        self._shortened = 0
        self._scratch = Scratch("cosim") if folder is None else None
        self._log, self._trail = Log(), trail
        fmu = component.fmu
        try:
            self._folder = fmu.unpack(self._scratch.path / "fmu" if self._scratch is not None else Path(folder or ""))
            self.instance: Any = self._make_instance(component, t_end - t_start)
            self.instance.may_go_back = places.going_back
            places.u[:] = component.first_inputs(places.inputs)
            #: The inputs that an FMU of FMI 1.0 began with, as long as it is not too late for others.
            self._started_from = places.u.copy() if fmu.major == 1 else None
            starts = {component.variables[name]: values for name, values in component.starts.items()}
            self.instance.enter_initialization(t_start, t_end, component.tolerance, starts)
            self._input_row = Row(component, self.instance, places.inputs, places.u, "Set")
            if self._between is not None:
                self._between.write = self._input_row.write
            self._output_row = Row(component, self.instance, places.outputs, places.y, "Get")
            self._recorded = Row(component, self.instance, places.recorded, places.r, "Get")
            self._prepare_steps(fmu, component, places)
        except BaseException as error:
            self._remove_files()
            raise self.explained(error) if isinstance(error, FmiError) else error from None
        self._failed = False

    def _remove_files(self) -> None:
        if self._scratch is not None:
            self._scratch.close()

    def _make_instance(self, component: FmuComponent, span: float) -> Instance:
        return make_instance(
            component.fmu, self._folder, name=component.name, log=self._log, trail=self._trail, between=self._between
        )

    def _prepare_steps(self, fmu: Fmu, component: FmuComponent, places: Places) -> None:
        handle = self.instance.handle
        self._t, self._h = ctypes.c_double(), ctypes.c_double()
        self._forward = forward = not places.going_back
        self._do_step = self.instance.function("DoStep")
        if fmu.major == 1:
            self._arguments: tuple[Any, ...] = (handle, self._t, self._h, ctypes.c_char(1))
        elif fmu.major == 2:
            self._arguments = (handle, self._t, self._h, ctypes.c_int(forward))
        else:
            self._flags = [ctypes.c_bool() for _ in range(3)]
            self._last = ctypes.c_double()
            told = (*(ctypes.byref(flag) for flag in self._flags), ctypes.byref(self._last))
            self._arguments = (handle, self._t, self._h, ctypes.c_bool(forward), *told)
        self._major = fmu.major
        orders = min(component.input_orders(places.inputs), GIVEN_ORDERS)
        self._follow = self._rates_function(handle, places, orders) if orders else None

    def _rates_function(self, handle: ctypes.c_void_p, places: Places, highest: int) -> tuple[Any, tuple[Any, ...], FloatArray]:
        single, count = len(places.inputs), highest * len(places.inputs)
        rates = np.zeros((highest, single))
        references = (ctypes.c_uint * count)(*self._input_row.references * highest)
        orders = (ctypes.c_int * count)(*(order + 1 for order in range(highest) for _ in range(single)))
        arguments = (handle, references, ctypes.c_size_t(count), orders, ctypes.c_void_p(rates.ctypes.data))
        return self.instance.function("SetRealInputDerivatives"), arguments, rates

    def begin(self) -> None:
        self._guarded(self._start_from_inputs)
        self._guarded(self.instance.exit_initialization)
        self._started_from = None

    def _start_from_inputs(self) -> None:
        """Let an FMU of FMI 1.0, which has no initialisation mode, begin anew where its inputs are not those it began with."""
        if self._started_from is not None and not np.array_equal(self.inputs, self._started_from):
            self.instance.start_anew(self._input_row.write)
            self._started_from = self.inputs.copy()

    def give(self) -> None:
        self._guarded(self._input_row.write)

    def take(self) -> None:
        self._guarded(self._start_from_inputs)
        self._guarded(self._output_row.read)

    def record(self) -> None:
        self._guarded(self._recorded.read)

    def send(self, t: float, h: float, slopes: FloatArray | None = None) -> None:
        try:
            if slopes is None and self._own_step is None:
                self._input_row.write()
                try:
                    self._advance(t, h)
                except StepDiscardedError as error:
                    self._send_shorter_parts(t, h, None, self.inputs.copy(), error)
            else:
                self._send_parts(t, h, slopes)
            self._saved = None
            self._output_row.read()
        except FmiError as error:
            raise self.explained(error) from None

    def in_machine_code(self, t: float, h: float) -> Parts | str:
        rows = [row.operations() for row in (self._input_row, self._output_row, self._recorded)]
        given, taken, recorded = rows
        if given is None or taken is None or recorded is None:
            return "some of its variables are others with the sign reversed"
        handle, forward = self.instance.handle, self._forward
        return Parts([*given, fmu_step(self._major, self._do_step, handle, self._own_steps(h), forward), *taken], recorded)

    def resume(self, t: float, h: float, stopped: Stopped) -> None:
        name, status, why, begin, length, end, last = stopped
        try:
            if not name.endswith("DoStep"):
                raise FmiError(f"{name} ended with status '{status_name(status)}'", status)
            if why == Why.ENDED:
                raise FmuEndedError(last)
            if why == Why.NO_PROGRESS:
                self.instance.after_early_return(begin, end, last)
            try:
                raise self._refused(begin, length, status)
            except StepDiscardedError as error:
                self._send_shorter_parts(t, h, None, self.inputs.copy(), error)
            self._saved = None
            self._output_row.read()
        except FmiError as error:
            raise self.explained(error) from None

    def _own_steps(self, h: float) -> int:
        """Return in how many steps of its own it takes one by ``h``."""
        return 1 if self._own_step is None else max(1, math.ceil(h / self._own_step * (1 - WHOLE_OWN_STEPS)))

    def _send_parts(self, t: float, h: float, slopes: FloatArray | None) -> None:
        """Advance in steps of the component's own length, and let the inputs follow their slopes as well as the FMU can."""
        n = self._own_steps(h)
        if slopes is None:
            self._input_row.write()
        first = self.inputs.copy()
        if slopes is not None and self._between is not None:
            self._between.follow(t, first, slopes)
        try:
            for k in range(n):
                a, b = k * h / n, (k + 1) * h / n
                if slopes is not None:
                    self._follow_inputs(first, slopes, a, b)
                self._advance(t + a, b - a)
        except StepDiscardedError as error:
            self._send_shorter_parts(t, h, slopes, first, error)
        if slopes is not None:
            self.inputs[:] = _at(first, slopes, h)
            if self._between is not None and not self._between.ended():
                # It never asks, although it says that it would.
                self._between = None
            self._input_row.write()

    def _follow_inputs(self, first: FloatArray, slopes: FloatArray, a: float, b: float) -> None:
        """Let the inputs follow their slopes from ``a`` to ``b`` s after the beginning of a step, as well as the FMU can."""
        if self._between is not None or self._follow is None:
            self.inputs[:] = held(first, slopes, a, b) if self._between is None else _at(first, slopes, a)
            self._input_row.write()
            return
        function, arguments, rates = self._follow
        if len(rates) == 1:
            # The line with the mean of the parabola and its mean slope.
            rates[0] = slopes[0] + slopes[1] * (a + b) / 2
            self.inputs[:] = held(first, slopes, a, b) - rates[0] * (b - a) / 2
        else:
            rates[0], rates[1] = slopes[0] + a * slopes[1], slopes[1]
            self.inputs[:] = _at(first, slopes, a)
        self._input_row.write()
        status = function(*arguments)
        if status > 1:
            raise FmiError(f"fmi{self._major}SetRealInputDerivatives ended with status '{status_name(status)}'", status)

    def _send_shorter_parts(
        self, t: float, h: float, slopes: FloatArray | None, first: FloatArray, error: StepDiscardedError
    ) -> None:
        """Take what is left of a step in parts that are shorter than the one that was discarded."""
        if not self.varies_steps:
            raise FmiError(f"{error}. It takes steps of one length only, so shorter ones cannot be tried", error.status)
        begin = error.t
        if not error.unchanged:
            if self._saved is None:
                raise FmiError(f"{error}. {self._who_can(error)}", error.status)
            self.instance.restore(self._saved)
            begin = t

        def part(at: float, length: float) -> None:
            if slopes is None:
                self.inputs[:] = first
                self._input_row.write()
            else:
                self._follow_inputs(first, slopes, at - t, at - t + length)
            self._advance(at, length)

        step_in_parts(part, self.instance, begin, t + h - begin, error)
        self._shortened += 1

    def _who_can(self, error: StepDiscardedError) -> str:
        shorter = f"of at most {error.reached - error.t:.9g} s" if error.reached > error.t else f"shorter than {error.h:g} s"
        if self.can_go_back:
            return f"The master 'iterated' goes back and tries shorter steps; or take a communication step {shorter}"
        return f"It cannot go back to an earlier state, so no master can try shorter steps; take a communication step {shorter}"

    def _advance(self, t: float, h: float) -> None:
        end, early = t + h, True
        while early:
            self._t.value, self._h.value = t, h
            status = self._do_step(*self._arguments)
            if status > 1:
                raise self._refused(t, h, status)
            if self._major < 3:
                return
            if self._flags[1].value:
                raise FmuEndedError(self._last.value)
            early = self._flags[2].value and self._last.value < end - SAME_TIME * h
            if early:
                t = self.instance.after_early_return(t, end, self._last.value)
                h = end - t

    def _refused(self, t: float, h: float, status: int) -> FmiError:
        """Return what a status means with which a step ended."""
        if status == DISCARD:
            return self.instance.discarded(t, h)
        return FmiError(f"fmi{self._major}DoStep ended with status '{status_name(status)}'", status)

    def receive(self) -> None:
        pass

    def save(self) -> Any:
        self._saved = self._guarded(self.instance.save)
        return self._saved

    def restore(self, state: Any) -> None:
        self._guarded(self.instance.restore, state)
        # Whatever failed after that state is undone.
        self._saved, self._failed = state, False

    def forget(self, state: Any) -> None:
        if state is self._saved:
            self._saved = None
        self._guarded(self.instance.forget, state)

    def change(self, values: Mapping[str, float]) -> None:
        self._guarded(self._change, values)

    def _change(self, values: Mapping[str, float]) -> None:
        row = np.array(list(values.values()), dtype=float)
        self._write(Row(self._component, self.instance, list(values), row, "Set"))

    def _write(self, row: Row) -> None:
        row.write()

    def close(self) -> str:
        said = ""
        if not self._failed:
            refused = self.instance.finish()
            notes = [f"could not be terminated: {refused}"] if refused else []
            if self._shortened:
                notes.insert(0, f"discarded {self._shortened} communication steps, which were taken in shorter parts")
            said = f"'{self.name}' {', and '.join(notes)}" if notes else ""
        self._remove_files()
        return said

    def _guarded(self, function: Any, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except FmiError as error:
            raise self.explained(error) from None

    def explained(self, error: FmiError) -> PartnerError:
        """Return the error with what the FMU said last; after it nothing more is asked of the FMU."""
        if isinstance(error, FmuEndedError):
            return PartnerEnded(self.name, str(error))
        self._failed = True
        told = f". It said: {'; '.join(self._log.last(LAST))}" if self._log.messages else ""
        return PartnerError(self.name, f"{error}{told}")
