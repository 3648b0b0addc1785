"""Which variables of constraints are independent, which follow from them, and how well they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.modular.labelled import LabelError, Labelled, assemble

#: What rows of unit length have left of their own, and singular values against the largest, is taken for zero below this.
RANK_TOLERANCE = 1e-8
#: A choice of independent variables that is worse than this is refused: seven digits would be lost.
LEAST_MARGIN = 1e-7
#: A variable is proposed as a dependent one if it is at least this good against the best.
SHARE = 0.1


class SingularChoiceError(MechanismError):
    """The chosen variables do not determine the others; ``proposed`` are some that do."""

    def __init__(self, message: str, *, rank: int, margin: float, proposed: tuple[str, ...]) -> None:
        super().__init__(message)
        self.rank, self.margin, self.proposed = rank, margin, proposed


@dataclass(frozen=True)
class Partition:
    """Variables that are independent, those that follow from them, and the rows of constraints that say how.

    ``margin`` is the smallest singular value of the block that is inverted, for rows of unit length, against the largest of all
    their entries: 1 is perfect, 0 singular.
    """

    independent: tuple[str, ...]
    dependent: tuple[str, ...]
    rows: tuple[str, ...]
    redundant: tuple[str, ...]
    rank: int
    margin: float
    #: Variables that were asked for and could not be independent.
    given_up: tuple[str, ...] = ()

    def complement(self, B: Labelled) -> Labelled:
        """Return S = [1; -A*^-1 A#] (2.29) of constraints in numbers or symbols, rows in the order of the columns of B."""
        own = B.part(self.rows)
        if not self.dependent:
            return Labelled.identity(self.independent).part(B.columns)
        follow = -own.part(..., self.dependent).solve(own.part(..., self.independent))
        return assemble(Labelled.identity(self.independent), follow).part(B.columns, self.independent)

    def particular(self, B: Labelled, b: Labelled) -> Labelled:
        """Return the solution of B z + b = 0 in which independent variables are zero."""
        own = B.part(self.rows)
        kind = type(b.matrix) if b.symbolic else type(B.matrix)
        nothing = Labelled.zeros(self.independent, b.columns, kind if B.symbolic or b.symbolic else np.ndarray)
        if not self.dependent:
            return nothing.part(B.columns)
        return assemble(nothing, own.part(..., self.dependent).solve(-b.part(self.rows))).part(B.columns)


def choose(
    B: Labelled,
    independent: Sequence[str] | None = None,
    *,
    singular: Literal["refuse", "pivot"] = "refuse",
    where: str = "",
    least: float = LEAST_MARGIN,
) -> Partition:
    """Return how the variables (columns) of constraints in numbers are split, and which rows say it.

    Without ``independent`` some are chosen, the last ones where there is a choice. A choice that cannot determine the others is
    refused with the rank, the margin and a proposal, or replaced by the proposal with ``singular="pivot"``. ``where`` names the
    system in messages.
    """
    if B.symbolic:
        raise LabelError("independent variables are chosen by numbers; evaluate the constraints at a state first")
    A = unit_rows(B)
    refuse_not_finite(A, where)
    rows, rank = independent_rows(A)
    proposed = proposed_independent(A.part(rows), rank, tuple(independent or ()))
    redundant = tuple(row for row in B.rows if row not in rows)
    if independent is None:
        return _partition(A, proposed, rows, redundant, rank)
    refuse_unknown(B, independent, where)
    wanted = tuple(independent)
    free = len(B.columns) - rank
    if len(wanted) == free:
        found = _partition(A, wanted, rows, redundant, rank)
        if found.margin >= least:
            return found
        margin = found.margin
    else:
        margin = margin_of(A.part(rows).without(columns=wanted).matrix, A.part(rows).matrix)
    if singular == "pivot":
        given_up = tuple(label for label in wanted if label not in proposed)
        return _partition(A, proposed, rows, redundant, rank, given_up)
    block = A.without(columns=wanted)
    dependent, own = len(block.columns), rank_of(block.matrix)
    reason = (
        f"the {rank} independent constraints leave {free} variable(s) free, not {len(wanted)}"
        if len(wanted) != free
        else f"the constraints have rank {own} for the {dependent} variables that should follow from them"
    )
    raise SingularChoiceError(
        f"{said_of(where)}variables {listed(wanted)} cannot be the independent ones: {reason} (margin {margin:.3g}; "
        f"{least:g} at least). Take for example {listed(proposed)}, or let the choice be changed (pivot)",
        rank=own,
        margin=margin,
        proposed=proposed,
    )


def unit_rows(B: Labelled) -> Labelled:
    """Return constraints with rows of unit length, so that their units do not matter; rows of zeros stay."""
    lengths = np.linalg.norm(B.matrix, axis=1, keepdims=True)
    return Labelled(B.matrix / np.where(lengths > 0, lengths, 1.0), B.rows, B.columns)


def independent_rows(A: Labelled) -> tuple[tuple[str, ...], int]:
    """Return rows (of unit length) that span all rows, the first ones where there is a choice, and how many they are."""
    kept: list[str] = []
    left = A.matrix.copy()
    for i, label in enumerate(A.rows):
        length = float(np.linalg.norm(left[i]))
        if length <= RANK_TOLERANCE:
            continue
        kept.append(label)
        direction = left[i] / length
        for _ in range(2):
            left = left - np.outer(left @ direction, direction)
    return tuple(kept), len(kept)


def _partition(
    A: Labelled,
    independent: tuple[str, ...],
    rows: tuple[str, ...],
    redundant: tuple[str, ...],
    rank: int,
    given_up: tuple[str, ...] = (),
) -> Partition:
    dependent = tuple(label for label in A.columns if label not in independent)
    margin = margin_of(A.part(rows, dependent).matrix, A.part(rows).matrix)
    return Partition(independent, dependent, rows, redundant, rank, margin, given_up)


def proposed_independent(A: Labelled, rank: int, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Return independent variables for rows of full rank, those that are wanted where that can be."""
    left = A.matrix.copy()
    dependent: list[str] = []
    others = [label for label in A.columns if label not in wanted]
    for candidates in (others, [label for label in A.columns if label in wanted]):
        while len(dependent) < rank:
            places = [i for i, label in enumerate(A.columns) if label in candidates and label not in dependent]
            sizes = np.linalg.norm(left[:, places], axis=0) if places else np.zeros(0)
            largest = np.linalg.norm(left, axis=0).max(initial=0.0)
            if sizes.max(initial=0.0) <= max(RANK_TOLERANCE, SHARE**3 * largest):
                break
            best = places[int(np.argmax(sizes >= SHARE * sizes.max()))]
            direction = left[:, best] / np.linalg.norm(left[:, best])
            left = left - np.outer(direction, direction @ left)
            left[:, best] = 0.0
            dependent.append(A.columns[best])
    return tuple(label for label in A.columns if label not in dependent)


def rank_of(matrix: FloatArray) -> int:
    """Return the number of singular values that count."""
    values = np.linalg.svd(matrix, compute_uv=False) if matrix.size else np.zeros(0)
    return int((values > RANK_TOLERANCE * values.max(initial=0.0)).sum())


def margin_of(block: FloatArray, whole: FloatArray, rank: int | None = None) -> float:
    """Return the smallest singular value of a block (of the first ``rank``, or for each column) against the largest of all."""
    count = block.shape[1] if rank is None else rank
    if count == 0:
        return 1.0
    values = np.linalg.svd(block, compute_uv=False) if block.size else np.zeros(0)
    largest = np.linalg.norm(whole, 2) if whole.size else 0.0
    if len(values) < count or largest == 0.0:
        return 0.0
    return float(values[count - 1] / largest)


def refuse_unknown(B: Labelled, independent: Sequence[str], where: str) -> None:
    """Refuse variables that there are not, or that are named twice."""
    unknown = [label for label in independent if label not in B.columns]
    if unknown:
        raise LabelError(
            f"{said_of(where)}'{unknown[0]}' cannot be independent: it is not a variable{closest(unknown[0], B.columns)} The "
            f"variables are: {listed(B.columns, 12)}."
        )
    if len(set(independent)) < len(independent):
        raise LabelError(f"{said_of(where)}an independent variable is named twice: {listed(independent)}")


def refuse_not_finite(B: Labelled, where: str) -> None:
    """Refuse constraints with coefficients that are no numbers."""
    bad = np.argwhere(~np.isfinite(B.matrix))
    if len(bad):
        i, j = bad[0]
        raise MechanismError(
            f"{said_of(where)}constraint '{B.rows[i]}' has the coefficient {B.matrix[i, j]} of '{B.columns[j]}'; it must be a "
            "finite number at the state where the system is judged"
        )


def said_of(where: str) -> str:
    """Return the beginning of a sentence about a system."""
    return f"'{where}': " if where else ""
