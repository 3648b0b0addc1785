"""Paths of several measures at once: straight lines, turns in space, and one after another.

A path is a row of trajectories, one for each measure: polynomials in time like any other.

>>> Line((0, 0, 4), (5, 0, 1), t_start=0, t_end=3).value(1.5)
(2.5, 0.0, 2.5)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from collections.abc import Sequence as Row
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import convert_fields, fill
from kingpost.base.formulas import Scalar
from kingpost.mechanism.joined import Joined
from kingpost.mechanism.moves import RestToRest, Sequence, ThreePhase, named
from kingpost.mechanism.orientations import orientation, rotation_of_vector, rotation_vector, rpy_angles
from kingpost.mechanism.profiles import USUAL, check_blend, check_span, read_profile
from kingpost.mechanism.trajectory import NO_NAMES, Trajectory

#: A turn without an axis ends this far before half a turn (rad): the next rounding would say the other way round.
HALF_A_TURN = 1e-6
#: Axes of turns one after another, and orientations where they meet, differ by less (rad).
COAXIAL = 1e-9
#: A turn by less (rad) is none: its axis would be made of rounding.
NO_TURN = 1e-12


@dataclass(frozen=True)
class Path(ABC):
    """Trajectories of several measures that belong together."""

    kind: ClassVar[str]

    @staticmethod
    def from_data(data: Any) -> Path:
        """Return the path that plain data describe; see :func:`read_path`."""
        return read_path(data)

    @property
    @abstractmethod
    def components(self) -> tuple[Trajectory, ...]:
        """One trajectory for each measure."""

    @property
    def smoothness(self) -> int:
        """The highest derivative that is continuous in every component."""
        return min(component.smoothness for component in self.components)

    def value(self, t: Any, scope: Mapping[str, Any] = NO_NAMES, order: int = 0) -> tuple[Any, ...]:
        """Return the derivative of this order of every component (:meth:`Trajectory.value`)."""
        return tuple(component.value(t, scope, order) for component in self.components)

    def along(self, measures: Row[str]) -> dict[str, Trajectory]:
        """Return the trajectory of each measure by its name."""
        if len(measures) != len(self.components):
            raise MechanismError(
                f"a {self.kind} of {len(self.components)} component(s) is given for {len(measures)} measure(s): "
                f"{listed(measures)}"
            )
        return dict(zip(measures, self.components, strict=True))


@dataclass(frozen=True)
class Line(Path):
    """A straight line from ``start`` to ``end``, of as many components as these have, by one profile.

    Profiles are those of :mod:`kingpost.mechanism.profiles`: ``"smooth:6"``, ``"three-phase:blend=5,smooth=6"``.
    """

    kind: ClassVar[str] = "line"
    start: tuple[Scalar, ...]
    end: tuple[Scalar, ...]
    t_start: Scalar
    t_end: Scalar
    profile: str = "rest-to-rest"

    def __post_init__(self) -> None:
        convert_fields(self, self.kind)
        if len(self.start) != len(self.end) or not self.start:
            raise MechanismError(
                f"{self.kind}: it starts at {len(self.start)} component(s) and ends at {len(self.end)}; give one number for "
                "each measure at both",
                path=("end",),
            )
        _check_move(self.kind, self)

    @property
    def components(self) -> tuple[Trajectory, ...]:
        ends = zip(self.start, self.end, strict=True)
        return tuple(move(self.profile, start, end, self.t_start, self.t_end) for start, end in ends)


@dataclass(frozen=True)
class Turn(Path):
    """A turn about a fixed axis from one orientation to another: document 000, eqs. (6.94)-(6.101), put right.

    Its components are those of the rotation vector relative to ``start``, or to the orientation in the ``"middle"`` of the
    turn: e s(t) with the axis e and the angle s. Measures of kind ``rotation`` with that ``reference`` follow it.

    Eq. (6.97) prints e = (...) / sin s, which has the length 2; it must be 2 sin s.

    Parameters
    ----------
    start, end
        Orientations: roll, pitch, yaw, a quaternion, or a matrix (:func:`kingpost.mechanism.orientations.orientation`).
    t_start, t_end, profile
        As for a :class:`Line`.
    axis
        A direction, in the axes of ``start``, that says which way round: of half a turn both are as long, and with the axis
        reversed a turn goes the longer way. It must be the axis of the turn or its opposite.
    reference
        What the rotation vector is relative to: a measure of it stays within half a turn.

    """

    kind: ClassVar[str] = "turn"
    start: Any
    end: Any
    t_start: Scalar
    t_end: Scalar
    profile: str = "rest-to-rest"
    axis: tuple[float, float, float] | None = None
    reference: Literal["start", "middle"] = "start"

    def __post_init__(self) -> None:
        convert_fields(self, self.kind)
        for name in ("start", "end"):
            try:
                matrix = orientation(getattr(self, name))
            except MechanismError as error:
                raise MechanismError(f"{self.kind}: {name}: {error}", path=(name,)) from None
            object.__setattr__(self, name, tuple(map(tuple, matrix.tolist())))
        _check_move(self.kind, self)
        vector = self._vector()
        angle = float(np.linalg.norm(vector))
        most = math.pi if self.reference == "start" else 2 * math.pi
        if angle > most - HALF_A_TURN:
            advice = (
                "write reference = 'middle', and give the measures that orientation as reference, or turn in two tasks"
                if self.reference == "start"
                else "turn in two tasks"
            )
            raise MechanismError(
                f"{self.kind}: the angle is {angle:.9g} rad, and a rotation vector from the {self.reference} allows less than "
                f"{most:.9g}; {advice}",
                path=("reference",),
            )

    def _vector(self) -> FloatArray:
        """Return axis times angle, in the axes of the start."""
        vector = rotation_vector(np.array(self.start).T @ np.array(self.end))  # eq. (6.94)
        angle = float(np.linalg.norm(vector))
        if self.axis is None:
            if angle > math.pi - HALF_A_TURN:
                raise MechanismError(
                    f"{self.kind}: the angle is {angle:.9g} rad, {math.pi - angle:.2g} rad short of half a turn: rounding "
                    f"would say which way round. Give axis = {_rounded(vector / angle)} or its opposite, in the axes of the "
                    "start",
                    path=("axis",),
                )
            return vector
        wanted = np.array(self.axis)
        length = float(np.linalg.norm(wanted))
        if not 0.0 < length < math.inf:
            raise MechanismError(f"{self.kind}: axis {list(self.axis)} is no direction", path=("axis",))
        if angle < NO_TURN:
            return vector
        along = float(wanted @ vector) / length
        apart = math.atan2(float(np.linalg.norm(np.cross(wanted / length, vector))), abs(along))
        # Orientations are known to some eps: the axis of a small turn to as much less.
        if apart > HALF_A_TURN + 1e-15 / angle:
            raise MechanismError(
                f"{self.kind}: axis {list(self.axis)} is {apart:.3g} rad from the axis of the turn, {_rounded(vector / angle)} "
                "in the axes of the start; leave it out, or give that or its opposite",
                path=("axis",),
            )
        return vector if along >= 0 else vector * (1.0 - 2.0 * math.pi / angle)

    @property
    def angle(self) -> float:
        """The angle of the whole turn in rad."""
        return float(np.linalg.norm(self._vector()))

    @property
    def direction(self) -> FloatArray:
        """The axis as a unit vector in the axes of ``start``, and of ``end``."""
        vector = self._vector()
        angle = float(np.linalg.norm(vector))
        if angle < NO_TURN:
            raise MechanismError(
                f"{self.kind}: it starts and ends at the same orientation; a turn by {angle:.2g} rad has no axis"
            )
        return vector / angle

    @property
    def reference_orientation(self) -> FloatArray:
        """The orientation that the components are relative to, as a matrix."""
        return self._at(0.0 if self.reference == "start" else 0.5)

    @property
    def reference_angles(self) -> tuple[float, float, float]:
        """The same as roll, pitch, yaw in rad: the ``reference`` of the measures that follow it."""
        return rpy_angles(self.reference_orientation)

    @property
    def components(self) -> tuple[Trajectory, ...]:
        share = 0.0 if self.reference == "start" else 0.5
        ends = ((-share * v, (1.0 - share) * v) for v in self._vector().tolist())
        return tuple(move(self.profile, start, end, self.t_start, self.t_end) for start, end in ends)

    def share(self, t: Any, scope: Mapping[str, Any] = NO_NAMES, order: int = 0) -> Any:
        """Return the share of the angle that is behind, from 0 to 1, or a derivative of it."""
        return move(self.profile, 0.0, 1.0, self.t_start, self.t_end).value(t, scope, order)

    def orientation(self, t: float, scope: Mapping[str, Any] = NO_NAMES) -> FloatArray:
        """Return the rotation matrix at a time."""
        return self._at(self.share(t, scope))

    def angular_velocity(self, t: float, scope: Mapping[str, Any] = NO_NAMES, order: int = 0) -> FloatArray:
        """Return the angular velocity in world axes, rad/s, or its derivative of this order: eq. (6.101).

        The axis is fixed in the world, and so the derivatives are those of the angle. In body axes the axis is
        :attr:`direction`, as it is in those of the start.
        """
        return np.asarray(np.array(self.start) @ self._vector() * self.share(t, scope, order + 1))

    def angular_acceleration(self, t: float, scope: Mapping[str, Any] = NO_NAMES) -> FloatArray:
        """Return the rate of the angular velocity in world axes, rad/s^2."""
        return self.angular_velocity(t, scope, 1)

    def _at(self, share: float) -> FloatArray:
        return np.asarray(np.array(self.start) @ rotation_of_vector(share * self._vector()))


@dataclass(frozen=True)
class Chain(Path):
    """Paths one after another, each from the time at which it starts, or from ``times``.

    Turns can follow each other about one axis; their components are relative to what those of the first are relative to.
    """

    kind: ClassVar[str] = "chain"
    parts: tuple[Path, ...]
    times: tuple[Scalar, ...] | None = None

    def __post_init__(self) -> None:
        convert_fields(self, self.kind)
        if len(self.parts) < 2:
            raise MechanismError(f"{self.kind}: {len(self.parts)} part(s) given; at least 2 are needed", path=("parts",))
        sizes = [len(part.components) for part in self.parts]
        turns = [isinstance(part, Turn) for part in self.parts]
        if len(set(sizes)) > 1 or len(set(turns)) > 1:
            words = [f"a {part.kind} of {size}" for part, size in zip(self.parts, sizes, strict=True)]
            raise MechanismError(f"{self.kind}: its parts do not fit each other: {listed(words)} component(s)", path=("parts",))
        if self.times is None:
            starts = [getattr(part, "t_start", None) for part in self.parts[1:]]
            if any(start is None for start in starts):
                raise MechanismError(f"{self.kind}: give the times at which parts follow each other", path=("times",))
            object.__setattr__(self, "times", tuple(starts))
        _ = self.components  # which refuses times and turns that do not fit

    @property
    def components(self) -> tuple[Trajectory, ...]:
        rows = _coaxial(self.parts) if isinstance(self.parts[0], Turn) else [part.components for part in self.parts]
        return tuple(Joined(tuple(column), self.times or ()) for column in zip(*rows, strict=True))


PATH_KINDS: dict[str, type[Path]] = {cls.kind: cls for cls in (Line, Turn, Chain)}


def read_path(data: Any) -> Path:
    """Return the path that plain data describe: ``kind`` and the fields of that path."""
    if isinstance(data, Path):
        return data
    if not isinstance(data, Mapping) or "kind" not in data:
        raise MechanismError(f"a path of several measures is a table with 'kind'. Kinds: {listed(PATH_KINDS)}.")
    kind = data["kind"]
    if not isinstance(kind, str) or kind not in PATH_KINDS:
        raise MechanismError(
            f"there is no path of kind {kind!r}{closest(str(kind), PATH_KINDS)} Kinds: {listed(PATH_KINDS)}.", path=("kind",)
        )
    return fill(PATH_KINDS[kind], {key: value for key, value in data.items() if key != "kind"}, f"a {kind}")


def move(profile: str, start: Scalar, end: Scalar, t_start: Scalar, t_end: Scalar) -> Trajectory:
    """Return the trajectory of one move by a profile."""
    found = read_profile(profile)
    smooth = None if found.smoothness == USUAL else f"smooth:{found.smoothness}"
    if found.form == "smooth":
        return RestToRest(start, end, t_start, t_end, smooth)
    if found.form == "three-phase":
        return ThreePhase(start, end, t_start, t_end, found.t_blend, smooth)
    return Sequence((t_start, t_end), (start, end), found.form)


def _check_move(what: str, path: Line | Turn) -> None:
    profile = named(what, lambda: read_profile(path.profile))
    check_span(what, path.t_start, path.t_end)
    if profile.t_blend is not None:
        check_blend(f"{what}, profile '{path.profile}'", path.t_start, path.t_end, profile.t_blend, "profile")


def _coaxial(turns: Row[Path]) -> list[tuple[Trajectory, ...]]:
    """Return the components of turns about one axis, relative to what those of the first are relative to."""
    first = turns[0]
    assert isinstance(first, Turn)
    rows = [first.components]
    behind = first._vector() * (1.0 if first.reference == "start" else 0.5)
    axis, end = _unit(first._vector()), np.array(first.end)
    for i, turn in enumerate(turns[1:], start=2):
        assert isinstance(turn, Turn)
        gap = float(np.linalg.norm(rotation_vector(end.T @ np.array(turn.start))))
        if gap > COAXIAL:
            raise MechanismError(f"chain: turn {i} starts {gap:.3g} rad from where the one before ends", path=("parts", i - 1))
        vector = turn._vector()
        apart = float(np.linalg.norm(np.cross(axis, _unit(vector))))
        if apart > COAXIAL:
            raise MechanismError(
                f"chain: the axis of turn {i}, {_rounded(_unit(vector))}, is not that of the turn(s) before, {_rounded(axis)}: "
                "a rotation vector then is no polynomial. Give each turn measures and a task of its own",
                path=("parts", i - 1),
            )
        ends = zip(behind.tolist(), (behind + vector).tolist(), strict=True)
        rows.append(tuple(move(turn.profile, start, finish, turn.t_start, turn.t_end) for start, finish in ends))
        behind, end = behind + vector, np.array(turn.end)
        axis = axis if axis.any() else _unit(vector)
        reached = float(np.linalg.norm(behind))
        if reached > math.pi - HALF_A_TURN:
            raise MechanismError(
                f"chain: after turn {i} the rotation vector has the length {reached:.9g}; a measure of it stays below "
                f"{math.pi:.9g} rad",
                path=("parts", i - 1),
            )
    return rows


def _unit(vector: FloatArray) -> FloatArray:
    length = float(np.linalg.norm(vector))
    return vector / length if length > NO_TURN else np.zeros(3)


def _rounded(vector: FloatArray) -> list[float]:
    return [round(float(component), 6) + 0.0 for component in vector]
