"""An FMU in the hands of a test, through fmpy: the same calls for both standards, by names instead of references."""

from __future__ import annotations

import ctypes
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
from fmpy import calloc, fmi2, fmi3, free
from fmpy.logging import addLoggerProxy


def reference(path: Path) -> dict[str, int]:
    """Return the value references of an FMU by name."""
    description = fmpy.read_model_description(str(path))
    return {variable.name: variable.valueReference for variable in description.modelVariables}


class Hosted:
    """One instance; ``with Hosted(path) as fmu: fmu.initialize(); fmu.step(0.0, 0.01)``."""

    def __init__(self, path: Path, *, name: str = "one", token: str | None = None, logging: bool = False) -> None:
        self.description = fmpy.read_model_description(str(path))
        # FMI 2 files do not list the time, which has a reference all the same.
        self.references = {"time": 0} | {variable.name: variable.valueReference for variable in self.description.modelVariables}
        self.major = int(self.description.fmiVersion[0])
        self.kind = "cs" if self.description.coSimulation is not None else "me"
        interface = self.description.coSimulation or self.description.modelExchange
        self._folder = tempfile.mkdtemp(prefix="hosted-")
        #: What the FMU has said, as (status, text).
        self.messages: list[tuple[int, str]] = []
        fmpy.extract(str(path), self._folder)
        classes = {(2, "cs"): fmi2.FMU2Slave, (2, "me"): fmi2.FMU2Model, (3, "cs"): fmi3.FMU3Slave, (3, "me"): fmi3.FMU3Model}
        self.raw = classes[self.major, self.kind](
            guid=self.description.guid if token is None else token,
            unzipDirectory=self._folder,
            modelIdentifier=interface.modelIdentifier,
            instanceName=name,
        )
        try:
            self._instantiate(logging)
        except Exception:
            self.raw.freeLibrary()
            shutil.rmtree(self._folder)
            raise

    def _instantiate(self, logging: bool) -> None:
        if self.major == 3:
            self.raw.instantiate(loggingOn=logging, logMessage=lambda _, status, __, text: self._take(status, text))
            return
        callbacks = fmi2.fmi2CallbackFunctions()
        callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(lambda _, __, status, ___, text: self._take(status, text))
        callbacks.allocateMemory = fmi2.fmi2CallbackAllocateMemoryTYPE(calloc)
        callbacks.freeMemory = fmi2.fmi2CallbackFreeMemoryTYPE(free)
        addLoggerProxy(ctypes.byref(callbacks))
        self.raw.instantiate(callbacks=callbacks, loggingOn=logging)

    def _take(self, status: int, text: bytes) -> None:
        self.messages.append((status, text.decode()))

    @property
    def said(self) -> str:
        """The last message."""
        return self.messages[-1][1]

    def __enter__(self) -> Hosted:
        return self

    def __exit__(self, *_: Any) -> None:
        self.raw.freeInstance()
        shutil.rmtree(self._folder)

    def begin(self, t_start: float = 0.0, t_stop: float | None = None) -> None:
        """Enter the initialization."""
        if self.major == 2:
            self.raw.setupExperiment(startTime=t_start, stopTime=t_stop)
            self.raw.enterInitializationMode()
        else:
            self.raw.enterInitializationMode(startTime=t_start, stopTime=t_stop)

    def initialize(self, start: Mapping[str, float] | None = None, **times: Any) -> Hosted:
        """Go through the initialization with some start values."""
        self.begin(**times)
        self.set(start or {})
        self.raw.exitInitializationMode()
        return self

    def get(self, names: Iterable[str] | str) -> Any:
        """Return the value of one variable, or an array of those of several."""
        several = [names] if isinstance(names, str) else list(names)
        references = [self.references[name] for name in several]
        values = np.array((self.raw.getReal if self.major == 2 else self.raw.getFloat64)(references))
        return values[0] if isinstance(names, str) else values

    def set(self, values: Mapping[str, float]) -> None:
        """Set some variables."""
        if values:
            references = [self.references[name] for name in values]
            (self.raw.setReal if self.major == 2 else self.raw.setFloat64)(references, list(values.values()))

    def step(self, t: float, h: float) -> None:
        """Advance a co-simulation FMU."""
        self.raw.doStep(t, h)

    def steps(self, count: int, h: float, first: int = 0) -> None:
        """Take steps ``first`` to ``first + count - 1``."""
        for i in range(first, first + count):
            self.raw.doStep(i * h, h)

    def save(self) -> Any:
        return self.raw.getFMUstate() if self.major == 2 else self.raw.getFMUState()

    def restore(self, state: Any) -> None:
        (self.raw.setFMUstate if self.major == 2 else self.raw.setFMUState)(state)

    def forget(self, state: Any) -> None:
        (self.raw.freeFMUstate if self.major == 2 else self.raw.freeFMUState)(state)

    def to_bytes(self, state: Any) -> bytes:
        return bytes((self.raw.serializeFMUstate if self.major == 2 else self.raw.serializeFMUState)(state))

    def from_bytes(self, content: bytes) -> Any:
        return (self.raw.deSerializeFMUstate if self.major == 2 else self.raw.deserializeFMUState)(content)

    def derivative(self, unknowns: Iterable[str], knowns: Iterable[str], seed: Iterable[float]) -> np.ndarray:
        """Return the change of the unknowns along a change of the knowns."""
        groups = [[self.references[name] for name in names] for names in (unknowns, knowns)]
        return np.array(self.raw.getDirectionalDerivative(*groups, list(seed)))

    @property
    def outputs(self) -> list[str]:
        return [variable.name for variable in self.description.modelVariables if variable.causality == "output"]
