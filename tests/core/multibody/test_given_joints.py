"""Joints whose motion is given: the same as a base whose acceleration is known."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, Closure, ForceElement, Input, Joint, Mechanism, MechanismError, Parameter, Port, simulate
from kingpost.mechanism.port_names import MOTION, TRIANGLE
from kingpost.multibody.assembly import assemble
from kingpost.multibody.tree import TreeKinematics
from kingpost.simulation.problem import with_loads
from kingpost.testing.problems import random_tree
from tests.core.multibody.shaken import BASE, COMPONENTS, PLACE, on_free_base, on_given_base, shaken_pendulum


def derived(mechanism, formulation, plugins):
    assembly = assemble(mechanism, plugins)
    equations = plugins.formulations.get(formulation)().derive(assembly)
    return with_loads(assembly, equations, None, None, plugins)


def observed(equations, t, x, u, p):
    return dict(
        zip([channel.name for channel in equations.channels], np.asarray(equations.observe(t, x, u, p)).ravel(), strict=True)
    )


def interface(values, port):
    A = np.zeros((6, 6))
    for i, j in TRIANGLE:
        A[i - 1, j - 1] = A[j - 1, i - 1] = values[f"{port}.A{i}{j}"]
    wrench, free = (np.array([values[f"{port}.{kind}{name}"] for name in COMPONENTS]) for kind in ("", "free."))
    return wrench, free, A


@pytest.mark.parametrize("formulation", ["kane", "recursive", "modular"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_given_base_is_a_free_one_whose_acceleration_is_known(seed, formulation, plugins):
    """The rows of a machine on a free base, solved for what is left: a Schur complement, from another derivation."""
    tree = random_tree(seed, 3)
    free = derived(on_free_base(tree, Joint("mount", "free", "world", "carrier", **PLACE)), formulation, plugins)
    given = derived(on_given_base(tree), formulation, plugins)
    rng = np.random.default_rng(seed)
    q, v, a = rng.uniform(0.3, 1.2, free.nq), rng.normal(size=free.nv), rng.normal(size=6)
    q[3:7] /= np.linalg.norm(q[3:7])
    p = np.array([parameter.default for parameter in tree.parameters])
    M, f, _ = (np.asarray(part) for part in free.descriptor(0.0, q, v, np.zeros(free.nu), p))
    u = np.concatenate([q[:7], v[:6], a, np.zeros(free.nu)])
    values = observed(given, 0.0, np.concatenate([q[7:], v[6:]]), u, p)
    wrench, without, A = interface(values, "foot")

    yielding = np.linalg.solve(M[6:, 6:], np.column_stack([M[6:, :6], f[6:]]))
    expected_A = M[:6, :6] - M[:6, 6:] @ yielding[:, :6]
    expected = f[:6, 0] - M[:6, 6:] @ yielding[:, 6]
    vdot = np.asarray(given.accelerations(0.0, q[7:], v[6:], u, p)).ravel()
    # Conditions of the matrices are some 1e2 to 1e3.
    np.testing.assert_allclose(vdot, yielding[:, 6] - yielding[:, :6] @ a, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(A, expected_A, atol=1e-11 * np.abs(expected_A).max())
    np.testing.assert_allclose(without, expected, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_allclose(wrench, expected - expected_A @ a, atol=1e-11 * np.abs(wrench).max())
    assert values["foot.power"] == pytest.approx(wrench @ v[:6], rel=1e-12)


@pytest.mark.parametrize("formulation", ["kane", "recursive", "modular"])
def test_a_carrier_with_the_interface_inertia_moves_as_one_machine(formulation, plugins):
    """(M + A) a = f + free, with both halves derived apart, against the whole."""
    tree = random_tree(4, 3)
    frame = {"position": (0.4, -0.2, 0.7), "rotation": (0.2, -0.1, 0.4)}
    vessel = Body("vessel", mass=7.0, com=(0.2, 0.1, -0.1), inertia=(3.0, 4.0, 5.0))
    hull = Joint("hull", "free", "world", "vessel")
    bolted = Joint("bolts", "weld", "vessel", "carrier", **frame)
    joints = [replace(joint, parent="carrier") if joint.parent == "world" else joint for joint in tree.joints]
    whole = replace(tree, bodies=(vessel, BASE, *tree.bodies), joints=(hull, bolted, *joints))
    whole = derived(whole, formulation, plugins)
    crane = on_given_base(tree, position=(0, 0, 0), rotation=(0, 0, 0), child_position=(0, 0, 0), child_rotation=(0, 0, 0))
    crane = derived(crane, formulation, plugins)
    inputs = [Input(f"w{i}", "1") for i in range(6)] + [Input(f"A{i}{j}", "1") for i, j in TRIANGLE]
    carrier = Mechanism(
        "carrier",
        bodies=(vessel,),
        joints=(hull,),
        forces=(
            *(force for force in tree.forces if force.kind == "gravity"),
            ForceElement("carried-load", body="vessel", wrench=tuple(inputs[:6]), inertia=tuple(inputs[6:]), **frame),
        ),
        inputs=inputs,
        parameters=tree.parameters,
        ports=(Port("mount", body="vessel", **frame),),
    )
    carrier = derived(carrier, formulation, plugins)
    rng = np.random.default_rng(5)
    q, v = rng.uniform(0.3, 1.2, whole.nq), rng.normal(size=whole.nv)
    q[3:7] /= np.linalg.norm(q[3:7])
    p = np.array([parameter.default for parameter in tree.parameters])
    expected = np.asarray(whole.accelerations(0.0, q, v, np.zeros(whole.nu), p)).ravel()

    def motion(load):
        values = observed(carrier, 0.0, np.concatenate([q[:7], v[:6]]), load, p)
        return [values[f"mount.{name}"] for name, _ in MOTION if name not in ("t", "roll", "pitch", "yaw")]

    at_rest = np.concatenate([motion(np.zeros(27)), np.zeros(crane.nu - 19)])
    _, free, A = interface(observed(crane, 0.0, np.concatenate([q[7:], v[6:]]), at_rest, p), "foot")
    load = np.concatenate([free, [A[i - 1, j - 1] for i, j in TRIANGLE]])
    of_carrier = np.asarray(carrier.accelerations(0.0, q[:7], v[:6], load, p)).ravel()
    np.testing.assert_allclose(of_carrier, expected[:6], rtol=1e-11, atol=1e-11)
    moving = np.concatenate([motion(load), np.zeros(crane.nu - 19)])
    of_crane = np.asarray(crane.accelerations(0.0, q[7:], v[6:], moving, p)).ravel()
    np.testing.assert_allclose(of_crane, expected[6:], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("formulation", ["kane", "recursive", "modular"])
def test_a_pendulum_on_a_shaken_pivot(formulation, plugins):
    """theta'' = -((g + z'') sin theta - x'' cos theta) / l, with both accelerations by hand."""
    equations = derived(shaken_pendulum(pose=("0.3*cos(2*t)", 0, "0.1*sin(7*t)", 0, 0, 0)), formulation, plugins)
    for t, angle, rate in ((0.0, 0.4, 0.0), (0.37, -0.8, 1.3), (1.9, 2.0, -0.6)):
        x, z = -0.3 * 4 * np.cos(2 * t), -0.1 * 49 * np.sin(7 * t)
        # With the bob below the pivot, a turn about y moves it to -x.
        expected = -((9.81 + z) * np.sin(angle) - x * np.cos(angle)) / 0.7
        assert float(equations.accelerations(t, [angle], [rate], [], [9.81])) == pytest.approx(expected, rel=1e-12)


def test_motion_goes_on_from_the_time_at_which_it_was_true(plugins):
    """By Taylor: place and orientation to third order in the time since then, the twist exactly."""
    tree = random_tree(1, 1)
    mechanism = on_given_base(tree, since="base_t")
    rng = np.random.default_rng(2)
    motion, rates = rng.normal(size=13), rng.normal(size=6)
    motion[3:7] /= np.linalg.norm(motion[3:7])
    kinematics = TreeKinematics(assemble(mechanism, plugins))
    given = kinematics.given_motion(mechanism.joints[0])
    u = np.concatenate([motion, rates, np.zeros(len(tree.inputs)), [0.5]])
    known = [kinematics.t, kinematics.assembly.u, kinematics.assembly.p]
    R, place, twist = ca.densify(given.pose.R), ca.densify(given.pose.p), given.twist
    turning, moving = (
        ca.inv_skew(R.T @ ca.reshape(ca.jacobian(ca.vec(R), kinematics.t), 3, 3)),
        R.T @ ca.jacobian(place, kinematics.t),
    )
    evaluate = ca.Function("f", known, [R, place, twist, turning, moving])
    p = [parameter.default for parameter in tree.parameters]
    _, at, then, *_ = (np.asarray(part) for part in evaluate(0.5, u, p))
    np.testing.assert_allclose(at.ravel(), motion[:3], atol=1e-15)
    np.testing.assert_allclose(then.ravel(), motion[7:], atol=1e-15)
    errors = []
    for ago in (0.02, 0.01):
        _, _, twist, w, v = (np.asarray(part).ravel() for part in evaluate(0.5 + ago, u, p))
        np.testing.assert_allclose(twist, motion[7:] + rates * ago, atol=1e-15)
        errors.append(np.abs(np.concatenate([w, v]) - twist).max())
    # The velocity of the pose differs from the twist by a term of second order.
    assert errors[0] < 1e-2
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize(
    ("mount", "message"),
    [
        ({"pose": (0, 0, 0, 0)}, "pose has 4 entries"),
        ({"pose": (0, 0, 0, 0, 0, 0), "twist": (0, 0)}, "twist has 2 entries"),
        ({"pose": (0, 0, 0, 0, 0, 0), "twist_rate": (0,) * 6}, "twist_rate without a twist"),
        ({"pose": (0, 0, 0, 0, 0, 0), "since": 0.0}, "has a 'since'"),
        ({}, "lacks 'pose'"),
    ],
)
def test_a_given_joint_that_says_too_little_or_too_much(mount, message):
    with pytest.raises(MechanismError, match=message):
        shaken_pendulum(**mount)


def test_inputs_have_no_rates_of_their_own(plugins):
    height = Input("height", "m")
    mechanism = replace(shaken_pendulum(pose=(0, 0, 0, 0, 0, 0)), inputs=(height,))
    mount = replace(mechanism.joints[0], pose=(0, 0, "height", 0, 0, 0))
    with pytest.raises(MechanismError, match="twist and twist_rate must be given"):
        derived(replace(mechanism, joints=(mount, mechanism.joints[1])), "kane", plugins)
    tied = Closure("string", "distance", "world", "bob", length=2.0)
    given = replace(mount, twist=(0,) * 6, twist_rate=(0,) * 6)
    with pytest.raises(MechanismError, match="'string' ties bodies across a joint whose motion comes from inputs"):
        derived(replace(mechanism, joints=(given, mechanism.joints[1]), closures=(tied,)), "kane", plugins)


def test_natural_coordinates_know_no_given_motion(plugins):
    with pytest.raises(MechanismError, match="'pivot' is given.*use formulation 'kane' or 'recursive'"):
        derived(shaken_pendulum(pose=(0, 0, 0, 0, 0, 0)), "directors", plugins)


def test_a_given_motion_may_use_parameters_where_loads_are_derived(plugins):
    """A mass on a spring-less base that shakes as its parameters say: the joint carries m a, by hand."""
    numbers = (("size", 0.3, "m"), ("rate", 2.0, "1/s"), ("mass", 5.0, "kg"))
    size, rate, mass = (Parameter(name, value, unit, "") for name, value, unit in numbers)
    shaken = Mechanism(
        name="shaken",
        parameters=(size, rate, mass),
        bodies=(Body("base", mass=0), Body("block", mass=mass)),
        joints=(
            Joint("shaker", "given", "world", "base", pose=("size * sin(rate * t)", 0, 0, 0, 0, 0)),
            Joint("slide", "prismatic", "base", "block", axis=(0, 1, 0)),
        ),
    )
    run = simulate(shaken, 1.0, loads=["slide"], backend="vm", plugins=plugins)
    assert run["slide.Fx"] == pytest.approx(-5.0 * 0.3 * 4.0 * np.sin(2.0 * run.time), abs=1e-12)
