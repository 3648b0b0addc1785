"""Frozen dataclasses filled from what a user wrote: unknown keys, missing keys and wrong types get a sentence.

One conversion serves the mechanism description (Python and TOML) and the options of every plugin.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Literal, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.formulas import Scalar, Scalars, as_scalar

T = TypeVar("T")

#: Option fields with these types are checked against the mechanism they are used with.
BodyName = NewType("BodyName", str)
JointName = NewType("JointName", str)
CoordinateName = NewType("CoordinateName", str)
#: A body, or the world.
AnchorName = NewType("AnchorName", str)
#: A mapping from names to anything; checked by whoever reads it.
Table = Mapping[str, Any]


#: What the fields of classes are declared as; to find it out takes longer than to read a small file.
_HINTS: dict[type[Any], dict[str, Any]] = {}


def _hints(cls: type[Any]) -> dict[str, Any]:
    if cls not in _HINTS:
        _HINTS[cls] = get_type_hints(cls)
    return _HINTS[cls]


def convert(annotation: Any, value: Any) -> Any:
    """Return ``value`` as ``annotation`` asks, or raise :class:`MechanismError` with a bare reason."""
    if annotation is Any:
        return value
    if annotation == Scalar:
        return as_scalar(value)
    if annotation == Scalars:
        several = hasattr(value, "__iter__") and not isinstance(value, str)
        return tuple(as_scalar(item) for item in (value if several else [value]))
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        if value not in arguments:
            raise MechanismError(f"expected one of {listed(map(repr, arguments))}, got {value!r}")
        return value
    if origin in (Union, types.UnionType) and type(None) in arguments:
        if value is None:
            return None
        rest = tuple(argument for argument in arguments if argument is not type(None))
        return convert(rest[0] if len(rest) == 1 else Union[rest], value)
    if origin is tuple:
        return _convert_tuple(arguments, value)
    if annotation is float:
        number = as_scalar(value)
        if not isinstance(number, float):
            raise MechanismError(f"expected a number, got the formula '{number}'")
        return number
    if annotation is int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise MechanismError(f"expected a whole number, got {value!r}")
        return value
    if annotation is bool:
        if not isinstance(value, bool):
            raise MechanismError(f"expected true or false, got {value!r}")
        return value
    if annotation in (str, BodyName, JointName, CoordinateName, AnchorName):
        if not isinstance(value, str):
            raise MechanismError(f"expected a text, got {value!r}")
        return value
    if hasattr(annotation, "from_data"):
        return annotation.from_data(value)
    return value


def _convert_tuple(arguments: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        raise MechanismError(f"expected a list, got {value!r}")
    items = list(value)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(convert(arguments[0], item) for item in items)
    if len(items) != len(arguments):
        raise MechanismError(f"expected {len(arguments)} entries, got {len(items)}: {value!r}")
    return tuple(convert(argument, item) for argument, item in zip(arguments, items, strict=True))


def convert_fields(instance: Any, what: str) -> None:
    """Convert every field of a frozen dataclass in place; meant to be called from ``__post_init__``."""
    hints = _hints(type(instance))
    for field in dataclasses.fields(instance):
        value = getattr(instance, field.name)
        try:
            converted = convert(hints[field.name], value)
        except MechanismError as error:
            raise MechanismError(f"{what}: {field.name}: {error}", path=(field.name,)) from None
        object.__setattr__(instance, field.name, converted)


def fill(cls: type[T], values: Mapping[str, Any], what: str) -> T:
    """Return ``cls(**values)`` for a dataclass, refusing unknown and missing keys and wrong types."""
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]  # T is a dataclass
    for key in values:
        if key not in fields:
            raise MechanismError(f"{what} has no '{key}'{closest(key, fields)} It takes: {describe_fields(cls)}.", path=(key,))
    for name, field in fields.items():
        if required(field) and name not in values:
            raise MechanismError(f"{what} lacks '{name}'. It takes: {describe_fields(cls)}.")
    hints = _hints(cls)
    converted = {}
    for key, value in values.items():
        try:
            converted[key] = convert(hints[key], value)
        except MechanismError as error:
            raise MechanismError(f"{what}: {key}: {error}", path=(key,)) from None
    return cls(**converted)


def required(field: dataclasses.Field[Any]) -> bool:
    """Say whether a dataclass field must be given."""
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def describe_fields(cls: type[Any]) -> str:
    """Return the fields of a dataclass with their defaults in one line."""
    return listed(
        f"{field.name} (required)" if required(field) else f"{field.name} = {default(field)!r}"
        for field in dataclasses.fields(cls)
    )


def default(field: dataclasses.Field[Any]) -> Any:
    """Return the default of a dataclass field that has one."""
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
