"""An FMU as a check meets it, inside a process of its own: ready to be loaded, started and stepped."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.fmu.checks.check import Verdict
from kingpost.fmu.file.opened import Fmu
from kingpost.fmu.file.variables import Variable, variables_of
from kingpost.fmu.instance.instance import Feed, Instance
from kingpost.fmu.instance.log import Log, Message
from kingpost.fmu.instance.modelexchange import make_instance
from kingpost.fmu.process.trail import Trail
from kingpost.fmu.running.experiment import Experiment

#: Values that are looked at; more would only take longer.
MOST_OBSERVED = 500
#: Inputs are moved by this part of their nominal value (or of 1): enough to be felt, too little to break a model.
EXCITATION = 0.01
#: Per step, in rad.
EXCITATION_RATE = 0.1
#: A check may use this part of its time limit before it takes fewer steps.
SHARE = 0.4
#: The option of glibc's mallopt that fills memory.
M_PERTURB = -6
#: Messages that are printed even if nothing is wrong.
CHATTY = 100


@dataclass(frozen=True)
class Manners:
    """What earlier checks have seen of an FMU, so that one defect is not found again by every check."""

    #: How long things took when it was first started, in s.
    instantiate: float = 0.05
    step: float = 1e-5
    #: Whether its inputs can be set between steps.
    takes_inputs: bool = True
    #: Up to which time in s it could be stepped, and whether the step after that only had a bad status.
    safe_until: float = math.inf
    fails_with_status: bool = False
    #: Whether it survives references that do not exist.
    survives_unknown: bool = True
    #: Whether it survives that its library is unloaded, or the end of the process.
    survives_exit: bool = True


class FmuUnderTest:
    """What a check works on.

    Parameters
    ----------
    fmu, folder
        The FMU, and where it is unpacked.
    scratch
        A folder for the stages of the check.
    times
        Start, stop and step.
    instances
        How many instances an FMU is asked for.
    limit
        Time limit of the check in s.
    manners
        What is known about the FMU.
    keep
        Takes a verdict that stands if the process does not survive.
    trail
        File that holds the call which is under way.

    """

    def __init__(
        self,
        fmu: Fmu,
        folder: Path,
        scratch: Path,
        times: Experiment,
        instances: int = 100,
        limit: float = 60.0,
        manners: Manners | None = None,
        keep: Callable[[Verdict], None] = lambda verdict: None,
        trail: Path | None = None,
    ) -> None:
        self.fmu = fmu
        self.folder = folder
        self.scratch = scratch
        self.times = times
        self.instances = instances
        self.limit = limit
        self.manners = manners or Manners()
        self.keep = keep
        self.log = Log(self._print)
        self._trail_file = trail
        self.trail = None if trail is None else Trail(trail)

    def note(self, call: str) -> None:
        """Write down what is under way; the file outlives the process, and an FMU that closes files of others."""
        if self.trail is None or self._trail_file is None:
            return
        try:
            self.trail(call)
        except OSError:
            self.trail = Trail(self._trail_file)
            self.trail(call)

    def _print(self, message: Message) -> None:
        """Let messages outlive the process, too, unless there are too many."""
        if self.log.count <= CHATTY or message.status != "ok":
            with contextlib.suppress(OSError):
                os.write(1, f"{message}\n".encode(errors="replace"))

    @cached_property
    def variables(self) -> dict[str, Variable]:
        """All variables by name."""
        return variables_of(self.fmu)

    @cached_property
    def observed(self) -> list[Variable]:
        """The variables whose values are compared: outputs, then local ones."""
        numeric = [variable for variable in self.variables.values() if variable.numeric and variable.elements]
        chosen = [variable for kind in ("output", "local") for variable in numeric if variable.causality == kind]
        return chosen[:MOST_OBSERVED]

    @cached_property
    def outputs(self) -> list[Variable]:
        """The real outputs, for want of any, real local variables."""
        real = [variable for variable in self.observed if variable.real]
        return [variable for variable in real if variable.causality == "output"] or real

    @cached_property
    def inputs(self) -> list[Variable]:
        """The inputs that are continuous and real."""
        return [
            variable
            for variable in self.variables.values()
            if variable.causality == "input" and variable.real and variable.variability == "continuous" and variable.elements
        ]

    @property
    def only_once(self) -> bool:
        """Whether only one instance may live in a process."""
        return self.fmu.can("canBeInstantiatedOnlyOncePerProcess")

    def load(self, name: str = "one", folder: Path | None = None, **options: Any) -> Instance:
        """Return a new instance, not yet initialised."""
        span = self.times.t_stop - self.times.t_start
        return make_instance(
            self.fmu, folder or self.folder, name=name, log=self.log, trail=self.note, restart=True, t_span=span, **options
        )

    def start(self, name: str = "one", folder: Path | None = None, phase: float = 0.0, go_back: bool = False) -> Run:
        """Return a new instance that is initialised."""
        instance = self.load(name, folder)
        instance.may_go_back = go_back
        instance.initialize(self.times.t_start, self.times.t_stop)
        return Run(self, instance, phase)

    def afford(self, wanted: int, seconds: float, least: int = 1) -> int:
        """Return how many of ``wanted`` things that take ``seconds`` each there is time for."""
        return max(least, min(wanted, int(SHARE * self.limit / max(seconds, 1e-9))))

    def steps(self, wanted: int, runs: int = 1, least: int = 2) -> int:
        """Return how many steps there is time for, and that end before the stop time."""
        end = min(self.times.t_stop, self.manners.safe_until)
        room = math.floor((end - self.times.t_start) / self.times.step * (1 + 1e-9))
        return max(1, min(self.afford(wanted, runs * self.manners.step, least), room))

    def two_parts(self, wanted: tuple[int, int], runs: int = 1) -> tuple[int, int]:
        """Return two numbers of steps, one after the other, for which there is time together."""
        total = self.steps(sum(wanted), runs)
        first = round(total * wanted[0] / sum(wanted))
        return first, total - first

    def excitation(self, step: int, phase: float) -> FloatArray:
        """Return values of the inputs: their start values, moved a little and smoothly, and within their limits."""
        values = []
        for variable in self.inputs:
            start = variable.start() or [0.0] * variable.elements
            low, high = variable.number("min"), variable.number("max")
            for base in start:
                size = EXCITATION * (variable.number("nominal") or abs(base) or 1.0)
                value = base + size * math.sin(EXCITATION_RATE * step + phase)
                values.append(min(max(value, -math.inf if low is None else low), math.inf if high is None else high))
        return np.array(values, dtype=float)


class Run:
    """An initialised instance, the values that are observed, and its inputs in motion."""

    def __init__(self, subject: FmuUnderTest, instance: Instance, phase: float = 0.0) -> None:
        self.subject = subject
        self.instance = instance
        self.phase = phase
        self.count = 0
        self.observed = Feed(instance, subject.observed)
        self.inputs = Feed(instance, subject.inputs if subject.manners.takes_inputs else ())

    @property
    def time(self) -> float:
        """Where the run is."""
        return self.subject.times.t_start + self.count * self.subject.times.step

    def row(self) -> FloatArray:
        """Return the observed values."""
        return self.observed.read()

    def feed(self) -> None:
        """Move the inputs."""
        if len(self.inputs):
            self.instance.feed(self.inputs, self.subject.excitation(self.count, self.phase))

    def step(self, feed: bool = True) -> None:
        """Move the inputs, unless they are to stay, and take a step."""
        if feed:
            self.feed()
        self.instance.step(self.time, self.subject.times.step)
        self.count += 1

    def steps(self, count: int) -> FloatArray:
        """Take steps; return the observed values after each."""
        rows = np.empty((count, len(self.observed)))
        for i in range(count):
            self.step()
            rows[i] = self.row()
        return rows

    def finish(self) -> str:
        """End the instance; return what the FMU says against it."""
        return self.instance.finish()


def difference(labels: Sequence[str], expected: FloatArray, got: FloatArray) -> str:
    """Return where two tables of rows first differ, in bits, or an empty text."""
    unequal = expected.view(np.int64) != got.view(np.int64)
    if not unequal.any():
        return ""
    row, column = (int(index) for index in np.argwhere(np.atleast_2d(unequal))[0])
    a, b = float(np.atleast_2d(expected)[row, column]), float(np.atleast_2d(got)[row, column])
    where = f"after step {row + 1} " if expected.ndim == 2 else ""
    names = listed_few([labels[int(i)] for i in np.flatnonzero(np.atleast_2d(unequal).any(axis=0))])
    return f"{where}'{labels[column]}' is {b!r} instead of {a!r} (difference {b - a:.3g}); values that differ: {names}"


def listed_few(names: Sequence[str], most: int = 6) -> str:
    """Return some names in one line."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def not_finite(labels: Sequence[str], row: FloatArray) -> str:
    """Return the values that are not finite, or an empty text."""
    bad = np.flatnonzero(~np.isfinite(row))
    return listed_few([f"'{labels[int(i)]}' = {row[i]}" for i in bad])


def fill_fresh_memory(byte: int) -> None:
    """Let memory that is allocated, or freed, be filled with something, where the C library can do that."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(M_PERTURB, byte)


def short_time(seconds: float) -> str:
    """Return a duration in a unit that suits it."""
    if seconds < 1e-3:
        return f"{1e6 * seconds:.3g} us"
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
