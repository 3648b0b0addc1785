"""Eigenvalues along a parameter: branches followed from value to value, and the values at which they change their nature.

Eigenvalues are joined to branches by their vectors: what is left of the identity when the vectors at one value are written in
those at the one before. So branches that cross go through each other. Displacements that nothing depends on, such as the place
of a vehicle on its road, and speeds that nothing changes have eigenvalues zero, often without enough vectors; they are taken
out before, and counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.statics.linearize import Linearisation

ComplexArray: TypeAlias = NDArray[np.complex128]
#: Of the largest eigenvalue: a real part beyond this grows; round-off of a double eigenvalue is its square root, 1e-8.
GROWING = 1e-7
#: Of the largest eigenvalue: an imaginary part beyond this makes a pair.
PAIRED = 1e-6
#: Of the largest eigenvalue: round-off of a simple one.
ROUNDING = 1e-11
#: Of the largest entry of A: a column below it is zero, and nothing depends on that displacement.
IGNORABLE = 1e-12
#: Of the largest singular value of A: one below it is zero, and some sum of states never changes.
CONSTANT = 1e-13
#: How often an interval is halved for a critical value: down to 1e-6 of it. Secants find the rest.
HALVINGS = 20
#: Of a value, how far the ends of these secants are from it, one after the other: each squares the error of the one before.
REACHES = (1e-4, 1e-5, 1e-6)
#: Critical values that are nearer to each other than this part of the range are one.
SAME = 1e-6


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The eigenvalues of a linear system, without those of displacements that nothing depends on and of constant speeds."""

    values: ComplexArray
    #: Shapes as columns: displacements along the speeds of all joints, the largest being 1.
    shapes: ComplexArray
    #: Vectors as columns, in displacements and speeds of all joints and states of forces, of length 1.
    vectors: ComplexArray
    #: How many eigenvalues are zero because nothing depends on some displacements.
    zeros: int

    @property
    def size(self) -> float:
        """The largest size of an eigenvalue."""
        return float(np.abs(self.values).max(initial=0.0))

    @property
    def growing(self) -> int:
        """How many eigenvalues have a positive real part."""
        return int((self.values.real > GROWING * self.size).sum())

    @property
    def pairs(self) -> int:
        """How many pairs of conjugate eigenvalues there are."""
        return int((self.values.imag > PAIRED * self.size).sum())


@dataclass(frozen=True, eq=False)
class Critical:
    """A value at which the nature of the eigenvalues changes, and what it changes to as the value rises."""

    value: float
    #: "divergence" or "flutter", where an eigenvalue or a pair passes the imaginary axis; "pair" where two real ones meet.
    kind: str
    eigenvalue: complex
    #: How many eigenvalues have positive real parts, and how many pairs there are, below and above.
    growing: tuple[int, int]
    pairs: tuple[int, int]
    shape: ComplexArray

    @property
    def words(self) -> str:
        """What happens, in words."""
        before, after = self.growing
        if self.kind == "pair":
            return (
                "two real eigenvalues become a pair" if self.pairs[1] > self.pairs[0] else "a pair becomes two real eigenvalues"
            )
        what = "a pair" if self.kind == "flutter" else "an eigenvalue"
        if before == 0 or after == 0:
            return f"{'stable' if after == 0 else 'unstable'} from here on: {what} {'stops growing' if after == 0 else 'grows'}"
        return f"{what} {'grows, too' if after > before else 'stops growing'}; {after} of {before} growing eigenvalues are left"


