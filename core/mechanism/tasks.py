"""Servo tasks: which inputs of a machine are to be found so that which of its measures follow which path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.mechanism.mechanism import Mechanism, check_formulas
from kingpost.mechanism.orientations import orientation, rotation_vector
from kingpost.mechanism.paths import COAXIAL, Chain, Path, Turn, read_path
from kingpost.mechanism.task_parts import check_inputs, check_settings, converted, read_inputs, read_settings
from kingpost.mechanism.trajectories import Break, Trajectory, read_trajectory


@dataclass(frozen=True)
class ServoTask:
    """A path for some measures of a machine, and the inputs that are to drive them along it.

    Parameters
    ----------
    path
        A trajectory for each measure, in the order of the servo-constraints: measures by name, components of outputs such as
        ``load.x``, or joint coordinates such as ``slew.angle``. Several measures together may follow a
        :class:`~kingpost.mechanism.paths.Line`, a ``Turn`` or a ``Chain`` of these:
        ``{("load.x", "load.z"): Line((0, 4), (5, 1), 0, 3)}``. Each measure then has its component.
    inputs
        The inputs that are found. The other inputs of the machine stay what they are.
    t_start, t_end
        Begin and end of the manoeuvre in s.
    settings
        Parameters, constant inputs and start values that belong to the task, by name.
    name, description
        What it is called, and where it comes from.

    """

    path: Mapping[Any, Any]
    inputs: tuple[str, ...]
    t_end: float
    t_start: float = 0.0
    settings: Mapping[str, float] = field(default_factory=dict)
    name: str = ""
    description: str = ""
    #: The paths of several measures that were given, with these.
    together: tuple[tuple[tuple[str, ...], Path], ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        what = self.title
        for key, kind in (("name", str), ("description", str), ("t_end", float), ("t_start", float)):
            object.__setattr__(self, key, converted(kind, getattr(self, key), what, key))
        object.__setattr__(self, "path", MappingProxyType(self._expanded(what)))
        object.__setattr__(self, "inputs", read_inputs(self.inputs, what))
        if not self.t_end > self.t_start:
            raise MechanismError(
                f"{what} goes from {self.t_start} s to {self.t_end} s; the end must come after the start", path=("t_end",)
            )
        object.__setattr__(self, "settings", read_settings(self.settings, what))

    def called(self, name: str) -> ServoTask:
        """Return the same task with a name."""
        task = replace(self, name=name)
        object.__setattr__(task, "together", self.together)
        return task

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"servo task '{self.name}'" if self.name else "the servo task"

    def _expanded(self, what: str) -> dict[str, Trajectory]:
        path: dict[str, Trajectory] = {}
        together = []
        for given, course in self.path.items():
            measures = (given,) if isinstance(given, str) else tuple(given)
            try:
                if isinstance(given, str):
                    added = {given: read_trajectory(course)}
                else:
                    together.append((measures, read_path(course)))
                    added = together[-1][1].along(measures)
            except MechanismError as error:
                names = listed(f"'{name}'" for name in measures)
                raise MechanismError(
                    f"{what}: path of {names}: {error}", path=("path", ", ".join(measures), *error.path)
                ) from None
            twice = [name for name in measures if name in path] or [name for name in measures if measures.count(name) > 1]
            if twice:
                raise MechanismError(f"{what} gives '{twice[0]}' two paths", path=("path", twice[0]))
            path |= added
        if not path:
            raise MechanismError(f"{what} has no path; give a trajectory for at least one measure", path=("path",))
        object.__setattr__(self, "together", tuple(together))
        return path

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that follow the path, in their order."""
        return tuple(self.path)

    @property
    def smoothness(self) -> int:
        """The highest derivative that is continuous in every part of the path, from ``t_start`` to ``t_end``.

        Both times count: a machine stands still before and after. Names that ``settings`` lack leave what a trajectory says of
        itself.
        """
        return min(self._smoothness(trajectory) for trajectory in self.path.values())

    def _smoothness(self, trajectory: Trajectory) -> int:
        try:
            return trajectory.smoothness_between(self.t_start, self.t_end, self.settings)
        except MechanismError:
            return trajectory.smoothness

    def breaks(self, scope: Mapping[str, Any] | None = None) -> dict[str, tuple[Break, ...]]:
        """Return where derivatives of the paths jump from ``t_start`` to ``t_end``, by measure; ``scope`` is for formulas."""
        names = self.settings if scope is None else scope
        return {
            measure: tuple(found for found in trajectory.breaks(names) if self.t_start <= found.time <= self.t_end)
            for measure, trajectory in self.path.items()
        }


