"""Equations of motion whose mass matrix is singular, because some bodies have no inertia along some of their coordinates.

    [ M  A' ] [ x ]   [ f ]
    [ A  0  ] [ y ] = [ c ]

has one solution as long as M is positive along every motion that A leaves. What it has not is M^-1. With any positive W,

    (M + A' W A) x + A' y = f + A' W c,    A x = c

has the same x and the same y, since A x = c, and there the first matrix is positive definite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, listed
from kingpost.mechanism.mechanism import expressions_in

if TYPE_CHECKING:
    from kingpost.equations.equations import Equations

#: An inertia along one direction that is this part of that along another counts as none.
FLAT = 1e-8
#: Up to this many speeds (three bodies) the factorisation becomes straight-line code.
STRAIGHT = 36


@dataclass(frozen=True, eq=False)
class Augmentation:
    """How the equations of a machine with a singular mass matrix are solved.

    ``inertia`` is the size of the inertia that each speed has or may have: it scales, and no result depends on it.
    """

    inertia: FloatArray
    #: Speeds without inertia of their own; rows of A that do not touch them need not be added.
    bare: tuple[int, ...]
    #: Groups of speeds (bodies) in the order in which they are eliminated, from the tips of a tree to its base.
    groups: tuple[tuple[int, ...], ...]
    #: The group after which the rows of an owner are eliminated: one in which they have full rank. Other rows come last.
    follows: Mapping[str, int]

    def weights(self, A: Any) -> Any:
        """Return the diagonal of W: the inertia that each row moves, zero where it touches no speed without inertia."""
        touched = np.asarray(ca.DM(A[:, list(self.bare)].sparsity(), 1).full()).any(axis=1).astype(float)
        return touched * self._moved(A)

    def _moved(self, A: Any) -> Any:
        """Return the inertia that each row moves."""
        return 1 / ca.sum2(ca.densify(A**2) @ ca.diag(1 / ca.DM(self.inertia)))

    def mass(self, M: Any, A: Any) -> Any:
        """Return M + A' W A."""
        return M + _weighted(A, self.weights(A)) @ A

    @property
    def straight(self) -> bool:
        """Whether solutions are straight-line code; that of larger machines takes a C compiler too long."""
        return len(self.inertia) <= STRAIGHT

    def system(self, M: Any, A: Any, owners: Sequence[str], f: Any, c: Any) -> tuple[Any, Any, Any]:
        """Return matrix K, right-hand side and scales s in the order of elimination: the solution is s z with K z = right.

        Scaled by roots of inertias, all entries are numbers of the size one.
        """
        right = ca.densify(ca.vertcat(f + _weighted(A, self.weights(A)) @ c, c))
        matrix = ca.blockcat([[self.mass(M, A), A.T], [A, type(A)(A.shape[0], A.shape[0])]])
        order = self._order(M.shape[0], owners)
        scale = ca.densify(ca.vertcat(1 / np.sqrt(self.inertia), ca.sqrt(self._moved(A))))[order]
        by_rows = ca.diag(scale)
        return by_rows @ matrix[order, order] @ by_rows, ca.densify(by_rows @ right[order, :]), scale

    def solved(self, parts: ca.Function, nv: int, owners: Sequence[str]) -> ca.Function:
        """Return the function -> x and y, with the arguments of the function ``parts`` that gives a :meth:`system`."""
        back = [int(row) for row in np.argsort(self._order(nv, owners))]
        straight = self.straight and parts.is_a("SXFunction")
        arguments: Any = parts.sx_in() if straight else parts.mx_in()
        matrix, right, scale = parts.call(arguments)
        # CasADi's solver "ldl" finds zero pivots in matrices that have none; sparse QR has no such trouble.
        solution: Any = ca.ldl_solve(right, *ca.ldl(matrix, False)) if straight else ca.solve(matrix, right, "qr")
        solution = (solution * ca.repmat(scale, 1, right.shape[1]))[back, :]
        return ca.Function(parts.name(), arguments, [solution[:nv, :], solution[nv:, :]])

    def _order(self, nv: int, owners: Sequence[str]) -> list[int]:
        """Return the rows of the whole system in the order of elimination: no other is needed, so pivots are safe.

        A row of constraints that follows speeds in which it has full rank has a negative pivot, and elimination from the tips
        fills nothing but the block of the next body: the work grows with the number of bodies, not with its cube.
        """
        order: list[int] = []
        for k, group in enumerate(self.groups):
            order += [*group, *(nv + i for i, owner in enumerate(owners) if self.follows.get(owner) == k)]
        return order + [nv + i for i, owner in enumerate(owners) if owner not in self.follows]

    def unresisted(self, M: FloatArray, A: FloatArray) -> FloatArray | None:
        """Return a motion that the constraints allow and that has no inertia, if there is one."""
        scale = np.sqrt(self.inertia)
        _, sizes, motions = np.linalg.svd(A / scale)
        rank = int((sizes > len(scale) * np.finfo(float).eps * sizes.max(initial=0.0)).sum())
        allowed = motions[rank:].T
        if not allowed.shape[1]:
            return None
        values, vectors = np.linalg.eigh(allowed.T @ (M / np.outer(scale, scale)) @ allowed)
        # An eigenvalue below n * eps is zero to round-off, with a margin for that of the motions themselves.
        if values[0] > 10 * len(scale) * np.finfo(float).eps:
            return None
        return np.asarray(allowed @ vectors[:, 0] / scale)