@dataclass(frozen=True, eq=False)
class Loci:
    """Eigenvalues of a machine along a value that was swept."""

    model: str
    name: str
    unit: str
    #: All values, in order; those without a linear system are in ``left_out``, with the reason.
    values: FloatArray
    #: Eigenvalues in 1/s, a row for each value and a column for each branch; NaN where left out.
    eigenvalues: ComplexArray
    #: Shapes: value, coordinate of ``shape_names``, branch.
    shapes: ComplexArray
    shape_names: tuple[str, ...]
    criticals: tuple[Critical, ...]
    left_out: Mapping[float, str] = field(default_factory=dict)
    #: Eigenvalues that are zero throughout, as nothing depends on some displacements; they are no branches.
    zeros: int = 0

    @property
    def branches(self) -> int:
        return int(self.eigenvalues.shape[1])

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which values have eigenvalues."""
        return np.array([value not in self.left_out for value in self.values])

    @property
    def stable(self) -> NDArray[np.bool_]:
        """At which values no small motion grows."""
        size = np.abs(np.where(self.known[:, None], self.eigenvalues, 0)).max(axis=1, initial=0.0)
        grows = np.where(self.known[:, None], self.eigenvalues.real, np.inf).max(axis=1, initial=-np.inf)
        return np.asarray(grows <= GROWING * size)


def spectrum(system: Linearisation) -> Spectrum:
    """Return the eigenvalues of a linear system and their shapes."""
    A = system.A
    kept = _kept(A)
    Q = _changing(A[np.ix_(kept, kept)])
    values, inner = np.linalg.eig(Q.T @ A[np.ix_(kept, kept)] @ Q) if Q.shape[1] else (np.zeros(0), np.zeros((0, 0)))
    moving = np.zeros((len(A), len(values)), complex)
    moving[kept] = Q @ inner
    n, m = system.displacement_map.shape[1], system.speed_map.shape[1]
    parts = [system.displacement_map @ moving[:n], system.speed_map @ moving[n : n + m], moving[n + m :]]
    vectors: ComplexArray = np.vstack(parts)
    length = np.linalg.norm(vectors, axis=0)
    vectors = vectors / np.where(length > 0, length, 1)
    shapes = np.zeros((len(system.shape_names), len(values)), complex)
    for k, column in enumerate(moving.T):
        shapes[:, k] = _shape(system, column[:n], column[n : n + m])
    return Spectrum(np.asarray(values, complex), shapes, vectors, len(A) - len(values))


def _shape(system: Linearisation, displacements: ComplexArray, speeds: ComplexArray) -> ComplexArray:
    """Return the displacements of all joints, or the speeds of a motion without any, the largest being 1."""
    shape = system.displacement_map @ displacements
    if not np.abs(shape).max(initial=0.0) > 0:
        shape = system.speed_map @ speeds
    largest = shape[np.argmax(np.abs(shape))] if shape.size else 0.0
    return np.asarray(shape / largest if largest else shape, complex)


def _kept(A: FloatArray) -> list[int]:
    """Return the rows without those, one after the other, whose state nothing among the rest depends on."""
    left, least = list(range(len(A))), IGNORABLE * np.abs(A).max(initial=0.0)
    while True:
        unused = [j for j in left if np.abs(A[left, j]).max(initial=0.0) <= least]
        if not unused:
            return left
        left = [j for j in left if j not in unused]


def _changing(A: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the states but for sums of states that never change: rows w with w A = 0.

    They have eigenvalues zero, and all other vectors are in the basis.
    """
    if not len(A):
        return A
    U, sizes, _ = np.linalg.svd(A)
    return np.asarray(U[:, sizes > CONSTANT * sizes[0]])


def followed(spectra: Sequence[Spectrum | None]) -> tuple[ComplexArray, ComplexArray, int]:
    """Return eigenvalues and shapes along branches (NaN where there is none), and how many are zero throughout."""
    there = [item for item in spectra if item is not None]
    count = max(len(item.values) for item in there)
    zeros = min(item.zeros for item in there)
    names = there[0].shapes.shape[0]
    values = np.full((len(spectra), count), math.nan, complex)
    shapes = np.full((len(spectra), names, count), math.nan, complex)
    before: Spectrum | None = None
    for i, item in enumerate(spectra):
        if item is None:
            continue
        now = _padded(item, count)
        order = _first_order(now) if before is None else _matched(before, now)
        before = Spectrum(now.values[order], now.shapes[:, order], now.vectors[:, order], now.zeros)
        values[i], shapes[i] = before.values, before.shapes
    return values, shapes, zeros


def _padded(item: Spectrum, count: int) -> Spectrum:
    """Return a spectrum with eigenvalues zero that belong to displacements on which something depends elsewhere."""
    more = count - len(item.values)
    if not more:
        return item
    shapes, vectors = (np.hstack([part, np.zeros((len(part), more))]) for part in (item.shapes, item.vectors))
    return Spectrum(np.append(item.values, np.zeros(more)), shapes, vectors, item.zeros - more)


def _first_order(item: Spectrum) -> list[int]:
    """Return the least stable first, pairs together."""
    rounded = np.round(item.values / (item.size or 1.0), 9)
    return sorted(range(len(rounded)), key=lambda i: (-rounded[i].real, abs(rounded[i].imag), -rounded[i].imag))


def _matched(before: Spectrum, now: Spectrum) -> list[int]:
    """Return which eigenvalue now continues each of those before: by vectors, and by distance where they do not tell."""
    from scipy.optimize import linear_sum_assignment  # slow to import

    size = max(before.size, now.size) or 1.0
    cost = np.abs(before.values[:, None] - now.values[None, :]) / size
    if before.vectors.shape[0] == now.vectors.shape[0]:
        shares = np.abs(np.linalg.pinv(before.vectors, rcond=PAIRED) @ now.vectors)
        largest = shares.max(axis=0, initial=0.0)
        cost = cost + 1 - shares / np.where(largest > 0, largest, 1)
    rows, columns = linear_sum_assignment(cost)
    return [int(columns[list(rows).index(i)]) for i in range(len(before.values))]


