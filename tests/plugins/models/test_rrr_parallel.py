"""The plane manipulator on three legs against document 002, section 5.3.2, and against virtual work written out by hand."""

from dataclasses import replace
from math import pi

import casadi as ca
import numpy as np
import pytest

from kingpost import inverse, simulate
from kingpost.gallery.document_002.numbers import THREE_LEGS
from kingpost.modelfiles.opened import open_model
from kingpost.multibody.assembly import assemble
from kingpost.simulation.problem import derive
from kingpost.simulation.settings import RunSettings
from tests.plugins.models.inverse_002 import along, moments_of, needed, rrr_legs, rrr_path

T = ca.SX.sym("t")
PATH = rrr_path(T)
TORQUES = ("torque1", "torque2", "torque3")


@pytest.fixture(scope="module")
def torques():
    """Return the torques as a function of the time."""
    pose = ca.SX.sym("pose", 3)
    bases, _, parts = rrr_legs(*ca.vertsplit(pose))
    forces = moments_of(parts, pose, PATH, T)
    # What the torques do along the pose is what the parts ask for: forces = (d bases / d pose)' torques.
    J = ca.substitute(ca.jacobian(ca.vertcat(*bases), pose), pose, ca.vertcat(*PATH))
    return ca.Function("torques", [T], [ca.solve(J.T, forces)])


@pytest.fixture(scope="module")
def places():
    """Return the coordinates of the model, with their derivatives, as a function of the time."""
    bases, distals, _ = rrr_legs(*PATH)
    own = [item for pair in zip(bases, distals, strict=True) for item in (pair[0], pair[1] - pair[0])]
    return along(T, [*PATH, *own])


@pytest.fixture(scope="module")
def opened():
    return open_model("rrr-parallel")


def test_the_start_is_that_of_the_document(opened, places):
    joints = opened.mechanism.joints
    starts = [value for joint in joints for value in joint.start_values[: len(joint.positions)]]
    turns = (np.array(starts) - places(0.0)[0]) / (2 * pi)
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-14)


def test_the_torques_of_the_table(opened, torques, places):
    """All 21 values by the equations of the machine, at places, speeds and accelerations that are found without it."""
    equations = derive(assemble(opened.mechanism, opened.plugins), "kane", opened.plugins)
    p = [parameter.default for parameter in opened.mechanism.parameters]
    for t, row in enumerate(THREE_LEGS, start=1):
        by_hand = np.asarray(torques(t)).ravel()
        np.testing.assert_allclose(by_hand, row, atol=6e-6)
        ours, residual = needed(equations, t, *places(t), p, TORQUES)
        np.testing.assert_allclose(ours, by_hand, atol=1e-10)
        # Constraints at all levels and equations of motion; target 46 has 4.5e-5 for the document's.
        assert residual < 1e-11


def test_extrema(places):
    """A corner of the platform, and the speed of the third bar at the base; the notes' are from a grid of 5 ms."""
    times = np.linspace(0, 8, 1601)
    rows = [places(t) for t in times]
    q, v = (np.array([row[k] for row in rows]) for k in (0, 1))
    x, y = q[:, 0] + np.cos(q[:, 2]), q[:, 1] + np.sin(q[:, 2])
    assert [x.min(), x.max()] == pytest.approx([-0.00921, 1.99198], abs=1e-4)
    assert [y.min(), y.max()] == pytest.approx([-0.58748, 1.5], abs=1e-4)
    third = v[:, 7]
    assert [third[0], third.max(), third.min()] == pytest.approx([0.84615, 0.89191, -1.57788], abs=1e-4)
    assert [times[third.argmax()], times[third.argmin()]] == pytest.approx([0.160, 5.340], abs=5.1e-3)
    assert [y[400], y[1200]] == pytest.approx([1.5, -0.5], abs=1e-12)  # which only the fourth power of the sine gives


@pytest.mark.slow  # the index of nine coordinates takes half a minute
def test_inverse_and_back(opened, torques):
    """Targets 45 to 47 by the words of the interface."""
    task = replace(opened.task("002"), t_end=8.0)
    stepper = "backward-euler:step=0.005"
    found = inverse(
        opened.mechanism,
        task,
        method="computed-torque",
        stepper=stepper,
        plugins=opened.plugins,
        how=RunSettings(loads=("base1", "base2", "base3")),
    )
    by_hand = np.array([np.asarray(torques(t)).ravel() for t in found.time])
    for k, name in enumerate(TORQUES):
        np.testing.assert_allclose(found[name], by_hand[:, k], atol=1e-9)
        # A bar at the base carries its torque, as the actuator's part of the load of its pivot.
        np.testing.assert_allclose(found.loads(f"base{k + 1}").actuator[:, 2], found[name], atol=1e-9)
    # Power of the torques is the rate of the kinetic energy, which is the same after 8 s.
    assert abs(found["servo.work"][-1]) < 1e-6
    levels = [name for name in found.names if name.startswith("servo.") and name.count(".") > 1]
    assert max(np.abs(found[name]).max() for name in levels) < 1e-11
    start = {f"{name}.rate": value for name, value in (("platform.x", -pi / 2), ("platform.y", pi / 4))}
    forward = simulate(
        opened.mechanism, 8.0, settings=start, inputs=found, step=0.0025, output_step=0.1, formulation="recursive",
        monitors=True, plugins=opened.plugins,
    )  # fmt: skip
    # Cubic splines through samples of 5 ms of 10 N m at up to 10 rad/s: h^4 / 384 of 1e5, twice integrated over 8 s, on 1 kg.
    for name, trajectory in task.path.items():
        np.testing.assert_allclose(forward[name], trajectory.jets_at(forward.time, 0)[:, 0], atol=2e-5)
    assert forward["constraints.position"].max() < 1e-11


@pytest.mark.slow
def test_the_method_of_the_document(opened, torques):
    """Theorem 4.3 (method modular), on a coarse grid."""
    task = replace(opened.task("002"), t_end=8.0)
    how = RunSettings(loads=(), backend="vm")
    stepper = "backward-euler:step=0.1"
    found = inverse(opened.mechanism, task, method="modular", stepper=stepper, plugins=opened.plugins, how=how)
    by_hand = np.array([np.asarray(torques(t)).ravel() for t in found.time])
    np.testing.assert_allclose(found.select(list(TORQUES)), by_hand, atol=1e-9)
