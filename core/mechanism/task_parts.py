"""What tasks of every kind say alike: the inputs that are found, and settings that belong to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import convert
from kingpost.base.numbers import finite, shown
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.values import resolve_values


def converted(kind: Any, value: Any, what: str, key: str) -> Any:
    """Return the value of a field as its kind; the error says whose and which field."""
    try:
        return convert(kind, value)
    except MechanismError as error:
        raise MechanismError(f"{what}: {key}: {error}", path=(key,)) from None


def read_inputs(inputs: Any, what: str) -> tuple[str, ...]:
    """Return the names of the inputs that are found; one alone may be a text."""
    given = (inputs,) if isinstance(inputs, str) else inputs
    names: tuple[str, ...] = converted(tuple[str, ...], given, what, "inputs")
    if not names:
        raise MechanismError(f"{what} names no input that is to be found", path=("inputs",))
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise MechanismError(f"{what} names the input {listed(twice)} twice", path=("inputs",))
    return names


def read_settings(settings: Mapping[str, float], what: str) -> Mapping[str, float]:
    """Return parameters, inputs and start values by name, which must be numbers."""
    for name, value in settings.items():
        if finite(value) is None:
            raise MechanismError(f"{what}: settings: {name} = {shown(value)} is not a finite number", path=("settings", name))
    return MappingProxyType(dict(settings))


def check_inputs(names: Iterable[str], mechanism: Mechanism, what: str, key: str = "inputs") -> None:
    """Refuse inputs that a mechanism does not have."""
    known = [signal.name for signal in mechanism.inputs]
    for i, name in enumerate(names):
        if name not in known:
            raise MechanismError(
                f"{what}: '{mechanism.name}' has no input '{name}'{closest(name, known)} Inputs: {listed(known)}.",
                path=(key, i if key == "inputs" else name),
            )


def check_settings(settings: Mapping[str, float], mechanism: Mechanism, what: str) -> None:
    """Refuse settings of what a mechanism does not have."""
    try:
        resolve_values(mechanism, settings)
    except MechanismError as error:
        at = next((name for name in settings if f"'{name}'" in str(error)), "")
        raise MechanismError(f"{what}: settings: {error}", path=("settings", at)) from None
