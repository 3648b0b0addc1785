"""What every solver of nonlinear programs must do, checked on a mass with a closed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kingpost.base.errors import SolverError
from kingpost.control.optimal.optimise import prepare_optimisation
from kingpost.control.optimal.optimum import Optimum
from kingpost.control.optimal.solver import NlpSolver
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection
from kingpost.simulation.settings import RunSettings
from kingpost.testing.optimal_control import COST, _mass

INTERVALS = 10
#: Of stairs of so many steps: COST is that of a line.
STAIRS = COST * INTERVALS**2 / (INTERVALS**2 - 1)
#: Forces with limits below the largest force without any, 9 N, and with limits that do not do.
TIGHT, TOO_TIGHT = 7.0, 2.0


@dataclass(frozen=True, eq=False)
class NlpSolverSubject:
    """A solver under test, and what it finds; found once."""

    solver: Selection[NlpSolver]
    plugins: PluginSet | None = None
    _found: dict[float, Optimum] = field(default_factory=dict)

    def optimum(self, limit: float = np.inf, **changes: Any) -> Optimum:
        """Return the optimum with a limit of the force."""
        if limit not in self._found:
            mechanism, task = _mass()
            bounds: Mapping[str, Any] = {} if np.isinf(limit) else {"force": (-limit, limit)}
            prepared = prepare_optimisation(
                mechanism,
                replace(task, bounds=bounds, **changes),
                intervals=INTERVALS,
                solver=self.solver,
                starts=["line"],
                how=RunSettings(backend="vm"),
                plugins=self.plugins,
            )
            self._found[limit] = prepared.run()
        return self._found[limit]


def check_least_cost(subject: NlpSolverSubject) -> None:
    """The cost is the least that stairs allow: 6 m^2 d^2 / T^3 N^2 / (N^2 - 1)."""
    found = subject.optimum()
    assert found.status == "optimal", found.status
    assert abs(found.cost - STAIRS) < 1e-7 * STAIRS, f"the cost is {found.cost!r}, not {STAIRS!r}"
    assert found.solution.violation < 1e-8, f"rows are violated by {found.solution.violation:g}"


def check_multipliers(subject: NlpSolverSubject) -> None:
    """The costate of the momentum is the force where nothing limits it, with its sign."""
    found = subject.optimum()
    assert found.costates is not None
    away = float(np.abs(found.costates - found.inputs).max())
    assert away < 1e-5 * np.abs(found.inputs).max(), f"costates are {away:g} away from the forces"


def check_limits_are_kept(subject: NlpSolverSubject) -> None:
    """Limits bite, are kept, and cost something."""
    found = subject.optimum(TIGHT)
    assert found.status == "optimal", found.status
    largest = float(np.abs(found.inputs).max())
    assert TIGHT * (1 - 1e-5) < largest < TIGHT * (1 + 1e-7), f"the largest force is {largest:g}, its limit {TIGHT:g}"
    assert found.cost > STAIRS * (1 + 1e-4), f"the cost is {found.cost:g}, that without limits {STAIRS:g}"


def check_what_is_out_of_reach_is_no_optimum(subject: NlpSolverSubject) -> None:
    """An end that limited forces cannot reach is not called one that was reached."""
    try:
        found = subject.optimum(TOO_TIGHT)
    except SolverError:
        return
    raise AssertionError(f"forces within {TOO_TIGHT:g} N cannot do it, and the solver says {found.status}")


NLP_SOLVER_CHECKS = (
    check_least_cost,
    check_multipliers,
    check_limits_are_kept,
    check_what_is_out_of_reach_is_no_optimum,
)


def check_nlp_solver(solver: Selection[NlpSolver], plugins: PluginSet | None = None) -> None:
    """Check a solver of nonlinear programs, by name, class or instance.

    >>> check_nlp_solver("ipopt")
    """
    subject = NlpSolverSubject(solver, plugins)
    for check in NLP_SOLVER_CHECKS:
        check(subject)
