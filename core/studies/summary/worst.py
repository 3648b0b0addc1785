"""The worst runs of a study, and what halving their step changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.load_frames import COMPONENTS, FORCES
from kingpost.studies.case_table import CaseTable
from kingpost.studies.reducer import number_name
from kingpost.studies.study import Study
from kingpost.studies.summary.damage import DAMAGE, spot_number
from kingpost.studies.summary.operability import Operability

#: Worst runs that results tell of.
TOLD = 20


@dataclass(frozen=True, eq=False)
class Ranking:
    """Runs by how bad they are, and by which measure."""

    by: str
    #: Of every case; NaN for those without numbers.
    badness: FloatArray

    def worst(self, count: int) -> list[int]:
        """Return the places of the worst cases, the worst first."""
        order = np.argsort(-np.where(np.isnan(self.badness), -np.inf, self.badness), kind="stable")
        return [int(i) for i in order[:count] if np.isfinite(self.badness[i])]


def rank(table: CaseTable, study: Study, operability: Operability | None, channels: Sequence[str]) -> Ranking:
    """Return which runs are the worst: by the number asked for, else by limits, damage, or the first channel that is kept."""
    if study.keep.worst_by:
        return Ranking(study.keep.worst_by, np.where(table.done, table.numbers(study.keep.worst_by), np.nan))
    if operability is not None:
        return Ranking("excess over the limits", operability.excess)
    if study.keep.spots:
        columns = [spot.dff * table.numbers(spot_number(spot.name, DAMAGE)) for spot in study.keep.spots]
        return Ranking("damage at the worst hot spot, with DFF", np.where(table.done, np.max(columns, axis=0), np.nan))
    if channels:
        sizes = [np.abs(table.numbers(number_name(channels[0], side))) for side in ("max", "min")]
        return Ranking(f"largest {channels[0]}", np.where(table.done, np.max(sizes, axis=0), np.nan))
    return Ranking(
        table.names[0] if table.names else "", table.numbers(table.names[0]) if table.names else np.zeros(len(table))
    )


@dataclass(frozen=True)
class StepChange:
    """What half the step changes in a run: of each number, the part of the largest like it."""

    key: str
    error: str
    #: The number that changes most, and by how much.
    name: str
    before: float
    after: float
    part: float


def step_change(key: str, before: Mapping[str, float], after: Mapping[str, float], error: str = "") -> StepChange:
    """Compare peaks of a run with those of the same run at half the step.

    A change counts as a part of the largest peak of the same joint and unit, or of the same channel where it is no load.
    """
    if error:
        return StepChange(key, error, "", 0.0, 0.0, np.inf)
    peaks = [name for name in before if name.endswith((":max", ":min")) and name in after]
    level: dict[str, float] = {}
    for name in peaks:
        level[_kind(name)] = max(level.get(_kind(name), 0.0), abs(before[name]), abs(after[name]))
    changes = {name: abs(after[name] - before[name]) / level[_kind(name)] if level[_kind(name)] else 0.0 for name in peaks}
    if not changes:
        return StepChange(key, "", "", 0.0, 0.0, 0.0)
    most = max(changes, key=changes.__getitem__)
    return StepChange(key, "", most, before[most], after[most], changes[most])


def _kind(name: str) -> str:
    channel = name.rpartition(":")[0]
    joint, _, component = channel.rpartition(".")
    if component not in COMPONENTS:
        return channel
    return f"{joint}.{'F' if component in FORCES else 'M'}"
