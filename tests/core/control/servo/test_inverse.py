"""Inverse dynamics from a task to a history."""

import numpy as np
import pytest

from kingpost import MechanismError, RunSettings, SolverError
from kingpost.base.channels import Channel
from kingpost.control.servo.inverse import inverse, prepare_inverse
from kingpost.control.servo.record import slack_intervals
from kingpost.mechanism.tasks import ServoTask
from kingpost.modelfiles.opened import open_model


@pytest.fixture(scope="module")
def crane():
    return open_model("overhead-crane")


@pytest.fixture(scope="module")
def history(crane):
    return inverse(crane.mechanism, crane.task("000-4.4.1"), method="minimal-extension", stepper="bdf2:step=0.01")


def test_inputs_are_those_of_the_closed_form(history):
    """Our notes' table 2.3 from the flat solution (4.78)-(4.83), with second order in the step at most."""
    for t, force, torque in ((1.0, 473.53046170, -144.73977526), (2.0, -454.22114047, -88.56185802)):
        k = int(np.argmin(np.abs(history.time - t)))
        # 0.1669 N is what the notes measured for the largest error of F at 0.01 s by BDF2 inside.
        assert history["trolley_force"][k] == pytest.approx(force, abs=0.17)
        assert history["winch_torque"][k] == pytest.approx(torque, abs=0.02)


def test_the_path_is_followed_at_every_level(history):
    residuals = history.provenance["inverse"]["residuals"]
    assert residuals["position"] < 1e-12
    assert residuals["speed"] < 1e-11
    assert residuals["acceleration"] < 1e-10
    for name in ("load.x", "load.z"):
        assert history[name] == pytest.approx(history[f"desired.{name}"], abs=1e-12)
    assert history["desired.load.x"][-1] == pytest.approx(5.0)


def test_the_inputs_do_the_work_that_the_load_gains(history):
    work = history.provenance["inverse"]["work"]
    # m g h = 100 x 9.81 x 3 J; rest to rest without friction.
    assert work["energy_change_J"] == pytest.approx(2943.0, abs=1e-3)
    assert work["inputs_J"] == pytest.approx(2943.0, abs=0.01)
    assert history["servo.work"][-1] == work["inputs_J"]
    assert np.abs(history["servo.other_work"]).max() < 0.1


def test_the_record_says_how_it_was_found(history):
    found = history.provenance["inverse"]
    assert found["method"]["name"] == "minimal-extension"
    assert found["stepper"] == {
        "name": "bdf2",
        "options": {"step": 0.01, "iterations": found["stepper"]["options"]["iterations"]},
    }
    assert (found["index"]["index"], found["index"]["internal_states"]) == (5, 0)
    assert found["task"]["measures"] == ["load.x", "load.z"]
    assert history.provenance["integrator"]["name"] == "minimal-extension with bdf2"


def test_other_numbers_need_no_other_code(crane):
    first, second = (
        inverse(
            crane.mechanism, crane.task("000-4.4.1"), method="minimal-extension", stepper="bdf2:step=0.05", settings=settings
        )
        for settings in ({}, {"load_mass": 80.0})
    )
    assert second["winch_torque"][0] == pytest.approx(0.8 * first["winch_torque"][0])
    assert "cache hit" in second.provenance["backend"]["note"] or second.provenance["backend"]["name"] == "vm"


def test_what_cannot_work_is_refused_before_anything_is_computed(crane):
    mechanism, task = crane.mechanism, crane.task("000-4.4.1")
    with pytest.raises(MechanismError, match=r"has no input 'trolley_torque'; did you mean 'trolley_force'"):
        prepare_inverse(mechanism, ServoTask(task.path, ("trolley_torque", "winch_torque"), 3.0))
    with pytest.raises(MechanismError, match="needs as many inputs as servo-constraints, and the task has 1 inputs"):
        prepare_inverse(mechanism, ServoTask(task.path, ("trolley_force",), 3.0), method="minimal-extension")
    ends = {"load.x": [0, 5], "load.z": [-4, -1]}
    rough = {name: {"kind": "sequence", "times": [0, 3], "values": at, "profile": "linear"} for name, at in ends.items()}
    with pytest.raises(MechanismError, match=r"not smooth enough for index 5: 'load.x' needs C\^4 and is C\^0"):
        prepare_inverse(mechanism, ServoTask(rough, task.inputs, 3.0))


def test_a_run_that_stops_keeps_what_it_found(crane):
    """One Newton iteration does not solve the equations of a step once the crane moves."""
    task = crane.task("000-4.4.1")
    with pytest.raises(SolverError) as refused:
        inverse(crane.mechanism, task, method="minimal-extension", stepper="bdf2:step=0.01,iterations=1")
    assert refused.value.history is not None
    assert 0 < len(refused.value.history) < 301
    assert "inverse dynamics stopped at t = " in str(refused.value)


def test_slack_is_named_with_its_times_and_never_clipped():
    times = np.linspace(0.0, 4.0, 401)
    values = np.column_stack([np.cos(np.pi * times / 2), np.ones_like(times)])
    found = slack_intervals(times, [Channel("rope.tension", "N"), Channel("guy.tension", "N")], values)
    assert list(found) == ["rope"]
    (interval,) = found["rope"]
    # The cosine is negative from 1 s to 3 s; straight lines between samples are off by less than (0.01)^2.
    assert (interval["from_s"], interval["until_s"]) == pytest.approx((1.0, 3.0), abs=1e-4)
    assert interval["lowest_N"] == pytest.approx(-1.0)


def test_a_plane_motion_in_directors_gives_what_joint_coordinates_give():
    """Roundings of the directions across it, multiplied with each other, must not spoil the factorisation of a matrix."""
    chain = open_model("mass-chain")
    kane, directors = (
        inverse(
            chain.mechanism,
            chain.task("003"),
            method="minimal-extension",
            stepper="bdf3:step=0.02",
            how=RunSettings(formulation=formulation),
        )
        for formulation in ("kane", "directors")
    )
    assert directors["mass1.x"] == pytest.approx(kane["mass1.x"], abs=1e-9)
    # Both differ from the closed form by the error of the steps, of third order.
    assert directors["force"] == pytest.approx(kane["force"], abs=2e-3)
