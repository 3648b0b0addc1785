"""S-N curves with one or two slopes, from Python or from TOML, and Miner's damage on them.

Curves hold their constants in MPa, as standards print them; stresses come in Pa and are converted in :func:`megapascals` alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.base.fields import fill
from kingpost.fatigue.counting import Cycles
from kingpost.fatigue.equivalent import LARGEST_SLOPE, SMALLEST_SLOPE
from kingpost.fatigue.tables import as_table, read_table

SHIPPED = Path(__file__).with_name("curves.toml")
#: Standards have exponents of the thickness correction between 0.05 and 0.3.
LARGEST_THICKNESS_EXPONENT = 2.0
#: Thinner plates are not welded.
SMALLEST_THICKNESS = 1e-4
#: Said with every damage that a shipped curve gave.
VERIFY = "shipped as an example; verify it against the licensed edition of the standard"


def megapascals(stress: Any) -> Any:
    """Return a stress in Pa in MPa. Nothing else here converts stresses."""
    return stress * 1e-6


@dataclass(frozen=True)
class SNCurve:
    """Cycles to failure over stress range: N = a1 / S^m1 down to the knee, N = a2 / S^m2 below it, S in MPa.

    ``log10_a2`` follows from continuity at the knee.

    Parameters
    ----------
    name
        How hot spots refer to it.
    m1, log10_a1
        Inverse slope and logarithm of the intercept of the first line.
    m2, N_knee
        Inverse slope of the second line and the number of cycles at which it begins; both or neither.
    t_ref, k
        Reference thickness in m and exponent of the thickness correction (t / t_ref)^k; both or neither.
    cut_off_range_MPa
        Stress ranges below this do no damage.
    environment, source
        What the curve is for, and which edition of which standard it is from.

    """

    name: str
    m1: float
    log10_a1: float
    m2: float | None = None
    N_knee: float | None = None
    t_ref: float | None = None
    k: float | None = None
    cut_off_range_MPa: float | None = None
    environment: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        what = f"S-N curve '{self.name}'"
        for key in ("m1", "log10_a1", "m2", "N_knee", "t_ref", "k", "cut_off_range_MPa"):
            number = getattr(self, key)
            if number is not None and not 0.0 < number < math.inf:
                raise KingpostError(f"{what}: {key} = {number:g} must be a number above 0")
        for key in ("m1", "m2"):
            number = getattr(self, key)
            if number is not None and not SMALLEST_SLOPE <= number <= LARGEST_SLOPE:
                raise KingpostError(
                    f"{what}: {key} = {number:g} is no inverse slope of an S-N curve; it lies between {SMALLEST_SLOPE:g} and "
                    f"{LARGEST_SLOPE:g} (welded steel has 3 to 5)"
                )
        if self.k is not None and self.k > LARGEST_THICKNESS_EXPONENT:
            raise KingpostError(
                f"{what}: k = {self.k:g} is no exponent of a thickness correction; standards have 0.05 to 0.3, and more than "
                f"{LARGEST_THICKNESS_EXPONENT:g} is not taken"
            )
        for one, other, need in (("m2", "N_knee", "A second slope"), ("t_ref", "k", "A thickness correction")):
            if (getattr(self, one) is None) != (getattr(self, other) is None):
                given, lacking = (other, one) if getattr(self, one) is None else (one, other)
                raise KingpostError(
                    f"{what} has {given} = {getattr(self, given):g} but no {lacking}. {need} takes both {one} and {other}; "
                    f"add {lacking}, or remove {given}"
                )
        if self.m2 is not None and self.m2 < self.m1:
            raise KingpostError(
                f"{what}: m2 = {self.m2:g} is smaller than m1 = {self.m1:g}. Beyond the knee a curve is flatter, that is, its "
                "inverse slope m2 is the larger; if the two lines are in the wrong order, exchange them with their intercepts"
            )
        if self.log10_a1 > 30.0:
            raise KingpostError(
                f"{what}: log10_a1 = {self.log10_a1:g} would be an intercept a1 of 1e{self.log10_a1:.0f}; give the logarithm "
                f"to base 10 for stress ranges in MPa (log10({self.log10_a1:g}) = {math.log10(self.log10_a1):.4g})"
            )
        if self.t_ref is not None and not SMALLEST_THICKNESS <= self.t_ref <= 1.0:
            raise KingpostError(f"{what}: t_ref = {self.t_ref:g} m is no plate thickness; give it in m, e.g. 0.025")

    @property
    def knee_range_MPa(self) -> float | None:
        """The stress range at the knee in MPa, None for a curve of one slope."""
        if self.N_knee is None:
            return None
        with np.errstate(over="ignore", under="ignore"):
            return float(np.float64(10.0) ** ((self.log10_a1 - math.log10(self.N_knee)) / self.m1))

    @property
    def log10_a2(self) -> float | None:
        """Logarithm of the intercept of the second line, by continuity; None for a curve of one slope."""
        if self.N_knee is None or self.m2 is None:
            return None
        log_knee = math.log10(self.N_knee)
        return log_knee + self.m2 * (self.log10_a1 - log_knee) / self.m1

    def cycles_to_failure(self, stress_range: ArrayLike) -> FloatArray:
        """Return N for stress ranges in Pa; infinite for a range of zero or below the cut-off."""
        size = megapascals(np.asarray(stress_range, dtype=float))
        if (size < 0.0).any() or np.isnan(size).any():
            raise KingpostError(f"S-N curve '{self.name}': a stress range is 0 or more, got {np.min(size):g} MPa")
        # An infinite number of cycles is a right answer, and none at all, too. In logarithms, since intercepts and powers can
        # be beyond the range of numbers where their quotient is not.
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            log_size = np.log10(size)
            log_cycles = self.log10_a1 - self.m1 * log_size
            if self.log10_a2 is not None and self.m2 is not None and self.N_knee is not None:
                second = log_cycles > math.log10(self.N_knee)
                log_cycles = np.where(second, self.log10_a2 - self.m2 * log_size, log_cycles)
            cycles = 10.0**log_cycles
        if self.cut_off_range_MPa is not None:
            cycles = np.where(size < self.cut_off_range_MPa, np.inf, cycles)
        return np.asarray(cycles, dtype=float)

    def thickness_factor(self, thickness: float | None) -> float:
        """Return what stress ranges are multiplied by: (t / t_ref)^k above t_ref; 1 below, or where anything is not given."""
        if thickness is None or self.t_ref is None or self.k is None or thickness <= self.t_ref:
            return 1.0
        return float((thickness / self.t_ref) ** self.k)


def miner_damage(cycles: Cycles, curve: SNCurve, factor: float = 1.0) -> float:
    """Return Miner's sum of n_i / N(R_i) for stress ranges R_i in Pa that are first multiplied by ``factor``."""
    with np.errstate(divide="ignore", over="ignore"):  # a range that nothing bears once does infinite damage
        return float(np.sum(cycles.count / curve.cycles_to_failure(factor * cycles.range)))


