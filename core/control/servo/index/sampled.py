"""Ranks along the path of a servo task, and the times at which they are lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.servo.derivative_array import DerivativeArray, FirstOrder, ImplicitSystem
from kingpost.control.servo.index.points import InconsistentError
from kingpost.control.servo.index.realisation import NotDefined, Realisation, Realising
from kingpost.control.servo.index.report import Structural
from kingpost.control.servo.index.signature import jacobian_rank
from kingpost.control.servo.index.walk import Walk

#: Halvings of the time between two samples for the place at which a determinant changes its sign.
BISECTIONS = 16
#: Steps between two samples where internal states are followed, and the derivative up to which their series is used.
STEPS, DETERMINED = 4, 2


def slopes(system: ImplicitSystem, tau: float, t: float, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return dF/dx and dF/dxdot at a series."""
    n = system.size
    array = DerivativeArray(system, 0, tau)
    J = array.jacobian(t, x[:, :2], array.signals(t))
    return J[:, :n], J[:, n:] * tau


@dataclass(frozen=True, eq=False)
class Sample:
    """What is found at a time on the path."""

    t: float
    #: The series there.
    x: FloatArray
    realisation: Realisation | NotDefined
    #: Of the determinant that must not vanish, 0 where it does; nothing where no determinant tells.
    sign: float | None


class Sampled:
    """Consistent points at some times, with the ranks there."""

    def __init__(self, system: FirstOrder, structural: Structural | None, times: list[float], t_start: float) -> None:
        self.system, self.times, self.t_start = system, times, t_start
        self.signature = structural.signature if structural is not None and structural.accepted else None
        self.realising = Realising(system)
        self.samples: list[Sample] = []
        #: Why points could not be found.
        self.lost: list[str] = []
        self._determined = 0
        #: Whether the samples are states that the motion comes through, and not only some that meet the path.
        self.followed = False

    def follow(self, reference: Walk, flat: bool) -> None:
        """Take samples from a point inside outwards, each the nearest one to its neighbour; or to rest, if states are free."""
        self._flat = self.followed = flat
        before = self._row(reference.fork(reference.order), [t for t in reversed(self.times) if t < reference.t])
        after = self._row(reference.fork(reference.order), [t for t in self.times if t >= reference.t])
        self.samples = [*reversed(before), *after] or [self._sample(reference)]

    def follow_internal(self, reference: Walk) -> None:
        """Take samples from the start, with internal states where their own dynamics lead them; else leave all."""
        tau, kept = reference.tau, self.samples
        try:
            # One derivative more for each coefficient of the series that is to be determined.
            walk = Walk.from_rest(self.system, tau, self.t_start, self.system.start, reference.order + DETERMINED - 1)
            self._determined = DETERMINED
            self.samples = [self._sample(walk)]
            for before, after in zip(self.times, self.times[1:], strict=False):
                for step in range(1, STEPS + 1):
                    walk.to(before + (after - before) * step / STEPS, DETERMINED)
                self.samples.append(self._sample(walk))
        except InconsistentError:
            self.samples, self._determined = kept, 0
        else:
            self.followed = True

    def _row(self, walk: Walk, times: list[float]) -> list[Sample]:
        found = []
        for t in times:
            try:
                if not self._flat:
                    walk = walk.near_rest(t) or walk
                # Where the path determines everything, the rates say where the unknowns go.
                walk.to(t, 1 if self._flat else 0)
            except InconsistentError as error:
                self.lost.append(str(error))
                break
            found.append(self._sample(walk))
        return found

    def reaches(self, begin: float, end: float) -> bool:
        """Whether samples go from one time to another."""
        return self.samples[0].t <= begin and self.samples[-1].t >= end

    def _sample(self, walk: Walk) -> Sample:
        found = self.realising.at(walk.t, walk.state)
        sign: float | None = None
        if self.signature is not None:
            sign = jacobian_rank(self.signature.jacobian(*slopes(self.system, walk.tau, walk.t, walk.x)))[1]
        elif isinstance(found, Realisation) and found.of == len(found.Y[0]):
            sign = found.sign if found.rank == found.of else None
        return Sample(walk.t, walk.x.copy(), found, sign)

    def singular_times(self) -> tuple[float, ...]:
        """Return the times at which the determinant that must not vanish does, if the states on the way are known."""
        if not self.followed:
            return ()
        times = [sample.t for sample in self.samples if sample.sign == 0.0]
        for before, after in zip(self.samples, self.samples[1:], strict=False):
            if before.sign and after.sign and before.sign != after.sign:
                times.append(self._crossing(before, after))
        return tuple(sorted(times))

    def _crossing(self, before: Sample, after: Sample) -> float:
        """Return where a determinant changes its sign between two samples, by halving."""
        tau = (self.times[-1] - self.times[0]) / 10.0
        begin, end = before, after
        for _ in range(BISECTIONS):
            middle = (begin.t + end.t) / 2
            walk = Walk(self.system, tau, begin.t, begin.x, begin.x.shape[1] - 2)
            try:
                walk.to(middle, self._determined)
            except InconsistentError:
                return middle
            found = self._sample(walk)
            if not found.sign:
                return middle
            begin, end = (found, end) if found.sign == before.sign else (begin, found)
        return float(np.mean([begin.t, end.t]))
