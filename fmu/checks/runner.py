"""All checks of one FMU, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kingpost.base.errors import FileError, KingpostError, closest, listed
from kingpost.base.scratch import Scratch
from kingpost.fmu.checks.check import Check, Report, Result, Verdict, finding, not_applicable
from kingpost.fmu.checks.processes import Nursery
from kingpost.fmu.file.opened import FmiKind, Fmu, FmuError, open_fmu
from kingpost.fmu.running.experiment import experiment

#: Stop time, in s after the start, of an FMU that names none.
SPAN = 1.0
START, RUN, EXIT, UNKNOWN = "start", "run", "exit", "unknown-references"


class UnknownCheckError(KingpostError):
    """A check is asked for that does not exist."""

    exit_code = 2  # a wrong command line


@dataclass(frozen=True)
class CheckOptions:
    """How an FMU is checked.

    Parameters
    ----------
    timeout
        Time limit of each check in s.
    stop_time, step
        Of the runs, in s; by default the FMU's own.
    instances
        How many instances are asked for, one after the other and at once.
    interface
        Co-simulation or model exchange, for an FMU that offers both.

    """

    timeout: float = 60.0
    stop_time: float | None = None
    step: float | None = None
    instances: int = 100
    interface: FmiKind | None = None

    def __post_init__(self) -> None:
        if not self.timeout > 0:
            raise KingpostError(f"a time limit of {self.timeout} s is not positive")
        if self.instances < 1:
            raise KingpostError(f"{self.instances} instances are asked for; at least 1 makes sense")


def check_fmu(
    path: str | Path,
    options: CheckOptions | None = None,
    *,
    checks: Sequence[Check] | None = None,
    only: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    nursery: Nursery | None = None,
    progress: Callable[[Result], None] = lambda result: None,
) -> Report:
    """Check an FMU; nothing of it runs in this process.

    Parameters
    ----------
    path
        The FMU.
    options
        Times and numbers.
    checks
        The checks there are; :data:`kingpost.fmu.checks.CHECKS` by default. Functions of your own must be importable.
    only, skip
        Names of checks to run, and not to run.
    nursery
        Processes to run in, if several FMUs are checked; else one is made for this call.
    progress
        Is told every result as it comes.

    Raises
    ------
    FileError
        If the file is missing or is no FMU.

    """
    from kingpost.fmu.checks.catalogue import CHECKS

    options = options or CheckOptions()
    known = CHECKS if checks is None else checks
    chosen = select_checks(known, only, skip)
    # Whether the FMU starts, and how fast it is, must be known even if nobody asks.
    unasked = [check for check in known if check.name in (START, RUN) and check not in chosen]
    fmu = open_fmu(path, options.interface)
    if fmu.major == 1:
        raise FmuError(f"'{fmu.path.name}' is an FMU of FMI 1.0, which can be run but not checked")
    times = experiment(fmu, options.stop_time, options.step, span=SPAN)
    request: dict[str, Any] = {
        "fmu": str(fmu.path),
        "interface": fmu.interface,
        "times": [times.t_start, times.t_stop, times.step],
        "instances": options.instances,
        "limit": options.timeout,
        "python_inside": any(name.endswith(".py") for name in fmu.members),
        "manners": {},
    }
    results: list[Result] = []
    with Scratch("check") as place, nullcontext(nursery) if nursery else Nursery() as home:
        request["folder"] = str(place / "fmu")
        obstacle, damaged = _obstacle(fmu, Path(request["folder"]))
        for check in [*(unasked if any(check.runs for check in chosen) else ()), *chosen]:
            begin = time.perf_counter()
            verdict = finding(damaged) if damaged and check.name == START else None
            verdict = verdict or _reason(check, fmu, results, times.t_start, obstacle or damaged)
            if verdict is None:
                scratch = place / check.name
                scratch.mkdir()
                verdict = home.run(check, request, scratch)
            request["manners"] |= _learned(check, verdict)
            if check in unasked and verdict.outcome != "finding":
                continue
            seconds = round(time.perf_counter() - begin, 3)
            results.append(Result(check.name, check.title, **vars(verdict), seconds=seconds))
            progress(results[-1])
    facts = {
        "file": str(path),
        "sha256": fmu.sha256,
        "model": fmu.name,
        "fmi": fmu.description.fmiVersion,
        "interface": fmu.interface,
        "generation_tool": fmu.description.generationTool or "",
        "experiment": asdict(times),
    }
    return Report(facts, tuple(results))


def _obstacle(fmu: Fmu, folder: Path) -> tuple[str, str]:
    """Unpack an FMU; return why nothing of it can be run here, and why nowhere; empty texts if it can be."""
    try:
        fmu.unpack(folder)
    except FileError as error:
        return "", str(error)
    if fmu.library() not in fmu.members:
        return "there is no binary for this platform", ""
    return "", ""


def _learned(check: Check, verdict: Verdict) -> dict[str, Any]:
    """Return what later checks should know."""
    if check.name == RUN and verdict.outcome == "finding":
        status = verdict.data.get("fails_with_status", False)
        return {"safe_until": verdict.data.get("reached"), "fails_with_status": status}
    if check.name in (START, RUN) and verdict.outcome == "pass":
        return dict(verdict.data)
    if check.name == UNKNOWN and "exit_code" in verdict.data:
        return {"survives_unknown": False}
    if check.name == EXIT and "exit_code" in verdict.data:
        return {"survives_exit": False}
    return {}


def select_checks(checks: Sequence[Check], only: Sequence[str] | None, skip: Sequence[str]) -> list[Check]:
    """Return the checks that are asked for, in the order in which they stand."""
    names = [check.name for check in checks]
    for name in (*(only or ()), *skip):
        if name not in names:
            raise UnknownCheckError(f"there is no check '{name}'{closest(name, names)} Checks: {listed(names)}.")
    return [check for check in checks if (only is None or check.name in only) and check.name not in skip]


def _reason(check: Check, fmu: Fmu, results: Sequence[Result], t_start: float, obstacle: str) -> Verdict | None:
    """Return why a check makes no sense, if it does not."""
    for need in check.needs:
        if not need.met(fmu):
            return not_applicable(need.reason)
    if check.runs and obstacle:
        return not_applicable(obstacle)
    if check.runs and any(result.name == START and result.outcome != "pass" for result in results):
        return not_applicable(f"the FMU does not start, see '{START}'")
    reached = [result.data.get("reached") for result in results if result.name == RUN and result.outcome == "finding"]
    if check.runs and check.steps and reached and (reached[0] or t_start) <= t_start:
        return not_applicable(f"the FMU takes no step, see '{RUN}'")
    return None
