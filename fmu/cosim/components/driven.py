"""FMUs with inputs that follow a path of their own: a trajectory, a history, a file or a formula, whatever the master does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Quantity
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.fmu.cosim.components.described import Places, Running, Signal
from kingpost.fmu.cosim.description.system import CosimError
from kingpost.mechanism.elements import TIME
from kingpost.mechanism.values import Values
from kingpost.registry.pluginset import PluginSet
from kingpost.simulation.grid import Grid
from kingpost.simulation.signals import Course, course_of


def driven_inputs(name: str, signals: Mapping[str, Signal], given: Mapping[str, Any]) -> dict[str, Course]:
    """Return the courses of inputs of a component; refuse what is no input, or cannot be followed."""
    inputs = {label: signal for label, signal in signals.items() if signal.causality == "input"}
    found = {}
    for label, signal in given.items():
        where = f"component '{name}'"
        if label not in inputs:
            raise CosimError(
                f"{where}: it has no input '{label}'{closest(label, inputs)} Inputs: {listed(inputs)}.", path=("inputs", label)
            )
        if inputs[label].kind != "real":
            raise CosimError(f"{where}: input '{label}' is no real number, so it cannot move", path=("inputs", label))
        if callable(signal) or isinstance(signal, np.ndarray):
            raise CosimError(
                f"{where}: input '{label}' is a Python function or a table for output times; give a trajectory, a history or a "
                "file",
                path=("inputs", label),
            )
        target = Quantity(label, inputs[label].unit or "1")
        try:
            found[label] = course_of(target, signal, Values({}, {}, {}), Grid(0.0, 1.0, 1, 1), PluginSet())
        except MechanismError as error:
            raise CosimError(f"{where}: {error}", path=("inputs", label)) from None
    return found


class Path:
    """Values of a course at single times, from the right and from the left."""

    def __init__(self, course: Course) -> None:
        self._polynomials, self._held, self._formula = course.polynomials, course.held, None
        if course.formula is not None:
            t = ca.SX.sym(TIME)
            self._formula = ca.Function("value", [t], [ca.SX(course.formula.value(t, {TIME: t}))])

    def value(self, t: float, before: bool = False) -> float:
        """Return the value at ``t``, or what it is just ``before`` it."""
        if self._held is not None:
            return float(self._held[0])
        if self._formula is not None:
            return float(self._formula(t))
        assert self._polynomials is not None
        side = np.searchsorted(self._polynomials.breaks, t, side="left" if before else "right")
        return float(self._polynomials.around(np.array([side]), np.array([t]))[0, 0])


class DrivenFmu(Running):
    """An FMU whose inputs are partly connected and partly follow paths.

    Over a step those on paths are the parabola through their values at its beginning, middle and end, so that values at
    communication points are exact; an FMU that cannot follow it gets means, as it does with extrapolated inputs.
    """

    by_hand = "some of its inputs follow paths"

    def __init__(
        self, name: str, courses: Mapping[str, Course], places: Places, t_start: float, start: Callable[[Places], Running]
    ) -> None:
        self.name = name
        self.inputs, self.outputs = places.u, places.y
        self._count = len(places.inputs)
        self._paths = [Path(course) for course in courses.values()]
        self._own = replace(places, inputs=[*places.inputs, *courses], u=np.zeros(self._count + len(courses)), moving=True)
        self._partner = start(self._own)
        self.can_go_back, self.varies_steps = self._partner.can_go_back, self._partner.varies_steps
        self.inputs[:] = self._own.u[: self._count]
        self._t = t_start

    def _fill(self, t: float) -> None:
        self._own.u[: self._count] = self.inputs
        self._own.u[self._count :] = [path.value(t) for path in self._paths]

    def begin(self) -> None:
        self._partner.begin()

    def give(self) -> None:
        self._fill(self._t)
        self._partner.give()

    def take(self) -> None:
        self._partner.take()

    def record(self) -> None:
        self._partner.record()

    def send(self, t: float, h: float, slopes: FloatArray | None = None) -> None:
        self._fill(t)
        self._t = t + h
        begin = self._own.u[self._count :]
        middle = np.array([path.value(t + h / 2) for path in self._paths])
        end = np.array([path.value(t + h, before=True) for path in self._paths])
        both = np.zeros((2, len(self._own.u)))
        if slopes is not None:
            both[:, : self._count] = slopes
        both[0, self._count :] = (4 * middle - 3 * begin - end) / h
        both[1, self._count :] = 4 * (begin - 2 * middle + end) / h**2
        self._partner.send(t, h, both if slopes is not None or both.any() else None)

    def receive(self) -> None:
        self._partner.receive()
        self.inputs[:] = self._own.u[: self._count]

    def save(self) -> Any:
        return self._t, self._partner.save()

    def restore(self, state: Any) -> None:
        self._t = state[0]
        self._partner.restore(state[1])

    def forget(self, state: Any) -> None:
        self._partner.forget(state[1])

    def change(self, values: Mapping[str, float]) -> None:
        self._partner.change(values)

    def close(self) -> str:
        return self._partner.close()
