"""How many operations an evaluation of a function takes."""

from __future__ import annotations

import casadi as ca

_SX_NOTHING = frozenset((ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_PARAMETER))
#: Operations of matrices that only move numbers.
_MX_NOTHING = _SX_NOTHING | frozenset(
    (ca.OP_HORZCAT, ca.OP_VERTCAT, ca.OP_DIAGCAT, ca.OP_HORZSPLIT, ca.OP_VERTSPLIT, ca.OP_DIAGSPLIT, ca.OP_RESHAPE)
    + (ca.OP_SUBREF, ca.OP_SUBASSIGN, ca.OP_GETNONZEROS, ca.OP_SETNONZEROS, ca.OP_TRANSPOSE, ca.OP_PROJECT)
)


def operations(function: ca.Function) -> int:
    """Return how many operations on numbers an evaluation takes, with those of functions inside and of systems solved."""
    return _counted(function, {})


def _counted(function: ca.Function, known: dict[int, int]) -> int:
    key = function.__hash__()
    if key not in known:
        known[key] = _of_scalars(function) if function.is_a("SXFunction") else _of_matrices(function, known)
    return known[key]


def _of_scalars(function: ca.Function) -> int:
    return sum(function.instruction_id(k) not in _SX_NOTHING for k in range(function.n_instructions()))


def _of_matrices(function: ca.Function, known: dict[int, int]) -> int:
    if not function.is_a("MXFunction"):  # a table, or plain Python: nobody knows
        return 1
    total = 0
    for k in range(function.n_instructions()):
        kind = function.instruction_id(k)
        if kind in _MX_NOTHING:
            continue
        node = function.instruction_MX(k)
        if kind == ca.OP_CALL:
            total += _counted(node.which_function(), known)
        elif kind == ca.OP_SOLVE:
            total += _of_sparse_qr(node.dep(1).sparsity(), node.shape[1])
        elif kind == ca.OP_MTIMES:
            total += _of_product(node.dep(1).sparsity(), node.dep(2).sparsity())
        else:
            total += int(node.nnz())
    return total


def _of_product(left: ca.Sparsity, right: ca.Sparsity) -> int:
    """Return multiplications and additions of a product of two matrices."""
    columns, rows = [0] * left.size2(), [0] * right.size1()
    for column in left.get_triplet()[1]:
        columns[column] += 1
    for row in right.get_triplet()[0]:
        rows[row] += 1
    return 2 * sum(a * b for a, b in zip(columns, rows, strict=True))


def _of_sparse_qr(matrix: ca.Sparsity, columns: int) -> int:
    """Return the operations of a factorisation by Householder's method in sparse form, and of solutions with it."""
    V, R = matrix.qr_sparse()[:2]
    in_column = [V.colind()[k + 1] - V.colind()[k] for k in range(V.size2())]
    in_row = [0] * R.size1()
    for row in R.row():
        in_row[row] += 1
    # Each reflection meets all columns to its right that it has entries in common with.
    factorised = sum(4 * own * met for own, met in zip(in_column, in_row, strict=False))
    return factorised + columns * (4 * V.nnz() + 2 * R.nnz())
