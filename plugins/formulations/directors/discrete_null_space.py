"""The discrete null space of joints in natural coordinates: what they allow between two places.

Between two places the mean directors are neither of length one nor perpendicular. A rigid motion w, r' of each body still
satisfies the rows of its directors; each joint then says which relative motions satisfy its own. Document 001, eqs. 4.49, 4.55.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import casadi as ca

from kingpost.base.errors import MechanismError
from kingpost.equations.discrete_null_space import DiscreteNullSpace
from kingpost.equations.equations import Equations
from kingpost.mechanism.elements import WORLD, Joint
from kingpost.multibody.constraints import Constraints
from kingpost.plugins.formulations.directors.augmentation import augmentation
from kingpost.plugins.formulations.directors.constraints import director_constraints
from kingpost.plugins.formulations.directors.formulation import DirectorModel, natural_equations
from kingpost.plugins.formulations.directors.joints import ANGLES, JointPlace
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.symbols.screws import perpendicular


class DirectorNullSpace(DiscreteNullSpace):
    """The discrete null space of a tree of bodies in natural coordinates; built only when a scheme asks for it."""

    def __init__(self, model: DirectorModel, formulation: str, rows: tuple[int, ...] | None = None) -> None:
        self._model, self._formulation, self._rows = model, formulation, rows

    def with_rows(self, rows: Sequence[int]) -> DirectorNullSpace:
        kept = tuple(rows) if self._rows is None else tuple(self._rows[i] for i in rows)
        return DirectorNullSpace(self._model, self._formulation, kept)

    @cached_property
    def natural(self) -> Equations:
        model = self._model
        mechanism = model.assembly.mechanism
        held = director_constraints(model.at, model.q, model.v, mechanism.closures)
        positions = held.phi.numel()
        ties = {closure.name for closure in mechanism.closures}
        own = [i for i, owner in enumerate(held.owners) if owner in ties]
        own = own if self._rows is None else [own[i] for i in self._rows]
        first = [i for i in own if i < positions]
        chosen = [*first, *self._threads(held.owners), *(i for i in own if i >= positions)]
        return natural_equations(model, self._formulation, _taken(held, chosen), augmentation(model.assembly))

    def _threads(self, owners: Sequence[str]) -> list[int]:
        """Return the last row of each screw: its discrete derivative is not in the span of anything simple."""
        screws = [joint.name for joint in self._model.assembly.mechanism.joints if joint.kind == "screw"]
        return [max(i for i, owner in enumerate(owners) if owner == name) for name in screws]

    @cached_property
    def kept(self) -> int:
        return sum(joint.kind == "screw" for joint in self._model.assembly.mechanism.joints)

    @cached_property
    def motions(self) -> ca.Function:
        """P, body by body from the base to the tips; columns in no unit of their own."""
        model = self._model
        joints = model.assembly.mechanism.tree
        own = {joint.name: allowed_between(model.at.places[joint.name]) for joint in joints}
        count = sum(columns.shape[1] for columns in own.values())
        twists: dict[str, ca.SX] = {WORLD: ca.SX(6, count)}
        column = 0
        for joint in joints:
            place, columns = model.at.places[joint.name], own[joint.name]
            x, before = place.origin_M, twists[joint.parent]
            spin = before[:3, :]
            at_M = before[3:, :] - ca.skew(x - place.parent.r) @ spin
            relative = ca.SX(6, count)
            if columns.shape[1]:
                relative[:, column : column + columns.shape[1]] = columns
            column += columns.shape[1]
            spin, at_M = spin + relative[:3, :], at_M + relative[3:, :]
            twists[joint.child] = ca.vertcat(spin, at_M - ca.skew(place.child.r - x) @ spin)
        parts = [model.at.bodies[name].motions @ twists[name] for name in model.names]
        P = ca.sparsify(ca.vertcat(ca.SX(0, count), *parts))
        return ca.Function("kp_motions", [model.state, model.assembly.p], [ca.cse(P)])

    @cached_property
    def joints(self) -> ca.Function:
        model = self._model
        return ca.Function("kp_joints", [model.state, model.assembly.p], [ca.densify(ca.cse(model.joint_values()[0]))])

    @cached_property
    def moved(self) -> ca.Function:
        """Displacements are added; turns are those of Cayley's map, which is regular below half a turn."""
        model = self._model
        tree = model.tree
        full = model.initial()(tree.q, ca.SX.zeros(tree.v.numel()), model.assembly.p)[: model.state.numel()]
        before, increments = ca.SX.sym("c", tree.q.numel()), ca.SX.sym("i", tree.v.numel())
        pieces = [ca.SX(0, 1)]
        for joint in model.assembly.mechanism.joints:
            if joint.positions:
                rows, columns = tree.rows(joint)
                pieces.append(_turned(joint, before[rows], increments[columns]))
        q = ca.substitute(full, tree.q, ca.vertcat(*pieces)) if tree.q.numel() else full
        return ca.Function("kp_moved", [before, increments, model.assembly.p], [ca.densify(ca.cse(q))])

    @cached_property
    def rates(self) -> ca.Function:
        model = self._model
        tree = model.tree
        v = model.initial()(tree.q, tree.v, model.assembly.p)[model.state.numel() :]
        at = ca.Function("at", [tree.q, tree.v, model.assembly.p], [v])
        symbols = [model.state, tree.v, model.assembly.p]
        return ca.Function("kp_rates", symbols, [ca.densify(at(model.joint_values()[0], tree.v, model.assembly.p))])

    @cached_property
    def speeds(self) -> ca.Function:
        model = self._model
        symbols = [model.state, model.v, model.assembly.p]
        return ca.Function("kp_speeds", symbols, [ca.densify(ca.cse(model.joint_values()[1]))])


