"""Straight-line code in pieces, of which those that differ in numbers alone are one function.

The equations of a machine of many bodies say the same thing of each body again. As one function they are long straight-line
code, for which a C compiler takes more than its share of time; as one function for each kind of piece, called for each piece
with its own numbers, they are as long as the machine has different parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca

#: What CasADi calls instructions that read an argument, write a result, and set a number.
_INPUT, _OUTPUT, _CONSTANT = ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST


@dataclass(frozen=True, eq=False)
class _Piece:
    """Some results of a function: which, what they depend on, and the numbers in them."""

    rows: tuple[int, ...]
    #: Where its arguments are among all arguments of the function.
    arguments: tuple[int, ...]
    constants: tuple[float, ...]
    function: ca.Function


@dataclass(eq=False)
class _Kind:
    """Pieces whose instructions are the same."""

    pieces: list[_Piece] = field(default_factory=list)

    def made(self, name: str, unknowns: int) -> tuple[ca.Function, ca.Function, list[list[float]]]:
        """Return (arguments, numbers) -> results, the same with the Jacobian before them, and the numbers of each piece.

        The Jacobian is by those arguments that are among the first ``unknowns`` ones of the whole function.
        """
        first = self.pieces[0]
        every = list(zip(*(piece.constants for piece in self.pieces), strict=True))
        lifted = [k for k, numbers in enumerate(every) if len(set(numbers)) > 1]
        x, c = ca.SX.sym("x", len(first.arguments)), ca.SX.sym("c", len(lifted))
        places = {k: i for i, k in enumerate(lifted)}
        results = _evaluated(first.function, x, [c[places[k]] if k in places else None for k in range(len(every))])
        wanted = [i for i, place in enumerate(first.arguments) if place < unknowns]
        slopes = ca.jacobian(results, x[wanted]) if wanted else ca.SX(results.numel(), 0)
        plain = ca.Function(f"{name}_rows", [x, c], [results])
        with_slopes = ca.Function(f"{name}_matrix", [x, c], ca.cse([entries(slopes), results]))
        self.pattern, self.wanted = slopes.sparsity(), wanted
        return plain, with_slopes, [[piece.constants[k] for k in lifted] for piece in self.pieces]


def entries(matrix: ca.SX) -> ca.SX:
    """Return the entries of a sparse matrix as a column."""
    return ca.SX(ca.Sparsity.dense(matrix.nnz(), 1), ca.vec(matrix).nz[:]) if matrix.nnz() else ca.SX(0, 1)


def _piece(results: ca.SX, rows: Sequence[int], places: dict[int, int]) -> tuple[_Piece, Any]:
    """Return a piece, and what tells its kind."""
    expression = results[list(rows)]
    symbols = ca.symvar(expression)
    arguments = tuple(places[symbol.element_hash()] for symbol in symbols)
    function = ca.Function("piece", [ca.vertcat(ca.SX(0, 1), *symbols)], [ca.densify(expression)], {"cse": False})
    steps, constants = [], []
    for k in range(function.n_instructions()):
        code = function.instruction_id(k)
        if code == _CONSTANT:
            constants.append(function.instruction_constant(k))
        steps.append((code, *function.instruction_input(k), -1, *function.instruction_output(k)))
    return _Piece(tuple(rows), arguments, tuple(constants), function), tuple(steps)


def _evaluated(function: ca.Function, x: ca.SX, numbers: Sequence[ca.SX | None]) -> ca.SX:
    """Return the results of a function for some arguments, with other numbers in the place of its own where they are given."""
    if all(number is None for number in numbers):
        return ca.SX(function(x))
    work: dict[int, Any] = {}
    results = ca.SX.zeros(function.numel_out(0))
    constant = 0
    for k in range(function.n_instructions()):
        code, taken, given = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if code == _INPUT:
            work[given[0]] = x[taken[1]]
        elif code == _OUTPUT:
            results[given[1]] = work[taken[0]]
        elif code == _CONSTANT:
            number = numbers[constant]
            work[given[0]] = ca.SX(function.instruction_constant(k)) if number is None else number
            constant += 1
        elif len(taken) == 2:
            work[given[0]] = ca.SX.binary(code, work[taken[0]], work[taken[1]])
        else:
            work[given[0]] = ca.SX.unary(code, work[taken[0]])
    return results


def in_kinds(function: ca.Function, groups: Sequence[Sequence[int]], name: str) -> tuple[ca.Function, ca.Function]:
    """Return a straight-line function of one dense result in pieces, and its Jacobian by the first argument beside it.

    ``groups`` are the rows of the pieces, each row in one of them. The second function returns the Jacobian, then the result.
    """
    symbols: list[Any] = function.sx_in()
    results = ca.SX(function.call(symbols)[0])
    places = {item.element_hash(): k for k, item in enumerate(ca.vertsplit(ca.vertcat(*symbols)))}
    unknowns = symbols[0].numel()
    kinds: dict[Any, _Kind] = {}
    for rows in groups:
        piece, key = _piece(results, rows, places)
        kinds.setdefault((key, tuple(place < unknowns for place in piece.arguments)), _Kind()).pieces.append(piece)
    given = [ca.MX.sym(function.name_in(k), function.numel_in(k)) for k in range(function.n_in())]
    whole = ca.vertcat(*given)
    values: list[ca.MX] = []
    values_beside: list[ca.MX] = []
    slopes: list[ca.MX] = []
    order: list[int] = []
    rows_of, columns_of = [], []
    for count, kind in enumerate(kinds.values()):
        plain, with_slopes, numbers = kind.made(f"{name}_{count}", unknowns)
        inner_rows, inner_columns = kind.pattern.get_triplet()
        for piece, own in zip(kind.pieces, numbers, strict=True):
            arguments = whole[list(piece.arguments)]
            values.append(plain(arguments, ca.DM(own)))
            found, beside = with_slopes(arguments, ca.DM(own))
            slopes.append(found)
            values_beside.append(beside)
            order += piece.rows
            rows_of += [piece.rows[i] for i in inner_rows]
            columns_of += [piece.arguments[kind.wanted[j]] for j in inner_columns]
    size = results.numel()
    back = [0] * size
    for place, row in enumerate(order):
        back[row] = place
    numbered = ca.DM.triplet(rows_of, columns_of, ca.DM(range(1, len(rows_of) + 1)), size, unknowns)
    taken = [int(number) - 1 for number in numbered.nonzeros()]
    matrix = ca.MX(numbered.sparsity(), ca.vertcat(*slopes)[taken])
    names, result = function.name_in(), function.name_out(0)
    residual = ca.Function(function.name(), given, [ca.vertcat(*values)[back]], names, [result])
    both = ca.Function(name, given, [matrix, ca.vertcat(*values_beside)[back]], names, [f"jac_{result}_{names[0]}", result])
    return residual, both
