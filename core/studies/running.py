"""Studies carried out: what is planned goes to an executor, what comes back goes into the store, whatever happens between."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from kingpost.base.errors import KingpostError
from kingpost.studies.case import Case, Outcome
from kingpost.studies.case_table import CaseTable, case_table
from kingpost.studies.planning import StudyPlan
from kingpost.studies.store import DONE, Store
from kingpost.studies.summary.summary import Summary, summarise
from kingpost.studies.summary.worst import StepChange, step_change

#: Where a study keeps what its file said, and what its channels are measured in.
SPEC, RECIPE, UNITS, CHECKED = "spec", "recipe", "units", "checked"
#: Changes of a study file that are told one by one.
MOST_CHANGES = 12


class Runs(Protocol):
    """Whatever gives outcomes for cases, in the order of completion."""

    def __call__(self, plan: StudyPlan, cases: Iterable[Case]) -> Iterator[Outcome]: ...


@dataclass(frozen=True)
class Progress:
    """How far a study is: cases in all, done before and now, failed, outside linear theory, and seconds since this start."""

    planned: int
    before: int
    now: int
    failed: int
    seconds: float
    outside: int = 0

    @property
    def finished(self) -> int:
        """The cases that have an outcome."""
        return self.before + self.now

    @property
    def fraction(self) -> float:
        """The part of the study that is finished."""
        return self.finished / self.planned if self.planned else 1.0

    @property
    def left(self) -> float | None:
        """Seconds that the rest takes at the pace of this start; None before the first outcome."""
        return self.seconds / self.now * (self.planned - self.finished) if self.now else None


Tell: TypeAlias = Callable[[Progress], None]


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return in words what differs between two study files, by key."""
    old, new = dict(_flat(before)), dict(_flat(after))
    found = []
    for key in dict.fromkeys([*old, *new]):
        if key not in new:
            found.append(f"{key} is gone (it was {_short(old[key])})")
        elif key not in old:
            found.append(f"{key} = {_short(new[key])} is new")
        elif old[key] != new[key]:
            found.append(f"{key}: {_short(old[key])} -> {_short(new[key])}")
    return found


def _flat(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}... ({len(text)} characters)"


def begin(plan: StudyPlan, store: Store) -> list[str]:
    """Put the plan of a study into its store; return in words what its file says otherwise than before."""
    spec = store.fact(SPEC)
    changed = [] if spec is None else changes(spec, dict(plan.study.spec))
    if spec is None or changed or store.fact(RECIPE) != plan.digest or store.counts().planned != plan.count:
        store.plan(plan.cases())
        store.note(SPEC, dict(plan.study.spec))
        store.note(RECIPE, plan.digest)
    return changed


def carry_out(plan: StudyPlan, store: Store, runs: Runs, tell: Tell = lambda progress: None) -> None:
    """Run what has not been run; every outcome is in the store before the next is waited for."""
    counts = store.counts()
    before, failed, outside = counts.run, counts.failed, counts.outside
    if not counts.open:
        return
    started, now = time.monotonic(), 0
    with closing(_generator(runs(plan, store.open_cases()))) as outcomes:
        for outcome in outcomes:
            store.add(outcome)
            now += 1
            failed += bool(outcome.error)
            outside += bool(outcome.outside and not outcome.error)
            tell(Progress(counts.planned, before, now, failed, time.monotonic() - started, outside))
    if store.counts().open > 0 and now == 0:
        raise KingpostError("no case came back from the executor; its workers may have died one after the other")


def _generator(outcomes: Iterator[Outcome]) -> Generator[Outcome, None, None]:
    """Return a generator of the same, which can be closed."""
    yield from outcomes


def check_steps(plan: StudyPlan, store: Store, runs: Runs, tell: Tell = lambda progress: None) -> list[StepChange]:
    """Repeat the worst runs with half the step, unless that has been done, and compare their peaks."""
    count = plan.study.check.step_halving
    if not count:
        return []
    table = read_cases(store)
    summary = summarise(plan.study, table)
    worst = summary.ranking.worst(count)
    finer = plan.finer()
    pairs = [(table.keys[i], _case_at(store, table.keys[i])) for i in worst]
    halved = {key: Case(finer.key(case.settings, case.sea), case.settings, case.sea, case.labels) for key, case in pairs}
    wanted = [case for case in halved.values() if store.outcome(case.key) is None]
    started = time.monotonic()
    if wanted:
        with closing(_generator(runs(finer, iter(wanted)))) as outcomes:
            for now, outcome in enumerate(outcomes, start=1):
                store.add(outcome)
                tell(Progress(len(wanted), 0, now, 0, time.monotonic() - started))
    store.note(CHECKED, {key: case.key for key, case in halved.items()})
    return step_changes(store)


def step_changes(store: Store) -> list[StepChange]:
    """Return what half the step changed in the runs that were checked."""
    found = []
    for key, halved in (store.fact(CHECKED) or {}).items():
        before, after = store.outcome(key), store.outcome(halved)
        if before is not None and after is not None and not before.error and not before.outside:
            left = f"it goes outside linear theory: {after.outside}" if after.outside else ""
            found.append(step_change(key, before.numbers, after.numbers, after.error or left))
    return found


def _case_at(store: Store, key: str) -> Case:
    return store.find(key).case


def read_cases(store: Store) -> CaseTable:
    """Return all planned cases in columns."""
    return case_table(store.stored())


def summary_of(plan: StudyPlan, store: Store) -> Summary:
    """Return what the runs of a study say together, as far as they have been run."""
    return summarise(plan.study, read_cases(store), store.fact(UNITS) or {}, step_changes(store))


def done_keys(store: Store) -> list[str]:
    """Return the keys of the cases that have numbers."""
    return [entry.case.key for entry in store.stored() if entry.state == DONE]
