"""A block that works at sample times as a component, in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.control.blocks.clock import sample_times, time_reached, verdict
from kingpost.fmu.cosim.components.changing import changed_values
from kingpost.fmu.cosim.components.described import PartnerError, Places, Running
from kingpost.kernel.kernel import Kernel

if TYPE_CHECKING:
    from kingpost.fmu.cosim.components.model import ModelComponent

#: What is said of bad samples at the end of a run goes no further than this.
TOLD = 5


class RunningSampled(Running):
    """A block with memory at work: samples are taken at their own times, whatever the communication steps are."""

    by_hand = "it works at sample times of its own"

    can_go_back = True
    varies_steps = True

    def __init__(self, component: ModelComponent, places: Places, t_start: float) -> None:
        self.name = component.name
        self.inputs, self.outputs = places.u, places.y
        self._model = model = component.model
        assert model.samples is not None
        self._rows, self._h, stepper = model.samples, model.step, model.problem.stepper
        kernel = Kernel(stepper.running, model.problem.how.backend or "auto", model.equations.python_forces)
        self._step, self._observe = kernel.evaluator("kp_step"), kernel.evaluator("kp_observe")
        self._t, self._x, self._u = t_start, model.x0.copy(), model.u0.copy()
        self._x[self._rows.origin] = t_start
        self._p = np.ascontiguousarray(model.p0, dtype=float)
        self._names = [signal.name for signal in model.mechanism.inputs]
        parameters = [parameter.name for parameter in model.mechanism.parameters]
        row = {name: i for i, name in enumerate([*(c.name for c in model.equations.channels), *self._names, *parameters])}
        self._places = np.array([self._names.index(name) for name in places.inputs], dtype=np.intp)
        self._taken = np.array([row[name] for name in places.outputs], dtype=np.intp)
        self._kept, self._kept_row = np.array([row[name] for name in places.recorded], dtype=np.intp), places.r
        self._y = np.zeros(len(model.equations.channels))
        self._said: list[str] = []
        places.u[:] = model.u0[self._places]

    def begin(self) -> None:
        pass

    def give(self) -> None:
        self._u[self._places] = self.inputs

    def take(self) -> None:
        try:
            self._y = self._observe(self._t, self._x, self._u, self._p)
        except SolverError as error:
            raise PartnerError(self.name, str(error)) from None
        self._y.take(self._taken, out=self.outputs, mode="clip")

    def record(self) -> None:
        np.concatenate([self._y, self._u, self._p]).take(self._kept, out=self._kept_row, mode="clip")

    def send(self, t: float, h: float, slopes: FloatArray | None = None) -> None:
        origin = float(self._x[self._rows.origin])
        self.give()
        for at in sample_times(origin, self._t, t + h, self._h):
            if slopes is not None:
                self._u[self._places] = _followed(self.inputs, slopes, max(at - t, 0.0))
            try:
                following = self._step(at, self._x, self._u, self._p, self._h)
            except SolverError as error:
                raise PartnerError(self.name, f"the sample at t = {at:.9g} s could not be taken: {error}") from None
            said = verdict(self._rows, self._names, self._u, self._x, following, at)
            self._said += [said] if said else []
            self._x = following
        if slopes is not None:
            self.inputs[:] = _followed(self.inputs, slopes, h)
            self.give()
        self._t = time_reached(origin, t + h, self._h)
        self.take()

    def receive(self) -> None:
        pass

    def save(self) -> Any:
        return self._t, self._x.copy(), self._u.copy(), self._y.copy(), len(self._said), self._p

    def restore(self, state: Any) -> None:
        self._t, said, self._p = state[0], state[4], state[5]
        self._x, self._u, self._y = (part.copy() for part in state[1:4])
        del self._said[said:]

    def forget(self, state: Any) -> None:
        pass

    def change(self, values: Mapping[str, float]) -> None:
        self._p, inputs = changed_values(self.name, self._model, values, self._t, self._x, self._u, self._p)
        for i, value in inputs.items():
            self._u[i] = value

    def close(self) -> str:
        if not self._said:
            return ""
        refused, failed = (int(self._x[row]) for row in (self._rows.refused, self._rows.failed))
        more = f"; and {len(self._said) - TOLD} more such messages" if len(self._said) > TOLD else ""
        return f"component '{self.name}': {refused} samples were refused, {failed} failed: {'; '.join(self._said[:TOLD])}{more}"


def _followed(values: FloatArray, slopes: FloatArray, after: float) -> FloatArray:
    """Return inputs some time after they had these values and first and second derivatives."""
    result: FloatArray = values + after * slopes[0] + after * after / 2 * slopes[1]
    return result
