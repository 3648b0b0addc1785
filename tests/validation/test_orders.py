"""Orders of convergence of coordinates, speeds and multipliers, for every step map of the registry: neither less nor more.

The conformance kit demands no less than the declared order; here a method must not be better than theory says, either, since
that would mean that the problem is too easy to tell methods apart.
"""

import math

import numpy as np
import pytest

from kingpost import PluginSet, SolverError, StepMap, prepare
from kingpost.testing.problems import (
    ROD_MASS,
    pendulum,
    pendulum_solution,
    planar_pendulum,
    planar_pendulum_pin_force,
    planar_pendulum_solution,
)

PLUGINS = PluginSet(entry_points=False)
NAMES = [name for name in PLUGINS.integrators if issubclass(PLUGINS.integrators.get(name), StepMap)]
#: For quaternions of bodies alone: they have tests of their own.
SPECIAL = ("quaternion-energy-momentum",)
#: Two steps for each declared order, which leave errors between 1e-3 and 1e-8.
STEPS = {1: (2e-3, 1e-3), 2: (0.01, 0.005), 3: (0.02, 0.01), 4: (0.02, 0.01)}
#: Orders of coordinates, speeds and multipliers that are not the declared one, with the reason. Everywhere else all three are:
#: index-3 methods end each step with speeds that fit the constraints, or are off by no more than their own error; the others
#: advance accelerations and project by as little as their own error. The multipliers of a run follow from its state, at the
#: same time, by the equations of motion, so that none has the order that a method's own multipliers might lose.
EXCEPTIONS = {
    ("euler-symplectic", "ode"): (
        (1, 2),
        "Its speeds are those of the leapfrog method half a step earlier. Of a pendulum that is released at rest the leapfrog "
        "method then says that it was at rest half a step before: its motion is early by h/2, which the late speeds undo",
    ),
}


def errors(name, mechanism, solution, step):
    """Return the largest errors of coordinates and speeds over 1 s and, with constraints, of the force in the pin."""
    simulation = prepare(
        mechanism, 1.0, step=step, output_step=0.1, integrator=name, formulation="kane", backend="vm", plugins=PLUGINS
    )
    history, equations = simulation.run(), simulation.equations
    size = equations.nx
    difference = np.abs(history.values[:, :size] - solution(history.time)).max(axis=0)
    found = [difference[: equations.nq].max(), difference[equations.nq :].max()]
    if equations.constraints.count:
        lam = [
            np.asarray(equations.multipliers(t, *equations.split(row[:size]), [], simulation.p)).ravel()
            for t, row in zip(history.time, history.values, strict=True)
        ]
        force = np.linalg.norm(lam, axis=1)
        found.append(np.abs(force - planar_pendulum_pin_force(history.time)).max() / (9.81 * ROD_MASS))
    return np.array(found)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SPECIAL])
@pytest.mark.parametrize(
    ("kind", "mechanism", "solution"),
    [("ode", pendulum(), pendulum_solution), ("dae", planar_pendulum(), planar_pendulum_solution)],
    ids=["ode", "dae"],
)
def test_errors_fall_with_the_order_of_theory(kind, mechanism, solution, name):
    declared = PLUGINS.integrators.get(name).order
    coarse, fine = (errors(name, mechanism, solution, step) for step in STEPS[declared])
    expected, _ = EXCEPTIONS.get((name, kind), ((declared,) * len(fine), ""))
    for what, before, after, order in zip(("coordinates", "speeds", "multipliers"), coarse, fine, expected, strict=False):
        # The next term of the error is smaller by some 10 h.
        assert math.log2(before / after) == pytest.approx(order, abs=0.3), f"{name}: {what}, {before:.2e} and {after:.2e}"


@pytest.mark.parametrize("name", SPECIAL)
def test_special_methods_refuse_joint_coordinates(name):
    with pytest.raises(SolverError, match=name):
        prepare(pendulum(), 1.0, integrator=name, formulation="kane", backend="vm", plugins=PLUGINS)
