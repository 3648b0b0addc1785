"""Plane nodal elements against the matrices that they come from, against Newton and Euler, and what they refuse."""

import numpy as np
import pytest

from kingpost.base.errors import MechanismError
from kingpost.modular.planar import (
    active_forces,
    base,
    inertia_forces,
    mobility,
    plane_assembly,
    prismatic,
    revolute,
    rigid_body,
    slot,
)
from kingpost.modular.tree import assembled

LABELS = ("xi", "yi", "xj", "yj", "w")
RATES = ("dxi", "dyi", "dxj", "dyj", "dw")


def centre_velocities(a1, a2):
    """Return the velocity of the centre at p_i + a1 d + a2 z x d, and w, by the velocities of p_i, p_j and w."""
    return np.array([[1 - a1, a2, a1, -a2, 0], [-a2, 1 - a1, a2, a1, 0], [0, 0, 0, 0, 1]])


@pytest.mark.parametrize("seed", range(4))
def test_forces_along_nodes_are_those_of_virtual_power(seed):
    """Target 42: (5.25) is V', (5.26) is -V' diag(m, m, J) V, and V is that of differences of where the centre is."""
    rng = np.random.default_rng(seed)
    a1, a2, m, J = rng.uniform(-1, 2, 4) ** 2
    V = centre_velocities(a1, a2)
    assert active_forces(a1, a2, LABELS).matrix == pytest.approx(V.T, abs=1e-14)
    inertia = inertia_forces(m, J, a1, a2, LABELS, RATES)
    assert inertia.matrix == pytest.approx(-V.T @ np.diag([m, m, J]) @ V, abs=1e-12)
    assert (inertia.rows, inertia.columns) == (LABELS, RATES)
    nodes = rng.uniform(-1, 1, 4)

    def centre(nodes):
        d = nodes[2:] - nodes[:2]
        return nodes[:2] + a1 * d + a2 * np.array([-d[1], d[0]])

    # The place is linear in those of the nodes, so that differences have no error but rounding.
    columns = [(centre(nodes + step) - centre(nodes - step)) / 2 for step in np.eye(4)]
    assert np.column_stack(columns) == pytest.approx(V[:2, :4], abs=1e-14)


def states_of(tree, place, turn, v, w, nodes):
    """Return the states of a body that is turned, moved and moving, its nodes given in its own frame about its first node."""
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    found = {}
    for k, node in enumerate(nodes, start=1):
        arm = R @ (np.array(node) - nodes[0])
        where, speed = place + arm, v + w * np.array([-arm[1], arm[0]])
        found |= {f"x{k}_B": where[0], f"y{k}_B": where[1], f"x{k}_B_dot": speed[0], f"y{k}_B_dot": speed[1]}
    found["w_B"] = w
    return np.array([found[label] for label in tree.system.states])


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_free_body_moves_as_newton_and_euler_say(count):
    """Its centre falls and gets F / m, it turns by Tz / J, and every node goes along."""
    nodes = [(0.0, 0.0), (0.7, 0.2), (0.1, 0.9), (-0.4, -0.3)][:count]
    m, J, a1, a2 = 2.0, 0.3, 0.35, -0.2
    body = rigid_body("B", nodes, m, J, centre=(a1, a2), loads=("4 + 0 * t", "-m_B * 9.81", 0.6))
    tree = assembled(body)
    assert tree.degrees_of_freedom == 3
    assert not tree.redundant
    place, turn, v, w = np.array([0.3, -0.5]), 0.8, np.array([0.2, 1.1]), -1.7
    x = states_of(tree, place, turn, v, w, nodes)
    found = dict(zip(tree.system.q, np.asarray(tree.accelerations(0, x, tree.u, tree.p)).ravel(), strict=True))
    at = dict(zip(tree.system.states, x, strict=True))
    d = np.array([at["x2_B"] - at["x1_B"], at["y2_B"] - at["y1_B"]])
    centre = place + a1 * d + a2 * np.array([-d[1], d[0]])
    acceleration, turning = np.array([4 / m, -9.81]), 0.6 / J
    assert found["w_B_dot"] == pytest.approx(turning, abs=1e-12)
    for k in range(1, count + 1):
        arm = np.array([at[f"x{k}_B"], at[f"y{k}_B"]]) - centre
        wanted = acceleration + turning * np.array([-arm[1], arm[0]]) - w**2 * arm
        assert [found[f"x{k}_B_ddot"], found[f"y{k}_B_ddot"]] == pytest.approx(wanted, abs=1e-11)


@pytest.mark.parametrize("turn", [0.0, np.pi / 2, 2.0])
def test_a_body_knows_its_turn_in_any_direction(turn):
    """The row of w alone, v2 - v1 = w z x d in one component, would lose its rank where d is along an axis."""
    nodes = [(0.0, 0.0), (0.5, 0.0)]
    tree = assembled(rigid_body("B", nodes, 1.0, 0.1))
    x = states_of(tree, np.zeros(2), turn, np.zeros(2), 1.0, nodes)
    assert tree.numbers(0.0, x, tree.u, tree.p, singular="pivot").partition.rank == 2
    residuals = np.asarray(tree.invariants(1)(0.0, x, tree.u, tree.p)).ravel()
    assert np.abs(residuals).max() < 1e-14


