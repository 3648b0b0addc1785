"""Whether the numbers of a study depend on the step of its runs: some cases once more with half of it, and what changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kingpost.base.errors import KingpostError
from kingpost.base.load_frames import COMPONENTS
from kingpost.studies.case import Case, Outcome
from kingpost.studies.executor import Executor
from kingpost.studies.work import StudyWork


@dataclass(frozen=True)
class StepChange:
    """A number of a case, what it is with half the step, and the change as a part of what it is measured by."""

    key: str
    name: str
    number: float
    halved: float
    #: The largest absolute value that a number of the same kind, joint and unit has in the case, with either step.
    scale: float

    @property
    def part(self) -> float:
        """The change as a part of its scale."""
        return abs(self.halved - self.number) / self.scale if self.scale else 0.0


@dataclass(frozen=True)
class HalvedSteps:
    """What half the step changes in some cases, and those which cannot be run with it, with the reason."""

    changes: tuple[StepChange, ...]
    failures: Mapping[str, str]

    def beyond(self, limit: float) -> tuple[StepChange, ...]:
        """Return the changes above a limit, the largest first."""
        found = [change for change in self.changes if change.part > limit]
        return tuple(sorted(found, key=lambda change: -change.part))


def with_halved_steps(
    work: StudyWork, executor: Executor, cases: Sequence[Case], outcomes: Mapping[str, Outcome]
) -> HalvedSteps:
    """Run cases once more with half the step, and compare all their numbers with what came of them before.

    A solver that chooses its own steps gets a tenth of its tolerances instead. The kernel is the same.

    Parameters
    ----------
    work
        The study.
    executor
        Where cases are run.
    cases
        Those to be repeated, the worst ones as a rule.
    outcomes
        What came of them, by their keys.

    """
    missing = [case.key for case in cases if case.key not in outcomes or outcomes[case.key].error]
    if missing:
        raise KingpostError(f"case {missing[0]} has no numbers that half the step could be compared with")
    changes: list[StepChange] = []
    failures: dict[str, str] = {}
    for halved in executor.outcomes(work.finer(), cases):
        if halved.error:
            failures[halved.key] = halved.error
        else:
            changes += _changes(outcomes[halved.key], halved)
    order = {case.key: place for place, case in enumerate(cases)}
    return HalvedSteps(tuple(sorted(changes, key=lambda change: (order[change.key], change.name))), failures)


def _changes(before: Outcome, after: Outcome) -> Iterator[StepChange]:
    scales: dict[tuple[str, str], float] = {}
    for outcome in (before, after):
        for name, number in outcome.numbers.items():
            scales[_group(name)] = max(scales.get(_group(name), 0.0), abs(number))
    for name, number in before.numbers.items():
        if name in after.numbers:
            yield StepChange(before.key, name, number, after.numbers[name], scales[_group(name)])


def _group(name: str) -> tuple[str, str]:
    """Return what a number shares its scale with: for moments and forces, those of the same joint; else itself."""
    subject, _, what = name.rpartition(":")
    joint, _, component = subject.rpartition(".")
    return (f"{joint}.{component[0]}" if component in COMPONENTS else subject), what
