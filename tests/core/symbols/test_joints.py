"""Every joint kind against its own pose: velocities, rates, forbidden motions, singularities, quaternions."""

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, Mechanism, SolverError, prepare, simulate
from kingpost.kernel.kernel import Kernel
from kingpost.symbols.joints import JOINT_KINDS, Geometry
from kingpost.symbols.screws import Pose
from tests.core.symbols.falling import falling

SEQUENCES = ["xyz", "xzy", "yxz", "yzx", "zxy", "zyx", "xyx", "xzx", "yxy", "yzy", "zxz", "zyz"]
CASES = [(kind, "") for kind in JOINT_KINDS if kind not in ("gimbal", "given")] + [
    ("gimbal", sequence) for sequence in SEQUENCES
]


def geometry(rng, sequence="", planar=False):
    axis, other = rng.normal(size=3), rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    if planar:
        other = np.cross(axis, other)
    other /= np.linalg.norm(other)
    return Geometry(ca.SX(ca.DM(axis)), ca.SX(ca.DM(other)), ca.SX(0.37), sequence)


@pytest.mark.parametrize(("name", "sequence"), CASES)
def test_a_joint_moves_as_its_pose_says(name, sequence):
    rng = np.random.default_rng(3)
    kind = JOINT_KINDS[name]
    g = geometry(rng, sequence, planar=JOINT_KINDS[name].right_angle)
    q, v = ca.SX.sym("q", len(kind.coordinates)), ca.SX.sym("v", kind.freedom)
    X = kind.pose_FM(q, g)
    qdot = kind.velocity_map(q) @ v if kind.coordinates else ca.SX(0, 1)
    R, p = ca.densify(X.R), ca.densify(X.p)
    Rdot = ca.reshape(ca.jtimes(ca.vec(R), q, qdot), 3, 3) if kind.coordinates else ca.SX.zeros(3, 3)
    pdot = ca.jtimes(p, q, qdot) if kind.coordinates else ca.SX.zeros(3)
    from_pose = ca.vertcat(ca.inv_skew(R.T @ Rdot), R.T @ pdot)
    S = kind.motion_subspace(q, g)
    evaluate = ca.Function("f", [q, v], [from_pose, S @ v, S, kind.forbidden(q, g), R])
    rate = ca.Function(
        "g", [q, v], [ca.jtimes(S @ v, q, qdot) if kind.coordinates else ca.SX(6, 1), kind.subspace_rate(q, v, g)]
    )
    for _ in range(20):
        state = rng.uniform(-3, 3, q.numel()), rng.uniform(-3, 3, v.numel())
        twist, allowed, subspace, forbidden, rotation = (np.asarray(ca.DM(item).full()) for item in evaluate(*state))
        assert np.abs(twist - allowed).max() < 1e-12
        assert np.abs(rotation @ rotation.T - np.eye(3)).max() < 1e-14 * 10
        assert np.linalg.det(rotation) == pytest.approx(1.0)
        assert forbidden.shape == (6, 6 - kind.freedom)
        assert np.abs(subspace.T @ forbidden).max(initial=0.0) < 1e-12
        smallest = np.linalg.svd(forbidden, compute_uv=False).min(initial=1.0)
        assert smallest > 0.5  # a well-conditioned basis
        exact, own = (np.asarray(item) for item in rate(*state))
        assert np.abs(exact - own).max() < 1e-12


@pytest.mark.parametrize(("name", "sequence"), CASES)
def test_frames_coincide_at_neutral_coordinates(name, sequence):
    kind = JOINT_KINDS[name]
    q = ca.SX(ca.DM(list(kind.neutral)))
    X = kind.pose_FM(q, geometry(np.random.default_rng(1), sequence, planar=JOINT_KINDS[name].right_angle))
    assert isinstance(X, Pose)
    assert np.abs(np.asarray(ca.evalf(X.R)) - np.eye(3)).max() < 1e-15
    assert np.abs(np.asarray(ca.evalf(ca.densify(X.p)))).max() < 1e-15


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_the_regularity_of_a_gimbal_is_the_volume_of_its_axes(sequence):
    kind = JOINT_KINDS["gimbal"]
    q = ca.SX.sym("q", 3)
    S = kind.motion_subspace(q, Geometry(ca.SX(3, 1), ca.SX(3, 1), ca.SX(0), sequence))
    evaluate = ca.Function("f", [q], [ca.fabs(ca.det(S[:3, :])), kind.regularity(q, sequence)])
    for state in np.random.default_rng(2).uniform(-4, 4, (20, 3)):
        volume, regularity = (float(item) for item in evaluate(state))
        assert volume == pytest.approx(regularity, abs=1e-14)


@pytest.mark.parametrize(
    "integrator", ["rk4", "euler-symplectic", "dop853:rtol=1e-6", "lsoda:rtol=1e-6", "radau:rtol=1e-4", "bdf:rtol=1e-4"]
)
def test_a_quaternion_keeps_its_length(integrator, plugins):
    """Over 100,000 steps for the fixed-step methods; a solver is sampled over as long a time as its tolerance makes sense."""
    tumbling = falling("spherical", start_rate=(0.1, 3.0, 0.1))
    fixed = ":" not in integrator
    times = {"step": 0.001} if fixed else {}
    t_end = 100.0 if fixed else 10.0
    history = simulate(tumbling, t_end, integrator=integrator, output_step=0.1, plugins=plugins, **times)
    if fixed:
        assert history.provenance["statistics"]["steps"] == 100_000
    e = history.select(["joint.qw", "joint.qx", "joint.qy", "joint.qz"])
    # One square root, four products and one division: a few units in the last place.
    assert np.abs(np.linalg.norm(e, axis=1) - 1).max() < 1e-15 * 4


