"""What is said of Newton's method in the steps of a run."""

import pytest

from kingpost import prepare, simulate
from kingpost.equations.newton_records import repeat_step, solved_for
from kingpost.plugins.models.satellite import Satellite
from tests.core.equations.test_newton import METHODS, pendulum


@pytest.mark.parametrize("method", METHODS)
def test_a_run_tells_how_many_iterations_its_steps_take(method, plugins):
    history = simulate(pendulum(), 1.0, integrator=method, step=0.05, output_step=0.05, backend="vm", plugins=plugins)
    told = history.provenance["statistics"]["newton_iterations"]
    # Residuals of 1e-2, 1e-7 and 1e-16: quadratic convergence is over after two or three iterations.
    assert 2 <= told["mean"] <= told["largest"] <= 3
    assert told["steps_looked_at"] == 11
    assert "newton_iterations" not in simulate(pendulum(), 0.1, backend="vm", plugins=plugins).provenance["statistics"]


def test_a_halved_step_is_repeated_with_all_its_iterations(plugins):
    halved = "midpoint:iterations=1,halvings=3"
    simulation = prepare(pendulum(), 1.0, step=0.1, integrator=halved, backend="vm", plugins=plugins)
    records = repeat_step(
        simulation.integrator, simulation.equations, 0.0, simulation.x0, simulation.inputs[0], simulation.p, 0.1
    )
    solved = [record for record in records if record.converged]
    assert sum(record.h for record in solved) == pytest.approx(0.1, rel=1e-14)
    assert [record.halvings for record in records[:3]] == [0, 1, 2]
    assert all(record.iterations == 1 for record in records)


def test_a_step_that_is_solved_otherwise_is_repeated_in_both_ways(plugins):
    """In a step of 20 s the torques turn all bodies round and round."""
    torques = {"torque1": 200.0, "torque2": -150.0, "torque3": 100.0}
    run = prepare(
        Satellite().build(), 60.0, settings=torques, formulation="directors", integrator="energy-momentum", step=20.0,
        backend="vm", plugins=plugins,
    )  # fmt: skip
    first, second = repeat_step(run.integrator, run.equations, 0.0, run.x0, run.inputs[0], run.p, 20.0)
    assert not first.converged
    assert "of motion" in first.worst or "closure" in first.worst
    assert len(second.residuals) > 1
    assert solved_for(run.integrator, run.equations) == (
        "39 motions of bodies and multipliers, in a fixed order; steps that are not found so for 87 unknowns of the method, by "
        "sparse QR"
    )