def allowed_between(place: JointPlace) -> ca.SX:
    """Return relative motions of M against F, about the origin of M in world axes, that keep the rows of a joint.

    With the mean axis n of the parent and axes s of the child, rows n . s ask for w . (s x n) = 0: a turn about n. Rows c . d
    of a displacement d ask for c . u = 0, with u the velocity against the turning parent: along the cross product of the mean
    axes c, which is the contravariant n. Document 001, eq. 4.69, prints n there; at mid-points it is not perpendicular to c.
    Of a screw, the motions are those of a cylinder: its thread is not bilinear.
    """
    kind, axis = place.kind, place.geometry.axis
    nothing = ca.SX(3, 1)
    if kind == "free":
        return ca.SX.eye(6)
    if kind in ("spherical", "gimbal", "cardan"):
        return ca.vertcat(ca.SX.eye(3), ca.SX(3, 3))
    if kind == "weld":
        return ca.SX(6, 0)
    if kind == "translational":
        return ca.vertcat(ca.SX(3, 3), ca.SX.eye(3))
    normal = place.R_WF @ axis
    if kind == "universal":
        return ca.vertcat(ca.horzcat(normal, place.R_WM @ place.geometry.axis2), ca.SX(3, 2))
    across = place.R_WF @ perpendicular(axis)
    turn, slide = ca.vertcat(normal, nothing), ca.vertcat(nothing, ca.cross(across[:, 0], across[:, 1]))
    if kind == "revolute":
        return turn
    if kind == "prismatic":
        return slide
    if kind in ("cylindrical", "screw"):
        return ca.horzcat(turn, slide)
    plane = ca.horzcat(*(ca.vertcat(nothing, ca.cross(across[:, i], normal)) for i in (0, 1)))
    if kind == "planar-translational":
        return plane
    if kind == "planar":
        return ca.horzcat(plane, turn)
    raise MechanismError(f"joints of the kind '{kind}' have no discrete null space; use formulation 'kane'")


def _taken(held: Constraints, rows: list[int]) -> Constraints:
    """Return some of the constraints, those on positions first, without reactions."""
    positions = [i for i in rows if i < held.phi.numel()]
    lam = ca.SX.sym("lam", len(rows))
    owners = tuple(held.owners[i] for i in rows)
    return Constraints(ca.SX(held.phi[positions]), held.A[rows, :], ca.SX(held.b[rows]), lam, owners, {})


def _turned(joint: Joint, before: ca.SX, increments: ca.SX) -> ca.SX:
    """Return the coordinates of a joint after increments along its speeds.

    Turns follow Cayley's map, which is to mean directors what the exponential map is to directors: with the increment a, a turn
    of 2 atan(a/2) is what a mid-point rule makes of the rate a/h.
    """
    kind = JOINT_KINDS[joint.kind]
    along = ca.densify(kind.velocity_map(before) @ increments)
    for row in ANGLES.get(joint.kind, ()):
        along[row] = 2 * ca.atan(along[row] / 2)
    after = ca.densify(before + along)
    if kind.quaternion is None:
        return after
    rows = slice(kind.quaternion, kind.quaternion + 4)
    after[rows] = after[rows] / ca.norm_2(after[rows])
    return after
