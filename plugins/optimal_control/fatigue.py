"""Fatigue as a cost: the damage that a motion does at a hot spot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, MechanismError
from kingpost.base.fields import Table
from kingpost.base.numbers import finite
from kingpost.control.optimal.counted import CountedRange, CountedTerm
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.fatigue.counting import count_cycles
from kingpost.fatigue.sn import SNCurve, curve_set


@dataclass(frozen=True)
class FatigueOptions:
    """A hot spot, as in a file of these: ``stress`` in Pa per N or N.m by channel, its S-N ``curve``, ``scf``, ``thickness``.

    ``curves`` is a file with S-N curves, if it is none of the built-in ones.
    """

    stress: Table
    curve: str
    scf: float = 1.0
    thickness: float | None = None
    curves: str = ""

    def __post_init__(self) -> None:
        if not self.stress or any(finite(value) is None for value in self.stress.values()):
            raise MechanismError("stress: give a number in Pa per N or N.m for at least one channel, such as slew.My")
        try:
            curve_set(self.curves or None).get(self.curve)
        except KingpostError as error:
            raise MechanismError(str(error)) from None


class Fatigue(CountedTerm):
    """Miner's sum at a hot spot over ranges counted at the nodes by the rainflow rule, as kingpost fatigue counts the result.

    It is of the whole motion, all phases of it.
    Pairs of extremes are held while a program is solved and counted again behind it, until the sum stays the same.
    """

    name = "fatigue"
    Options = FatigueOptions

    @property
    def _curve(self) -> SNCurve:
        return curve_set(self.options.curves or None).get(self.options.curve)

    def refusal(self, problem: OptimalProblem) -> str:
        if problem.phase is not None:
            return (
                "ranges begin in one phase and end in another, so that it is of the whole motion; name it among the costs of "
                "the task, not of a phase"
            )
        alone = [part for part in problem.parts if all(term.whole for _, term in part.terms)]
        if alone:
            where = f" of phase '{problem.task.phases[alone[0].phase or 0].name}'" if problem.phases else ""
            return f"ranges are counted in the motion that other costs lead to; add one{where}, such as effort"
        return ""

    def weights(self) -> Mapping[str, float]:
        return {name: self.options.scf * float(factor) for name, factor in self.options.stress.items()}

    def ranges(self, values: FloatArray) -> tuple[CountedRange, ...]:
        curve = self._curve
        factor = curve.thickness_factor(self.options.thickness)
        cycles = count_cycles(values)
        lives = curve.cycles_to_failure(factor * cycles.range)
        found = []
        for i, life in enumerate(lives):
            if np.isfinite(life) and cycles.range[i] > 0.0:
                ends = int(cycles.start[i]), int(cycles.end[i])
                upper, lower = ends if cycles.start_value[i] > cycles.end_value[i] else ends[::-1]
                second = curve.m2 is not None and curve.N_knee is not None and life > curve.N_knee
                power = curve.m2 if second and curve.m2 is not None else curve.m1
                found.append(CountedRange(upper, lower, float(cycles.range[i]), float(cycles.count[i] / life), float(power)))
        return tuple(found)