def first_of(function: ca.Function, k: int) -> ca.Function:
    """Return a function with its k-th result alone."""
    arguments: Any = function.sx_in() if function.is_a("SXFunction") else function.mx_in()
    return ca.Function(function.name(), arguments, [function.call(arguments)[k]])


def corrections(equations: Equations, augmentation: Augmentation) -> ca.Function:
    """Return the function (t, q, v, p) -> smallest changes, in the mass metric, with G dq = -phi and A dv = -(A v + b)."""
    e, rows = equations, equations.constraints.holonomic
    known = [e.t, e.q, e.v, e.p]
    speed, nothing = e.constraints.A @ e.v + e.constraints.b, type(e.q)(e.nv, 1)
    # A body may be held by what restricts its speeds alone: such rows count as inertia for positions.
    metric = e.M if rows == e.constraints.A.shape[0] else augmentation.mass(e.M, e.constraints.A)
    wanted = [
        (metric, e.constraints.A[:rows, :], e.constraints.owners[:rows], -e.constraints.phi),
        (e.M, e.constraints.A, e.constraints.owners, -speed),
    ]
    if rows == e.constraints.A.shape[0]:
        wanted = [(e.M, e.constraints.A, e.constraints.owners, -ca.horzcat(e.constraints.phi, speed))]
    found = []
    symbols = [ca.MX.sym(f"i{k}", item.numel()) for k, item in enumerate(known)]
    for M, A, owners, c in wanted:
        system = augmentation.system(M, A, owners, ca.repmat(nothing, 1, c.shape[1]), c)
        parts = ca.Function("kp_system", known, list(system))
        found += ca.horzsplit(augmentation.solved(parts, e.nv, owners).call(symbols)[0])
    N = ca.Function("kp_rate_map", known, [e.N])(*symbols)
    result = ca.Function("kp_corrections", symbols, [ca.densify(N @ found[0]), ca.densify(found[1])])
    return result.expand() if augmentation.straight and not isinstance(e.q, ca.MX) else result


def check_motions(equations: Equations, augmentation: Augmentation, x: FloatArray, p: FloatArray) -> None:
    """Refuse constraints that leave a motion without inertia, naming the joint and its body."""
    q, v = equations.split(x)
    e = equations
    parts = ca.Function("parts", [e.t, e.q, e.v, e.u, e.p], [ca.densify(e.M), ca.densify(e.constraints.A)])
    M, A = (np.asarray(part) for part in parts(0.0, q, v, np.zeros(e.nu), p))
    motion = augmentation.unresisted(M, A)
    if motion is None:
        return
    joint_state = equations.coordinates.joint_state
    rates = motion if joint_state is None else np.asarray(joint_state(q, motion, np.zeros(e.nv), p)[1]).ravel()
    name = e.mechanism.speeds[int(np.abs(rates).argmax())].name
    joint = next(joint for joint in e.mechanism.joints if name in [speed.name for speed in joint.speeds])
    coordinate = name.removesuffix(".rate")
    rolling = [item for item in e.mechanism.closures if item.surface is not None and coordinate in item.coordinates]
    if rolling:
        raise MechanismError(
            f"closure '{rolling[0].name}' does not hold its point of contact at the start: '{coordinate}' can change while "
            f"'{rolling[0].child}' stands still. Its radius is that of the surface's own curvature there; make the ball "
            "smaller, or the surface flatter"
        )
    raise MechanismError(
        f"nothing resists an acceleration of '{coordinate}' at the start: body '{joint.child}' and what it "
        f"carries have no inertia along that motion of joint '{joint.name}'. Give them mass or inertia, or weld the joint"
    )


def check_volumes(equations: Equations, x: FloatArray, p: FloatArray) -> None:
    """Refuse numbers with which a body has no volume or no mass, where equations were derived for others with which it has."""
    volumes = equations.structure.volumes
    if not volumes:
        return
    M = equations.mass_at(x, p)
    for name, groups in volumes.items():
        for rows in groups:
            sizes = np.linalg.eigvalsh(M[np.ix_(rows, rows)]).astype(np.float64)
            if not (sizes[0] > FLAT * sizes[-1] and sizes[-1] > 0.0):
                raise MechanismError(_without_volume(equations, name, sizes, p))


def _without_volume(equations: Equations, name: str, sizes: FloatArray, p: FloatArray) -> str:
    body = equations.mechanism.body(name)
    used = {item for formula in expressions_in((body.mass, body.inertia)) for item in formula.names}
    items = zip(equations.mechanism.parameters, p, strict=True)
    numbers = listed(f"{item.name} = {value:.6g} {item.unit}" for item, value in items if item.name in used)
    return (
        f"body '{name}' is flat, slender, a point or without mass with {numbers or 'its numbers'}: its inertia is "
        f"{sizes[0]:.4g} along one director and {sizes[-1]:.4g} along another, and these equations of formulation "
        f"'{equations.formulation}' were derived for numbers with which it has a volume. Derive them for these (a run, or a "
        "batch, whose first numbers they are), or take formulation 'kane', for which it makes no difference"
    )


def _weighted(A: Any, weights: Any) -> Any:
    """Return A' W."""
    return A.T @ ca.diag(weights)
