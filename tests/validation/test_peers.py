"""Mass matrices, forces and accelerations against Pinocchio and MuJoCo, two engines that share no code with Kingpost."""

import dataclasses

import numpy as np
import pinocchio
import pytest

from kingpost import Mechanism, PluginSet
from kingpost.equations.equations import Equations
from kingpost.mechanism.values import resolve_values
from kingpost.multibody.assembly import assemble
from kingpost.registry.selection import select
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.testing.problems import random_tree
from tests.validation.peers import (
    MUJOCO_MOTIONS,
    PEERS,
    SUPPORTED,
    UNIT,
    Evaluation,
    MujocoPeer,
    PinocchioPeer,
    add_body,
    mujoco_spec,
    pose,
    rotation,
    set_inertia,
)

#: Some 1e3 operations per entry round M and f by less than 1e-13. Accelerations lose a factor of the condition number of M,
#: which stays below 1e5 here: 1e5 eps = 2e-11.
TOLERANCE = 1e-10
#: What each random tree is compared with, by seed. A tree for both peers is derived only once.
TREES = dict.fromkeys(range(30), ("pinocchio", "mujoco")) | dict.fromkeys(range(30, 42), ("pinocchio",))
#: Those of every run of the tests: of one to eight bodies, and with every joint kind.
QUICK = (*range(9), 30, 31, 36)
PLUGINS = PluginSet(entry_points=False)
#: Those in joint coordinates; the others have coordinates that the peers do not know, and are compared with these.
FORMULATIONS = [name for name in PLUGINS.formulations if name not in ("directors", "nullspace", "quaternions")]


def derived(formulation: str, mechanism: Mechanism) -> Equations:
    return select(PLUGINS.formulations, formulation).derive(assemble(mechanism, PLUGINS))


def with_gravity_alone(mechanism: Mechanism) -> Mechanism:
    return dataclasses.replace(mechanism, forces=tuple(force for force in mechanism.forces if force.kind == "gravity"))


def evaluated(equations: Equations, q, v, parameters) -> Evaluation:
    u, p = np.zeros(equations.nu), list(parameters.values())
    M, f, vdot = (np.asarray(result) for result in equations.descriptor(0.0, q, v, u, p))
    weight = np.asarray(equations.descriptor(0.0, q, np.zeros(equations.nv), u, p)[1])
    return Evaluation(M=M, f=f.ravel(), weight=weight.ravel(), vdot=vdot.ravel())


def assert_agreement(ours: Evaluation, theirs: Evaluation, what: str) -> None:
    for name, value in vars(theirs).items():
        difference = np.abs(getattr(ours, name) - value).max()
        scale = max(1.0, np.abs(value).max())
        assert difference <= TOLERANCE * scale, f"{what}: {name} differs by {difference:.2e} (of {scale:.2e})"


def tree(seed: int) -> Mechanism:
    kinds = [kind for kind in JOINT_KINDS if all(kind in SUPPORTED[peer] for peer in TREES[seed])]
    mechanism = with_gravity_alone(random_tree(seed, bodies=1 + seed % 8, kinds=kinds))
    # The order in which joints are listed is that of the coordinates, and need not go from the base to the tips.
    order = np.random.default_rng(seed).permutation(len(mechanism.joints))
    return dataclasses.replace(mechanism, joints=tuple(mechanism.joints[i] for i in order))


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("seed", [seed if seed in QUICK else pytest.param(seed, marks=pytest.mark.slow) for seed in TREES])
def test_random_trees_agree_with_the_peers(seed, formulation):
    mechanism, parameters = tree(seed), {"scale": 1.7}
    equations = derived(formulation, mechanism)
    others = {peer: PEERS[peer](mechanism, parameters) for peer in TREES[seed]}
    rng = np.random.default_rng(seed)
    for _ in range(5):
        # In every quadrant, but away from multiples of 90 degrees, where gimbals lock and M is singular. Quaternions come out
        # with any length: only their direction may matter.
        q = rng.uniform(0.3, 1.2, equations.nq) + np.pi / 2 * rng.integers(-2, 2, equations.nq)
        v = rng.uniform(-2, 2, equations.nv)
        ours = evaluated(equations, q, v, parameters)
        for peer, other in others.items():
            assert_agreement(ours, other.evaluate(q, v), f"{mechanism.name}, {formulation} and {peer}")


@pytest.mark.parametrize("peer", PEERS)
def test_the_random_trees_hold_every_joint_kind_that_a_peer_knows(peer):
    kinds = {joint.kind for seed in QUICK if peer in TREES[seed] for joint in tree(seed).joints}
    assert kinds == set(SUPPORTED[peer])


