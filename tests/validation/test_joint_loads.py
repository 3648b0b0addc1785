"""Joint loads against two engines that share no code with Kingpost, against each other, and against statics."""

import dataclasses
from functools import cache

import casadi as ca
import mujoco
import numpy as np
import pinocchio
import pytest

from kingpost import Body, ForceElement, Joint, LoadRequest, Mechanism, PluginError, PluginSet, cut, simulate
from kingpost.base.load_frames import COMPONENTS
from kingpost.loads.joint_loads import derive_loads
from kingpost.mechanism.values import resolve_values
from kingpost.multibody.assembly import assemble
from kingpost.multibody.constraints import Constraints
from kingpost.multibody.newton_euler import TreeDynamics
from kingpost.plugins.joint_loads.auxiliary_speeds import auxiliary_speeds
from kingpost.registry.selection import select
from kingpost.testing.problems import random_tree
from tests.validation.peers import SUPPORTED, pinocchio_peer
from tests.validation.test_peers import vessel_crane_mujoco, vessel_crane_pinocchio, vessel_crane_states, with_gravity_alone

#: Some 1e3 operations round a wrench by 1e-13 of its largest terms; the accelerations behind it lose the condition number of M,
#: below 1e3 here.
TOLERANCE = 1e-10
PLUGINS = PluginSet(entry_points=False)
#: The methods that need no multipliers.
METHODS = [name for name in PLUGINS.joint_loads if not PLUGINS.joint_loads.get(name).needs_multipliers]
CRANE_JOINTS = ("slew", "luff", "knuckle")


class Loads:
    """The loads of all joints of a mechanism as a function of a state."""

    def __init__(self, mechanism, method, formulation="kane", **settings):
        self.mechanism = mechanism
        assembly = assemble(mechanism, PLUGINS)
        self.equations = select(PLUGINS.formulations, formulation).derive(assembly)
        self.p = list(resolve_values(mechanism, settings).parameters.values())
        requests = [LoadRequest(joint.name) for joint in mechanism.joints]
        self.derived = derive_loads(assembly, self.equations, select(PLUGINS.joint_loads, method), requests)
        self.u = np.zeros(self.equations.nu)

    def vdot(self, q, v, t=0.0):
        return np.asarray(self.equations.accelerations(t, q, v, self.u, self.p)).ravel()

    def at(self, q, v, vdot, t=0.0):
        """Return the values of all channels by name, and wrenches by joint and part."""
        numbers = np.asarray(self.derived.function(t, q, v, vdot, [], self.u, self.p)).ravel()
        values = dict(zip((channel.name for channel in self.derived.channels), numbers, strict=True))
        wrenches = {name[:-3] for name in values if name.endswith(".Mx")}
        return {name: np.array([values[f"{name}.{component}"] for component in COMPONENTS]) for name in wrenches} | values


def assert_close(found, expected, scale, what):
    difference = np.abs(np.subtract(found, expected)).max()
    assert difference <= TOLERANCE * max(1.0, scale), f"{what}: {difference:.2e} of {scale:.2e}"


def pinocchio_wrench(data, joint):
    """The wrench of the parent on the child of a Pinocchio joint, about its origin in its child's axes."""
    return np.concatenate([data.f[joint].angular, data.f[joint].linear])


def mujoco_wrench(model, data, body):
    """The same from MuJoCo, which gives moment and force about the centre of mass of the whole tree, in world axes."""
    moment, force = data.cfrc_int[body, :3], data.cfrc_int[body, 3:]
    arm = data.subtree_com[model.body_rootid[body]] - data.xpos[body]
    R = data.xmat[body].reshape(3, 3)
    return np.concatenate([R.T @ (moment + np.cross(arm, force)), R.T @ force])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("formulation", ["kane", "recursive"])