def measures_of(mechanism: Mechanism) -> tuple[str, ...]:
    """Return what a task can lead along a path: measures, components of positions, joint coordinates."""
    own = tuple(measure.name for measure in mechanism.measures)
    outputs = (f"{output.name}.{axis}" for output in mechanism.outputs if output.quantity == "position" for axis in "xyz")
    return (*own, *outputs, *mechanism.rated_coordinates)


def check_task(task: ServoTask, mechanism: Mechanism) -> None:
    """Refuse a task that names what a mechanism does not have."""
    check_inputs(task.inputs, mechanism, task.title)
    measures = measures_of(mechanism)
    for name in task.measures:
        if name not in measures:
            raise MechanismError(
                f"{task.title}: '{mechanism.name}' has nothing called '{name}' that could follow a path"
                f"{closest(name, measures)} Measures, positions and coordinates: {listed(measures)}.",
                path=("path", name),
            )
    check_settings(task.settings, mechanism, task.title)
    # An input that is found has no number yet, and one that moves would move the path.
    known = [parameter.name for parameter in mechanism.parameters]
    for name, trajectory in task.path.items():
        try:
            check_formulas(trajectory, f"{task.title}: path of '{name}'", [*known, "t"], mechanism.other_units)
        except MechanismError as error:
            raise error.within("path", name) from None
    for names, path in task.together:
        first = path.parts[0] if isinstance(path, Chain) else path
        if isinstance(first, Turn):
            _check_turn(task, mechanism, names, first)


def _check_turn(task: ServoTask, mechanism: Mechanism, names: tuple[str, ...], turn: Turn) -> None:
    """Refuse a turn whose measures are not the rotation vector that it is written in."""
    own = {measure.name: measure for measure in mechanism.measures}
    quoted = listed(f"'{name}'" for name in names)
    what = f"{task.title}: the turn of {quoted}"
    for name, axis in zip(names, np.eye(3), strict=True):
        measure = own.get(name)
        if measure is None or measure.kind != "rotation":
            is_a = "no measure" if measure is None else f"a measure of kind '{measure.kind}'"
            raise MechanismError(f"{what}: '{name}' is {is_a}; it takes three of kind 'rotation'", path=("path", name))
        direction = measure.direction
        if all(isinstance(part, float) for part in direction):
            there = np.array(direction, dtype=float)
            there = there / np.linalg.norm(there)
            if np.linalg.norm(there - axis) > COAXIAL:
                raise MechanismError(
                    f"{what}: '{name}' measures along {list(direction)}; its place is that of the component along "
                    f"{axis.tolist()}",
                    path=("path", name),
                )
        counted = measure.reference or (0.0, 0.0, 0.0)
        if all(isinstance(part, float) for part in counted):
            apart = rotation_vector(orientation(list(counted)).T @ turn.reference_orientation)
            if np.linalg.norm(apart) > 1e-6:
                raise MechanismError(
                    f"{what}: '{name}' counts from reference = {list(counted)}, {np.linalg.norm(apart):.3g} rad from "
                    f"the {turn.reference} of the turn, reference = {[round(angle, 9) for angle in turn.reference_angles]}",
                    path=("path", name),
                )
    if len({(own[name].body, own[name].of) for name in names}) > 1:
        raise MechanismError(f"{what}: the three measures are not of one body", path=("path", names[0]))
