"""The constraint equations of closures, in the coordinates and speeds of a tree.

0 = phi(t, q)                    positions
0 = A(t, q) v + b(t, q)          speeds: the rates of phi first, then what cannot be integrated
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.base.formulas import Scalar
from kingpost.mechanism.closures import Closure
from kingpost.multibody.tree import TreeKinematics
from kingpost.symbols.closure_kinds import CLOSURE_KINDS
from kingpost.symbols.screws import Pose, rotation_rpy, twist_to
from kingpost.symbols.types import Symbolic


@dataclass(frozen=True, eq=False)
class Constraints:
    """Constraint equations, the joint or closure that each row belongs to, and what the multipliers amount to."""

    phi: Symbolic = field(default_factory=lambda: ca.SX(0, 1))
    A: Symbolic = field(default_factory=lambda: ca.SX(0, 0))
    b: Symbolic = field(default_factory=lambda: ca.SX(0, 1))
    lam: Symbolic = field(default_factory=lambda: ca.SX(0, 1))
    #: Name of the joint or closure of each row of A.
    owners: tuple[str, ...] = ()
    #: Expressions in lam by joint or closure: the wrench on its child, about the origin of M in M; under "name.efforts", where
    #: it names joint coordinates, the efforts along these.
    reactions: Mapping[str, Symbolic] = field(default_factory=dict)
    #: Owners of rows that follow from others and were left out.
    redundant: tuple[str, ...] = ()
    #: Closures that the coordinates keep by themselves, whatever they are, so that they need no rows.
    kept: tuple[str, ...] = ()
    #: Closed positions at which that was judged, as (t, joint coordinates, p): the start, and places near it.
    judged_at: tuple[tuple[float, FloatArray, FloatArray], ...] = ()

    @property
    def count(self) -> int:
        """The number of multipliers."""
        return int(self.lam.numel())

    @property
    def holonomic(self) -> int:
        """The number of constraints on positions, which come first in A; the others are on speeds alone."""
        return int(self.phi.numel())


class ClosurePlace:
    """A closure in a tree: see :class:`kingpost.closures.Place`."""

    def __init__(self, tree: TreeKinematics, closure: Closure) -> None:
        self.tree, self.closure = tree, closure
        self.axis, self.axis2 = (ca.SX(3, 1) if field is None else self._unit(field) for field in (closure.axis, closure.axis2))
        self.X_BM = Pose.identity()
        self.X_FM, self.t_FM = Pose.identity(), ca.SX(6, 1)
        if closure.child:
            X_PF, self.X_BM = (
                Pose(rotation_rpy(*ca.vertsplit(ca.densify(tree.vector(angles)))), tree.vector(position))
                for position, angles in (
                    (closure.position, closure.rotation),
                    (closure.child_position, closure.child_rotation),
                )
            )
            self.X_FM = X_PF.inverse() @ tree.relative_pose(closure.parent, closure.child) @ self.X_BM
            # Of M against F: the child's twist less the parent's, both about the origin of M in M.
            to_M = twist_to(self.X_BM.inverse())
            from_parent = twist_to((X_PF @ self.X_FM).inverse())
            self.t_FM = to_M @ tree.twist(closure.child) - from_parent @ tree.twist(closure.parent)

    def _unit(self, direction: tuple[Scalar, ...]) -> ca.SX:
        vector = self.tree.vector(direction)
        return vector / ca.norm_2(vector)

    def value(self, scalar: Scalar) -> ca.SX:
        """Return a field as a symbol."""
        return self.tree.value(scalar)

    def formula(self, scalar: Scalar, names: Mapping[str, ca.SX]) -> ca.SX:
        """Return a field that is a formula of ``names`` beside parameters."""
        return self.tree.assembly.formula(scalar, names)

    def coordinate(self, i: int) -> ca.SX:
        """Return the i-th of the closure's coordinates."""
        return self.tree.coordinate(self.closure.coordinates[i])


class _FreePlace(ClosurePlace):
    """A closure whose relative pose, twist and coordinates are symbols of their own, to see how its equations feel them."""

    def __init__(self, tree: TreeKinematics, closure: Closure) -> None:
        super().__init__(tree, closure)
        self.X_FM = Pose(ca.SX.sym("R", 3, 3), ca.SX.sym("p", 3))
        self.t_FM = ca.SX.sym("t", 6)
        self.coordinates = ca.SX.sym("c", len(closure.coordinates))

    def coordinate(self, i: int) -> ca.SX:
        return self.coordinates[i]


