"""From a mechanism and a task to a servo problem, with everything checked that can be checked before a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, listed
from kingpost.control.servo.problem import ServoProblem, check_affine, driven_rows
from kingpost.control.servo.rubbing import check_rubbing
from kingpost.equations.equations import Equations
from kingpost.equations.redundancy import without_redundant_rows
from kingpost.loads.load_dependent import with_judged_loads
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.tasks import ServoTask
from kingpost.registry.pluginset import PluginSet
from kingpost.simulation.problem import Problem, draft
from kingpost.simulation.settings import RunSettings


def pose_servo(
    mechanism: Mechanism,
    task: ServoTask,
    how: RunSettings | None = None,
    *,
    values: Mapping[str, float] | None = None,
    plugins: PluginSet | None = None,
) -> ServoProblem:
    """Derive the equations of a machine and set a task beside them; ``values`` come before the settings of the task."""
    how = replace(how or RunSettings(), t_start=task.t_start)
    posed = draft(mechanism, how, values={**task.settings, **(values or {})}, plugins=plugins)
    equations = _without_redundant_rows(posed)
    posed = replace(posed, equations=equations)
    problem = ServoProblem(posed, task, equations, driven_rows(equations, task))
    _check_symbolic(replace(problem.mechanics, states=equations.states))
    check_affine(problem)
    check_rubbing(problem)
    _check_measures(problem)
    return problem


def _check_symbolic(equations: Equations) -> None:
    if isinstance(equations.q, ca.MX) and not equations.all_externals:
        raise MechanismError(
            f"the equations of '{equations.mechanism.name}' are written with whole matrices, through which inverse dynamics "
            "cannot differentiate; take another formulation, such as kane or directors"
        )
    if equations.all_externals:
        owners = dict.fromkeys(external.owner for external in equations.all_externals)
        raise MechanismError(
            f"'{equations.mechanism.name}' has forces that call functions outside expressions ({listed(owners)}), which cannot "
            "be differentiated as often as inverse dynamics asks; write them with CasADi operations, or leave them out"
        )


def _check_measures(problem: ServoProblem) -> None:
    s = problem.symbols
    for i, name in enumerate(problem.task.measures):
        row = problem.y[i]
        if ca.depends_on(row, ca.vertcat(s.v, s.u, s.z)):
            raise MechanismError(
                f"'{name}' depends on speeds, inputs or states of forces; a servo-constraint needs a function of the "
                "configuration"
            )
        if not ca.depends_on(row, s.q):
            raise MechanismError(f"'{name}' does not depend on any coordinate, so that nothing can drive it along a path")


def _without_redundant_rows(posed: Problem) -> Equations:
    """Return the equations without redundant constraints; where inertia is missing, they have to be independent as they are."""
    equations = posed.equations
    if not equations.constraints.count or _regular(equations, posed.x0, posed.p):
        equations = without_redundant_rows(equations, posed.t_start, posed.x0, posed.p)
    return with_judged_loads(equations)


def _regular(equations: Equations, x: FloatArray, p: FloatArray) -> bool:
    """Say whether the mass matrix, or what takes its place, can be inverted at the start."""
    mass = equations.function("kp_mass", [equations.regular_mass])
    M = np.asarray(mass(0.0, *equations.split(x), np.zeros(equations.u.numel()), p))
    scale = np.sqrt(np.abs(np.diag(M)))
    if not np.isfinite(M).all() or scale.min(initial=1.0) == 0.0:
        return False
    values = np.linalg.eigvalsh(M / np.outer(scale, scale))
    return bool(values[0] > len(M) * np.finfo(float).eps)
