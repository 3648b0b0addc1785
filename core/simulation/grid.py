"""The times of a run: a fixed step, and the samples that are kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError

#: Samples are kept about this often unless the user says otherwise (s).
DEFAULT_OUTPUT_STEP = 0.01
#: A ratio of two times is taken as whole if it is so to this relative precision: 0.3 / 0.1 is 3 to 2e-16.
WHOLE_RATIO = 1e-9


@dataclass(frozen=True)
class Grid:
    """``samples`` intervals of ``substeps`` steps of ``step`` seconds, from ``t_start``."""

    t_start: float
    step: float
    substeps: int
    samples: int

    @cached_property
    def times(self) -> FloatArray:
        """The sample times, the start included."""
        steps: FloatArray = np.arange(self.samples + 1, dtype=np.float64) * self.substeps
        return self.t_start + steps * self.step

    @property
    def output_step(self) -> float:
        """The time between two samples."""
        return self.substeps * self.step


def fixed_step_grid(t_start: float, t_end: float, step: float, output_step: float | None) -> Grid:
    """Return the grid of a fixed-step run; every time must be a whole number of steps."""
    _check_times(t_start, t_end, step=step, output_step=output_step)
    steps = _whole(t_end - t_start, step)
    if steps is None:
        n = math.floor((t_end - t_start) / step)
        raise SolverError(
            f"from {t_start:g} s to {t_end:g} s is not a whole number of steps of {step:g} s; end at "
            f"{t_start + n * step:.10g} s or {t_start + (n + 1) * step:.10g} s, or use a step of "
            f"{(t_end - t_start) / (n + 1):.10g} s"
        )
    if output_step is None:
        most = max(1, round(DEFAULT_OUTPUT_STEP / step))
        substeps = next(k for k in range(most, 0, -1) if steps % k == 0)
    else:
        whole = _whole(output_step, step)
        if whole is None:
            n = max(1, math.floor(output_step / step))
            raise SolverError(
                f"an output step of {output_step:g} s is not a whole number of steps of {step:g} s; use "
                f"{n * step:.10g} s or {(n + 1) * step:.10g} s"
            )
        substeps = whole
        _samples(t_start, t_end, output_step)
    return Grid(t_start, step, substeps, steps // substeps)


def output_grid(t_start: float, t_end: float, output_step: float | None) -> Grid:
    """Return the grid of a run whose solver chooses its own steps: one 'step' for each sample."""
    _check_times(t_start, t_end, output_step=output_step)
    if output_step is None:
        samples = max(1, math.ceil((t_end - t_start) / DEFAULT_OUTPUT_STEP * (1 - WHOLE_RATIO)))
        return Grid(t_start, (t_end - t_start) / samples, 1, samples)
    return Grid(t_start, output_step, 1, _samples(t_start, t_end, output_step))


def _samples(t_start: float, t_end: float, output_step: float) -> int:
    samples = _whole(t_end - t_start, output_step)
    if samples is None:
        n = math.floor((t_end - t_start) / output_step)
        raise SolverError(
            f"from {t_start:g} s to {t_end:g} s is not a whole number of output steps of {output_step:g} s; end at "
            f"{t_start + n * output_step:.10g} s or {t_start + (n + 1) * output_step:.10g} s"
        )
    return samples


def _whole(length: float, part: float) -> int | None:
    ratio = length / part
    n = round(ratio)
    return n if n >= 1 and abs(ratio - n) <= WHOLE_RATIO * n else None


def _check_times(t_start: float, t_end: float, **steps: float | None) -> None:
    if not (math.isfinite(t_start) and math.isfinite(t_end)) or t_end <= t_start:
        raise SolverError(f"the run goes from {t_start} s to {t_end} s; the end must be finite and after the start")
    for name, step in steps.items():
        if step is not None and not (math.isfinite(step) and step > 0):
            raise SolverError(f"{name.replace('_', ' ')} is {step} s; it must be positive and finite")
