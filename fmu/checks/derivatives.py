"""Directional derivatives against central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kingpost.base.arrays import FloatArray
from kingpost.fmu.checks.check import Verdict, finding, not_applicable, passed, warning
from kingpost.fmu.checks.fmu_under_test import FmuUnderTest, Run
from kingpost.fmu.file.variables import Variable
from kingpost.fmu.instance.instance import Feed, Instance
from kingpost.fmu.instance.modelexchange import ModelExchange

#: Knowns that are tried one by one.
MOST = 40
STEPS_BEFOREHAND = 5
#: Step of a difference, relative to the value: the cube root of the precision, where both its errors are about equal.
DELTA = float(np.finfo(float).eps) ** (1 / 3)
#: Differences agree with derivatives if they do so to this relative precision, or within their own error.
AGREES = 1e-5
#: A derivative that is right to this part is rough, but of use to a solver.
ROUGH = 0.1
#: A part of a value that is nothing.
NOTHING = 1e-13
#: Values on either side by which it is found how much they scatter.
NEIGHBOURS = 8
#: Where differences and derivatives disagree at first, so many widths are tried, up to this one, relative to the value.
WIDTHS, WIDEST = 4, 0.01


@dataclass(frozen=True)
class Compared:
    """A pair of derivative and difference that do not agree."""

    unknown: str
    known: str
    derivative: float
    difference: float
    #: Whether the model structure says that the one does not depend on the other.
    unrelated: bool = False

    @property
    def grave(self) -> bool:
        """Whether a solver that uses the derivative would go astray: it is not even roughly what differences give."""
        if self.unrelated:
            return False
        return not abs(self.derivative - self.difference) <= ROUGH * max(abs(self.derivative), abs(self.difference))

    def __str__(self) -> str:
        return (
            f"d '{self.unknown}' / d '{self.known}' is said to be {self.derivative:.9g}, differences give {self.difference:.9g}"
            f"{', though the model structure says that the one does not depend on the other' if self.unrelated else ''}"
        )


def directional_derivatives(subject: FmuUnderTest) -> Verdict:
    """Compare in initialisation mode, then after some steps."""
    outputs = [variable for variable in subject.outputs if variable.elements == 1]
    inputs = [variable for variable in subject.inputs if variable.elements == 1][:MOST]
    if subject.fmu.interface == "model-exchange":
        return _model_exchange(subject, outputs, inputs)
    if not inputs or not outputs:
        return not_applicable("there are no pairs of real scalar inputs and outputs")
    instance = subject.load()
    instance.enter_initialization(subject.times.t_start, subject.times.t_stop)
    wrong, pairs = _by_inputs(instance, outputs, inputs)
    if wrong:
        return _finding("in initialisation mode", wrong, pairs)
    instance.exit_initialization()
    run = Run(subject, instance)
    run.steps(subject.steps(STEPS_BEFOREHAND))
    wrong, _ = _by_inputs(instance, outputs, inputs)
    if wrong and all(item.difference == 0 for item in wrong):
        # This FMU computes outputs in its steps only; between them differences say nothing.
        return passed(f"{pairs} pairs agree in initialisation mode; between steps outputs do not follow inputs at once")
    if wrong:
        return _finding(f"at t = {run.time:g} s", wrong, pairs)
    return passed(
        f"{pairs} pairs of outputs and inputs agree with differences, in initialisation mode and at t = {run.time:g} s"
    )


def _model_exchange(subject: FmuUnderTest, outputs: Sequence[Variable], inputs: Sequence[Variable]) -> Verdict:
    """Compare rates and outputs, by inputs and by states, in continuous-time mode."""
    run = subject.start()
    run.steps(subject.steps(STEPS_BEFOREHAND))
    instance = run.instance
    assert isinstance(instance, ModelExchange)
    rates = [subject.variables[unknown.variable.name] for unknown in subject.fmu.description.derivatives]
    if any(rate.elements != 1 for rate in rates):
        return not_applicable("some states are arrays")
    unknowns = list(dict.fromkeys([*outputs, *rates]))
    wrong, pairs = _by_inputs(instance, unknowns, inputs)
    states = [subject.variables[rate.declared.derivative.name] for rate in rates]
    more, number = _by_states(instance, unknowns, states)
    wrong, pairs = wrong + more, pairs + number
    if wrong:
        return _finding(f"at t = {run.time:g} s", wrong, pairs)
    return passed(f"{pairs} pairs agree with differences at t = {run.time:g} s")


def _by_inputs(instance: Instance, unknowns: Sequence[Variable], inputs: Sequence[Variable]) -> tuple[list[Compared], int]:
    wrong, feed = [], Feed(instance, unknowns)
    for known in inputs:
        base = float(instance.get(known)[0])
        size = known.number("nominal") or max(abs(base), 1.0)

        def at(value: float, known: Variable = known) -> FloatArray:
            instance.set(known, [value])
            return feed.read()

        wrong += _compare(instance, unknowns, known, at, base, size)
        instance.set(known, [base])
    return wrong, len(unknowns) * len(inputs)


def _by_states(instance: ModelExchange, unknowns: Sequence[Variable], states: Sequence[Variable]) -> tuple[list[Compared], int]:
    wrong, feed, x = [], Feed(instance, unknowns), instance.states()
    for i, known in enumerate(states[:MOST]):

        def at(value: float, i: int = i) -> FloatArray:
            moved = x.copy()
            moved[i] = value
            instance.set_states(moved)
            return feed.read()

        wrong += _compare(instance, unknowns, known, at, float(x[i]), known.number("nominal") or max(abs(x[i]), 1.0))
        instance.set_states(x)
    return wrong, len(unknowns) * min(len(states), MOST)


def _compare(
    instance: Instance,
    unknowns: Sequence[Variable],
    known: Variable,
    at: Callable[[float], FloatArray],
    base: float,
    size: float,
) -> list[Compared]:
    """Return the unknowns whose derivative is not what differences say, within the error that these have."""
    middle = at(base)
    said = instance.directional_derivative(unknowns, [known], [1.0])
    # What the whole range of the known changes by less than this is nothing.
    nothing = NOTHING * np.maximum(np.abs(middle), [variable.number("nominal") or 1.0 for variable in unknowns]) / size
    found = _difference(at, base, DELTA * size)
    off = ~_agrees(said, found, nothing)
    if off.any():
        # Curvature and rounding spoil differences, and those of large numbers more than their own size tells.
        found, error = _best_difference(at, base, size)
        off &= ~_agrees(said, found, error + nothing)
    # A variable by itself is no pair: an output may be a state at the same time.
    return [
        Compared(unknown.name, known.name, float(said[i]), float(found[i]), _unrelated(instance, unknown, known))
        for i, unknown in enumerate(unknowns)
        if off[i] and unknown.reference != known.reference
    ]


def _agrees(said: FloatArray, found: FloatArray, error: FloatArray) -> npt.NDArray[np.bool_]:
    """Say which derivatives are what differences say; one that is no number never is."""
    return np.abs(said - found) <= AGREES * np.maximum(np.abs(said), np.abs(found)) + 10 * error


def _difference(at: Callable[[float], FloatArray], base: float, width: float) -> FloatArray:
    return (at(base + width) - at(base - width)) / (2 * width)


def _noise(at: Callable[[float], FloatArray], base: float, spacing: float) -> FloatArray:
    """Return by how much values scatter, which rounding inside the FMU makes them do.

    Fourth differences of neighbours hold next to nothing of a smooth function, and of a scatter with deviation s, since
    1 + 16 + 36 + 16 + 1 = 70, have the deviation s sqrt 70 (Hamming; Moré and Wild, Estimating computational noise, 2011).
    """
    values = np.array([at(base + k * spacing) for k in range(-NEIGHBOURS, NEIGHBOURS + 1)])
    return np.asarray(np.sqrt(np.mean(np.diff(values, 4, axis=0) ** 2, axis=0) / 70))


def _best_difference(at: Callable[[float], FloatArray], base: float, size: float) -> tuple[FloatArray, FloatArray]:
    """Return differences, each of the width that has the least error, and these errors."""
    widths = size * np.geomspace(DELTA, WIDEST, WIDTHS)
    # Next to each other, values may be rounded to the same number; where they are far apart, their scatter shows.
    noise = np.max([_noise(at, base, width) for width in widths[:-1]], axis=0) + np.finfo(float).eps * np.abs(at(base))
    found, least = np.zeros_like(noise), np.full_like(noise, np.inf)
    for width in widths:
        narrow, wide = _difference(at, base, width), _difference(at, base, 2 * width)
        # The error of a central difference grows with the square of its width: they differ by 3 times that of the narrow one.
        error = np.abs(wide - narrow) + 4 * noise / width
        better = error < least
        found, least = np.where(better, narrow, found), np.where(better, error, least)
    return found, least


def _unrelated(instance: Instance, unknown: Variable, known: Variable) -> bool:
    description = instance.fmu.description
    for entry in (*description.outputs, *description.derivatives):
        if entry.variable.name == unknown.name and entry.dependencies is not None:
            return all(variable.name != known.name for variable in entry.dependencies)
    return False


def _finding(where: str, wrong: Sequence[Compared], pairs: int) -> Verdict:
    ordered = sorted(wrong, key=lambda item: not item.grave)
    first, *others = (str(item) for item in ordered)
    weigh = finding if ordered[0].grave else warning
    return weigh(f"{len(wrong)} of {pairs} pairs disagree {where}: {first}", *others[:10])
