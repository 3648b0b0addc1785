"""What becomes of errors of the constraints while a motion is advanced in its accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca

from kingpost.base.arrays import FloatArray

if TYPE_CHECKING:
    from kingpost.equations.equations import Equations

#: Newton steps that take constraint errors away after a step: each squares what the step left, some 1e-8 at most.
PROJECTIONS = 2


@dataclass(frozen=True)
class Treatment:
    """Errors are projected away: after every step of a fixed-step integrator, at every evaluation of a solver.

    ``baumgarte`` is the rate (1/s) at which Baumgarte's terms pull errors back in the accelerations; never in reactions.
    """

    baumgarte: float = 0.0

    @property
    def projects(self) -> bool:
        """Whether errors are taken away, those of what must hold between states of forces, too."""
        return True

    @property
    def chooses(self) -> bool:
        """Whether some coordinates are advanced and the others found from them."""
        return False

    @property
    def solves(self) -> bool:
        """Whether accelerations are taken at a state that is solved for first, whatever the state they are asked at."""
        return False

    def solution(self, equations: Equations) -> ca.Function:
        """Return the function by which such a state is found."""
        raise NotImplementedError

    def projected(self, equations: Equations, t: Any, x: Any, p: Any, iterations: int) -> Any:
        """Return the state with its constraint errors taken away: positions by Newton's method, then speeds."""
        if not equations.constraints.count:
            return x
        q, v = equations.split(x)
        for _ in range(iterations):
            q = equations.corrected_positions(t, q, v, p)
        v = equations.corrected_speeds(t, q, v, p)
        q = equations.coordinates.followed(q, p)
        return ca.vertcat(q, v, equations.states_of(x))

    def settled(self, equations: Equations, t: float, q: FloatArray, p: FloatArray) -> Treatment:
        """Return the treatment with what it has to choose at the closed position ``q`` in which a run starts."""
        return self

    def explain(self, equations: Equations, t: float, states: Sequence[FloatArray], p: FloatArray) -> str:
        """Return why a motion cannot go on from one of ``states``, if the treatment is to blame."""
        return ""

    def record(self, equations: Equations) -> dict[str, Any]:
        """Return what was chosen, for the provenance of a result."""
        return {}


@dataclass(frozen=True)
class Drift(Treatment):
    """Errors stay where an integrator leaves them, to study drift and its stabilisation."""

    @property
    def projects(self) -> bool:
        return False

    def projected(self, equations: Equations, t: Any, x: Any, p: Any, iterations: int) -> Any:
        """Return the state as it is."""
        return x
