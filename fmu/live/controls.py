"""What can be changed while a session runs: inputs and tunable parameters, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from kingpost.base.errors import KingpostError, closest, listed
from kingpost.base.numbers import finite, shown

#: More names than this help nobody in a message.
MOST_NAMED = 30


class LiveError(KingpostError):
    """What was asked of a live session cannot be had; the session stays as it is."""


@dataclass(frozen=True)
class Control:
    """A number that can be changed: an input, or a parameter."""

    name: str
    kind: Literal["input", "parameter"]
    unit: str
    #: At the start of the session.
    value: float
    minimum: float | None = None
    maximum: float | None = None
    type: Literal["real", "integer", "boolean"] = "real"
    description: str = ""

    def data(self, value: float) -> dict[str, Any]:
        """Return it as plain data, with its present value."""
        return {
            "name": self.name, "unit": self.unit, "value": value, "min": self.minimum, "max": self.maximum, "type": self.type,
            "description": self.description,
        }  # fmt: skip


@dataclass(frozen=True)
class Controls:
    """All controls of a session by name, and why others of its numbers cannot be changed."""

    of: str
    items: Mapping[str, Control]
    fixed: Mapping[str, str] = field(default_factory=dict)

    @property
    def starts(self) -> dict[str, float]:
        """The values at the start."""
        return {name: control.value for name, control in self.items.items()}

    def checked(self, values: Any) -> dict[str, float]:
        """Return values by name as numbers; refuse unknown names, what is no finite number, and what is out of range."""
        if not isinstance(values, Mapping):
            raise LiveError(f"values to set are a table of names and numbers, got {shown(values)}")
        return {str(name): self._checked(str(name), value) for name, value in values.items()}

    def _checked(self, name: str, value: Any) -> float:
        control = self.items.get(name)
        if control is None:
            if name in self.fixed:
                raise LiveError(f"'{name}' cannot be changed while {self.of} runs: {self.fixed[name]}")
            raise LiveError(
                f"{self.of} has nothing called '{name}' that could be changed{closest(name, self.items)} "
                f"It has: {listed(self.items, MOST_NAMED)}."
            )
        if isinstance(value, bool) and control.type != "boolean":
            raise LiveError(f"'{name}' was set to {value}; it takes a number")
        if not isinstance(value, bool | int | float | np.floating | np.integer):
            raise LiveError(f"'{name}' was set to {shown(value)}, which is not a number")
        number = finite(value)
        if number is None:
            raise LiveError(f"'{name}' was set to {shown(value)}; it must be finite")
        if control.type == "integer" and number != round(number):
            raise LiveError(f"'{name}' was set to {number:g}; it takes whole numbers")
        if control.type == "boolean" and number not in (0.0, 1.0):
            raise LiveError(f"'{name}' was set to {number:g}; it takes 0 or 1")
        low, high = control.minimum, control.maximum
        if (low is not None and number < low) or (high is not None and number > high):
            raise LiveError(
                f"'{name}' was set to {number:g} {control.unit}, outside its range [{'-inf' if low is None else f'{low:g}'}, "
                f"{'inf' if high is None else f'{high:g}'}] {control.unit}"
            )
        return number
