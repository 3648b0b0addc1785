"""The path of an optimum as a task: a spline through its nodes, written as TOML, and followed by inverse dynamics."""

import numpy as np
import pytest

from kingpost import History, KingpostError, MechanismError, RunSettings, inverse, optimise
from kingpost.base.channels import Channel
from kingpost.control.optimal.path_ends import path_ends
from kingpost.control.optimal.path_task import check_path, path_task, task_text
from kingpost.control.optimal.record import history_of
from kingpost.modelfiles.opened import open_model

VM = RunSettings(backend="vm")


@pytest.fixture(scope="module")
def pendulum(plugins):
    return open_model("mathematical-pendulum", plugins)


@pytest.fixture(scope="module")
def found(pendulum, plugins):
    """An optimum with many intervals, and the path of its only coordinate."""
    optimum = optimise(pendulum.mechanism, pendulum.optimal_task("001"), intervals=60, how=VM, plugins=plugins)
    return history_of(optimum, 0.0)


def test_the_path_goes_through_the_nodes_and_is_smooth_up_to_both_ends(found):
    task = path_task(found, ["pivot.angle"])
    assert task.inputs == ("torque",)
    assert (task.t_start, task.t_end) == (0.0, 3.0)
    curve = task.path["pivot.angle"]
    values = [float(curve.value(t)) for t in found.time]
    assert values == pytest.approx(found["pivot.angle"], abs=1e-12)
    assert task.smoothness == 4


def test_a_sample_beyond_each_end_does_not_change_the_spline():
    """A polynomial of degree five comes back exactly, in between and at the ends."""
    time = np.linspace(0.0, 2.0, 9)
    history = History(time, (Channel("a", "m"),), (time**5 - time**2)[:, None], {})
    curve = path_task(history, ["a"], ["force"]).path["a"]
    for t in (0.0, 0.13, 1.9, 2.0):
        assert float(curve.value(t)) == pytest.approx(t**5 - t**2, abs=1e-11)
        assert float(curve.value(t, order=1)) == pytest.approx(5 * t**4 - 2 * t, abs=1e-10)


def test_known_derivatives_at_the_ends_are_kept():
    """A polynomial of degree five comes back exactly from few samples and two or three derivatives at each end."""
    time = np.linspace(0.0, 2.0, 7)
    ends = {"begin": [0.0, -2.0, 0.0], "end": [5 * 16.0 - 4.0, 20 * 8.0 - 2.0, 60 * 4.0]}
    for count in (2, 3):
        record = {"optimal": {"path_ends": {"a": {side: values[:count] for side, values in ends.items()}}}}
        history = History(time, (Channel("a", "m"),), (time**5 - time**2)[:, None], record)
        curve = path_task(history, ["a"], ["force"]).path["a"]
        for t in (0.0, 0.13, 1.9, 2.0):
            for order, value in ((0, t**5 - t**2), (1, 5 * t**4 - 2 * t), (2, 20 * t**3 - 2), (4, 120 * t)):
                assert float(curve.value(t, order=order)) == pytest.approx(value, abs=1e-8)


def test_ends_are_those_of_the_equations(pendulum, plugins):
    """m l^2 q'' = m g l cos(q) + torque, with m = l = 1: at rest at both ends, and third derivatives with linear torques."""
    task = pendulum.optimal_task("001")
    for control, transcription in (("constant", "step"), ("linear", "collocation")):
        found = optimise(
            pendulum.mechanism, task, intervals=10, control=control, transcription=transcription, how=VM, plugins=plugins
        )
        begin, end = path_ends(found, ["bob.x", "pivot.angle"])["pivot.angle"].values()
        u = found.inputs[:, 0]
        if control == "constant":
            edges = [(15 * u[0] - 10 * u[1] + 3 * u[2]) / 8, (15 * u[-1] - 10 * u[-2] + 3 * u[-3]) / 8]
            assert begin == pytest.approx([0.0, 9.81 + edges[0]], abs=1e-7)
            assert end == pytest.approx([0.0, edges[1]], abs=1e-7)
        else:
            assert begin == pytest.approx([0.0, 9.81 + u[0], (u[1] - u[0]) / found.h], abs=1e-6)
            assert end == pytest.approx([0.0, u[-1], (u[-1] - u[-2]) / found.h], abs=1e-6)


@pytest.mark.slow
def test_a_crane_needs_few_intervals_for_a_path_that_can_be_followed(plugins):
    """20 intervals with linear inputs: along the path of the load inputs cost a tenth more than the optimum at most.

    A spline through the nodes alone cannot be followed then: its load falls freely at an end, where no trolley holds it.
    """
    crane = open_model("overhead-crane", plugins)
    found = optimise(
        crane.mechanism, crane.optimal_task("001"), intervals=20, control="linear", transcription="collocation", plugins=plugins
    )
    measures = ["load.x", "load.z"]
    followed = inverse(crane.mechanism, path_task(found, measures), plugins=plugins)
    squares = followed["trolley_force"] ** 2 + followed["winch_torque"] ** 2
    assert np.trapezoid(squares, followed.time) / 2 < 1.1 * found.cost
    assert np.abs(followed["trolley_force"]).max() < 1.25 * np.abs(found.inputs[:, 0]).max()
    # At rest at the end, with the rope straight down.
    assert followed["swing.angle"][-1] == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(KingpostError):
        inverse(crane.mechanism, path_task(history_of(found, 0.0), measures), plugins=plugins)


def test_the_text_is_read_back_as_the_same_task(found, pendulum, tmp_path):
    task = path_task(found, ["pivot.angle"])
    (tmp_path / "path.toml").write_text(task_text(task))
    read = pendulum.task(str(tmp_path / "path.toml"))
    assert read.path == task.path
    assert (read.inputs, read.t_start, read.t_end) == (task.inputs, task.t_start, task.t_end)


def test_inverse_dynamics_finds_the_inputs_of_the_optimum(found, pendulum, plugins):
    """Inputs that are constant over intervals of h = 0.05 s, seen in their middles: they bend by some 20 N.m/s^2, h^2 of it."""
    task = path_task(found, ["pivot.angle"])
    history = inverse(pendulum.mechanism, task, how=VM, plugins=plugins)
    assert history["pivot.angle"] == pytest.approx(
        np.array([float(task.path["pivot.angle"].value(t)) for t in history.time]), abs=1e-8
    )
    middles = (found.time[1:] + found.time[:-1]) / 2
    torque = np.interp(middles, history.time, history["torque"])
    inner = slice(3, -3)  # at the ends the spline follows the first and last jumps
    assert torque[inner] == pytest.approx(found["torque"][:-1][inner], abs=20 * 0.05**2)


def test_what_cannot_be_a_path_is_refused(found, pendulum):
    with pytest.raises(
        MechanismError, match="nothing called 'pivot.angel' that could follow a path; did you mean 'pivot.angle'"
    ):
        check_path(pendulum.mechanism, ["pivot.angel"])
    with pytest.raises(MechanismError, match="can be named once"):
        check_path(pendulum.mechanism, ["pivot.angle", "pivot.angle"])
    with pytest.raises(MechanismError, match="the history shows no 'angle'"):
        path_task(found, ["angle"])
    plain = History(found.time, found.channels, found.values, {})
    with pytest.raises(MechanismError, match="is no optimum"):
        path_task(plain, ["pivot.angle"])
