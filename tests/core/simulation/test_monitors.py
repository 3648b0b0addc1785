"""Monitors as channels of any run: energy balance in closed form, and what failed and interrupted runs keep."""

import numpy as np
import pytest

from kingpost import (
    Body,
    ForceElement,
    Input,
    Interrupted,
    Joint,
    Mechanism,
    SolverError,
    simulate,
)
from kingpost.mechanism.closures import Closure
from kingpost.testing.problems import pushed_mass
from tests.core.mechanism.closed import PLUGINS


def sliding(*forces, **fields):
    """Return a mass of 2 kg on a rail at 3 m/s."""
    return Mechanism(
        "sliding",
        bodies=[Body("block", 2.0)],
        joints=[Joint("rail", "prismatic", "world", "block", axis=(1, 0, 0), start_rate=3.0)],
        forces=forces,
        **fields,
    )


FAST = {"backend": "vm", "monitors": True}


def test_work_of_an_input_that_is_held_and_jumps(plugins):
    """A force does force times way, also where it jumps from one output step to the next; kinetic energy is its sum."""
    steps = np.array([5.0, -7.0, 0.0, 11.0, 2.0, 2.0])
    machine = sliding(ForceElement("joint-effort", coordinate="rail.displacement", effort="push"), inputs=[Input("push", "N")])
    history = simulate(machine, 0.5, inputs={"push": steps}, step=0.01, output_step=0.1, plugins=plugins, **FAST)
    way = np.diff(history["rail.displacement"])
    np.testing.assert_allclose(history["energy.work"][1:], np.cumsum(steps[:-1] * way), atol=1e-13)
    np.testing.assert_allclose(history["energy.error"], 0.0, atol=1e-13)  # rk4 is exact for a constant force


def test_work_of_a_damper_is_good_to_fourth_order(plugins):
    """m v' = -c v: the energy m v^2 / 2 exp(-2 c t / m) is lost. Twice the output step makes 16 times the error."""
    damper = ForceElement("joint-spring", coordinate="rail.displacement", stiffness=0.0, damping=1.2)
    errors = []
    for output_step in (0.1, 0.2):
        history = simulate(sliding(damper), 2.0, step=0.001, output_step=output_step, plugins=plugins, **FAST)
        lost = 9.0 * (1 - np.exp(-2 * 1.2 / 2.0 * history.time))
        errors.append(np.abs(history["energy.work"] + lost).max())
        np.testing.assert_allclose(history["energy.error"], history["energy.total"] - 9.0 - history["energy.work"], atol=1e-14)
    assert errors[1] / errors[0] == pytest.approx(16.0, rel=0.02)
    assert errors[0] < 1e-5


def test_a_potential_that_an_input_changes(plugins):
    """A spring whose stiffness is stepped up takes work at once: half the change of stiffness times the square of its way."""
    machine = sliding(
        ForceElement("joint-spring", coordinate="rail.displacement", stiffness="k"), inputs=[Input("k", "N/m", default=4.0)]
    )
    stiffness = np.where(np.arange(11) < 5, 4.0, 40.0)
    history = simulate(machine, 1.0, inputs={"k": stiffness}, step=0.001, output_step=0.1, plugins=plugins, **FAST)
    x = history["rail.displacement"][5]
    np.testing.assert_allclose(history["energy.work"][:5], 0.0, atol=1e-12)
    np.testing.assert_allclose(history["energy.work"][5:], 18.0 * x**2, rtol=1e-12)
    assert np.abs(history["energy.error"]).max() < 1e-10  # of rk4 at 1 ms


def test_multipliers_do_no_work_where_speeds_miss_the_constraints(plugins):
    """Energy-momentum steps keep the energy, but constraints of speeds in the mean of a step only."""
    machine = plugins.models.get("four-bar")().build()
    history = simulate(machine, 0.1, formulation="directors", integrator="energy-momentum", step=0.01, plugins=plugins, **FAST)
    assert history["constraints.speed"].max() > 1e-4
    assert np.abs(history["energy.work"]).max() < 1e-11
    assert np.abs(history["energy.error"]).max() < 1e-11
    assert history["constraints.position"].max() < 1e-12
    assert set(history["constraints.rank"]) == {history["constraints.rank"][0]}


def test_a_run_that_fails_or_is_interrupted_has_monitors(plugins):
    machine = plugins.models.get("four-bar")().build()
    with pytest.raises(SolverError) as failed:
        simulate(machine, 20.0, step=0.5, output_step=0.5, plugins=plugins, **FAST)
    history = failed.value.history
    assert history.provenance["outcome"] == "failed"
    assert len(history) >= 2 and np.isfinite(history["constraints.condition"][0])
    assert [channel["name"] for channel in history.provenance["channels"]] == list(history.names)

    def stop(fraction):
        if fraction > 0.3:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as interrupted:
        simulate(machine, 0.1, step=0.01, plugins=plugins, progress=stop, **FAST)
    history = interrupted.value.history
    assert 1 <= len(history) < 11
    assert history["constraints.position"].max() < 1e-12


