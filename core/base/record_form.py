"""The form of the record of a run, as far as anything is read from it again: loads, geometry, times, warnings.

A record comes from a file, which may hold anything. It is checked once, where it is read; whoever uses it need not ask again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from kingpost.base.errors import listed
from kingpost.base.load_frames import Frame, Side
from kingpost.base.numbers import finite, shown


@dataclass(frozen=True)
class Each:
    """A table whose entries, whatever they are called, have one form."""

    form: Any


@dataclass(frozen=True)
class Exactly:
    """A list of so many entries of one form."""

    count: int
    form: Any


@dataclass(frozen=True)
class ByKind:
    """A table whose ``kind`` says which form it has."""

    forms: Mapping[str, Any]


@dataclass(frozen=True)
class OneOf:
    """One of some words."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Within:
    """A number no larger than ``most``, so that what is computed from it stays finite."""

    most: float


#: A length, or an entry of a rotation.
LENGTH = Within(1e30)
VECTOR = Exactly(3, LENGTH)
FRAME = {"position": VECTOR, "rotation": Exactly(3, VECTOR)}
TIE = {"kind": str, "parent": str, "child": str, "parent_frame": FRAME, "child_frame": FRAME, "axis?": VECTOR}
POINT = {"body": str, "at": VECTOR}
SHAPE = ByKind(
    {
        "box": {"frame": FRAME, "size": VECTOR},
        "cylinder": {"frame": FRAME, "radius": LENGTH, "length": LENGTH},
        "sphere": {"frame": FRAME, "radius": LENGTH},
        "mesh": {"frame": FRAME, "points": [VECTOR], "triangles": [Exactly(3, int)]},
    }
)
#: Waves: amplitudes (m), frequencies (rad/s), phases and directions (rad), one of each for every wave.
SEA = {**{f"{name}?": [float] for name in ("amplitude", "frequency", "phase", "direction")}, "ramp?": float, "depth?": float}
#: A type stands for itself, object for anything, a list for any number of entries like the one in it; what ends in ? may be
#: left out, or be null.
FORM = {
    "sea?": SEA,
    "time?": {"step_s?": float},
    "warnings?": [str],
    "redundant_closures?": [str],
    "loads?": {
        "joints?": Each({"frame?": OneOf(get_args(Frame)), "side?": OneOf(get_args(Side)), "at?": VECTOR, "parts?": [str]}),
        "not_unique?": {"loops?": [{"joints": [str], "ways": int, "metric": str, "length_m?": float, "stiffness_of?": [str]}]},
    },
    "forces?": Each({"not_unique?": [str]}),
    "geometry?": {
        "bodies?": Each({"mass": float, "com": VECTOR, "shapes?": [SHAPE]}),
        "joints?": Each(TIE),
        "closures?": Each(TIE),
        "outputs?": [{"name": str, **POINT}],
        "lines?": [{"name": str, "kind": str, "points": [POINT], "length?": LENGTH, "drum?": str, "radius?": LENGTH}],
        "floats?": [str],
        "waves?": [SEA],
    },
}
WORDS = {str: "a text", float: "a finite number", int: "a whole number"}


def fault_of_record(record: Mapping[str, Any]) -> str:
    """Return what in a record is not of its form, and where; an empty text if all is well."""
    return fault_of(record, FORM)


def fault_of(value: Any, form: Any, where: str = "") -> str:
    """Return what in plain data is not of a form, and where."""
    if form is object:
        return ""
    if isinstance(form, OneOf):
        return "" if value in form.words else f"its '{where}' is {shown(value)}, expected {listed(form.words)}"
    if isinstance(form, Within):
        number = finite(value)
        well = number is not None and abs(number) <= form.most
        return "" if well else f"its '{where}' is {shown(value)}, expected a number up to {form.most:g}"
    if isinstance(form, type):
        well = finite(value) is not None if form is float else isinstance(value, form) and not isinstance(value, bool)
        return "" if well else f"its '{where}' is {shown(value)}, expected {WORDS[form]}"
    if isinstance(form, list | Exactly):
        count = form.count if isinstance(form, Exactly) else None
        if not isinstance(value, list | tuple) or (count is not None and len(value) != count):
            return f"its '{where}' is {shown(value)}, expected a list{'' if count is None else f' of {count}'}"
        entry = form.form if isinstance(form, Exactly) else form[0]
        return next((fault for i, item in enumerate(value) if (fault := fault_of(item, entry, f"{where}[{i}]"))), "")
    if not isinstance(value, Mapping):
        return f"{_called(where)} is {shown(value)}, expected a table"
    if isinstance(form, ByKind):
        kind = value.get("kind")
        if not isinstance(kind, str) or kind not in form.forms:
            return f"its '{where}' is of kind {shown(kind)}, expected {listed(form.forms)}"
        return fault_of(value, form.forms[kind], where)
    if isinstance(form, Each):
        return next((fault for key, item in value.items() if (fault := fault_of(item, form.form, f"{where}.{key}"))), "")
    for key, entry in form.items():
        name = key.removesuffix("?")
        place = f"{where}.{name}".lstrip(".")
        if value.get(name) is None:
            if name != key:
                continue
            return f"{_called(where)} lacks '{name}'"
        if fault := fault_of(value[name], entry, place):
            return fault
    return ""


def _called(where: str) -> str:
    return f"its '{where}'" if where else "it"