def test_the_interface_loads_of_the_vessel_crane_agree_with_pinocchio_and_mujoco(method, formulation):
    # Moments about x2, y2 and forces along x2, y2, z2 between crane and vessel, and the same for the joints beyond.
    ours = Loads(PLUGINS.models.get("vessel-crane")().build(), method, formulation)
    pin, muj = vessel_crane_pinocchio(), vessel_crane_mujoco()
    pin_data, muj_data = pin.model.createData(), mujoco.MjData(muj.model)
    for q, v in vessel_crane_states():
        vdot = ours.vdot(q, v)
        pinocchio.rnea(pin.model, pin_data, q[pin.q_order], v[pin.v_order], vdot[pin.v_order])
        muj_data.qpos, muj_data.qvel = q[muj.q_order], v[muj.v_order]
        mujoco.mj_forward(muj.model, muj_data)
        muj_data.qacc = vdot[muj.v_order]
        mujoco.mj_rnePostConstraint(muj.model, muj_data)
        found = ours.at(q, v, vdot)
        for k, joint in enumerate(CRANE_JOINTS):
            wrench = found[joint]
            scale = np.abs(wrench).max()
            assert_close(wrench, pinocchio_wrench(pin_data, 4 + k), scale, f"{joint}: {method} and Pinocchio")
            assert_close(wrench, mujoco_wrench(muj.model, muj_data, 2 + k), scale, f"{joint}: {method} and MuJoCo")


@pytest.mark.parametrize("method", METHODS)
def test_the_moment_about_an_actuated_axis_is_the_actuators_torque(method):
    mechanism = PLUGINS.models.get("vessel-crane")().build()
    ours = Loads(mechanism, method)
    rng = np.random.default_rng(1)
    for _ in range(20):
        q, v = rng.uniform(-1, 1, 6), rng.uniform(-1, 1, 6)
        ours.u = rng.uniform(-500, 500, 9)
        found = ours.at(q, v, ours.vdot(q, v))
        for k, joint in enumerate(CRANE_JOINTS):
            # At t = 0 the set-points rest at the first positions of Fig. 5.
            torque = -5e4 * (q[3 + k] - (0, 0, -3 * np.pi / 4)[k]) - 5e3 * v[3 + k] + ours.u[k]
            assert_close(found[f"{joint}.actuator"], [0, 0, torque, 0, 0, 0], abs(torque), f"{joint}: actuator part")
            # The constraint part has no moment about the axis; the total has the torque, though nobody put it there.
            assert_close(found[f"{joint}.constraint"][2], 0.0, np.abs(found[joint]).max(), f"{joint}: constraint moment")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 12))])
def test_random_trees_agree_with_pinocchio(seed, method):
    whole = random_tree(seed, bodies=2 + seed % 6, kinds=SUPPORTED["pinocchio"])
    peer, parameters = pinocchio_peer(with_gravity_alone(whole), {"scale": 1.3}), {"scale": 1.3}
    ours = Loads(whole, method, **parameters)
    data, rng = peer.model.createData(), np.random.default_rng(seed)
    for _ in range(5):
        q = rng.uniform(0.3, 1.2, ours.equations.nq) + np.pi / 2 * rng.integers(-2, 2, ours.equations.nq)
        v = rng.uniform(-2, 2, ours.equations.nv)
        vdot = ours.vdot(q, v)
        unit = np.array(q)
        for start in peer.quaternions:
            unit[start : start + 4] /= np.linalg.norm(unit[start : start + 4])
        pinocchio.rnea(peer.model, data, unit[peer.q_order], v[peer.v_order], vdot[peer.v_order])
        found = ours.at(q, v, vdot)
        for joint in whole.joints:
            if joint.kind != "weld":  # a welded body is a part of its parent there
                wrench = pinocchio_wrench(data, peer.model.getJointId(joint.child))
                # The condition number of M goes up to 1e4 in these trees.
                assert_close(found[joint.name], wrench, 100 * np.abs(wrench).max(), f"{whole.name}, {joint.name}")


