"""Poles of error dynamics, and the gains that belong to them."""

from __future__ import annotations

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError

#: How far a pole may be from the conjugate of its partner, in parts of its size.
CONJUGATE = 1e-9


def gains_of(poles: float | str | tuple[float, ...], order: int) -> FloatArray:
    """Return k_0 ... k_(order-1) of e^(order) + k_(order-1) e^(order-1) + ... + k_0 e = 0 with these poles.

    One number stands for all; else as many as the order, complex ones ("-2+1j") in pairs. Document 003 says after eq. (33) that
    the roots lie in the right-hand plane; errors decay if they lie in the left.
    """
    found = _read(poles, order)
    growing = [pole for pole in found if not pole.real < 0]
    if growing:
        raise MechanismError(
            f"poles: {_shown(growing[0])} 1/s is not in the left half-plane, so that errors would not decay; give "
            "numbers below zero",
            path=("poles",),
        )
    coefficients = np.poly(found)
    if np.abs(coefficients.imag).max() > CONJUGATE * np.abs(coefficients).max():
        raise MechanismError("poles: complex ones come in pairs, such as '-2+1j -2-1j'", path=("poles",))
    return np.ascontiguousarray(coefficients.real[:0:-1])


def _read(poles: float | str | tuple[float, ...], order: int) -> list[complex]:
    words = poles.replace(";", " ").split() if isinstance(poles, str) else [poles] if isinstance(poles, int | float) else poles
    try:
        found = [complex(word) for word in words]
    except (ValueError, TypeError):
        raise MechanismError(
            f"poles: {poles!r} are no numbers; write for example '-3' or '-2 -3 -4+1j -4-1j'", path=("poles",)
        ) from None
    if not np.isfinite(found).all():
        raise MechanismError(f"poles: {poles!r} are not finite", path=("poles",))
    if len(found) == 1:
        found = found * order
    if len(found) != order:
        raise MechanismError(
            f"poles: {len(found)} were given, and the errors have order {order}; give one for all, or {order}", path=("poles",)
        )
    return found


def _shown(value: complex) -> str:
    return f"{value.real:g}" if value.imag == 0 else f"{value:g}"
