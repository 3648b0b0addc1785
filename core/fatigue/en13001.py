"""Classes of EN 13001: of stress histories (S), of load spectra (Q) and of the number of working cycles (U).

The limits are general engineering knowledge, each about twice the one before, and were not verified against the text of the
standard: verify them against the edition that a project works to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kingpost.base.errors import KingpostError
from kingpost.fatigue.counting import Cycles
from kingpost.fatigue.equivalent import HistoryParameter, history_parameter

#: Said with every class.
VERIFY_CLASSES = "classes of EN 13001 as generally known; verify their limits against the licensed edition"
#: Upper limits of the stress history parameter s_m.
STRESS_CLASSES = (
    ("S02", 0.002), ("S01", 0.004), ("S0", 0.008), ("S1", 0.016), ("S2", 0.032), ("S3", 0.063), ("S4", 0.125), ("S5", 0.25),
    ("S6", 0.5), ("S7", 1.0), ("S8", 2.0), ("S9", 4.0),
)  # fmt: skip
#: Up to this s_m no proof of fatigue is asked for.
NO_PROOF = 0.001
#: Upper limits of the load spectrum factor k_Q, with the exponent 3.
LOAD_CLASSES = (("Q0", 0.0313), ("Q1", 0.0625), ("Q2", 0.125), ("Q3", 0.25), ("Q4", 0.5), ("Q5", 1.0))
#: Upper limits of the number of working cycles.
USE_CLASSES = (
    ("U0", 1.6e4), ("U1", 3.15e4), ("U2", 6.3e4), ("U3", 1.25e5), ("U4", 2.5e5), ("U5", 5e5), ("U6", 1e6), ("U7", 2e6),
    ("U8", 4e6), ("U9", 8e6),
)  # fmt: skip
#: The exponent of load spectrum factors.
LOAD_EXPONENT = 3.0
#: What is so much above a limit is on it: class limits have three digits, and sums their rounding.
ROUNDING = 1e-9


def stress_class(s_m: float) -> str:
    """Return the class S02 ... S9 of a stress history parameter; ``"none"`` where no proof is asked for.

    Beyond the last class there is none, which ``">S9"`` says.
    """
    if _checked("stress history parameter s_m", s_m) <= NO_PROOF * (1.0 + ROUNDING):
        return "none"
    return _class_of(s_m, STRESS_CLASSES)


def use_class(cycles: float) -> str:
    """Return the class U0 ... U9 of a number of working cycles."""
    return _class_of(_checked("number of working cycles", cycles), USE_CLASSES)


def load_class(k_q: float) -> str:
    """Return the class Q0 ... Q5 of a load spectrum factor."""
    if _checked("load spectrum factor k_Q", k_q) > 1.0 + ROUNDING:
        raise KingpostError(f"the load spectrum factor k_Q = {k_q:g} is above 1, which only loads above the rated one give")
    return _class_of(k_q, LOAD_CLASSES)


def load_spectrum_factor(loads: ArrayLike, counts: ArrayLike, rated: float) -> float:
    """Return k_Q = sum (Q_i / Q)^3 C_i / C of loads (kg, or N) that are lifted C_i times with a rated load Q."""
    sizes, numbers = np.asarray(loads, dtype=float), np.asarray(counts, dtype=float)
    if sizes.shape != numbers.shape or sizes.ndim != 1 or not sizes.size:
        raise KingpostError(f"give as many loads as counts; got {sizes.shape} and {numbers.shape}")
    if not 0.0 < rated < math.inf or not (sizes >= 0.0).all() or not (numbers >= 0.0).all() or not numbers.sum() > 0.0:
        raise KingpostError("a rated load is above 0, loads and counts are 0 or more, and something must be lifted")
    if sizes.max() > rated * (1.0 + ROUNDING):
        raise KingpostError(f"a load of {sizes.max():g} is above the rated one of {rated:g}; a spectrum has none above it")
    return float(np.sum((sizes / rated) ** LOAD_EXPONENT * numbers) / numbers.sum())


@dataclass(frozen=True)
class CraneClass:
    """A counted signal, repeated over a life, in the words of EN 13001."""

    parameter: HistoryParameter
    #: S02 ... S9, ``"none"`` below them, ``">S9"`` above.
    stress_class: str
    years: float


def crane_class(cycles: Cycles, slope: float, duration: float, years: float, year: float) -> CraneClass:
    """Return the class of a signal of ``duration`` seconds that goes on for ``years`` of ``year`` seconds."""
    if not 0.0 < years < math.inf:
        raise KingpostError(f"a life of {years:g} years is none; give a number above 0, such as 25")
    parameter = history_parameter(cycles, slope, years * year / duration)
    return CraneClass(parameter, stress_class(parameter.s_m), years)


def _class_of(number: float, classes: Sequence[tuple[str, float]]) -> str:
    name = next((name for name, limit in classes if number <= limit * (1.0 + ROUNDING)), None)
    return f">{classes[-1][0]}" if name is None else name


def _checked(what: str, number: float) -> float:
    if not 0.0 <= number < math.inf:
        raise KingpostError(f"the {what} is {number:g}; give a number of 0 or more")
    return number
