"""Numbers that may depend on parameters: what any field of a mechanism can hold.

An :class:`Expression` is a formula kept as text, such as ``"length / 2"``. It holds no numbers and no CasADi
symbols, so a mechanism stays plain data that can be compared, hashed and written to a file. :func:`evaluate`
turns it into a float or into a CasADi expression, depending on what its names stand for.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.numbers import finite, shown

#: What can be called in a formula, and what CasADi calls it; its functions take numbers and symbols alike.
FUNCTIONS = {
    **{name: name for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sqrt", "exp", "log", "tanh")},
    **{"abs": "fabs", "min": "fmin", "max": "fmax"},
}
CONSTANTS = {"pi": math.pi}
#: Longer or deeper formulas are refused: Python's parser, and ours, go down one call for every level.
LONGEST = 20_000
DEEPEST = 250
_ARITY = {"atan2": 2, "min": 2, "max": 2}
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: _real(a**b),
}


class Arithmetic:
    """Operators that build an :class:`Expression` from the text of their operands."""

    def _text(self) -> str:
        raise NotImplementedError

    def __add__(self, other: Any) -> Expression:
        return _join(self, "+", other)

    def __radd__(self, other: Any) -> Expression:
        return _join(other, "+", self)

    def __sub__(self, other: Any) -> Expression:
        return _join(self, "-", other)

    def __rsub__(self, other: Any) -> Expression:
        return _join(other, "-", self)

    def __mul__(self, other: Any) -> Expression:
        return _join(self, "*", other)

    def __rmul__(self, other: Any) -> Expression:
        return _join(other, "*", self)

    def __truediv__(self, other: Any) -> Expression:
        return _join(self, "/", other)

    def __rtruediv__(self, other: Any) -> Expression:
        return _join(other, "/", self)

    def __pow__(self, other: Any) -> Expression:
        return _join(self, "**", other)

    def __neg__(self) -> Expression:
        return Expression(f"-({self._text()})")


@dataclass(frozen=True)
class Expression(Arithmetic):
    """A formula over named quantities, kept as text in one normal form.

    >>> Expression("length/2 +  0.1").text
    'length / 2 + 0.1'
    """

    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", ast.unparse(_parse(self.text)))

    def __str__(self) -> str:
        return self.text

    def _text(self) -> str:
        return self.text

    @property
    def names(self) -> frozenset[str]:
        """The quantities this formula depends on."""
        return _names(self.text)


#: What may stand for a number: a number, a formula in text, a parameter, an expression. Fields keep it as float or Expression.
Scalar: TypeAlias = float | str | Arithmetic
Vector3: TypeAlias = tuple[Scalar, Scalar, Scalar]
ZERO_VECTOR: Vector3 = (0.0, 0.0, 0.0)
#: One number, or several.
Scalars: TypeAlias = Scalar | tuple[Scalar, ...]


def as_scalar(value: Any) -> float | Expression:
    """Turn whatever may stand for a number into a float or an :class:`Expression`."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, Arithmetic):
        return Expression(value._text())
    if isinstance(value, str):
        expression = Expression(value)
        if expression.names:
            return expression
        number = finite(evaluate(expression, {}))
        if number is None:
            raise MechanismError(f"expected a finite number, but '{expression}' is {evaluate(expression, {})}")
        return number
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise MechanismError(f"expected a number or a formula, got {shown(value)}")
    number = finite(value)
    if number is None:
        raise MechanismError(f"expected a finite number, got {shown(value)}")
    return number


