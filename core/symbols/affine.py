"""Expressions as functions of a few affine parts, so that second derivatives are taken by those alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

#: Operations whose result is affine where their operands are; products and quotients are looked at by themselves.
_SUMS = (ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_TWICE)
#: What an intermediate result is: independent of the variables, affine, or neither.
_FREE, _AFFINE, _CURVED = range(3)


@dataclass(frozen=True, eq=False)
class AffineParts:
    """A vector of expressions as ``outer(parts)``; entries that are affine as a whole are zero there."""

    #: Affine expressions of the variables, the symbols that stand for them, and the rest in these symbols.
    parts: ca.SX
    symbols: ca.SX
    outer: ca.SX

    def hessian(self, weights: ca.SX, variables: ca.SX) -> ca.SX:
        """Return the Hessian of weights . expressions by the variables; weights do not depend on these."""
        inner = ca.hessian(ca.dot(weights, self.outer), self.symbols)[0]
        slopes = ca.jacobian(self.parts, variables)
        found = slopes.T @ (inner @ slopes)
        return ca.SX(ca.substitute(found, self.symbols, self.parts))


def affine_parts(expressions: ca.SX, variables: ca.SX, others: list[ca.SX]) -> AffineParts | None:
    """Return the affine parts of some expressions of variables, ``others`` being all further symbols in them.

    A part is an affine intermediate result that enters something which is not affine. One that is made of other parts is none.
    None where expressions call functions, whose insides are not seen.
    """
    replay = _Replay(ca.Function("kp_parts", [variables, *others], [ca.densify(ca.cse(expressions))]))
    return None if replay.calls else replay.found()


class _Replay:
    """The operations of a function one by one: first what each result is, then everything anew in symbols of parts."""

    def __init__(self, function: ca.Function) -> None:
        self.function, count = function, function.n_instructions()
        self.steps = [
            (function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)) for k in range(count)
        ]
        self.calls = any(operation == ca.OP_CALL for operation, _, _ in self.steps)
        self.kinds, self.entering = ([], set()) if self.calls else self._kinds()

    def _kinds(self) -> tuple[list[int], set[int]]:
        """Return of every operation what its result is, and the affine ones that enter something curved."""
        kinds: list[int] = []
        entering: set[int] = set()
        where = [0] * self.function.sz_w()
        for k, (operation, given, into) in enumerate(self.steps):
            if operation in (ca.OP_INPUT, ca.OP_CONST):
                kind = _AFFINE if operation == ca.OP_INPUT and given[0] == 0 else _FREE
            else:
                kind = self._kind(operation, [kinds[where[i]] for i in given])
                if kind == _CURVED:
                    entering |= {where[i] for i in given if kinds[where[i]] == _AFFINE}
            kinds.append(kind)
            if operation != ca.OP_OUTPUT:
                where[into[0]] = k
        return kinds, entering

    @staticmethod
    def _kind(operation: int, kinds: list[int]) -> int:
        most = max(kinds)
        if operation in _SUMS or operation == ca.OP_OUTPUT or most == _FREE:
            return most
        if operation == ca.OP_MUL and min(kinds) == _FREE:
            return most
        if operation == ca.OP_DIV and kinds[1] == _FREE:
            return most
        return _CURVED

    def found(self) -> AffineParts:
        symbols: list[ca.SX] = []
        parts: list[ca.SX] = []
        outer: list[ca.SX] = [ca.SX(0)] * self.function.numel_out(0)
        given = self.function.sx_in()
        # Of every result: in the variables, in symbols of parts, and whether the second can be had.
        plain: list[Any] = [None] * self.function.sz_w()
        apart: list[Any] = [None] * self.function.sz_w()
        value: Any
        own: Any
        for k, (operation, sources, into) in enumerate(self.steps):
            kind = self.kinds[k]
            if operation == ca.OP_OUTPUT:
                if kind == _CURVED:
                    outer[into[1]] = apart[sources[0]]
                continue
            at = into[0]
            if operation == ca.OP_INPUT:
                value = given[sources[0]].nz[sources[1]]
                own = None if kind == _AFFINE else value
            elif operation == ca.OP_CONST:
                value = own = ca.SX(self.function.instruction_constant(k))
            else:
                operands = [apart[i] for i in sources]
                own = None if any(item is None for item in operands) else _applied(operation, operands)
                value = None if kind == _CURVED else _applied(operation, [plain[i] for i in sources])
            if own is None and k in self.entering:
                own = ca.SX.sym(f"part{len(parts)}")
                symbols.append(own)
                parts.append(value)
            plain[at], apart[at] = value, own
        return AffineParts(ca.vertcat(ca.SX(0, 1), *parts), ca.vertcat(ca.SX(0, 1), *symbols), ca.vertcat(*outer))


def _applied(operation: int, operands: list[Any]) -> Any:
    return ca.SX.unary(operation, *operands) if len(operands) == 1 else ca.SX.binary(operation, *operands)
