"""Start values that satisfy the constraints of closed loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, listed
from kingpost.equations.equations import Equations
from kingpost.mechanism.mechanism import Mechanism
from kingpost.symbols.joints import JOINT_KINDS

#: Start values may be off by this much (rad or m) and are then corrected with a warning; more is refused.
TOLERANCE = 0.01
#: Constraint errors below this (m or rad) are taken for zero: rounding of lengths of some metres, with a margin.
CLOSED = 1e-11
#: Constraint errors above this, after all corrections, mean that a loop cannot be closed.
OPEN = 1e-8
#: What motions without inertia are taken to have in the mass metric, as a part of the mean over all coordinates.
LIGHT = 1e-3
#: Newton steps after which a loop is given up.
MOST_CORRECTIONS = 50
#: No coordinate moves by more than this (rad or m) at once, so that a loop that is far open does not snap into another shape.
LONGEST_MOVE = 0.2
#: Singular values of the constraint Jacobian below this part of the largest count as zero.
RANK = 1e-9


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
    space = start_space(equations)
    start, v = space.leave(x, p)
    q = closed_position(space.parts, t, start, p)
    found = space.enter(q, v, p)
    residual = position_errors(equations, t, found[: equations.nq], p)
    if not np.isfinite(residual).all() or np.abs(residual).max(initial=0.0) > OPEN:
        refuse_open(equations, t, x, p, residual)
    v_fitted = fitted_speeds(space.parts, t, q, v, p)
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
        first = position_errors(equations, t, equations.split(x)[0], p)
        worst = int(np.abs(first).argmax())
        shown = listed(f"{name} by {change:+.4g}" for name, change in moved.items())
        raise MechanismError(
            f"the start values leave closure '{equations.constraints.owners[worst]}' open by {abs(first[worst]):.4g}; the "
            f"nearest closed position changes {shown}. Give start values nearer to it, or let the loops be closed from there "
            "(close_loops)"
        )
    if not far:
        _refuse_contradicting_speeds(labels[len(q) :], v, v_fitted)
    return ConsistentStart(np.concatenate([own_q, own_v, equations.states_of(x)]), changes)


@dataclass(frozen=True, eq=False)
class StartSpace:
    """The coordinates in which a start is found: the function (t, q, p) -> phi, its rate G, A, b, M, N; and the way there."""

    parts: ca.Function
    names: list[str]
    leave: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
    enter: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def own_parts(equations: Equations, metric: Any = None) -> ca.Function:
    """Return the function (t, q, p) -> phi, its rate G, A, b, M, N of the equations."""
    A = equations.constraints.A
    M = equations.M if metric is None else metric
    expressions = [
        equations.constraints.phi,
        A[: equations.constraints.holonomic, :],
        A,
        equations.constraints.b,
        M,
        equations.N,
    ]
    return ca.Function("parts", [equations.t, equations.q, equations.p], [ca.densify(item) for item in expressions])


def start_space(equations: Equations) -> StartSpace:
    """Return joint coordinates, where the equations say how to come to them and back, else their own coordinates."""
    own = own_parts(equations)
    initial, joint_state = equations.coordinates.initial, equations.coordinates.joint_state
    if initial is None or joint_state is None:
        names = [item.name for item in (*equations.position_quantities, *equations.speed_quantities)]
        return StartSpace(own, names, lambda x, p: equations.split(x), lambda q, v, p: np.concatenate([q, v]))
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

    return StartSpace(parts, [quantity.name for quantity in (*mechanism.coordinates, *mechanism.speeds)], leave, enter)


def _velocity_map(mechanism: Mechanism) -> ca.Function:
    """Return the function q -> N of the joints."""
    blocks, symbols = [], [ca.SX(0, 1)]
    for joint in mechanism.joints:
        if joint.positions:
            symbols.append(ca.SX.sym("q", len(joint.positions)))
            blocks.append(JOINT_KINDS[joint.kind].velocity_map(symbols[-1]))
    return ca.Function("N", [ca.vertcat(*symbols)], [ca.densify(ca.diagcat(*blocks))])


def position_errors(equations: Equations, t: float, q: FloatArray, p: FloatArray) -> FloatArray:
    """Return the errors of the constraints on positions."""
    return np.asarray(equations.constraint_residuals(t, q, np.zeros(equations.nv), p)[0]).ravel()


def closed_position(parts: ca.Function, t: float, q: FloatArray, p: FloatArray) -> FloatArray:
    """Return the nearest position, in the mass metric, in which all rows of phi vanish, or as near to it as it gets.

    Gauss-Newton with least squares, so that rows may depend on each other.
    """
    for _ in range(MOST_CORRECTIONS):
        phi, G, _, _, M, N = (np.asarray(part) for part in parts(t, q, p))
        if np.abs(phi).max(initial=0.0) <= CLOSED * (1 + np.abs(q).max(initial=0.0)):
            break
        # With M = L L', steps in L' dv are measured in the mass metric. A negative or infinite mass is refused elsewhere.
        try:
            L = mass_root(M)
            step = -N @ np.linalg.solve(L.T, np.linalg.lstsq(np.linalg.solve(L, G.T).T, phi.ravel(), rcond=RANK)[0])
        except np.linalg.LinAlgError:
            break
        q = q + step * min(1.0, LONGEST_MOVE / max(np.abs(step).max(initial=0.0), 1e-300))
    return q


def mass_root(M: FloatArray) -> FloatArray:
    """Return L with M = L L'; motions without inertia count as light ones, so that steps have a measure."""
    try:
        return np.asarray(np.linalg.cholesky(M), dtype=float)
    except np.linalg.LinAlgError:
        light = LIGHT * float(np.diag(M).mean())
        return np.asarray(np.linalg.cholesky(M + (light if light > 0.0 else 1.0) * np.eye(len(M))), dtype=float)


