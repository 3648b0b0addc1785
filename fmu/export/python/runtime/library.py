"""The engine for traced models: the generated C and c/core.c in one shared library, called through ctypes."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kingpost.fmu.export.python.runtime.engine import ERROR, OK, Engine, EngineError

_PLATFORMS = {
    ("linux", "x86_64"): "linux64",
    ("linux", "aarch64"): "linux-arm64",
    ("win32", "x86_64"): "win64",
    ("darwin", "x86_64"): "darwin64",
    ("darwin", "aarch64"): "darwin-arm64",
}
_HANDLE, _INT, _SIZE, _DOUBLE = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_double
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "create": (_HANDLE, [ctypes.c_char_p]),
    "destroy": (None, [_HANDLE]),
    "text": (ctypes.c_char_p, [_HANDLE]),
    "time": (_DOUBLE, [_HANDLE]),
    "state_size": (_SIZE, []),
    "setup": (_INT, [_HANDLE, _DOUBLE, _INT, _DOUBLE]),
    "enter_initialization": (_INT, [_HANDLE]),
    "exit_initialization": (_INT, [_HANDLE]),
    "terminate": (_INT, [_HANDLE]),
    "get": (_INT, [_HANDLE, ctypes.c_void_p, _SIZE, ctypes.c_void_p]),
    "set": (_INT, [_HANDLE, ctypes.c_void_p, _SIZE, ctypes.c_void_p]),
    "step": (_INT, [_HANDLE, _DOUBLE, _DOUBLE]),
    "get_state": (_INT, [_HANDLE, ctypes.c_char_p, _SIZE]),
    "set_state": (_INT, [_HANDLE, ctypes.c_char_p, _SIZE, _INT]),
    "take_warnings": (_INT, [_HANDLE, ctypes.c_char_p]),
}


def this_platform() -> str:
    """Return what FMUs call the machine that this runs on, as far as libraries in them are concerned."""
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    system = "linux" if sys.platform.startswith("linux") else sys.platform
    return _PLATFORMS.get((system, machine), f"{system} on {machine}")


class Library:
    """A loaded library; raises OSError or AttributeError if this machine cannot use it."""

    def __init__(self, path: Path, token: str) -> None:
        loaded = ctypes.CDLL(str(path))
        self.label = f"compiled library {path.name}"
        self.token = token
        self.functions: dict[str, Any] = {}
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(loaded, "kp_direct_" + name)
            function.restype, function.argtypes = result, arguments
            self.functions[name] = function
        self.state_size = int(self.functions["state_size"]())

    def engine(self) -> Engine:
        """Return a new instance of the model."""
        return LibraryEngine(self)


class LibraryEngine(Engine):
    """One instance of a model in a library."""

    def __init__(self, library: Library) -> None:
        functions = library.functions
        self.label, self.state_size = library.label, library.state_size
        self._destroy = functions["destroy"]
        self._functions = functions
        self._step, self._get, self._set = functions["step"], functions["get"], functions["set"]
        self._take_warnings, self._room = functions["take_warnings"], ctypes.create_string_buffer(4096)
        self._handle = functions["create"](library.token.encode())
        if not self._handle:
            raise EngineError(
                ERROR, "the compiled library could not make an instance: no memory, or it belongs to another FMU", True
            )
        #: The same few sets of references come again and again.
        self._arrays: dict[tuple[int, ...], Any] = {}

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._destroy(self._handle)
            self._handle = None

    @property
    def time(self) -> float:
        return float(self._functions["time"](self._handle))

    def setup(self, start: float, stop: float | None) -> None:
        self._check(self._functions["setup"](self._handle, start, stop is not None, stop or 0.0))

    def enter_initialization(self) -> None:
        self._check(self._functions["enter_initialization"](self._handle))

    def exit_initialization(self) -> None:
        self._check(self._functions["exit_initialization"](self._handle))

    def terminate(self) -> None:
        self._check(self._functions["terminate"](self._handle))

    def get(self, references: Sequence[int]) -> list[float]:
        values = (ctypes.c_double * len(references))()
        self._check(self._get(self._handle, self._array(references), len(references), values))
        return values[:]

    def set(self, references: Sequence[int], values: Sequence[float]) -> None:
        numbers = (ctypes.c_double * len(references))(*values)
        self._check(self._set(self._handle, self._array(references), len(references), numbers))

    def get_at(self, references: int, count: int, values: int) -> None:
        self._check(self._get(self._handle, references, count, values))

    def set_at(self, references: int, count: int, values: int) -> None:
        self._check(self._set(self._handle, references, count, values))

    def step(self, start: float, size: float) -> None:
        self._check(self._step(self._handle, start, size))

    def take_warnings(self) -> list[str]:
        if not self._take_warnings(self._handle, self._room):
            return []
        return self._room.value.decode("utf-8", "replace").split("\n")

    def get_state(self) -> bytes:
        buffer = ctypes.create_string_buffer(self.state_size)
        self._check(self._functions["get_state"](self._handle, buffer, self.state_size))
        return buffer.raw

    def set_state(self, state: bytes) -> None:
        self._check(self._functions["set_state"](self._handle, state, len(state), False))

    def check_state(self, state: bytes) -> None:
        self._check(self._functions["set_state"](self._handle, state, len(state), True))

    def _array(self, references: Sequence[int]) -> Any:
        key = tuple(references)
        array = self._arrays.get(key)
        if array is None:
            if len(self._arrays) > 100:
                self._arrays.clear()
            array = self._arrays[key] = (ctypes.c_uint * len(key))(*key)
        return array

    def _check(self, status: int) -> None:
        if status != OK:
            raise EngineError(status, self._functions["text"](self._handle).decode("utf-8", "replace"))
