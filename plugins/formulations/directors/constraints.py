"""All constraints of bodies in natural coordinates, internal ones, joints and closures; and what multipliers amount to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from kingpost.base.formulas import Scalar
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import WORLD
from kingpost.multibody.constraints import Constraints, efforts_of
from kingpost.plugins.formulations.directors.bodies import PointBody
from kingpost.plugins.formulations.directors.driven import ENDING, driven_rows
from kingpost.plugins.formulations.directors.joints import JointPlace, constraints, place_between
from kingpost.plugins.formulations.directors.kinematics import DirectorKinematics
from kingpost.symbols.closure_kinds import CLOSURE_KINDS
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.symbols.screws import Pose

#: Closures that ask only for the distance of the two origins: in world axes it has a lower degree than in those of F.
IN_WORLD = ("distance", "rope", "sheave")


class DirectorClosure:
    """A closure between bodies in natural coordinates, its joint coordinates frozen: see :class:`kingpost.closures.Place`."""

    def __init__(self, space: DirectorKinematics, closure: Closure) -> None:
        self.space, self.closure = space, closure
        self.coordinates = ca.SX.sym("c", len(closure.coordinates))
        self.place: JointPlace | None = None
        self.axis, self.axis2, self.X_FM, self.t_FM = ca.SX(3, 1), ca.SX(3, 1), Pose.identity(), ca.SX(6, 1)
        if closure.child:
            parent, child = (space.bodies[name] for name in (closure.parent, closure.child))
            self.place = place = place_between(space, closure, parent, child)
            self.axis, self.axis2 = place.geometry.axis, place.geometry.axis2
            apart, x = place.apart, place.origin_M
            self.X_FM = Pose(place.R_FM, apart if closure.kind in IN_WORLD else place.R_WF.T @ apart)
            velocity = child.r_rate + ca.cross(child.spin, x - child.r) - parent.r_rate - ca.cross(parent.spin, x - parent.r)
            self.t_FM = ca.vertcat(place.R_WM.T @ (child.spin - parent.spin), place.R_WM.T @ velocity)

    def value(self, scalar: Scalar) -> ca.SX:
        """Return a field as a symbol."""
        return self.space.value(scalar)

    def formula(self, scalar: Scalar, names: Mapping[str, ca.SX]) -> ca.SX:
        """Return a field that is a formula of ``names`` beside parameters."""
        return self.space.assembly.formula(scalar, names)

    def coordinate(self, i: int) -> ca.SX:
        """Return the i-th of the closure's coordinates."""
        return self.coordinates[i]

    def positions(self) -> ca.SX:
        """Return what must vanish in every position; closures that are joints have the equations of joints."""
        if self.place is not None and self.closure.kind in JOINT_KINDS:
            return constraints(self.place, ca.SX(0))
        return CLOSURE_KINDS[self.closure.kind].positions(self)

    def speeds(self) -> ca.SX:
        """Return what must vanish at speed level beyond the rates of :meth:`positions`."""
        return CLOSURE_KINDS[self.closure.kind].speeds(self)


@dataclass(frozen=True, eq=False)
class _Held:
    """The rows of one body, joint or closure."""

    owner: str
    positions: ca.SX
    speeds: ca.SX
    #: Place and bodies of what has a reaction.
    place: JointPlace | None = None
    parent: str = ""
    child: str = ""
    #: The joint coordinates of a closure: symbols in the rows, values, and names.
    frozen: ca.SX | None = None
    values: ca.SX | None = None


