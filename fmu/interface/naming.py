"""Names that follow FMI's structured convention, and stay different in tools that make one word of them."""

from __future__ import annotations

import re
from dataclasses import replace

from kingpost.fmu.interface.interface import Interface, Variable


def with_structured_names(interface: Interface) -> Interface:
    """Return the same interface with names of letters, digits and underscores, joined by dots.

    Two that would be one name with underscores instead of dots, such as ``load.x`` and ``load_x``, are told apart by a number:
    the one that comes later becomes ``load_x_2``.
    """
    taken: set[str] = set()
    by_reference: dict[int, str] = {}
    variables: list[Variable] = []
    for variable in interface.variables:
        if variable.derivative_of is None:
            name = _free(_structured(variable.name), taken)
            by_reference[variable.reference] = name
        else:
            name = f"der({by_reference[variable.derivative_of]})"
        variables.append(replace(variable, name=name))
    return replace(interface, variables=tuple(variables), naming="structured")


def one_word(name: str) -> str:
    """Return what tools without dots in their names make of one."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)


def _structured(name: str) -> str:
    """Return a name with nothing in its parts but letters, digits and underscores, no digit first."""
    parts = [one_word(part) for part in name.split(".")]
    return ".".join(f"_{part}" if not part or part[0].isdigit() else part for part in parts)


def _free(name: str, taken: set[str]) -> str:
    number, found = 1, name
    while one_word(found) in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(one_word(found))
    return found
