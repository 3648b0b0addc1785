"""Taylor series through expressions: all total derivatives of a function along a curve, up to some order.

A function that is differentiated with respect to time again and again grows by a factor each time. Its Taylor series, found
operation by operation, grows with the square of the order: what eight derivatives of the equations of a crane need. The
coefficients are those of ``x(t + s) = x_0 + x_1 s + x_2 s^2 + ...``, so that x_k is the k-th derivative over k!.

The same rules serve symbols (:func:`taylor`, for compiled code) and numbers (:class:`TaylorSeries`, at once, without any code).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError

#: The coefficients of one scalar; zeros that are known to be zero are the float 0.0.
Series = list[Any]


def taylor(function: ca.Function, order: int) -> ca.Function:
    """Return the function of Taylor coefficients that belongs to a function of SX expressions.

    Each argument and result of n entries becomes an n x (order + 1) matrix whose column k holds the coefficients of s^k.
    Comparisons are decided at s = 0: beside a jump the series is that of the side on which the argument is.
    """
    tape = _Tape(function)
    arguments = [ca.SX.sym(name, size, order + 1) for name, size in tape.arguments]
    results = tape.run(_SYMBOLS, order, lambda argument, place, j: arguments[argument][place, j])
    columns = [
        ca.reshape(
            ca.vertcat(ca.SX(0, 1), *(ca.SX(series[j]) for j in range(order + 1) for series in rows)), len(rows), order + 1
        )
        for rows in results
    ]
    return ca.Function(f"{function.name()}_taylor_{order}", arguments, ca.cse([ca.densify(column) for column in columns]))


class TaylorSeries:
    """The function of Taylor coefficients that belongs to a function of SX expressions, for numbers.

    >>> x = ca.SX.sym("x")
    >>> TaylorSeries(ca.Function("f", [x], [x**2]))(np.array([[3.0, 1.0, 0.0]]))[0].tolist()
    [[9.0, 6.0, 1.0]]
    """

    def __init__(self, function: ca.Function) -> None:
        self._tape = _Tape(function)

    def __call__(self, *arguments: FloatArray) -> list[FloatArray]:
        """Return the coefficients of all results: entries x orders, as the arguments, or entries x orders x many series."""
        given = [np.asarray(argument, dtype=float) for argument in arguments]
        count = given[0].shape[1]
        shape = (count, *given[0].shape[2:])
        if given[0].ndim == 2:
            return self._tape.run_rows(count - 1, given)
        results = self._tape.run(_ARRAYS, count - 1, lambda argument, place, j: given[argument][place, j])
        found = []
        for rows in results:
            values = np.zeros((len(rows), *shape))
            for i, series in enumerate(rows):
                for j, value in enumerate(series):
                    values[i, j] = value
            found.append(values)
        return found


#: Operations that whole rows of coefficients undergo at once.
_ROWS: dict[int, Callable[..., FloatArray]] = {
    ca.OP_ASSIGN: lambda u: u,
    ca.OP_ADD: np.add,
    ca.OP_SUB: np.subtract,
    ca.OP_NEG: np.negative,
    ca.OP_MUL: lambda u, v: np.convolve(u, v)[: len(u)],
    ca.OP_SQ: lambda u: np.convolve(u, u)[: len(u)],
    ca.OP_TWICE: lambda u: 2.0 * u,
}


class _Tape:
    """The operations of a function, in their order."""

    def __init__(self, function: ca.Function) -> None:
        expanded = function.expand(f"{function.name()}_expanded")
        self.name = function.name()
        self.arguments = [(expanded.name_in(i), expanded.numel_in(i)) for i in range(expanded.n_in())]
        self._sizes = [expanded.numel_out(i) for i in range(expanded.n_out())]
        self._room = expanded.sz_w()
        # Sparse arguments and results are indexed by their nonzeros.
        places = [expanded.sparsity_in(i).find() for i in range(expanded.n_in())]
        outputs = [expanded.sparsity_out(i).find() for i in range(expanded.n_out())]
        self._operations: list[tuple[int, int, tuple[Any, ...]]] = []
        for k in range(expanded.n_instructions()):
            code = expanded.instruction_id(k)
            into, of = expanded.instruction_output(k), expanded.instruction_input(k)
            if code == ca.OP_INPUT:
                self._operations.append((code, into[0], (of[0], places[of[0]][of[1]])))
            elif code == ca.OP_OUTPUT:
                self._operations.append((code, into[0], (outputs[into[0]][into[1]], of[0])))
            elif code == ca.OP_CONST:
                self._operations.append((code, into[0], (float(expanded.instruction_constant(k)),)))
            elif code in _RULES:
                self._operations.append((code, into[0], tuple(of)))
            else:
                raise KingpostError(f"operation number {code} of CasADi in '{self.name}' has no Taylor series here")

    def run_rows(self, order: int, given: Sequence[FloatArray]) -> list[FloatArray]:
        """Return the series of all results for one series of each argument, in numbers."""
        results = [np.zeros((size, order + 1)) for size in self._sizes]
        work: list[Any] = [None] * self._room
        for code, into, of in self._operations:
            if code == ca.OP_INPUT:
                work[into] = given[of[0]][of[1]]
            elif code == ca.OP_OUTPUT:
                results[into][of[0]] = work[of[1]]
            elif code == ca.OP_CONST:
                work[into] = np.array(_constant(of[0], order))
            elif code in _ROWS:
                work[into] = _ROWS[code](*(work[i] for i in of))
            else:
                work[into] = np.array(_RULES[code](_NUMBERS, *(work[i].tolist() for i in of)))
        return results

    def run(self, ops: Any, order: int, entry: Callable[[int, int, int], Any]) -> list[list[Series]]:
        """Return the series of all results, for the arguments that ``entry(argument, place, order)`` gives."""
        results: list[list[Series]] = [[[0.0] * (order + 1) for _ in range(size)] for size in self._sizes]
        work: list[Series] = [[] for _ in range(self._room)]
        for code, into, of in self._operations:
            if code == ca.OP_INPUT:
                work[into] = [entry(of[0], of[1], j) for j in range(order + 1)]
            elif code == ca.OP_OUTPUT:
                results[into][of[0]] = work[of[1]]
            elif code == ca.OP_CONST:
                work[into] = _constant(of[0], order)
            else:
                work[into] = _RULES[code](ops, *(work[i] for i in of))
        return results


def _constant(value: float, order: int) -> Series:
    return [float(value)] + [0.0] * order


def _zero(value: Any) -> bool:
    return isinstance(value, float) and value == 0.0


def _times(a: Any, b: Any) -> Any:
    if _zero(a) or _zero(b):
        return 0.0
    return a * b


def _plus(a: Any, b: Any) -> Any:
    return b if _zero(a) else a if _zero(b) else a + b


def _total(items: Any) -> Any:
    result: Any = 0.0
    for item in items:
        result = _plus(result, item)
    return result


def _add(u: Series, v: Series) -> Series:
    return [_plus(a, b) for a, b in zip(u, v, strict=True)]


def _negative(u: Series) -> Series:
    return [_times(-1.0, a) if not isinstance(a, float) else -a for a in u]


def _subtract(u: Series, v: Series) -> Series:
    return _add(u, _negative(v))


def _scaled(factor: Any, u: Series) -> Series:
    return [_times(factor, a) for a in u]


def _multiply(u: Series, v: Series) -> Series:
    return [_total(_times(u[j], v[n - j]) for j in range(n + 1)) for n in range(len(u))]


def _divide(u: Series, v: Series) -> Series:
    w: Series = []
    for n in range(len(u)):
        rest = _total(_times(v[j], w[n - j]) for j in range(1, n + 1))
        left = _plus(u[n], _times(-1.0, rest))
        w.append(0.0 if _zero(left) else left / v[0])
    return w


def _one(u: Series) -> Series:
    return _constant(1.0, len(u) - 1)


def _square(u: Series) -> Series:
    return _multiply(u, u)


def _sqrt(ops: Any, u: Series) -> Series:
    w: Series = [ops.sqrt(u[0])]
    for n in range(1, len(u)):
        rest = _total(_times(w[j], w[n - j]) for j in range(1, n))
        left = _plus(u[n], _times(-1.0, rest))
        w.append(0.0 if _zero(left) else left / (2 * w[0]))
    return w


def _weighted(n: int, u: Series, w: Series) -> Any:
    """Return the coefficient n of the integral of u' w: (1/n) sum of j u_j w_(n-j)."""
    return _times(1.0 / n, _total(_times(float(j), _times(u[j], w[n - j])) for j in range(1, n + 1)))


