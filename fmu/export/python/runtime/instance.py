"""One instance of an FMU: no method raises, whatever happens inside; every failure is told, with time and state."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING, Any

from kingpost.fmu.export.python.runtime.engine import DISCARD, ERROR, OK, WARNING, Engine, EngineError
from kingpost.fmu.export.python.runtime.opening import open_engine, read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    #: Takes a status and a text to wherever the importer reads them.
    Tell = Callable[[int, str], None]

LONGEST_STATE = 600


class SlaveInstance:
    """One instance of a model, for whoever calls it; every method returns a status, and a result where there is one."""

    def __init__(self, resources: str, tell: Tell) -> None:
        self._resources, self._tell = resources, tell
        self._engine: Engine | None = None
        #: Status and text with which later calls are answered.
        self._fault: tuple[int, str] | None = None
        self.reset("fmi2Instantiate")

    def reset(self, function: str = "fmi2Reset") -> int:
        """Begin anew, with the start values of the export."""
        try:
            self._engine = open_engine(read_manifest(self._resources), self._resources, self._tell)
            self._fault = None
            return OK
        except BaseException as error:
            return self._report(function, error)

    @property
    def alive(self) -> bool:
        """Whether there is a model at all."""
        return self._engine is not None

    @property
    def state_size(self) -> int:
        return 0 if self._engine is None else self._engine.state_size

    @property
    def time(self) -> float:
        return float("nan") if self._engine is None else self._engine.time

    def setup(self, start: float, stop: float | None) -> int:
        return self._run("fmi2SetupExperiment", "setup", start, stop)[0]

    def enter_initialization(self) -> int:
        return self._run("fmi2EnterInitializationMode", "enter_initialization")[0]

    def exit_initialization(self) -> int:
        return self._run("fmi2ExitInitializationMode", "exit_initialization")[0]

    def terminate(self) -> int:
        """End the run; also possible, and without another message, for a model that has failed."""
        if self._engine is None or self._fault is not None:
            return OK
        return self._run("fmi2Terminate", "terminate")[0]

    def get(self, references: Sequence[int]) -> tuple[int, list[float] | None]:
        return self._run("fmi2GetReal", "get", references, even_dead=True)

    def set(self, references: Sequence[int], values: Sequence[float]) -> int:
        return self._run("fmi2SetReal", "set", references, values)[0]

    def get_at(self, references: int, count: int, values: int) -> int:
        return self._run("fmi2GetReal", "get_at", references, count, values, even_dead=True)[0]

    def set_at(self, references: int, count: int, values: int) -> int:
        return self._run("fmi2SetReal", "set_at", references, count, values)[0]

    def step(self, start: float, size: float) -> int:
        status = self._run("fmi2DoStep", "step", start, size)[0]
        if self._engine is not None:
            for text in self._engine.take_warnings():
                self._tell(WARNING, text)
        return status

    def get_state(self) -> tuple[int, bytes | None]:
        return self._run("fmi2GetFMUstate", "get_state", even_dead=True)

    def set_state(self, state: bytes) -> int:
        """Go back to a state; this also brings a model that failed on its way back to life."""
        status, _ = self._run("fmi2SetFMUstate", "set_state", state, even_dead=True)
        if status == OK:
            self._fault = None
        return status

    def check_state(self, state: bytes) -> int:
        return self._run("fmi2DeSerializeFMUstate", "check_state", state, even_dead=True)[0]

    def condemn(self, text: str) -> None:
        """Let later calls fail with ``text``, for an importer that could not be told by a status."""
        if self._fault is None:
            self._fault = ERROR, text

    def say(self, status: int, text: str) -> int:
        self._tell(status, text)
        return status

    def _run(self, function: str, method: str, *arguments: Any, even_dead: bool = False) -> tuple[int, Any]:
        engine = self._engine
        try:
            if engine is not None and (self._fault is None or even_dead):
                return OK, getattr(engine, method)(*arguments)
        except BaseException as error:
            return self._report(function, error, arguments), None
        status, text = self._fault or (ERROR, "there is no model")
        return self.say(status, f"{function}: {text}"), None

    def _report(self, function: str, error: BaseException, arguments: Sequence[Any] = ()) -> int:
        """Tell what went wrong, and return the status to answer with."""
        try:
            told = f"{function}: {_first_line(error)}"
            if function == "fmi2DoStep":
                told = (
                    f"the step of {arguments[1]:g} s from t = {arguments[0]:.9g} s failed: {_first_line(error)}{self._where()}"
                )
            expected = hasattr(error, "fmi_status")  # by name: a bundled package has a EngineError class of its own
            status = error.fmi_status if expected else DISCARD if function == "fmi2DoStep" else ERROR  # type: ignore[attr-defined]
            details = getattr(error, "details", "") if expected else _traceback(error)
            self._tell(status, told)
            if details:
                # In a message of its own: some importers cut long ones.
                self._tell(status, details)
            if not expected or error.deadly:  # type: ignore[attr-defined]
                self._fault = status, told
            return int(status)
        except BaseException as another:  # a broken logger, or no memory: the importer must not see it
            self._fault = ERROR, f"{function} failed, and so did telling why: {another!r}"
            return ERROR

    def _where(self) -> str:
        """Return time and state as the end of a sentence."""
        if self._engine is None:
            return ""
        try:
            manifest = read_manifest(self._resources)
            first, last = manifest.first["x"], manifest.first["dx"]
            names = manifest.names[first:last]
            values = self._engine.get(range(first, last))
            state = ", ".join(f"{name} = {values[i]:.9g}" for i, name in enumerate(names))
            if len(state) > LONGEST_STATE:
                state = state[:LONGEST_STATE] + " ..."
            return f". Last good state, at t = {self._engine.time:.9g} s: {state}"
        except Exception as error:
            return f". The last good state cannot be told: {error!r}"


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    if isinstance(error, EngineError) or hasattr(error, "fmi_status"):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _traceback(error: BaseException) -> str:
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return "".join(lines).rstrip() + f"\n(Python {sys.version.split()[0]})"
