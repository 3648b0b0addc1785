"""Roads of formulations to accelerations, with efforts that depend on joint loads put in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.equations.equations import Equations
from kingpost.equations.parts import OwnRoad


@dataclass(frozen=True, eq=False)
class LoadedRoad:
    """The road of opened equations, taken with the efforts that were found behind inputs and states.

    So whatever a road does inside, be it a system with the reactions of all joints or penalties, it stays its own.
    """

    inner: OwnRoad
    #: The equations in which efforts are unknowns behind inputs and states, and how many there are with what they look at.
    opened: Equations
    unknowns: int
    #: The function (t, q, v, u, p) -> efforts, loads and coupling, and more; None while they are not known.
    solution: ca.Function | None

    def accelerations(self, equations: Equations, rate: float) -> ca.Function:
        """Return the function (t, q, v, u, p) -> vdot for the constraints that ``equations`` have."""
        return self._with_efforts(self.inner.accelerations(self._opened(equations), rate))

    def multipliers(self, equations: Equations) -> ca.Function | None:
        """Return the function (t, q, v, u, p) -> lam, or None where the usual one is as good."""
        inner = self.inner.multipliers(self._opened(equations))
        return None if inner is None else self._with_efforts(inner)

    def corrections(self, equations: Equations) -> tuple[ca.Function, ca.Function] | None:
        """Return the functions (t, q, v, p) -> changes of q, and of v, which efforts do not change; None if as usual."""
        return self.inner.corrections(self._opened(equations))

    def explain(self, equations: Equations, t: float, states: Sequence[FloatArray], p: FloatArray) -> str:
        """Return why there are none at one of ``states``, if the road knows."""
        return self.inner.explain(equations, t, states, p)

    def _opened(self, equations: Equations) -> Equations:
        return replace(self.opened, constraints=equations.constraints)

    def _with_efforts(self, function: ca.Function) -> ca.Function:
        functions = [function] if self.solution is None else [function, self.solution]
        straight = all(item.is_a("SXFunction") for item in functions)
        kind: Any = ca.SX if straight else ca.MX
        arguments: Any = function.sx_in() if straight else function.mx_in()
        t, q, v, full, p = arguments
        u = kind.sym("u", full.numel() - self.unknowns)
        found: Any = ca.DM([np.nan] * self.unknowns) if self.solution is None else self.solution.call([t, q, v, u, p])[0]
        result = function.call([t, q, v, ca.vertcat(u, found), p])[0]
        return ca.Function(function.name(), [t, q, v, u, p], [result])
