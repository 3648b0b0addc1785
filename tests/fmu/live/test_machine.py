"""A machine in a live session: the bits of a run, and of itself when it goes back."""

import numpy as np
import pytest

from kingpost import Body, ForceElement, Input, Joint, Mechanism, Parameter, simulate
from kingpost.base.errors import MechanismError, SolverError
from kingpost.fmu.live.machine import ready_machine
from kingpost.fmu.live.session import LiveSession
from kingpost.fmu.live.subject import LiveStoppedError
from kingpost.mechanism.trajectories import Sampled
from kingpost.simulation.settings import RunSettings
from tests.fmu.machines import flywheel, locking, rig


def ready(mechanism, plugins, settings=None, inputs=None, frame=0.02, t_end=20.0, **how):
    settings = settings or {}
    return ready_machine(mechanism, settings, inputs or {}, RunSettings.of({"step": 0.005, **how}), plugins, frame, t_end)


def test_without_changes_it_gives_the_bits_of_a_run(plugins):
    machine = ready(rig(), plugins, {"mass": 3.0, "torque": 0.5}, loads="all")
    rows = [machine.row]
    for _ in range(50):
        machine.advance()
        rows.append(machine.row)
    history = simulate(
        rig(), 1.0, settings={"mass": 3.0, "torque": 0.5}, plugins=plugins, step=0.005, output_step=0.02, loads="all"
    )
    assert [channel.name for channel in machine.channels] == list(history.names)
    np.testing.assert_array_equal(np.array(rows), history.values)
    assert machine.t == history.time[-1]


def test_inputs_that_are_changed_give_the_bits_of_a_run_with_these_inputs(plugins):
    machine = ready(flywheel(), plugins)
    torques = np.zeros(51)
    rows = [machine.row]
    for k in range(50):
        if k % 7 == 3:
            machine.change({"torque": 0.1 * k})
            rows[-1] = machine.row
        torques[k:] = machine.controls.starts["torque"] if k < 3 else 0.1 * (k - (k - 3) % 7)
        machine.advance()
        rows.append(machine.row)
    run = simulate(flywheel(), 1.0, inputs={"torque": torques}, plugins=plugins, step=0.005, output_step=0.02)
    names = [channel.name for channel in machine.channels]
    np.testing.assert_array_equal(np.array(rows)[:-1], run.select(names)[:-1])


@pytest.mark.parametrize("integrator", ["rk4", "generalized-alpha"])
def test_going_back_and_repeating_gives_the_same_bits_with_parameters_changed_on_the_way(plugins, integrator):
    machine = ready(rig(), plugins, integrator=integrator)

    def go_on():
        rows = []
        for k in range(30):
            if k == 10:
                machine.change({"mass": 5.0, "torque": 1.5})
            machine.advance()
            rows.append(machine.row)
        return np.array(rows)

    begin = machine.save()
    first = go_on()
    machine.restore(begin)
    assert machine.t == 0.0
    np.testing.assert_array_equal(go_on(), first)
    other = ready(rig(), plugins, integrator=integrator)
    for _ in range(30):
        other.advance()
    assert not np.array_equal(other.row, first[-1])


def test_a_changed_parameter_acts_as_in_a_run_that_begins_there(plugins):
    machine = ready(rig(), plugins)
    for _ in range(10):
        machine.advance()
    machine.change({"length": 1.7, "gravity": 3.0})
    angle, rate = (
        float(machine.row[[c.name for c in machine.channels].index(name)]) for name in ("pivot.angle", "pivot.angle.rate")
    )
    for _ in range(20):
        machine.advance()
    settings = {"length": 1.7, "gravity": 3.0, "pivot.angle": angle, "pivot.angle.rate": rate}
    run = simulate(rig(), 0.4, settings=settings, plugins=plugins, step=0.005, output_step=0.02)
    place = [channel.name for channel in machine.channels].index("pivot.angle")
    assert machine.row[place] == pytest.approx(run["pivot.angle"][-1], abs=1e-12)


