"""Index analysis of a servo problem."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.servo.derivative_array import FirstOrder
from kingpost.control.servo.index.array_index import FIRST, Level, level_at, levels_at, time_scales
from kingpost.control.servo.index.points import InconsistentError
from kingpost.control.servo.index.realisation import Realising
from kingpost.control.servo.index.report import IndexReport, Structural
from kingpost.control.servo.index.sampled import Sampled, slopes
from kingpost.control.servo.index.signature import jacobian_rank, signature
from kingpost.control.servo.index.walk import Walk
from kingpost.control.servo.index.zero_dynamics import ZeroDynamics, zero_dynamics
from kingpost.control.servo.problem import ServoProblem

#: Where the index is looked for at first, as a part of the manoeuvre, and where it is looked at again.
REFERENCE = 0.3
OTHERS = (0.0, 0.12, 0.5, 0.7, 0.88, 1.0)
#: Parts of the manoeuvre at whose ends ranks are looked at, and fewer where the equations with their derivatives are many.
SAMPLES, FEW, MANY = 24, 6, 400


def analyse(problem: ServoProblem) -> IndexReport:
    """Return what kind of problem a servo task is; a task that cannot work has its reasons in the report.

    See Also
    --------
    kingpost.control.servo.index.refusals.refuse_if_impossible

    """
    task = problem.task
    report = IndexReport(problem.equations.mechanism.name, task.name, task.measures, task.inputs)
    report = replace(report, smoothness_there=_smoothness(problem))
    if len(task.inputs) != len(task.measures):
        return report
    return _Analysis(FirstOrder(problem)).run(report)


class _Analysis:
    def __init__(self, system: FirstOrder) -> None:
        self.system = system
        task = system.problem.task
        self.t_start, self.t_end = task.t_start, task.t_end
        self.taus = time_scales(task.t_end - task.t_start)
        self.tau = self.taus[0]

    def time(self, part: float) -> float:
        return self.t_start + part * (self.t_end - self.t_start)

    def run(self, report: IndexReport) -> IndexReport:
        """Return the report with all that can be found, in the order in which one thing needs the other."""
        try:
            reference = self._reference()
            levels, series = levels_at(self.system, self.tau, reference.t, reference.x, self.taus)
            if levels[-1].determined:
                reference = Walk(self.system, self.tau, reference.t, series, levels[-1].order)
            still = reference.near_rest(reference.t) if self._free(levels[-1]) else None
            if still is not None:
                # Which of the states that the path allows is up to us: one that is as calm as can be.
                levels, series = levels_at(self.system, self.tau, still.t, still.x, self.taus)
                reference = Walk(self.system, self.tau, still.t, series, series.shape[1] - 2)
        except InconsistentError as error:
            return replace(report, realisation=Realising(self.system).at(self.t_start, self.system.start), stopped=str(error))
        realisation = Realising(self.system).at(reference.t, reference.state)
        structural = self._structural(reference.t, reference.x)
        report = replace(report, levels=tuple(levels), structural=structural, realisation=realisation)
        if not levels[-1].determined:
            return report
        index, free = levels[-1].order, self._free(levels[-1])
        report = replace(report, index=index, internal_states=free)
        report = replace(report, smoothness_needed=self._needed(report))
        many = self.system.size * (index + 1) > MANY
        path = Sampled(self.system, structural, self._times(FEW if many else SAMPLES), self.t_start)
        path.follow(reference, flat=free == 0)
        zero = zero_dynamics(self.system, self.t_end, path.samples[-1].x[:, 0], self.taus)
        if free and isinstance(zero, ZeroDynamics) and not zero.unstable:
            # Now that internal states are known to stay bounded, they can be followed from the start.
            path.follow_internal(reference)
        others = self._levels_elsewhere(path, levels)
        return replace(
            report,
            levels=(*levels, *(one for found in others.values() for one in found)),
            indices=self._indices(reference.t, index, path, others),
            zero_dynamics=zero,
            realisations=tuple(sample.realisation for sample in path.samples),
            singular_times=path.singular_times(),
            stopped="" if path.reaches(*path.times[1 : -1 : len(path.times) - 3]) else path.lost[0],
        )

    def _free(self, level: Level) -> int:
        """Return the number of internal states; what never changes is none."""
        return level.free - self.system.invariants

    def _times(self, count: int) -> list[float]:
        parts = sorted({*np.linspace(0.0, 1.0, count + 1).tolist(), *(OTHERS if count == SAMPLES else ())})
        return [self.time(part) for part in parts]

    def _reference(self) -> Walk:
        """Return a consistent point inside the manoeuvre."""
        start = self.system.start
        try:
            walk = Walk.from_rest(self.system, self.tau, self.t_start, start, FIRST)
            walk.to(self.time(REFERENCE))
        except InconsistentError:
            # At a start where ranks are lost, high derivatives may not fit; positions, speeds and accelerations have to.
            walk = Walk.from_rest(self.system, self.tau, self.t_start, start, 2)
            walk.to(self.time(REFERENCE))
        return walk

    def _structural(self, t: float, x: FloatArray) -> Structural | None:
        found = signature(self.system, t, x[:, 0], x[:, 1] / self.tau)
        if found is None:
            return None
        gap, _ = jacobian_rank(found.jacobian(*slopes(self.system, self.tau, t, x)))
        return Structural(found, gap, self.system.row_names)

    def _needed(self, report: IndexReport) -> dict[str, int]:
        """Return the smoothness that continuous inputs need: they depend on derivatives of this order."""
        assert report.index is not None
        structural = report.structural
        if structural is not None and structural.accepted and structural.signature.index == report.index:
            # The row of each measure is differentiated so often and not more.
            return {name: structural.offsets[f"servo-constraint {name}"] for name in report.measures}
        return dict.fromkeys(report.measures, report.index - 1)

    def _levels_elsewhere(self, path: Sampled, levels: list[Level]) -> dict[float, list[Level]]:
        """Return what the derivative array says at other times: that the index is the same, or what it is."""
        index = levels[-1].order
        found: dict[float, list[Level]] = {}
        many = self.system.size * (index + 1) > MANY
        wanted = [self.time(part) for part in (OTHERS[:: len(OTHERS) - 1] if many else OTHERS)]
        for sample in path.samples:
            if sample.t not in wanted:
                continue
            x = sample.x[:, : index + 2]
            found[sample.t] = [level_at(self.system, k, self.tau, sample.t, x, self.taus) for k in (index - 1, index) if k]
            same = found[sample.t][-1].determined and not any(one.determined for one in found[sample.t][:-1])
            if not same:
                try:
                    found[sample.t] = levels_at(self.system, self.tau, sample.t, x, self.taus)[0]
                except InconsistentError:
                    continue
        return found

    def _indices(
        self, t: float, index: int, path: Sampled, others: dict[float, list[Level]]
    ) -> tuple[tuple[float, int | None], ...]:
        found: dict[float, int | None] = {t: index}
        found |= {at: one[-1].order if one[-1].determined else None for at, one in others.items()}
        return tuple(sorted(found.items()))


def _smoothness(problem: ServoProblem) -> dict[str, int]:
    """Return the smoothness of the path of each measure."""
    task, scope = problem.task, {**problem.posed.values.parameters, **problem.posed.values.inputs}
    return {name: path.smoothness_between(task.t_start, task.t_end, scope) for name, path in task.path.items()}
