"""Elastic ropes: from point to point, over sheaves, and off a winch."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import AnchorName, BodyName, CoordinateName
from kingpost.base.formulas import ZERO_VECTOR, Scalar, Vector3, as_scalar
from kingpost.mechanism.drawings import Drawing, Line
from kingpost.multibody.force import Force, Kinematics, Loads
from kingpost.plugins.forces.bodies import MEETING
from kingpost.plugins.forces.laws import never_negative, one_sided

WORLD_ANCHOR = AnchorName("world")


@dataclass(frozen=True)
class RopeOptions:
    """A rope from the point ``at`` of a body over the points ``via`` of ``via_body`` to ``other_at`` of another body (m).

    Unstretched it is ``length`` + ``radius`` * ``drum`` long (m): a positive turn of the winch pays out. Either ``EA`` (N) or
    the ``stiffness`` (N/m) of the whole rope; ``damping`` (N s/m) and ``damping_time`` (s, times the stiffness) add up. The
    corner between slack and taut is rounded off over ``transition`` (m).
    """

    body: BodyName
    other: AnchorName
    length: Scalar
    at: Vector3 = ZERO_VECTOR
    other_at: Vector3 = ZERO_VECTOR
    via: tuple[Vector3, ...] = ()
    via_body: AnchorName = WORLD_ANCHOR
    EA: Scalar | None = None
    stiffness: Scalar | None = None
    damping: Scalar = 0.0
    damping_time: Scalar = 0.0
    drum: CoordinateName | None = None
    radius: Scalar = 0.0
    transition: float = 0.01

    def __post_init__(self) -> None:
        what = f"rope on '{self.body}'"
        if (self.EA is None) == (self.stiffness is None):
            raise MechanismError(
                f"{what}: give either EA (N, per unstretched length) or stiffness (N/m, of the whole rope), "
                f"{'not both' if self.EA is not None else 'there is neither'}",
                path=("EA",) if self.EA is not None else (),
            )
        positive = ("EA", "stiffness", "transition", *(() if self.drum else ("length",)))
        for name in (*positive, "damping", "damping_time"):
            value = getattr(self, name)
            number = None if value is None else as_scalar(value)
            if isinstance(number, float) and not (number > 0 if name in positive else number >= 0):
                raise MechanismError(
                    f"{what}: {name} is {number:g}; it must {'be positive' if name in positive else 'not be negative'}",
                    path=(name,),
                )
        if self.drum is None and as_scalar(self.radius) != 0.0:
            raise MechanismError(f"{what}: there is a radius but no drum, the joint coordinate it multiplies", path=("radius",))


@dataclass(frozen=True, eq=False)
class RopeState:
    """Length along the path, unstretched length (m), tension (N) and potential energy (J) of a rope."""

    length: ca.SX
    unstretched: ca.SX
    tension: ca.SX
    potential: ca.SX


class Rope(Force):
    """Elastic rope without mass that pulls but never pushes, over sheaves without friction, and off a winch.

    With the stretch s = length along the path - unstretched length the tension is EA s / unstretched length, or stiffness * s,
    plus damping; nothing when slack. The drum feels what virtual work demands: tension * radius in the sense of paying out,
    and with EA radius * tension^2 / (2 EA) more, half the strain of it: the drum holds rope that is not stretched yet.
    """

    name = "rope"
    Options = RopeOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        options = self.options
        state, pulls, configurational = self._pulled(kinematics)
        wrenches: dict[str, ca.SX] = {}
        for body, at, direction in pulls:
            if body != "world":
                force_B = kinematics.pose(body).R.T @ (state.tension * direction)
                wrenches[body] = wrenches.get(body, 0) + ca.vertcat(ca.cross(at, force_B), force_B)
        efforts = {}
        if options.drum is not None:
            efforts[options.drum] = kinematics.value(options.radius) * (state.tension + configurational)
        return Loads(
            wrenches=wrenches,
            efforts=efforts,
            potential=state.potential,
            signals={"tension": (state.tension, "N"), "length": (state.length, "m")},
        )

    def drawing(self) -> Drawing:
        options = self.options
        return Drawing(Line(self._path(), "rope", options.length, options.drum or "", options.radius))

    def _path(self) -> tuple[tuple[str, Vector3], ...]:
        """Return the points that the rope goes through, each on its body."""
        options = self.options
        between = ((options.via_body, at) for at in options.via)
        return ((options.body, options.at), *between, (options.other, options.other_at))

    def state(self, kinematics: Kinematics) -> RopeState:
        """Return length, tension and energy of the rope."""
        return self._pulled(kinematics)[0]

    def _pulled(self, kinematics: Kinematics) -> tuple[RopeState, list[tuple[str, ca.SX, ca.SX]], ca.SX]:
        """Return the state, each point with the direction in which the tension pulls it, and -dV/d(unstretched) - tension."""
        options = self.options
        path = self._path()
        points, velocities = [], []
        for body, place in path:
            X_WB, twist, at = kinematics.pose(body), kinematics.twist(body), kinematics.vector(place)
            points.append(X_WB.p + X_WB.R @ at)
            velocities.append(X_WB.R @ (twist[3:] + ca.cross(twist[:3], at)))
        directions = [ca.SX(3, 1) for _ in path]
        length, rate = ca.SX(0), ca.SX(0)
        for i in range(len(path) - 1):
            apart = points[i + 1] - points[i]
            distance = ca.sqrt(ca.dot(apart, apart) + MEETING**2)
            direction = apart / distance
            length += distance
            rate += ca.dot(direction, velocities[i + 1] - velocities[i])
            directions[i] += direction
            directions[i + 1] -= direction
        unstretched, paid_out = self._unstretched(kinematics)
        stretch = length - unstretched
        pull, taut, energy = one_sided(stretch, ca.SX(options.transition))
        k = kinematics.value(options.stiffness) if options.EA is None else kinematics.value(options.EA) / unstretched
        # With EA the stiffness depends on the unstretched length, at the rate -k / unstretched, and so the energy.
        configurational = ca.SX(0) if options.EA is None else k * energy / unstretched
        d = kinematics.value(options.damping) + kinematics.value(options.damping_time) * k
        tension = never_negative(k * pull, taut * d * (rate - paid_out))
        pulls = [(body, kinematics.vector(place), directions[i]) for i, (body, place) in enumerate(path)]
        return RopeState(length, unstretched, tension, k * energy), pulls, configurational

    def _unstretched(self, kinematics: Kinematics) -> tuple[ca.SX, ca.SX]:
        """Return the unstretched length and its rate; an input does not change during a step."""
        options = self.options
        length = kinematics.value(options.length)
        rate = ca.jacobian(length, kinematics.t)
        if options.drum is not None:
            known = kinematics.mechanism.rated_coordinates
            if options.drum not in known:
                raise MechanismError(
                    f"rope on '{options.body}': drum: '{options.drum}' is not a joint coordinate"
                    f"{closest(options.drum, known)} Known: {listed(known)}."
                )
            radius = kinematics.value(options.radius)
            length += radius * kinematics.coordinate(options.drum)
            rate += radius * kinematics.rate(options.drum)
        # A rope that is wound up to its end has no stiffness: rather stop the run than go on with a negative one.
        return (length if length.is_constant() else ca.if_else(length > 0, length, ca.DM.nan(1, 1))), rate