def critical_values(
    values: Sequence[float], spectra: Sequence[Spectrum | None], spectrum_at: Callable[[float], Spectrum]
) -> tuple[Critical, ...]:
    """Return the values at which the number of growing eigenvalues or of pairs changes between neighbours, by bisection.

    What changes and changes back between two neighbours is not seen; what lies next to a value that was left out neither.
    """
    scale = abs(values[-1] - values[0])
    found: list[Critical] = []
    for a, b, left, right in zip(values, values[1:], spectra, spectra[1:], strict=False):
        if left is None or right is None:
            continue
        for what in ("growing", "pairs"):
            found += _changes(what, (a, left), (b, right), spectrum_at)
    stability = [item for item in found if item.kind != "pair"]
    kept = [
        item
        for item in found
        if item.kind != "pair" or all(abs(item.value - other.value) > SAME * scale for other in stability)
    ]
    return tuple(sorted(kept, key=lambda item: item.value if values[-1] > values[0] else -item.value))


Place: TypeAlias = tuple[float, Spectrum]


def _changes(what: str, low: Place, high: Place, spectrum_at: Callable[[float], Spectrum]) -> Iterator[Critical]:
    """Yield every change of a count that bisection meets between two places."""
    for _ in range(len(low[1].values) + 1):
        if getattr(low[1], what) == getattr(high[1], what):
            return
        inner, outer = low, high
        for _ in range(HALVINGS):
            middle = (inner[0] + outer[0]) / 2
            if middle in (inner[0], outer[0]):
                break
            try:
                place = (middle, spectrum_at(middle))
            except SolverError:
                return
            inner, outer = (place, outer) if getattr(place[1], what) == getattr(low[1], what) else (inner, place)
        yield _critical(what, inner, outer, spectrum_at)
        low = outer


def _critical(what: str, before: Place, after: Place, spectrum_at: Callable[[float], Spectrum]) -> Critical:
    """Return what happens between two places that are all but one."""
    value, there = after
    counts = (before[1].growing, there.growing), (before[1].pairs, there.pairs)
    if what == "pairs":
        # Two that meet are the pair with the smallest imaginary part, on the side where they are one.
        paired = there if there.pairs > before[1].pairs else before[1]
        upper = np.flatnonzero(paired.values.imag > 0)
        k = int(upper[np.argmin(paired.values.imag[upper])])
        at = complex(paired.values[k].real)
        return Critical(_polished(value, at, spectrum_at, False), "pair", at, *counts, paired.shapes[:, k])
    more, fewer = (there, before[1]) if there.growing > before[1].growing else (before[1], there)
    size = max(more.size, fewer.size)
    grows = np.flatnonzero((more.values.real > GROWING * more.size) & (more.values.imag > -PAIRED * size))
    k = int(grows[np.argmin(more.values.real[grows])])
    eigenvalue = complex(more.values[k])
    kind = "flutter" if eigenvalue.imag > math.sqrt(GROWING) * size else "divergence"
    value = _polished(value, eigenvalue, spectrum_at, True)
    return Critical(value, kind, complex(0.0, eigenvalue.imag if kind == "flutter" else 0.0), *counts, more.shapes[:, k])


def _polished(value: float, eigenvalue: complex, spectrum_at: Callable[[float], Spectrum], passes: bool) -> float:
    """Return where an eigenvalue that passes the axis has no real part; else, or where it only leaves it, where two meet.

    The real part, and the squared difference of two that meet, are smooth there, so a secant finds their zeros.
    """

    def real_part(there: Spectrum) -> float:
        real = float(there.values[np.argmin(np.abs(there.values - eigenvalue))].real)
        return real if abs(real) > ROUNDING * there.size else 0.0

    def squared_difference(there: Spectrum) -> float:
        one, other = there.values[np.argsort(np.abs(there.values - eigenvalue))[:2]]
        return float(((one - other) ** 2).real)

    for measure in (real_part, squared_difference) if passes else (squared_difference,):
        found = value
        for reach in REACHES:
            low, high = (found + side * reach * max(abs(value), 1e-3) for side in (-1, 1))
            try:
                below, above = (measure(spectrum_at(at)) for at in (low, high))
            except (SolverError, ValueError):  # nothing there, or a single eigenvalue
                break
            if not below * above < 0:
                break
            found = low - (high - low) * below / (above - below)
        if found != value:
            return found
    return value
