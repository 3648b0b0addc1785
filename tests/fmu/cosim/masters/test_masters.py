"""Masters against closed forms: orders of convergence, agreement, energy, divergence."""

import casadi as ca
import numpy as np
import pytest

from kingpost import Input, PluginError, SolverError
from kingpost.base.channels import Channel
from kingpost.fmu.blocks.block import Block, State
from kingpost.fmu.cosim import Component, Connection, CosimError, PowerBond, System, cosimulate
from tests.fmu.cosim.coupled import exact, in_process, inertia_split, quarter_car, rider_exact, with_interface_inertia


def errors_at(master, plugins, steps, **options):
    found = []
    for step in steps:
        history = cosimulate(in_process(step=step, master=master, **options), plugins=plugins)
        found.append(np.abs(history.select(["a.position", "b.position"]) - exact(history.time)).max())
    return np.array(found)


@pytest.mark.parametrize(
    ("master", "order"),
    [
        ("jacobi", 1),
        ("jacobi:extrapolation=1", 2),
        ("jacobi:extrapolation=2", 3),
        ("gauss-seidel", 1),
        ("gauss-seidel:extrapolation=1", 2),
        ("gauss-seidel:extrapolation=2", 3),
        ("iterated", 2),
        ("iterated:ramp=false", 1),
    ],
)
def test_the_error_falls_with_the_order_of_the_master(master, order, plugins):
    """Inputs that hold are wrong by H/2 times their rate; a polynomial through k + 1 samples by H^(k + 1)."""
    errors = errors_at(master, plugins, (0.01, 0.005), t_end=1.0)
    # Next terms of the error are H times the fastest frequency (8 rad/s) smaller: 0.04 at 5 ms, up to some factor.
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)


def test_gauss_seidel_takes_the_order_that_it_is_given(plugins):
    found = {
        order: cosimulate(in_process(step=0.02, master="gauss-seidel", order=order), plugins=plugins)
        for order in (("a", "b"), ("b", "a"))
    }
    assert found["a", "b"].provenance["system"]["order"] == ["a", "b"]
    assert np.abs(found["a", "b"]["a.position"] - found["b", "a"]["a.position"]).max() > 1e-3
    default = cosimulate(in_process(step=0.02, master="gauss-seidel"), plugins=plugins)
    np.testing.assert_array_equal(default.values, found["a", "b"].values)


def test_iteration_comes_to_the_monolithic_solution(plugins):
    """Second order: a phase of w t (w H)^2 / 12 at the fastest frequency of 8 rad/s, here 7e-5, and less in the places."""
    assert errors_at("iterated", plugins, (0.002,), t_end=0.4)[0] < 7e-5
    assert errors_at("jacobi", plugins, (0.002,), t_end=0.4)[0] > 5e-3


@pytest.mark.quick("20.0")
@pytest.mark.parametrize("ratio", [2.0, 20.0])
def test_iteration_closes_an_algebraic_loop_that_diverges_otherwise(ratio, plugins):
    """(M + m) x'' = -k x: the rider's inertia is felt at once, whatever the ratio."""
    system = inertia_split(ratio, step=0.01)
    history = cosimulate(system, master="iterated", plugins=plugins)
    whole = np.cos(np.sqrt(4 / (1 + ratio)) * history.time)
    # Trapezoidal in the inputs: (H w)^2 / 12 of w t, below 1e-4.
    np.testing.assert_allclose(history["carrier.position"], whole, atol=2e-4)
    assert any("algebraic loop: carrier.acceleration -> rider.acceleration" in text for text in history.provenance["warnings"])


@pytest.mark.parametrize("ratio", [0.5, 20.0])
def test_interface_inertia_is_a_matter_of_connections(ratio, plugins):
    """Ports join w0 and A with the motion; any ratio is stable, and the error falls with the step."""
    errors = []
    for step in (0.01, 0.005):
        history = cosimulate(with_interface_inertia(ratio, step=step), master="gauss-seidel", plugins=plugins)
        assert history.provenance["system"]["order"] == ["rider", "carrier"]
        places = history.select(["carrier.at.x", "rider.inside"])[-1]
        errors.append(np.abs(places - rider_exact(ratio, 2.0)).max())
    # First order: inputs that hold are late by H/2, at speeds of up to 3 m/s.
    assert errors[0] < 0.015 * 3
    assert errors[0] / errors[1] == pytest.approx(2, abs=0.2)


@pytest.mark.parametrize(("master", "ratio"), [("jacobi", 1.06), ("jacobi", 1.6), ("gauss-seidel", 1.06)])
def test_divergence_is_noticed_and_its_cure_named(master, ratio, plugins):
    """Errors grow by the ratio in each step of Gauss-Seidel, and in each two of Jacobi."""
    with pytest.raises(SolverError, match="the coupling diverges: '(carrier.acceleration|rider.force)' has grown") as error:
        cosimulate(inertia_split(ratio, step=0.01, t_end=20.0), master=master, plugins=plugins)
    for words in ("smaller mass ratio", "interface inertia", "'iterated'", "at t = "):
        assert words in str(error.value)
    history = error.value.history
    assert history.provenance["outcome"] == "failed"
    # Some 20 steps until growth shows beside the motion, and as many as a factor of 100 takes, counted in stretches of 20.
    steps = np.log(100) / np.log(ratio) * (2 if master == "jacobi" else 1)
    assert 80 <= len(history) < 2 * steps + 120
    assert np.isfinite(history.values).all()


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel"])
def test_a_stable_ratio_is_left_alone(master, plugins):
    history = cosimulate(inertia_split(0.5, step=0.01, t_end=20.0), master=master, plugins=plugins)
    assert len(history) == 2001


