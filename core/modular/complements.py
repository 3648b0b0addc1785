"""Orthogonal complements: matrices C with B C = 0 whose columns are all motions that the constraints B leave.

Four strategies, each of which says the rank that it found and how near it was to finding another one:

* :func:`partitioned`: with the identity on chosen independent variables, (2.26)-(2.29); numbers or symbols.
* :func:`null`: an orthonormal basis of the null space; numbers only, and never to be differentiated.
* :func:`least_squares`: for over-constrained systems, with weights and symmetry; exact where the constraints are compatible.
* :func:`linearised`: what :func:`least_squares` gives around a reference, to first order (Prop. 4.4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from kingpost.base.errors import closest, listed
from kingpost.modular.labelled import LabelError, Labelled, assemble, row_weights
from kingpost.modular.partitions import (
    LEAST_MARGIN,
    Partition,
    SingularChoiceError,
    choose,
    independent_rows,
    margin_of,
    proposed_independent,
    rank_of,
    refuse_not_finite,
    refuse_unknown,
    said_of,
    unit_rows,
)


@dataclass(frozen=True, eq=False)
class Complement:
    """A matrix with B C = 0, the rank of B, and the margin to another rank or choice (see :class:`Partition`).

    ``residual`` is the largest entry of B C for rows of unit length: rounding, unless constraints are incompatible. Of symbols
    it is not known, and nan.
    """

    matrix: Labelled
    independent: tuple[str, ...]
    rank: int
    margin: float
    redundant: tuple[str, ...] = ()
    residual: float = 0.0


@dataclass(frozen=True, eq=False)
class LinearisedComplement:
    """C = C0 + sum Cj xj to first order around a reference (4.20)."""

    reference: Complement
    changes: Mapping[str, Labelled] = field(default_factory=dict)


def partitioned(
    B: Labelled,
    independent: Sequence[str] | None = None,
    *,
    at: Labelled | None = None,
    singular: Literal["refuse", "pivot"] = "refuse",
    where: str = "",
) -> Complement:
    """Return the complement with the identity on the independent variables, (2.26)-(2.29).

    Of constraints in symbols, ``at`` are the same in numbers at a typical state: by them rows that follow from others are left
    out, and the choice is judged. Without it the constraints must be as many as the dependent variables.
    """
    judged = at if at is not None else (None if B.symbolic else B)
    if judged is not None:
        parts = choose(judged, independent, singular=singular, where=where)
    else:
        parts = _unjudged(B, independent, where)
    C = parts.complement(B)
    residual = float("nan") if C.symbolic else _largest(unit_rows(B) @ C)
    return Complement(C, parts.independent, parts.rank, parts.margin, parts.redundant, residual)


def null(
    B: Labelled, prefix: str = "z", *, method: Literal["svd", "qr"] = "svd", names: Sequence[str] | None = None, where: str = ""
) -> Complement:
    """Return an orthonormal basis of all motions that the constraints leave, its columns named prefix1, prefix2, ...

    Numbers only: such a basis jumps from one state to the next (any rotation of it is one, too), so it must never be
    differentiated; take :func:`partitioned` for that. The margin is the smallest singular value that counts in the rank
    against the largest.
    """
    if B.symbolic:
        raise LabelError(
            f"{said_of(where)}a null space of symbols is not found: its basis jumps from state to state and has no "
            "derivatives; take the partitioned complement with chosen independent variables"
        )
    A = unit_rows(B)
    refuse_not_finite(A, where)
    rows, rank = independent_rows(A)
    n = len(B.columns)
    if method == "svd":
        basis = np.linalg.svd(A.matrix)[2][rank:].T if A.matrix.size else np.eye(n)
    else:
        basis = np.linalg.qr(A.part(rows).matrix.T, mode="complete")[0][:, rank:] if rank else np.eye(n)
    labels = tuple(names) if names is not None else tuple(f"{prefix}{i + 1}" for i in range(n - rank))
    C = Labelled(basis, B.columns, labels)
    redundant = tuple(row for row in B.rows if row not in rows)
    return Complement(C, labels, rank, margin_of(A.matrix, A.matrix, rank), redundant, _largest(A @ C))


def least_squares(
    B: Labelled,
    independent: Sequence[str],
    *,
    weights: Mapping[str, float] | None = None,
    symmetry: Mapping[str, str] | None = None,
    where: str = "",
) -> Complement:
    """Return C with the identity on the independent variables for which the weighted sum of squares of B C is smallest.

    It is the exact complement where the constraints are compatible. Where they are not (more constraints than variables to
    follow, 5.1), the clearances that real joints have are spread by the weights of rows. ``symmetry`` says what each variable
    becomes in a mirror, ``{"wL": "wR", "roll": "-roll"}`` (others stay): then C is as symmetric as the machine is meant to be.
    """
    margin = _judged(B, independent, symmetry, where)
    root = np.sqrt(row_weights(B.rows, weights))[:, None]
    weighted = Labelled(root * B.matrix, B.rows, B.columns)
    X = _least_squares(_mirrored(weighted, symmetry, independent), tuple(independent))
    C = assemble(Labelled.identity(tuple(independent)), X).part(B.columns, tuple(independent))
    rows, rank = independent_rows(unit_rows(B))
    redundant = tuple(row for row in B.rows if row not in rows)
    return Complement(C, tuple(independent), rank, margin, redundant, _largest(unit_rows(B) @ C))


def linearised(
    reference: Labelled,
    changes: Mapping[str, Labelled],
    independent: Sequence[str],
    *,
    step: float | Mapping[str, float] | None = None,
    weights: Mapping[str, float] | None = None,
    symmetry: Mapping[str, str] | None = None,
    where: str = "",
) -> LinearisedComplement:
    """Return the least-squares complement of B0 + sum Bj xj to first order (Prop. 4.4).

    With a ``step`` g (one, or one for each variable) Cj is the difference of the complements of B0 + g Bj and B0 - g Bj over
    2 g; (4.21) prints g alone, which is twice too much. Without, it is the limit for small steps, found exactly.
    """
    keep: dict[str, Any] = {"weights": weights, "symmetry": symmetry, "where": where}
    at = least_squares(reference, independent, **keep)
    found = {}
    for name, change in changes.items():
        full = assemble(Labelled.zeros(reference.rows, reference.columns), change).part(reference.rows, reference.columns)
        if step is None:
            found[name] = _derivative(reference, full, at.matrix, tuple(independent), weights, symmetry)
            continue
        g = step[name] if isinstance(step, Mapping) else step
        ahead, behind = (least_squares(reference + full * side, independent, **keep).matrix for side in (g, -g))
        found[name] = (ahead - behind) * (1 / (2 * g))
    return LinearisedComplement(at, found)


def _unjudged(B: Labelled, independent: Sequence[str] | None, where: str) -> Partition:
    if independent is None:
        raise LabelError(
            f"{said_of(where)}of constraints in symbols, say which variables are independent, or give numbers (at) to choose by"
        )
    refuse_unknown(B, independent, where)
    dependent = tuple(label for label in B.columns if label not in independent)
    if len(dependent) != len(B.rows):
        raise LabelError(
            f"{said_of(where)}{len(B.rows)} constraints in symbols ({listed(B.rows, 8)}) do not fit {len(dependent)} dependent "
            f"variables ({listed(dependent, 8)}); give numbers (at), by which rows that follow from others are found"
        )
    return Partition(tuple(independent), dependent, B.rows, (), len(B.rows), float("nan"))


def _judged(B: Labelled, independent: Sequence[str], symmetry: Mapping[str, str] | None, where: str) -> float:
    """Return the margin of a choice for least squares, or refuse it."""
    if B.symbolic:
        raise LabelError(f"{said_of(where)}least-squares complements are found of numbers; evaluate the constraints first")
    refuse_unknown(B, independent, where)
    refuse_not_finite(B, where)
    unit = unit_rows(_mirrored(B, symmetry, independent))
    block = unit.without(columns=independent)
    margin, rank = margin_of(block.matrix, unit.matrix), rank_of(block.matrix)
    if margin < LEAST_MARGIN:
        rows, total = independent_rows(unit_rows(B))
        proposed = proposed_independent(unit_rows(B).part(rows), total, tuple(independent))
        raise SingularChoiceError(
            f"{said_of(where)}variables {listed(independent)} do not determine the others: the constraints have rank {rank} "
            f"for {len(block.columns)} variables that should follow (margin {margin:.3g}; {LEAST_MARGIN:g} at least). "
            f"Take for example {listed(proposed)}",
            rank=rank,
            margin=margin,
            proposed=proposed,
        )
    return margin


def _least_squares(weighted: Labelled, independent: tuple[str, ...]) -> Labelled:
    return -weighted.without(columns=independent).lstsq(weighted.part(..., independent))


def _derivative(
    B: Labelled,
    change: Labelled,
    C: Labelled,
    independent: tuple[str, ...],
    weights: Mapping[str, float] | None,
    symmetry: Mapping[str, str] | None,
) -> Labelled:
    """Return dC of the least-squares complement: A' A dX = -dA' (B C) - A' (dB C), of weighted rows and the block A of B."""
    root = np.sqrt(row_weights(B.rows, weights))[:, None]
    whole, moved = (_mirrored(Labelled(root * item.matrix, B.rows, B.columns), symmetry, independent) for item in (B, change))
    A, dA = whole.without(columns=independent), moved.without(columns=independent)
    right = -(dA.T @ (whole @ C) + A.T @ (moved @ C))
    X = (A.T @ A).solve(right)
    return assemble(Labelled.zeros(independent, independent), X).part(B.columns, independent)