def test_a_pendulum_with_a_motor():
    """(5.27) to (5.29): a pin to the base, and a torque along the turn against it: (J + m c^2) w' = u - m g c cos(angle)."""
    m, J, c, angle = 1.3, 0.2, 0.4, 0.6
    rod = rigid_body(
        "B1", [(0, 0), (0.8 * np.cos(angle), 0.8 * np.sin(angle))], m, J, centre=(c / 0.8, 0), loads=(0.0, "-m_B1 * 9.81", 0.0)
    )
    machine = plane_assembly(
        "pendulum", [rod], [base("B0", [(0, 0)]), revolute(("B0", 1), ("B1", 1), torque="u")], independent=("r_B0_B1",)
    )
    tree = assembled(machine, {"u": 2.0})
    assert tree.degrees_of_freedom == 1
    found = dict(zip(tree.system.q, np.asarray(tree.accelerations(0, tree.x, tree.u, tree.p)).ravel(), strict=True))
    assert found["r_B0_B1_dot"] == pytest.approx((2.0 - m * 9.81 * c * np.cos(angle)) / (J + m * c**2), abs=1e-12)
    assert found["w_B1_dot"] == pytest.approx(found["r_B0_B1_dot"], abs=1e-13)


def test_a_block_on_a_rail():
    """(5.30) to (5.32): s'' = (u - m g sin(slope)) / m, s in metres along the line, and the block does not turn."""
    slope, m = 0.5, 2.0
    block = rigid_body("B1", [(0.3 * np.cos(slope), 0.3 * np.sin(slope))], m, 0.1, loads=(0.0, "-m_B1 * 9.81", 0.3))
    rail = base("B0", [(0.0, 0.0), (0.01 * np.cos(slope), 0.01 * np.sin(slope))])
    machine = plane_assembly("rail", [block], [rail, prismatic(("B0", 1, 2), ("B1", 1), force="u")])
    tree = assembled(machine, {"u": 5.0, "s_B0_B1": 0.3})
    assert tree.degrees_of_freedom == 1
    found = dict(zip(tree.system.q, np.asarray(tree.accelerations(0, tree.x, tree.u, tree.p)).ravel(), strict=True))
    assert found["s_B0_B1_ddot"] == pytest.approx(5.0 / m - 9.81 * np.sin(slope), abs=1e-11)
    assert found["w_B1_dot"] == pytest.approx(0.0, abs=1e-13)


def test_a_pin_in_a_slot_with_a_force_along_it():
    """A particle on a lever that turns: m (s'' - s w^2) = u and (J + m s^2) w' = -2 m s s' w, its Lagrange equations."""
    m, J, s, rate, w = 0.7, 0.4, 0.6, 0.9, 2.0
    lever = rigid_body("B1", [(0, 0), (1, 0)], 1.0, J, centre=(0, 0))
    pin = rigid_body("B2", [(s, 0)], m, 1.0)
    joints = [base("B0", [(0, 0)]), revolute(("B0", 1), ("B1", 1)), slot(("B1", 1, 2), ("B2", 1), force="u")]
    machine = plane_assembly("lever", [lever, pin], joints, independent=("w_B1", "s_B1_B2", "w_B2"))
    tree = assembled(machine, {"u": 1.5, "s_B1_B2": s, "s_B1_B2_dot": rate, "w_B1": w, "y2_B1": 0.0})
    assert tree.degrees_of_freedom == 3
    found = dict(zip(tree.system.q, np.asarray(tree.accelerations(0, tree.x, tree.u, tree.p)).ravel(), strict=True))
    assert found["s_B1_B2_ddot"] == pytest.approx(1.5 / m + s * w**2, abs=1e-11)
    assert found["w_B1_dot"] == pytest.approx(-2 * m * s * rate * w / (J + m * s**2), abs=1e-11)


def test_mobility():
    """Target 34 and others: base included, joints by what they leave free."""
    assert mobility(4, {1: 2, 3: 2}) == 2  # spatial slider-crank; one is the spin of its rod
    assert mobility(4, {1: 4}, plane=True) == 1  # four-bar
    assert mobility(5, {1: 5, 2: 1}, plane=True) == 1  # Whitworth
    assert mobility(8, {1: 9}, plane=True) == 3  # 3RRR
    assert mobility(5, {1: 5}, plane=True) == 2  # five-bar
    assert mobility(1, {}) == 0


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda: rigid_body("B", [], 1.0, 1.0), "body 'B' has no nodes; give the place of at least one"),
        (lambda: rigid_body("B", [(0, 0), (0, 0)], 1.0, 1.0), "nodes 1 and 2 are both at (0, 0)"),
        (lambda: rigid_body("B", [(0, 0), (1, 0)], 1.0, 1.0, between=(1, 3)), "body 'B' has nodes 1 to 2; its centre is found"),
        (lambda: slot(("B", 2, 2), ("C", 1)), "a line of 'B' goes through two nodes, not through node 2 twice"),
        (
            lambda: plane_assembly("p", [], [revolute(("A", 1), ("B", 1)), revolute(("A", 1), ("B", 1))]),
            "'p': two joints bring 'pin_x_A1_B1'; list a joint once",
        ),
        (lambda: mobility(3, {3: 1}, plane=True), "mobility: joints with 3 degrees of freedom; there is at least a base"),
        (lambda: mobility(0, {}), "mobility: 0 bodies"),
    ],
)
def test_what_is_refused(what, message):
    with pytest.raises(MechanismError) as error:
        what()
    assert message in str(error.value)