def test_a_resonance_that_builds_up_is_no_divergence(plugins):
    """x'' + w^2 x = cos(w t), six steps in a period: x grows with t, from nothing, and turns in every third step."""
    w = 2 * np.pi / 0.06
    swing = Block("swing", (), (Channel("y", "m"),), (State("x", "m"), State("v", "m/s")),
                  rates=lambda s: [s["v"], ca.cos(w * s["t"]) - w**2 * s["x"]], values=lambda s: [s["x"]])  # fmt: skip
    sink = Block("sink", (Input("u", "m"),), (Channel("y", "m"),), values=lambda s: [s["u"]])
    components = (Component("swing", model=swing), Component("sink", model=sink))
    history = cosimulate(System("s", components, (Connection("swing.y", "sink.u"),), t_end=10.0), plugins=plugins)
    # x = t sin(w t) / 2 w, and samples meet the sine at 60 degrees.
    assert np.abs(history["swing.y"]).max() == pytest.approx(10 / (2 * w) * np.sin(np.pi / 3), rel=0.01)


def test_the_watch_can_be_switched_off(plugins):
    with pytest.raises(SolverError, match="is (inf|-inf|nan)|not finite"):
        cosimulate(inertia_split(3.0, step=0.01, t_end=40.0, growth=0), plugins=plugins)


BONDS = (PowerBond("strut", "chassis.force", "wheel.speed"),)


def residual_energy(history):
    """The energy that the bond made or lost, all amounts added, from the samples of inputs that hold."""
    force, speed, h = history["chassis.force"], history["wheel.speed"], np.diff(history.time)
    # Inputs over a step are the outputs at its start; outputs that answer are those at its end.
    return np.abs((force[1:] * speed[:-1] - force[:-1] * speed[1:]) * h).sum()


def test_ecco_keeps_the_energy_residual_small_with_fewer_steps(plugins):
    master = "ecco:rtol=0.02,atol=0.01,shortest=1e-4,longest=0.005"
    controlled = cosimulate(quarter_car(bonds=BONDS, step=1e-4), master=master, plugins=plugins)
    steps = np.diff(controlled.time)
    count = len(steps)
    fixed = cosimulate(quarter_car(step=1.0 / count), plugins=plugins)
    assert steps.max() > 5 * steps.min()
    assert controlled.time[-1] == pytest.approx(1.0, abs=1e-12)
    # As many steps, put where power flows: less energy is lost.
    assert residual_energy(controlled) < 0.5 * residual_energy(fixed)
    assert controlled.provenance["time"]["step_s"] is None


def test_power_and_energy_residual_of_bonds_are_channels(plugins):
    """With inputs that hold, the residual is what the samples say; where inputs and outputs agree, nothing is left of it."""
    history = cosimulate(quarter_car(bonds=BONDS, step=1e-3, t_end=0.2), plugins=plugins)
    force, speed = history["chassis.force"], history["wheel.speed"]
    lost = np.cumsum((force[1:] * speed[:-1] - force[:-1] * speed[1:]) * 1e-3)
    np.testing.assert_allclose(history["bonds.strut.residual"][1:], lost, atol=1e-9 * np.abs(lost).max())
    np.testing.assert_allclose(history["bonds.strut.power"][1:], force[1:] * speed[:-1], rtol=1e-12)
    assert history.unit("bonds.strut.residual") == "J"
    agreed = cosimulate(quarter_car(bonds=BONDS, step=1e-3, t_end=0.2, master="iterated"), plugins=plugins)
    assert np.abs(agreed["bonds.strut.residual"]).max() < 1e-6 * np.abs(lost).max()


def test_ecco_needs_bonds(plugins):
    with pytest.raises(CosimError, match=r"master 'ecco' cannot run system 'quarter car': the system declares no power bonds"):
        cosimulate(quarter_car(), master="ecco", plugins=plugins)


def test_options_of_masters_are_checked(plugins):
    with pytest.raises(PluginError, match="extrapolation is 3; it can be 0, 1 or 2"):
        cosimulate(in_process(master="jacobi:extrapolation=3"), plugins=plugins)
    with pytest.raises(PluginError, match="unknown master 'jakobi'; did you mean 'jacobi'"):
        cosimulate(in_process(master="jakobi"), plugins=plugins)
    with pytest.raises(PluginError, match="relaxation is 0; it must be above 0"):
        cosimulate(in_process(master="iterated:relaxation=0.0"), plugins=plugins)


def test_iteration_that_does_not_end_says_so(plugins):
    with pytest.raises(
        SolverError, match=r"did not agree after 3 rounds: '(carrier.force|rider.acceleration)' still changes by"
    ):
        cosimulate(inertia_split(3.0, master="iterated:memory=0,iterations=3"), plugins=plugins)
