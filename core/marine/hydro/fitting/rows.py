"""What a fit is judged by: the change of the hull's motions in waves, and of the memory itself.

A memory that differs from the data's by dK changes the motions x by exactly -Z^-1 i w dK x, with the impedance Z of the changed
hull and the motions x of the unchanged one. With Z from the last fit that is linear in dK, so the motions themselves can be
fitted by least squares. The memory itself counts, too, though less: a hull may carry something, or be moored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.marine.hydro.data import ComplexArray, HydroData
from kingpost.marine.hydro.fitting.residues import BlockRows
from kingpost.marine.hydro.fitting.target import FitTarget
from kingpost.marine.hydro.response import as_complex, impedance, motion_response, radiation_transfer

#: A motion below this part of the largest one of its kind (in m and, over a metre, in rad) does not take place.
MOVES = 1e-6
#: How much an error of K, relative to its largest value, counts beside an error of motions, relative to theirs.
MEMORY_WEIGHT = 1.0
#: What a correction of the added mass by 3 %, as much as another mesh may do, counts beside an error of motions of one.
CORRECTION_WEIGHT, CORRECTION = 3e-3, 0.03
#: The same where the data have no limit of the added mass to begin with.
UNKNOWN_LIMIT = 1e-6


@dataclass(frozen=True, eq=False)
class Motions:
    """Motions of a hull by its data (n, headings, 6), their largest values (6), and its impedance without radiation."""

    data: HydroData
    response: ComplexArray
    largest: FloatArray

    def impedance(self, radiation: ComplexArray | None) -> ComplexArray:
        """Return the impedance with another radiation than that of the data."""
        return impedance(self.data, radiation=radiation)

    def errors(self, radiation: ComplexArray) -> ComplexArray:
        """Return errors of motions with another radiation, relative to the largest value of each (n, headings, 6)."""
        found = motion_response(self.data, radiation=radiation) - self.response
        return as_complex(np.where(self.largest > 0, found, 0.0) / np.where(self.largest > 0, self.largest, 1.0))


def motions_of(data: HydroData) -> Motions | None:
    """Return the motions of a hull, or None where its data do not hold what they follow from."""
    if data.inertia is None or data.restoring is None or data.excitation is None:
        return None
    response = motion_response(data)
    largest = np.abs(response).max(axis=(0, 1))
    for half in (slice(0, 3), slice(3, 6)):
        largest[half] = np.where(largest[half] > MOVES * largest[half].max(), largest[half], 0.0)
    return Motions(data, response, largest)


def block_rows(
    motions: tuple[int, ...],
    target: FitTarget,
    moving: Motions | None,
    radiation: ComplexArray | None,
    emphasis: FloatArray | None = None,
) -> BlockRows:
    """Return the least-squares rows of a block, with the impedance that belongs to ``radiation``.

    ``emphasis`` multiplies the rows of the motions (n, headings, 6).
    """
    parts = [_memory_rows(motions, target)]
    if moving is not None:
        parts.append(_motion_rows(motions, target, moving, radiation, emphasis))
    return BlockRows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def correction_weights(motions: tuple[int, ...], target: FitTarget, known: bool) -> FloatArray:
    """Return what holds the correction of the added mass of every entry near zero, for the scaled problem."""
    upper = np.triu_indices(len(motions))
    own = np.ix_(motions, motions)
    diagonal = np.abs(np.diag(target.added_mass_inf)[list(motions)])
    diagonal = np.maximum(diagonal, 1e-3 * target.size[list(motions)])
    mass = np.sqrt(np.outer(diagonal, diagonal))
    return (CORRECTION_WEIGHT if known else UNKNOWN_LIMIT) * (target.scale[own] / (CORRECTION * mass))[upper]


def pole_weights(motions: tuple[int, ...], target: FitTarget, moving: Motions | None) -> FloatArray:
    """Return weights (entries, n) by which poles are found: the root of what an error of an entry does to the whole."""
    rows = block_rows(motions, target, moving, None)
    n = len(target.frequencies)
    place = np.searchsorted(target.frequencies, rows.frequency)
    total = np.zeros((rows.entries.shape[1], n))
    for entry in range(len(total)):
        total[entry] = np.bincount(place, np.abs(rows.entries[:, entry]) ** 2, n)
    return np.sqrt(total)


def _memory_rows(motions: tuple[int, ...], target: FitTarget) -> tuple[ComplexArray, ComplexArray, FloatArray]:
    upper = np.triu_indices(len(motions))
    n, count = len(target.frequencies), len(upper[0])
    own = np.ix_(range(n), motions, motions)
    scaled = (target.K[own] / target.scale[own[1:]][0])[:, upper[0], upper[1]]
    weight = MEMORY_WEIGHT / np.sqrt(n) * np.where(upper[0] == upper[1], 1.0, np.sqrt(2.0))
    entries = np.zeros((n, count, count), complex)
    entries[:, range(count), range(count)] = weight
    return entries.reshape(-1, count), (weight * scaled).ravel(), np.repeat(target.frequencies, count)


def _motion_rows(
    motions: tuple[int, ...],
    target: FitTarget,
    moving: Motions,
    radiation: ComplexArray | None,
    emphasis: FloatArray | None,
) -> tuple[ComplexArray, ComplexArray, FloatArray]:
    data, w = moving.data, target.frequencies
    n, headings = len(w), len(data.headings)
    moved = np.flatnonzero(moving.largest > 0)
    inverse = np.linalg.inv(moving.impedance(radiation))[:, moved][:, :, list(motions)] / moving.largest[moved][:, None]
    x = moving.response[:, :, list(motions)]
    # d(motion a, heading h) = sum over i, j of  i w inverse[a, i] K[i, j] x[h, j].
    whole = 1j * w[:, None, None, None, None] * inverse[:, None, :, :, None] * x[:, :, None, None, :] / np.sqrt(n * headings)
    if emphasis is not None:
        whole = whole * emphasis[:, :, moved][..., None, None]
    own = np.ix_(range(n), motions, motions)
    K = (radiation_transfer(data) - 1j * w[:, None, None] * target.added_mass_inf)[own]
    wanted = np.einsum("nhaij,nij->nha", whole, K)
    scaled = whole * target.scale[np.ix_(motions, motions)]
    upper = np.triu_indices(len(motions))
    both = scaled + np.swapaxes(scaled, -1, -2) * (1 - np.eye(len(motions)))
    entries = both[..., upper[0], upper[1]]
    return entries.reshape(-1, len(upper[0])), wanted.ravel(), np.repeat(w, headings * len(moved))
