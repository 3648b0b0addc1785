"""What advances a model inside an FMU, and how it fails."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

#: In the order of fmi2Status.
OK, WARNING, DISCARD, ERROR = range(4)


class EngineError(Exception):
    """A call that could not be carried out; the model is as it was, at its last good state.

    ``deadly`` failures are repeated to every later call until the model is reset or goes back to an earlier state. ``details``
    hold a traceback.
    """

    def __init__(self, fmi_status: int, text: str, deadly: bool = False, details: str = "") -> None:
        super().__init__(text)
        self.fmi_status = fmi_status
        self.deadly = deadly
        self.details = details


class Engine:
    """One instance of a model: what c/core.h offers, as methods that raise :class:`EngineError`."""

    #: What runs, for the log.
    label = ""
    state_size = 0

    @property
    def time(self) -> float:
        """Where the model is, in s."""
        raise NotImplementedError

    def setup(self, start: float, stop: float | None) -> None:
        raise NotImplementedError

    def enter_initialization(self) -> None:
        raise NotImplementedError

    def exit_initialization(self) -> None:
        raise NotImplementedError

    def terminate(self) -> None:
        raise NotImplementedError

    def get(self, references: Sequence[int]) -> list[float]:
        """Return the values of some variables."""
        raise NotImplementedError

    def set(self, references: Sequence[int], values: Sequence[float]) -> None:
        """Change some variables, or none if one of them cannot be."""
        raise NotImplementedError

    def step(self, start: float, size: float) -> None:
        """Advance by a communication step."""
        raise NotImplementedError

    def take_warnings(self) -> list[str]:
        """Return what there was to say since the last call, beside failures."""
        return []

    def get_state(self) -> bytes:
        """Return everything that later results depend on."""
        raise NotImplementedError

    def set_state(self, state: bytes) -> None:
        """Go back to a state, to the last bit."""
        raise NotImplementedError

    def check_state(self, state: bytes) -> None:
        """Refuse bytes that are no state of this model."""
        raise NotImplementedError

    def get_at(self, references: int, count: int, values: int) -> None:
        """Do what ``get`` does, with addresses of arrays."""
        if count:
            found = self.get((ctypes.c_uint * count).from_address(references)[:])
            ctypes.memmove(values, (ctypes.c_double * count)(*found), 8 * count)

    def set_at(self, references: int, count: int, values: int) -> None:
        """Do what ``set`` does, with addresses of arrays."""
        if count:
            given = (ctypes.c_double * count).from_address(values)[:]
            self.set((ctypes.c_uint * count).from_address(references)[:], given)