def director_constraints(space: DirectorKinematics, q: ca.SX, v: ca.SX, closures: Sequence[Closure]) -> Constraints:
    """Return all constraint equations in the natural coordinates ``q`` (without counters) and their rates ``v``.

    Counters have no part in the Jacobian: what is followed depends on the directors alone.
    """
    held = [_Held(f"{body.name}.directors", space.bodies[body.name].internal, ca.SX(0, 1)) for body in space.mechanism.bodies]
    for joint in space.mechanism.joints:
        place = space.places[joint.name]
        angle = space.coordinate(joint.positions[0].name) if joint.kind == "screw" else ca.SX(0)
        wanted = constraints(place, angle)
        if isinstance(place.child, PointBody):
            wanted = wanted[: wanted.numel() - 3]  # the last three forbid turning
        held.append(_Held(joint.name, wanted, ca.SX(0, 1), place, joint.parent, joint.child))
    driven = driven_rows(space.places, space.mechanism.joints, space.driven)
    held += [_Held(f"{name}{ENDING}", row, ca.SX(0, 1)) for name, row in driven.items()]
    for closure in closures:
        tie = DirectorClosure(space, closure)
        values = ca.vertcat(ca.SX(0, 1), *(space.coordinate(name) for name in closure.coordinates))
        held.append(
            _Held(
                closure.name, tie.positions(), tie.speeds(), tie.place, closure.parent, closure.child, tie.coordinates, values
            )
        )
    phi = ca.vertcat(ca.SX(0, 1), *(_true(item, item.positions) for item in held))
    further = ca.vertcat(ca.SX(0, 1), *(_true(item, item.speeds) for item in held))
    A = ca.vertcat(ca.jacobian(phi, q), ca.jacobian(further, v))
    at_rest = ca.substitute(further, v, ca.SX.zeros(v.numel())) if further.numel() else further
    b = ca.vertcat(ca.jacobian(phi, space.t), at_rest)
    owners = [item.owner for item in held for _ in range(item.positions.numel())]
    owners += [item.owner for item in held for _ in range(item.speeds.numel())]
    lam = ca.SX.sym("lam", len(owners))
    reactions: dict[str, ca.SX] = {}
    first, last = 0, phi.numel()
    for item in held:
        rows = [*range(first, first + item.positions.numel()), *range(last, last + item.speeds.numel())]
        first, last = first + item.positions.numel(), last + item.speeds.numel()
        own = lam[rows] if rows else ca.SX(0, 1)
        if item.place is not None:
            reactions[item.owner] = _reaction(space, item, own, q, v)
        if item.frozen is not None and item.frozen.numel():
            along = ca.jacobian(item.positions, item.frozen)
            reactions[efforts_of(item.owner)] = ca.densify(_true(item, -along.T @ own[: item.positions.numel()]))
    return Constraints(ca.densify(phi), ca.sparsify(A), ca.densify(b), lam, tuple(owners), reactions)


def _true(item: _Held, expression: ca.SX) -> ca.SX:
    """Return an expression with the joint coordinates in the place of their symbols."""
    if item.frozen is None or item.values is None or not item.frozen.numel():
        return expression
    return ca.substitute(expression, item.frozen, ca.densify(item.values))


def _reaction(space: DirectorKinematics, item: _Held, lam: ca.SX, q: ca.SX, v: ca.SX) -> ca.SX:
    """Return the wrench of a joint or closure on its child, about the origin of M in M.

    By virtual power: a rigid motion P [w; r'] of the body changes the rows at the rate (d rows / dq) P, and the multipliers
    work against it. What they do to directors beyond rigid motions is the business of the internal constraints. A closure to
    the world is felt by its parent alone.
    """
    place = item.place
    assert place is not None
    on_child = item.child != WORLD
    name = item.child if on_child else item.parent
    if name == WORLD or not lam.numel():
        return ca.SX.zeros(6)
    body = space.bodies[name]
    names = [other.name for other in space.mechanism.bodies]
    row = sum(space.bodies[other].size for other in names[: names.index(name)])
    own = slice(row, row + body.size)
    rates = ca.vertcat(ca.jacobian(item.positions, q)[:, own], ca.jacobian(item.speeds, v)[:, own])
    wrench = -(rates @ body.motions).T @ lam
    if not on_child:
        wrench = -wrench
    moment, force = wrench[:3], wrench[3:]
    R_MW = place.R_WM.T
    about_M = moment + ca.cross(body.r - place.origin_M, force)
    return ca.densify(_true(item, ca.vertcat(R_MW @ about_M, R_MW @ force)))
