"""The starts of many runs looked at together, as far as they need no more than that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
import numpy.typing as npt

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.base.formulas import evaluate
from kingpost.mechanism.elements import Body
from kingpost.mechanism.mechanism import Mechanism, expressions_in, quaternion_rows
from kingpost.simulation.problem import Problem, declared_start
from kingpost.simulation.run import Simulation


@dataclass(frozen=True, eq=False)
class ScenarioTable:
    """Scenarios as rows of numbers: parameters, inputs and start values in the order of the machine, NaN where none is given.

    A scenario that has anything unusual in it, or wrong, is not ``plain``; its rows say nothing.
    """

    parameters: FloatArray
    inputs: FloatArray
    start: FloatArray
    plain: npt.NDArray[np.bool_]


def tabulated(mechanism: Mechanism, scenarios: Sequence[Mapping[str, float]], states: Sequence[str]) -> ScenarioTable:
    """Return scenarios as rows; ``states`` are the names of all start values."""
    parameters, signals = mechanism.parameters, mechanism.inputs
    usual = [*(item.default for item in parameters), *(item.default for item in signals), *[np.nan] * len(states)]
    names = [*(item.name for item in parameters), *(item.name for item in signals), *states]
    place = {name: i for i, name in reversed(list(enumerate(names)))}
    rows, plain = [], np.ones(len(scenarios), dtype=bool)
    for k, scenario in enumerate(scenarios):
        row = usual.copy()
        for name, value in scenario.items():
            if type(value) is not float or name not in place or value - value != 0.0:  # the last: not finite
                plain[k] = False
                break
            row[place[name]] = value
        rows.append(row)
    table = np.array(rows, dtype=float).reshape(len(scenarios), len(names))
    given = table[:, : len(parameters) + len(signals)]
    low = [-np.inf if item.minimum is None else item.minimum for item in parameters]
    high = [np.inf if item.maximum is None else item.maximum for item in parameters]
    own = table[:, : len(parameters)]
    plain &= ((own >= low) & (own <= high)).all(axis=1)
    return ScenarioTable(own, given[:, len(parameters) :], table[:, given.shape[1] :], plain)


def common_starts(simulation: Simulation, table: ScenarioTable) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return a state to start from for each scenario, and whether it was looked at; others need a look of their own.

    ``simulation`` is a run of the same machine, with inputs that are held, whose numbers were looked at. A scenario passes here
    only if :meth:`kingpost.Simulation.at` would take it, with the same state to the bits.
    """
    problem = simulation.problem
    x = np.broadcast_to(simulation.x0, (len(table.plain), simulation.x0.size)).copy()
    refused = np.zeros(len(table.plain), dtype=bool)
    if not _is_simple(problem):
        return x, refused
    varied = {
        item.name
        for i, item in enumerate(problem.mechanism.parameters)
        if (table.parameters[:, i] != problem.p[i])[table.plain].any()
    }
    mechanism = problem.mechanism
    declared = declared_start(problem.assembly)
    fields = [value for item in (*mechanism.joints, *mechanism.measures) for value in vars(item).values()]
    if varied & _names_in((*fields, *declared.values())):
        return x, refused
    usual = np.array([float(evaluate(value, problem.values.parameters)) for value in declared.values()])
    x = np.where(np.isnan(table.start), usual, table.start)
    good = table.plain.copy()
    for body in mechanism.bodies:
        if varied & _names_in((body.mass, body.com, body.inertia)):
            good &= _possible(body, mechanism, table.parameters)
    if problem.equations.guard is not None:
        good &= (np.asarray(problem.equations.guard(x.T)) > 0).all(axis=0)
    return x, good & _heavy(problem, x, table.parameters)


def _is_simple(problem: Problem) -> bool:
    """Say whether a start is what is given: nothing is fitted to anything, and nothing is found."""
    equations = problem.equations
    return not (
        equations.constraints.count
        or problem.mechanism.closures
        or problem.how.start == "equilibrium"
        or problem.stepper.remembered
        or equations.coordinates.initial is not None
        or equations.loaded is not None
        or equations.structure.augmentation is not None
        or equations.structure.volumes
        or equations.all_externals
        or any(force.fits_start for force in problem.assembly.forces.values())
        or quaternion_rows(problem.mechanism)
    )


def _names_in(data: object) -> set[str]:
    return {name for formula in expressions_in(data) for name in formula.names}


def _possible(body: Body, mechanism: Mechanism, parameters: FloatArray) -> npt.NDArray[np.bool_]:
    """Return in which scenarios a body clearly has numbers that a body can have: those that ``check_values`` accepts."""
    p = ca.SX.sym("p", len(mechanism.parameters))
    symbols = {item.name: p[i] for i, item in enumerate(mechanism.parameters)}
    scalars = (body.mass, *body.com, *body.inertia)
    try:
        expressions = [ca.SX(evaluate(scalar, symbols)) for scalar in scalars]
    except (MechanismError, TypeError, NotImplementedError):
        return np.zeros(len(parameters), dtype=bool)
    numbers = np.asarray(ca.Function("numbers", [p], [ca.densify(ca.vertcat(*expressions))])(parameters.T)).T
    entries = np.zeros((6, len(numbers)))
    entries[: len(body.inertia)] = numbers[:, 4:].T
    xx, yy, zz, xy, xz, yz = entries
    finite = np.asarray(np.isfinite(numbers).all(axis=1))
    matrices = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=1).reshape(-1, 3, 3)
    moments = np.linalg.eigvalsh(np.where(finite[:, None, None], matrices, 0.0))
    # Half of what is forgiven there: numbers in the last digits of which the two ways of computing differ are looked at there.
    tolerance = 0.5e-9 * np.abs(moments).max(axis=1)
    triangle = moments[:, 0] + moments[:, 1] >= moments[:, 2] - tolerance
    return finite & (numbers[:, 0] >= 0) & (moments[:, 0] >= -tolerance) & triangle


def _heavy(problem: Problem, x: FloatArray, p: FloatArray) -> npt.NDArray[np.bool_]:
    """Return in which scenarios the mass matrix is clearly positive definite: those that ``check_mass_matrix`` accepts."""
    nv = problem.equations.nv
    if nv == 0:
        return np.ones(len(x), dtype=bool)
    M = problem.equations.masses_at(x, p)
    diagonal = np.diagonal(M, axis1=1, axis2=2)
    sound = np.asarray(np.isfinite(M).all(axis=(1, 2)) & (diagonal > 0).all(axis=1))
    scale = np.sqrt(np.where(sound[:, None], diagonal, 1.0))
    scaled = np.where(sound[:, None, None], M, np.eye(nv)) / (scale[:, :, None] * scale[:, None, :])
    return sound & (np.linalg.eigvalsh(scaled)[:, 0] > 2 * nv * np.finfo(float).eps)
