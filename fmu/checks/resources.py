"""Checks of what an FMU uses: memory and time; and of what it says."""

from __future__ import annotations

import itertools
import math
import os
import time
from pathlib import Path

import numpy as np

from kingpost.fmu.checks.check import Verdict, finding, not_applicable, passed
from kingpost.fmu.checks.fmu_under_test import FmuUnderTest, Run, short_time
from kingpost.fmu.instance.instance import FmiError

STATM = Path("/proc/self/statm")
#: Steps before memory is looked at, and batches of steps after that.
BATCHES = 4
BATCH = 3000
FEWEST = 20
#: Memory that may come in all batches together, in bytes.
GROWTH = 1 << 20
#: Part of the time limit that steps for memory may take.
PATIENCE = 0.05
BLOCKS, BLOCK = 9, 200


def memory(subject: FmuUnderTest) -> Verdict:
    """Step on and on, and see whether memory grows all the time."""
    if not STATM.is_file():
        return not_applicable("this system does not say how much memory a process uses")
    if math.isfinite(subject.manners.safe_until):
        return not_applicable("it cannot be stepped for long, see 'run'")
    count = min(BATCH, int(PATIENCE * subject.limit / max(subject.manners.step, 1e-6)))
    if count < FEWEST:
        return not_applicable(f"a step takes {short_time(subject.manners.step)}; there is time for too few of them (timeout)")
    instance = subject.load(logging_on=False)
    instance.initialize(subject.times.t_start)  # no stop time: the steps may go beyond it
    run = Run(subject, instance)
    sizes: list[int] = []
    try:
        for _ in range(BATCHES + 1):
            for _ in range(count):
                run.step()
                run.row()
            sizes.append(_resident())
    except FmiError as error:
        if run.time < subject.times.t_stop * (1 - 1e-9):
            raise
        if len(sizes) <= BATCHES:
            return not_applicable(f"only {run.count} of {(BATCHES + 1) * count} steps are possible: {error}")
    growth = [after - before for before, after in itertools.pairwise(sizes)]
    total, steps = sum(growth), BATCHES * count
    said = f"{total / 1024:.0f} kB more after {steps} steps ({total / steps:.0f} bytes per step)"
    data = {"bytes": total, "steps": steps}
    if total > GROWTH and all(part > 0 for part in growth):
        return finding(
            f"memory grows: {said}",
            f"by batch: {', '.join(f'{part / 1024:.0f} kB' for part in growth)}; allowed are {GROWTH >> 10} kB",
            **data,
        )
    return Verdict("pass", said, (), data)


def speed(subject: FmuUnderTest) -> Verdict:
    """Take the time of steps, and of getting and setting."""
    if math.isfinite(subject.manners.safe_until):
        return not_applicable("it cannot be stepped for long, see 'run'")
    count = max(1, min(BLOCK, subject.afford(BLOCK, BLOCKS * subject.manners.step)))
    instance = subject.load(logging_on=False)
    instance.initialize(subject.times.t_start)
    run = Run(subject, instance)
    run.step()
    blocks: list[float] = []
    try:
        for _ in range(BLOCKS):
            begin = time.process_time()
            for _ in range(count):
                instance.step(run.time, subject.times.step)
                run.count += 1
            blocks.append((time.process_time() - begin) / count)
    except FmiError as error:
        if run.time < subject.times.t_stop * (1 - 1e-9):
            raise
        if not blocks:
            return not_applicable(f"only {run.count} steps are possible: {error}")
    begin = time.process_time()
    for _ in range(count):
        run.row()
    reading = (time.process_time() - begin) / count
    step = float(np.median(blocks))
    taken = f"{short_time(step)} per step of {subject.times.step:g} s (median of {len(blocks)} x {count})"
    said = f"{taken}, {short_time(reading)} to read {len(run.observed)} values"
    return passed(said, step_s=step, read_s=reading, real_time_factor=subject.times.step / max(step, 1e-9))


def logging(subject: FmuUnderTest) -> Verdict:
    """Ask for messages of every category, and take them."""
    instance = subject.load()
    categories = [category.name for category in subject.fmu.description.logCategories]
    instance.call("switching logging on", instance.raw.setDebugLogging, True, categories)
    instance.initialize(subject.times.t_start, subject.times.t_stop)
    run = Run(subject, instance)
    first, one = subject.two_parts((20, 1))
    run.steps(first)
    instance.call("switching logging off", instance.raw.setDebugLogging, False, categories)
    while_on = subject.log.count
    run.steps(one)
    run.finish()
    if subject.log.damaged:
        return finding(f"{subject.log.damaged} of {subject.log.count} messages are not valid UTF-8 text", *subject.log.last())
    quiet = "" if subject.log.count == while_on else ", and some more although logging was off"
    last = f"; the last: {subject.log.last(1)[0]}" if subject.log.count else ""
    return passed(f"{while_on} messages with {len(categories)} categories on{quiet}{last}"[:200])


def _resident() -> int:
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
