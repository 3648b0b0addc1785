"""Inverse dynamics of machines whose friction depends on joint loads."""

from dataclasses import replace

import numpy as np
import pytest

from kingpost import Body, ForceElement, Input, Joint, Mechanism, MechanismError, RunSettings, SolverError, evaluate, inverse
from kingpost.control.servo.feedback import ServoLoop
from kingpost.control.servo.posing import pose_servo
from kingpost.control.servo.start import consistent_start
from kingpost.mechanism.tasks import ServoTask
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import select
from tests.core.control.servo.machines import move, slide

PLUGINS = PluginSet(entry_points=False)
MASS, REACH, INERTIA, G = 2.0, 0.5, 0.1, 9.81
MU, RADIUS, TRANSITION = 0.3, 0.05, 0.2


def arm(count=1, mu=MU, further=(), inputs=()):
    """Return arms one behind the other, each turning about y on a journal that rubs, each with a torque."""
    turn = {"axis": (0, 1, 0), "start": 0.0}
    names = [str(i + 1) for i in range(count)]
    return Mechanism(
        "arm",
        bodies=[Body(f"arm{i}", mass=MASS, com=(REACH, 0, 0), inertia=(INERTIA,) * 3) for i in names],
        joints=[
            Joint(
                f"pin{i}", "revolute", "world" if i == "1" else "arm1", f"arm{i}", position=(0 if i == "1" else 1, 0, 0), **turn
            )
            for i in names
        ],
        inputs=[*(Input(f"torque{i}", "N.m") for i in names), *inputs],
        forces=[
            ForceElement("gravity", acceleration=(0, 0, -G)),
            *(ForceElement("joint-effort", name=f"drive{i}", coordinate=f"pin{i}.angle", effort=f"torque{i}") for i in names),
            *(
                ForceElement("bearing-friction", name=f"rub{i}", joint=f"pin{i}", mu=mu, radius=RADIUS, transition=TRANSITION)
                for i in names
            ),
            *further,
        ],
    )


def driven(machine, method="computed-torque", step=0.1, path=None):
    """Return how all pins are driven through one radian in two seconds."""
    names = [joint.name for joint in machine.joints]
    path = path or move(*(f"{name}.angle" for name in names))
    task = ServoTask(path, tuple(name.replace("pin", "torque") for name in names), 2.0)
    how = RunSettings(loads=("all",), backend="vm")
    return inverse(machine, task, method=method, stepper=f"bdf2:step={step}", how=how, plugins=PLUGINS)


@pytest.mark.parametrize("method", ["computed-torque", "modular"])
def test_one_journal_in_closed_form(method):
    """The load of the pin follows from the motion of the centre of mass alone, and the torque from moments about the pin."""
    found = driven(arm(), method)
    angle, rate = found["pin1.angle"], found["pin1.angle.rate"]
    path = move("pin1.angle")["pin1.angle"].jets_at(found.time, 2, {})
    np.testing.assert_allclose(np.column_stack([angle, rate]), path[:, :2], atol=1e-12)
    second = path[:, 2]
    # About y the arm (cos, 0, -sin) goes down; centre of mass at REACH.
    x = REACH * (-np.sin(angle) * second - np.cos(angle) * rate**2)
    z = REACH * (-np.cos(angle) * second + np.sin(angle) * rate**2)
    load = MASS * np.hypot(x, z + G)
    rubs = -MU * RADIUS * load * np.tanh(rate / TRANSITION)
    wanted = (INERTIA + MASS * REACH**2) * second - MASS * G * REACH * np.cos(angle) - rubs
    np.testing.assert_allclose(found["torque1"], wanted, atol=1e-11)
    np.testing.assert_allclose(found["rub1.load"], load, atol=1e-11)
    np.testing.assert_allclose(found["pin1.friction.My"], rubs, atol=1e-11)
    assert found["rub1.residual"].max() < 1e-12
    # All motion prescribed, no loop: friction changes no load.
    np.testing.assert_allclose(found["rub1.coupling"], 0.0, atol=1e-12)