def tree_constraints(tree: TreeKinematics, closures: Sequence[Closure]) -> Constraints:
    """Return the constraint equations of ``closures``."""
    N = tree.velocity_map()
    signals = tree.assembly.u
    held: list[tuple[Closure, ca.SX, ca.SX]] = []
    for closure in closures:
        place, kind = ClosurePlace(tree, closure), CLOSURE_KINDS[closure.kind]
        held.append((closure, ca.densify(kind.positions(place)), ca.densify(kind.speeds(place))))
        if signals.numel() and ca.depends_on(ca.vertcat(*held[-1][1:]), signals):
            raise MechanismError(
                f"closure '{closure.name}' ties bodies across a joint whose motion comes from inputs; nobody knows the rates "
                "of inputs. Close the loop on one side of that joint, or give its motion by formulas of the time"
            )
    phi = ca.vertcat(ca.SX(0, 1), *(positions for _, positions, _ in held))
    further = ca.vertcat(ca.SX(0, 1), *(speeds for _, _, speeds in held))
    A_phi, A_further = ca.jacobian(phi, tree.q) @ N, ca.jacobian(further, tree.v)
    A = ca.vertcat(A_phi, A_further)
    # What cannot be integrated is linear in the speeds, so this is all of it at rest.
    at_rest = ca.substitute(further, tree.v, ca.SX.zeros(tree.v.numel())) if further.numel() else further
    b = ca.vertcat(ca.jacobian(phi, tree.t), at_rest)
    owners = [closure.name for closure, positions, _ in held for _ in range(positions.numel())]
    owners += [closure.name for closure, _, speeds in held for _ in range(speeds.numel())]
    lam = ca.SX.sym("lam", len(owners))
    reactions: dict[str, ca.SX] = {}
    first, last = 0, phi.numel()
    for closure, positions, speeds in held:
        rows = [*range(first, first + positions.numel()), *range(last, last + speeds.numel())]
        first, last = first + positions.numel(), last + speeds.numel()
        reactions |= _reactions(tree, closure, lam[rows])
    return Constraints(phi, A, ca.densify(b), lam, tuple(owners), reactions)


def efforts_of(closure: str) -> str:
    """Return the key in ``reactions`` of the efforts of a closure along the coordinates it names."""
    return f"{closure}.efforts"


def _reactions(tree: TreeKinematics, closure: Closure, lam: ca.SX) -> dict[str, ca.SX]:
    """Return what a closure does: by virtual power, the transpose of how its equations feel a twist or a coordinate's rate."""
    free, true = _FreePlace(tree, closure), ClosurePlace(tree, closure)
    kind = CLOSURE_KINDS[closure.kind]
    positions, speeds = kind.positions(free), kind.speeds(free)
    R, p = free.X_FM.R, free.X_FM.p
    names = [tree.coordinate(name) for name in closure.coordinates]
    symbols = ca.vertcat(ca.vec(R), p, free.t_FM, free.coordinates)
    values = ca.densify(ca.vertcat(ca.vec(ca.densify(true.X_FM.R)), ca.densify(true.X_FM.p), true.t_FM, *names))
    reactions = {}
    if closure.child:
        twist = ca.SX.sym("twist", 6)
        rates = ca.SX(positions.numel(), 1)
        for place, rate in ((ca.vec(R), ca.vec(R @ ca.skew(twist[:3]))), (p, R @ twist[3:])):
            if ca.depends_on(positions, place):
                rates += ca.jtimes(positions, place, rate)
        felt = ca.vertcat(ca.jacobian(rates, twist), ca.jacobian(speeds, free.t_FM))
        reactions[closure.name] = ca.densify(ca.substitute(-felt.T @ lam, symbols, values))
    if closure.coordinates:
        along = ca.jacobian(positions, free.coordinates)
        efforts = -along.T @ lam[: positions.numel()]
        reactions[efforts_of(closure.name)] = ca.densify(ca.substitute(efforts, symbols, values))
    return reactions
