"""Mean-stress correction: ranges at zero mean that do as much damage as cycles with a tensile mean.

None by default: welded details hold residual stresses near yield, and their S-N curves say so already. Where a correction is
wanted, the S-N curve has to be one of fully reversed stress (zero mean).

    Goodman   R_0 = R / (1 - mean / ultimate)
    Walker    R_0 = R (2 peak / R)^(1 - gamma),   peak = mean + R / 2

Compression is given no credit: a mean below zero counts as zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.fatigue.counting import Cycles
from kingpost.fatigue.sn import megapascals

RULES = ("none", "goodman", "walker")
#: What a rule needs to be told, and what that looks like.
NEEDS = {"goodman": "ultimate_strength", "walker": "walker_exponent"}
EXAMPLES = {"ultimate_strength": "520e6 (Pa)", "walker_exponent": "0.65 (1 is no correction, 0.5 is Smith, Watson and Topper)"}
#: Metals are between some 10 MPa and some GPa; numbers outside are in another unit.
WEAKEST, STRONGEST = 1e6, 1e10


@dataclass(frozen=True)
class MeanStress:
    """A rule for mean stresses.

    Parameters
    ----------
    rule
        ``"none"``, ``"goodman"`` or ``"walker"``.
    ultimate_strength
        Of Goodman's rule, Pa.
    walker_exponent
        gamma of Walker's rule, above 0 and at most 1.

    """

    rule: str = "none"
    ultimate_strength: float | None = None
    walker_exponent: float | None = None

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise KingpostError(f"mean_stress = '{self.rule}' is no rule{closest(self.rule, RULES)} Rules: {listed(RULES)}.")
        for rule, key in NEEDS.items():
            given = getattr(self, key)
            if rule == self.rule and given is None:
                raise KingpostError(f"mean_stress = '{rule}' needs '{key}', e.g. {EXAMPLES[key]}")
            if rule != self.rule and given is not None:
                raise KingpostError(
                    f"'{key}' belongs to mean_stress = '{rule}', and the rule here is '{self.rule}'; remove one"
                )
        if self.ultimate_strength is not None and not WEAKEST <= self.ultimate_strength <= STRONGEST:
            raise KingpostError(
                f"ultimate_strength = {self.ultimate_strength:g} Pa is no strength of a metal; give it in Pa, e.g. 520e6"
            )
        if self.walker_exponent is not None and not 0.0 < self.walker_exponent <= 1.0:
            raise KingpostError(f"walker_exponent = {self.walker_exponent:g} must be above 0 and at most 1, e.g. 0.65")

    @property
    def words(self) -> str:
        """The rule with its number, as a sentence says it."""
        if self.ultimate_strength is not None:
            return f"Goodman with an ultimate strength of {megapascals(self.ultimate_strength):g} MPa"
        if self.walker_exponent is not None:
            return f"Walker with gamma = {self.walker_exponent:g}"
        return "none"

    def factors(self, ranges: FloatArray, means: FloatArray) -> FloatArray:
        """Return what ranges (Pa) with these means are to be multiplied by; refuse means at or beyond the ultimate strength."""
        tensile = np.maximum(means, 0.0)
        if self.ultimate_strength is not None:
            beyond = tensile >= self.ultimate_strength
            if beyond.any():
                worst = float(tensile.max())
                raise KingpostError(
                    f"{int(beyond.sum())} of {len(tensile)} cycles have a mean stress at or above the ultimate strength of "
                    f"{megapascals(self.ultimate_strength):g} MPa, the largest {megapascals(worst):.4g} MPa: the part breaks "
                    "before it tires. Check the coefficients (Pa per N or per N.m), the stress concentration factor and the "
                    "loads"
                )
            return np.asarray(1.0 / (1.0 - tensile / self.ultimate_strength))
        if self.walker_exponent is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                factors = (1.0 + 2.0 * tensile / ranges) ** (1.0 - self.walker_exponent)
            return np.asarray(np.where(ranges > 0.0, factors, 1.0))
        return np.ones_like(tensile)

    def corrected(self, cycles: Cycles) -> Cycles:
        """Return cycles whose ranges are those at zero mean."""
        if self.rule == "none":
            return cycles
        return replace(cycles, range=cycles.range * self.factors(cycles.range, cycles.mean))

    def spectral_factor(self, mean: float) -> float:
        """Return what all ranges about one mean are multiplied by; refuse Walker's rule, where that depends on the range."""
        if self.rule == "walker":
            raise KingpostError(
                "Walker's rule depends on the range of each cycle, so that there is no damage from a spectrum by it; leave "
                "spectral damage out, or take mean_stress = 'goodman'"
            )
        factor = float(self.factors(np.ones(1), np.array([mean]))[0])
        assert math.isfinite(factor)
        return factor