#: Built-in models, and the peers that can take them: MuJoCo knows no screw joints.
MODELS = {
    "six-axis-arm": ("pinocchio", "mujoco"),
    "chain:links=8": ("pinocchio", "mujoco"),
    "branched": ("pinocchio",),
    "spacecraft-arm": ("pinocchio", "mujoco"),
}


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", MODELS)
def test_models_agree_with_the_peers(name, formulation):
    mechanism = with_gravity_alone(select(PLUGINS.models, name).build())
    parameters = resolve_values(mechanism, {}).parameters
    equations = derived(formulation, mechanism)
    others = {peer: PEERS[peer](mechanism, parameters) for peer in MODELS[name]}
    rng = np.random.default_rng(9)
    for _ in range(40):
        q = rng.uniform(0.3, 1.2, equations.nq) + np.pi / 2 * rng.integers(-2, 2, equations.nq)
        v = rng.uniform(-2, 2, equations.nv)
        ours = evaluated(equations, q, v, parameters)
        for peer, other in others.items():
            assert_agreement(ours, other.evaluate(q, v), f"{name}, {formulation} and {peer}")


# The vessel with a crane of document 004, section III, from the paper's numbers; p1_21 = (0, 0, -l1) points from the origin of
# frame 2 to that of frame 1. Each entry: name, mass, centre of mass, moments of inertia / (m l^2 / 12), l, pose at q = 0 in
# the frame before, axes of rotation with the coordinates q1 ... q6 (counted from 0).
FALL = (0.0, 0.0, -9.81)
VESSEL_CRANE = (
    ("vessel", 1200.0, (0, 0, 2.5), (1, 1, 1), 5.0, np.eye(4), "z2 y1 x0"),
    ("king", 30.0, (0, 0, 1), (1, 1, 0.1), 2.0, pose((0, 0, 5), np.eye(3)), "z3"),
    (
        *("inner-boom", 30.0, (1, 0, 0), (0, 1, 1), 2.0),
        *(pose((0, 0, 2), rotation(UNIT["z"], np.pi / 2) @ rotation(UNIT["x"], np.pi / 2)), "z4"),
    ),
    ("outer-boom", 30.0, (1, 0, 0), (0, 1, 1), 2.0, pose((2, 0, 0), np.eye(3)), "z5"),
)
VESSEL_CRANE_ROWS = [2, 1, 0, 3, 4, 5]


def vessel_crane_pinocchio() -> PinocchioPeer:
    """Return the vessel-crane, each rotation a joint of its own."""
    model = pinocchio.Model()
    model.gravity.linear = np.array(FALL)
    joints = {"x": pinocchio.JointModelRX, "y": pinocchio.JointModelRY, "z": pinocchio.JointModelRZ}
    carrier = 0
    for _, mass, com, shape, length, X, rotations in VESSEL_CRANE:
        for letter, row in rotations.split():
            carrier = model.addJoint(carrier, joints[letter](), pinocchio.SE3(X), f"q{row}")
            X = np.eye(4)
        inertia = mass * length**2 / 12 * np.diag(shape)
        model.appendBodyToJoint(carrier, pinocchio.Inertia(mass, np.array(com), inertia), pinocchio.SE3.Identity())
    return PinocchioPeer(model, VESSEL_CRANE_ROWS, VESSEL_CRANE_ROWS)


def vessel_crane_mujoco() -> MujocoPeer:
    """Return the vessel-crane, with several hinges on the vessel."""
    spec = mujoco_spec(FALL)
    body = spec.worldbody
    for name, mass, com, shape, length, X, rotations in VESSEL_CRANE:
        body = add_body(body, name, X)
        # The booms do not resist rotation about their own axis, but MuJoCo refuses moments below 1e-15 kg m^2. What is added
        # is some 1e-14 of the smallest eigenvalue of M, 1.5 kg m^2.
        moments = np.maximum(mass * length**2 / 12 * np.array(shape), 1e-14)
        set_inertia(body, mass, np.array(com), np.diag(moments), np.eye(4))
        for letter, _ in rotations.split():
            body.add_joint(type=MUJOCO_MOTIONS["turn"], axis=UNIT[letter])
    return MujocoPeer(spec.compile(), VESSEL_CRANE_ROWS, VESSEL_CRANE_ROWS)


def vessel_crane_states():
    rng = np.random.default_rng(4)
    for _ in range(200):
        # The hull stays away from a pitch of 90 degrees, where roll and yaw are the same; the crane's joints turn full circle.
        yield np.append(rng.uniform(-1, 1, 3), rng.uniform(-np.pi, np.pi, 3)), rng.uniform(-2, 2, 6)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_vessel_crane_agrees_with_the_peers(formulation):
    mechanism = with_gravity_alone(PLUGINS.models.get("vessel-crane")().build())
    names = ["hull.roll", "hull.pitch", "hull.yaw", "slew.angle", "luff.angle", "knuckle.angle"]
    assert [coordinate.name for coordinate in mechanism.coordinates] == names
    parameters = resolve_values(mechanism, {}).parameters
    equations = derived(formulation, mechanism)
    others = {"pinocchio": vessel_crane_pinocchio(), "mujoco": vessel_crane_mujoco()}
    for q, v in vessel_crane_states():
        ours = evaluated(equations, q, v, parameters)
        for peer, other in others.items():
            assert_agreement(ours, other.evaluate(q, v), f"vessel-crane, {formulation} and {peer}")


def test_the_peers_agree_about_the_vessel_crane():
    first, second = vessel_crane_pinocchio(), vessel_crane_mujoco()
    for q, v in vessel_crane_states():
        assert_agreement(first.evaluate(q, v), second.evaluate(q, v), "vessel-crane, pinocchio and mujoco")
