"""How the state at the start of a run depends on parameters, inputs and start values.

The road from start values to the first state is gone once more with derivatives: formulas, quaternions of unit length, the
coordinates of the formulation, loops that are closed and speeds that are fitted to them, rest in an equilibrium, and what an
integrator remembers.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.formulas import evaluate
from kingpost.gradients.closing import Closing, slopes
from kingpost.gradients.resting import at_rest
from kingpost.gradients.targets import Directions, value_of
from kingpost.mechanism.mechanism import quaternion_rows
from kingpost.mechanism.values import resolve_values
from kingpost.simulation.problem import Problem, declared_start, start_state
from kingpost.simulation.run import Simulation

#: Step of differences for start values that a force fits in Python, as a part of a number and at least of one.
DIFFERENCE = 1e-3


def start_slopes(simulation: Simulation, along: Directions) -> FloatArray:
    """Return the derivatives of the state at the start, what is remembered included, along some directions: one column each."""
    problem = simulation.problem
    q, v, dq, dv, dz = _declared(problem, along)
    closing = Closing(problem.equations, problem.t_start, problem.p, along)
    if problem.equations.constraints.count and closing.in_joints:
        q, dq = closing.closed(q, dq)
        v, dv = closing.fitted(q, v, dq, dv)
    dx = np.vstack([closing.entered(q, v, dq, dv), dz])
    if problem.how.start == "equilibrium":
        dx = at_rest(problem, dx, along)
    stepper = problem.stepper
    if not stepper.remembered:
        return dx
    given = [simulation.grid.t_start, problem.x0, simulation.rows.values[0], problem.p, simulation.grid.step]
    memory = slopes(stepper.memory, given, {1: dx, 2: along.inputs, 3: along.parameters})
    return np.vstack([dx, memory])


def _declared(problem: Problem, along: Directions) -> tuple[FloatArray, ...]:
    """Return coordinates and speeds as they are given, before anything is fitted; their derivatives, and those of states."""
    mechanism, declared = problem.mechanism, declared_start(problem.assembly)
    names = list(declared)
    p = ca.SX.sym("p", len(mechanism.parameters))
    scope = {parameter.name: p[i] for i, parameter in enumerate(mechanism.parameters)}
    formulas = ca.vertcat(ca.SX(0, 1), *(ca.SX(evaluate(value, scope)) for value in declared.values()))
    start = ca.Function("start", [p], [ca.densify(formulas)])
    x = np.asarray(start(problem.p)).ravel()
    dx = slopes(start, [problem.p], {0: along.parameters})
    for name, value in problem.values.start.items():
        x[names.index(name)], dx[names.index(name)] = value, 0.0
    for k, name in enumerate(along.names):
        if name in names:
            dx[names.index(name), k] = 1.0
    for first in quaternion_rows(mechanism):
        rows = slice(first, first + 4)
        length = float(np.linalg.norm(x[rows]))
        x[rows] /= length
        dx[rows] = (dx[rows] - np.outer(x[rows], x[rows] @ dx[rows])) / length
    nq, nv = len(mechanism.coordinates), len(mechanism.speeds)
    dz = dx[nq + nv :]
    if any(force.fits_start for force in problem.assembly.forces.values()):
        dz = _fitted_states(problem, along, names, dz)
    return x[:nq], x[nq : nq + nv], dx[:nq], dx[nq : nq + nv], dz


def _fitted_states(problem: Problem, along: Directions, names: Sequence[str], dz: FloatArray) -> FloatArray:
    """Return the derivatives of states that a force fits to each other in Python: by differences of fourth order."""
    count = len(problem.assembly.states)

    def states(name: str, value: float) -> FloatArray:
        values = resolve_values(problem.mechanism, {**problem.given, name: value}, names[len(names) - count :])
        return start_state(problem.assembly, problem.equations, values)[-count:]

    found = np.zeros_like(dz)
    for k, name in enumerate(along.names):
        value = value_of(problem, name)
        size = DIFFERENCE * max(1.0, abs(value))
        near, far = (states(name, value + part * size) - states(name, value - part * size) for part in (1.0, 2.0))
        found[:, k] = (8.0 * near - far) / (12.0 * size)
    return found