def test_a_tumbling_body_keeps_its_momentum_in_space(plugins):
    """Euler's top: angular momentum fixed in the world, and the intermediate axis theorem's flips happen."""
    history = simulate(falling("spherical", start_rate=(0.01, 3.0, 0.01)), 30.0, plugins=plugins)
    e = history.select(["joint.qw", "joint.qx", "joint.qy", "joint.qz"])
    w = history.select(["joint.wx", "joint.wy", "joint.wz"])
    L_B = w * np.array([1.0, 2.0, 2.5])
    n, s = e[:, 1:], e[:, :1]
    L_W = L_B + 2 * np.cross(n, np.cross(n, L_B) + s * L_B)
    # RK4 at 3 rad/s and 1 ms: (3e-3)^4 = 8e-11 per radian, over 90 rad.
    assert np.abs(L_W - L_W[0]).max() < 1e-8
    assert w[:, 1].min() < -2.9
    assert np.ptp(history["energy.total"]) < 1e-9


def test_free_and_cardan_agree_on_the_same_tumbling(plugins):
    rates = (0.3, -0.4, 0.5)
    free = simulate(falling("free", start_rate=(*rates, 0, 0, 0)), 2.0, plugins=plugins)
    cardan = simulate(falling("cardan", start_rate=rates), 2.0, plugins=plugins)  # at zero angles rates are angular velocity
    e = free.select(["joint.qw", "joint.qx", "joint.qy", "joint.qz"])[-1]
    roll, pitch, yaw = (cardan[f"joint.{name}"][-1] for name in ("roll", "pitch", "yaw"))
    w, x, y, z = e
    assert np.arctan2(2 * (w * x + y * z), 1 - 2 * (x**2 + y**2)) == pytest.approx(roll, abs=1e-10)
    assert np.arcsin(2 * (w * y - z * x)) == pytest.approx(pitch, abs=1e-10)
    assert np.arctan2(2 * (w * z + x * y), 1 - 2 * (y**2 + z**2)) == pytest.approx(yaw, abs=1e-10)


def test_a_thrown_body_flies_on_a_parabola(plugins):
    thrown = Mechanism(
        "thrown",
        bodies=[Body("body", mass=2.0, inertia=(1.0, 2.0, 2.5))],
        joints=[Joint("joint", "free", "world", "body", start=(1, 2, 3, 1, 0, 0, 0), start_rate=(1, 2, 3, 4, 5, 6))],
        forces=[ForceElement("gravity")],
    )
    history = simulate(thrown, 1.0, plugins=plugins)
    t = history.time
    for name, position, velocity, acceleration in [("x", 1, 4, 0), ("y", 2, 5, 0), ("z", 3, 6, -9.81)]:
        exact = position + velocity * t + acceleration * t**2 / 2
        assert np.abs(history[f"joint.{name}"] - exact).max() < 1e-9  # the body spins at 4 rad/s; RK4 at 1 ms


@pytest.mark.parametrize("backend", ["c", "vm"])
@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_gimbal_lock_is_reported_before_it_is_hit(backend, integrator, plugins):
    turning = falling("cardan", start_rate=(0.0, 1.0, 0.0))
    with pytest.raises(SolverError) as error:
        simulate(turning, 3.0, backend=backend, integrator=integrator, plugins=plugins, output_step=0.01)
    assert "joint 'joint' (cardan) is about to lock at t = 1.5" in str(error.value)
    assert "two of its axes are within 0.6 degrees" in str(error.value)
    assert "Use a spherical or free joint" in str(error.value)
    history = error.value.history
    assert history is not None
    # A solver is looked at only at its samples.
    assert history.time[-1] == pytest.approx(np.pi / 2 - 0.01, abs=0.011)


def test_a_gimbal_that_starts_locked_is_refused(plugins):
    with pytest.raises(SolverError, match="joint 'joint' \\(gimbal\\) is about to lock at t = 0 s"):
        simulate(falling("gimbal", sequence="zxz"), 1.0, plugins=plugins)


def test_the_guard_costs_nothing_where_nothing_can_lock(plugins):
    simulation = prepare(falling("spherical"), 1.0, plugins=plugins)
    assert simulation.equations.guard is None
    assert isinstance(simulation.kernel, Kernel)


@pytest.mark.parametrize("formulation", ["kane", "recursive"])
def test_a_weld_beside_a_single_degree_of_freedom(formulation, plugins):
    block = {"mass": 1.0, "inertia": (1, 1, 1)}
    mechanism = Mechanism(
        "one",
        bodies=[Body("a", **block), Body("b", **block)],
        joints=[Joint("w", "weld", "world", "a"), Joint("r", "revolute", "a", "b", axis=(0, 0, 1), start_rate=2.0)],
    )
    history = simulate(mechanism, 1.0, formulation=formulation, plugins=plugins)
    assert history["r.angle"][-1] == pytest.approx(2.0, rel=1e-12)