def evaluate(value: Scalar, scope: Mapping[str, Any]) -> Any:
    """Return the value of ``value`` with its names taken from ``scope`` (floats or CasADi symbols)."""
    if type(value) is float and math.isfinite(value):
        return value
    value = as_scalar(value)
    if not isinstance(value, Expression):
        return value
    unknown = sorted(value.names - scope.keys())
    if unknown:
        raise MechanismError(
            f"'{value}' uses '{unknown[0]}', which is not declared{closest(unknown[0], scope)} "
            f"Known here: {listed(sorted(scope))}."
        )
    try:
        return _value(_tree(value.text), scope)
    except (ZeroDivisionError, OverflowError, _NotRealError) as error:
        numbers = ", ".join(f"{name} = {scope[name]!r}" for name in sorted(value.names))
        outcome = {ZeroDivisionError: "divides by zero", OverflowError: "is too large for a number"}.get(
            type(error), "has no real value"
        )
        raise MechanismError(f"'{value}' {outcome} with {numbers or 'no parameters'}") from None
    except RecursionError:
        raise MechanismError(f"{shown(value.text)} {_TOO_DEEP}") from None


#: Formulas are asked for values and names again and again: their trees are kept.
KEPT = 10_000


@lru_cache(KEPT)
def _tree(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@lru_cache(KEPT)
def _names(text: str) -> frozenset[str]:
    found = {node.id for node in ast.walk(_tree(text)) if isinstance(node, ast.Name)}
    return frozenset(found - FUNCTIONS.keys() - CONSTANTS.keys())


def _join(left: Any, operator: str, right: Any) -> Expression:
    sides = [side._text() if isinstance(side, Arithmetic) else repr(float(side)) for side in (left, right)]
    return Expression(f"({sides[0]}) {operator} ({sides[1]})")


_TOO_DEEP = f"is nested too deep for a formula (at most {DEEPEST} levels; each term of a sum is one); write it shorter"


class _NotRealError(ArithmeticError):
    """A power of a negative number is complex."""


def _real(power: Any) -> Any:
    if isinstance(power, complex):
        raise _NotRealError
    return power


def _parse(text: str) -> ast.Expression:
    if len(text) > LONGEST:
        raise MechanismError(f"a formula has {len(text)} characters, {shown(text)}; at most {LONGEST} are read")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        if _depth(tree) > DEEPEST:
            raise RecursionError
        _check(tree.body, text)
    except (SyntaxError, ValueError):
        raise MechanismError(f"{shown(text)} is not a formula; write for example 'length / 2'") from None
    except (RecursionError, MemoryError):  # which of them, depends on the version of Python
        raise MechanismError(f"{shown(text)} {_TOO_DEEP}") from None
    return tree


def _depth(tree: ast.Expression) -> int:
    depth, level = 0, [tree.body]
    while level:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    return depth


def _check(node: ast.AST, text: str) -> None:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            if finite(number) is None:
                raise MechanismError(f"{shown(text)} holds the number {shown(number)}, which is not finite, or too large")
        case ast.Name(id=name):
            if name in FUNCTIONS:
                raise MechanismError(f"'{text}': '{name}' is a function; write {name}(...)")
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            _check(left, text)
            _check(right, text)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            _check(operand, text)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            if name not in FUNCTIONS:
                raise MechanismError(
                    f"'{text}' calls '{name}', which is not a known function{closest(name, FUNCTIONS)} "
                    f"Functions: {listed(FUNCTIONS)}."
                )
            if len(args) != _ARITY.get(name, 1):
                raise MechanismError(f"'{text}': {name} takes {_ARITY.get(name, 1)} argument(s), got {len(args)}")
            for argument in args:
                _check(argument, text)
        case _:
            raise MechanismError(
                f"'{text}' is not a formula: only numbers, names, + - * / **, parentheses, pi and "
                f"{listed(FUNCTIONS)} can be used"
            )


def _value(node: ast.expr, scope: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=number):
            return float(number)  # type: ignore[arg-type]  # _check let only int and float through
        case ast.Name(id=name):
            return CONSTANTS[name] if name in CONSTANTS else scope[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](_value(left, scope), _value(right, scope))
        case ast.UnaryOp(op=op, operand=operand):
            value = _value(operand, scope)
            return -value if isinstance(op, ast.USub) else value
        case ast.Call(func=ast.Name(id=name), args=args):
            import casadi  # formulas are read long before they have values

            return getattr(casadi, FUNCTIONS[name])(*(_value(argument, scope) for argument in args))
    raise AssertionError(f"unchecked node {node!r}")
