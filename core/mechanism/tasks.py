"""Servo tasks: which inputs of a machine are to be found so that which of its measures follow which path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kingpost.base.errors import MechanismError, listed
from kingpost.mechanism.trajectories import Trajectory, read_trajectory


@dataclass(frozen=True)
class ServoTask:
    """A path for some measures of a machine, and the inputs that are to drive them along it.

    Parameters
    ----------
    path
        A trajectory for each measure, in the order of the servo-constraints: measures by name, components of outputs such as
        ``load.x``, or joint coordinates such as ``slew.angle``.
    inputs
        The inputs that are found. The other inputs of the machine stay what they are.
    t_start, t_end
        Begin and end of the manoeuvre in s.
    settings
        Parameters, constant inputs and start values that belong to the task, by name.
    name, description
        What it is called, and where it comes from.

    """

    path: Mapping[str, Trajectory]
    inputs: tuple[str, ...]
    t_end: float
    t_start: float = 0.0
    settings: Mapping[str, float] = field(default_factory=dict)
    name: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        what = f"servo task '{self.name}'" if self.name else "the servo task"
        path = {}
        for measure, trajectory in self.path.items():
            try:
                path[measure] = read_trajectory(trajectory)
            except MechanismError as error:
                raise MechanismError(f"{what}: path of '{measure}': {error}", path=("path", measure, *error.path)) from None
        if not path:
            raise MechanismError(f"{what} has no path; give a trajectory for at least one measure", path=("path",))
        inputs = (self.inputs,) if isinstance(self.inputs, str) else tuple(self.inputs)
        if not inputs:
            raise MechanismError(f"{what} names no input that is to be found", path=("inputs",))
        twice = sorted({name for name in inputs if inputs.count(name) > 1})
        if twice:
            raise MechanismError(f"{what} names the input {listed(twice)} twice", path=("inputs",))
        if not self.t_end > self.t_start:
            raise MechanismError(
                f"{what} goes from {self.t_start} s to {self.t_end} s; the end must come after the start", path=("t_end",)
            )
        object.__setattr__(self, "path", MappingProxyType(path))
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that follow the path, in their order."""
        return tuple(self.path)

    @property
    def smoothness(self) -> int:
        """The highest derivative that is continuous in every part of the path."""
        return min(trajectory.smoothness for trajectory in self.path.values())
