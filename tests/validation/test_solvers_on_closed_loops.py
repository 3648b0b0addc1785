"""Solvers with error control on closed loops: rates at the projected state, samples on the constraints."""

import numpy as np
import pytest

from kingpost import Solver, prepare, simulate

#: Length of a run (s), a step of rk4 at which its error is below 1e-10 (four-bar: 3 rad/s, slider-crank: 20 rad/s), and the
#: size of coordinates, speeds and accelerations in a run (m or rad, with s).
MACHINES = {"four-bar": (4.0, 5e-4, (10.0, 10.0, 50.0)), "slider-crank": (0.4, 5e-5, (10.0, 40.0, 800.0))}


def run(name, integrator, t_end, plugins, **options):
    """Run in the interpreter: a C compiler would take longer than the runs."""
    machine = plugins.models.get(name)().build()
    return simulate(machine, t_end, integrator=integrator, output_step=t_end / 8, plugins=plugins, backend="vm", **options)


def residuals(history):
    return [history[f"constraints.{level}"].max() for level in ("position", "speed", "acceleration")]


def energy_error(history):
    total = history["energy.total"]
    return np.abs(total - total[0]).max()


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("integrator", ["dop853", "radau"])
def test_loops_stay_closed_and_energy_follows_the_tolerance(name, integrator, plugins):
    t_end, _, sizes = MACHINES[name]
    errors = []
    for rtol in (1e-5, 1e-8):
        history = run(name, f"{integrator}:rtol={rtol},atol={rtol * 1e-2}", t_end, plugins, monitors=True)
        # Some units in the last place, times the terms of a row; without projection they are 1e-6 at the looser tolerance.
        for found, size in zip(residuals(history), sizes, strict=True):
            assert found < 50 * np.finfo(float).eps * size
        errors.append(energy_error(history))
    # Error per step is asked for, so errors fall almost with the tolerance, by 1e-3; how nearly depends on the step lengths.
    assert errors[1] < 2e-2 * errors[0]


@pytest.mark.parametrize("name", MACHINES)
def test_the_motion_is_that_of_rk4_with_a_small_step(name, plugins):
    t_end, step, _ = MACHINES[name]
    t_end /= 4
    reference = run(name, "rk4", t_end, plugins, step=step).values[:, :6]
    for integrator in ("dop853:rtol=1e-12,atol=1e-13", "radau:rtol=1e-9,atol=1e-11"):
        np.testing.assert_allclose(run(name, integrator, t_end, plugins).values[:, :6], reference, atol=1e-8)


@pytest.mark.parametrize("integrator", ["lsoda", "bdf"])
def test_solvers_that_remember_go_on_from_the_constraints(integrator, plugins):
    history = run("slider-crank", f"{integrator}:rtol=1e-7,atol=1e-9", 0.5, plugins, monitors=True)
    for found, size in zip(residuals(history), MACHINES["slider-crank"][2], strict=True):
        assert found < 50 * np.finfo(float).eps * size
    exact = run("slider-crank", "dop853:rtol=1e-11,atol=1e-12", 0.5, plugins)
    # Some 1e3 steps with errors of 1e-7 of 10 rad each.
    assert np.abs(history["shaft.angle"] - exact["shaft.angle"]).max() < 1e-3
    # What is put in their memory changes no rate, so that steps are not rejected: as many as without constraints kept.
    drifting = run("slider-crank", f"{integrator}:rtol=1e-7,atol=1e-9", 0.5, plugins, formulation="kane:projection=false")
    steps, before = (one.provenance["statistics"]["steps"] for one in (history, drifting))
    assert steps < 1.3 * before


class Heun(Solver):
    """A solver of someone else's, which knows nothing of projection."""

    name = "heun"
    order = 2
    needs_jacobian = False
    parts = 50

    def march(self, problem):
        x = problem.x0
        for a, b in zip(problem.times, problem.times[1:], strict=False):
            h = (b - a) / self.parts
            for t in a + h * np.arange(self.parts):
                slope = problem.rhs(t, x)
                x = x + h / 2 * (slope + problem.rhs(t + h, x + h * slope))
            yield x


class FinerHeun(Heun):
    """The same with half the step."""

    name = "finer-heun"
    parts = 100


def test_a_solver_that_does_not_project_gives_projected_samples_and_keeps_its_order(plugins):
    history = run("slider-crank", Heun, 0.2, plugins, monitors=True)
    assert residuals(history)[0] < 1e-14
    assert residuals(history)[1] < 1e-12
    exact = run("slider-crank", "dop853:rtol=1e-11,atol=1e-12", 0.2, plugins)
    coarse, fine = (run("slider-crank", cls, 0.2, plugins) for cls in (Heun, FinerHeun))
    errors = [np.abs(one["shaft.angle"] - exact["shaft.angle"]).max() for one in (coarse, fine)]
    assert errors[0] < 1e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)


def test_rates_are_those_of_the_projected_state(plugins):
    machine = plugins.models.get("four-bar")().build()
    simulation = prepare(machine, 1.0, integrator="dop853", plugins=plugins, backend="vm")
    rate, projected = (simulation.kernel.evaluator(f"kp_{name}") for name in ("rhs", "projected"))
    x = simulation.x0 + 1e-3 * np.array([1.0, -2.0, 1.0, 3.0, 1.0, -1.0])
    near = projected(0.0, x, [0.0], simulation.p)
    assert 1e-4 < np.abs(near - x).max() < 1e-2
    np.testing.assert_allclose(rate(0.0, x, [0.0], simulation.p), rate(0.0, near, [0.0], simulation.p), atol=1e-9)
    # At the state itself the accelerations would be others: this is what drift does.
    plain = np.asarray(simulation.equations.rhs(0.0, x, [0.0], simulation.p)).ravel()
    assert np.abs(plain - rate(0.0, x, [0.0], simulation.p)).max() > 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("integrator", ["dop853", "radau"])
def test_loops_stay_closed_in_long_runs(name, integrator, plugins):
    t_end, _, sizes = MACHINES[name]
    t_end *= 25
    machine = plugins.models.get(name)().build()
    errors = []
    for rtol in (1e-7, 1e-9):
        history = simulate(
            machine, t_end, integrator=f"{integrator}:rtol={rtol},atol={rtol * 1e-2}", output_step=t_end / 50,
            plugins=plugins, monitors=True,
        )  # fmt: skip
        turns = 1 + np.abs(history.values[:, :3]).max()
        for found, size in zip(residuals(history), sizes, strict=True):
            assert found < 50 * np.finfo(float).eps * size * turns
        errors.append(energy_error(history))
    assert errors[1] < 0.05 * errors[0]
