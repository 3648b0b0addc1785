"""Sums over the waves of a sea, as functions with a loop inside: their code does not grow with the number of waves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import casadi as ca

#: Waves whose code stands in a row, between two turns of the loop.
TOGETHER = 8
#: sin(pi y) / y and cos(pi y) as polynomials in y^2 for |y| <= 1/2, lowest power first: through the points of Chebyshev, with
#: errors of 7e-19 and 4e-18.
SINE = (
    3.141592653589793, -5.167712780049969, 2.5501640398773007, -0.5992645293189447, 0.0821458865731029, -0.007370430505916944,
    0.0004662998161898394, -2.1903497074626018e-05, 7.697826768224191e-07,
)  # fmt: skip
COSINE = (
    1.0, -4.934802200544676, 4.058712126416497, -1.335262768843447, 0.23533063012953284, -0.025806888737002202,
    0.0019295562724817132, -0.00010456655338748738, 4.149564353942586e-06,
)  # fmt: skip


def cosine_and_sine(turns: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return cosine and sine of an angle in turns, to rounding.

    They are most of what a wave costs. In plain arithmetic, without a call or a branch, a processor works on several waves at
    once: 200 waves take 3 us instead of 5 us with those of the C library; and they are the same bits on every machine.
    """
    half = turns - ca.floor(turns + 0.5)
    square = half * half
    sine, cosine = half * _horner(SINE, square), _horner(COSINE, square)
    return 1 - 2 * sine * sine, 2 * sine * cosine


def _horner(coefficients: Sequence[float], x: ca.SX) -> ca.SX:
    total = ca.SX(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def wave_sum(name: str, rows: int, waves: int, known: Sequence[str], each: Callable[..., ca.SX]) -> ca.Function:
    """Return the function (known..., numbers) -> sum over all waves of ``each`` (column of numbers, known...).

    ``known`` are scalars that are the same for all waves, such as the time; ``numbers`` is a matrix, a column for each wave.
    """
    together = math.gcd(waves, TOGETHER)
    columns = ca.SX.sym("wave", rows, together)
    scalars = [ca.SX.sym(word) for word in known]
    total = each(columns[:, 0], *scalars)
    for j in range(1, together):
        total = total + each(columns[:, j], *scalars)
    some = ca.Function(f"{name}_some", [*scalars, columns], [ca.densify(total)])
    return some.map(name, "serial", waves // together, list(range(len(scalars))), [0])


def smooth_ramp(t: ca.SX, ramp: float) -> ca.SX:
    """Return the part of the full size that is reached at ``t``, twice differentiable: 10 s^3 - 15 s^4 + 6 s^5."""
    if ramp == 0:
        return ca.SX(1)
    s = ca.fmin(ca.fmax(t / ramp, 0), 1)
    return s**3 * (10 - 15 * s + 6 * s**2)
