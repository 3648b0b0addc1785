"""Taylor series through expressions: all total derivatives of a function along a curve, up to some order.

A function that is differentiated with respect to time again and again grows by a factor each time. Its Taylor series, found
operation by operation, grows with the square of the order: what eight derivatives of the equations of a crane need. The
coefficients are those of ``x(t + s) = x_0 + x_1 s + x_2 s^2 + ...``, so that x_k is the k-th derivative over k!.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca

from kingpost.base.errors import KingpostError

#: The coefficients of one scalar; zeros that are known to be zero are the float 0.0.
Series = list[Any]


def taylor(function: ca.Function, order: int) -> ca.Function:
    """Return the function of Taylor coefficients that belongs to a function of SX expressions.

    Each argument and result of n entries becomes an n x (order + 1) matrix whose column k holds the coefficients of s^k.
    Comparisons are decided at s = 0: beside a jump the series is that of the side on which the argument is.
    """
    expanded = function.expand(f"{function.name()}_expanded")
    sizes = [expanded.numel_in(i) for i in range(expanded.n_in())]
    arguments = [ca.SX.sym(expanded.name_in(i), size, order + 1) for i, size in enumerate(sizes)]
    # Sparse arguments are indexed by their nonzeros.
    places = [expanded.sparsity_in(i).find() for i in range(expanded.n_in())]
    outputs = [expanded.sparsity_out(i).find() for i in range(expanded.n_out())]
    results: list[list[Series]] = [[[0.0] * (order + 1) for _ in range(expanded.numel_out(i))] for i in range(expanded.n_out())]
    work: list[Series] = [[] for _ in range(expanded.sz_w())]
    for k in range(expanded.n_instructions()):
        code = expanded.instruction_id(k)
        into, of = expanded.instruction_output(k), expanded.instruction_input(k)
        if code == ca.OP_INPUT:
            argument, place = arguments[of[0]], places[of[0]][of[1]]
            work[into[0]] = [argument[place, j] for j in range(order + 1)]
        elif code == ca.OP_OUTPUT:
            results[into[0]][outputs[into[0]][into[1]]] = work[of[0]]
        elif code == ca.OP_CONST:
            work[into[0]] = _constant(expanded.instruction_constant(k), order)
        else:
            rule = _RULES.get(code)
            if rule is None:
                raise KingpostError(f"operation number {code} of CasADi in '{function.name()}' has no Taylor series here")
            work[into[0]] = rule(*(work[i] for i in of))
    columns = [
        ca.reshape(
            ca.vertcat(ca.SX(0, 1), *(_sx(series[j]) for j in range(order + 1) for series in rows)), len(rows), order + 1
        )
        for rows in results
    ]
    return ca.Function(f"{function.name()}_taylor_{order}", arguments, ca.cse([ca.densify(column) for column in columns]))


def _sx(value: Any) -> ca.SX:
    return ca.SX(value)


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


def _sqrt(u: Series) -> Series:
    w: Series = [ca.sqrt(u[0])]
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


def _exp(u: Series) -> Series:
    w: Series = [ca.exp(u[0])]
    for n in range(1, len(u)):
        w.append(_weighted(n, u, w + [0.0]))
    return w


def _log(u: Series) -> Series:
    return _integrated(ca.log(u[0]), u, _divide(_one(u), u))


def _circular(u: Series, sign: float, sine: Callable[[Any], Any], cosine: Callable[[Any], Any]) -> tuple[Series, Series]:
    s: Series = [sine(u[0])]
    c: Series = [cosine(u[0])]
    for n in range(1, len(u)):
        after_s, after_c = _weighted(n, u, c + [0.0]), _times(sign, _weighted(n, u, s + [0.0]))
        s.append(after_s)
        c.append(after_c)
    return s, c


def _sin(u: Series) -> Series:
    return _circular(u, -1.0, ca.sin, ca.cos)[0]


def _cos(u: Series) -> Series:
    return _circular(u, -1.0, ca.sin, ca.cos)[1]


def _tan(u: Series) -> Series:
    return _divide(*_circular(u, -1.0, ca.sin, ca.cos))


def _sinh(u: Series) -> Series:
    return _circular(u, 1.0, ca.sinh, ca.cosh)[0]


def _cosh(u: Series) -> Series:
    return _circular(u, 1.0, ca.sinh, ca.cosh)[1]


def _tanh(u: Series) -> Series:
    return _divide(*_circular(u, 1.0, ca.sinh, ca.cosh))


def _power(u: Series, v: Series) -> Series:
    exponent = v[0]
    if isinstance(exponent, ca.SX) and exponent.is_constant():
        exponent = float(exponent)
    if not isinstance(exponent, float) or any(not _zero(a) for a in v[1:]):
        return _exp(_multiply(v, _log(u)))
    if exponent.is_integer() and 0 <= exponent <= 16:
        # By products, which are right where u vanishes, too.
        result = _one(u)
        for _ in range(int(exponent)):
            result = _multiply(result, u)
        return result
    w: Series = [u[0] ** exponent]
    for n in range(1, len(u)):
        left = _total(_times(exponent * j - (n - j), _times(u[j], w[n - j])) for j in range(1, n + 1))
        w.append(0.0 if _zero(left) else left / (n * u[0]))
    return w


def _atan2(y: Series, x: Series) -> Series:
    # (x y' - y x') / (x^2 + y^2), integrated.
    square = _add(_square(x), _square(y))
    along, across = _divide(x, square), _divide(y, square)
    rest = zip(_integrated(0.0, y, along)[1:], _integrated(0.0, x, across)[1:], strict=True)
    return [ca.atan2(y[0], x[0]), *(_plus(a, _times(-1.0, b)) for a, b in rest)]


def _inverse(function: Callable[[Any], Any], slope: Callable[[Series], Series]) -> Callable[[Series], Series]:
    return lambda u: _integrated(function(u[0]), u, slope(u))


def _step(function: Callable[..., Any]) -> Callable[..., Series]:
    """Return the rule of a function that is constant beside its jumps."""
    return lambda *u: [function(*(a[0] for a in u))] + [0.0] * (len(u[0]) - 1)


def _chosen(condition: Any, u: Series, v: Series) -> Series:
    return [ca.if_else(condition, a, b) for a, b in zip(u, v, strict=True)]


def _remainder(u: Series, v: Series) -> Series:
    quotient = (u[0] - ca.fmod(u[0], v[0])) / v[0]
    return _subtract(u, _scaled(quotient, v))


def _unchanged(u: Series) -> Series:
    return u


def _if_else_zero(condition: Series, u: Series) -> Series:
    return [0.0 if _zero(a) else ca.if_else(condition[0], a, 0.0) for a in u]


_RULES: dict[int, Callable[..., Series]] = {
    ca.OP_ASSIGN: _unchanged,
    ca.OP_LIFT: lambda u, guess: u,
    ca.OP_ADD: _add,
    ca.OP_SUB: _subtract,
    ca.OP_NEG: _negative,
    ca.OP_MUL: _multiply,
    ca.OP_DIV: _divide,
    ca.OP_INV: lambda u: _divide(_one(u), u),
    ca.OP_TWICE: lambda u: _scaled(2.0, u),
    ca.OP_SQ: _square,
    ca.OP_SQRT: _sqrt,
    ca.OP_EXP: _exp,
    ca.OP_EXPM1: lambda u: [ca.expm1(u[0]), *_exp(u)[1:]],
    ca.OP_LOG: _log,
    ca.OP_LOG1P: lambda u: [ca.log1p(u[0]), *_log(_add(_one(u), u))[1:]],
    ca.OP_SIN: _sin,
    ca.OP_COS: _cos,
    ca.OP_TAN: _tan,
    ca.OP_SINH: _sinh,
    ca.OP_COSH: _cosh,
    ca.OP_TANH: _tanh,
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
    ca.OP_HYPOT: lambda u, v: _sqrt(_add(_square(u), _square(v))),
    ca.OP_ATAN2: _atan2,
    ca.OP_ATAN: _inverse(ca.atan, lambda u: _divide(_one(u), _add(_one(u), _square(u)))),
    ca.OP_ASIN: _inverse(ca.asin, lambda u: _divide(_one(u), _sqrt(_subtract(_one(u), _square(u))))),
    ca.OP_ACOS: _inverse(ca.acos, lambda u: _negative(_divide(_one(u), _sqrt(_subtract(_one(u), _square(u)))))),
    ca.OP_ATANH: _inverse(ca.atanh, lambda u: _divide(_one(u), _subtract(_one(u), _square(u)))),
    ca.OP_ASINH: _inverse(ca.asinh, lambda u: _divide(_one(u), _sqrt(_add(_one(u), _square(u))))),
    ca.OP_ACOSH: _inverse(ca.acosh, lambda u: _divide(_one(u), _sqrt(_subtract(_square(u), _one(u))))),
    ca.OP_ERF: _inverse(ca.erf, lambda u: _scaled(2 / math.sqrt(math.pi), _exp(_negative(_square(u))))),
    ca.OP_FABS: lambda u: _chosen(u[0] < 0, _negative(u), u),
    ca.OP_FMIN: lambda u, v: _chosen(u[0] <= v[0], u, v),
    ca.OP_FMAX: lambda u, v: _chosen(u[0] >= v[0], u, v),
    ca.OP_COPYSIGN: lambda u, v: _chosen(ca.copysign(u[0], v[0]) == u[0], u, _negative(u)),
    ca.OP_FMOD: _remainder,
    ca.OP_IF_ELSE_ZERO: _if_else_zero,
    ca.OP_SIGN: _step(ca.sign),
    ca.OP_FLOOR: _step(ca.floor),
    ca.OP_CEIL: _step(ca.ceil),
    ca.OP_NOT: _step(ca.logic_not),
    ca.OP_AND: _step(ca.logic_and),
    ca.OP_OR: _step(ca.logic_or),
    ca.OP_LT: _step(lambda a, b: a < b),
    ca.OP_LE: _step(lambda a, b: a <= b),
    ca.OP_EQ: _step(lambda a, b: a == b),
    ca.OP_NE: _step(lambda a, b: a != b),
}


def scaled_powers(tau: float, order: int) -> Sequence[float]:
    """Return tau^k / k! for k from 0 to ``order``: what turns derivatives into Taylor coefficients of t / tau."""
    return [tau**k / math.factorial(k) for k in range(order + 1)]
