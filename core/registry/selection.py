"""How a user names a plugin: ``"rk4"``, ``"radau:rtol=1e-8,atol=1e-10"``, a class, or an instance."""

from __future__ import annotations

import ast
from typing import Any, TypeAlias, TypeVar

from kingpost.base.errors import MechanismError, PluginError
from kingpost.base.fields import fill
from kingpost.registry.plugin import Plugin
from kingpost.registry.registry import Registry, find_fault

P = TypeVar("P", bound=Plugin)
Selection: TypeAlias = str | P | type[P]


def select(registry: Registry[P], selection: Selection[P], options: dict[str, Any] | None = None) -> P:
    """Return an instance of the selected plugin, its options checked."""
    if isinstance(selection, registry.base):
        return selection
    if isinstance(selection, type):
        cls = registry.received(selection)
        fault = find_fault(cls, registry.base)
        if fault:
            raise PluginError(fault)
        return make(cls, options or {})
    if not isinstance(selection, str):
        raise PluginError(f"{selection!r} does not select a {registry.kind}; give a name, a class or an instance")
    name, given = split_selection(selection)
    return make(registry.get(name), {**(options or {}), **given})


def make(cls: type[P], options: dict[str, Any]) -> P:
    """Return ``cls`` with ``options``; an unknown key is answered with the valid ones and their defaults."""
    try:
        return cls(fill(cls.Options, options, f"{cls.kind} '{cls.name}'"))
    except MechanismError as error:
        raise PluginError(str(error)) from None


def split_selection(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``"name:key=value,key=value"`` into the name and its options."""
    name, _, rest = text.partition(":")
    options: dict[str, Any] = {}
    for item in rest.split(",") if rest else []:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise PluginError(f"'{text}': '{item}' is not key=value; write for example '{name}:rtol=1e-8'")
        options[key.strip()] = parse_value(value.strip())
    return name.strip(), options


def parse_value(text: str) -> Any:
    """Return a number, true/false, or the text itself."""
    if text in ("true", "false"):
        return text == "true"
    try:
        value = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # all that Python's manual says it may raise
        return text
    return value if isinstance(value, int | float) and not isinstance(value, bool) else text