def test_two_journals_and_a_forward_machine_agree():
    """State and torques of the inverse give its accelerations and its loads, where both bearings rub."""
    machine = arm(2)
    found = driven(machine, "modular")
    desired = move("pin1.angle")["pin1.angle"].jets_at(found.time, 2, {})[:, 2]
    i = 7
    names = ("pin1.angle", "pin2.angle", "pin1.angle.rate", "pin2.angle.rate", "torque1", "torque2")
    there = evaluate(machine, settings={name: found[name][i] for name in names}, loads=("all",), plugins=PLUGINS)
    np.testing.assert_allclose(there["vdot"], desired[i], atol=1e-9)
    for k in "12":
        rubs = there["loads"][f"pin{k}"]["parts"]["friction"][1]
        assert abs(rubs) > 0.1
        assert found[f"pin{k}.friction.My"][i] == pytest.approx(rubs, abs=1e-9)


def test_two_frictions_in_one_loop():
    """The spatial slider-crank with a journal at its shaft, too: both methods, and the forward machine, say the same."""
    crank = select(PLUGINS.models, "spatial-slider-crank")
    plain = crank.build()
    journal = ForceElement("bearing-friction", name="journal", joint="shaft", mu=0.3, radius=0.08, span=0.4, transition=0.01)
    machine = replace(plain, forces=(*plain.forces, journal))
    problem = pose_servo(machine, crank.tasks()["002"], RunSettings(backend="vm"), plugins=PLUGINS)
    start, times = consistent_start(problem, 2), np.linspace(0.0, 0.1, 11)
    one, other = (
        select(PLUGINS.of("inverse_dynamics"), method).solve(problem, start, times, lambda fraction: None)[1]
        for method in ("computed-torque", "modular")
    )
    np.testing.assert_allclose(one, other, atol=1e-9)
    n = problem.equations.nv
    q, v, a, u = one[8, :n], one[8, n : 2 * n], one[8, 2 * n : 3 * n], one[8, -1]
    forward = problem.equations
    np.testing.assert_allclose(np.asarray(forward.accelerations(0.08, q, v, u, problem.p)).ravel(), a, atol=1e-8)
    multipliers = np.asarray(forward.multipliers(0.08, q, v, u, problem.p)).ravel()
    np.testing.assert_allclose(multipliers, one[8, 3 * n : -1], atol=1e-8)


def test_inputs_beyond_their_bounds_are_refused_with_friction_too():
    with pytest.raises(
        SolverError, match=r"cannot follow the path within their bounds .* torque1 = -9\.\d+ \(bounds -5 to 5\)"
    ):
        driven(arm(), "computed-torque:bounds=torque1:-5:5")


def test_motions_that_the_path_leaves_open_are_refused():
    with pytest.raises(MechanismError) as refused:
        slide(arm(2), ("pin1.angle",), ("torque1",))
    assert "force rub1, rub2 depends on joint loads, which inverse dynamics takes where the path says how" in str(refused.value)
    assert "'arm' has 2 degrees of freedom, and the task 1 measures and 1 inputs" in str(refused.value)


def test_more_inputs_than_measures_are_refused():
    second = ForceElement("joint-effort", name="second", coordinate="pin1.angle", effort="more")
    machine = arm(further=[second], inputs=[Input("more", "N.m")])
    with pytest.raises(MechanismError, match="'arm' has 1 degrees of freedom, and the task 1 measures and 2 inputs"):
        slide(machine, ("pin1.angle",), ("torque1", "more"))


def test_a_coefficient_that_depends_on_the_input_is_refused():
    with pytest.raises(MechanismError) as refused:
        slide(arm(mu="torque1 / 100"), ("pin1.angle",), ("torque1",))
    assert "force rub1 depends on joint loads, and on torque1 in other ways than by these" in str(refused.value)
    assert "give friction a load of its own ('joint-friction')" in str(refused.value)


def test_controllers_take_none():
    with pytest.raises(MechanismError, match="controllers take no forces that depend on joint loads, and 'arm' has rub1"):
        ServoLoop(slide(arm(), ("pin1.angle",), ("torque1",)))
