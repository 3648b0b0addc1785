"""Contact of points with a plane: a load on a deck, a foot on the ground."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kingpost.base.errors import MechanismError
from kingpost.base.fields import AnchorName, BodyName
from kingpost.base.formulas import ZERO_VECTOR, Scalar, Vector3, as_scalar
from kingpost.multibody.force import Force, Kinematics, Loads
from kingpost.plugins.forces.laws import never_negative, one_sided

WORLD_ANCHOR = AnchorName("world")


@dataclass(frozen=True)
class PlaneContactOptions:
    """``points`` of a body (m) against the plane through ``position`` of another body with the outward ``normal``.

    ``stiffness`` (N/m) and ``damping`` (N s/m) are those of each point; ``friction`` is Coulomb's coefficient, reached well
    above the sliding speed ``slip`` (m/s). The corner between apart and touching is rounded off over ``transition`` (m). With
    ``extent``, half the lengths (m) along ``along``, a direction in the plane, and across it, the plane is a rectangle around
    ``position``; at its edges the force fades out over some ``edge`` (m).
    """

    body: BodyName
    points: tuple[Vector3, ...]
    stiffness: Scalar
    other: AnchorName = WORLD_ANCHOR
    position: Vector3 = ZERO_VECTOR
    normal: Vector3 = (0.0, 0.0, 1.0)
    damping: Scalar = 0.0
    friction: Scalar = 0.0
    slip: float = 0.01
    transition: float = 0.001
    extent: tuple[Scalar, Scalar] | None = None
    along: Vector3 = (1.0, 0.0, 0.0)
    edge: float = 0.05

    def __post_init__(self) -> None:
        what = f"plane-contact of '{self.body}'"
        if not self.points:
            raise MechanismError(f"{what}: there are no points; give those that may touch, e.g. corners", path=("points",))
        if str(self.body) == str(self.other):
            raise MechanismError(f"{what}: the plane is on the same body; 'other' must be another one", path=("other",))
        if all(as_scalar(component) == 0.0 for component in self.normal):
            raise MechanismError(f"{what}: the normal is (0, 0, 0), which has no direction", path=("normal",))
        positive = ("stiffness", "slip", "transition", "edge")
        for name in (*positive, "damping", "friction"):
            number = as_scalar(getattr(self, name))
            if isinstance(number, float) and not (number > 0 if name in positive else number >= 0):
                raise MechanismError(
                    f"{what}: {name} is {number:g}; it must {'be positive' if name in positive else 'not be negative'}",
                    path=(name,),
                )


class PlaneContact(Force):
    """Points of a body that a plane on another body, or in the world, pushes back: elastic, damped, with friction.

    At a depth s the normal force is stiffness * s + damping * rate of s, but never negative; friction is
    -friction * normal force * v / sqrt(|v|^2 + slip^2) for the sliding velocity v. At rest friction is viscous: what should
    stick creeps. Without ``extent`` the plane has no edge; with it, nothing is felt beside it, however deep.
    """

    name = "plane-contact"
    Options = PlaneContactOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        options = self.options
        X_OW, X_WB = kinematics.pose(options.other).inverse(), kinematics.pose(options.body)
        # The body as seen from the plane: X, and the twist of each, to tell velocities in the axes of the plane's body.
        R_OB, p_OB = X_OW.R @ X_WB.R, X_OW.R @ X_WB.p + X_OW.p
        twist, twist_other = kinematics.twist(options.body), kinematics.twist(options.other)
        normal = kinematics.vector(options.normal)
        normal = normal / ca.norm_2(normal)
        level = ca.dot(normal, kinematics.vector(options.position))
        k, d, friction = (kinematics.value(getattr(options, name)) for name in ("stiffness", "damping", "friction"))
        wrench_B, wrench_O, potential = ca.SX(6, 1), ca.SX(6, 1), ca.SX(0)
        for point in options.points:
            at = kinematics.vector(point)
            place = p_OB + R_OB @ at
            velocity = R_OB @ (twist[3:] + ca.cross(twist[:3], at)) - twist_other[3:] - ca.cross(twist_other[:3], place)
            approach = -ca.dot(normal, velocity)
            push, touching, energy = one_sided(level - ca.dot(normal, place), ca.SX(options.transition))
            inside, slope = self._inside(kinematics, normal, place)
            pressed = never_negative(k * push * inside, touching * inside * d * approach)
            sliding = velocity + approach * normal
            drag = friction * pressed / ca.sqrt(ca.dot(sliding, sliding) + options.slip**2)
            # The energy k * energy * inside has a slope along the plane, too, near its edges.
            force = pressed * normal - drag * sliding - k * energy * slope
            force_B = R_OB.T @ force
            wrench_B += ca.vertcat(ca.cross(at, force_B), force_B)
            wrench_O -= ca.vertcat(ca.cross(place, force), force)
            potential += k * energy * inside
        wrenches = {options.body: wrench_B}
        if options.other != "world":
            wrenches[options.other] = wrench_O
        return Loads(wrenches=wrenches, potential=potential)

    def _inside(self, kinematics: Kinematics, normal: ca.SX, place: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return 1 above the rectangle and 0 beside it, smooth in between, and how that changes with the place."""
        options = self.options
        if options.extent is None:
            return ca.SX(1), ca.SX(3, 1)
        along = kinematics.vector(options.along)
        along = along - normal * ca.dot(normal, along)
        along = along / ca.norm_2(along)
        away = place - kinematics.vector(options.position)
        factors: list[ca.SX] = []
        slopes: list[ca.SX] = []
        for direction, size in zip((along, ca.cross(normal, along)), options.extent, strict=True):
            x, half = ca.dot(direction, away), kinematics.value(size)
            low, high = ca.tanh((x + half) / options.edge), ca.tanh((x - half) / options.edge)
            factors.append((low - high) / 2)
            slopes.append((high**2 - low**2) / (2 * options.edge) * direction)
        return ca.SX(factors[0] * factors[1]), slopes[0] * factors[1] + slopes[1] * factors[0]
