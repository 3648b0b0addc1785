"""Motions of rigid bodies under constraints: the linear equations of projections and of jumps of accelerations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from kingpost.equations.newton import straightened
from kingpost.kernel.elimination import elimination
from kingpost.plugins.integrators.implicit import Interval, Moment
from kingpost.symbols.kinds import entries, in_kinds
from kingpost.symbols.straightline import expanded, fused, solve_symmetric

if TYPE_CHECKING:
    from kingpost.plugins.integrators.rigid import RigidParts

#: Functions of up to this many instructions are one piece. Pieces find much more than once here, so that they pay late: at ten
#: links they take 1.6 times as long, and a C compiler no less; at twenty 1.5 times, and a C compiler less than half.
LONGEST = 12_000
#: For functions whose names say how they are to be compiled.
WHOLE = {"never_inline": True}


def constrained(parts: RigidParts, name: str, symbols: list[ca.MX], f: ca.MX, c: ca.MX) -> ca.Function:
    """Return the function symbols -> B nu of B'MB nu + (AB)' y = B' f, AB nu = c.

    The symbols are t, q, v, u and p, and others that ``f`` and ``c`` may depend on. Solved for the forces y alone, or for
    motions and forces, whichever takes fewer multiplications: in a chain the former, where many bodies hang on one the latter.
    """
    t, q, v, u, p = symbols[:5]
    s, at = Interval(t, ca.MX(1), q, v, ca.MX(0, 1), ca.MX(0, 1), u, p, ca.MX(0, 1)), Moment(t, u)
    B = parts.B(q)
    mass, along, right = B.T @ parts.mass(t, q, v, u, p) @ B, parts.A(s, at, q) @ B, B.T @ f
    moved = _by_forces(parts, symbols, (mass, along, right, c))
    moved = _by_motions(parts, s, symbols, (mass, along, right, c)) if moved is None else moved
    return ca.Function(name, symbols, [moved], WHOLE)


def _by_motions(parts: RigidParts, s: Interval, symbols: list[ca.MX], system: tuple[ca.MX, ...]) -> ca.MX:
    """Return B nu, with motions and forces as unknowns."""
    mass, along, right, c = system
    inertia = parts.motion_inertia(s, parts.B(s.q))
    share = parts.shares(along, inertia)
    if parts.touched.any():
        weighted = along.T @ ca.diag(share * parts.touched)
        mass, right = mass + weighted @ along, right + weighted @ c
    order = parts.rigid.order(parts.equations.constraints.owners)
    # Scaled by roots of inertias, all entries are numbers of the size one.
    scale = ca.densify(ca.vertcat(1 / ca.sqrt(inertia), ca.sqrt(share)))[order]
    by_rows = ca.diag(scale)
    matrix = _saddle(mass, along)[order, order]
    results = [by_rows @ matrix @ by_rows, ca.densify(scale * ca.vertcat(right, c)[order]), scale]
    found, roots = ca.MX.sym("found", len(order)), ca.MX.sym("roots", len(order))
    back = [int(row) for row in np.argsort(order)][: along.shape[1]]
    motion = ca.Function("kp_motion", [s.q, found, roots], [ca.densify(parts.B(s.q) @ (found * roots)[back])])
    K, r, scale = straightened(ca.Function("kp_saddle", symbols, results), parts.equations).call(symbols)
    return straightened(motion, parts.equations)(s.q, ca.solve(K, r, "qr"), scale)


def _saddle(mass: ca.MX, along: ca.MX) -> ca.MX:
    return ca.blockcat([[mass, along.T], [along, ca.MX(along.shape[0], along.shape[0])]])


def _by_forces(parts: RigidParts, symbols: list[ca.MX], system: tuple[ca.MX, ...]) -> ca.MX | None:
    """Return B nu, with forces alone as unknowns, or None where the other way is shorter, or the only one.

    AB (B'MB)^-1 (AB)' y = AB (B'MB)^-1 B' f - c is symmetric and positive definite: it can be eliminated in any order, however
    its rows are scaled. The inertia of the motions of each body stands for itself, and must be regular.
    """
    e, rigid, rows = parts.equations, parts.rigid, parts.m
    if not rows or rigid.bare or e.all_externals or isinstance(e.q, ca.MX):
        return None
    mass, along, _, _ = system
    blocks, first = [], 0
    for body in rigid.bodies:
        blocks.append(list(range(first, first + body.motions)))
        first += body.motions
    order = [place - first for place in rigid.order(e.constraints.owners) if place >= first]
    if not _shorter(mass.sparsity(), along.sparsity(), blocks, rigid.order(e.constraints.owners), order):
        return None
    pieces = expanded(ca.Function("kp_pieces", symbols, list(system)))
    if pieces is None:
        return None
    given: list[Any] = pieces.sx_in()
    mass, along, right, c = pieces.call(given)
    along, c = along[order, :], c[order]
    inverse = ca.diagcat(*(ca.sparsify(solve_symmetric(mass[block, block], ca.SX.eye(len(block)))) for block in blocks))
    moved, free = inverse @ along.T, ca.densify(inverse @ right)
    K, r, moved, free = _in_pieces(given, (along @ moved, ca.densify(along @ free - c), moved, free), blocks)(*symbols)
    q = symbols[1]
    items = [ca.MX.sym(f"i{k}", item.sparsity()) for k, item in enumerate((q, r, moved, free))]
    motion = ca.Function("kp_motion", items, [ca.densify(parts.B(items[0]) @ (items[3] - items[2] @ items[1]))])
    return ca.MX(straightened(motion, e)(q, ca.solve(K, r, "qr"), moved, free))


def _shorter(mass: ca.Sparsity, along: ca.Sparsity, blocks: list[list[int]], every: list[int], order: list[int]) -> bool:
    """Say whether fewer multiplications find the forces alone than motions and forces; ``mass`` must have these blocks."""
    inside = ca.diagcat(*(ca.DM.ones(len(block), len(block)) for block in blocks)).sparsity()
    if not mass.is_subset(inside):
        return False
    A = ca.DM(along, 1)
    forces = (A @ ca.DM(inside, 1) @ A.T)[order, order]
    both = ca.blockcat([[ca.DM(mass, 1), A.T], [A, ca.DM(along.size1(), along.size1())]])[every, every]
    return elimination(forces.sparsity()).operations <= elimination(both.sparsity()).operations


def _in_pieces(given: list[Any], results: tuple[Any, ...], blocks: list[list[int]]) -> ca.Function:
    """Return the function of the matrix of forces, their right side, what moves and what moves freely.

    Of many bodies it calls one function for each kind of them. Only half of the matrix is written down; it is symmetric.
    """
    K, r, moved, free = results
    half = ca.tril(K)
    whole = fused(ca.Function("kp_forces", given, [ca.tril2symm(half), r, moved, free]))
    if whole.n_instructions() <= LONGEST:
        return whole
    columns = [entries(half), entries(moved), r, free]
    flat = ca.Function("kp_forces", given, [ca.vertcat(*columns)])
    groups: dict[tuple[str, int], list[int]] = {}
    rows_of = {row: k for k, block in enumerate(blocks) for row in block}
    labels = [("row", i) for i in half.sparsity().get_triplet()[0]]
    labels += [("body", rows_of[i]) for i in moved.sparsity().get_triplet()[0]]
    labels += [("row", i) for i in range(r.numel())] + [("body", rows_of[i]) for i in range(free.numel())]
    for place, label in enumerate(labels):
        groups.setdefault(label, []).append(place)
    values, _ = in_kinds(fused(flat), list(groups.values()), "kp_forces_of")
    symbols = [ca.MX.sym(f"i{k}", item.numel()) for k, item in enumerate(given)]
    edges = [0, *(int(edge) for edge in np.cumsum([column.numel() for column in columns]))]
    below, led, right, freely = ca.vertsplit(values(*symbols), edges)
    numbered = ca.DM(half.sparsity(), ca.DM(range(1, half.nnz() + 1)))
    mirrored = numbered + ca.tril(numbered, False).T
    taken = [int(number) - 1 for number in mirrored.nonzeros()]
    filled = [ca.MX(mirrored.sparsity(), below[taken]), right, ca.MX(moved.sparsity(), led), freely]
    return ca.Function("kp_forces", symbols, filled)
