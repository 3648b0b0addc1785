"""Start values that satisfy the constraints of closed loops, and constraints that follow from others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, listed
from kingpost.equations.equations import PROJECTIONS, Equations
from kingpost.equations.partition import PartitionedEquations, with_partition
from kingpost.mechanism.mechanism import Mechanism
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.symbols.straightline import solve_symmetric

#: Start values may be off by this much (rad or m) and are then corrected with a warning; more is refused.
TOLERANCE = 0.01
#: Constraint errors below this (m or rad) are taken for zero: rounding of lengths of some metres, with a margin.
CLOSED = 1e-11
#: Constraint errors above this, after all corrections, mean that a loop cannot be closed.
OPEN = 1e-8
#: Newton steps after which a loop is given up.
STEPS = 50
#: Singular values of the constraint Jacobian below this part of the largest count as zero.
RANK = 1e-9


class DriftingEquations(Equations):
    """Equations whose constraint errors stay where an integrator leaves them, to study drift and its stabilisation."""

    def projected(self, t: Any, x: Any, p: Any, iterations: int = PROJECTIONS) -> Any:
        """Return the state as it is."""
        return x


def solver_functions(equations: Equations, with_jacobian: bool) -> list[ca.Function]:
    """Return what a solver needs: kp_rhs, kp_jacobian if asked for and, where there are constraints, kp_projected.

    The rates are those at the projected state, F(P(x)), so that accelerations never see an error of the constraints. This is as
    smooth as F: a solver keeps its order.
    """
    sizes = {"t": 1, "x": equations.nx, "u": equations.nu, "p": equations.np}
    t, x, u, p = symbols = [ca.MX.sym(name, size) for name, size in sizes.items()]
    state = equations.projected(t, x, p)
    if state is x:
        return [equations.rhs, *([equations.rhs_jacobian] if with_jacobian else [])]
    projected = ca.Function("kp_projected", [t, x, p], [ca.densify(equations.normalised(state))])
    # Those of partitioned equations are taken there by themselves.
    rates = equations.rhs(t, x if isinstance(equations, PartitionedEquations) else state, u, p)
    functions = [ca.Function("kp_rhs", symbols, [rates])]
    if with_jacobian:
        functions.append(ca.Function("kp_jacobian", symbols, [ca.densify(ca.jacobian(rates, x))]))
    return [*functions, projected]


@dataclass(frozen=True, eq=False)
class ConsistentStart:
    """A start state that satisfies all constraints, and what had to be changed for it."""

    x: FloatArray
    #: Change of each entry by name, where it is more than rounding.
    changes: dict[str, float]

    def report(self) -> str:
        """Return the changes in one line."""
        return listed(f"{name} by {change:+.4g}" for name, change in self.changes.items())


def consistent_start(
    equations: Equations, t: float, x: FloatArray, p: FloatArray, far: bool = False, names: Sequence[str] = ()
) -> ConsistentStart:
    """Return the nearest state, in the mass metric, in which loops are closed and speeds fit.

    Coordinates that would have to move by more than 0.01 rad or m are refused, unless ``far`` allows it. Speeds are always
    fitted, since those of dependent joints are seldom given: those that are zero, if that is enough, else all; but not by more
    than one per cent and 0.01 rad/s or m/s those that are given, unless ``far`` allows it. All of this is done in joint
    coordinates, so that a machine starts the same in every formulation.
    """
    if equations.constraints.count == 0:
        return ConsistentStart(x, {})
    space = _start_space(equations)
    start, v = space.leave(x, p)
    q = _closed(space.parts, t, start, p)
    found = space.enter(q, v, p)
    residual = _residual(equations, t, found[: equations.nq], p)
    if not np.isfinite(residual).all() or np.abs(residual).max(initial=0.0) > OPEN:
        _refuse_open(equations, t, x, p, residual)
    v_fitted = _fitted_speeds(space.parts, t, q, v, p)
    found = space.enter(q, v_fitted, p)
    own_q, own_v = equations.split(found)
    own_v = own_v + np.asarray(equations.corrections(t, own_q, own_v, p)[1]).ravel()
    labels = names or space.names
    before, after = np.concatenate([start, v]), np.concatenate([q, v_fitted])
    changes = {
        label: float(new - old)
        for label, new, old in zip(labels, after, before, strict=True)
        if abs(new - old) > 1e-9 * (1 + abs(old))
    }
    moved = {name: change for name, change in changes.items() if name in labels[: len(q)]}
    if not far and any(abs(change) > TOLERANCE for change in moved.values()):
        first = _residual(equations, t, equations.split(x)[0], p)
        worst = int(np.abs(first).argmax())
        raise MechanismError(
            f"the start values leave closure '{equations.constraints.owners[worst]}' open by {abs(first[worst]):.4g}; the nearest closed "
            f"position changes {listed(f'{name} by {change:+.4g}' for name, change in moved.items())}. Give start values "
            "nearer to it, or let the loops be closed from there (--close-loops)"
        )
    if not far:
        _refuse_contradicting_speeds(labels[len(q) :], v, v_fitted)
    return ConsistentStart(np.concatenate([own_q, own_v]), changes)


@dataclass(frozen=True, eq=False)
class _Space:
    """The coordinates in which a start is found: the function (t, q, p) -> phi, its rate G, A, b, M, N; and the way there."""

    parts: ca.Function
    names: list[str]
    leave: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
    enter: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def _own_parts(equations: Equations, metric: Any = None) -> ca.Function:
    A = equations.constraints.A
    M = equations.M if metric is None else metric
    expressions = [equations.constraints.phi, A[: equations.constraints.holonomic, :], A, equations.constraints.b, M, equations.N]
    return ca.Function("parts", [equations.t, equations.q, equations.p], [ca.densify(item) for item in expressions])


def _start_space(equations: Equations) -> _Space:
    """Return joint coordinates, where the equations say how to come to them and back, else their own coordinates."""
    own = _own_parts(equations)
    initial, joint_state = equations.coordinates.initial, equations.coordinates.joint_state
    if initial is None or joint_state is None:
        names = [channel.name for channel in equations.channels[: equations.nx]]
        return _Space(own, names, lambda x, p: equations.split(x), lambda q, v, p: np.concatenate([q, v]))
    mechanism = equations.mechanism
    q, v = ca.MX.sym("q", len(mechanism.coordinates)), ca.MX.sym("v", len(mechanism.speeds))
    t, p = ca.MX.sym("t"), ca.MX.sym("p", equations.np)
    state = initial(q, v, p)
    # The equations' own speeds are linear in those of the joints: v = B v_joints.
    along = ca.Function("B", [q, v, p], [ca.densify(ca.jacobian(state[equations.nq :, :], v))])
    B = along(q, ca.MX.zeros(v.numel()), p)
    phi, G, A, b, M, _ = own(t, initial(q, ca.MX.zeros(v.numel()), p)[: equations.nq, :], p)
    parts = ca.Function("joint_parts", [t, q, p], [phi, G @ B, A @ B, b, B.T @ M @ B, _velocity_map(mechanism)(q)])

    def leave(x: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        joints = joint_state(*equations.split(x), np.zeros(equations.nv), p)
        return np.asarray(joints[0]).ravel(), np.asarray(joints[1]).ravel()

    def enter(q: FloatArray, v: FloatArray, p: FloatArray) -> FloatArray:
        return np.asarray(initial(q, v, p)).ravel()

    return _Space(parts, [quantity.name for quantity in (*mechanism.coordinates, *mechanism.speeds)], leave, enter)


def _velocity_map(mechanism: Mechanism) -> ca.Function:
    """Return the function q -> N of the joints."""
    blocks, symbols = [], [ca.SX(0, 1)]
    for joint in mechanism.joints:
        if joint.positions:
            symbols.append(ca.SX.sym("q", len(joint.positions)))
            blocks.append(JOINT_KINDS[joint.kind].velocity_map(symbols[-1]))
    return ca.Function("N", [ca.vertcat(*symbols)], [ca.densify(ca.diagcat(*blocks))])


def _residual(equations: Equations, t: float, q: FloatArray, p: FloatArray) -> FloatArray:
    return np.asarray(equations.constraint_residuals(t, q, np.zeros(equations.nv), p)[0]).ravel()


def _closed(parts: ca.Function, t: float, q: FloatArray, p: FloatArray) -> FloatArray:
    """Return the nearest position, in the mass metric, in which all rows of phi vanish, or as near to it as it gets.

    Gauss-Newton with least squares, so that rows may depend on each other.
    """
    for _ in range(STEPS):
        phi, G, _, _, M, N = (np.asarray(part) for part in parts(t, q, p))
        if np.abs(phi).max(initial=0.0) <= CLOSED * (1 + np.abs(q).max(initial=0.0)):
            break
        # With M = L L', steps in L' dv are measured in the mass metric. A negative or infinite mass is refused elsewhere.
        try:
            L = np.linalg.cholesky(M)
            step = -N @ np.linalg.solve(L.T, np.linalg.lstsq(np.linalg.solve(L, G.T).T, phi.ravel(), rcond=RANK)[0])
        except np.linalg.LinAlgError:
            break
        # No coordinate moves by more than 0.2 at once, so that a loop that is far open does not snap into another shape.
        q = q + step * min(1.0, 0.2 / max(np.abs(step).max(initial=0.0), 1e-300))
    return q


def _fitted_speeds(parts: ca.Function, t: float, q: FloatArray, v: FloatArray, p: FloatArray) -> FloatArray:
    """Return speeds with A v + b = 0, nearest to ``v`` in the mass metric; what is not zero in ``v`` stays if it can."""
    _, _, A, b, M, _ = (np.asarray(part) for part in parts(t, q, p))
    error = A @ v + b.ravel()
    if np.abs(error).max(initial=0.0) <= CLOSED * (1 + np.abs(v).max(initial=0.0)):
        return v  # nothing to mend; of a tree in redundant coordinates A is rounding alone
    given = _is_given(v)
    for free in (np.flatnonzero(~given), np.arange(len(v))):
        if not len(free):
            continue
        L = np.linalg.cholesky(M[np.ix_(free, free)])
        change = np.linalg.solve(L.T, np.linalg.lstsq(np.linalg.solve(L, A[:, free].T).T, -error, rcond=RANK)[0])
        if np.abs(A[:, free] @ change + error).max(initial=0.0) <= OPEN * (1 + np.abs(error).max(initial=0.0)):
            v = v.copy()
            v[free] += change
            break
    return v


def _is_given(v: FloatArray) -> NDArray[np.bool_]:
    """Say which speeds are given: those that are not zero, up to rounding on the way through other coordinates."""
    return np.asarray(np.abs(v) > 1e-12 * (1 + np.abs(v).max(initial=0.0)))


def _refuse_contradicting_speeds(names: Sequence[str], given: FloatArray, fitted: FloatArray) -> None:
    """Refuse speeds that the loops do not let the machine have together."""
    changed = [
        f"{name} from {old:.6g} to {new:.6g}"
        for name, old, new, known in zip(names, given, fitted, _is_given(given), strict=True)
        if known and abs(new - old) > TOLERANCE * (1 + abs(old))
    ]
    if changed:
        raise MechanismError(
            "the start values of speeds contradict each other: the loops do not let the machine move like that. The nearest "
            f"motion it can have changes {listed(changed)}. Give fewer of them (those that are 0 are fitted to the others), or "
            "let all be changed (--close-loops)"
        )


def _refuse_open(equations: Equations, t: float, x: FloatArray, p: FloatArray, residual: FloatArray) -> None:
    worst = int(np.nanargmax(np.abs(residual))) if np.isfinite(residual).any() else 0
    first = _residual(equations, t, equations.split(x)[0], p)
    raise MechanismError(
        f"closure '{equations.constraints.owners[worst]}' cannot be closed from the start values: it is open by {abs(first[worst]):.4g} "
        f"there and by {abs(residual[worst]):.4g} after up to {STEPS} corrections. Check lengths, axes and start values: the "
        "parts may not reach each other, or closures may contradict each other"
    )


def without_redundant_rows(equations: Equations, t: float, x: FloatArray, p: FloatArray) -> Equations:
    """Return equations of full rank with the same motion, and reactions of all closures by minimum norm.

    Rows that follow from the others, at the start and at neighbouring states, are left out: of plane loops in space, of twin
    cylinders. Their reactions cannot be told apart by statics; the multipliers of smallest length are taken, and ``redundant``
    names the owners. Of the rows that stay, partitioned equations get their independent columns: see
    :func:`kingpost.equations.partition.with_partition`.
    """
    if equations.constraints.count == 0:
        return equations
    jacobian = ca.Function("A", [equations.t, equations.q, equations.p], [ca.densify(equations.constraints.A)])
    parts = _own_parts(equations, equations.regular_mass)
    q = _closed(parts, t, equations.split(x)[0], p)
    residual = _residual(equations, t, q, p)
    if not np.isfinite(residual).all():
        _refuse_open(equations, t, x, p, residual)
    A = np.asarray(jacobian(t, q, p))
    kept = _independent_rows(A)
    if len(kept) == len(A):
        return with_partition(equations, t, q, p)
    # Rows that depend on others but ask for something else can never be met.
    if np.abs(residual).max(initial=0.0) > OPEN:
        _refuse_open(equations, t, x, p, residual)
    # A row is redundant only if it stays so: a dead centre, where rows depend on each other for a moment, is another thing.
    rng = np.random.default_rng(0)
    for _ in range(3):
        N = np.asarray(parts(t, q, p)[5])
        near = _closed(parts, t, q + 1e-3 * N @ rng.standard_normal(N.shape[1]), p)
        rank = len(_independent_rows(np.asarray(jacobian(t, near, p))))
        if rank > len(kept):
            raise MechanismError(
                "the loops are at a singular position at the start (a dead centre): the closures "
                f"{listed(dict.fromkeys(equations.constraints.owners))} hold {rank} motions nearby, but only {len(kept)} there. Start "
                "elsewhere"
            )
    left_out = [i for i in range(len(A)) if i not in kept]
    reduced = _with_rows(equations, kept)
    # All multipliers of minimum norm: A' lam = A_K' lam_K with A = W A_K.
    A_all, A_K = equations.constraints.A, reduced.constraints.A
    W = solve_symmetric(A_K @ A_K.T, A_K @ A_all.T).T
    lam_all = W @ solve_symmetric(W.T @ W, reduced.constraints.lam)
    values = ca.substitute(list(equations.constraints.reactions.values()), [equations.constraints.lam], [lam_all])
    reduced = replace(
        reduced,
        reactions=dict(zip(equations.constraints.reactions, values, strict=True)),
        redundant=tuple(dict.fromkeys(equations.constraints.owners[i] for i in left_out)),
    )
    return with_partition(reduced, t, q, p)


def _with_rows(equations: Equations, kept: Sequence[int]) -> Equations:
    count = equations.constraints.holonomic
    return replace(
        equations,
        phi=equations.constraints.phi[[i for i in kept if i < count]],
        A=equations.constraints.A[list(kept), :],
        b=equations.constraints.b[list(kept)],
        lam=type(equations.constraints.lam).sym("lam", len(kept)),
        owners=tuple(equations.constraints.owners[i] for i in kept),
        discrete=None if equations.structure.discrete is None else equations.structure.discrete.with_rows(kept),
    )


def _independent_rows(A: FloatArray) -> list[int]:
    """Return rows that span all rows, the first ones where there is a choice (Gram-Schmidt, twice, on rows of unit length)."""
    kept: list[int] = []
    basis: list[FloatArray] = []
    for i, row in enumerate(A):
        length = float(np.linalg.norm(row))
        if length == 0.0:
            continue
        rest = row / length
        for _ in range(2):
            for direction in basis:
                rest = rest - (rest @ direction) * direction
        if np.linalg.norm(rest) > np.sqrt(RANK):
            kept.append(i)
            basis.append(rest / np.linalg.norm(rest))
    return kept
