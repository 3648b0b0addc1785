"""What a communication step consists of, for the loop in machine code (steps.c): numbers to move, functions to call."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray

Places = NDArray[np.intp]
#: Types of numbers, in the order of KP_EACH_TYPE.
TYPES = ("float64", "float32", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")


class Kind(IntEnum):
    """What is done, as in steps.c."""

    MOVE = 0
    PACK = 1
    UNPACK = 2
    TABLE = 3
    SCALE = 4
    ADD = 5
    CALL = 6
    CALL_SIZED = 7
    STEP = 8
    MARCH = 9


class Why(IntEnum):
    """Why an FMU did not take the whole of a step, as in steps.c."""

    STATUS = 0
    ENDED = 1
    NO_PROGRESS = 2


#: What is said of a model that does not stand at a multiple of its own step.
OFF_MULTIPLES = -1


class Operation(ctypes.Structure):
    """kp_operation in steps.c; what it points to is kept with it."""

    _fields_ = (
        ("kind", ctypes.c_int64),
        ("n", ctypes.c_int64),
        ("size", ctypes.c_int64),
        ("type", ctypes.c_int64),
        ("forward", ctypes.c_int64),
        ("function", ctypes.c_void_p),
        ("handle", ctypes.c_void_p),
        ("references", ctypes.c_void_p),
        ("source", ctypes.c_void_p),
        ("target", ctypes.c_void_p),
        ("source_at", ctypes.c_void_p),
        ("target_at", ctypes.c_void_p),
        ("factors", ctypes.c_void_p),
        ("offsets", ctypes.c_void_p),
        ("own", ctypes.c_double),
        ("slack", ctypes.c_double),
    )
    #: The function of FMI that it calls.
    name: str = ""
    kept: tuple[Any, ...] = ()


class Stopped(NamedTuple):
    """What stopped a step: a function, what it said, and of a step of an FMU which part of it and how far that came."""

    name: str
    status: int
    why: Why
    t: float
    h: float
    end: float
    last: float


@dataclass(frozen=True)
class Parts:
    """What a component does in a step, and to record what is kept beside its outputs."""

    step: Sequence[Operation]
    record: Sequence[Operation]


def _made(kind: Kind, n: int, **fields: Any) -> Operation:
    arrays = {key: value for key, value in fields.items() if isinstance(value, np.ndarray)}
    kept: list[Any] = []
    for key, array in arrays.items():
        if key.endswith("_at"):
            array = np.ascontiguousarray(array, dtype=np.int64)
        kept.append(array)
        fields[key] = array.ctypes.data if array.size else None
    made = Operation(kind=kind, n=n, **fields)
    made.kept = tuple(kept)
    return made


def move(source: FloatArray, source_at: Places, target: FloatArray, target_at: Places) -> list[Operation]:
    """Return what copies numbers from places to places."""
    if not len(source_at):
        return []
    return [_made(Kind.MOVE, len(source_at), source=source, source_at=source_at, target=target, target_at=target_at)]


def pack(source: FloatArray, source_at: Places, target: NDArray[Any], target_at: Places) -> Operation:
    """Return what puts doubles into a row of another type."""
    kind = TYPES.index(target.dtype.name)
    return _made(Kind.PACK, len(source_at), type=kind, source=source, source_at=source_at, target=target, target_at=target_at)


def unpack(source: NDArray[Any], source_at: Places, target: FloatArray, target_at: Places) -> Operation:
    """Return what takes doubles out of a row of another type."""
    kind = TYPES.index(source.dtype.name)
    return _made(Kind.UNPACK, len(source_at), type=kind, source=source, source_at=source_at, target=target, target_at=target_at)


def replaced(target: FloatArray, values: FloatArray, others: FloatArray) -> Operation:
    """Return what puts another number in the place of one of some values."""
    return _made(Kind.TABLE, len(values), target=target, factors=values, offsets=others)


def scaled(target: FloatArray, factors: FloatArray, offsets: FloatArray) -> Operation:
    """Return what multiplies and adds."""
    return _made(Kind.SCALE, len(factors), target=target, factors=factors, offsets=offsets)


def added(source: FloatArray, source_at: Places, factors: FloatArray, target: FloatArray, target_at: Places) -> Operation:
    """Return what adds summands to numbers."""
    return _made(
        Kind.ADD, len(factors), source=source, source_at=source_at, factors=factors, target=target, target_at=target_at
    )


def called(name: str, function: Any, arguments: Sequence[Any]) -> Operation:
    """Return what calls a function of an FMU that sets or gets values, with the arguments that ctypes would pass."""
    handle, references, count, values, *size = arguments
    made = _made(
        Kind.CALL_SIZED if size else Kind.CALL, count.value, size=size[0].value if size else 0,
        function=_address(function), handle=handle.value, references=ctypes.addressof(references),
        target=values.value if isinstance(values, ctypes.c_void_p) else ctypes.addressof(values),
    )  # fmt: skip
    made.name, made.kept = name, (function, arguments)
    return made


def fmu_step(major: int, function: Any, handle: ctypes.c_void_p, parts: int, forward: bool) -> Operation:
    """Return what lets an FMU take a communication step, in parts of equal length."""
    made = _made(Kind.STEP, parts, size=major, function=_address(function), handle=handle.value, forward=int(forward))
    made.name, made.kept = f"fmi{major}DoStep", (function,)
    return made


def march(function: int, job: int, t0: int, own: float, slack: float, whole: bool) -> Operation:
    """Return what lets a compiled model take a communication step, if ``whole`` from a multiple of its ``own`` step.

    It is stopped where the time is further from one than ``slack``.
    """
    return _made(Kind.MARCH, 1, size=int(whole), function=function, handle=job, target=t0, own=own, slack=slack)


def _address(function: Any) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value
