"""Checks of an instance's life: start, run, reset, end, and from which folder."""

from __future__ import annotations

import gc
import shutil
import time

import numpy as np

from kingpost.fmu.checks.check import Verdict, finding, not_applicable, passed, warning
from kingpost.fmu.checks.fmu_under_test import SHARE, FmuUnderTest, Run, difference, fill_fresh_memory, not_finite
from kingpost.fmu.instance.instance import FmiError, FmuEndedError

#: Steps over which numbers are compared.
LIFECYCLE_STEPS = 20
#: Steps of a whole run, unless its stop time comes first.
MOST_STEPS = 20_000
#: A reference that no FMU has.
UNUSED = 0xFFFFFFF0
AWKWARD = "brønnøysund prøve 1"


def start(subject: FmuUnderTest) -> Verdict:
    """Load, instantiate, initialise."""
    begin = time.perf_counter()
    run = subject.start()
    seconds = time.perf_counter() - begin
    row = run.row()
    try:
        run.feed()
        takes_inputs = True
    except FmiError:
        takes_inputs = False  # 'set-values' says more
    said = f"loaded and initialised in {1e3 * seconds:.3g} ms, {len(row)} values are observed"
    return passed(said, instantiate=seconds, takes_inputs=takes_inputs)


def run(subject: FmuUnderTest) -> Verdict:
    """Run to the stop time, or for as long as there is time."""
    whole = round((subject.times.t_stop - subject.times.t_start) / subject.times.step)
    run = subject.start()
    bad = not_finite(run.observed.labels, run.row())
    if bad:
        return finding(f"values are not finite before the first step: {bad}", reached=run.time)
    begin = time.perf_counter()
    while run.count < min(whole, MOST_STEPS) and time.perf_counter() - begin < SHARE * subject.limit:
        before = run.time
        if subject.trail is not None:
            subject.trail.reach(before)
        try:
            run.step()
            bad = not_finite(run.observed.labels, run.row())
        except FmuEndedError as error:
            return passed(f"{error}", step=(time.perf_counter() - begin) / (run.count + 1), safe_until=before)
        except FmiError as error:
            what = f"the step from t = {before:g} s failed: {error}"
            return finding(what, *subject.log.last(), reached=before, fails_with_status=True)
        if bad:
            what = f"the step to t = {run.time:g} s reports success, but {bad}"
            return finding(what, *subject.log.last(), reached=before)
    seconds = (time.perf_counter() - begin) / run.count
    run.finish()
    rest = "" if run.count >= whole else f" (of {whole} to its stop time; see stop time, step and timeout)"
    return passed(f"{run.count} steps of {subject.times.step:g} s to t = {run.time:g} s{rest}", step=seconds)


def after_error(subject: FmuUnderTest) -> Verdict:
    """Provoke an error and do what FMI allows then: free the instance, and leave some day."""
    fill_fresh_memory(0xA5)
    run = subject.start()
    what = _error(run)
    if not what:
        return not_applicable("no error could be provoked")
    subject.keep(finding(f"{what}; then it was freed"))
    run.instance.free()
    gc.collect()
    return passed(f"{what}; then it was freed")


def terminated_after_error(subject: FmuUnderTest) -> Verdict:
    """Do what masters do after an error, though FMI does not foresee it: terminate the instance before it is freed."""
    fill_fresh_memory(0xA5)
    run = subject.start()
    what = _error(run)
    subject.keep(warning(f"{what}; then it was terminated and freed, as many masters do"))
    answer = run.finish()
    gc.collect()
    return passed(f"{what}; then it was freed, or terminated ({answer or 'ok'}) and freed")


def _error(run: Run) -> str:
    """Make the FMU report an error; return how."""
    manners = run.subject.manners
    if manners.fails_with_status:
        try:
            run.steps(run.subject.steps(MOST_STEPS) + 1 if manners.safe_until > run.time else 1)
        except FmiError as error:
            return f"a step failed ({error})"
    if not manners.survives_unknown:
        return ""
    kind = "Real" if run.subject.fmu.major == 2 else "Float64"
    try:
        run.instance.call(f"calling get{kind}({UNUSED})", getattr(run.instance.raw, f"get{kind}"), [UNUSED])
    except FmiError as error:
        return f"an unknown reference was refused ({error})"
    return ""


def leave(subject: FmuUnderTest) -> Verdict:
    """Use an instance, end it properly and unload the library; the process ends after that."""
    run = subject.start()
    run.steps(subject.steps(LIFECYCLE_STEPS))
    run.instance.terminate()
    run.instance.free()
    run.instance.unload()
    return passed("terminated, freed and unloaded")


def reset(subject: FmuUnderTest) -> Verdict:
    """Compare a run after a reset with the first."""
    steps = subject.steps(LIFECYCLE_STEPS, runs=2)
    run = subject.start()
    first, rows = run.row(), run.steps(steps)
    run.instance.reset()
    run.instance.initialize(subject.times.t_start, subject.times.t_stop)
    again = Run(subject, run.instance)
    labels = run.observed.labels
    differs = difference(labels, np.vstack([first, rows]), np.vstack([again.row(), again.steps(steps)]))
    if differs:
        return finding(f"a run after reset() differs from the first: {differs.replace('step 1 ', 'initialisation ', 1)}")
    again.finish()
    return passed(f"{steps} steps after reset() are equal to the first, bit by bit")


def folder_name(subject: FmuUnderTest) -> Verdict:
    """Start the FMU from a folder with other letters than English ones and a space."""
    steps = subject.steps(LIFECYCLE_STEPS, runs=2)
    plain = subject.start()
    rows = plain.steps(steps)
    plain.finish()
    folder = subject.scratch / AWKWARD
    subject.keep(finding(f"it runs in {subject.folder.name}, but not in a folder called '{AWKWARD}'"))
    shutil.copytree(subject.folder, folder)
    awkward = subject.start(folder=folder)
    differs = difference(plain.observed.labels, rows, awkward.steps(steps))
    if differs:
        return finding(f"results depend on the folder ('{AWKWARD}'): {differs}")
    return passed(f"runs in a folder called '{AWKWARD}'")
