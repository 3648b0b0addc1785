"""Running an FMU from beginning to end, by default in a process of its own."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import InternalError, Interrupted, SolverError, closest, listed
from kingpost.base.scratch import Scratch
from kingpost.fmu.file.opened import FmiKind, Fmu, FmuError, open_fmu
from kingpost.fmu.file.variables import Variable, recorded, start_settings, variables_of
from kingpost.fmu.instance.log import Log, Message
from kingpost.fmu.instance.solvers import SOLVERS, SolverName
from kingpost.fmu.process.endings import describe_ending
from kingpost.fmu.process.limits import CALL_LIMIT, checked_limit
from kingpost.fmu.process.program import PRINTED, hand_over, last_printed, start_program
from kingpost.fmu.process.trail import raw_trail, read_trail
from kingpost.fmu.running.experiment import check_size, experiment
from kingpost.fmu.running.inputs import InputSource, InputTable, input_table
from kingpost.fmu.running.job import Job
from kingpost.fmu.running.record import channels_of, known_names, make_history
from kingpost.results.history import History
from kingpost.results.telling import Telling
from kingpost.simulation.grid import fixed_step_grid

#: Time between two looks at the process of the FMU, in s.
LOOK = 0.02


@dataclass(frozen=True)
class Ended:
    """How a run ended, and how far it came."""

    rows: FloatArray
    outcome: str
    message: str
    statistics: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    #: The time of the last sample, where the FMU ended the run between two communication points.
    time: float | None = None


@dataclass(frozen=True, eq=False)
class FmuRun:
    """An FMU run that is ready to go: everything read, chosen and checked, and no code of the FMU run."""

    fmu: Fmu
    job: Job
    variables: Mapping[str, Variable]
    table: InputTable
    #: The longest time of one call into an FMU in a process of its own, and of the whole run, in s.
    call_limit: float = math.inf
    run_limit: float = math.inf

    def run(
        self,
        *,
        isolated: bool = True,
        on_message: Callable[[Message], None] = lambda message: None,
        progress: Callable[[float], None] = lambda fraction: None,
    ) -> History:
        """Carry the run out; see :func:`run_fmu`."""
        started = time.perf_counter()
        deadline = time.monotonic() + self.run_limit
        ended = self._carried_out(isolated, on_message, progress, deadline)
        if ended.outcome == "discarded":
            # Saving the state before every step may cost much, so it is done only where it is known to be needed.
            saving = replace(self, job=replace(self.job, saving=True))
            ended = saving._carried_out(isolated, on_message, progress, deadline)
        notes = [*self.fmu.notes, *self.table.notes, *ended.warnings]
        if ended.statistics.get("shortened"):
            notes.append(f"the FMU discarded {ended.statistics['shortened']} steps, which were taken in shorter parts")
        if ended.outcome == "ended by the FMU":
            notes.append(ended.message)
        facts = {
            "outcome": "complete" if ended.outcome == "ended by the FMU" else ended.outcome,
            "wall_time_s": round(time.perf_counter() - started, 6),
            "statistics": dict(ended.statistics),
            "warnings": notes,
        }
        history = None
        if len(ended.rows):
            history = make_history(self.fmu, self.job, self.variables, self.table, ended.rows, facts, ended.time)
        if ended.outcome == "interrupted" and history is not None:
            raise Interrupted(f"interrupted at t = {history.time[-1]:g} s", history=history)
        if ended.outcome == "interrupted":
            raise KeyboardInterrupt("interrupted before the first sample")
        if ended.outcome == "failed" or history is None:
            raise SolverError(f"'{self.fmu.path.name}': {ended.message}", history=history)
        return history

    def _carried_out(
        self,
        isolated: bool,
        on_message: Callable[[Message], None],
        progress: Callable[[float], None],
        deadline: float,
    ) -> Ended:
        with Scratch("fmu") as place:
            folder = self.fmu.unpack(place / "fmu")
            go = self._apart if isolated else self._here
            return go(folder, place, on_message, progress, deadline)

    @property
    def _shape(self) -> tuple[int, int]:
        """How many samples there will be, and how many numbers in each."""
        return self.job.steps + 1, sum(self.variables[name].elements for name in self.job.outputs)

    def _here(
        self,
        folder: Path,
        place: Path,
        on_message: Callable[[Message], None],
        progress: Callable[[float], None],
        deadline: float,
    ) -> Ended:
        from kingpost.fmu.running.march import finish, march

        rows = np.empty(self._shape)
        count = 0
        telling = self._telling(progress)

        def keep(k: int, row: FloatArray) -> None:
            nonlocal count
            rows[k] = row
            count = k + 1
            self._tell(telling, rows, count)
            progress(k / self.job.steps)
            if time.monotonic() > deadline and k < self.job.steps:
                raise TimeoutError

        try:
            ending, instance = march(self.fmu, folder, self.job, self.table.values, Log(on_message), keep)
        except KeyboardInterrupt:
            return Ended(rows[:count], "interrupted", "", {})
        except TimeoutError:
            return Ended(rows[:count], "failed", self._run_was_over(rows[:count]), {})
        said = finish(instance) if instance is not None else ""
        warnings = (said,) if said else ()
        return Ended(rows[:count], ending.outcome, ending.message, ending.statistics, warnings, ending.time)

    def _telling(self, progress: Callable[[float], None]) -> Telling:
        recorded = [self.variables[name] for name in self.job.outputs]
        return Telling(progress, lambda: channels_of(self.fmu, recorded), known_names(self.fmu, self.variables))

    def _tell(self, telling: Telling, rows: FloatArray, count: int) -> None:
        if telling.due(count, last=count == self.job.steps + 1):
            numbers = np.arange(telling.told, count, dtype=float)
            telling.tell(self.job.t_start + numbers * self.job.step, np.array(rows[telling.told : count]))

    def _run_was_over(self, rows: FloatArray) -> str:
        came = f"come to t = {self.job.time(len(rows) - 1):g} s of {self.job.t_end:g} s" if len(rows) else "no sample"
        return f"the run was given {self.run_limit:g} s, and has {came}; allow more (run_timeout)"

    def _apart(
        self,
        folder: Path,
        place: Path,
        on_message: Callable[[Message], None],
        progress: Callable[[float], None],
        deadline: float,
    ) -> Ended:
        """Run in another process; whatever happens there, the samples so far are in a file."""
        rows = np.memmap(place / "rows", dtype=float, mode="w+", shape=self._shape)
        count = np.memmap(place / "count", dtype=np.int64, mode="w+", shape=(1,))
        np.save(place / "inputs.npy", self.table.values)
        request = {"folder": str(folder), "job": asdict(self.job)}
        used = self.fmu.reduced([*self.job.outputs, *self.job.inputs, *self.job.settings])
        (place / "used").write_bytes(pickle.dumps(used))
        hand_over(request, place / "job.json")
        messages = place / "messages"
        messages.touch()
        telling = self._telling(progress)
        interrupted = False
        late = ""
        with (place / "printed").open("wb") as printed, messages.open(encoding="utf-8") as told:
            process = start_program(
                "kingpost.fmu.running.child", str(place), stdin=subprocess.DEVNULL, stdout=printed, stderr=printed
            )
            call, since = b"", time.monotonic()
            try:
                while process.poll() is None and not late:
                    time.sleep(LOOK)
                    _hand_on(told, on_message)
                    self._tell(telling, rows, int(count[0]))
                    progress(max(0, int(count[0]) - 1) / self.job.steps)
                    now, under_way = time.monotonic(), raw_trail(place / "trail")
                    if under_way != call:
                        call, since = under_way, now
                    if now > deadline:
                        late = "run"
                    elif call and now - since > self.call_limit:  # not what Python takes to start
                        late = "call"
            except KeyboardInterrupt:
                interrupted = True
            finally:
                process.kill()
                code = process.wait()
            _hand_on(told, on_message)
        result = np.array(rows[: int(count[0])])
        del rows, count  # Windows does not remove files that are mapped
        if interrupted:
            return Ended(result, "interrupted", "", {})
        if not late:
            return _understood(result, code, place)
        text = self._run_was_over(result)
        if late == "call":
            text = (
                f"the FMU did not come back within {self.call_limit:g} s while {read_trail(place / 'trail')[0]}, and its "
                "process was ended. If it only needs longer, allow more (timeout)"
            )
        return _understood(result, code, place, text)


def prepare_fmu(
    path: str | Path,
    t_end: float | None = None,
    *,
    t_start: float | None = None,
    step: float | None = None,
    settings: Mapping[str, Any] | None = None,
    inputs: InputSource | None = None,
    outputs: Sequence[str] | None = None,
    solver: SolverName = "CVode",
    tolerance: float | None = None,
    interface: FmiKind | None = None,
    timeout: float | None = None,
    run_timeout: float | None = None,
) -> FmuRun:
    """Read an FMU and check everything that is asked of it, without running any of its code."""
    if solver not in SOLVERS:
        raise FmuError(f"there is no solver '{solver}'{closest(solver, SOLVERS)} Solvers: {listed(SOLVERS)}.")
    fmu = open_fmu(path, interface)
    if fmu.missing_binary():
        raise FmuError(fmu.missing_binary())
    times = experiment(fmu, t_end, step, t_start)
    variables = variables_of(fmu)
    shown = recorded(variables, outputs)
    check_size(fmu, times, sum(variable.elements for variable in shown), own=t_end is None or step is None)
    grid = fixed_step_grid(times.t_start, times.t_stop, times.step, times.step)
    chosen = start_settings(variables, settings or {})
    table = input_table(variables, grid.times, inputs, chosen)
    job = Job(
        grid.t_start,
        grid.step,
        grid.samples,
        chosen,
        tuple(variable.name for variable in shown),
        tuple(variable.name for variable in table.variables),
        solver,
        tolerance if tolerance is not None else fmu.default("tolerance"),
    )
    call_limit = checked_limit(CALL_LIMIT if timeout is None else timeout, "timeout")
    return FmuRun(fmu, job, variables, table, call_limit, checked_limit(run_timeout, "run_timeout"))


def run_fmu(
    path: str | Path,
    t_end: float | None = None,
    *,
    t_start: float | None = None,
    step: float | None = None,
    settings: Mapping[str, Any] | None = None,
    inputs: InputSource | None = None,
    outputs: Sequence[str] | None = None,
    solver: SolverName = "CVode",
    tolerance: float | None = None,
    interface: FmiKind | None = None,
    isolated: bool = True,
    timeout: float | None = None,
    run_timeout: float | None = None,
    on_message: Callable[[Message], None] = lambda message: None,
    progress: Callable[[float], None] = lambda fraction: None,
) -> History:
    """Run an FMU and return its history.

    Parameters
    ----------
    path
        The FMU, of FMI 2 or 3, or of FMI 1.0 for co-simulation.
    t_end, t_start, step
        Times and communication step in s; by default the FMU's own.
    settings
        Start values of parameters, inputs and states, by name.
    inputs
        Inputs over time: a file with a column for each, a history, or functions of time by name.
    outputs
        Names or patterns (``"slew.*"``) of what is recorded; by default all outputs.
    solver, tolerance
        For model exchange: ``"CVode"`` or ``"Euler"``, and the relative tolerance of the former.
    interface
        ``"co-simulation"`` or ``"model-exchange"``, for an FMU that offers both; by default the former.
    isolated
        Whether the FMU runs in a process of its own, so that it cannot take this one with it.
    timeout, run_timeout
        The longest time in s of one call into an FMU in a process of its own (300 s by default), and of the whole run; 0: no
        limit.
    on_message
        Is given every message of the FMU's logger.
    progress
        Is told the part of the run that is done.

    Raises
    ------
    FileError
        If the file is missing or is no FMU.
    FmuError
        If what is asked for does not fit it, such as a variable that it does not have.
    SolverError
        If the run fails, or the FMU's process dies; ``error.history`` holds the samples before that.

    """
    run = prepare_fmu(
        path,
        t_end,
        t_start=t_start,
        step=step,
        settings=settings,
        inputs=inputs,
        outputs=outputs,
        solver=solver,
        tolerance=tolerance,
        interface=interface,
        timeout=timeout,
        run_timeout=run_timeout,
    )
    return run.run(isolated=isolated, on_message=on_message, progress=progress)


def _hand_on(told: Any, on_message: Callable[[Message], None]) -> None:
    """Hand on the messages that have come since the last look; a line that is still being written waits."""
    while True:
        place = told.tell()
        line = told.readline()
        if not line.endswith("\n"):
            told.seek(place)
            return
        on_message(Message(**json.loads(line)))


def _understood(rows: FloatArray, code: int, place: Path, late: str = "") -> Ended:
    """Return how a run in another process ended, by what it left behind; ``late`` says why it was ended, if it was."""
    ending = place / "ending.json"
    left: dict[str, Any] = json.loads(ending.read_text(encoding="utf-8")) if ending.is_file() else {}
    under_way, _ = read_trail(place / "trail")
    crash = late or f"the process of the FMU {describe_ending(code)} while {under_way}"
    if left.get("outcome"):
        warnings = [left["finish"]] if left.get("finish") else []
        if code != 0:
            warnings.append(f"after the run {crash}")
        return Ended(rows, left["outcome"], left["message"], left["statistics"], tuple(warnings), left["time"])
    if late:
        return Ended(rows, "failed", late, {})
    if left.get("fault"):
        raise InternalError(f"the process that runs the FMU failed itself: {left['fault']}")
    said = [json.loads(line) for line in (place / "messages").read_text(encoding="utf-8").splitlines()[-PRINTED:]]
    told = "; ".join(str(Message(**entry)) for entry in said)
    printed = last_printed(place / "printed")
    words = [crash, *([f"It said: {told}"] if told else []), *([f"It printed: {' | '.join(printed)}"] if printed else [])]
    return Ended(rows, "failed", ". ".join(words), {})
