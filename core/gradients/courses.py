"""Inputs that are held at one value after another: every value is something to take a gradient with respect to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kingpost.base.arrays import FloatArray
from kingpost.gradients.targets import Directions
from kingpost.simulation.input_rows import ON_STEP, input_courses
from kingpost.simulation.run import Simulation
from kingpost.simulation.signals import Signal


@dataclass(frozen=True, eq=False)
class HeldCourse:
    """An input of a run with stairs: from when each of its values holds, and which of them each row of inputs has."""

    name: str
    unit: str
    time: FloatArray
    values: FloatArray
    row_of: npt.NDArray[np.int_]
    column: int

    def gradient(self, by_rows: FloatArray, by_first: float) -> FloatArray:
        """Return the derivatives with respect to all values; ``by_first`` is what the start of the run adds to the first."""
        found = np.zeros(len(self.time))
        np.add.at(found, self.row_of, by_rows[:, self.column])
        found[self.row_of[0]] += by_first
        return found

    def direction(self, simulation: Simulation) -> Directions:
        """Return the direction in which the value at the start moves."""
        inputs = np.zeros((simulation.rows.values.shape[1], 1))
        inputs[self.column] = 1.0
        return Directions((self.name,), (self.unit,), np.zeros((len(simulation.mechanism.parameters), 1)), inputs)


@dataclass(frozen=True, eq=False)
class CourseGradient:
    """The gradient with respect to every value of an input that is held at one after another."""

    #: From when each value holds, s.
    time: FloatArray
    values: FloatArray
    gradient: FloatArray
    unit: str


def held_courses(simulation: Simulation, names: list[str], signals: Mapping[str, Signal]) -> dict[str, HeldCourse]:
    """Return those of some inputs that are held at one value after another, and change between steps alone."""
    rows, grid, mechanism = simulation.rows, simulation.grid, simulation.mechanism
    stairs = [name for name in names if name not in rows.layout.forms and name not in rows.layout.driven]
    if not stairs:
        return {}
    courses = input_courses(mechanism, simulation.problem.values, signals, grid, simulation.plugins)
    units = {signal.name: signal.unit for signal in mechanism.inputs}
    found = {}
    for name in stairs:
        course, column = courses[name], rows.layout.names.index(name)
        if course.held is not None:
            time, values = grid.times, course.held
            row_of = np.searchsorted(rows.first, np.arange(len(rows.starts)), side="right") - 1
        elif course.polynomials is not None:
            # Piece i + 1 begins at break i; before the first there is a piece with the same value.
            time, values = course.polynomials.breaks, course.polynomials.coefficients[1:, 0]
            after = rows.starts + ON_STEP * grid.step
            row_of = np.clip(course.polynomials.pieces_at(after) - 1, 0, len(time) - 1)
        else:
            continue
        found[name] = HeldCourse(name, units[name], time, np.asarray(values), np.asarray(row_of), column)
    return found
