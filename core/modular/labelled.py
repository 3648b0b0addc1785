"""Matrices whose rows and columns have names, so that systems are assembled by what their variables are called (Def. 2.9).

Entries are numbers (NumPy) or symbols (SX or MX). An entry that is not there is zero, and names that two matrices share are
superposed: assembly is commutative and associative, and block-diagonal where no names are shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from kingpost.base.errors import KingpostError, closest, listed
from kingpost.symbols.linear_solvers import solve_blocks
from kingpost.symbols.straightline import solve_symmetric

#: The label of the only column of a vector.
VALUE = ""
#: Entries below this part of the largest are taken for rounding where only the others are to be seen.
ROUNDING = 1e-14
#: Some labels: one, several, or all (``...``).
Labels: TypeAlias = str | Sequence[str] | EllipsisType
#: New labels for old ones: pairs (others stay as they are), or a function.
Renaming: TypeAlias = Mapping[str, str] | Callable[[str], str]


class LabelError(KingpostError):
    """Labels of matrices clash, or do not fit each other."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """A matrix of numbers or symbols with a label for every row and every column.

    >>> X = Labelled([[1.0, 2.0]], ("force",), ("x", "y"))
    >>> X["force", "y"].matrix
    array([[2.]])
    """

    matrix: Any
    rows: tuple[str, ...]
    columns: tuple[str, ...] = (VALUE,)

    def __post_init__(self) -> None:
        if not isinstance(self.matrix, ca.SX | ca.MX):
            numbers = self.matrix.full() if isinstance(self.matrix, ca.DM) else np.asarray(self.matrix, dtype=float)
            if numbers.ndim < 2:
                numbers = numbers.reshape(-1, 1)
            object.__setattr__(self, "matrix", numbers)
        for side, labels in (("rows", self.rows), ("columns", self.columns)):
            object.__setattr__(self, side, tuple(labels))
        _refuse_duplicates("row", self.rows)
        _refuse_duplicates("column", self.columns)
        shape, named = tuple(self.matrix.shape), (len(self.rows), len(self.columns))
        if shape != named:
            raise LabelError(
                f"a matrix of {shape[0]} x {shape[1]} entries got {named[0]} row labels ({listed(self.rows, 8)}) and "
                f"{named[1]} column labels ({listed(self.columns, 8)}); give a label for every row and column"
            )

    @classmethod
    def zeros(cls, rows: Sequence[str], columns: Sequence[str] = (VALUE,), kind: type = np.ndarray) -> Labelled:
        """Return a matrix without any entry but zero; ``kind`` is that of its entries: np.ndarray, ca.SX or ca.MX."""
        empty = np.zeros((len(rows), len(columns))) if kind is np.ndarray else kind(len(rows), len(columns))
        return cls(empty, tuple(rows), tuple(columns))

    @classmethod
    def identity(cls, labels: Sequence[str]) -> Labelled:
        """Return the matrix that leaves the variables of these names as they are."""
        return cls(np.eye(len(labels)), tuple(labels), tuple(labels))

    @classmethod
    def jacobian(cls, expressions: Labelled, variables: Mapping[str, Any]) -> Labelled:
        """Return the derivatives of a column of expressions by scalar symbols, labelled by the names of both."""
        kind = type(expressions.matrix)
        if kind not in (ca.SX, ca.MX):
            return cls.zeros(expressions.rows, tuple(variables))
        symbols = ca.vertcat(kind(0, 1), *variables.values())
        return cls(ca.jacobian(expressions.matrix, symbols), expressions.rows, tuple(variables))

    @property
    def T(self) -> Labelled:
        """The matrix with rows and columns exchanged."""
        return Labelled(self.matrix.T, self.columns, self.rows)

    @property
    def symbolic(self) -> bool:
        """Whether entries are symbols."""
        return isinstance(self.matrix, ca.SX | ca.MX)

    def part(self, rows: Labels = ..., columns: Labels = ...) -> Labelled:
        """Return the rows and columns of these labels, in this order."""
        chosen_rows, chosen_columns = _chosen("row", self.rows, rows), _chosen("column", self.columns, columns)
        if (chosen_rows, chosen_columns) == (self.rows, self.columns):
            return self
        i, j = _places(self.rows, chosen_rows), _places(self.columns, chosen_columns)
        matrix = self.matrix[i, j] if self.symbolic else self.matrix[np.ix_(i, j)]
        return Labelled(matrix, chosen_rows, chosen_columns)

    def __getitem__(self, labels: Labels | tuple[Labels, Labels]) -> Labelled:
        """Return ``X[rows, columns]``, or ``X[rows]``; each is a label, a list of labels, or ``...`` for all."""
        rows, columns = labels if isinstance(labels, tuple) and len(labels) == 2 else (labels, ...)
        return self.part(rows, columns)

    def without(self, rows: Sequence[str] = (), columns: Sequence[str] = ()) -> Labelled:
        """Return what is left without some rows and columns."""
        _chosen("row", self.rows, rows), _chosen("column", self.columns, columns)
        return self.part([row for row in self.rows if row not in rows], [item for item in self.columns if item not in columns])

    def __matmul__(self, other: Labelled) -> Labelled:
        """Return the product; the columns of the first and the rows of the second must be named alike, in whatever order."""
        if set(self.columns) != set(other.rows):
            raise LabelError(f"a product needs the same labels inside: {_difference(self.columns, other.rows)}")
        left, right = _alike(self.matrix, other.part(self.columns).matrix)
        return Labelled(left @ right, self.rows, other.columns)

    def __add__(self, other: Labelled) -> Labelled:
        """Return the sum of two matrices with the same labels; :func:`assemble` takes those with others."""
        for side, first, second in (("rows", self.rows, other.rows), ("columns", self.columns, other.columns)):
            if set(first) != set(second):
                raise LabelError(f"a sum needs the same {side}: {_difference(first, second)}; assemble takes different ones")
        left, right = _alike(self.matrix, other.part(self.rows, self.columns).matrix)
        return Labelled(left + right, self.rows, self.columns)

    def __sub__(self, other: Labelled) -> Labelled:
        return self + (-other)

    def __neg__(self) -> Labelled:
        return Labelled(-self.matrix, self.rows, self.columns)

    def __mul__(self, factor: Any) -> Labelled:
        """Return the matrix times a number or a scalar symbol."""
        left, right = _alike(self.matrix, factor)
        return Labelled(left * right, self.rows, self.columns)

    __rmul__ = __mul__

    def renamed(self, rows: Renaming | None = None, columns: Renaming | None = None) -> Labelled:
        """Return the same matrix with other labels."""
        return Labelled(self.matrix, renamed_labels(self.rows, rows), renamed_labels(self.columns, columns))

    def solve(self, right: Labelled) -> Labelled:
        """Return X with self @ X = right, for as many rows as columns."""
        n, m = len(self.rows), len(self.columns)
        if n != m:
            raise LabelError(
                f"{n} equations ({listed(self.rows, 8)}) cannot be solved for {m} unknowns ({listed(self.columns, 8)}); "
                "least squares (lstsq) can"
            )
        _refuse_other_rows(self, right)
        left, other = _alike(self.matrix, right.part(self.rows).matrix)
        if n == 0:
            return Labelled(other, self.columns, right.columns)
        if not self.symbolic and not right.symbolic:
            self._refuse_lower_rank(int(np.linalg.matrix_rank(left)))
            return Labelled(np.linalg.solve(left, other), self.columns, right.columns)
        self._refuse_lower_rank(ca.sprank(left.sparsity()))
        return Labelled(solve_blocks(left, other), self.columns, right.columns)

    def _refuse_lower_rank(self, rank: int) -> None:
        if rank < len(self.rows):
            raise LabelError(
                f"the equations {listed(self.rows, 8)} do not determine {listed(self.columns, 8)}: their rank is {rank} of "
                f"{len(self.rows)}"
            )

    def lstsq(self, right: Labelled, weights: Mapping[str, float] | None = None) -> Labelled:
        """Return X for which the sum over rows of weight * (self @ X - right)^2 is smallest; weights are 1 unless given.

        Of numbers, the smallest such X where there are several; of symbols, the columns must be independent of each other.
        """
        _refuse_other_rows(self, right)
        left, other = _alike(self.matrix, right.part(self.rows).matrix)
        root = np.sqrt(row_weights(self.rows, weights))[:, None]
        if not self.symbolic and not right.symbolic:
            X = np.linalg.lstsq(root * left, root * other, rcond=None)[0]
        else:
            scale = ca.DM(np.diagflat(root**2))
            X = solve_symmetric(left.T @ scale @ left, left.T @ scale @ other)
        return Labelled(X, self.columns, right.columns)

    def pinv(self) -> Labelled:
        """Return the Moore-Penrose inverse; of symbols, rows or columns (whichever are fewer) must be independent."""
        if not self.symbolic:
            return Labelled(np.linalg.pinv(self.matrix), self.columns, self.rows)
        A = self.matrix
        wide = len(self.rows) <= len(self.columns)
        inverse = solve_symmetric(A @ A.T, A).T if wide else solve_symmetric(A.T @ A, A.T)
        return Labelled(inverse, self.columns, self.rows)

    def equals(self, other: Labelled, tolerance: float = 0.0) -> bool:
        """Return whether two matrices of numbers have the same labels, in whatever order, and the same entries."""
        if set(self.rows) != set(other.rows) or set(self.columns) != set(other.columns):
            return False
        return bool(np.all(np.abs(self.matrix - other.part(self.rows, self.columns).matrix) <= tolerance))

    def __str__(self) -> str:
        """Return the matrix as a table with its labels."""
        return "\n".join(self.lines())

    def _rows_of_entries(self) -> list[list[Any]]:
        return [[self.matrix[i, j] for j in range(len(self.columns))] for i in range(len(self.rows))]

    def lines(self, width: int | None = None, dot: bool = False) -> list[str]:
        """Return the matrix as lines of a table with its labels; columns beyond a width follow below the others.

        With ``dot``, an entry that is zero, or rounding beside the largest, is a dot, so that the others are seen.
        """
        small = ROUNDING * np.abs(self.matrix).max(initial=0.0) if dot and not self.symbolic else -1.0
        shown = [[_entry(value, small) for value in row] for row in self._rows_of_entries()]
        cells = [[label, *(row[j] for row in shown)] for j, label in enumerate(self.columns)]
        labels = ["", *self.rows]
        first = max(map(len, labels), default=0)
        found: list[str] = []
        block: list[list[str]] = []
        used = first
        for column in [*cells, None]:
            size = 2 + max(map(len, column)) if column is not None else 0
            if column is None or (width is not None and block and used + size > width):
                rows = zip(labels, *block, strict=True)
                found += ["  ".join([row[0].rjust(first), *row[1:]]) for row in rows] if block or not found else []
                block, used = [], first
            if column is not None:
                block.append([cell.rjust(size - 2) for cell in column])
                used += size
        return found


def assemble(*parts: Labelled) -> Labelled:
    """Return all parts in one matrix (Def. 2.9): labels are united, entries of the same labels added, missing ones are zero."""
    if not parts:
        return Labelled(np.zeros((0, 0)), (), ())
    rows = tuple(dict.fromkeys(label for part in parts for label in part.rows))
    columns = tuple(dict.fromkeys(label for part in parts for label in part.columns))
    kinds = {type(part.matrix) for part in parts if part.symbolic}
    kind = _one_kind(kinds)
    whole = Labelled.zeros(rows, columns, kind).matrix
    for part in parts:
        i, j = _places(rows, part.rows), _places(columns, part.columns)
        if not i or not j:
            continue
        if kind is np.ndarray:
            whole[np.ix_(i, j)] += part.matrix
        else:
            whole[i, j] += part.matrix if part.symbolic else ca.sparsify(ca.DM(part.matrix))
    return Labelled(whole, rows, columns)


def renamed_labels(labels: Sequence[str], renaming: Renaming | None) -> tuple[str, ...]:
    """Return labels with other names."""
    if renaming is None:
        return tuple(labels)
    if isinstance(renaming, Mapping):
        return tuple(renaming.get(label, label) for label in labels)
    return tuple(renaming(label) for label in labels)


def row_weights(rows: Sequence[str], weights: Mapping[str, float] | None) -> Any:
    """Return the weights of rows, 1 unless given; unknown rows and weights that are not positive are refused by name."""
    given = weights or {}
    _chosen("row", tuple(rows), tuple(given))
    bad = [label for label, weight in given.items() if not (np.isfinite(weight) and weight > 0)]
    if bad:
        raise LabelError(f"the weight of row '{bad[0]}' is {given[bad[0]]}; weights must be positive numbers")
    return np.array([float(given.get(row, 1.0)) for row in rows])


def _refuse_duplicates(what: str, labels: Sequence[str]) -> None:
    if len(set(labels)) == len(labels):
        return
    twice = [label for label in dict.fromkeys(labels) if list(labels).count(label) > 1]
    raise LabelError(f"{what} label {listed(repr(label) for label in twice)} occurs more than once; rename one of them")


def _refuse_other_rows(left: Labelled, right: Labelled) -> None:
    if set(left.rows) != set(right.rows):
        raise LabelError(f"both sides of equations need the same rows: {_difference(left.rows, right.rows)}")


def _difference(first: Sequence[str], second: Sequence[str]) -> str:
    sides = [[label for label in one if label not in other] for one, other in ((first, second), (second, first))]
    said = [
        f"{listed((repr(label) for label in labels), 8)} only in the {place}"
        for place, labels in zip(("first", "second"), sides, strict=True)
        if labels
    ]
    return ", ".join(said)


def _chosen(what: str, known: tuple[str, ...], labels: Labels) -> tuple[str, ...]:
    if labels is ...:
        return known
    wanted = (labels,) if isinstance(labels, str) else tuple(labels)
    unknown = [label for label in wanted if label not in known]
    if unknown:
        raise LabelError(f"there is no {what} '{unknown[0]}'{closest(unknown[0], known)} The {what}s are: {listed(known, 12)}.")
    return wanted


def _places(known: Sequence[str], labels: Sequence[str]) -> list[int]:
    place = {label: i for i, label in enumerate(known)}
    return [place[label] for label in labels]


def _one_kind(kinds: set[type]) -> type:
    if len(kinds) > 1:
        raise LabelError("SX and MX entries cannot be in one matrix; make functions of the SX ones and call them with MX")
    return kinds.pop() if kinds else np.ndarray


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Return both with entries of one kind; zeros among the numbers of one become structural where the other is symbolic."""
    kind = _one_kind({type(item) for item in (left, right) if isinstance(item, ca.SX | ca.MX)})
    if kind is np.ndarray:
        return left, right
    first, second = (
        item if isinstance(item, kind) else kind(ca.sparsify(ca.DM(np.asarray(item, dtype=float)))) for item in (left, right)
    )
    return first, second


def _entry(value: Any, small: float) -> str:
    if isinstance(value, ca.SX | ca.MX):
        return str(value)
    return "." if abs(value) <= small else f"{float(value):.6g}"