def _integrated(begin: Any, u: Series, slope: Series) -> Series:
    """Return the function whose derivative with respect to u is ``slope``."""
    return [begin, *(_weighted(n, u, slope) for n in range(1, len(u)))]


def _exp(ops: Any, u: Series) -> Series:
    w: Series = [ops.exp(u[0])]
    for n in range(1, len(u)):
        w.append(_weighted(n, u, w + [0.0]))
    return w


def _log(ops: Any, u: Series) -> Series:
    return _integrated(ops.log(u[0]), u, _divide(_one(u), u))


def _circular(u: Series, sign: float, sine: Callable[[Any], Any], cosine: Callable[[Any], Any]) -> tuple[Series, Series]:
    s: Series = [sine(u[0])]
    c: Series = [cosine(u[0])]
    for n in range(1, len(u)):
        after_s, after_c = _weighted(n, u, c + [0.0]), _times(sign, _weighted(n, u, s + [0.0]))
        s.append(after_s)
        c.append(after_c)
    return s, c


def _sin(ops: Any, u: Series) -> Series:
    return _circular(u, -1.0, ops.sin, ops.cos)[0]


def _cos(ops: Any, u: Series) -> Series:
    return _circular(u, -1.0, ops.sin, ops.cos)[1]


def _tan(ops: Any, u: Series) -> Series:
    return _divide(*_circular(u, -1.0, ops.sin, ops.cos))


