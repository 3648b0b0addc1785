"""How loads are asked for and turned; what is refused."""

import itertools

import casadi as ca
import numpy as np
import pytest

from kingpost import (
    Body,
    ForceElement,
    History,
    Joint,
    KingpostError,
    LoadRequest,
    Mechanism,
    simulate,
    simulate_batch,
)
from kingpost.multibody.tree import TreeKinematics
from kingpost.results.joint_load_history import rotation_matrices
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.symbols.screws import numeric, rotation_of_quaternion
from kingpost.testing.problems import random_tree


def pendulum(**joint):
    return Mechanism(
        "pendulum",
        bodies=(Body("bob", mass=2.0, com=(0, 0, -1)),),
        joints=(Joint("pivot", "revolute", "world", "bob", axis=(0, 1, 0), start=0.5, **joint),),
        forces=(ForceElement("gravity"),),
    )


@pytest.mark.parametrize("kind", [kind for kind in JOINT_KINDS if kind != "given"])
def test_efforts_are_dual_to_motions_and_quaternions_belong_to_poses(kind, plugins):
    from kingpost.multibody.assembly import assemble

    mechanism = next(
        tree for seed in range(100) for tree in [random_tree(seed, 3)] if any(joint.kind == kind for joint in tree.joints)
    )
    joint = next(joint for joint in mechanism.joints if joint.kind == kind)
    kinematics = TreeKinematics(assemble(mechanism, plugins))
    q = ca.SX(ca.DM(np.random.default_rng(0).uniform(0.3, 1.2, len(joint.positions))))
    geometry = kinematics.geometry(joint)
    S, T = (
        numeric(ca.densify(matrix))
        for matrix in (JOINT_KINDS[kind].motion_subspace(q, geometry), JOINT_KINDS[kind].effort_wrenches(q, geometry))
    )
    np.testing.assert_allclose(T.T @ S, np.eye(S.shape[1]), atol=1e-13)
    e = JOINT_KINDS[kind].rotation_FM(q, geometry)
    R = numeric(ca.densify(JOINT_KINDS[kind].pose_FM(q, geometry).R))
    np.testing.assert_allclose(numeric(ca.densify(rotation_of_quaternion(ca.densify(e)))), R, atol=1e-14)
    np.testing.assert_allclose(rotation_matrices(numeric(ca.densify(e)).T)[0], R, atol=1e-14)


@pytest.mark.quick("1", "2")
@pytest.mark.parametrize("seed", range(6))
def test_loads_turned_in_the_loop_equal_loads_turned_afterwards(seed, plugins):
    mechanism = random_tree(seed, bodies=4, kinds=("revolute", "prismatic", "cylindrical", "planar", "free", "weld"))
    at = (0.1, -0.2, 0.3)
    options = {"plugins": plugins, "backend": "vm", "step": 0.01, "output_step": 0.05}
    plain = simulate(mechanism, 0.2, loads="all", **options)
    # Every joint in another frame and on another side: four joints of a tree, and eight ways, which go round with the tree.
    ways = list(itertools.product(("child", "parent", "body", "world"), ("child", "parent")))
    for first in (seed, seed + 4):
        asked = {joint: ways[(first + i) % 8] for i, joint in enumerate(mechanism.joints)}
        requests = [LoadRequest(joint.name, *way, at) for joint, way in asked.items()]
        turned = simulate(mechanism, 0.2, loads=requests, **options)
        for joint, (frame, side) in asked.items():
            channel = turned.channels[turned.names.index(f"{joint.name}.Mx")]
            assert (channel.frame, channel.side, channel.at) == (frame, side, at)
            one, other = turned.loads(joint.name), plain.loads(joint.name, frame=frame, side=side, at=at)
            assert one.point == other.point
            for field in ("total", "constraint", "actuator", "acceleration", "angular_velocity", "gravity"):
                scale = max(1.0, np.abs(getattr(one, field)).max())
                np.testing.assert_allclose(getattr(other, field), getattr(one, field), atol=1e-12 * scale)
            back = turned.loads(joint.name, frame="child", side="child")
            scale = np.abs(back.total).max()
            np.testing.assert_allclose(back.total, plain.loads(joint.name).total, atol=1e-12 * max(1.0, scale))


def test_a_load_at_another_point_has_the_moment_of_its_force(crane, plugins):
    history = simulate(crane, 0.5, loads=["slew"], plugins=plugins)
    here, there = history.loads("slew"), history.loads("slew", at=(0, 0, 0.5))
    np.testing.assert_allclose(here.total[:, 3:], there.total[:, 3:], atol=1e-11)
    np.testing.assert_allclose(there.total[:, :3], here.total[:, :3] - np.cross([0, 0, 0.5], here.total[:, 3:]), atol=1e-9)
    assert there.point == "the origin of joint 'slew' on its child, shifted by (0, 0, 0.5) m along child axes"
    np.testing.assert_array_equal(here["Fz"], history["slew.Fz"])


