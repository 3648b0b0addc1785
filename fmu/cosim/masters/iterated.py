"""Steps are repeated until inputs and outputs agree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, SolverError, listed
from kingpost.fmu.cosim.masters.interface import Advance, Coupling, Master, Resumable
from kingpost.fmu.cosim.masters.jacobi import part_places


@dataclass(frozen=True)
class IteratedOptions:
    """How long and how hard to look for agreement.

    ``tolerance`` is the largest change of an input, relative to its size (at least ``scale``), that counts as agreement.
    ``relaxation`` is the part of a change that is taken. ``memory`` is the number of earlier rounds from which the next one is
    found by Anderson's method; with 0 each round takes the outputs of the last, which only closes weak loops. ``ramp`` lets
    inputs change linearly over a step; without, they hold at their values at its end (first order, and stiffer).
    """

    tolerance: float = 1e-8
    scale: float = 1e-6
    iterations: int = 50
    relaxation: float = 1.0
    memory: int = 5
    ramp: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.relaxation <= 1:
            raise MechanismError(f"relaxation is {self.relaxation:g}; it must be above 0 and at most 1")
        if self.iterations < 1 or self.tolerance <= 0 or self.scale <= 0 or self.memory < 0:
            raise MechanismError("tolerance and scale must be above 0, iterations at least 1, and memory at least 0")


class Iterated(Master):
    """Repeat each step until inputs and outputs at its end agree; needs components that can go back.

    Inputs change linearly over a step, so that the coupling is second order in the communication step; outputs that depend on
    each other at once are brought into agreement, too.
    """

    name = "iterated"
    Options = IteratedOptions
    goes_back = True

    def fault_of(self, coupling: Coupling) -> str:
        unable = [f"'{partner.name}'" for partner in coupling.partners if not partner.can_go_back]
        return f"{listed(unable)} cannot go back to an earlier state" if unable else ""

    @property
    def moves_inputs(self) -> bool:
        return self.options.ramp

    def begin(self, coupling: Coupling) -> Advance:
        options: IteratedOptions = self.options
        partners, inputs = coupling.partners, coupling.inputs
        start = inputs.copy()
        #: First and second derivatives of all inputs, of which each partner gets its columns.
        slopes = np.zeros((2, len(inputs)))
        senders = [(partner.send, slopes[:, place]) for partner, place in zip(partners, part_places(coupling), strict=True)]
        receivers = [partner.receive for partner in partners]

        def attempt(t: float, h: float, wanted: FloatArray) -> FloatArray:
            """Step all with inputs that end at ``wanted``; return what the outputs then give."""
            if options.ramp:
                np.subtract(wanted, start, out=slopes[0])
                slopes[0] /= h
                inputs[:] = start
                for send, own in senders:
                    send(t, h, own)
            else:
                inputs[:] = wanted
                for send, _ in senders:
                    send(t, h)
            for receive in receivers:
                receive()
            return coupling.transferred()

        def advance(t: float, h: float) -> float:
            saved = [partner.save() for partner in partners]
            try:
                _agree(t, h, saved)
            finally:
                for partner, state in zip(partners, saved, strict=True):
                    partner.forget(state)
            return h

        mixing = Mixing(options.memory, options.relaxation, len(inputs))

        def _agree(t: float, h: float, saved: list[Any]) -> None:
            wanted = coupling.transferred() if options.ramp else start.copy()
            mixing.begin()
            errors: FloatArray = np.zeros(0)
            for k in range(options.iterations):
                if k:
                    for partner, state in zip(partners, saved, strict=True):
                        partner.restore(state)
                given = attempt(t, h, wanted)
                errors = np.abs(given - wanted) / np.maximum(np.abs(given), options.scale)
                largest = errors.max(initial=0.0)
                if largest <= options.tolerance:
                    start[:] = given
                    return
                if not math.isfinite(largest):
                    break
                wanted = mixing.next(wanted, given)
            worst = int(np.argmax(np.where(np.isnan(errors), np.inf, errors)))
            raise SolverError(
                f"inputs and outputs did not agree after {k + 1} rounds: '{coupling.input_names[worst]}' still changes by "
                f"{errors[worst]:.2g} of itself (tolerance {options.tolerance:g}). Try a shorter communication step, "
                "a smaller relaxation (iterated:relaxation=0.5), or interface inertia"
            )

        self._settle(coupling)
        start[:] = coupling.transferred()
        return Resumable(advance, start.copy, partial(np.copyto, start), "it repeats its steps")

    def _settle(self, coupling: Coupling) -> None:
        """Bring inputs and outputs into agreement at the start, as far as outputs follow inputs without a step."""
        options: IteratedOptions = self.options
        mixing = Mixing(options.memory, options.relaxation, len(coupling.inputs))
        wanted = coupling.inputs.copy()
        for _ in range(options.iterations):
            coupling.inputs[:] = wanted
            for partner in coupling.partners:
                partner.give()
                partner.take()
            given = coupling.transferred()
            if not len(given) or (np.abs(given - wanted) <= options.tolerance * np.maximum(np.abs(given), options.scale)).all():
                return
            wanted = mixing.next(wanted, given)


class Mixing:
    """Anderson's method: the next guess from the last ones, such that their combined residual is smallest."""

    def __init__(self, memory: int, relaxation: float, size: int) -> None:
        self._relaxation, self._memory = relaxation, memory
        #: Differences of successive guesses and of their residuals, of which the last ``_count`` rows are used, in their order.
        self._steps, self._changes = np.zeros((memory, size)), np.zeros((memory, size))
        self._count = 0
        self._last: tuple[FloatArray, FloatArray] | None = None

    def begin(self) -> None:
        """Forget all guesses."""
        self._count, self._last = 0, None

    def next(self, guess: FloatArray, given: FloatArray) -> FloatArray:
        """Return a better guess of the fixed point of a function that maps ``guess`` to ``given``."""
        residual = given - guess
        result: FloatArray = guess + self._relaxation * residual
        if self._last is not None and self._memory:
            self._keep(guess - self._last[0], residual - self._last[1])
            steps, changes = self._steps[-self._count :], self._changes[-self._count :]
            # Inputs differ by orders of magnitude; each counts relative to its own size.
            size = np.maximum(np.abs(given), np.abs(changes).max(axis=0))
            size[size == 0.0] = 1.0
            share = _least_squares(changes / size, residual / size)
            result -= share @ (steps + self._relaxation * changes)
        self._last = guess, residual
        return result

    def _keep(self, step: FloatArray, change: FloatArray) -> None:
        for rows, newest in ((self._steps, step), (self._changes, change)):
            rows[:-1] = rows[1:]
            rows[-1] = newest
        self._count = min(self._count + 1, self._memory)


def _least_squares(rows: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return the shares of ``rows`` whose sum is nearest to ``wanted``; of a single row without the general way's expense."""
    if len(rows) == 1:
        square = rows[0] @ rows[0]
        return rows @ wanted / square if square > 0.0 else np.zeros(1)
    return np.asarray(np.linalg.lstsq(rows.T, wanted, rcond=1e-12)[0], dtype=np.float64)
