"""Whitworth and 3RRR from plane nodal elements: the torques are those of virtual work, and so those of the models."""

from math import pi, sqrt

import casadi as ca
import numpy as np
import pytest

from kingpost.gallery.document_002.numbers import THREE_LEGS
from kingpost.modular.planar import base, plane_assembly, prismatic, revolute, rigid_body, slot
from kingpost.modular.tree import assembled
from tests.plugins.models.inverse_002 import L3, R4, moments_of, quick_return, rrr_legs, rrr_path

T = ca.SX.sym("t")


def moving(places, t):
    """Return a function of the time that gives values and rates of places (labels with expressions of ``t``), by label."""
    labels, column = list(places), ca.vertcat(*places.values())
    rate = ca.jacobian(column, t)
    function = ca.Function("f", [t], [column, rate, ca.jacobian(rate, t)])

    def at(time):
        q, v, a = (np.asarray(part).ravel() for part in function(time))
        named = dict(zip(labels, q, strict=True)) | {f"{label}_dot": value for label, value in zip(labels, v, strict=True)}
        return named, {f"{label}_ddot": value for label, value in zip(labels, a, strict=True)}

    return at


def spins(turns, t):
    """Return angular velocities by label as expressions."""
    return {f"w_{body}": ca.jacobian(turn, t) for body, turn in turns.items()}


def torques(tree, known, accelerations, driven):
    """Return the inputs by Theorem 4.3: those with C' f = 0 at accelerations of the independent variables that are given."""
    x = np.array([known[label] for label in tree.system.states])
    z = np.array([accelerations[label] for label in tree.start.C.columns])
    nothing = np.zeros(len(tree.system.inputs))

    def unbalanced(u):
        node = tree.numbers(0.0, x, u, tree.p)
        return (node.hb.matrix.ravel() - node.Mb.matrix @ z), node

    free, node = unbalanced(nothing)
    order = [tree.system.inputs.index(name) for name in driven]
    columns = [unbalanced(np.eye(len(nothing))[k])[0] - free for k in order]
    # All accelerations, those of the dependent variables included, follow from the independent ones.
    q = (node.S.matrix @ z + node.e.matrix.ravel()).ravel()
    found = dict(zip(node.S.rows, q, strict=True))
    off = max(abs(found[label] - value) for label, value in accelerations.items())
    residuals = [np.asarray(tree.invariants(k)(0.0, x, nothing, tree.p)).ravel() for k in (0, 1)]
    return -np.linalg.solve(np.column_stack(columns), free), max(off, *(np.abs(part).max() for part in residuals))


def nodal_whitworth():
    bodies = [
        rigid_body("B1", [(0.8, 0.8)], 1.0, 0.1),
        rigid_body("B2", [(0.8, 0.8), (0.15, 0.6)], 0.2, 0.2 * 0.1**2 / 12),
        rigid_body("B3", [(0.0, 0.0), (0.15, 0.6)], 0.4, 0.2 * 0.5**2 / 12),
        rigid_body("B4", [(0.0, 0.3), (0.1, 0.4)], 0.2, 0.2 * 0.1**2 / 3, centre=(0.0, 0.0)),
    ]
    joints = [
        # The document prints (0.001, 0.3) for the last node, with which the rail would not be one.
        base("B0", [(0.0, 0.0), (0.0, 0.3), (0.0, 0.8), (0.001, 0.8)]),
        revolute(("B0", 1), ("B3", 1)),
        revolute(("B0", 2), ("B4", 1), torque="u1"),
        revolute(("B1", 1), ("B2", 1)),
        revolute(("B2", 2), ("B3", 2)),
        prismatic(("B0", 3, 4), ("B1", 1)),
        slot(("B3", 1, 2), ("B4", 2)),
    ]
    return plane_assembly("whitworth", bodies, joints, independent=("w_B4",), start={"w_B4": pi / 2, "x2_B4": 0.1})


