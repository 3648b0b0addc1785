"""One instance of an FMU, driven through fmpy: the same calls for every version of FMI, every status looked at."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from fmpy import calloc, fmi2, fmi3, free
from fmpy.fmi1 import FMICallException
from fmpy.logging import addLoggerProxy

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, SolverError
from kingpost.fmu.file.opened import Fmu
from kingpost.fmu.file.variables import Variable
from kingpost.fmu.instance.log import Log, status_name

DISCARD = 2
#: Times closer than this part of a step are the same time.
SAME_TIME = 1e-9
#: What the values of a type are in C; FMI 2 passes booleans as int.
C_TYPES: dict[str, Any] = {
    "Real": ctypes.c_double,
    "Integer": ctypes.c_int,
    "Float32": ctypes.c_float,
    "Float64": ctypes.c_double,
    "Int8": ctypes.c_int8,
    "UInt8": ctypes.c_uint8,
    "Int16": ctypes.c_int16,
    "UInt16": ctypes.c_uint16,
    "Int32": ctypes.c_int32,
    "UInt32": ctypes.c_uint32,
    "Int64": ctypes.c_int64,
    "UInt64": ctypes.c_uint64,
}
Trail = Callable[[str], None]


class FmiError(KingpostError):
    """A call into an FMU did not succeed. ``status`` is that of FMI, if the call came back with one."""

    exit_code = SolverError.exit_code

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class FmuEndedError(FmiError):
    """The FMU asked to end the simulation, at ``time``."""

    def __init__(self, time: float) -> None:
        super().__init__(f"the FMU asked to end the simulation at t = {time:g} s", DISCARD)
        self.time = time


class StepDiscardedError(FmiError):
    """The FMU did not take the whole of a step from ``t`` by ``h``, but could take a shorter one.

    ``reached`` is the time up to which it says that it could. Of FMI 3 it is then as it was before (``unchanged``); of FMI 2 it
    may be in any state, so that it must be brought back to one that was saved before anything more is asked of it.
    """

    def __init__(self, function: str, t: float, h: float, reached: float, unchanged: bool, more: str = "") -> None:
        part = f"it got as far as t = {reached:.9g} s" if reached > t else "it took no part of it"
        super().__init__(
            f"{function} ended with status 'discard' for the step from t = {t:.9g} s by {h:g} s: {part}{more}", DISCARD
        )
        self.function, self.t, self.h, self.reached, self.unchanged = function, t, h, reached, unchanged


@dataclass(frozen=True)
class Beginning:
    """What an instance is initialised with."""

    t_start: float
    t_stop: float | None
    tolerance: float | None
    settings: Mapping[Variable, Sequence[Any]]


class IntermediateUpdate(Protocol):
    """What an FMU of FMI 3 calls during a step: with its environment, the time, whether inputs are wanted, and more."""

    references: list[int]

    def __call__(self, environment: Any, t: float, wanted: bool, *others: Any) -> None: ...


class Instance(ABC):
    """An instance of an FMU.

    Parameters
    ----------
    fmu, folder
        The FMU, and where it is unpacked.
    name
        Name of the instance.
    log
        Takes its messages.
    trail
        Is told of every call before it is made, so that a crash can be laid at its door.
    logging_on
        Whether the FMU is asked to log.
    between
        Is called during steps of an FMU for co-simulation of FMI 3, for the inputs that it names.

    """

    def __init__(
        self,
        fmu: Fmu,
        folder: Path,
        *,
        name: str = "instance",
        log: Log | None = None,
        trail: Trail = lambda call: None,
        logging_on: bool = True,
        between: IntermediateUpdate | None = None,
    ) -> None:
        self.fmu = fmu
        self._between = between
        self.log = Log() if log is None else log
        self.trail = trail
        self.time = 0.0
        #: Whether the user may go back to an earlier state; FMI wants to be told.
        self.may_go_back = False
        trail("loading the library")
        try:
            self.raw = self._load(
                guid=fmu.description.guid, modelIdentifier=fmu.identifier, unzipDirectory=str(folder), instanceName=name
            )
        except Exception as error:  # fmpy raises plain exceptions, and AttributeError for a function that is not there
            raise FmiError(_load_fault(error)) from None
        trail("instantiating")
        try:
            self._instantiate(logging_on)
        except Exception as error:
            raise FmiError("the FMU did not instantiate") from error

    @abstractmethod
    def _load(self, **arguments: Any) -> Any:
        """Return fmpy's object."""

    @abstractmethod
    def step(self, t: float, h: float) -> None:
        """Advance from ``t`` by ``h``."""

    def _instantiate(self, logging_on: bool) -> None:
        if self.fmu.major == 3:
            more: dict[str, Any] = {}
            if self._between is not None:
                more = {"intermediateUpdate": self._between, "requiredIntermediateVariables": self._between.references}
            self.raw.instantiate(loggingOn=logging_on, logMessage=self._take3, **more)
            return
        callbacks = fmi2.fmi2CallbackFunctions()
        callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(self._take2)
        callbacks.allocateMemory = fmi2.fmi2CallbackAllocateMemoryTYPE(calloc)
        callbacks.freeMemory = fmi2.fmi2CallbackFreeMemoryTYPE(free)
        addLoggerProxy(ctypes.byref(callbacks))  # fills in the %s and %g of a message
        self.raw.instantiate(callbacks=callbacks, loggingOn=logging_on)

    def _take2(self, environment: Any, name: Any, status: int, category: Any, text: Any) -> None:
        self.log.take(status, category, text)

    def _take3(self, environment: Any, status: int, category: Any, text: Any) -> None:
        self.log.take(status, category, text)

    def call(self, what: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call into the FMU; a status worse than a warning becomes an :class:`FmiError`."""
        self.trail(what)
        try:
            return function(*arguments)
        except FMICallException as error:
            raise FmiError(f"{error.function} ended with status '{status_name(error.status)}'", error.status) from None

    def initialize(
        self,
        t_start: float = 0.0,
        t_stop: float | None = None,
        tolerance: float | None = None,
        settings: Mapping[Variable, Sequence[Any]] | None = None,
    ) -> None:
        """Set start values and go through initialisation."""
        self.enter_initialization(t_start, t_stop, tolerance, settings)
        self.exit_initialization()

    def enter_initialization(
        self,
        t_start: float = 0.0,
        t_stop: float | None = None,
        tolerance: float | None = None,
        settings: Mapping[Variable, Sequence[Any]] | None = None,
    ) -> None:
        """Set start values and enter initialisation mode."""
        self.time = t_start
        self.beginning = Beginning(t_start, t_stop, tolerance, dict(settings or {}))
        self._enter()

    def _enter(self) -> None:
        begin = self.beginning
        if self.fmu.major == 2:
            self.call("setting the experiment up", self.raw.setupExperiment, begin.tolerance, begin.t_start, begin.t_stop)
        self._set_start_values()
        arguments = () if self.fmu.major == 2 else (begin.tolerance, begin.t_start, begin.t_stop)
        self.call("entering initialisation", self.raw.enterInitializationMode, *arguments)

    def _set_start_values(self) -> None:
        for variable, values in self.beginning.settings.items():
            self.set(variable, values)

    def exit_initialization(self) -> None:
        """Leave initialisation mode; steps can follow."""
        self.call("leaving initialisation", self.raw.exitInitializationMode)

    def set(self, variable: Variable, values: Sequence[Any]) -> None:
        """Set one variable."""
        setter = getattr(self.raw, f"set{variable.access}")
        held = [negative(value) for value in values] if variable.negated else list(values)
        self.call(f"setting '{variable.name}'", setter, [variable.reference], held)

    def get(self, variable: Variable) -> list[Any]:
        """Return the values of one variable."""
        getter = getattr(self.raw, f"get{variable.access}")
        sizes = (variable.elements,) if self.fmu.major == 3 else ()
        values = list(self.call(f"getting '{variable.name}'", getter, [variable.reference], *sizes))
        return [negative(value) for value in values] if variable.negated else values

    def function(self, name: str) -> Any:
        """Return a function of the library by its name without prefix, such as ``"DoStep"``; ctypes checks no arguments."""
        prefix = f"{self.fmu.identifier}_fmi" if self.fmu.major == 1 else f"fmi{self.fmu.major}"
        return self.raw.dll[f"{prefix}{name}"]

    @cached_property
    def handle(self) -> ctypes.c_void_p:
        """The instance as a pointer that ctypes passes without a look at it."""
        return ctypes.c_void_p(address(self.raw.component))

    def feed(self, inputs: Feed, values: FloatArray) -> None:
        """Give inputs the values that they have from now on."""
        inputs.write(values)

    def reset(self) -> None:
        """Go back to what an instance is before its initialisation."""
        self.call("resetting", self.raw.reset)

    def terminate(self) -> None:
        """End the simulation."""
        self.call("terminating", self.raw.terminate)

    def free(self) -> None:
        """Free the instance; its library stays loaded."""
        function = self.raw.fmi2FreeInstance if self.fmu.major == 2 else self.raw.fmi3FreeInstance
        self.call("freeing the instance", function, self.raw.component)

    def finish(self) -> str:
        """Terminate and free the instance, as masters do even after an error; return what the FMU says against it."""
        said = ""
        try:
            self.terminate()
        except FmiError as error:
            said = str(error)
        self.free()
        return said

    def unload(self) -> None:
        """Unload the library, once for each instance that was made."""
        self.call("unloading the library", self.raw.freeLibrary)

    def save(self) -> Any:
        """Return the state of the FMU."""
        function = self.raw.getFMUstate if self.fmu.major == 2 else self.raw.getFMUState
        return self.call("getting the state", function)

    def restore(self, state: Any) -> None:
        """Go back to a state."""
        function = self.raw.setFMUstate if self.fmu.major == 2 else self.raw.setFMUState
        self.call("setting the state", function, state)

    def forget(self, state: Any) -> None:
        """Free a state."""
        function = self.raw.freeFMUstate if self.fmu.major == 2 else self.raw.freeFMUState
        self.call("freeing the state", function, state)

    def to_bytes(self, state: Any) -> bytes:
        """Return a state as bytes."""
        function = self.raw.serializeFMUstate if self.fmu.major == 2 else self.raw.serializeFMUState
        return bytes(self.call("serialising the state", function, state))

    def from_bytes(self, content: bytes) -> Any:
        """Return the state that bytes hold."""
        function = self.raw.deSerializeFMUstate if self.fmu.major == 2 else self.raw.deserializeFMUState
        return self.call("reading a serialised state", function, content)

    def directional_derivative(
        self, unknowns: Sequence[Variable], knowns: Sequence[Variable], seed: Sequence[float]
    ) -> FloatArray:
        """Return how the unknowns change per unit of the knowns changing along ``seed``; scalars only."""
        references = [[variable.reference for variable in group] for group in (unknowns, knowns)]
        values = self.call(
            "getting a directional derivative", self.raw.getDirectionalDerivative, *references, [float(x) for x in seed]
        )
        return np.array(values, dtype=float)


def address(component: Any) -> int | None:
    """Return where an instance is in memory."""
    return component if isinstance(component, int) else ctypes.cast(component, ctypes.c_void_p).value


def negative(value: Any) -> Any:
    """Return what a negated alias is while the variable behind it has ``value``."""
    return not value if isinstance(value, bool) else -value


class CoSimulation(Instance):
    """An FMU with its own solver."""

    def _load(self, **arguments: Any) -> Any:
        return (fmi2.FMU2Slave if self.fmu.major == 2 else fmi3.FMU3Slave)(**arguments)

    def step(self, t: float, h: float) -> None:
        """Let the FMU advance itself."""
        end = t + h
        reached = self._step(t, h)
        while reached < end - SAME_TIME * h:
            t = self.after_early_return(t, end, reached)
            reached = self._step(t, end - t)
        self.time = end

    def _step(self, t: float, h: float) -> float:
        """Call the FMU once, and return how far it came."""
        what = f"stepping from t = {t!r} s by {h!r} s"
        forward = not self.may_go_back
        try:
            if self.fmu.major == 2:
                self.call(what, self.raw.doStep, t, h, int(forward))
                return t + h
            _, ended, early, last = self.call(what, self.raw.doStep, t, h, forward)
        except FmiError as error:
            if error.status == DISCARD:
                raise self.discarded(t, h) from None
            raise
        if ended:
            raise FmuEndedError(last)
        return float(last) if early else t + h

    def after_early_return(self, t: float, end: float, reached: float) -> float:
        """Return where to go on after a step that the FMU ended early, as FMI 3 lets it."""
        if not t < reached <= end:
            raise FmiError(
                f"fmi3DoStep from t = {t:.9g} s by {end - t:g} s returned early, at t = {reached:.9g} s, which is no progress"
            )
        return reached

    def discarded(self, t: float, h: float) -> FmiError:
        """Return what it means that the step from ``t`` by ``h`` was discarded."""
        if self.fmu.major != 2:
            return StepDiscardedError(f"fmi{self.fmu.major}DoStep", t, h, t, unchanged=self.fmu.major == 3)
        try:
            reached = float(self.call("asking how far it came", self.raw.getRealStatus, fmi2.fmi2LastSuccessfulTime))
        except FmiError:
            reached = t
        if self.asked_to_end():
            return FmuEndedError(reached)
        reached = min(reached, t + h) if reached > t else t
        return StepDiscardedError("fmi2DoStep", t, h, reached, unchanged=False)

    def asked_to_end(self) -> bool:
        """Say whether a step that was discarded is the FMU's wish to end the simulation."""
        try:
            return bool(self.call("asking why", self.raw.getBooleanStatus, fmi2.fmi2Terminated))
        except FmiError:
            return False


class Feed:
    """Numeric variables that are read or written together, as one row of numbers; values are laid out once."""

    def __init__(self, instance: Instance, variables: Sequence[Variable]) -> None:
        self.variables = tuple(variables)
        self.labels = tuple(label for variable in variables for label in variable.labels)
        self._instance = instance
        self._groups: list[tuple[Any, Any, Any, Any, Any, Any]] = []
        first = np.cumsum([0, *(variable.elements for variable in variables)])
        major = instance.fmu.major
        for access in dict.fromkeys(variable.access for variable in variables):
            members = [i for i, variable in enumerate(variables) if variable.access == access]
            places = np.concatenate([np.arange(first[i], first[i + 1]) for i in members])
            kind = C_TYPES.get(access, ctypes.c_int if major == 2 else ctypes.c_bool)
            references = (ctypes.c_uint * len(members))(*(variables[i].reference for i in members))
            values = (kind * len(places))()
            # fmpy knows the booleans of FMI 1.0 as letters.
            passed = ctypes.cast(values, ctypes.POINTER(ctypes.c_char)) if (major, access) == (1, "Boolean") else values
            sizes = (len(members), passed, len(places)) if major == 3 else (len(members), passed)
            getter, setter = (getattr(instance.raw, f"fmi{major}{verb}{access}") for verb in ("Get", "Set"))
            self._groups.append((getter, setter, references, sizes, np.frombuffer(values, dtype=kind), places))
        self._negated = Negation(variables)

    def __len__(self) -> int:
        return len(self.labels)

    def read(self) -> FloatArray:
        """Return the values of all variables."""
        row = np.empty(len(self.labels))
        for getter, _, references, sizes, values, places in self._groups:
            self._instance.call("reading outputs", getter, self._instance.raw.component, references, *sizes)
            row[places] = values
        return self._negated(row)

    def write(self, row: FloatArray) -> None:
        """Set all variables."""
        row = self._negated(row)
        for _, setter, references, sizes, values, places in self._groups:
            values[:] = row[places]
            self._instance.call("setting inputs", setter, self._instance.raw.component, references, *sizes)


class Negation:
    """Turns a row of values into what the FMU holds of them, and back: negated aliases of FMI 1.0 have the other sign.

    A variable has as many values in the row as it has elements, or one with ``one_each``.
    """

    def __init__(self, variables: Sequence[Variable], one_each: bool = False) -> None:
        owners = [variable for variable in variables for _ in (variable.labels[:1] if one_each else variable.labels)]
        self._numbers = np.flatnonzero([owner.negated and owner.declared.type != "Boolean" for owner in owners])
        self._booleans = np.flatnonzero([owner.negated and owner.declared.type == "Boolean" for owner in owners])
        self.needed = bool(len(self._numbers) or len(self._booleans))

    def __call__(self, row: FloatArray) -> FloatArray:
        """Return the other side of a row."""
        if not self.needed:
            return row
        other = row.copy()
        other[self._numbers] = -row[self._numbers]
        other[self._booleans] = 1 - row[self._booleans]
        return other


def _load_fault(error: Exception) -> str:
    if isinstance(error, AttributeError):
        return f"its library lacks a function that FMI demands: {error}"
    return f"its library cannot be loaded: {error}"
