"""The time loop around an FMU."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.fmu.file.opened import Fmu
from kingpost.fmu.file.variables import Variable, variables_of
from kingpost.fmu.instance.instance import SAME_TIME, Feed, FmiError, FmuEndedError, Instance, StepDiscardedError
from kingpost.fmu.instance.log import Log
from kingpost.fmu.instance.modelexchange import make_instance
from kingpost.fmu.instance.shorter_steps import step_in_parts
from kingpost.fmu.running.job import Job

#: Messages of the FMU that go with an error.
LAST = 3


@dataclass(frozen=True)
class Ending:
    """How a run ended: ``"complete"``, ``"failed"``, ``"ended by the FMU"``, or ``"discarded"``.

    The last one says that the FMU discarded a step, and that a run which saves its state before every step could go on.
    ``time`` is that of the last sample, where the FMU ended the run between two communication points.
    """

    outcome: str
    message: str = ""
    statistics: Mapping[str, Any] = field(default_factory=dict)
    time: float | None = None


def march(
    fmu: Fmu,
    folder: Path,
    job: Job,
    inputs: FloatArray,
    log: Log,
    keep: Callable[[int, FloatArray], None],
    trail: Callable[[str], None] = lambda call: None,
) -> tuple[Ending, Instance | None]:
    """Run an FMU over the times of ``job``, hand each sample to ``keep``, and return how it ended.

    Inputs are set at the beginning of the step over which they hold; a sample is taken after the inputs of its time were set.
    An FMU that ends the run takes no more inputs, but shows the values with which it ended.
    The instance is returned if it can still be ended properly.
    """
    known = variables_of(fmu)
    recorded = [known[name] for name in job.outputs]
    fed = [known[name] for name in job.inputs]
    started = time.perf_counter()
    what = "starting"
    shortened = done = 0
    shown: Feed | None = None
    try:
        instance = make_instance(
            fmu,
            folder,
            name=fmu.identifier,
            log=log,
            trail=trail,
            solver=job.solver,
            t_span=job.t_end - job.t_start,
        )
        instance.may_go_back = job.saving
        settings: dict[Variable, Sequence[Any]] = {known[name]: values for name, values in job.settings.items()}
        settings |= _first_inputs(fed, inputs[0])
        instance.initialize(job.t_start, job.t_end, job.tolerance, settings)
        shown, inlet = Feed(instance, recorded), Feed(instance, fed)
        row = shown.read()
        fault = not_finite(shown.labels, row)
        if fault:
            return _failed(f"before the first step {fault}, though the FMU reports success", log), instance
        keep(0, row)
        begun = time.perf_counter()
        for k in range(job.steps):
            what = f"the step from t = {job.time(k):.9g} s by {job.step:g} s"
            shortened += take_step(instance, job.time(k), job.step, job.saving)
            if len(inlet):
                instance.feed(inlet, inputs[k + 1])
            row = shown.read()
            fault = not_finite(shown.labels, row)
            if fault:
                advice = f"try a step smaller than {job.step:g} s, or leave it out of the outputs"
                return _failed(f"after {what} {fault}, though the FMU reports success; {advice}", log), instance
            keep(k + 1, row)
            done = k + 1
    except FmuEndedError as error:
        return _ended(error, job, shown, done, log, keep), instance
    except StepDiscardedError as error:
        if not fmu.can("canHandleVariableCommunicationStepSize"):
            why = "it takes steps of one length only, so shorter ones cannot be tried"
        elif error.unchanged or job.saving:
            why = "no shorter step was left to try"
        elif fmu.can("canGetAndSetFMUstate"):
            return Ending("discarded"), instance
        else:
            why = "it cannot go back to an earlier state, so shorter steps cannot be tried; choose a shorter one for all (step)"
        return _failed(f"{what} failed: {error}; {why}", log), None
    except FmiError as error:
        return _failed(f"{what} failed: {error}", log), None
    spent = time.perf_counter() - begun
    statistics = {"start_s": round(begun - started, 6), "steps_s": round(spent, 6)}
    return Ending("complete", "", statistics | ({"shortened": shortened} if shortened else {})), instance


def _ended(
    error: FmuEndedError,
    job: Job,
    shown: Feed | None,
    done: int,
    log: Log,
    keep: Callable[[int, FloatArray], None],
) -> Ending:
    """Keep what the FMU shows where it ended the run, if that is later than sample ``done``, and return the ending."""
    begin, end = job.time(done), job.time(done + 1)
    near = SAME_TIME * job.step
    if shown is None or done == job.steps or not begin + near < error.time <= end + near:
        return Ending("ended by the FMU", str(error))
    try:
        row = shown.read()
    except FmiError as refusal:
        return Ending("ended by the FMU", f"{error}; what it gives there cannot be read: {refusal}")
    fault = not_finite(shown.labels, row)
    if fault:
        return _failed(f"{error}, and there {fault}", log)
    keep(done + 1, row)
    return Ending("ended by the FMU", str(error), time=None if abs(error.time - end) <= near else error.time)


def take_step(instance: Instance, t: float, h: float, saving: bool) -> bool:
    """Take a step; if the FMU discards it, take it in shorter parts, if that can be, and say so."""
    state = instance.save() if saving else None
    try:
        instance.step(t, h)
    except StepDiscardedError as error:
        if not (saving or error.unchanged) or not instance.fmu.can("canHandleVariableCommunicationStepSize"):
            raise
        begin = error.t
        if state is not None and not error.unchanged:
            instance.restore(state)
            begin = t
        step_in_parts(instance.step, instance, begin, t + h - begin, error)
        return True
    finally:
        if state is not None:
            instance.forget(state)
    return False


def finish(instance: Instance) -> str:
    """End an instance; return what it says against that."""
    said = instance.finish()
    return f"the FMU could not be terminated: {said}" if said else ""


def not_finite(labels: Sequence[str], row: FloatArray) -> str:
    """Return the first value that is not finite, in words, or an empty text."""
    good = np.isfinite(row)
    if good.all():
        return ""
    first = int(np.argmin(good))
    more = int((~good).sum()) - 1
    return f"'{labels[first]}' is {row[first]}{f' (and {more} more are not finite)' if more else ''}"


def _first_inputs(variables: Sequence[Variable], row: FloatArray) -> dict[Variable, Sequence[Any]]:
    """Return the first values of inputs, so that the outputs at the start belong to them."""
    values: dict[Variable, Sequence[Any]] = {}
    place = 0
    for variable in variables:
        part = row[place : place + variable.elements]
        place += variable.elements
        values[variable] = [float(x) if variable.real else int(x) for x in part]
    return values


def _failed(message: str, log: Log) -> Ending:
    told = f". It said: {'; '.join(log.last(LAST))}" if log.messages else ""
    return Ending("failed", f"{message}{told}")