def _mirrored(B: Labelled, symmetry: Mapping[str, str] | None, independent: Sequence[str]) -> Labelled:
    """Return the rows, and behind them what they are for the mirrored variables, so that solutions are symmetric."""
    if not symmetry:
        return B
    mirror = np.eye(len(B.columns))
    for label, image in symmetry.items():
        other, sign = image.removeprefix("-"), -1.0 if image.startswith("-") else 1.0
        for name in (label, other):
            if name not in B.columns:
                raise LabelError(f"symmetry names '{name}', which is not a variable{closest(name, B.columns)}")
        mirror[B.columns.index(label)] = 0.0
        mirror[B.columns.index(label), B.columns.index(other)] = sign
    if not np.array_equal(mirror @ mirror, np.eye(len(mirror))):
        raise LabelError(
            f"a mirror used twice must change nothing, but {dict(symmetry)} does; give both directions of each pair, with the "
            "same sign"
        )
    if any((symmetry[label].removeprefix("-") in independent) != (label in independent) for label in symmetry):
        raise LabelError(
            f"the mirror {dict(symmetry)} must take independent variables ({listed(independent)}) to independent ones"
        )
    image_rows = tuple(f"mirrored {row}" for row in B.rows)
    return Labelled(np.vstack([B.matrix, B.matrix @ mirror]), (*B.rows, *image_rows), B.columns)


def _largest(matrix: Labelled) -> float:
    return float(np.abs(matrix.matrix).max(initial=0.0))
