"""Checks of several instances in one process."""

from __future__ import annotations

import shutil

import numpy as np

from kingpost.fmu.checks.check import Verdict, finding, passed
from kingpost.fmu.checks.fmu_under_test import FmuUnderTest, difference

INSTANCE_STEPS = 20
#: Phase of the inputs of the second instance, so that they differ.
OTHER = 1.0


def alone(subject: FmuUnderTest) -> Verdict:
    """Let two instances run by themselves, one after the other, each in a process of its own as far as possible."""
    return _record(subject, "first", 0.0)


def alone_too(subject: FmuUnderTest) -> Verdict:
    """Do the same with other inputs."""
    return _record(subject, "second", OTHER)


def together(subject: FmuUnderTest) -> Verdict:
    """Let both run at once, step by step, and compare."""
    first, second = subject.start("first"), subject.start("second", phase=OTHER)
    expected = [np.load(subject.scratch / f"{name}.npy") for name in ("first", "second")]
    rows: list[list[np.ndarray]] = [[], []]
    for _ in range(len(expected[0])):
        for run, table in zip((first, second), rows, strict=True):
            run.step()
            table.append(run.row())
    for name, wanted, table in zip(("first", "second"), expected, rows, strict=True):
        differs = difference(first.observed.labels, wanted, np.array(table))
        if differs:
            return finding(f"the {name} of two instances is not what it is alone: {differs}")
    first.finish()
    extra = second.steps(subject.two_parts((INSTANCE_STEPS, 1), runs=2)[1])
    second.finish()
    inputs = "with different inputs" if subject.inputs else "without inputs"
    if not np.isfinite(extra).all():
        return finding("when the first instance is freed, the second gives values that are not finite")
    return passed(f"two at once {inputs}: {len(expected[0])} steps as alone, bit by bit")


def many(subject: FmuUnderTest) -> Verdict:
    """Make many instances, one after the other, then at once."""
    cost = subject.manners.instantiate + subject.manners.step
    count = subject.afford(subject.instances, 2 * cost)
    expected = None
    for i in range(count):
        subject.keep(finding(f"{i} of {count} instances, one after the other, went well"))
        run = subject.start(f"instance {i + 1}")
        rows = run.steps(1)
        run.finish()
        expected = rows if expected is None else expected
        differs = difference(run.observed.labels, expected, rows)
        if differs:
            return finding(f"instance {i + 1} of {count}, one after the other, differs from the first: {differs}")
    if subject.only_once:
        return passed(f"{count} one after the other; only one at once is promised")
    runs = []
    for i in range(count):
        subject.keep(finding(f"{i} of {count} instances at once went well"))
        runs.append(subject.start(f"instance {i + 1}"))
    for i, run in enumerate(runs):
        differs = difference(run.observed.labels, expected, run.steps(1))  # type: ignore[arg-type]  # count is at least 1
        if differs:
            return finding(f"instance {i + 1} of {count} at once differs from the first: {differs}")
    for run in runs:
        run.finish()
    fewer = "" if count == subject.instances else f" (not {subject.instances}: instantiating takes {cost:.2g} s)"
    return passed(f"{count} one after the other and {count} at once{fewer}", instances=count)


def two_loads(subject: FmuUnderTest) -> Verdict:
    """Load the library from two folders, unload one, and load it again."""
    steps, one = subject.two_parts((INSTANCE_STEPS, 1), runs=4)
    second_folder = subject.scratch / "second"
    shutil.copytree(subject.folder, second_folder)
    first = subject.start("first")
    rows = first.steps(steps)
    second = subject.start("second", folder=second_folder)
    labels = first.observed.labels
    differs = difference(labels, rows, second.steps(steps))
    if differs:
        return finding(f"a second copy, loaded from another folder, differs: {differs}")
    first.finish()
    if not subject.manners.survives_exit:
        return passed("two copies at once give the same results; unloading one is not tried, see 'exit'")
    first.instance.unload()
    subject.note("stepping the second copy after the first was unloaded")
    second.steps(one)
    third = subject.start("third")
    differs = difference(labels, rows, third.steps(steps))
    if differs:
        return finding(f"loaded again after it was unloaded, it differs: {differs}")
    third.finish()
    second.finish()
    return passed("two copies at once, one of them unloaded and loaded again: the same results")


def _record(subject: FmuUnderTest, name: str, phase: float) -> Verdict:
    run = subject.start(name, phase=phase)
    np.save(subject.scratch / f"{name}.npy", run.steps(subject.two_parts((INSTANCE_STEPS, 1), runs=2)[0]))
    run.finish()
    return passed("recorded")
