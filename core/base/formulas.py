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
from typing import Any, TypeAlias

from kingpost.base.errors import MechanismError, closest, listed

#: What can be called in a formula, and what CasADi calls it; its functions take numbers and symbols alike.
FUNCTIONS = {
    **{name: name for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sqrt", "exp", "log", "tanh")},
    **{"abs": "fabs", "min": "fmin", "max": "fmax"},
}
CONSTANTS = {"pi": math.pi}
_ARITY = {"atan2": 2, "min": 2, "max": 2}
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
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
        nodes = ast.walk(ast.parse(self.text, mode="eval"))
        found = {node.id for node in nodes if isinstance(node, ast.Name)}
        return frozenset(found - FUNCTIONS.keys() - CONSTANTS.keys())


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
        return expression if expression.names else float(evaluate(expression, {}))
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise MechanismError(f"expected a number or a formula, got {value!r}")
    number = float(value)
    if not math.isfinite(number):
        raise MechanismError(f"expected a finite number, got {number}")
    return number


def evaluate(value: Scalar, scope: Mapping[str, Any]) -> Any:
    """Return the value of ``value`` with its names taken from ``scope`` (floats or CasADi symbols)."""
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
        return _value(ast.parse(value.text, mode="eval").body, scope)
    except ZeroDivisionError:
        numbers = ", ".join(f"{name} = {scope[name]!r}" for name in sorted(value.names))
        raise MechanismError(f"'{value}' divides by zero with {numbers or 'no parameters'}") from None


def _join(left: Any, operator: str, right: Any) -> Expression:
    sides = [side._text() if isinstance(side, Arithmetic) else repr(float(side)) for side in (left, right)]
    return Expression(f"({sides[0]}) {operator} ({sides[1]})")


def _parse(text: str) -> ast.Expression:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        raise MechanismError(f"'{text}' is not a formula; write for example 'length / 2'") from None
    _check(tree.body, text)
    return tree


def _check(node: ast.AST, text: str) -> None:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            if not math.isfinite(number):
                raise MechanismError(f"'{text}' holds the number {number}, which is not finite")
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