@pytest.mark.parametrize(
    "model",
    [
        "vessel-crane",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("branched", "six-axis-arm", "spacecraft-arm", "chain:links=6")
        ),
    ],
)
def test_methods_agree_to_round_off(model):
    mechanism = select(PLUGINS.models, model).build()
    every = [Loads(mechanism, method, formulation) for method in METHODS for formulation in ("kane", "recursive")]
    rng = np.random.default_rng(3)
    for _ in range(10):
        first = every[0]
        q, v = rng.uniform(0.3, 1.2, first.equations.nq), rng.uniform(-1, 1, first.equations.nv)
        vdot = rng.uniform(-1, 1, first.equations.nv)
        found = [loads.at(q, v, vdot) for loads in every]
        for joint in mechanism.joints:
            scale = np.abs(found[0][joint.name]).max()
            for other in found[1:]:
                assert_close(other[joint.name], found[0][joint.name], scale, f"{model}, {joint.name}")


# --- equations (39) to (50), (64) to (72) of document 004 -------------------------------------------------------------


def auxiliary(mechanism, joints, values, **options):
    """Return a field of the auxiliary matrices as numbers at a random state."""
    matrices = auxiliary_speeds(assemble(mechanism, PLUGINS), [j for j in mechanism.joints if j.name in joints], **options)
    symbols = [matrices.t, matrices.q, matrices.v, matrices.vdot, matrices.u, matrices.p]
    return lambda expression: np.asarray(ca.Function("f", symbols, [ca.densify(expression(matrices))])(*values))


def crane_state(seed):
    rng = np.random.default_rng(seed)
    mechanism = PLUGINS.models.get("vessel-crane")().build()
    p = list(resolve_values(mechanism, {}).parameters.values())
    return mechanism, [0.0, *(rng.uniform(-1, 1, 6) for _ in range(3)), np.zeros(9), p]


@pytest.mark.parametrize("joints", [("slew",), ("slew", "luff"), ("hull", "slew", "luff", "knuckle"), ("hull", "knuckle")])
def test_the_bracket_of_equation_50_is_the_identity(joints):
    mechanism, values = crane_state(5)
    bracket = auxiliary(mechanism, joints, values)(lambda matrices: matrices.bracket)
    # Entries are sums of some 50 products of numbers up to the machine's length of 10 m.
    np.testing.assert_allclose(bracket, np.eye(6 * len(joints)), atol=1e-12)


def test_without_the_reaction_on_the_parent_the_bracket_is_triangular_and_the_loads_of_several_joints_wrong():
    mechanism, values = crane_state(6)
    joints = ("slew", "luff")
    one_sided = auxiliary(mechanism, joints, values, reactions=False)
    bracket = one_sided(lambda matrices: matrices.bracket)
    np.testing.assert_allclose(bracket[6:, :6], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.diag(bracket), 1.0, atol=1e-12)
    assert np.abs(bracket[:6, 6:]).max() > 0.5
    demand = one_sided(lambda matrices: matrices.demand).ravel()
    wrong, right = np.linalg.solve(bracket, demand), auxiliary(mechanism, joints, values)(lambda matrices: matrices.rho).ravel()
    np.testing.assert_allclose(wrong[6:], right[6:], rtol=1e-10, atol=1e-8)
    assert np.abs(wrong[:6] - right[:6]).max() > 0.1 * np.abs(right[:6]).max()
    # With the slewing joint alone it does no harm: eq. (71) matters only when a second joint is opened.
    alone = auxiliary(mechanism, ("slew",), values, reactions=False)
    np.testing.assert_allclose(alone(lambda matrices: matrices.bracket), np.eye(6), atol=1e-12)


def test_selection_matrices_of_the_slewing_joint_are_those_of_equations_71_and_72():
    mechanism, values = crane_state(7)
    q4 = values[1][3]
    c, s = np.cos(q4), np.sin(q4)
    loads = auxiliary(mechanism, ("slew",), values)(lambda matrices: matrices.opened["slew"].constraints)
    N_12 = np.array([[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1.0]])
    np.testing.assert_allclose(loads, N_12, atol=1e-15)
    R_12 = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    N_11 = np.array(
        [[-c, s, 0, 0, 0], [-s, -c, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, -c, s, 0], [0, 0, -s, -c, 0], [0, 0, 0, 0, -1]]
    )
    np.testing.assert_allclose(-np.kron(np.eye(2), R_12) @ loads, N_11, atol=1e-15)


