"""Checks of states: going back, going on elsewhere, and doing the same again."""

from __future__ import annotations

import numpy as np

from kingpost.fmu.checks.check import Verdict, finding, passed
from kingpost.fmu.checks.fmu_under_test import FmuUnderTest, Run, difference, fill_fresh_memory

#: Before and after the state that is kept.
PARTS = (5, 10)
STATE_STEPS = 30


def rollback(subject: FmuUnderTest) -> Verdict:
    """Get the state, step, set the state, step again; twice."""
    before, after = subject.two_parts(PARTS, runs=3)
    run = subject.start(go_back=True)
    run.steps(before)
    at = run.row()
    state = run.instance.save()
    rows = run.steps(after)
    for attempt in ("first", "second"):
        run.instance.restore(state)
        run.count = before
        differs = difference(run.observed.labels, at, run.row())
        if differs:
            return finding(f"after going back, {differs}")
        differs = difference(run.observed.labels, rows, run.steps(after))
        if differs:
            return finding(
                f"the run differs after going back ({attempt} time): {differs}",
                "something that decides about the future is not part of the state",
            )
    run.instance.forget(state)
    run.finish()
    return passed(f"{after} steps repeated twice from a saved state, {len(at)} values equal bit by bit")


def save(subject: FmuUnderTest) -> Verdict:
    """Serialise a state and go on from it."""
    before, after = subject.two_parts(PARTS)
    run = subject.start(go_back=True)
    run.steps(before)
    state = run.instance.save()
    (subject.scratch / "state.bin").write_bytes(run.instance.to_bytes(state))
    rows = run.steps(after)
    np.save(subject.scratch / "rows.npy", rows)
    return passed("saved")


def resume(subject: FmuUnderTest) -> Verdict:
    """Go on from a serialised state in another process."""
    content = (subject.scratch / "state.bin").read_bytes()
    expected = np.load(subject.scratch / "rows.npy")
    run = subject.start(go_back=True)
    run.instance.restore(run.instance.from_bytes(content))
    run.count = subject.two_parts(PARTS)[0]
    run.instance.time = run.time
    differs = difference(run.observed.labels, expected, run.steps(len(expected)))
    if differs:
        return finding(f"going on in another process from a serialised state differs: {differs}")
    return passed(f"{len(content)} bytes, {len(expected)} steps in another process equal bit by bit")


def once(subject: FmuUnderTest) -> Verdict:
    """Run once."""
    fill_fresh_memory(0x5A)
    np.save(subject.scratch / "rows.npy", _whole(subject.start(), subject))
    return passed("recorded")


def again(subject: FmuUnderTest) -> Verdict:
    """Run again in another process, and there a second instance, at another address."""
    fill_fresh_memory(0xA5)
    expected = np.load(subject.scratch / "rows.npy")
    first = subject.start()
    differs = difference(first.observed.labels, expected[1:], _whole(first, subject)[1:])
    if differs:
        return finding(f"the same steps in another process differ: {differs}", "memory that was never set may be in use")
    if subject.only_once:
        first.finish()
    second = subject.start("another")
    differs = difference(first.observed.labels, expected[1:], _whole(second, subject)[1:])
    if differs:
        return finding(f"the same steps of a second instance differ: {differs}")
    return passed(f"{len(expected) - 1} steps in two processes and in a second instance, equal bit by bit")


def _whole(run: Run, subject: FmuUnderTest) -> np.ndarray:
    return np.vstack([run.row(), run.steps(subject.steps(STATE_STEPS, runs=3))])