def _sinh(ops: Any, u: Series) -> Series:
    return _circular(u, 1.0, ops.sinh, ops.cosh)[0]


def _cosh(ops: Any, u: Series) -> Series:
    return _circular(u, 1.0, ops.sinh, ops.cosh)[1]


def _tanh(ops: Any, u: Series) -> Series:
    return _divide(*_circular(u, 1.0, ops.sinh, ops.cosh))


def _power(ops: Any, u: Series, v: Series) -> Series:
    exponent = v[0]
    if isinstance(exponent, ca.SX) and exponent.is_constant():
        exponent = float(exponent)
    if not isinstance(exponent, float) or any(not _zero(a) for a in v[1:]):
        return _exp(ops, _multiply(v, _log(ops, u)))
    if exponent.is_integer() and 0 <= exponent <= 16:
        # By products, which are right where u vanishes, too.
        result = _one(u)
        for _ in range(int(exponent)):
            result = _multiply(result, u)
        return result
    w: Series = [ops.power(u[0], exponent)]
    for n in range(1, len(u)):
        left = _total(_times(exponent * j - (n - j), _times(u[j], w[n - j])) for j in range(1, n + 1))
        w.append(0.0 if _zero(left) else left / (n * u[0]))
    return w


def _atan2(ops: Any, y: Series, x: Series) -> Series:
    # (x y' - y x') / (x^2 + y^2), integrated.
    square = _add(_square(x), _square(y))
    along, across = _divide(x, square), _divide(y, square)
    rest = zip(_integrated(0.0, y, along)[1:], _integrated(0.0, x, across)[1:], strict=True)
    return [ops.atan2(y[0], x[0]), *(_plus(a, _times(-1.0, b)) for a, b in rest)]


def _inverse(name: str, slope: Callable[[Any, Series], Series]) -> Callable[..., Series]:
    return lambda ops, u: _integrated(getattr(ops, name)(u[0]), u, slope(ops, u))


def _step(name: str) -> Callable[..., Series]:
    """Return the rule of a function that is constant beside its jumps."""
    return lambda ops, *u: [getattr(ops, name)(*(a[0] for a in u))] + [0.0] * (len(u[0]) - 1)


def _chosen(ops: Any, condition: Any, u: Series, v: Series) -> Series:
    return [ops.if_else(condition, a, b) for a, b in zip(u, v, strict=True)]


def _remainder(ops: Any, u: Series, v: Series) -> Series:
    quotient = (u[0] - ops.fmod(u[0], v[0])) / v[0]
    return _subtract(u, _scaled(quotient, v))


def _if_else_zero(ops: Any, condition: Series, u: Series) -> Series:
    return [0.0 if _zero(a) else ops.if_else(condition[0], a, 0.0) for a in u]


def _copysign(ops: Any, u: Series, v: Series) -> Series:
    return _chosen(ops, ops.eq(ops.copysign(u[0], v[0]), u[0]), u, _negative(u))


def _circle(ops: Any, u: Series) -> Series:
    """Return 1 / sqrt(1 - u^2)."""
    return _divide(_one(u), _sqrt(ops, _subtract(_one(u), _square(u))))


def _plain(rule: Callable[..., Series]) -> Callable[..., Series]:
    """Return a rule that needs no functions beyond arithmetic."""
    return lambda ops, *u: rule(*u)


