"""What a kind of closures is: which relative motions it forbids, and what it sees of a machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol

import casadi as ca

from kingpost.base.formulas import Scalar, Vector3
from kingpost.symbols.screws import Pose, perpendicular


class ClosureFields(Protocol):
    """What a closure kind reads of the closure itself."""

    @property
    def length(self) -> Scalar | None: ...

    @property
    def ratio(self) -> Scalar | None: ...

    @property
    def offset(self) -> Scalar: ...

    @property
    def radius(self) -> Scalar | None: ...

    @property
    def child_radius(self) -> Scalar | None: ...

    @property
    def coordinates(self) -> tuple[str, ...]: ...

    @property
    def surface(self) -> Scalar | None: ...

    @property
    def axis(self) -> Vector3 | None: ...


class Place(Protocol):
    """What a closure kind sees: the pose of M in F, and its own fields as symbols."""

    @property
    def closure(self) -> ClosureFields:
        """The closure's own fields."""

    X_FM: Pose
    #: Twist of M against F about M's origin, in M.
    t_FM: ca.SX
    axis: ca.SX
    axis2: ca.SX

    def value(self, scalar: Scalar) -> ca.SX:
        """Return a field as a symbol."""

    def formula(self, scalar: Scalar, names: Mapping[str, ca.SX]) -> ca.SX:
        """Return a field that is a formula of ``names`` beside parameters."""

    def coordinate(self, i: int) -> ca.SX:
        """Return the i-th of the closure's coordinates."""


class ClosureKind:
    """The equations of one kind of closure."""

    kind: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]
    #: Fields that it takes and can do without.
    takes: ClassVar[tuple[str, ...]] = ()
    #: How many joint coordinates it names, at most; fewer only where it takes them without needing them.
    coordinates: ClassVar[int] = 0
    #: Whether its two directions are perpendicular to each other.
    right_angle: ClassVar[bool] = False
    #: Whether it is a line that pulls, and so has a tension.
    pulls: ClassVar[bool] = False

    def positions(self, place: Place) -> ca.SX:
        """Return what must vanish in every position."""
        raise NotImplementedError

    def speeds(self, place: Place) -> ca.SX:
        """Return what else must vanish at speed level, beyond the rates of :meth:`positions`; linear in the speeds."""
        return ca.SX(0, 1)


PAIR = ("parent", "child")
#: What the formula of a surface calls the place of a point in F.
SURFACE_NAMES = ("x", "y", "z")


def sideways(place: Place) -> ca.SX:
    """Return the displacement of M from F across the axis."""
    return perpendicular(place.axis).T @ place.X_FM.p