def test_a_single_sample_has_monitors(plugins):
    """Failed in the first step: nothing has moved, but errors of the constraints at the start are known."""
    machine = plugins.models.get("four-bar")().build()
    with pytest.raises(SolverError) as failed:
        simulate(machine, 1.0, integrator="midpoint:iterations=1", step=0.5, output_step=0.5, plugins=plugins, **FAST)
    history = failed.value.history
    assert len(history) == 1
    assert history["energy.work"].tolist() == [0.0] and history["constraints.position"][0] < 1e-14


def test_a_machine_that_cannot_move_has_monitors(plugins):
    fixed = Mechanism("fixed", bodies=[Body("block", 2.0)], joints=[Joint("weld", "weld", "world", "block")])
    history = simulate(fixed, 0.1, step=0.01, plugins=plugins, **FAST)
    assert not history["energy.error"].any() and not history["momentum.linear.x"].any()


def test_a_solver_has_monitors_and_pushes_are_balanced(plugins):
    machine = pushed_mass()
    history = simulate(machine, 1.0, inputs={"push": np.sin}, integrator="dop853", plugins=plugins, **FAST)
    assert np.abs(history["energy.error"]).max() < 1e-9
    assert np.ptp(history["energy.work"]) > 1e-3


def test_momentum_of_a_conserving_scheme_is_seen_to_be_conserved(plugins):
    """Its speeds satisfy the joints only in the mean of a step, so momenta must not go through joint speeds."""
    satellite = plugins.models.get("satellite")().build()
    history = simulate(
        satellite, 0.5, step=0.05, output_step=0.05, formulation="directors", integrator="energy-momentum", monitors=True,
        backend="vm", plugins=plugins, settings={name.name: 0.7 for name in satellite.speeds},
    )  # fmt: skip
    for kind in ("linear", "angular"):
        momenta = np.column_stack([history[f"momentum.{kind}.{axis}"] for axis in "xyz"])
        assert np.abs(momenta - momenta[0]).max() < 1e-9 * np.abs(momenta).max()


def test_momentum_on_a_base_that_moves(plugins):
    """A body that is carried along at constant speed."""
    carried = Mechanism(
        "carried",
        bodies=(Body("base", mass=3.0), Body("bob", mass=2.0, inertia=(1, 1, 1))),
        joints=(
            Joint("track", "given", "world", "base", pose=("2*t", 0, 0, 0, 0, 0)),
            Joint("pivot", "revolute", "base", "bob", axis=(0, 0, 1)),
        ),
    )
    history = simulate(carried, 0.1, step=0.01, output_step=0.05, monitors=True, backend="vm", plugins=plugins)
    np.testing.assert_allclose(history["momentum.linear.x"], 10.0, rtol=1e-12)


def test_monitors_know_momentum_rank_and_condition():
    machine = Mechanism(
        "drifting",
        bodies=[Body(name, mass=m, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.25)) for name, m in (("one", 2.0), ("two", 3.0))],
        joints=[Joint("free1", "free", "world", "one"), Joint("free2", "free", "world", "two")],
        closures=[Closure("ball", "spherical", "one", "two", position=(0.5, 0, 0), child_position=(-0.5, 0, 0))],
    )
    start = {"free2.x": 1.0, "free1.wx": 0.3, "free1.wy": 1.0, "free1.vx": 0.4, "free2.wz": -2.0}
    history = simulate(machine, 3.0, settings=start, plugins=PLUGINS, monitors=True)
    for name in (f"momentum.{kind}.{axis}" for kind in ("linear", "angular") for axis in "xyz"):
        # rk4 with 1 ms and a motion of some 2 rad/s: errors of (2e-3)^4 / 120 per step, 3000 steps.
        np.testing.assert_allclose(history[name], history[name][0], atol=1e-9)
    assert np.abs(history["momentum.angular.z"][0]) > 0.1
    assert set(history["constraints.rank"]) == {3.0}
    assert (history["constraints.condition"] >= 1.0).all()
    assert history["constraints.condition"].max() < 10.0
    for level, rounding in (("position", 1e-14), ("speed", 1e-13), ("acceleration", 1e-12)):
        assert history[f"constraints.{level}"].max() < rounding
    assert history.provenance["channels"][-1]["name"] == "constraints.condition"
    # At one sample, by hand: total mass times the velocity of the common centre of mass.
    k = 0
    w1, v1, w2, v2 = (
        history.select([f"free{i}.{letter}{axis}" for axis in "xyz"])[k]
        for i, letter in ((1, "w"), (1, "v"), (2, "w"), (2, "v"))
    )
    com = np.array([0.1, 0, 0])
    linear = 2.0 * (v1 + np.cross(w1, com)) + 3.0 * (v2 + np.cross(w2, com))
    np.testing.assert_allclose(history.select([f"momentum.linear.{axis}" for axis in "xyz"])[k], linear, atol=1e-12)


def test_monitors_of_a_tree_are_energy_and_momentum():
    history = simulate(PLUGINS.models.get("double-pendulum")().build(), 0.1, plugins=PLUGINS, monitors=True)
    assert list(history.names[-8:]) == [
        *("energy.work", "energy.error"),
        *(f"momentum.{kind}.{axis}" for kind in ("linear", "angular") for axis in "xyz"),
    ]
