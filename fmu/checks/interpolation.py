"""Claims about inputs and outputs between communication points: derivatives that an FMU says it takes and gives."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.fmu.checks.check import Verdict, finding, passed, warning
from kingpost.fmu.checks.fmu_under_test import FmuUnderTest, Run
from kingpost.fmu.file.opened import Fmu, number_in
from kingpost.fmu.file.variables import Variable
from kingpost.fmu.instance.instance import FmiError, Instance
from kingpost.fmu.instance.log import status_name

STEPS_BEFOREHAND = 2
#: Parts of a step over which inputs hold at their means, to compare with: inputs that change, up to 1 / 64 of the effect.
PARTS = 8
#: How many inputs are tried, and by which part of their nominal values they change over a step.
MOST, CHANGE = 20, 0.1
#: Followed inputs differ from held ones at least by this part of what is to be expected.
FELT = 0.5
#: An effect below this part of a value is too small to say anything.
NOTHING = 1e-9


def output_order(fmu: Fmu) -> int:
    """Return the highest derivative of outputs that an FMU says it gives."""
    return int(number_in(fmu.capabilities[fmu.interface].get("maxOutputDerivativeOrder")) or 0)


def takes_derivatives(fmu: Fmu) -> bool:
    """Say whether an FMU says that it takes derivatives of its inputs; in FMI 3 nobody does."""
    return fmu.major == 2 and fmu.can("canInterpolateInputs")


def interpolation(subject: FmuUnderTest) -> Verdict:
    """Give derivatives of inputs and see whether they are followed; ask for derivatives of outputs."""
    said = []
    if takes_derivatives(subject.fmu) and subject.inputs:
        verdict = _inputs(subject, subject.inputs[:MOST])
        if verdict.outcome == "finding":
            return verdict
        said.append(verdict.summary)
    order = output_order(subject.fmu)
    outputs = [variable for variable in subject.outputs if variable.elements == 1 and variable.causality == "output"]
    if order and outputs:
        fault = _outputs(subject, outputs[:MOST], order)
        if fault:
            return finding(fault, *subject.log.last())
        said.append(f"derivatives of {len(outputs)} output(s) up to order {order} are given")
    return passed("; ".join(said) or "there are no inputs or outputs to try it with")


def _inputs(subject: FmuUnderTest, inputs: Sequence[Variable]) -> Verdict:
    h = subject.times.step
    sizes = np.array([variable.number("nominal") or 1.0 for variable in inputs for _ in variable.labels])
    first = np.concatenate([np.array(variable.start() or [0.0] * variable.elements, dtype=float) for variable in inputs])
    rates = CHANGE * sizes / h
    before = subject.steps(STEPS_BEFOREHAND + 1) - 1
    scalars = [variable for variable in inputs if variable.elements == 1]
    if len(scalars) != len(inputs):
        return passed("arrays of inputs are not tried")

    def end(parts: int, followed: bool = False, rising: bool = False, begins: bool = False) -> FloatArray:
        run = subject.start()
        for _ in range(before):
            run.step(feed=False)
        for k in range(parts):
            a, b = k * h / parts, (k + 1) * h / parts
            values = first + rates * ((a + b) / 2 if rising else a if followed or begins else 0.0)
            for variable, value in zip(inputs, values, strict=True):
                run.instance.set(variable, [float(value)])
            if followed:
                _give_rates(run.instance, inputs, rates)
            run.instance.step(run.time + a, b - a)
        row = run.row()
        run.finish()
        return row

    try:
        followed = end(1, followed=True)
    except FmiError as error:
        return finding(f"it says that it interpolates inputs (canInterpolateInputs), but {error}", *subject.log.last())
    if not subject.fmu.can("canHandleVariableCommunicationStepSize"):
        return passed("derivatives of inputs are taken")
    # Each is compared with inputs that hold over steps of the same length, so that only the inputs differ.
    held, fine, still = end(1), end(PARTS, rising=True), end(PARTS)
    effect = np.abs(fine - still).max()
    # An FMU that looks at its inputs where the step begins, at a sample time, and not later, has nothing to follow.
    seen = np.abs(end(PARTS, begins=True) - still).max()
    if min(effect, seen) <= NOTHING * max(1.0, float(np.abs(fine).max())):
        return passed("derivatives of inputs are taken; they change no output in one step")
    part = float(np.abs(followed - held).max() / effect)
    if part < FELT:
        return warning(
            "it says that it interpolates inputs (canInterpolateInputs), and takes their derivatives without an effect",
            f"inputs that rise during a step should change outputs by {effect:.3g}; they change by {part * effect:.3g}",
        )
    return passed(f"inputs that rise during a step are followed: {part:.2f} of the effect of {PARTS} shorter steps")


def _give_rates(instance: Instance, inputs: Sequence[Variable], rates: FloatArray) -> None:
    count = len(inputs)
    references = (ctypes.c_uint * count)(*(variable.reference for variable in inputs))
    orders, values = (ctypes.c_int * count)(*([1] * count)), (ctypes.c_double * count)(*rates)
    instance.trail("giving derivatives of inputs")
    status = instance.function("SetRealInputDerivatives")(instance.handle, references, ctypes.c_size_t(count), orders, values)
    if status > 1:
        raise FmiError(f"fmi2SetRealInputDerivatives ends with status '{status_name(status)}'", status)


def _outputs(subject: FmuUnderTest, outputs: Sequence[Variable], order: int) -> str:
    run: Run = subject.start()
    run.steps(subject.steps(STEPS_BEFOREHAND))
    instance, count = run.instance, len(outputs)
    name = "GetRealOutputDerivatives" if subject.fmu.major == 2 else "GetOutputDerivatives"
    for each in range(1, order + 1):
        references = (ctypes.c_uint * count)(*(variable.reference for variable in outputs))
        orders, values = (ctypes.c_int * count)(*([each] * count)), (ctypes.c_double * count)()
        instance.trail("asking for derivatives of outputs")
        arguments = (instance.handle, references, ctypes.c_size_t(count), orders, values)
        more = () if subject.fmu.major == 2 else (ctypes.c_size_t(count),)
        status = instance.function(name)(*arguments, *more)
        what = f"it says that it gives derivatives of outputs up to order {order} (maxOutputDerivativeOrder), but"
        if status > 1:
            return f"{what} fmi{subject.fmu.major}{name} of order {each} ends with status '{status_name(status)}'"
        bad = [variable.name for variable, value in zip(outputs, values, strict=True) if not np.isfinite(value)]
        if bad:
            return f"{what} that of '{bad[0]}' of order {each} is not finite"
    run.finish()
    return ""
