"""Constraints that follow from others: found, named and left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, listed
from kingpost.equations.consistency import OPEN, RANK, closed_position, own_parts, position_errors, refuse_open
from kingpost.equations.equations import Equations


def without_redundant_rows(equations: Equations, t: float, x: FloatArray, p: FloatArray) -> Equations:
    """Return equations of full rank with the same motion.

    Rows that follow from the others, at the start and at neighbouring states, are left out: of plane loops in space, of twin
    cylinders. ``redundant`` names their owners. Reactions are those without them, one set of many that statics of rigid bodies
    allows; :mod:`kingpost.loads.sharing` shares them out among all joints. Of the rows that stay, a treatment may choose: see
    :meth:`.treatment.Treatment.settled`.
    """
    if equations.constraints.count == 0:
        return equations
    jacobian = ca.Function("A", [equations.t, equations.q, equations.p], [ca.densify(equations.constraints.A)])
    parts = own_parts(equations, equations.regular_mass)
    q = closed_position(parts, t, equations.split(x)[0], p)
    residual = position_errors(equations, t, q, p)
    if not np.isfinite(residual).all():
        refuse_open(equations, t, x, p, residual)
    A = np.asarray(jacobian(t, q, p))
    kept = independent_rows(A)
    places = [q]
    reduced = equations
    if len(kept) < len(A):
        # Rows that depend on others but ask for something else can never be met.
        if np.abs(residual).max(initial=0.0) > OPEN:
            refuse_open(equations, t, x, p, residual)
        # A row is redundant only if it stays so: a dead centre, where rows depend on each other for a moment, is another thing.
        rng = np.random.default_rng(0)
        for _ in range(3):
            N = np.asarray(parts(t, q, p)[5])
            near = closed_position(parts, t, q + 1e-3 * N @ rng.standard_normal(N.shape[1]), p)
            places.append(near)
            rank = len(independent_rows(np.asarray(jacobian(t, near, p))))
            if rank > len(kept):
                raise MechanismError(
                    "the loops are at a singular position at the start (a dead centre): the closures "
                    f"{listed(dict.fromkeys(equations.constraints.owners))} hold {rank} motions nearby, but only {len(kept)} "
                    "there. Start elsewhere"
                )
        reduced = _with_rows(equations, kept)
    if reduced is equations and equations.constraints.redundant:
        return settled(equations, t, q, p)  # judged before, when rows were left out
    judged = tuple((t, _joint_position(equations, place, p), p) for place in places)
    reduced = replace(reduced, constraints=replace(reduced.constraints, judged_at=judged))
    return settled(reduced, t, q, p)


def _joint_position(equations: Equations, q: FloatArray, p: FloatArray) -> FloatArray:
    """Return the joint coordinates at a position of the equations."""
    joint_state = equations.coordinates.joint_state
    if joint_state is None:
        return q
    at_rest = np.zeros(equations.nv)
    return np.asarray(joint_state(q, at_rest, at_rest, p)[0]).ravel()


def settled(equations: Equations, t: float, q: FloatArray, p: FloatArray) -> Equations:
    """Return equations whose treatment has chosen what it has to choose at the closed position ``q``."""
    return replace(equations, treatment=equations.treatment.settled(equations, t, q, p))


def _with_rows(equations: Equations, kept: Sequence[int]) -> Equations:
    held, discrete = equations.constraints, equations.structure.discrete
    constraints = replace(
        held,
        phi=held.phi[[i for i in kept if i < held.holonomic]],
        A=held.A[list(kept), :],
        b=held.b[list(kept)],
        lam=type(held.lam).sym("lam", len(kept)),
        owners=tuple(held.owners[i] for i in kept),
    )
    left_out = dict.fromkeys(held.owners[i] for i in range(held.count) if i not in kept)
    all_rows = type(held.lam).zeros(held.count)
    all_rows[list(kept)] = constraints.lam
    reactions = ca.substitute(list(held.reactions.values()), [held.lam], [all_rows])
    constraints = replace(
        constraints,
        reactions=dict(zip(held.reactions, reactions, strict=True)),
        redundant=tuple({**dict.fromkeys(held.redundant), **left_out}),
    )
    structure = replace(equations.structure, discrete=None if discrete is None else discrete.with_rows(kept))
    return replace(equations, constraints=constraints, structure=structure)


def independent_rows(A: FloatArray) -> list[int]:
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