@dataclass(frozen=True)
class CurveSet:
    """S-N curves by name, and the file each is from."""

    curves: Mapping[str, SNCurve]
    files: Mapping[str, Path]

    def get(self, name: str) -> SNCurve:
        """Return a curve by name."""
        if name not in self.curves:
            raise KingpostError(
                f"there is no S-N curve '{name}'{closest(name, self.curves)} Curves: {listed(sorted(self.curves))}."
            )
        return self.curves[name]

    def shipped(self, name: str) -> bool:
        """Say whether a curve is one of the examples that are shipped."""
        return self.files.get(name) == SHIPPED


def read_curves(path: str | Path) -> dict[str, SNCurve]:
    """Return the S-N curves in a TOML file, each a table ``[curves.NAME]`` with the words of :class:`SNCurve`."""
    file = read_table(path, "S-N curve")
    file.check_keys(("curves",), "a file of S-N curves")
    curves = {}
    with file.refusing("curves"):
        if not file.data.get("curves"):
            raise KingpostError("there are no S-N curves in the file; write each as a table, [curves.NAME]")
        tables = as_table(file.data["curves"], "'curves'", "[curves.NAME]")
    for name, entry in tables.items():
        with file.refusing("curves", name):
            values = as_table(entry, f"S-N curve '{name}'", f"[curves.{name}]")
            if "name" in values:
                raise KingpostError(f"S-N curve '{name}' has its name in the heading [curves.{name}]; remove 'name'")
            curves[name] = fill(SNCurve, {"name": name, **values}, f"S-N curve '{name}'")
    return curves


def curve_set(path: str | Path | None = None) -> CurveSet:
    """Return the shipped curves and those in a file of the user's, which come first where names are the same."""
    curves = read_curves(SHIPPED)
    files = dict.fromkeys(curves, SHIPPED)
    if path is not None:
        own = read_curves(path)
        curves |= own
        files |= dict.fromkeys(own, Path(path))
    return CurveSet(curves, files)
