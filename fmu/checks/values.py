"""Checks of getting and setting values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kingpost.fmu.checks.check import Verdict, finding, not_applicable, passed, warning
from kingpost.fmu.checks.fmu_under_test import FmuUnderTest, Run, difference, listed_few, not_finite
from kingpost.fmu.file.variables import Variable, settable
from kingpost.fmu.instance.instance import FmiError, Instance
from kingpost.fmu.instance.log import status_name

#: Inputs that are tried one by one.
MOST = 8
#: By which part of themselves start values are moved: so that it shows, and parameters so little that no model minds.
INPUT_MOVE, PARAMETER_MOVE = 0.01, 1e-9
#: Lines of details.
LINES = 6
DISCARD, ERROR, FATAL = 2, 3, 4
#: Types whose functions are tried with references that do not exist, and a value of each.
TRIED: dict[int, dict[str, Any]] = {
    2: {"Real": 1.0, "Integer": 1, "Boolean": True, "String": "text"},
    3: {"Float64": 1.0, "Int32": 1, "Boolean": True, "String": "text"},
}


def unknown_references(subject: FmuUnderTest) -> Verdict:
    """Get and set references that do not exist, each in an instance of its own: an error is the end of an instance."""
    highest = max((variable.reference for variable in subject.variables.values()), default=0)
    trials = [
        (reference, kind, verb)
        for reference in (highest + 1000, 0xFFFFFFF0)
        for kind in TRIED[subject.fmu.major]
        for verb in ("get", "set")
    ]
    count = subject.afford(len(trials), subject.manners.instantiate)
    accepted, fatal = [], []
    run = None
    for reference, kind, verb in trials[:count]:
        run = run or subject.start()
        name = f"{verb}{kind}({reference})"
        value = TRIED[subject.fmu.major][kind]
        arguments = ([reference],) if verb == "get" else ([reference], [value])
        function = getattr(run.instance.raw, f"{verb}{kind}")
        status = _status(run.instance, f"calling {name}, a reference that does not exist", function, *arguments)
        if status < DISCARD:
            accepted.append(f"{name} is answered with '{status_name(status)}'")
            continue
        if status == FATAL:
            fatal.append(f"{name} is answered with 'fatal', after which nothing may be called any more")
            if subject.only_once:
                break
        else:
            run.instance.free()
        run = None
    wrong = [*accepted, *fatal]
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        return warning(f"{wrong[0]}{more}", *wrong[1:LINES])
    return passed(f"{count} calls with references that do not exist are refused with an error")


def not_a_number(subject: FmuUnderTest) -> Verdict:
    """Set nan and inf; they must not come out again under the name of success."""
    inputs = subject.inputs[:MOST]
    parameters = [
        variable
        for variable in subject.variables.values()
        if variable.real and variable.causality == "parameter" and settable(variable) and variable.elements
    ][:MOST]
    if not inputs and not parameters:
        return not_applicable("there are no real inputs or parameters to set")
    answers: dict[str, int] = {}
    passed_on: list[str] = []
    trials = [(variable, bad) for variable in inputs or parameters for bad in (math.nan, math.inf)]
    for variable, bad in trials[:1] if subject.only_once else trials:
        subject.keep(finding(f"'{variable.name}' = {bad} is not survived", *passed_on))
        answer = _with_bad_value(subject, variable, bad, before=not inputs)
        if answer.startswith("passed on"):
            passed_on.append(f"'{variable.name}' = {bad}: {answer}")
        kind = answer.split(":")[0]
        answers[kind] = answers.get(kind, 0) + 1
    what = "inputs" if inputs else "parameters"
    counted = ", ".join(f"{count} {answer}" for answer, count in answers.items())
    if passed_on:
        return warning(f"{passed_on[0]} ({counted})", *passed_on[1:LINES])
    return passed(f"nan and inf in {len(inputs or parameters)} {what}: {counted}")


def first_outputs(subject: FmuUnderTest) -> Verdict:
    """Look at outputs between initialisation and the first step."""
    run = subject.start()
    labels, first = run.observed.labels, run.row()
    bad = not_finite(labels, first)
    if bad:
        return finding(f"not finite after initialisation: {bad}")
    differs = difference(labels, first, run.row())
    if differs:
        return finding(f"read twice, {differs}")
    if subject.fmu.interface != "co-simulation" or not subject.fmu.can("canHandleVariableCommunicationStepSize"):
        return passed(f"{len(first)} values are finite")
    try:
        run.instance.step(subject.times.t_start, 0.0)
    except FmiError as error:
        return passed(
            f"{len(first)} values are finite (a step of zero, to compare with, is refused: {status_name(error.status or 0)})"
        )
    differs = difference(labels, first, run.row())
    if differs:
        return finding(f"outputs before the first step are not those of a step of zero: {differs}")
    return passed(f"{len(first)} values are finite, and the same after a step of zero")


def set_values(subject: FmuUnderTest) -> Verdict:
    """Set what may be set before, during and after initialisation, and read it back."""
    instance = subject.load()
    first = {
        variable: _moved(variable, INPUT_MOVE if variable.causality == "input" else PARAMETER_MOVE)
        for variable in subject.variables.values()
        if settable(variable) and variable.declared.type not in ("Binary", "Clock")
    }
    values = {variable: value for variable, value in first.items() if value is not None}
    wrong = _refused(instance, values, "before initialisation")
    instance.enter_initialization(subject.times.t_start, subject.times.t_stop)
    # Of a guess, the FMU may make something else in initialisation.
    exact = {variable: value for variable, value in values.items() if variable.declared.initial != "approx"}
    wrong += _not_read_back(instance, exact, "in initialisation")
    inputs = {variable: value for variable, value in values.items() if variable.causality == "input"}
    wrong += _refused(instance, inputs, "in initialisation")
    instance.exit_initialization()
    later = {
        variable: value
        for variable, value in values.items()
        if variable in inputs or (variable.causality == "parameter" and variable.variability == "tunable")
    }
    if subject.fmu.interface == "model-exchange":  # discrete inputs and parameters change at events only
        instance.call("entering event mode", instance.raw.enterEventMode)
    wrong += _refused(instance, later, "after initialisation")
    wrong += _not_read_back(instance, later, "after initialisation")
    if wrong:
        return finding(f"{wrong[0]}{f' (and {len(wrong) - 1} more)' if len(wrong) > 1 else ''}", *wrong[1:LINES])
    fixed = [variable for variable in values if variable.causality == "parameter" and variable.variability == "fixed"]
    accepted = [v.name for v in fixed if _status(instance, f"setting '{v.name}'", lambda v=v: instance.set(v, values[v])) < 2]
    note = f"; fixed parameters can be set later, too: {listed_few(accepted, 3)}" if accepted else ""
    return passed(f"{len(values)} before and {len(later)} after initialisation are taken and read back{note}")


def _with_bad_value(subject: FmuUnderTest, variable: Variable, bad: float, before: bool) -> str:
    """Set a value that is no number, before initialisation or after some steps; return what came of it."""
    instance = subject.load()
    values = [bad] * variable.elements
    try:
        instance.initialize(subject.times.t_start, subject.times.t_stop, None, {variable: values} if before else None)
    except FmiError:
        return "refused"
    run = Run(subject, instance)
    if not before:
        run.steps(subject.steps(3, least=1) - 1)
        try:
            instance.set(variable, values)
        except FmiError:
            return "refused"
    try:
        # Not through run.step(), which would set the inputs anew.
        instance.step(run.time, subject.times.step)
        row = run.row()
    except FmiError as error:
        return f"answered with '{status_name(error.status or ERROR)}'"
    run.finish()
    spoiled = not_finite(run.observed.labels, row)
    return f"passed on: the step reports success, and {spoiled}" if spoiled else "without effect"


def _status(instance: Instance, what: str, function: Callable[..., Any], *arguments: Any) -> int:
    try:
        instance.call(what, function, *arguments)
    except FmiError as error:
        return ERROR if error.status is None else error.status
    return 0


def _moved(variable: Variable, part: float) -> list[Any] | None:
    """Return the start value, moved a little if it is a real number, so that a setting that is ignored shows."""
    start = variable.start()
    if start is None or not variable.real:
        return start
    high = variable.number("max")
    nominal = (variable.number("nominal") or 1.0) if part == INPUT_MOVE else 0.0
    moved = [value + part * (abs(value) or nominal) for value in start]
    return start if high is not None and max(moved) > high else moved


def _refused(instance: Instance, values: Mapping[Variable, Sequence[Any]], when: str) -> list[str]:
    wrong = []
    for variable, value in values.items():
        try:
            instance.set(variable, value)
        except FmiError as error:
            wrong.append(f"{variable.causality} '{variable.name}' cannot be set {when}: {error}")
    return wrong


def _not_read_back(instance: Instance, values: Mapping[Variable, Sequence[Any]], when: str) -> list[str]:
    wrong = []
    for variable, value in values.items():
        try:
            got = [item.decode("utf-8") if isinstance(item, bytes) else item for item in instance.get(variable)]
        except FmiError as error:
            wrong.append(f"'{variable.name}' cannot be read {when}: {error}")
            continue
        expected = [float(np.float32(item)) for item in value] if variable.access == "Float32" else list(value)
        if got != expected:
            wrong.append(f"'{variable.name}' was set to {listed_few([repr(x) for x in expected])} and reads {got!r} {when}")
    return wrong
