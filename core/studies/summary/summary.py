"""Everything that the runs of a study say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kingpost.fatigue.states import PROBABILITY_ROUNDING
from kingpost.studies.case_table import CaseTable
from kingpost.studies.reducer import number_name
from kingpost.studies.study import Study
from kingpost.studies.summary.damage import LoadSpectrum, SpotDamage, find_damage, find_spectra
from kingpost.studies.summary.extremes import Extreme, find_extremes
from kingpost.studies.summary.operability import Operability, find_operability
from kingpost.studies.summary.worst import Ranking, StepChange, rank


@dataclass(frozen=True, eq=False)
class Summary:
    """What the runs of a study say together."""

    study: Study
    table: CaseTable
    #: Units of channels, as far as they are known.
    units: Mapping[str, str]
    operability: Operability | None
    damage: tuple[SpotDamage, ...]
    spectra: tuple[LoadSpectrum, ...]
    extremes: tuple[Extreme, ...]
    ranking: Ranking
    step_changes: tuple[StepChange, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    @property
    def calm(self) -> float:
        """The part of the time that no case stands for, which is without load."""
        return calm_part(self.table)


def summarise(
    study: Study, table: CaseTable, units: Mapping[str, str] | None = None, step_changes: Sequence[StepChange] = ()
) -> Summary:
    """Return what the cases of a study say together; those that have not been run, or failed, are told of."""
    channels = peak_channels(table)
    operability = find_operability(table, study.limits, calm_part(table))
    loads = [channel for channel in channels if any(equivalent_name(channel, slope) in table for slope in study.keep.slopes)]
    return Summary(
        study,
        table,
        units or {},
        operability,
        find_damage(table, study.keep.spots),
        find_spectra(table, loads, study.keep.slopes, study.keep.f_ref, equivalent_name),
        find_extremes(table, channels, study.t_end - study.skip, study.keep.blocks),
        rank(table, study, operability, channels),
        tuple(step_changes),
        tuple(_warnings(study, table, step_changes)),
    )


def equivalent_name(channel: str, slope: float) -> str:
    """Return the name of a damage-equivalent range, ``slew.Mx:del4``."""
    return number_name(channel, f"del{slope:g}")


def peak_channels(table: CaseTable) -> list[str]:
    """Return the channels of which runs keep the largest and the smallest value."""
    channels = [name.removesuffix(":max") for name in table.names if name.endswith(":max")]
    return [channel for channel in channels if f"{channel}:min" in table]


def outside_words(table: CaseTable) -> str:
    """Return how many cases left linear theory, how much of the time they stand for, and what that means."""
    count = int(table.left_theory.sum())
    return (
        f"{count} of {len(table)} runs left the small angles of linear theory: {table.weights.left_out:.3%} of the time is "
        "counted in no damage, life or extreme, so that lives are too long and extremes too small by what happens there; it "
        "does not count as workable"
    )


def calm_part(table: CaseTable) -> float:
    """Return the part of the time that no case stands for."""
    left = 1.0 - table.weights.planned
    return left if left > PROBABILITY_ROUNDING else 0.0


def _warnings(study: Study, table: CaseTable, changes: Sequence[StepChange]) -> list[str]:
    found = []
    outside = int(table.left_theory.sum())
    if outside:
        found.append(outside_words(table))
    failed = int(table.failed.sum())
    if failed:
        found.append(f"{failed} of {len(table)} runs failed; other seeds under the same conditions stand for them")
    unrun = len(table) - failed - outside - int(table.done.sum())
    if unrun:
        found.append(f"{unrun} of {len(table)} cases have not been run")
    uncovered = table.weights.uncovered
    if uncovered > 0.0:
        found.append(
            f"conditions that make {uncovered:.3%} of the time have no result at all: damage and lives leave them out, and "
            "they do not count as workable"
        )
    bad = [change for change in changes if not change.part <= study.check.limit]
    if bad:
        most = max(bad, key=lambda change: change.part)
        moved = f"'{most.name}' goes from {most.before:.6g} to {most.after:.6g}"
        said = most.error or f"{moved}, {most.part:.1%} of the largest such load"
        found.append(
            f"half the step changes {len(bad)} of the {len(changes)} checked runs by more than {study.check.limit:g}: "
            f"in run {most.key} {said}. Take a smaller step; if peaks go on changing, the motion is chaotic, and only many "
            "seeds say how large loads get"
        )
    return found
