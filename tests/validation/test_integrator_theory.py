"""Integrators against what numerical analysis says of them."""

import itertools
import math

import numpy as np
import pytest

from kingpost import simulate
from kingpost.testing.integrators import Subject, error_at_end
from kingpost.testing.problems import oscillator, pendulum, pendulum_solution


def oscillator_state(history):
    return history["rail.displacement"], history["rail.displacement.rate"]


@pytest.mark.parametrize("step", [0.1, 0.05, 0.02])
def test_rk4_loses_energy_as_its_amplification_factor_says(step, plugins):
    """On x'' = -w^2 x each step multiplies the energy by |R(iz)|^2 = 1 - z^6/72 + z^8/576, z = w h."""
    history = simulate(oscillator(), 40.0, step=step, output_step=step, plugins=plugins)
    energy = history["energy.total"]
    z = 2.0 * step
    expected = energy[0] * (1 - z**6 / 72 + z**8 / 576) ** np.arange(len(energy))
    assert np.abs(energy - expected).max() < 1e-12 * energy[0]  # 2000 steps of rounding
    assert energy[-1] < energy[0]


@pytest.mark.parametrize("step", [0.1, 0.05, 0.02])
def test_symplectic_euler_keeps_its_modified_energy(step, plugins):
    """v+ = v - h w^2 x, x+ = x + h v+ keeps v^2 + w^2 x^2 - h w^2 x v, so the energy error stays below h w / 2."""
    history = simulate(oscillator(), 400.0, step=step, output_step=step, integrator="euler-symplectic", plugins=plugins)
    x, v = oscillator_state(history)
    modified = v**2 + 4 * x**2 - 4 * step * x * v
    assert np.ptp(modified) < 1e-11 * modified[0]  # 20000 steps of rounding
    energy = history["energy.total"]
    # 2 |x v| w <= v^2 + w^2 x^2, so the two energies differ by at most the part h w / 2 = h of either.
    assert np.abs(energy / energy[0] - 1).max() < 2 * step / (1 - step)


def test_the_energy_error_of_symplectic_euler_is_of_first_order_and_does_not_grow(plugins):
    errors = {}
    for step in (0.02, 0.01, 0.005):
        history = simulate(pendulum(), 100.0, step=step, output_step=step, integrator="euler-symplectic", plugins=plugins)
        error = np.abs(history["energy.total"] - history["energy.total"][0])
        half = len(error) // 2
        assert error[half:].max() < 1.05 * error[:half].max()
        errors[step] = error.max()
    assert errors[0.02] / errors[0.01] == pytest.approx(2.0, rel=0.05)
    assert errors[0.01] / errors[0.005] == pytest.approx(2.0, rel=0.05)


def test_dop853_has_order_eight_with_constant_steps(plugins):
    """With tolerances that accept everything the solver takes its longest step, so its true order shows."""
    errors = []
    steps = (0.2, 0.1, 0.05)
    for step in steps:
        history = simulate(
            pendulum(), 3.0, output_step=3.0, plugins=plugins, integrator=f"dop853:rtol=10,atol=10,max_step={step}"
        )
        assert history.provenance["statistics"]["steps"] == pytest.approx(3.0 / step, abs=2)
        errors.append(np.abs(history.values[-1, :2] - pendulum_solution(history.time[-1:])[0]).max())
    orders = [math.log2(a / b) for a, b in itertools.pairwise(errors)]
    assert orders[-1] == pytest.approx(8.0, abs=0.7)


@pytest.mark.parametrize("name", ["dop853", "lsoda", "radau", "bdf"])
def test_solvers_err_in_proportion_to_their_tolerance(name, plugins):
    subject = Subject(plugins.integrators.get(name), plugins)
    tolerances = np.array([1e-4, 1e-5, 1e-6, 1e-7, 1e-8])
    errors = [error_at_end(subject, pendulum(), pendulum_solution, tolerance=tolerance)[0] for tolerance in tolerances]
    slope = np.polyfit(np.log(tolerances), np.log(errors), 1)[0]
    # Error control aims at error ~ tolerance; a method of order p reaches tolerance^(p / (p + 1)) or better.
    assert 0.6 < slope < 1.4


def test_all_integrators_agree_on_a_swing(plugins):
    exact = pendulum_solution(np.array([5.0]))[0]
    for name, allowed in {"rk4": 1e-9, "dop853": 1e-7, "lsoda": 1e-6, "radau": 1e-7, "bdf": 1e-6}.items():
        history = simulate(pendulum(), 5.0, integrator=name, plugins=plugins)
        assert np.abs(history.values[-1, :2] - exact).max() < allowed, name
