"""Inputs that are linear within intervals: closed forms, limits, costs, and runs that repeat what was found."""

from dataclasses import replace
from math import pi

import numpy as np
import pytest

from kingpost import MechanismError, RunSettings, optimise, simulate
from kingpost.control.optimal.record import history_of
from kingpost.mechanism.optimal_parts import CostPart
from kingpost.modelfiles.opened import open_model
from kingpost.testing.optimal_control import COST, HAMILTONIAN, _mass

VM = RunSettings(backend="vm")


@pytest.fixture(scope="module")
def pushed(plugins):
    mechanism, task = _mass()

    def solve(transcription, intervals, **changes):
        integrator = "rk4" if transcription == "multiple-shooting" else "midpoint"
        how = replace(VM, integrator=integrator)
        own = replace(task, control="linear", **changes)
        return optimise(mechanism, own, transcription=transcription, intervals=intervals, how=how, plugins=plugins)

    return solve


@pytest.fixture(scope="module")
def pendulum(plugins):
    return open_model("mathematical-pendulum", plugins)


@pytest.fixture(scope="module")
def swung(pendulum, plugins):
    def solve(**changes):
        choices = {key: changes.pop(key) for key in ("intervals", "transcription") if key in changes}
        task = replace(pendulum.optimal_task("001"), control="linear", **changes)
        return optimise(pendulum.mechanism, task, how=VM, plugins=plugins, **choices)

    return solve


@pytest.mark.parametrize("transcription", ["collocation", "multiple-shooting"])
def test_a_linear_optimum_is_found_exactly(pushed, transcription):
    """The optimal force is linear in time and its motion cubic, which both methods integrate without error."""
    found = pushed(transcription, 5)
    assert found.cost == pytest.approx(COST, rel=1e-9)
    assert found.hamiltonian == pytest.approx(HAMILTONIAN, rel=1e-7)
    assert found.inputs[:, 0] == pytest.approx(np.linspace(9.0, -9.0, 6), abs=1e-6)


def test_steps_take_the_line_at_their_own_times(pushed):
    """The mid-point rule is of second order: errors shrink to a quarter."""
    errors = [pushed("step", intervals).cost - COST for intervals in (10, 20)]
    assert errors[1] == pytest.approx(errors[0] / 4, rel=0.1)


def test_limits_hold_at_nodes_and_rates_between_them(pushed):
    found = pushed("collocation", 10, bounds={"force": (-6.0, 8.0)}, rates={"force": (-20.0, 8.0)})
    force = found.inputs[:, 0]
    assert force.min() >= -6.0 - 1e-9 and force.max() <= 8.0 + 1e-9
    rates = np.diff(force) / found.h
    assert rates.min() >= -20.0 - 1e-6 and rates.max() <= 8.0 + 1e-6
    assert ("force", "lower") in {(item["name"], item["limit"]) for item in found.active}


def test_costs_are_integrals_of_lines(pushed):
    """Half the integral of the square of a line through nodes by Simpson's rule, which is exact for it, and of its rate."""
    found = pushed("collocation", 6, costs=(CostPart("effort"), CostPart("effort-rate", 0.5)), rates={"force": (-12.0, 12.0)})
    u = found.inputs[:, 0]
    middle = (u[1:] + u[:-1]) / 2
    effort = found.h / 12 * (u[:-1] ** 2 + 4 * middle**2 + u[1:] ** 2).sum()
    assert found.cost == pytest.approx(effort + 0.25 * (np.diff(u) ** 2).sum() / found.h, rel=1e-9)


def test_a_run_repeats_what_was_found(swung, pendulum):
    """The record says that inputs are linear. With the same steps: round-off of Newton's method, some 30 steps of 1e-10."""
    history = history_of(swung(intervals=30), 0.0)
    run = simulate(pendulum.mechanism, t_end=3.0, step=0.1, output_step=0.1, integrator="midpoint", inputs=history)
    assert run.provenance["inputs"]["torque"]["moves"]["interpolation"] == "linear"
    assert run["pivot.angle"] == pytest.approx(history["pivot.angle"], abs=1e-7)
    assert run["pivot.angle"][-1] == pytest.approx(pi / 2, abs=1e-7)
    assert history.provenance["optimal"]["task"]["control"] == "linear"


def test_the_limit_is_that_of_constant_inputs(swung):
    """6.4369444 is that of all transcriptions with constant inputs; here the error is below that of lines, h^4."""
    assert swung(intervals=20, transcription="collocation").cost == pytest.approx(6.4369444, rel=1e-4)


def test_redundant_ends_are_found_with_linear_inputs(swung):
    with pytest.raises(MechanismError, match=r"1 of the 3 end conditions follow from the others.*'pivot.angle'.*'bob.x'"):
        swung(end={"pivot.angle": pi / 2, "pivot.angle.rate": 0.0, "bob.x": 0.0})


def test_the_indirect_method_refuses_them(swung):
    with pytest.raises(MechanismError, match="takes inputs that are constant over intervals"):
        swung(transcription="hamiltonian")
