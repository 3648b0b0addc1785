"""Trajectories of every kind, and how far off their numbers may be."""

import numpy as np

from kingpost.mechanism.trajectories import (
    HIGHEST_ORDER,
    NO_NAMES,
    RestToRest,
    Sampled,
    ThreePhase,
    differentiate,
)

EPS = np.finfo(float).eps
ORDERS = range(HIGHEST_ORDER + 1)
UNIT = RestToRest(0.0, 1.0, 0.0, 1.0)
#: The reference function of document 000: tau = 20 s, tau0 = 5 s.
CRANE = ThreePhase(0.0, 1.0, 0.0, 20.0, 5.0)
SAMPLE_TIMES = (-0.5, 0.0, 0.4, 1.0, 1.3, 2.0, 2.2, 3.0)
SAMPLE_VALUES = (1.0, 0.0, 2.0, 2.5, -1.0, 0.5, 0.5, 3.0)
SAMPLED = [Sampled(SAMPLE_TIMES, SAMPLE_VALUES, kind) for kind in ("hold", "linear", "cubic", "quintic")]


def size(trajectory, order, scope=NO_NAMES, least=0.0):
    """The sum of the absolute terms of a derivative, for ways of at least ``least``: its rounding is a multiple of this."""
    begins, pieces = trajectory._pieces(scope)
    total = 0.0
    for i, piece in enumerate(pieces):
        span = abs(begins[i] - begins[i - 1]) / abs(piece.length) if 0 < i < len(begins) else 0.0
        terms = differentiate(piece.polynomial.coefficients, order)
        sum_of_terms = sum(abs(c) * max(1.0, span) ** power for power, c in enumerate(terms))
        scale = max(abs(piece.scale), least) / abs(piece.length) ** order
        total = max(total, abs(piece.offset) * (order == 0) + scale * sum_of_terms)
    return total


def rounding(trajectory, order, scope=NO_NAMES, least=0.0):
    """A bound for the difference of two ways to compute a derivative.

    Horner's rule for degree n is off by 2 n eps of the sum of the absolute terms, and the rounding of s and of the factors
    costs a few n eps more. A joint computed from other times, up to 5 s, is off by 5 eps / 2; where spans are 0.1 s and more
    that moves s by 25 eps and the sum by 25 n eps. With n <= 9 and two computations, all this is below 1000 eps.
    """
    return 1000 * EPS * size(trajectory, order, scope, least)