# --- statics, sections, sides -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_at_rest_the_interface_carries_the_weight_of_the_crane_at_its_arm(method):
    ours = Loads(PLUGINS.models.get("vessel-crane")().build(), method)
    q = np.array([0.0, 0.0, 0.0, 0.7, 0.4, -0.9])
    wrench = ours.at(q, np.zeros(6), np.zeros(6))["slew.constraint"]
    # The booms lie in the plane of y2 and z2: x3 is along y2 at q5 = 0.
    a, b = q[4], q[4] + q[5]
    arm = 30.0 * np.cos(a) + 30.0 * (2 * np.cos(a) + np.cos(b))
    np.testing.assert_allclose(wrench, [arm * 9.81, 0, 0, 0, 0, 90 * 9.81], rtol=1e-13, atol=1e-9)


@cache
def crane_run(**options):
    return simulate(PLUGINS.models.get("vessel-crane")().build(), 6.0, loads="all", plugins=PLUGINS, **options)


def test_loads_on_parent_and_child_are_equal_and_opposite():
    history = crane_run()
    for joint in ("hull", *CRANE_JOINTS):
        for frame in ("child", "parent", "world"):
            on_child, on_parent = (history.loads(joint, frame=frame, side=side).total for side in ("child", "parent"))
            assert_close(on_parent, -on_child, np.abs(on_child).max(), joint)


def test_loads_and_motion_of_a_body_balance():
    # What inertia relief in a finite-element model relies on, with the two interface loads of the king in its body frame.
    history = crane_run()
    below = history.loads("slew", frame="body", side="child")
    above = history.loads("luff", frame="body", side="parent")
    mass, com, joint = 30.0, np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, 2.0])
    inertia = mass * 4.0 / 12 * np.diag([1.0, 1.0, 0.1])
    w, alpha = below.angular_velocity, below.angular_acceleration
    a_com = below.acceleration + np.cross(alpha, com) + np.cross(w, np.cross(w, com))
    force = below.total[:, 3:] + above.total[:, 3:] + mass * below.gravity
    scale = np.abs(below.total).max()
    assert_close(force, mass * a_com, scale, "Newton")
    moment = below.total[:, :3] + above.total[:, :3]
    moment = moment + np.cross(-com, below.total[:, 3:]) + np.cross(joint - com, above.total[:, 3:])
    assert_close(moment, alpha @ inertia + np.cross(w, w @ inertia), scale, "Euler")
    # The two loads report the motion of the same body at different points.
    shifted = above.acceleration - np.cross(alpha, joint) - np.cross(w, np.cross(w, joint))
    assert_close(shifted, below.acceleration, np.abs(below.acceleration).max(), "acceleration")


def test_the_residual_is_round_off():
    history = crane_run()
    for name in ("force", "moment"):
        assert history[f"loads.residual.{name}"].max() <= TOLERANCE * np.abs(history.loads("hull").total).max()


CUTS = {"vessel": 2.0, "king": 0.7, "inner-boom": 0.8, "outer-boom": 1.3}


