"""Optimal tasks: from where to where a machine is to move, within which limits, and at the least of which cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.optimal_parts import (
    BOUNDS,
    HORIZON,
    INTERVALS,
    CostPart,
    Limits,
    Phase,
    check_ends,
    read_continuation,
    read_horizon,
    read_limits,
)
from kingpost.mechanism.task_parts import check_inputs, check_settings, converted, read_inputs, read_settings

__all__ = ["CostPart", "Limits", "OptimalTask", "Phase", "check_optimal_task"]

#: Part of a time by which sums of times may differ.
ROUNDED = 1e-9


@dataclass(frozen=True)
class OptimalTask:
    """From where to where a machine is to move, within which limits, and what is to be least on the way.

    Parameters
    ----------
    inputs
        The inputs that are found. The other inputs of the machine stay what they are.
    horizon
        How long it takes in s: a number, or the shortest and the longest time where it is free. With phases that of all of them
        together, by default what these say.
    end
        Measures, outputs, joint coordinates and speeds at the end, each a value or a pair of limits.
    bounds
        Limits on the way: of inputs, coordinates, speeds, measures, outputs, joint loads such as ``slew.My`` and tensions, and
        of lengths of vectors such as ``norm(slew.Mx, slew.My)``.
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
    control
        What inputs are within an interval: ``"constant"``, or ``"linear"`` and continuous.
    phases
        Parts of the task, one behind the other, each with its own horizon, end, bounds, costs and parameters
        (:class:`~kingpost.mechanism.optimal_parts.Phase`).
    continuation
        Lists of values that lead to the task through easier ones, each solution the start of the next: of ``intervals``, of the
        ``horizon``, of ``bounds`` (the part of what they cut off that is still let through, 1 without any), or of parameters by
        name. Several lists go side by side, and what the task itself says comes last.
    name, description
        What it is called, and where it comes from.

    """

    inputs: tuple[str, ...]
    horizon: Any = None
    end: Mapping[str, Any] = field(default_factory=dict)
    bounds: Mapping[str, Any] = field(default_factory=dict)
    rates: Mapping[str, Any] = field(default_factory=dict)
    costs: tuple[CostPart, ...] = (CostPart(),)
    free: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, float] = field(default_factory=dict)
    t_start: float = 0.0
    intervals: int = 40
    guess: Literal["constant", "line"] = "constant"
    control: Literal["constant", "linear"] = "constant"
    phases: tuple[Phase, ...] = ()
    continuation: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    name: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        what = self.title
        kinds: dict[str, Any] = {"name": str, "description": str, "t_start": float, "intervals": int}
        kinds |= {"guess": Literal["constant", "line"], "control": Literal["constant", "linear"]}
        kinds |= {"costs": tuple[CostPart, ...], "phases": tuple[Phase, ...]}
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
            object.__setattr__(self, key, read_limits(getattr(self, key), what, key))
        self._read_horizon(what)
        object.__setattr__(self, "continuation", read_continuation(self.continuation, what))
        for name, limits in self.free.items():
            if not (math.isfinite(limits.low) and math.isfinite(limits.high)) or limits.prescribed:
                raise MechanismError(
                    f"{what}: the free parameter '{name}' needs a lower and a larger upper limit", path=("free", name)
                )
        check_ends(self.end, self.bounds, what)

    def _read_horizon(self, what: str) -> None:
        if self.horizon is None and not self.phases:
            raise MechanismError(f"{what} lacks 'horizon': how long it takes in s, or the shortest and the longest time")
        if self.phases:
            low, high = (sum(getattr(phase.horizon, side) for phase in self.phases) for side in ("low", "high"))
            together = Limits(low, high)
            given = together if self.horizon is None else read_horizon(self.horizon, what)
            if given.low > high * (1 + ROUNDED) or given.high < low * (1 - ROUNDED):
                raise MechanismError(
                    f"{what}: its phases take {together.words} s, and the horizon is {given.words} s; no time is in both",
                    path=("horizon",),
                )
            object.__setattr__(self, "horizon", given)
            names = [phase.name or str(i + 1) for i, phase in enumerate(self.phases)]
            if len(set(names)) < len(names):
                raise MechanismError(f"{what}: two phases have the same name: {listed(names)}", path=("phases",))
            named = tuple(replace(phase, name=name) for phase, name in zip(self.phases, names, strict=True))
            object.__setattr__(self, "phases", named)
            return
        object.__setattr__(self, "horizon", read_horizon(self.horizon, what))

    @property
    def total(self) -> Limits | None:
        """The limits of the time of all phases together, where they say more than the limits of each do."""
        low, high = (sum(getattr(phase.horizon, side) for phase in self.phases) for side in ("low", "high"))
        inside = self.horizon.low > low * (1 + ROUNDED) or self.horizon.high < high * (1 - ROUNDED)
        return self.horizon if self.phases and inside else None

    def phase_tasks(self) -> tuple[OptimalTask, ...]:
        """Return its phases as tasks of their own."""
        found = []
        begin = self.t_start
        for i, phase in enumerate(self.phases):
            last = i == len(self.phases) - 1
            found.append(
                replace(
                    self,
                    horizon=phase.horizon,
                    end={**phase.end, **(self.end if last else {})},
                    bounds={**self.bounds, **phase.bounds},
                    costs=phase.costs or self.costs,
                    settings={**self.settings, **phase.settings},
                    intervals=phase.intervals or self.intervals,
                    t_start=begin,
                    phases=(),
                    continuation={},
                    name=f"{self.name or 'task'}/{phase.name}",
                )
            )
            begin += phase.horizon.low
        return tuple(found)

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

    def stretched(self, horizon: float) -> OptimalTask:
        """Return the same task in another time than it prescribes, all its phases longer or shorter alike."""
        times = horizon / self.horizon.low
        phases = [replace(part, horizon=(times * part.horizon.low, times * part.horizon.high)) for part in self.phases]
        return replace(self, horizon=horizon, phases=tuple(phases))

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
            "control": self.control,
            **({"phases": [phase.data() for phase in self.phases]} if self.phases else {}),
            "settings": dict(self.settings),
            **(
                {"continuation": {name: list(values) for name, values in self.continuation.items()}}
                if self.continuation
                else {}
            ),
        }


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
    for name in task.continuation:
        if name not in (INTERVALS, HORIZON, BOUNDS, *parameters):
            known = (INTERVALS, HORIZON, BOUNDS, *parameters)
            raise MechanismError(
                f"{task.title}: continuation: '{mechanism.name}' has no parameter '{name}'{closest(name, known)} It goes "
                f"through {INTERVALS}, the {HORIZON}, {BOUNDS}, or a parameter: {listed(parameters)}.",
                path=("continuation", name),
            )
        if name in task.free:
            raise MechanismError(
                f"{task.title}: the parameter '{name}' is found, so that no continuation can go through values of it",
                path=("continuation", name),
            )
    for i, phase in enumerate(task.phases):
        for name in phase.settings:
            if name not in parameters or name in task.free:
                raise MechanismError(
                    f"{task.title}: phase '{phase.name}' sets '{name}', which is no parameter of '{mechanism.name}' that could "
                    f"have another value in it{closest(name, parameters)} Parameters: {listed(parameters)}.",
                    path=("phases", i, "settings", name),
                )
    check_settings(task.settings, mechanism, task.title)
