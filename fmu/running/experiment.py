"""From when to when an FMU runs, and in which steps: what the user says, else what the FMU says."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from dataclasses import dataclass

from kingpost.base.errors import SolverError
from kingpost.fmu.file.opened import Fmu, FmuError, number_in

#: Steps of a run if nobody says how long a step is.
DEFAULT_STEPS = 1000
#: Memory of a machine that does not say how much it has, in bytes.
ASSUMED_MEMORY = 8e9
#: A ratio of two times is taken as whole if it is so to this relative precision.
WHOLE_RATIO = 1e-9


@dataclass(frozen=True)
class Experiment:
    """Start, stop and communication step, in s."""

    t_start: float
    t_stop: float
    step: float


def experiment(
    fmu: Fmu, t_stop: float | None = None, step: float | None = None, t_start: float | None = None, span: float | None = None
) -> Experiment:
    """Return the times of a run; ``span`` is its length if neither the user nor the FMU says when to stop.

    A step that is the FMU's and does not divide the time evenly is shortened, if the FMU can handle that.
    """
    begin = t_start if t_start is not None else fmu.default("startTime") or 0.0
    end = t_stop if t_stop is not None else fmu.default("stopTime")
    if end is None and span is not None:
        end = begin + span
    if end is None:
        raise FmuError(
            f"'{fmu.path.name}' does not say how long to run: its description has no stop time. Give an end time (t_end, in s)"
        )
    if not (math.isfinite(begin) and math.isfinite(end)) or end <= begin:
        raise SolverError(f"the run goes from {begin} s to {end} s; the end must be finite and after the start")
    if step is not None and not (math.isfinite(step) and step > 0):
        raise SolverError(f"the step is {step} s; it must be positive and finite")
    if step is None:
        step = _own_step(fmu)
        if step is None or step > end - begin:
            step = (end - begin) / DEFAULT_STEPS
        elif not fixed_steps(fmu):
            count = (end - begin) / step
            if abs(count - round(count)) > WHOLE_RATIO * count:
                step = (end - begin) / math.ceil(count)
    if not step > 0:
        raise SolverError(f"the run goes from {begin} s to {end} s, which is too short to be divided into steps")
    return Experiment(begin, end, step)


def check_size(fmu: Fmu, times: Experiment, numbers: int, own: bool) -> None:
    """Refuse a run whose samples of so many ``numbers`` this machine cannot hold; ``own``: the FMU had a say in its times."""
    samples = (times.t_stop - times.t_start) / times.step + 1
    needed, there = 8.0 * samples * (numbers + 1), _room()
    if needed <= there:
        return
    suggested = ", as the FMU suggests" if own else ""
    most = max(1, int(there / (8 * (numbers + 1))))
    raise FmuError(
        f"'{fmu.path.name}' from {times.t_start:g} s to {times.t_stop:g} s in steps of {times.step:g} s{suggested}, makes "
        f"{samples:.3g} samples of {numbers} numbers: {_gigabytes(needed)}, and this machine takes {_gigabytes(there)}, or "
        f"{most:.3g} such samples. Give an earlier end (t_end), for instance {times.t_start + most * times.step:.3g} s, "
        "a longer step, or fewer outputs"
    )


def _room() -> float:
    """Return how many bytes of samples may come: half of the memory, and what is free where they are kept during a run."""
    try:
        memory = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # a system that does not say
        memory = ASSUMED_MEMORY
    return min(memory / 2, shutil.disk_usage(tempfile.gettempdir()).free)


def _gigabytes(number: float) -> str:
    return f"{number / 1e9:.3g} GB"


def fixed_steps(fmu: Fmu) -> bool:
    """Say whether an FMU takes communication steps of one length only."""
    return fmu.interface == "co-simulation" and not fmu.can("canHandleVariableCommunicationStepSize")


def _own_step(fmu: Fmu) -> float | None:
    texts = fmu.capabilities[fmu.interface]
    for number in (fmu.default("stepSize"), number_in(texts.get("fixedInternalStepSize"))):
        if number is not None and math.isfinite(number) and number > 0:
            return number
    return None
