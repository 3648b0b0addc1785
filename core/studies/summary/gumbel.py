"""The distribution of extremes: Gumbel's, fitted by maximum likelihood or by moments, with confidence.

The largest value in a time T has the distribution F(x) = exp(-exp(-(x - u) / b)) in the limit of many independent maxima. In
a time D it has the same shape, moved by b ln(D / T); its mode, the most probable maximum, is u + b ln(D / T).

Location and scale are estimated such that (u^ - u) / b^ and b^ / b have distributions which do not depend on u and b. Of
these pivots the confidence limits here are made, by simulation for the number of values at hand, so that they hold for few
values, too, and not in the limit of many only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError

#: Euler's constant.
EULER = 0.5772156649015329
#: Fewer values than this say nothing about a distribution.
FEWEST = 3
#: Simulated samples behind confidence limits, and their seed. Limits of 90 % are then good to some 3 % of their distance.
SIMULATED, SIMULATION_SEED = 4000, 20
#: Random numbers that are drawn for that at most; of many values the limits are close to each other anyway.
MOST_DRAWN = 1_000_000
#: Three hours, in s.
THREE_HOURS = 10800.0


@dataclass(frozen=True)
class Gumbel:
    """A fitted distribution of the largest value in a time."""

    location: float
    scale: float
    #: Number of values that it was fitted to.
    count: int
    #: ``"maximum likelihood"`` or ``"moments"``.
    method: str = "maximum likelihood"

    def moved(self, ratio: float) -> Gumbel:
        """Return the distribution of the largest value in a time that is ``ratio`` times as long."""
        return Gumbel(self.location + self.scale * math.log(ratio), self.scale, self.count, self.method)

    @property
    def mode(self) -> float:
        """The most probable maximum."""
        return self.location

    def quantile(self, probability: ArrayLike) -> FloatArray:
        """Return what the largest value stays below with some probability."""
        return self.location - self.scale * np.log(-np.log(np.asarray(probability, dtype=float)))

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Return the probability that the largest value is below x."""
        return np.exp(-np.exp(-(np.asarray(x, dtype=float) - self.location) / self.scale))

    def interval(self, reduced: float, ratio: float = 1.0, confidence: float = 0.9) -> tuple[float, float]:
        """Return confidence limits of u + b (reduced + ln ratio), reduced = -ln(-ln p) for the quantile of p, 0 for the mode.

        Only fits by maximum likelihood have any.
        """
        k = reduced + math.log(ratio)
        location, scale = _simulated(self.count)
        # (x^ - x) / b^ with u = 0 and b = 1.
        pivot = (location + scale * k - k) / scale
        low, high = np.quantile(pivot, [(1 - confidence) / 2, (1 + confidence) / 2])
        best = self.location + self.scale * k
        return float(best - self.scale * high), float(best - self.scale * low)


def fit_gumbel(values: ArrayLike, method: str = "maximum likelihood") -> Gumbel:
    """Fit a distribution to the largest values of several runs of the same length."""
    x = np.asarray(values, dtype=float)
    if x.ndim != 1 or len(x) < FEWEST or not np.isfinite(x).all():
        raise KingpostError(f"a distribution of extremes needs {FEWEST} finite values or more; there are {x.size}")
    spread = float(np.ptp(x))
    if not spread > 1e-12 * float(np.abs(x).max()):
        raise KingpostError(f"the {len(x)} largest values are all {x[0]:g}; there is no distribution to be fitted")
    if method == "moments":
        # Mean u + gamma b, variance (pi b)^2 / 6.
        scale = math.sqrt(6.0) / math.pi * float(x.std(ddof=1))
        return Gumbel(float(x.mean()) - EULER * scale, scale, len(x), method)
    location, scales = _likeliest(x[None, :] / spread)
    return Gumbel(float(location[0]) * spread, float(scales[0]) * spread, len(x), method)


def _likeliest(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return location and scale of each row by maximum likelihood.

    The scale is where g(b) = b - mean(x) + sum(x e) / sum(e) with e = exp(-x / b) is zero; g grows with b from below 0, and its
    slope is 1 + var_e(x) / b^2, so that Newton's method within a bracket finds it.
    """
    least = x.min(axis=1, keepdims=True)
    y = x - least
    mean = y.mean(axis=1)
    low, high = np.zeros(len(y)), np.maximum(mean, np.finfo(float).tiny)  # g(mean) > 0
    b = np.clip(math.sqrt(6.0) / math.pi * y.std(axis=1), 1e-3 * high, high)
    for _ in range(200):
        e = np.exp(-y / b[:, None])
        total = e.sum(axis=1)
        first = (y * e).sum(axis=1) / total
        g = b - mean + first
        variance = (y * y * e).sum(axis=1) / total - first**2
        low, high = np.where(g < 0, b, low), np.where(g >= 0, b, high)
        step = b - g / (1 + variance / b**2)
        new = np.where((step > low) & (step < high), step, (low + high) / 2)
        settled = np.abs(new - b) <= 1e-14 * b
        b = new
        if settled.all():
            break
    location = -b * np.log(np.exp(-y / b[:, None]).mean(axis=1)) + least[:, 0]
    return location, b


@lru_cache(maxsize=64)
def _simulated(count: int) -> tuple[FloatArray, FloatArray]:
    """Return fits to samples of the distribution with location 0 and scale 1."""
    random = np.random.default_rng([SIMULATION_SEED, count])
    samples = int(np.clip(MOST_DRAWN // count, SIMULATED // 8, SIMULATED))
    return _likeliest(random.gumbel(size=(samples, count)))