@pytest.mark.parametrize(
    ("loads", "message"),
    [
        (["slev"], r"'vessel-crane' has no joint 'slev' .*did you mean 'slew'\? Joints: hull, slew, luff, knuckle"),
        (["slew:frame=chld"], r"frame 'chld' does not exist; did you mean 'child'\? Choose from: child, parent, body, world"),
        (["slew:side=left"], "side 'left' does not exist. Choose from: child, parent"),
        (["slew:at=0/0"], r"the reference point is \(0.0, 0.0\); give three finite numbers"),
        (["slew:at=a/b/c"], "write the point as three numbers in m"),
        (["slew:axes=world"], "a load has no option 'axes'"),
        (["slew", "slew:frame=world"], "asked for twice; ask once, and convert afterwards"),
    ],
)
def test_bad_requests_are_refused(crane, plugins, loads, message):
    with pytest.raises(KingpostError, match=message):
        simulate(crane, 0.1, loads=loads, plugins=plugins)


def test_bad_conversions_are_refused(crane, plugins):
    history = simulate(crane, 0.05, loads=["slew"], plugins=plugins, backend="vm")
    with pytest.raises(KingpostError, match=r"no load of joint 'luff'.*Joints with loads: slew"):
        history.loads("luff")
    with pytest.raises(KingpostError, match="frame 'vessel' does not exist"):
        history.loads("slew", frame="vessel")
    with pytest.raises(KingpostError, match="a load has no component 'Q'; choose from Mx, My"):
        history.loads("slew")["Q"]
    without = simulate(crane, 0.05, plugins=plugins, backend="vm")
    with pytest.raises(
        KingpostError, match="holds no joint loads at all; run the model again with its joint loads: loads = 'all'"
    ):
        without.loads("slew")
    bare = History(history.time, history.channels, history.values, {"loads": history.provenance["loads"]})
    with pytest.raises(KingpostError, match="no record of the machine's geometry"):
        bare.loads("slew", frame="parent")


def test_a_coordinate_called_like_a_load_is_refused(plugins):
    with pytest.raises(KingpostError, match=r"several channels called pivot\.Mx"):
        simulate(pendulum(coordinates=("Mx",)), 0.1, loads="all", plugins=plugins, backend="vm")


def test_loads_of_a_batch_use_the_geometry_of_each_scenario(crane, plugins):
    scenarios = [{"l1": 5.0}, {"l1": 6.0}]
    batch = simulate_batch(crane, 0.2, scenarios, loads=["slew"], plugins=plugins)
    for k, scenario in enumerate(scenarios):
        alone = simulate(crane, 0.2, settings=scenario, loads=["slew"], plugins=plugins)
        one, other = (history.loads("slew", frame="body", side="parent", at=(1, 0, 0)) for history in (batch[k], alone))
        np.testing.assert_allclose(one.acceleration, other.acceleration, atol=1e-9)
        np.testing.assert_allclose(one.total, other.total, rtol=1e-9, atol=1e-6)


def test_recorded_loads_say_how_they_were_found(crane, plugins):
    history = simulate(crane, 0.05, loads=["slew"], load_method="recursive", plugins=plugins, backend="vm")
    record = history.provenance["loads"]
    assert record["method"] == "recursive"
    slew = {"frame": "child", "side": "child", "at": [0, 0, 0], "parts": ["constraint", "actuator"]}
    assert record["joints"] == {"slew": slew}
    # Poses of all bodies, motion of those beside the joint.
    assert "outer-boom.pose.ew" in history.names
    assert [name for name in history.names if name.endswith(".motion.wx")] == ["vessel.motion.wx", "king.motion.wx"]


def test_forces_written_in_python_work_with_loads(plugins, tmp_path):
    plugin = tmp_path / "drag.py"
    plugin.write_text(
        """
from dataclasses import dataclass
import casadi as ca
from kingpost import BodyName, Force, Loads, hookimpl

@dataclass(frozen=True)
class Options:
    body: BodyName

class Drag(Force):
    '''Drag from a table in Python.'''
    name = "python-drag"
    Options = Options

    def loads(self, kinematics):
        twist = kinematics.twist(self.options.body)
        force = kinematics.call(lambda v: -0.3 * v, twist[3:], size=3)
        return Loads(wrenches={self.options.body: ca.vertcat(ca.SX(3, 1), force)})

@hookimpl
def kingpost_register_forces():
    return [Drag]
"""
    )
    import dataclasses

    both = plugins.with_files([plugin])
    # A revolute joint whose body frame is away from the axis, so that the origin moves.
    machine = pendulum(child_position=(0, 0, 1))
    machine = dataclasses.replace(machine, forces=(*machine.forces, ForceElement("python-drag", body="bob")))
    history = simulate(machine, 0.1, loads="all", plugins=both)
    assert history.provenance["backend"]["name"] == "vm"
    other = simulate(machine, 0.1, loads="all", load_method="recursive", formulation="recursive", plugins=both)
    np.testing.assert_allclose(history.loads("pivot").total, other.loads("pivot").total, atol=1e-9)
    assert history["loads.residual.force"].max() < 1e-12