def fitted_speeds(parts: ca.Function, t: float, q: FloatArray, v: FloatArray, p: FloatArray) -> FloatArray:
    """Return speeds with A v + b = 0, nearest to ``v`` in the mass metric; what is not zero in ``v`` stays if it can."""
    _, _, A, b, M, _ = (np.asarray(part) for part in parts(t, q, p))
    error = A @ v + b.ravel()
    if np.abs(error).max(initial=0.0) <= CLOSED * (1 + np.abs(v).max(initial=0.0)):
        return v  # nothing to mend; of a tree in redundant coordinates A is rounding alone
    given = is_given(v)
    for free in (np.flatnonzero(~given), np.arange(len(v))):
        if not len(free):
            continue
        L = mass_root(M[np.ix_(free, free)])
        change = np.linalg.solve(L.T, np.linalg.lstsq(np.linalg.solve(L, A[:, free].T).T, -error, rcond=RANK)[0])
        if np.abs(A[:, free] @ change + error).max(initial=0.0) <= OPEN * (1 + np.abs(error).max(initial=0.0)):
            v = v.copy()
            v[free] += change
            break
    return v


def is_given(v: FloatArray) -> NDArray[np.bool_]:
    """Say which speeds are given: those that are not zero, up to rounding on the way through other coordinates."""
    return np.asarray(np.abs(v) > 1e-12 * (1 + np.abs(v).max(initial=0.0)))


def _refuse_contradicting_speeds(names: Sequence[str], given: FloatArray, fitted: FloatArray) -> None:
    """Refuse speeds that the loops do not let the machine have together."""
    changed = [
        f"{name} from {old:.6g} to {new:.6g}"
        for name, old, new, known in zip(names, given, fitted, is_given(given), strict=True)
        if known and abs(new - old) > TOLERANCE * (1 + abs(old))
    ]
    if changed:
        raise MechanismError(
            "the start values of speeds contradict each other: the loops do not let the machine move like that. The nearest "
            f"motion it can have changes {listed(changed)}. Give fewer of them (those that are 0 are fitted to the others), or "
            "let all be changed (close_loops)"
        )


def refuse_open(equations: Equations, t: float, x: FloatArray, p: FloatArray, residual: FloatArray) -> None:
    """Say which closure cannot be closed, and by how much it is open."""
    worst = int(np.nanargmax(np.abs(residual))) if np.isfinite(residual).any() else 0
    first = position_errors(equations, t, equations.split(x)[0], p)
    raise MechanismError(
        f"closure '{equations.constraints.owners[worst]}' cannot be closed from the start values: it is open by "
        f"{abs(first[worst]):.4g} there and by {abs(residual[worst]):.4g} after up to {MOST_CORRECTIONS} corrections. Check "
        "lengths, axes and start values: the parts may not reach each other, or closures may contradict each other"
    )
