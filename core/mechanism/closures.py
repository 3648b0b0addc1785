"""Closures: what closes the loops of a machine whose joints make a tree.

A closure ties two bodies, or two joint coordinates, that the tree leaves free of each other. It uses the words of a joint:
frames F on the parent and M on the child, an axis, and kinds with the same names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import convert_fields
from kingpost.base.formulas import ZERO_VECTOR, Expression, Scalar, Vector3
from kingpost.mechanism.elements import check_name, check_stiffness
from kingpost.symbols.closure_kind import SURFACE_NAMES
from kingpost.symbols.closure_kinds import CLOSURE_KINDS


@dataclass(frozen=True)
class Closure:
    """A tie between two bodies, or between two joint coordinates, that closes a loop.

    Parameters
    ----------
    kind
        One of the kinds of :mod:`kingpost.closures`; each needs some of the following fields.
    parent, child
        The bodies; either may be the world. Kinds that tie coordinates have none.
    axis, axis2
        Directions as in a joint: ``axis`` in F and M, the second one of a universal closure in M. Of a slot the direction of
        it, and the normal of the plane; of rolling wheels the normal, and in F the direction from which ``offset`` counts.
    position, rotation, child_position, child_rotation
        Places of F on the parent and of M on the child, as in a joint.
    length
        Distance in m; of a rope, its free length when the winch is at zero.
    coordinates
        The two joint coordinates that a gear ties; the one that a rope's winch turns with, and for the part of a rope beyond a
        sheave also the one by which the part before it grows. Of rolling wheels, if wanted, the turns of child and parent; of
        a slot, if wanted, the one that is the place of the pin along it; on a surface, the place of the point of contact.
    ratio, offset
        Of a gear: first coordinate = ratio * second + offset. Of rolling wheels with coordinates: the direction (rad) of the
        child's centre from ``axis2`` where it is not turned against the parent.
    radius, child_radius
        In m: of a wheel, ball or disc that rolls; of a winch, whose rope grows by radius times its angle. Of rolling wheels
        that of the parent, and that of the child; the one of a ring that is touched from within is negative.
    surface
        Of what rolls on a surface: a formula of x, y, z (m, in F) and parameters that is zero on the surface and positive where
        the ball is, e.g. ``"z - y**2 / 2"``.
    stiffness
        As of a joint, for loads that rigid bodies alone leave open.

    """

    #: Names that the formula in a field may use beside parameters.
    OWN_NAMES: ClassVar[Mapping[str, tuple[str, ...]]] = {"surface": SURFACE_NAMES}

    name: str
    kind: str
    parent: str = ""
    child: str = ""
    axis: Vector3 | None = None
    axis2: Vector3 | None = None
    position: Vector3 = ZERO_VECTOR
    rotation: Vector3 = ZERO_VECTOR
    child_position: Vector3 = ZERO_VECTOR
    child_rotation: Vector3 = ZERO_VECTOR
    length: Scalar | None = None
    coordinates: tuple[str, ...] = ()
    ratio: Scalar | None = None
    offset: Scalar = 0.0
    radius: Scalar | None = None
    child_radius: Scalar | None = None
    surface: Scalar | None = None
    stiffness: tuple[Scalar, ...] = ()

    def __post_init__(self) -> None:
        check_name("closure", self.name)
        what = f"closure '{self.name}'"
        if self.kind not in CLOSURE_KINDS:
            raise MechanismError(
                f"{what}: unknown kind '{self.kind}'{closest(str(self.kind), CLOSURE_KINDS)} "
                f"Kinds: {listed(sorted(CLOSURE_KINDS))}.",
                path=("kind",),
            )
        convert_fields(self, what)
        kind = CLOSURE_KINDS[self.kind]
        if self.stiffness and "child" not in kind.needs:
            raise MechanismError(
                f"{what} is {self.kind} and ties no bodies, so it has no 'stiffness'; remove it", path=("stiffness",)
            )
        check_stiffness(what, self.stiffness)
        for name, example in _EXAMPLES.items():
            given = getattr(self, name) not in (None, "", ())
            if given and name not in (*kind.needs, *kind.takes):
                raise MechanismError(f"{what} is {self.kind} and has no '{name}'; remove it", path=(name,))
            if not given and name in kind.needs:
                raise MechanismError(f"{what} is {self.kind} and lacks '{name}', e.g. {example}")
        fewest = 1 if "coordinates" in kind.takes else kind.coordinates
        if self.coordinates and not fewest <= len(self.coordinates) <= kind.coordinates:
            several = kind.coordinates if fewest == kind.coordinates else f"{fewest} or {kind.coordinates}"
            raise MechanismError(
                f"{what}: a {self.kind} closure ties {several} coordinate(s), got {listed(self.coordinates)}",
                path=("coordinates",),
            )
        for name in ("length", *(("radius",) if self.kind in ROLLING else ())):
            value = getattr(self, name)
            if isinstance(value, float) and value <= 0.0:
                raise MechanismError(f"{what}: {name} is {value:g} m; it must be positive", path=(name,))
        for name in ("axis", "axis2"):
            value = getattr(self, name)
            if value is not None and all(component == 0.0 for component in value):
                raise MechanismError(f"{what}: {name} is [0, 0, 0]; give a direction, e.g. [0, 0, 1]", path=(name,))
        if self.kind == "rolling-wheels":
            _check_phase(what, self)
        self._check_surface(what)

    def _check_surface(self, what: str) -> None:
        if self.surface is None:
            return
        used = self.surface.names if isinstance(self.surface, Expression) else frozenset()
        if not used & set(SURFACE_NAMES):
            raise MechanismError(
                f"{what}: surface = '{self.surface}' does not depend on x, y or z, so nothing lies on it; write a formula that "
                "is zero on the surface and positive where the ball is, e.g. 'z - y**2 / 2'",
                path=("surface",),
            )
        if len(set(self.coordinates)) < len(self.coordinates):
            raise MechanismError(
                f"{what}: coordinates names {listed(self.coordinates)}; the point of contact has three different ones, those "
                "of a 'translational' joint",
                path=("coordinates",),
            )


def _check_phase(what: str, closure: Closure) -> None:
    """Refuse turns of wheels without the direction from which they count, or the other way round."""
    if bool(closure.coordinates) != (closure.axis2 is not None):
        lacking, given = ("axis2", "coordinates") if closure.coordinates else ("coordinates", "axis2")
        raise MechanismError(
            f"{what} has '{given}' and lacks '{lacking}', e.g. {_EXAMPLES[lacking]}; rolling that is held in its phase needs "
            "coordinates that count turns, and the direction of the child's centre where they are zero",
            path=(given,),
        )
    if not closure.coordinates and closure.offset != 0.0:
        raise MechanismError(
            f"{what} has no phase without 'coordinates', so 'offset' means nothing; remove it", path=("offset",)
        )


#: Kinds whose radius is that of what rolls.
ROLLING = ("rolling", "rolling-disc", "rolling-surface")
_EXAMPLES = {
    "parent": '"world"',
    "child": '"rod"',
    "axis": "[0, 0, 1]",
    "axis2": "[1, 0, 0]",
    "length": "1.5",
    "coordinates": '["crank.angle", "wheel.angle"]',
    "ratio": "2.0",
    "radius": "0.3",
    "child_radius": "0.2",
    "surface": '"z - y**2 / 2"',
}
