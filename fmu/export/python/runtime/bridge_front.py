"""What c/bridge.c calls: a table of functions that this module fills in, through ctypes."""

from __future__ import annotations

import ctypes
import os
import traceback
from collections.abc import Callable
from typing import Any

from kingpost.fmu.export.python.runtime.engine import ERROR, OK
from kingpost.fmu.export.python.runtime.instance import SlaveInstance

_COMPONENT, _INT, _SIZE, _DOUBLE, _BYTES = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_double, ctypes.c_char_p
_ADDRESS = ctypes.c_void_p
#: In the order of functions_of_python in c/bridge.h: name, result, arguments after the component.
_FUNCTIONS: tuple[tuple[str, Any, tuple[Any, ...]], ...] = (
    ("log", None, (_INT, _BYTES)),
    ("create", _INT, (_BYTES,)),
    ("destroy", _INT, ()),
    ("setup", _INT, (_DOUBLE, _INT, _DOUBLE)),
    ("enter_initialization", _INT, ()),
    ("exit_initialization", _INT, ()),
    ("terminate", _INT, ()),
    ("reset", _INT, ()),
    ("get", _INT, (_ADDRESS, _SIZE, _ADDRESS)),
    ("set", _INT, (_ADDRESS, _SIZE, _ADDRESS)),
    ("step", _INT, (_DOUBLE, _DOUBLE)),
    ("state_size", _SIZE, ()),
    ("get_state", _INT, (_ADDRESS, _SIZE)),
    ("set_state", _INT, (_ADDRESS, _SIZE)),
    ("check_state", _INT, (_ADDRESS, _SIZE)),
    ("time", _DOUBLE, ()),
)
_TYPES = {name: ctypes.CFUNCTYPE(result, _COMPONENT, *arguments) for name, result, arguments in _FUNCTIONS}


class _Table(ctypes.Structure):
    _fields_ = [(name, _TYPES[name]) for name, _, _ in _FUNCTIONS]


#: C holds pointers to these functions for as long as the process lives; by the address of the table.
_connected: dict[int, dict[str, Any]] = {}
#: By the address of the importer's component.
_instances: dict[int, SlaveInstance] = {}


def connect(address: int) -> None:
    """Fill in the table at ``address``, all but its first function, which is the importer's log."""
    table = _Table.from_address(address)
    if address not in _connected:
        functions = _functions(table.log)
        _connected[address] = {
            name: _TYPES[name](_guarded(functions[name], ERROR if result is _INT else 0)) for name, result, _ in _FUNCTIONS[1:]
        }
    for name, function in _connected[address].items():
        setattr(table, name, function)


def _functions(tell: Callable[[int, int, bytes], None]) -> dict[str, Callable[..., Any]]:
    instances = _instances

    def create(component: int, resources: bytes) -> int:
        def tell_importer(status: int, text: str) -> None:
            tell(component, status, text.encode("utf-8", "replace"))

        instance = SlaveInstance(os.fsdecode(resources), tell_importer)
        if not instance.alive:
            return ERROR
        instances[component] = instance
        return OK

    def destroy(component: int) -> int:
        instances.pop(component, None)
        return OK

    def setup(component: int, start: float, stop_defined: int, stop: float) -> int:
        return instances[component].setup(start, stop if stop_defined else None)

    def get_state(component: int, place: int, size: int) -> int:
        status, state = instances[component].get_state()
        if status != OK or state is None:
            return status
        ctypes.memmove(place, state, min(size, len(state)))
        return OK

    def set_state(component: int, place: int, size: int) -> int:
        return instances[component].set_state(ctypes.string_at(place, size))

    def check_state(component: int, place: int, size: int) -> int:
        return instances[component].check_state(ctypes.string_at(place, size))

    # The shortest way: these are called at every communication point.
    def get(component: int, references: int, count: int, values: int) -> int:
        return instances[component].get_at(references, count, values)

    def set(component: int, references: int, count: int, values: int) -> int:
        return instances[component].set_at(references, count, values)

    def step(component: int, start: float, size: float) -> int:
        return instances[component].step(start, size)

    return {
        "create": create,
        "destroy": destroy,
        "setup": setup,
        "enter_initialization": lambda component: instances[component].enter_initialization(),
        "exit_initialization": lambda component: instances[component].exit_initialization(),
        "terminate": lambda component: instances[component].terminate(),
        "reset": lambda component: instances[component].reset(),
        "get": get,
        "set": set,
        "step": step,
        "state_size": lambda component: instances[component].state_size,
        "get_state": get_state,
        "set_state": set_state,
        "check_state": check_state,
        "time": lambda component: instances[component].time,
    }


def _guarded(function: Callable[..., Any], otherwise: int) -> Callable[..., Any]:
    """Return the function with an answer for exceptions that nobody foresaw; ctypes would return garbage."""

    def answer(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except BaseException:
            traceback.print_exc()
            return otherwise

    return answer
