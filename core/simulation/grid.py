"""The times of a run: a fixed step, and the samples that are kept; and what is too much of either, or too little."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError

#: Samples are kept about this often unless the user says otherwise (s).
DEFAULT_OUTPUT_STEP = 0.01
#: A ratio of two times is taken as whole if it is so to this relative precision: 0.3 / 0.1 is 3 to 2e-16.
WHOLE_RATIO = 1e-9
#: More steps than this are not begun: at one microsecond each they take three hours.
MOST_STEPS = 10**10
#: A step is at least this many times the distance of two neighbouring numbers at the largest time: steps are then equal to one
#: per cent, and times rise.
RESOLVED = 100
#: Bytes of a number in a result, and the memory (bytes) that samples may take where that of the machine is not known.
NUMBER, USUAL_MEMORY = 8, 64 * 2**30


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
        return self.times_of(0, self.samples + 1)

    def times_of(self, first: int, beyond: int) -> FloatArray:
        """Return the times of the samples from ``first`` on, ``beyond`` left out, to the bits of :attr:`times`."""
        steps: FloatArray = np.arange(first, beyond, dtype=np.float64) * self.substeps
        return self.t_start + steps * self.step

    @property
    def t_end(self) -> float:
        """The time of the last sample."""
        return float(self.times_of(self.samples, self.samples + 1)[0])

    @property
    def output_step(self) -> float:
        """The time between two samples."""
        return self.substeps * self.step


def fixed_step_grid(t_start: float, t_end: float, step: float, output_step: float | None) -> Grid:
    """Return the grid of a fixed-step run; every time must be a whole number of steps."""
    check_times(t_start, t_end, step=step, output_step=output_step)
    steps = _whole(t_end - t_start, step)
    if steps is None:
        n = math.floor((t_end - t_start) / step)
        raise SolverError(
            f"from {t_start:g} s to {t_end:g} s is not a whole number of steps of {step:g} s; end at "
            f"{t_start + n * step:.10g} s or {t_start + (n + 1) * step:.10g} s, or use a step of "
            f"{(t_end - t_start) / (n + 1):.10g} s"
        )
    if output_step is None:
        substeps = _largest_divisor(steps, max(1, round(DEFAULT_OUTPUT_STEP / step)))
    else:
        whole = _whole(output_step, step)
        if not math.isfinite(output_step / step):
            raise SolverError(f"an output step of {output_step:g} s is longer than the run, which lasts {t_end - t_start:g} s")
        if whole is None:
            n = max(1, math.floor(output_step / step))
            raise SolverError(
                f"an output step of {output_step:g} s is not a whole number of steps of {step:g} s; use "
                f"{n * step:.10g} s or {(n + 1) * step:.10g} s"
            )
        substeps = whole
        _samples(t_start, t_end, output_step)
    return _affordable(Grid(t_start, step, substeps, steps // substeps))


def output_grid(t_start: float, t_end: float, output_step: float | None) -> Grid:
    """Return the grid of a run whose solver chooses its own steps: one 'step' for each sample."""
    check_times(t_start, t_end, output_step=output_step)
    if output_step is None:
        samples = max(1, math.ceil((t_end - t_start) / DEFAULT_OUTPUT_STEP * (1 - WHOLE_RATIO)))
        check_times(t_start, t_end, output_step=(t_end - t_start) / samples)
        return _affordable(Grid(t_start, (t_end - t_start) / samples, 1, samples))
    return _affordable(Grid(t_start, output_step, 1, _samples(t_start, t_end, output_step)))


def check_times(t_start: float, t_end: float, **steps: float | None) -> None:
    """Refuse times that are none, steps that numbers cannot tell apart, and more steps than can be taken."""
    if not (math.isfinite(t_start) and math.isfinite(t_end)) or t_end <= t_start:
        raise SolverError(f"the run goes from {t_start} s to {t_end} s; the end must be finite and after the start")
    for name, step in steps.items():
        if step is None:
            continue
        what = name.replace("_", " ")
        if not (math.isfinite(step) and step > 0):
            raise SolverError(f"{what} is {step} s; it must be positive and finite")
        latest = max(abs(t_start), abs(t_end))
        if step < RESOLVED * math.ulp(latest):
            raise SolverError(
                f"{what} is {step:g} s, but at t = {latest:g} s neighbouring numbers are {math.ulp(latest):.3g} s apart, so "
                f"that times would not rise evenly; take {RESOLVED * math.ulp(latest):.2g} s or more, or start nearer to zero"
            )
        if (t_end - t_start) / step > MOST_STEPS * (1 + WHOLE_RATIO):
            count = (t_end - t_start) / step
            raise SolverError(
                f"from {t_start:g} s to {t_end:g} s there are {count:.3g} steps of {step:g} s ({what}), which take "
                f"{_duration(count * 1e-6)} at a microsecond each; at most {MOST_STEPS:.0e} are taken. Take "
                f"{(t_end - t_start) / MOST_STEPS:.2g} s or more, or end earlier"
            )


def check_memory(grid: Grid, channels: int) -> None:
    """Refuse more samples than the memory of the machine can hold."""
    needed, there = NUMBER * (grid.samples + 1) * channels, memory()
    if needed > there:
        fitting = grid.output_step * needed / there
        raise SolverError(
            f"{grid.samples + 1} samples of {channels} channels take {_size(needed)}, and this machine has {_size(there)}; "
            f"keep a sample every {fitting:.2g} s or less often, or end earlier"
        )


def memory() -> int:
    """Return the memory of the machine in bytes, or what is usual where it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return USUAL_MEMORY


def _affordable(grid: Grid) -> Grid:
    """Return a grid whose times, and one number at each of them, can be kept."""
    check_memory(grid, 2)
    return grid


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} PiB"


def _duration(seconds: float) -> str:
    for length, unit in ((86400 * 365.25, "years"), (86400.0, "days"), (3600.0, "hours")):
        if seconds >= length:
            return f"{seconds / length:.2g} {unit}"
    return f"{seconds:.2g} s"


def _largest_divisor(number: int, most: int) -> int:
    """Return the largest divisor of a number that is not above ``most``."""
    pairs = ((k, number // k) for k in range(1, math.isqrt(number) + 1) if number % k == 0)
    return max(divisor for pair in pairs for divisor in pair if divisor <= most)


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
    if not math.isfinite(ratio):
        return None
    n = round(ratio)
    return n if n >= 1 and abs(ratio - n) <= WHOLE_RATIO * n else None
