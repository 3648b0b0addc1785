"""Equations of closures: what each kind takes away, its rates, and what its reactions do."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, Joint, Mechanism, simulate
from kingpost.mechanism.closures import Closure
from kingpost.multibody.assembly import assemble
from kingpost.multibody.constraints import ClosurePlace, efforts_of, tree_constraints
from kingpost.multibody.tree import TreeKinematics
from kingpost.symbols.closure_kinds import CLOSURE_KINDS
from kingpost.symbols.joints import JOINT_KINDS
from tests.core.mechanism.closed import FREEDOM, PLACES, PLUGINS, SHARED, closure_of, floating, quaternion, random_state


def constraints_of(mechanism):
    tree = TreeKinematics(assemble(mechanism, PLUGINS))
    return tree, tree_constraints(tree, mechanism.closures)


@pytest.mark.parametrize("kind", CLOSURE_KINDS)
def test_rows_are_what_a_kind_takes_away(kind):
    tree, constraints = constraints_of(floating(closure_of(kind)))
    assert len(constraints.owners) == 6 - FREEDOM[kind]
    A = np.asarray(ca.Function("A", [tree.q], [ca.densify(constraints.A)])(random_state(tree.mechanism, 1)[0]))
    assert np.linalg.matrix_rank(A) == 6 - FREEDOM[kind]


@pytest.mark.parametrize("kind", CLOSURE_KINDS)
def test_speed_rows_are_the_rate_of_the_positions(kind):
    tree, constraints = constraints_of(floating(closure_of(kind)))
    rate = constraints.A @ tree.v + constraints.b
    function = ca.Function(
        "f", [tree.q, tree.v], [constraints.phi, rate[: constraints.phi.numel()], tree.velocity_map() @ tree.v]
    )
    for seed in range(4):
        q, v = random_state(tree.mechanism, seed)
        qdot = np.asarray(function(q, v)[2]).ravel()
        h = 1e-5
        ahead, behind = (np.asarray(function(q + s * h * qdot, v)[0]).ravel() for s in (1, -1))
        exact = np.asarray(function(q, v)[1]).ravel()
        # Central differences: h^2 / 6 times a third derivative of some 10 to 100, and rounding of 1e-16 / h.
        np.testing.assert_allclose((ahead - behind) / (2 * h), exact, atol=2e-8 * (1 + np.abs(exact).max()))


@pytest.mark.parametrize("kind", CLOSURE_KINDS)
def test_reactions_do_the_work_of_the_multipliers(kind):
    """-lam' A v = wrench . relative twist + efforts . rates, for any speeds: also where loops are open."""
    closure = closure_of(kind)
    tree, constraints = constraints_of(floating(closure))
    place = ClosurePlace(tree, closure)
    power = -ca.dot(constraints.lam, constraints.A @ tree.v)
    ours = ca.SX(0)
    if closure.child:
        ours += ca.dot(constraints.reactions["tie"], place.t_FM)
    for i, name in enumerate(closure.coordinates):
        ours += constraints.reactions[efforts_of("tie")][i] * tree.rate(name)
    function = ca.Function("f", [tree.q, tree.v, constraints.lam], [power, ours])
    rng = np.random.default_rng(3)
    for seed in range(4):
        q, v = random_state(tree.mechanism, seed)
        one, other = function(q, v, rng.uniform(-1, 1, constraints.lam.numel()))
        assert float(one) == pytest.approx(float(other), rel=1e-12, abs=1e-13)
        assert abs(float(one)) > 1e-6


@pytest.mark.parametrize("kind", SHARED)
def test_closed_where_a_joint_of_the_kind_would_be_and_no_work_on_its_motions(kind):
    closure = replace(closure_of(kind), parent="world", **dict.fromkeys(PLACES, (0, 0, 0)))
    axes = {"axis": closure.axis} if closure.axis else {}
    if kind in ("universal", "planar"):
        axes["axis2"] = (0.5, 0.3, 0.0)  # of a planar joint, perpendicular to its axis
    joint = Joint("j", kind, "world", "two", **axes)
    pair = Mechanism("pair", bodies=[Body("two", mass=1.0)], joints=[Joint("j", "free", "world", "two")], closures=[closure])
    tree, constraints = constraints_of(pair)
    wrenches = ca.jacobian(constraints.reactions["tie"], constraints.lam)
    equations = ca.Function("f", [tree.q], [constraints.phi, ca.densify(wrenches)])
    joint_kind, geometry = JOINT_KINDS[kind], tree.geometry(joint)
    own = ca.SX.sym("own", len(joint.positions))
    X_FM = joint_kind.pose_FM(own, geometry)
    allowed = ca.Function("g", [own], [ca.densify(m) for m in (X_FM.R, X_FM.p, joint_kind.motion_subspace(own, geometry))])
    for seed in range(3):
        values = np.random.default_rng(seed).uniform(-1.2, 1.2, len(joint.positions))
        R, p, S = (np.asarray(part) for part in allowed(values))
        phi, matrix = (np.asarray(part) for part in equations(np.concatenate([p.ravel(), quaternion(R)])))
        assert np.abs(phi).max() < 1e-14
        assert np.abs(S.T @ matrix).max(initial=0.0) < 1e-14
        assert np.linalg.matrix_rank(matrix) == 6 - FREEDOM[kind]


def test_a_rotation_half_a_turn_away_is_not_closed():
    """sin(a) = 0 has two solutions; a weld has one."""
    for kind in ("weld", "revolute"):
        needs = {"axis": (1, 0, 0)} if kind == "revolute" else {}
        mechanism = Mechanism(
            "turned",
            bodies=[Body("tool", mass=1.0, inertia=(1.0, 1.0, 1.0))],
            joints=[Joint("spin", "revolute", "world", "tool", axis=(0, 0, 1), start=3.0)],
            closures=[Closure("tie", kind, "world", "tool", **needs)],
        )
        _, constraints = constraints_of(mechanism)
        assert len(constraints.owners) >= 5
        history = simulate(mechanism, 0.01, close_loops=True, plugins=PLUGINS)
        assert history["spin.angle"][0] == pytest.approx(0.0, abs=1e-9)
