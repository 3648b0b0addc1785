"""Communication steps as long as the energy that gets lost between components allows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kingpost.base.errors import MechanismError
from kingpost.fmu.cosim.masters.interface import Advance, Coupling, Master, Resumable
from kingpost.fmu.cosim.masters.jacobi import Jacobi


@dataclass(frozen=True)
class EccoOptions:
    """The step controller.

    An energy residual of ``rtol`` times the energy that passes a bond in a step plus ``atol`` (J) is just right. Steps stay
    between ``shortest`` and ``longest`` (s; by default a hundredth of the system's communication step and ten times it), and
    change by factors from ``slower`` to ``faster``. ``proportional`` and ``integral`` are the gains of the controller.
    """

    rtol: float = 1e-3
    atol: float = 1e-6
    shortest: float | None = None
    longest: float | None = None
    safety: float = 0.9
    slower: float = 0.2
    faster: float = 1.5
    proportional: float = 0.2
    integral: float = 0.15

    def __post_init__(self) -> None:
        if self.rtol < 0 or self.atol < 0 or self.rtol + self.atol == 0:
            raise MechanismError("rtol and atol must not be negative, and not both zero")
        if not 0 < self.slower < 1 < self.faster or not 0 < self.safety <= 1:
            raise MechanismError("it must be 0 < slower < 1 < faster and 0 < safety <= 1")

    def limits(self, step: float) -> dict[str, float]:
        """Return the shortest and the longest step by the one that a run begins with."""
        return {"shortest": self.shortest or step / 100, "longest": self.longest or 10 * step}


class Ecco(Master):
    """Steps of 'jacobi', their length controlled by the energy residual of power bonds; no step is repeated.

    The residual of a bond is the difference of the powers that its two sides see, times the step: inputs are held, so energy
    is made or lost between components. A PI controller keeps it near the tolerance (Sadjina, Kyllingstad, Skjong and Pedersen,
    2017).
    """

    name = "ecco"
    Options = EccoOptions
    varies_steps = True

    def fault_of(self, coupling: Coupling) -> str:
        if not coupling.bonds:
            return "the system declares no power bonds ([[bonds]] with effort and flow), from which the steps would follow"
        unable = [f"'{partner.name}'" for partner in coupling.partners if not partner.varies_steps]
        return f"{', '.join(unable)} takes communication steps of one length only" if unable else ""

    def begin(self, coupling: Coupling) -> Advance:
        options: EccoOptions = self.options
        step_all = Jacobi().begin(coupling)
        before = 0.0
        shortest = longest = math.nan

        def advance(t: float, h: float) -> float:
            nonlocal before, shortest, longest
            if math.isnan(shortest):
                shortest, longest = options.limits(h).values()
            step_all(t, h)
            error = math.sqrt(
                sum(self._relative(*coupling.powers(bond), h) ** 2 for bond in coupling.bonds) / len(coupling.bonds)
            )
            # h_new = safety * error^-(k_I + k_P) * error_before^k_P * h
            gain = options.faster if error == 0 else 1.0
            if error > 0 and before > 0:
                exponent = -options.integral - options.proportional
                gain = options.safety * error**exponent * before**options.proportional
            before = error
            if not math.isfinite(gain):
                gain = options.slower
            return min(longest, max(shortest, h * min(options.faster, max(options.slower, gain))))

        def save() -> tuple[float, float, float]:
            return before, shortest, longest

        def restore(state: tuple[float, float, float]) -> None:
            nonlocal before, shortest, longest
            before, shortest, longest = state

        return Resumable(advance, save, restore, "its steps differ in length")

    def _relative(self, one: float, other: float, h: float) -> float:
        """Return the energy residual of a bond in a step, relative to what is tolerated."""
        tolerated = self.options.atol + self.options.rtol * max(abs(one), abs(other)) * h
        return abs(one - other) * h / tolerated if tolerated > 0 else 0.0
