"""What optimal tasks consist of: limits, terms of the cost, phases, and lists of values that lead to a difficult problem."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from kingpost.base.errors import MechanismError
from kingpost.base.fields import fill
from kingpost.base.numbers import finite, shown
from kingpost.mechanism.task_parts import converted, read_settings

#: What a continuation may lead through beside parameters: the number of intervals, the horizon, and the part of what limits
#: would cut off that is still let through.
INTERVALS, HORIZON, BOUNDS = "intervals", "horizon", "bounds"


#: The length of a vector of channels, as bounds name it.
VECTOR = re.compile(r"\s*norm\((.*)\)\s*")


@dataclass(frozen=True)
class Limits:
    """A lower and an upper limit; infinite where there is none, equal for a value that is prescribed."""

    low: float = -math.inf
    high: float = math.inf

    @staticmethod
    def of(given: Any, what: str) -> Limits:
        """Return limits from a number, which is prescribed, or from two."""
        if isinstance(given, Limits):
            return given
        pair = given if isinstance(given, list | tuple) else (given, given)
        if len(pair) != 2:
            raise MechanismError(f"{what}: give a number, or a lower and an upper limit, got {shown(given)}")
        numbers = []
        for value in pair:
            number = value if isinstance(value, float) and math.isinf(value) else finite(value)
            if number is None:
                raise MechanismError(f"{what}: {shown(value)} is not a number (inf and -inf are, for no limit)")
            numbers.append(number)
        low, high = numbers
        if low > high:
            raise MechanismError(f"{what}: no number is both at least {low:g} and at most {high:g}; exchange them")
        if low == high and math.isinf(low):
            raise MechanismError(f"{what}: {low:g} is no value that can be reached")
        return Limits(low, high)

    @property
    def prescribed(self) -> bool:
        """Whether there is only one value within them."""
        return self.low == self.high

    @property
    def size(self) -> float:
        """The largest finite limit without its sign; 0 without one."""
        return max((abs(value) for value in (self.low, self.high) if math.isfinite(value)), default=0.0)

    @property
    def words(self) -> str:
        """What messages say for them."""
        return f"{self.low:g}" if self.prescribed else f"{self.low:g} to {self.high:g}"

    def data(self) -> Any:
        """Return them as plain data."""
        if self.prescribed:
            return self.low
        return [value if math.isfinite(value) else None for value in (self.low, self.high)]


@dataclass(frozen=True)
class CostPart:
    """A term of the cost by name, its weight, and its options."""

    term: str = "effort"
    weight: float = 1.0
    options: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def from_data(data: Any) -> CostPart:
        """Return a part of a cost from plain data: a name, or a table with ``term``, ``weight`` and the options of the term."""
        if isinstance(data, CostPart):
            return data
        if isinstance(data, str):
            return CostPart(data)
        if not isinstance(data, Mapping):
            raise MechanismError(f"expected the name of a cost term or a table, got {shown(data)}")
        options = {key: value for key, value in data.items() if key not in ("term", "weight")}
        part = fill(CostPart, {key: data[key] for key in ("term", "weight") if key in data}, "a cost")
        if finite(part.weight) is None or part.weight < 0.0:
            raise MechanismError(f"the weight of cost '{part.term}' is {part.weight!r}; give a number that is not negative")
        return replace(part, options=MappingProxyType(options))


@dataclass(frozen=True)
class Phase:
    """A part of a task, one behind the other: how long it takes, what holds in it, and how it begins.

    Parameters
    ----------
    horizon
        How long it takes in s: a number, or the shortest and the longest time.
    end
        What holds at its end, each a value or a pair of limits; of the last phase beside the end of the task.
    bounds
        Limits in this phase, in place of those of the task with the same names.
    costs
        What is to be least in it, in place of the costs of the task.
    settings
        Parameters that have other values in this phase, such as the mass of a load that was picked up.
    intervals
        Into how many intervals it is divided; by default as many as the task says.
    keeps
        What goes on from the phase before, beside coordinates: ``"speeds"``, or ``"momenta"``, as where a mass is picked up
        that was at rest.
    name
        What it is called.

    """

    horizon: Any
    end: Mapping[str, Any] = field(default_factory=dict)
    bounds: Mapping[str, Any] = field(default_factory=dict)
    costs: tuple[CostPart, ...] = ()
    settings: Mapping[str, float] = field(default_factory=dict)
    intervals: int = 0
    keeps: Literal["speeds", "momenta"] = "speeds"
    name: str = ""

    def __post_init__(self) -> None:
        what = f"phase '{self.name}'" if self.name else "a phase"
        kinds = {"name": str, "intervals": int, "keeps": Literal["speeds", "momenta"], "costs": tuple[CostPart, ...]}
        for key, kind in kinds.items():
            object.__setattr__(self, key, converted(kind, getattr(self, key), what, key))
        for key in ("end", "bounds"):
            object.__setattr__(self, key, read_limits(getattr(self, key), what, key))
        object.__setattr__(self, "horizon", read_horizon(self.horizon, what))
        object.__setattr__(self, "settings", read_settings(self.settings, what))
        if self.intervals < 0:
            raise MechanismError(f"{what}: intervals = {self.intervals}; at least one is needed", path=("intervals",))

    @staticmethod
    def from_data(data: Any) -> Phase:
        """Return a phase from plain data."""
        if isinstance(data, Phase):
            return data
        if not isinstance(data, Mapping):
            raise MechanismError(f"expected a table that describes a phase, got {shown(data)}")
        return fill(Phase, data, "a phase")

    def data(self) -> dict[str, Any]:
        """Return it as plain data, for records."""
        limits = {key: {name: item.data() for name, item in getattr(self, key).items()} for key in ("end", "bounds")}
        costs = [{"term": part.term, "weight": part.weight, **part.options} for part in self.costs]
        return {
            "name": self.name,
            "horizon_s": self.horizon.data(),
            **{key: value for key, value in limits.items() if value},
            **({"costs": costs} if costs else {}),
            **({"settings": dict(self.settings)} if self.settings else {}),
            "keeps": self.keeps,
        }


def read_limits(given: Any, what: str, key: str) -> Mapping[str, Limits]:
    """Return limits by name from a table of numbers and pairs; ``key`` is what the table is called."""
    if not isinstance(given, Mapping):
        raise MechanismError(f"{what}: {key} must be a table, got {shown(given)}", path=(key,))
    limits = {}
    for name, value in given.items():
        try:
            limits[name] = Limits.of(value, f"{what}: {key} of '{name}'")
        except MechanismError as error:
            raise MechanismError(str(error), path=(key, name)) from None
        if channels_of(name) != (name,) and (limits[name].low > 0.0 or not 0.0 < limits[name].high < math.inf):
            raise MechanismError(
                f"{what}: {key} of '{name}': a length has an upper limit alone: give 0 and a positive number",
                path=(key, name),
            )
    return MappingProxyType(limits)


def channels_of(name: str) -> tuple[str, ...]:
    """Return the channels that a bound looks at: itself, or those in ``norm(A, B, ...)``, the length of a vector."""
    vector = VECTOR.fullmatch(name)
    return tuple(part.strip() for part in vector[1].split(",")) if vector else (name,)


def read_horizon(given: Any, what: str) -> Limits:
    """Return how long something takes, in s: positive and finite."""
    try:
        horizon = Limits.of(given, f"{what}: horizon")
    except MechanismError as error:
        raise MechanismError(str(error), path=("horizon",)) from None
    if not horizon.low > 0.0 or not math.isfinite(horizon.high):
        raise MechanismError(
            f"{what}: horizon from {horizon.low:g} to {horizon.high:g} s; it must be positive and finite", path=("horizon",)
        )
    return horizon


def check_ends(end: Mapping[str, Limits], bounds: Mapping[str, Limits], what: str) -> None:
    """Refuse ends that bounds on the way exclude."""
    for name in sorted(set(end) & set(bounds)):
        low, high = max(end[name].low, bounds[name].low), min(end[name].high, bounds[name].high)
        if low > high:
            raise MechanismError(
                f"{what}: '{name}' must end within {end[name].words}, and its bounds on the way are {bounds[name].words}; "
                "no number is in both",
                path=("end", name),
            )


def read_continuation(given: Any, what: str) -> Mapping[str, tuple[float, ...]]:
    """Return lists of values that lead to a problem, by what they are of: intervals, the horizon, bounds, or a parameter."""
    if not isinstance(given, Mapping):
        raise MechanismError(f"{what}: continuation must be a table of lists, got {shown(given)}", path=("continuation",))
    found = {}
    for name, values in given.items():
        path = ("continuation", name)
        numbers = [finite(value) for value in values] if isinstance(values, list | tuple) else []
        if not numbers or None in numbers:
            raise MechanismError(f"{what}: continuation: {name} = {shown(values)} is no list of numbers", path=path)
        listed = tuple(float(number) for number in numbers if number is not None)
        if name == INTERVALS and any(number < 1 or number != int(number) for number in listed):
            raise MechanismError(f"{what}: continuation: intervals = {shown(values)} must be whole and positive", path=path)
        if name == HORIZON and min(listed) <= 0.0:
            raise MechanismError(f"{what}: continuation: horizon = {shown(values)} must be positive", path=path)
        if name == BOUNDS and not all(0.0 <= number <= 1.0 for number in listed):
            raise MechanismError(
                f"{what}: continuation: bounds = {shown(values)} are parts of what limits cut off, from 1 (no limits) to 0 "
                "(those of the task)",
                path=path,
            )
        found[name] = listed
    return MappingProxyType(found)
