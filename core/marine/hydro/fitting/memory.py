"""The memory of the water as a sum of decaying terms: K(s) = sum R_k / (s - p_k)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.marine.hydro.data import MOTIONS, ComplexArray
from kingpost.marine.hydro.response import along_axis


@dataclass(frozen=True, eq=False)
class MemoryBlock:
    """The memory of motions that are coupled with each other: common poles, and a symmetric residue for each.

    Parameters
    ----------
    motions
        Which of surge to yaw, as numbers 0 to 5 (m).
    poles
        In 1/s (n), with negative real parts; of a conjugate pair the one with positive imaginary part stands for both.
    residues
        (n, m, m); a real pole has a real one.

    """

    motions: tuple[int, ...]
    poles: ComplexArray
    residues: ComplexArray

    @property
    def order(self) -> int:
        """The number of poles, pairs counted twice, which is the number of states for each motion."""
        return int(np.where(self.poles.imag > 0, 2, 1).sum())

    @property
    def names(self) -> tuple[str, ...]:
        """The motions by name."""
        return tuple(MOTIONS[i] for i in self.motions)

    def transfer(self, s: ComplexArray) -> ComplexArray:
        """Return K(s) for complex frequencies (k) as (k, m, m)."""
        return np.einsum("kn,nij->kij", 1 / (s[:, None] - self.poles), self.residues) + np.einsum(
            "kn,nij->kij", (self.poles.imag > 0) / (s[:, None] - self.poles.conj()), self.residues.conj()
        )

    def kernel(self, times: FloatArray) -> FloatArray:
        """Return K(t), the answer to a unit jump of a velocity's integral, for times (k) as (k, m, m)."""
        factor = np.where(self.poles.imag > 0, 2.0, 1.0)
        return np.einsum("kn,nij->kij", np.exp(np.outer(times, self.poles)) * factor, self.residues).real

    def terms(self) -> Iterator[tuple[complex, ComplexArray]]:
        """Yield poles and residues."""
        for pole, residue in zip(self.poles, self.residues, strict=True):
            yield complex(pole), residue


@dataclass(frozen=True, eq=False)
class Memory:
    """Radiation of a hull in the time domain: an added mass that acts at once, and a force that remembers.

    The force on the hull is -(added_mass_inf a + F), and F has the transfer function K(s) from the velocity of the reference
    point in axes of the mean heading.
    """

    added_mass_inf: FloatArray
    blocks: tuple[MemoryBlock, ...]
    reference: FloatArray

    @property
    def states(self) -> int:
        """The number of states."""
        return sum(block.order * len(block.motions) for block in self.blocks)

    def transfer(self, s: ComplexArray) -> ComplexArray:
        """Return K(s) of all six motions (k, 6, 6)."""
        return self._whole(len(s), [block.transfer(s) for block in self.blocks], complex)

    def radiation(self, frequencies: FloatArray) -> ComplexArray:
        """Return B + i w A as this memory has it (n, 6, 6)."""
        s = along_axis(frequencies)
        return self.transfer(s) + s[:, None, None] * self.added_mass_inf

    def kernel(self, times: FloatArray) -> FloatArray:
        """Return the retardation function K(t) (k, 6, 6)."""
        return self._whole(len(times), [block.kernel(times) for block in self.blocks], float)

    def state_space(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return A, B, C of z' = A z + B v, F = C z.

        A pair p = a + ib with residue r has A = [[a, b], [-b, a]], B = [1, 0]', C = 2 [Re r, Im r] for every motion.
        """
        n, column = self.states, 0
        A, B, C = np.zeros((n, n)), np.zeros((n, 6)), np.zeros((6, n))
        for block in self.blocks:
            for pole, residue in block.terms():
                for j, motion in enumerate(block.motions):
                    wide = 2 if pole.imag > 0 else 1
                    here = slice(column, column + wide)
                    A[here, here] = [[pole.real, pole.imag], [-pole.imag, pole.real]] if wide == 2 else pole.real
                    B[column, motion] = 1.0
                    C[list(block.motions), column] = wide * residue[:, j].real
                    if wide == 2:
                        C[list(block.motions), column + 1] = 2 * residue[:, j].imag
                    column += wide
        return A, B, C

    def options(self) -> dict[str, Any]:
        """Return the options of a force ``radiation`` with this memory, but for its body: plain numbers."""
        found: dict[str, list[Any]] = {"poles": [], "motions": [], "residues": []}
        for block in self.blocks:
            upper = np.triu_indices(len(block.motions))
            for pole, residue in block.terms():
                found["poles"].append((pole.real, pole.imag))
                found["motions"].append(block.names)
                found["residues"].append(tuple((float(r.real), float(r.imag)) for r in residue[upper]))
        numbers = {name: tuple(rows) for name, rows in found.items()}
        return {"added_mass": tuple(map(tuple, self.added_mass_inf.tolist())), **numbers}

    def _whole(self, count: int, parts: Sequence[Any], kind: type) -> Any:
        whole: Any = np.zeros((count, 6, 6), dtype=kind)
        for block, part in zip(self.blocks, parts, strict=True):
            whole[np.ix_(range(count), block.motions, block.motions)] = part
        return whole