def test_inputs_that_move_by_themselves_go_on_and_others_can_be_changed(plugins):
    mechanism = Mechanism(
        name="two-motors",
        inputs=(Input("one", "N.m"), Input("other", "N.m")),
        bodies=(Body("wheel", mass=1.0, inertia=(1.0, 1.0, 2.0)),),
        joints=(Joint("axle", "revolute", "world", "wheel", axis=(0, 0, 1)),),
        forces=tuple(
            ForceElement("joint-actuator", name=f"m{k}", coordinate="axle.angle", effort=name, stiffness=0, damping=0)
            for k, name in enumerate(("one", "other"))
        ),
    )
    path = Sampled((0.0, 0.1, 0.3, 5.0), (0.0, 1.0, -1.0, 2.0), "linear")
    machine = ready(mechanism, plugins, inputs={"one": path}, t_end=5.0)
    assert list(machine.controls.items) == ["other"]
    assert machine.controls.fixed["one"] == "it moves by itself"
    rows = []
    begin = machine.save()
    for _ in range(2):
        machine.restore(begin)
        for k in range(40):
            if k == 20:
                machine.change({"other": 2.0})
            machine.advance()
        rows.append(machine.row)
    np.testing.assert_array_equal(*rows)
    others = np.where(np.arange(251) < 20, 0.0, 2.0)
    run = simulate(mechanism, 5.0, inputs={"one": path, "other": others}, plugins=plugins, step=0.005, output_step=0.02)
    names = [channel.name for channel in machine.channels]
    np.testing.assert_array_equal(machine.row, run.select(names)[40])


def test_a_machine_that_cannot_go_on_says_what_the_run_says(plugins):
    machine = ready(locking(), plugins)
    with pytest.raises(SolverError) as of_the_run:
        simulate(locking(), 2.0, plugins=plugins, step=0.005, output_step=0.02)
    session = LiveSession(machine)
    with pytest.raises(LiveStoppedError) as stopped:
        session.advance(100)
    assert str(stopped.value) == str(of_the_run.value)
    assert session.t == pytest.approx(of_the_run.value.history.time[-1], abs=1e-12)
    session.go(0.04)
    assert session.t == pytest.approx(0.04)


def test_a_step_that_is_too_long_is_told_as_in_a_run(plugins):
    stiff = Mechanism(
        name="stiff",
        parameters=(Parameter("k", 1.0, "N.m/rad"),),
        bodies=(Body("wheel", mass=1.0, inertia=(1.0, 1.0, 1.0)),),
        joints=(Joint("axle", "revolute", "world", "wheel", axis=(0, 0, 1), start=0.1),),
        forces=(ForceElement("joint-actuator", name="s", coordinate="axle.angle", target=0.0, stiffness="k", damping=0),),
    )
    session = LiveSession(ready(stiff, plugins))
    session.advance(10)
    session.set({"k": 1e9})
    with pytest.raises(LiveStoppedError, match=r"is inf; try a step smaller.*Note: a step of 0.005 s is too long") as stopped:
        session.advance(2000)
    assert "'stiff' with rk4" in str(stopped.value)
    session.go(0.1)
    session.set({"k": 2.0})
    session.advance(50)
    assert abs(session.row[0]) < 0.2


def test_what_no_machine_can_have_is_refused_and_changes_nothing(plugins):
    machine = ready(rig(), plugins)
    machine.advance()
    before, t = machine.row, machine.t
    with pytest.raises(MechanismError, match="mass is -1 kg"):
        machine.change({"torque": 3.0, "mass": -1.0})
    with pytest.raises(MechanismError, match="mass matrix is singular"):
        machine.change({"mass": 0.0})
    np.testing.assert_array_equal(machine.row, before)
    machine.advance()
    other = ready(rig(), plugins)
    other.advance()
    other.advance()
    np.testing.assert_array_equal(machine.row, other.row)
    assert machine.t > t


def test_a_length_in_a_closed_loop_cannot_be_changed_while_it_moves(plugins):
    from kingpost import open_model

    opened = open_model("four-bar", plugins)
    machine = ready(opened.mechanism, plugins, step=0.001)
    lengths = [name for name in machine.controls.items if "length" in name]
    with pytest.raises(MechanismError, match="would be open by"):
        machine.change({lengths[0]: 1.2 * machine.controls.items[lengths[0]].value})
    machine.advance()


def test_a_solver_with_steps_of_its_own_is_refused(plugins):
    with pytest.raises(SolverError, match="'dop853' chooses its own steps; a live session needs one with fixed steps"):
        ready(rig(), plugins, integrator="dop853", step=None)


def test_frames_are_whole_numbers_of_steps_and_the_end_is_told(plugins):
    machine = ready(flywheel(), plugins, frame=0.013, t_end=0.04)
    assert machine.frame == pytest.approx(0.015)
    session = LiveSession(machine)
    with pytest.raises(LiveStoppedError, match="come to its end at t = 0.045 s"):
        session.advance(100)
    long = ready(flywheel(), plugins, frame=0.02, step=0.1)
    assert long.frame == pytest.approx(0.1)