_RULES: dict[int, Callable[..., Series]] = {
    ca.OP_ASSIGN: lambda ops, u: u,
    ca.OP_LIFT: lambda ops, u, guess: u,
    ca.OP_ADD: _plain(_add),
    ca.OP_SUB: _plain(_subtract),
    ca.OP_NEG: _plain(_negative),
    ca.OP_MUL: _plain(_multiply),
    ca.OP_DIV: _plain(_divide),
    ca.OP_INV: lambda ops, u: _divide(_one(u), u),
    ca.OP_TWICE: lambda ops, u: _scaled(2.0, u),
    ca.OP_SQ: _plain(_square),
    ca.OP_SQRT: _sqrt,
    ca.OP_EXP: _exp,
    ca.OP_EXPM1: lambda ops, u: [ops.expm1(u[0]), *_exp(ops, u)[1:]],
    ca.OP_LOG: _log,
    ca.OP_LOG1P: lambda ops, u: [ops.log1p(u[0]), *_log(ops, _add(_one(u), u))[1:]],
    ca.OP_SIN: _sin,
    ca.OP_COS: _cos,
    ca.OP_TAN: _tan,
    ca.OP_SINH: _sinh,
    ca.OP_COSH: _cosh,
    ca.OP_TANH: _tanh,
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
    ca.OP_HYPOT: lambda ops, u, v: _sqrt(ops, _add(_square(u), _square(v))),
    ca.OP_ATAN2: _atan2,
    ca.OP_ATAN: _inverse("atan", lambda ops, u: _divide(_one(u), _add(_one(u), _square(u)))),
    ca.OP_ASIN: _inverse("asin", _circle),
    ca.OP_ACOS: _inverse("acos", lambda ops, u: _negative(_circle(ops, u))),
    ca.OP_ATANH: _inverse("atanh", lambda ops, u: _divide(_one(u), _subtract(_one(u), _square(u)))),
    ca.OP_ASINH: _inverse("asinh", lambda ops, u: _divide(_one(u), _sqrt(ops, _add(_one(u), _square(u))))),
    ca.OP_ACOSH: _inverse("acosh", lambda ops, u: _divide(_one(u), _sqrt(ops, _subtract(_square(u), _one(u))))),
    ca.OP_ERF: _inverse("erf", lambda ops, u: _scaled(2 / math.sqrt(math.pi), _exp(ops, _negative(_square(u))))),
    ca.OP_FABS: lambda ops, u: _chosen(ops, ops.lt(u[0], 0.0), _negative(u), u),
    ca.OP_FMIN: lambda ops, u, v: _chosen(ops, ops.le(u[0], v[0]), u, v),
    ca.OP_FMAX: lambda ops, u, v: _chosen(ops, ops.le(v[0], u[0]), u, v),
    ca.OP_COPYSIGN: _copysign,
    ca.OP_FMOD: _remainder,
    ca.OP_IF_ELSE_ZERO: _if_else_zero,
    ca.OP_SIGN: _step("sign"),
    ca.OP_FLOOR: _step("floor"),
    ca.OP_CEIL: _step("ceil"),
    ca.OP_NOT: _step("logic_not"),
    ca.OP_AND: _step("logic_and"),
    ca.OP_OR: _step("logic_or"),
    ca.OP_LT: _step("lt"),
    ca.OP_LE: _step("le"),
    ca.OP_EQ: _step("eq"),
    ca.OP_NE: _step("ne"),
}

_FUNCTIONS = (
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2"),
    *("exp", "expm1", "log", "log1p", "sqrt", "power", "erf", "fmod", "copysign", "floor", "ceil", "sign"),
    *("logic_not", "logic_and", "logic_or", "lt", "le", "eq", "ne", "if_else"),
)


def _symbolic() -> SimpleNamespace:
    return SimpleNamespace(**{name: getattr(ca, name) for name in _FUNCTIONS})


def _numeric() -> SimpleNamespace:
    other = {
        "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
        "atanh": np.arctanh, "atan2": np.arctan2, "erf": np.vectorize(math.erf, otypes=[float]),
        "logic_not": np.logical_not, "logic_and": np.logical_and, "logic_or": np.logical_or,
        "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "if_else": np.where,
    }  # fmt: skip
    return SimpleNamespace(**{name: other.get(name) or getattr(np, name) for name in _FUNCTIONS})


def _scalar(function: Callable[..., Any]) -> Callable[..., float]:
    """Return a NumPy function for plain numbers, whose results are plain numbers, too."""
    return lambda *arguments: float(function(*arguments))


_SYMBOLS, _ARRAYS = _symbolic(), _numeric()
_NUMBERS = SimpleNamespace(**{name: _scalar(getattr(_ARRAYS, name)) for name in _FUNCTIONS})


def scaled_powers(tau: float, order: int) -> Sequence[float]:
    """Return tau^k / k! for k from 0 to ``order``: what turns derivatives into Taylor coefficients of t / tau."""
    return [tau**k / math.factorial(k) for k in range(order + 1)]
