"""Names that a package offers without loading what they come from before somebody asks (PEP 562)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str, places: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package, from the names that modules give it.

    The modules are named as seen from the package: ``"assessment"`` is one in it, ``".base.channels"`` one beside it. What is
    not among the names may be a module in the package, which is then loaded.
    """
    module_of = {name: module for module, names in places.items() for name in names}

    def load(name: str) -> Any:
        if name in module_of:
            value = getattr(importlib.import_module(f".{module_of[name]}", package), name)
            setattr(sys.modules[package], name, value)
            return value
        try:
            if not name.startswith("_"):
                return importlib.import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{package}.{name}":
                raise
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    return load, lambda: sorted({*module_of, *vars(sys.modules[package])}), sorted(module_of)
