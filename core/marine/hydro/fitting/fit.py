"""A radiation memory from hydrodynamic data: poles and passive residues, with as few states as motions in waves allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, SolverError
from kingpost.marine.hydro.data import ComplexArray, HydroData
from kingpost.marine.hydro.fitting.basis import starting_poles
from kingpost.marine.hydro.fitting.memory import Memory, MemoryBlock
from kingpost.marine.hydro.fitting.poles import relocated
from kingpost.marine.hydro.fitting.residues import FittedBlock, passive_residues
from kingpost.marine.hydro.fitting.rows import Motions, block_rows, correction_weights, motions_of, pole_weights
from kingpost.marine.hydro.fitting.target import FitTarget, fit_target
from kingpost.marine.hydro.response import along_axis

ORDERS = (4, 6, 8, 10, 12)
#: Errors of motions, relative to their largest values, at which an order is high enough.
LIMIT = 0.004
#: Errors of K, relative to its largest value, where data hold no wave forces to judge a memory by motions.
MEMORY_LIMIT = 0.02
#: An order whose errors are larger than those of the best by less than this is as good, and has fewer states.
NEARLY = 1.1
#: How often the impedance of the last fit takes the place of that before, and how strongly large errors are emphasised.
REFITS = 6


@dataclass(frozen=True, eq=False)
class BlockFit:
    """A block, its correction of the added mass, and the errors that it leaves."""

    block: MemoryBlock
    correction: FloatArray
    #: Largest error of motions in waves (6), relative to the largest motion, with the data's own radiation in other blocks.
    motion_errors: FloatArray | None
    #: Largest error of the block's entries of K relative to the geometric mean of the largest of both motions.
    memory_error: float
    #: Rounds of conditions that passivity took; 0 says that the best fit was passive by itself.
    rounds: int

    @property
    def worst(self) -> float:
        """The error that decides about the order."""
        return self.memory_error if self.motion_errors is None else float(self.motion_errors.max())


@dataclass(frozen=True, eq=False)
class MemoryFit:
    """A memory, what it was fitted to, and how every block came out."""

    data: HydroData
    memory: Memory
    target: FitTarget
    blocks: tuple[BlockFit, ...]
    passive: bool = True

    @property
    def summary(self) -> str:
        """What was fitted, and how well, in a line."""
        worst = max((block.worst for block in self.blocks), default=0.0)
        what = "K" if any(block.motion_errors is None for block in self.blocks) else "motions in waves"
        orders = ", ".join(f"{'+'.join(block.block.names)} {block.block.order}" for block in self.blocks)
        return (
            f"fitted to {self.data.source or self.data.name}: orders {orders}; {what} within {worst:.2%} of the largest; "
            f"{'passive' if self.passive else 'passivity not asked for'}"
        )


def fit_memory(
    data: HydroData,
    *,
    limit: float | None = None,
    orders: Sequence[int] = ORDERS,
    correct_added_mass: bool = True,
    passive: bool = True,
) -> MemoryFit:
    """Return a radiation memory fitted to hydrodynamic data.

    Parameters
    ----------
    data
        With added mass and damping over frequencies; with inertia, restoring and wave forces the memory is judged by motions.
    limit
        Errors of motions relative to the largest motion at which the order of a block is high enough, 0.004 by default; errors
        of K relative to its largest value, 0.02, where motions cannot be told.
    orders
        Numbers of poles to try, rising; without success the best one is taken.
    correct_added_mass
        Whether the limit of the added mass may change a little: it is as uncertain as the mesh.
    passive
        False leaves out the conditions of passivity, for comparisons only.

    """
    if not orders or any(order < 2 for order in orders) or list(orders) != sorted(orders):
        raise MechanismError(f"orders = {list(orders)} of a radiation memory: give rising whole numbers from 2 on")
    target, moving = fit_target(data), motions_of(data)
    wanted = limit if limit is not None else MEMORY_LIMIT if moving is None else LIMIT
    fitted = []
    for motions in target.blocks():
        fitter = _BlockFitter(data, target, moving, motions, correct_added_mass, passive)
        fitted.append(_first_good(fitter, orders, wanted))
    return MemoryFit(data, _together(data, target, fitted), target, tuple(fitted), passive)


def _first_good(fitter: _BlockFitter, orders: Sequence[int], wanted: float) -> BlockFit:
    """Return the first fit that is good enough, or the first that is nearly as good as the best."""
    found: list[BlockFit] = []
    failed: SolverError | None = None
    for order in orders:
        try:
            found.append(fitter.fit(order))
        except SolverError as error:
            failed = error
            continue
        if found[-1].worst < wanted:
            return found[-1]
    if not found:
        raise failed or SolverError("no order of the radiation memory could be fitted")
    best = min(each.worst for each in found)
    return next(each for each in found if each.worst <= NEARLY * best)


def _together(data: HydroData, target: FitTarget, fitted: Sequence[BlockFit]) -> Memory:
    A_inf = target.added_mass_inf.copy()
    for found in fitted:
        A_inf[np.ix_(found.block.motions, found.block.motions)] += found.correction
    return Memory(A_inf, tuple(found.block for found in fitted), np.asarray(data.reference, dtype=float))


@dataclass(frozen=True, eq=False)
class _BlockFitter:
    data: HydroData
    target: FitTarget
    moving: Motions | None
    motions: tuple[int, ...]
    corrected: bool
    passive: bool

    def fit(self, order: int) -> BlockFit:
        """Return the best of some fits with impedances and emphases that follow each other."""
        return min(self._fits(order), key=lambda found: found.worst)

    def _fits(self, order: int) -> Iterator[BlockFit]:
        poles = self._poles(order)
        radiation: ComplexArray | None = None
        emphasis: FloatArray | None = None
        for _ in range(1 if self.moving is None else REFITS):
            rows = block_rows(self.motions, self.target, self.moving, radiation, emphasis)
            found = self._judged(passive_residues(poles, rows, len(self.motions), self._stiff, self.passive))
            yield found
            radiation = self._radiation(found)
            emphasis = self._emphasis(radiation, emphasis)

    @property
    def _stiff(self) -> FloatArray | None:
        if not self.corrected:
            return None
        return correction_weights(self.motions, self.target, self.data.added_mass_inf is not None)

    def _poles(self, order: int) -> ComplexArray:
        upper = np.triu_indices(len(self.motions))
        w, own = self.target.frequencies, np.ix_(self.motions, self.motions)
        K = self.target.K[:, own[0], own[1]] / self.target.scale[own]
        functions = K[:, upper[0], upper[1]].T
        return relocated(starting_poles(w[0], w[-1], order), w, functions, pole_weights(self.motions, self.target, self.moving))

    def _judged(self, fitted: FittedBlock) -> BlockFit:
        own = np.ix_(self.motions, self.motions)
        scale = self.target.scale[own]
        found = BlockFit(
            MemoryBlock(self.motions, fitted.poles, fitted.residues * scale),
            fitted.correction * scale,
            None,
            0.0,
            fitted.rounds,
        )
        s = along_axis(self.target.frequencies)
        K = found.block.transfer(s) + s[:, None, None] * found.correction
        error = float((np.abs(K - self.target.K[:, own[0], own[1]]) / scale).max())
        worst = None if self.moving is None else np.abs(self.moving.errors(self._radiation(found))).max(axis=(0, 1))
        return replace(found, motion_errors=worst, memory_error=error)

    def _radiation(self, found: BlockFit) -> ComplexArray:
        """Return the data's radiation with this block's memory in the place of theirs."""
        s = along_axis(self.target.frequencies)
        radiation = self.data.damping + s[:, None, None] * self.data.added_mass
        own = np.ix_(range(len(s)), self.motions, self.motions)
        limit = self.target.added_mass_inf[own[1:]][0] + found.correction
        radiation[own] = found.block.transfer(s) + s[:, None, None] * limit
        return radiation

    def _emphasis(self, radiation: ComplexArray, before: FloatArray | None) -> FloatArray | None:
        """Return weights that grow where errors are large, so that the largest error falls (Lawson's rule, halved)."""
        if self.moving is None:
            return None
        size = np.abs(self.moving.errors(radiation))
        grown = (1.0 if before is None else before) * np.sqrt(0.1 + size / size.max())
        return grown / np.sqrt(np.mean(grown**2))
