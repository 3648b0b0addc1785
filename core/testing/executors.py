"""What every executor of studies must do, checked on a few cases of a double pendulum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from kingpost.base.errors import KingpostError
from kingpost.registry.plugin import Plugin
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.simulation.settings import RunSettings
from kingpost.studies.case import Case, Outcome
from kingpost.studies.executor import Executor
from kingpost.studies.work import StudyWork

#: Cases of the checks, of which one has a number that the machine does not know.
CASES, WRONG = 7, 3


class Sequential(Executor):
    """One case after the other, in this process: what others are compared with."""

    name = "sequential"

    def outcomes(self, work: StudyWork, cases: Iterable[Case]) -> Iterator[Outcome]:
        """Run cases in their order."""
        worker = work.prepare()
        yield from (worker.run(case) for case in cases)


@dataclass(frozen=True, eq=False)
class ExecutorSubject:
    """An executor under test, and what came of its cases; found once."""

    selection: Selection[Executor]
    plugins: PluginSet | None = None
    options: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def executor(self) -> Executor:
        """The executor."""
        found: Plugin = select((self.plugins or PluginSet()).of("executors"), self.selection, dict(self.options))
        assert isinstance(found, Executor)
        return found

    @cached_property
    def work(self) -> StudyWork:
        """A second of a double pendulum."""
        return StudyWork(
            "double-pendulum",
            1.0,
            how=RunSettings(step=0.01, output_step=0.05),
            reducers=(("statistics", {"channels": ("shoulder.angle", "elbow.angle")}),),
            entry_points=False,
        )

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """Some cases."""
        numbers = [{"gravity": 9.0 + 0.1 * k} if k != WRONG else {"graviti": 9.0} for k in range(CASES)]
        return tuple(Case(f"case-{k}", settings) for k, settings in enumerate(numbers))

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """What came of them."""
        return list(self.executor.outcomes(self.work, iter(self.cases)))


def check_every_case_once(subject: ExecutorSubject) -> None:
    """Every case has one outcome."""
    keys = sorted(outcome.key for outcome in subject.outcomes)
    assert keys == sorted(case.key for case in subject.cases), f"the outcomes are those of {keys}"


def check_same_bits(subject: ExecutorSubject) -> None:
    """The numbers are those of one case after the other in this process."""
    expected = {outcome.key: outcome.numbers for outcome in Sequential().outcomes(subject.work, subject.cases)}
    for outcome in subject.outcomes:
        assert dict(outcome.numbers) == dict(expected[outcome.key]), f"{outcome.key}: {outcome.numbers}"


def check_failed_cases(subject: ExecutorSubject) -> None:
    """A case that cannot be run has a message, and the others are run."""
    errors = {outcome.key: outcome.error for outcome in subject.outcomes if outcome.error}
    assert list(errors) == [f"case-{WRONG}"], f"failed: {errors}"
    assert "did you mean 'gravity'" in errors[f"case-{WRONG}"], errors


def check_no_cases(subject: ExecutorSubject) -> None:
    """No cases have no outcomes."""
    assert list(subject.executor.outcomes(subject.work, [])) == []


def check_cases_are_taken_as_needed(subject: ExecutorSubject) -> None:
    """Of cases without end only some are taken before the first outcomes are given; then it can be left."""
    taken = 0

    def endless() -> Iterator[Case]:
        nonlocal taken
        while True:
            taken += 1
            yield Case(f"case-{taken}", {"gravity": 9.0 + 1e-3 * taken})

    outcomes = subject.executor.outcomes(subject.work, endless())
    seen = {next(outcomes).key for _ in range(3)}
    assert isinstance(outcomes, Iterator)
    close = getattr(outcomes, "close", None)
    assert close is not None, "outcomes() is to be a generator, so that it can be closed"
    close()
    assert len(seen) == 3, f"outcomes of {sorted(seen)}"
    assert taken < 5000, f"{taken} cases were taken for 3 outcomes"


def check_work_that_cannot_be_done(subject: ExecutorSubject) -> None:
    """What no case can be run with is raised, not said once for each."""
    wrong = StudyWork("double-pendulumm", 1.0, reducers=subject.work.reducers, entry_points=False)
    try:
        found = list(subject.executor.outcomes(wrong, subject.cases[:1]))
    except KingpostError as error:
        if "double-pendulum" in str(error):
            return
        raise AssertionError(f"a model that there is not is answered with: {error}") from error
    raise AssertionError(f"a model that there is not gave {found}")


EXECUTOR_CHECKS = (
    check_every_case_once,
    check_same_bits,
    check_failed_cases,
    check_no_cases,
    check_cases_are_taken_as_needed,
    check_work_that_cannot_be_done,
)


def check_executor(cls: Selection[Executor], plugins: PluginSet | None = None, **options: object) -> None:
    """Check an executor class; ``options`` are those of the plugin."""
    subject = ExecutorSubject(cls, plugins, options)
    for check in EXECUTOR_CHECKS:
        check(subject)
