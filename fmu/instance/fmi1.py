"""An instance of an FMU of FMI 1.0, for co-simulation: no initialisation mode, no states that could be kept."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from fmpy import calloc, fmi1, free
from fmpy.logging import addLoggerProxy

from kingpost.fmu.instance.instance import CoSimulation, FmiError, address

#: Functions that return a status, which fmpy takes for a text: it would follow any status but 'ok' as if it were a pointer.
STATUSES = (
    "InitializeSlave", "SetRealInputDerivatives", "GetRealOutputDerivatives", "CancelStep", "DoStep",
    "GetStatus", "GetRealStatus", "GetIntegerStatus", "GetBooleanStatus", "GetStringStatus",
)  # fmt: skip


class FMU1Component(fmi1.FMU1Slave):  # type: ignore[misc]  # fmpy ships no types, and looks at how a class is called
    """fmpy's slave, with statuses as what they are."""

    def _loadFunctions(self) -> None:  # fmpy's name
        super()._loadFunctions()
        for name in STATUSES:
            self._functions[f"fmi1{name}"].restype = ctypes.c_int


class CoSimulation1(CoSimulation):
    """An FMU of FMI 1.0 with its own solver."""

    def _load(self, **arguments: Any) -> Any:
        return FMU1Component(**arguments)

    def _instantiate(self, logging_on: bool) -> None:
        self._logging_on = logging_on
        callbacks = fmi1.fmi1CallbackFunctions()
        callbacks.logger = fmi1.fmi1CallbackLoggerTYPE(self._take2)
        callbacks.allocateMemory = fmi1.fmi1CallbackAllocateMemoryTYPE(calloc)
        callbacks.freeMemory = fmi1.fmi1CallbackFreeMemoryTYPE(free)
        addLoggerProxy(ctypes.byref(callbacks))
        self.raw.instantiate(functions=callbacks, loggingOn=logging_on)
        if not self.raw.component:
            raise FmiError("it returned no instance")

    def _enter(self) -> None:
        """Set start values and initialise: before that, FMI 1.0 shows no outputs."""
        self._set_start_values()
        self.call("initialising", self.raw.initialize, self.beginning.t_start, self.beginning.t_stop)

    def exit_initialization(self) -> None:
        """Do nothing; steps can follow."""

    def start_anew(self, give: Callable[[], None]) -> None:
        """Begin once more in a new instance, with the inputs that ``give`` sets: what it is initialised from changed."""
        self.finish()
        self.trail("instantiating")
        self._instantiate(self._logging_on)
        self.handle.value = address(self.raw.component)
        self._set_start_values()
        give()
        self.call("initialising", self.raw.initialize, self.beginning.t_start, self.beginning.t_stop)

    def step(self, t: float, h: float) -> None:
        """Let the FMU advance itself."""
        self.call(f"stepping from t = {t!r} s by {h!r} s", self.raw.doStep, t, h)
        self.time = t + h

    def asked_to_end(self) -> bool:
        """Say no: FMI 1.0 has no word for it."""
        return False

    def free(self) -> None:
        """Free the instance; its library stays loaded."""
        self.call("freeing the instance", self.raw.fmi1FreeSlaveInstance, self.raw.component)

    def save(self) -> Any:
        """Refuse."""
        raise FmiError("FMI 1.0 cannot keep states")
