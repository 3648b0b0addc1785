"""Optimal tasks: from where to where a machine is to move, within which limits, and at the least of which cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import fill
from kingpost.base.numbers import finite, shown
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.task_parts import check_inputs, check_settings, converted, read_inputs, read_settings


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
            if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
                raise MechanismError(f"{what}: {shown(value)} is not a number (inf and -inf are, for no limit)")
            numbers.append(float(value))
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
class OptimalTask:
    """From where to where a machine is to move, within which limits, and what is to be least on the way.

    Parameters
    ----------
    inputs
        The inputs that are found. The other inputs of the machine stay what they are.
    horizon
        How long it takes in s: a number, or the shortest and the longest time where it is free.
    end
        Measures, outputs, joint coordinates and speeds at the end, each a value or a pair of limits.
    bounds
        Limits on the way: of inputs, coordinates, speeds, measures, outputs, joint loads such as ``slew.My`` and tensions.
    rates
        Limits of how fast inputs change, per s.
    costs
        What is to be least: names of cost terms, or tables with ``term``, ``weight`` and options. By default the effort, half
        the integral of the squares of the inputs.
    free
        Parameters that are found, too, with their limits.
    settings
        Parameters, constant inputs and start values that belong to the task, by name.
    t_start
        The time of the start in s.
    intervals
        Into how many intervals the horizon is divided where nobody says otherwise.
    guess
        The motion from which the search begins: ``"constant"`` stays at the start, ``"line"`` goes straight to the end.
    name, description
        What it is called, and where it comes from.

    """

    inputs: tuple[str, ...]
    horizon: Any
    end: Mapping[str, Any] = field(default_factory=dict)
    bounds: Mapping[str, Any] = field(default_factory=dict)
    rates: Mapping[str, Any] = field(default_factory=dict)
    costs: tuple[CostPart, ...] = (CostPart(),)
    free: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, float] = field(default_factory=dict)
    t_start: float = 0.0
    intervals: int = 40
    guess: Literal["constant", "line"] = "constant"
    name: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        what = self.title
        kinds: dict[str, Any] = {"name": str, "description": str, "t_start": float, "intervals": int}
        kinds |= {"guess": Literal["constant", "line"], "costs": tuple[CostPart, ...]}
        object.__setattr__(self, "inputs", read_inputs(self.inputs, what))
        for key, kind in kinds.items():
            value = getattr(self, key)
            if key == "costs" and isinstance(value, str):
                value = (value,)
            object.__setattr__(self, key, converted(kind, value, what, key))
        if not self.costs:
            raise MechanismError(f"{what} has no cost; nothing would be least", path=("costs",))
        if self.intervals < 1:
            raise MechanismError(f"{what}: intervals = {self.intervals}; at least one is needed", path=("intervals",))
        self._read_limits(what)
        object.__setattr__(self, "settings", read_settings(self.settings, what))

    def _read_limits(self, what: str) -> None:
        for key in ("end", "bounds", "rates", "free"):
            given = getattr(self, key)
            if not isinstance(given, Mapping):
                raise MechanismError(f"{what}: {key} must be a table, got {shown(given)}", path=(key,))
            limits = {}
            for name, value in given.items():
                try:
                    limits[name] = Limits.of(value, f"{what}: {key} of '{name}'")
                except MechanismError as error:
                    raise MechanismError(str(error), path=(key, name)) from None
            object.__setattr__(self, key, MappingProxyType(limits))
        try:
            horizon = Limits.of(self.horizon, f"{what}: horizon")
        except MechanismError as error:
            raise MechanismError(str(error), path=("horizon",)) from None
        if not horizon.low > 0.0 or not math.isfinite(horizon.high):
            raise MechanismError(
                f"{what}: horizon from {horizon.low:g} to {horizon.high:g} s; it must be positive and finite", path=("horizon",)
            )
        object.__setattr__(self, "horizon", horizon)
        for name, limits in self.free.items():
            if not (math.isfinite(limits.low) and math.isfinite(limits.high)) or limits.prescribed:
                raise MechanismError(
                    f"{what}: the free parameter '{name}' needs a lower and a larger upper limit", path=("free", name)
                )
        for name in sorted(set(self.end) & set(self.bounds)):
            low, high = max(self.end[name].low, self.bounds[name].low), min(self.end[name].high, self.bounds[name].high)
            if low > high:
                raise MechanismError(
                    f"{what}: '{name}' must end within {_words(self.end[name])}, and its bounds on the way are "
                    f"{_words(self.bounds[name])}; no number is in both",
                    path=("end", name),
                )

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"optimal task '{self.name}'" if self.name else "the optimal task"

    def called(self, name: str) -> OptimalTask:
        """Return the same task with a name."""
        return replace(self, name=name)

    def lasting(self, horizon: float) -> OptimalTask:
        """Return the same task with another, prescribed horizon."""
        return replace(self, horizon=horizon)

    def data(self) -> dict[str, Any]:
        """Return it as plain data, for records."""
        limits = {
            key: {name: item.data() for name, item in getattr(self, key).items()} for key in ("end", "bounds", "rates", "free")
        }
        costs = [{"term": part.term, "weight": part.weight, **part.options} for part in self.costs]
        return {
            "name": self.name,
            "description": self.description,
            "inputs": list(self.inputs),
            "horizon_s": self.horizon.data(),
            **{key: value for key, value in limits.items() if value},
            "costs": costs,
            "settings": dict(self.settings),
        }


def _words(limits: Limits) -> str:
    return f"{limits.low:g}" if limits.prescribed else f"{limits.low:g} to {limits.high:g}"


def check_optimal_task(task: OptimalTask, mechanism: Mechanism) -> None:
    """Refuse a task that names inputs, parameters or settings which a mechanism does not have.

    What else it names, measures and loads, is known when the equations are.
    """
    for key, names in (("inputs", task.inputs), ("rates", tuple(task.rates))):
        check_inputs(names, mechanism, task.title, key)
    for name in task.rates:
        if name not in task.inputs:
            raise MechanismError(f"{task.title}: the rate of '{name}' is limited, which is not among the inputs that are found")
    parameters = [parameter.name for parameter in mechanism.parameters]
    for name in task.free:
        if name not in parameters:
            raise MechanismError(
                f"{task.title}: '{mechanism.name}' has no parameter '{name}'{closest(name, parameters)} "
                f"Parameters: {listed(parameters)}.",
                path=("free", name),
            )
    check_settings(task.settings, mechanism, task.title)
