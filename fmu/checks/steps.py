"""Checks of steps: their length, and unusual ones."""

from __future__ import annotations

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.fmu.checks.check import Verdict, finding, passed
from kingpost.fmu.checks.fmu_under_test import FmuUnderTest, Run, not_finite
from kingpost.fmu.instance.instance import Feed, FmiError
from kingpost.fmu.instance.log import status_name

#: Steps of the longest kind.
COMPARED_STEPS = 8
#: Differences below this part of a value are round-off and tolerances of solvers.
CONSISTENT = 1e-6
#: A difference above this part of a value is more than the effect of a coarser step.
WILD = 0.5
#: Halving a step must make differences smaller by this factor at least, if they matter at all (a first-order method: 0.5).
SHRINKS = 0.9
MATTERS = 1e-4


def step_size(subject: FmuUnderTest) -> Verdict:
    """Cover the same time in steps of H, H/2 and H/4, with inputs at rest."""
    count = subject.steps(COMPARED_STEPS, runs=7)
    outputs = [variable for variable in subject.outputs if variable.variability == "continuous"]
    if not outputs:
        return Verdict("not applicable", "there are no continuous real outputs")
    h = subject.times.step
    tables = [_table(subject, count, parts) for parts in (1, 2, 4)]
    bad = not_finite(tables[0][0], tables[0][1][-1])
    if bad:
        return finding(f"values are not finite after {count} steps: {bad}")
    labels = tables[0][0]
    scale = np.maximum(np.abs(tables[2][1]).max(axis=0), 1e-12 * np.abs(tables[2][1]).max() + 1e-300)
    coarse, fine = (np.abs(tables[i][1] - tables[i + 1][1]).max(axis=0) / scale for i in (0, 1))
    worst = int(np.argmax(coarse))
    numbers = f"H = {h:g} s against H/2: {coarse.max():.3g} of '{labels[worst]}'; H/2 against H/4: {fine[worst]:.3g}"
    data = {"coarse": float(coarse.max()), "fine": float(fine[worst]), "channel": labels[worst], "H": h}
    wild = [labels[i] for i in np.flatnonzero(coarse > WILD)]
    if wild:
        return finding(
            f"results depend wildly on the step: {numbers}",
            f"outputs that differ by more than {WILD:.0%} over {count} steps: {', '.join(wild[:6])}",
            "a shorter communication step may be needed",
            **data,
        )
    stuck = [labels[i] for i in np.flatnonzero((coarse > CONSISTENT) & (fine > SHRINKS * coarse) & (fine > MATTERS))]
    if stuck:
        return finding(
            f"the difference does not shrink with the step: {numbers}",
            f"outputs: {', '.join(stuck[:6])}",
            "either time is not what drives the model, or something jumps in these steps",
            **data,
        )
    return Verdict("pass", f"consistent; {numbers}", (), data)


def odd_steps(subject: FmuUnderTest) -> Verdict:
    """Try a step of zero, a step backwards, and a step beyond the stop time: any status will do, but no crash and no nan."""
    h, t0 = subject.times.step, subject.times.t_start
    answers = []
    trials = [
        ("a step of zero", subject.times.t_stop, 0.0),
        ("a step backwards", subject.times.t_stop, -h),
        ("a step beyond the stop time", t0 + h, h),
    ]
    for what, stop, length in trials[:1] if subject.only_once else trials:
        subject.note(what)
        instance = subject.load()
        instance.initialize(t0, stop)
        run = Run(subject, instance)
        run.step()
        try:
            instance.step(run.time, length)
            answers.append(f"{what}: ok")
            bad = not_finite(run.observed.labels, run.row())
            if bad:
                return finding(f"{what} reports success, but {bad}")
        except FmiError as error:
            answers.append(f"{what}: {status_name(error.status or 0)}")
    return passed("; ".join(answers))


def _table(subject: FmuUnderTest, count: int, parts: int) -> tuple[tuple[str, ...], FloatArray]:
    """Return the outputs after each H, covered in ``parts`` steps."""
    run = subject.start()
    feed = Feed(run.instance, [variable for variable in subject.outputs if variable.variability == "continuous"])
    rows = []
    h = subject.times.step
    for i in range(count):
        for j in range(parts):
            run.instance.step(subject.times.t_start + (i + j / parts) * h, h / parts)
        rows.append(feed.read())
    run.finish()
    return feed.labels, np.array(rows)