@pytest.mark.parametrize("body", CUTS)
def test_a_cut_changes_nothing_but_adds_a_joint(body):
    mechanism = PLUGINS.models.get("vessel-crane")().build()
    axis = "z" if body == "vessel" else None  # as long in every direction
    in_two = cut(mechanism, body, at=CUTS[body], axis=axis, plugins=PLUGINS)
    assert {joint.name for joint in in_two.joints} - {joint.name for joint in mechanism.joints} == {f"{body}-section"}
    assert in_two.coordinates == mechanism.coordinates
    settings = {"l3": 2.2, "d3": 1.05, "m4": 40.0, "l2": 2.1}
    before, after = Loads(mechanism, "recursive", **settings), Loads(in_two, "recursive", **settings)
    rng = np.random.default_rng(2)
    for _ in range(10):
        q, v, u = rng.uniform(-1, 1, 6), rng.uniform(-1, 1, 6), rng.uniform(-100, 100, 9)
        M_f_vdot = [
            [np.asarray(item) for item in loads.equations.descriptor(0.0, q, v, u, loads.p)] for loads in (before, after)
        ]
        for one, other in zip(*M_f_vdot, strict=True):
            assert_close(other, one, np.abs(one).max(), body)
        before.u = after.u = u
        vdot = before.vdot(q, v)
        first, second = before.at(q, v, vdot), after.at(q, v, vdot)
        for joint in mechanism.joints:
            assert_close(second[joint.name], first[joint.name], np.abs(first[joint.name]).max(), f"{body}, {joint.name}")


def test_a_section_load_is_the_internal_load_of_a_uniform_bar():
    length, mass, at = 3.0, 12.0, 1.25
    bar = Mechanism(
        "bar",
        bodies=(Body("bar", mass=mass, com=(length / 2, 0, 0), inertia=(0, mass * length**2 / 12, mass * length**2 / 12)),),
        joints=(Joint("hinge", "revolute", "world", "bar", axis=(0, 1, 0)),),
        forces=(ForceElement("gravity"),),
    )
    loads = Loads(cut(bar, "bar", at=at, plugins=PLUGINS), "recursive")
    w, alpha = 1.7, -2.3
    rest, m = length - at, mass * (length - at) / length
    centre = (at + length) / 2
    found = loads.at([0.0], [w], [alpha])["bar-section"]
    # Rotation about y: x turns towards -z. The part beyond has its centre at x: acceleration (-w^2 x, 0, -alpha x).
    force_z = m * (9.81 - alpha * centre)
    moment_y = m * rest**2 / 12 * alpha - rest / 2 * force_z
    np.testing.assert_allclose(found, [0, moment_y, 0, -m * w**2 * centre, 0, force_z], rtol=1e-12, atol=1e-9)


def test_a_given_outer_part_leaves_the_motion_as_it_was():
    body = Body("block", mass=5.0, com=(0.4, 0.1, -0.2), inertia=(0.5, 0.6, 0.7, 0.01, -0.02, 0.03))
    machine = Mechanism(
        "block",
        bodies=(body,),
        joints=(Joint("ball", "spherical", "world", "block", child_position=(0.1, 0, 0)),),
        forces=(ForceElement("gravity"), ForceElement("body-wrench", body="block", force=(1, 2, 3), at=(0.8, 0, 0))),
    )
    part = Body("part", mass=2.0, com=(0.7, 0.1, -0.1), inertia=(0.05, 0.06, 0.07, 0.001, 0.002, 0.003))
    in_two = cut(machine, "block", at=0.45, axis="x", outboard=part, plugins=PLUGINS)
    assert in_two.forces[1].options["body"] == "block-section-outer"
    one, two = (Loads(mechanism, "recursive") for mechanism in (machine, in_two))
    rng = np.random.default_rng(0)
    q, v, vdot = rng.uniform(-1, 1, 4), rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3)
    first, second = one.at(q, v, vdot), two.at(q, v, vdot)
    assert_close(second["ball"], first["ball"], np.abs(first["ball"]).max(), "ball")
    np.testing.assert_allclose(one.vdot(q, v), two.vdot(q, v), rtol=1e-10)


