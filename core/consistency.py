"""Start values that satisfy the constraints of closed loops, and constraints that follow from others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from kingpost.equations import Equations, FloatArray
from kingpost.errors import MechanismError, listed

#: Start values may be off by this much (rad or m) and are then corrected with a warning; more is refused.
TOLERANCE = 0.01
#: Constraint errors below this (m or rad) are taken for zero: rounding of lengths of some metres, with a margin.
CLOSED = 1e-11
#: Newton steps after which a loop is given up.
STEPS = 50
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
    fitted: those of dependent joints are seldom given.
    """
    if equations.lam.numel() == 0:
        return ConsistentStart(x, {})
    q, v = (np.array(part) for part in equations.split(x))
    residual = _residuals(equations, t, q, v, p)[0]
    for _ in range(STEPS):
        if np.abs(residual).max(initial=0.0) <= CLOSED * (1 + np.abs(q).max(initial=0.0)):
            break
        step = np.asarray(equations.corrections(t, q, v, p)[0]).ravel()
        if not np.isfinite(step).all():
            break
        # No coordinate moves by more than 0.2 at once, so that a loop that is far open does not snap into another shape.
        q = q + step * min(1.0, 0.2 / max(np.abs(step).max(initial=0.0), 1e-300))
        residual = _residuals(equations, t, q, v, p)[0]
    else:
        _refuse_open(equations, t, x, p, residual)
    if not np.isfinite(residual).all() or np.abs(residual).max(initial=0.0) > 1e-8:
        _refuse_open(equations, t, x, p, residual)
    v = v + np.asarray(equations.corrections(t, q, v, p)[1]).ravel()
    found = np.concatenate([q, v])
    labels = names or [channel.name for channel in equations.channels[: len(x)]]
    changes = {
        label: float(new - old) for label, new, old in zip(labels, found, x, strict=True) if abs(new - old) > 1e-9 * (1 + abs(old))
    }
    moved = {name: change for name, change in changes.items() if name in labels[: equations.nq]}
    if not far and any(abs(change) > TOLERANCE for change in moved.values()):
        first = _residuals(equations, t, *equations.split(x), p)[0]
        worst = int(np.abs(first).argmax())
        raise MechanismError(
            f"the start values leave closure '{equations.owners[worst]}' open by {abs(first[worst]):.4g}; the nearest closed position "
            f"changes {listed(f'{name} by {change:+.4g}' for name, change in moved.items())}. Give start values nearer to it, or let "
            "the loops be closed from there (--close-loops)"
        )
    return ConsistentStart(found, changes)


def _residuals(equations: Equations, t: float, q: Any, v: Any, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    position, speed = (np.asarray(part).ravel() for part in equations.constraint_residuals(t, q, v, p))
    return position, speed


def _refuse_open(equations: Equations, t: float, x: FloatArray, p: FloatArray, residual: FloatArray) -> None:
    worst = int(np.nanargmax(np.abs(residual))) if np.isfinite(residual).any() else 0
    first = _residuals(equations, t, *equations.split(x), p)[0]
    raise MechanismError(
        f"closure '{equations.owners[worst]}' cannot be closed from the start values: it is open by {abs(first[worst]):.4g} there and "
        f"by {abs(residual[worst]):.4g} after {STEPS} corrections. Check lengths and start values: the parts may not reach each other"
    )


def without_redundant_rows(equations: Equations, t: float, x: FloatArray, p: FloatArray) -> Equations:
    """Return equations of full rank with the same motion, and reactions of all closures by minimum norm.

    Rows that follow from the others, at the start and at neighbouring states, are left out: of plane loops in space, of twin
    cylinders. Their reactions cannot be told apart by statics; the multipliers of smallest length are taken, and ``redundant``
    names the owners.
    """
    if equations.lam.numel() == 0:
        return equations
    jacobian = ca.Function("A", [equations.t, equations.q, equations.p], [equations.A])
    q = equations.split(x)[0]
    A = np.asarray(jacobian(t, q, p))
    kept = _independent_rows(A)
    if len(kept) == len(A):
        return equations
    # A row is redundant only if it stays so: a dead centre, where rows depend on each other for a moment, is another thing.
    rng = np.random.default_rng(0)
    for _ in range(3):
        near = q + 1e-3 * rng.standard_normal(len(q))
        closed = near
        for _ in range(10):
            reduced = _with_rows(equations, kept)
            closed = closed + np.asarray(reduced.corrections(t, closed, np.zeros(equations.nv), p)[0]).ravel()
        rank = len(_independent_rows(np.asarray(jacobian(t, closed, p))))
        if rank > len(kept):
            raise MechanismError(
                f"the loops are at a singular position at the start (a dead centre): the closures {listed(dict.fromkeys(equations.owners))} "
                f"hold {rank} motions nearby, but only {len(kept)} there. Start elsewhere"
            )
    left_out = [i for i in range(len(A)) if i not in kept]
    reduced = _with_rows(equations, kept)
    # All multipliers of minimum norm: A' lam = A_K' lam_K with A = W A_K.
    A_all, A_K = equations.A, reduced.A
    W = solve(A_K @ A_K.T, A_K @ A_all.T).T
    lam_all = W @ solve(W.T @ W, reduced.lam)
    reactions = {
        name: ca.substitute(wrench, equations.lam, lam_all) for name, wrench in equations.reactions.items()
    }
    return replace(reduced, reactions=reactions, redundant=tuple(dict.fromkeys(equations.owners[i] for i in left_out)))


def solve(matrix: ca.SX, right: ca.SX) -> ca.SX:
    """Return matrix^-1 right for a symmetric positive definite matrix of symbols."""
    D, LT, permutation = ca.ldl(matrix)
    return ca.ldl_solve(right, D, LT, permutation)


def _with_rows(equations: Equations, kept: Sequence[int]) -> Equations:
    count = equations.phi.numel()
    return replace(
        equations,
        phi=equations.phi[[i for i in kept if i < count]],
        A=equations.A[list(kept), :],
        b=equations.b[list(kept)],
        lam=ca.SX.sym("lam", len(kept)),
        owners=tuple(equations.owners[i] for i in kept),
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