def test_whitworth_from_nodes():
    angle = pi / 4 + pi / 2 * T
    _, (crank, lever, bend, x) = quick_return(angle)
    pin = [R4 * ca.cos(crank), 0.3 + R4 * ca.sin(crank)]
    tip = [L3 * ca.cos(lever), L3 * ca.sin(lever)]
    nodes = {
        "1_B1": [x, ca.SX(0.8)], "1_B2": [x, ca.SX(0.8)], "2_B2": tip, "1_B3": [ca.SX(0), ca.SX(0)], "2_B3": tip,
        "1_B4": [ca.SX(0), ca.SX(0.3)], "2_B4": pin,
    }  # fmt: skip
    places = {f"{axis}{node}": part for node, pair in nodes.items() for axis, part in zip("xy", pair, strict=True)}
    places |= {"s_B0_B1": x, "s_B3_B4": ca.sqrt(pin[0] ** 2 + pin[1] ** 2)}
    # The rod is turned from its node at the slider, so by half a turn more; its rate is the same.
    turning = moving(spins({"B1": ca.SX(0) * T, "B2": lever + bend, "B3": lever, "B4": crank}, T), T)
    at = moving(places, T)
    parts, _ = quick_return(symbol := ca.SX.sym("crank"))
    by_hand = ca.Function("u", [T], [moments_of(parts, symbol, [angle], T)])
    tree = assembled(nodal_whitworth())
    assert tree.degrees_of_freedom == 1
    for t in (0.0, 0.4, 1.1, 2.3, 2.65, 3.7):
        known, accelerations = at(t)
        rates, _ = turning(t)
        spinning = {label: rates[label] for label in ("w_B1", "w_B2", "w_B3", "w_B4")}
        accelerations |= {f"{label}_dot": rates[f"{label}_dot"] for label in spinning}
        known |= {**spinning, "r_B0_B4": pi / 2}
        (u1,), residual = torques(tree, known, accelerations, ("u1",))
        assert u1 == pytest.approx(float(by_hand(t)), abs=1e-10)
        assert residual < 1e-10


LEGS = ("A", "B", "C")


def nodal_rrr(legs_apart):
    """Return the manipulator with all bodies on one level, or with each leg as an assembly of its own."""
    corners = [(1.0, 0.0), (-0.5, sqrt(3) / 2), (-0.5, -sqrt(3) / 2)]
    bases = [(3.0, 0.0), (-1.5, 1.5 * sqrt(3)), (-1.5, -1.5 * sqrt(3))]
    elbows = [(2.0, sqrt(3)), (-2.5, sqrt(3) / 2), (0.5, -1.5 * sqrt(3))]
    platform = rigid_body("P", [(0.0, 0.0), *corners], 1.0, 0.25, centre=(0.0, 0.0))
    ground = base("G", bases)
    children, closing = [platform], [ground]
    for k, leg in enumerate(LEGS):
        proximal = rigid_body(f"U{leg}", [bases[k], elbows[k]], 0.5, 2 / 3, centre=(0.0, 0.0))
        distal = rigid_body(f"D{leg}", [elbows[k], corners[k]], 0.5, 1 / 6)
        own = [
            revolute(("G", k + 1), (f"U{leg}", 1), torque=f"u{k + 1}"),
            revolute((f"U{leg}", 2), (f"D{leg}", 1)),
        ]
        if legs_apart:
            children.append(plane_assembly(f"leg{leg}", [proximal, distal], [ground, *own]))
        else:
            children += [proximal, distal]
            closing += own
        closing.append(revolute(("P", k + 2), (f"D{leg}", 2)))
    return plane_assembly("rrr", children, closing, independent=("x1_P", "y1_P", "w_P"))


@pytest.mark.parametrize("legs_apart", [False, True], ids=["one-level", "legs"])
def test_3rrr_from_nodes(legs_apart):
    """All 21 torques of the notes; the shape of the tree changes nothing."""
    x, y, turn = rrr_path(T)
    bases, distals, _ = rrr_legs(x, y, turn)
    places = {"x1_P": x, "y1_P": y}
    turns = {"P": turn}
    for k, (leg, direction) in enumerate(zip(LEGS, (0.0, 2 * pi / 3, -2 * pi / 3), strict=True)):
        corner = [x + ca.cos(turn + direction), y + ca.sin(turn + direction)]
        foot = [ca.SX(3 * np.cos(direction)), ca.SX(3 * np.sin(direction))]
        elbow = [foot[0] + 2 * ca.cos(bases[k]), foot[1] + 2 * ca.sin(bases[k])]
        nodes = {f"{k + 2}_P": corner, f"1_U{leg}": foot, f"2_U{leg}": elbow, f"1_D{leg}": elbow, f"2_D{leg}": corner}
        places |= {f"{axis}{node}": part for node, pair in nodes.items() for axis, part in zip("xy", pair, strict=True)}
        turns |= {f"U{leg}": bases[k], f"D{leg}": distals[k]}
    at, turning = moving(places, T), moving(spins(turns, T), T)
    tree = assembled(nodal_rrr(legs_apart))
    assert tree.degrees_of_freedom == 3
    for t, row in enumerate(THREE_LEGS, start=1):
        known, accelerations = at(t)
        rates, _ = turning(t)
        known |= {f"w_{body}": rates[f"w_{body}"] for body in turns}
        known |= {f"r_G_U{leg}": rates[f"w_U{leg}"] for leg in LEGS}
        accelerations |= {f"w_{body}_dot": rates[f"w_{body}_dot"] for body in turns}
        found, residual = torques(tree, known, accelerations, ("u1", "u2", "u3"))
        assert found == pytest.approx(row, abs=6e-6)
        # Target 46 has 4.5e-5 for the constraints of the document's run.
        assert residual < 1e-10