def test_friction_actuator_and_constraint_are_separate():
    machine = Mechanism(
        "pendulum",
        bodies=(Body("bob", mass=2.0, com=(0, 0, -1)),),
        joints=(Joint("pivot", "revolute", "world", "bob", axis=(0, 1, 0), start=0.5, start_rate=0.3),),
        forces=(
            ForceElement("gravity"),
            ForceElement("joint-friction", coordinate="pivot.angle", viscous=0.4),
            ForceElement("joint-effort", coordinate="pivot.angle", effort=1.5),
        ),
    )
    load = simulate(machine, 0.5, loads="all", plugins=PLUGINS).loads("pivot")
    rate = simulate(machine, 0.5, plugins=PLUGINS)["pivot.angle.rate"]
    np.testing.assert_allclose(load.friction[:, 1], -0.4 * rate, rtol=1e-12)
    np.testing.assert_allclose(load.actuator[:, 1], 1.5, rtol=1e-12)
    np.testing.assert_array_equal(load.constraint[:, :3], 0.0)
    np.testing.assert_allclose(load.total, load.constraint + load.actuator + load.friction, atol=1e-14)


# --- multipliers ------------------------------------------------------------------------------------------------------


def test_multipliers_give_the_loads_of_a_pendulum_in_cartesian_coordinates():
    """The rod force of a spherical pendulum on a string of fixed length: a formulation with one multiplier, written by hand."""
    mass, length = 2.0, 1.5
    machine = Mechanism(
        "bob-on-rod",
        bodies=(Body("bob", mass=mass, com=(0, 0, -length)),),
        joints=(Joint("ball", "spherical", "world", "bob"),),
        forces=(ForceElement("gravity"),),
    )
    reference = Loads(machine, "recursive")
    r, rdot, lam = ca.SX.sym("r", 3), ca.SX.sym("rdot", 3), ca.SX.sym("lam")
    # m rddot = m g - G' lam with phi = (r'r - l^2) / 2, so that G = r': the force on the bob is -lam r. In the child's frame,
    # whose z axis points from the bob to the pivot, that is lam l along z.
    equations = dataclasses.replace(
        reference.equations, formulation="cartesian", q=r, v=rdot,
        constraints=Constraints(lam=lam, reactions={"ball": ca.vertcat(ca.SX(5, 1), lam * length)}),
    )  # fmt: skip
    assembly = assemble(machine, PLUGINS)
    multipliers = select(PLUGINS.joint_loads, "multipliers")
    with pytest.raises(PluginError, match="does not say what its multipliers amount to in joint ball"):
        multipliers.constraint_wrenches(None, dataclasses.replace(equations, constraints=Constraints(lam=lam)), machine.joints)
    dynamics = TreeDynamics(assembly, multipliers=1)
    dynamics.q = ca.MX.sym("r", 3)
    wrench = multipliers.constraint_wrenches(dynamics, equations, machine.joints)["ball"]
    evaluate = ca.Function("w", [dynamics.q, dynamics.v, dynamics.lam, dynamics.t, dynamics.u, dynamics.p], [wrench])
    # A bob without inertia of its own at angle 0.6 from the vertical, swinging at 1.1 rad/s: lam from r'rddot = -rdot'rdot.
    angle, rate = 0.6, 1.1
    place = length * np.array([np.sin(angle), 0, -np.cos(angle)])
    speed = length * rate * np.array([np.cos(angle), 0, np.sin(angle)])
    tension = (mass * 9.81 * np.cos(angle) * length + mass * speed @ speed) / length**2
    found = np.asarray(evaluate(place, speed, tension, 0.0, [], [])).ravel()
    # The same pendulum in joint coordinates: rotation by -angle about y takes (0, 0, -1) to (sin, 0, -cos).
    q = np.array([np.cos(angle / 2), 0, -np.sin(angle / 2), 0])
    vdot = np.array([0, 9.81 / length * np.sin(angle), 0])
    expected = reference.at(q, [0, -rate, 0], vdot)["ball"]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-10)


def test_multipliers_are_refused_where_there_are_none():
    machine = PLUGINS.models.get("double-pendulum")().build()
    with pytest.raises(PluginError, match="come from Lagrange multipliers, and formulation 'kane' has none; use 'recursive'"):
        simulate(machine, 0.1, loads="all", load_method="multipliers", plugins=PLUGINS)
