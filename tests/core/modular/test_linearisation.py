"""Direct linearisation: that of Ex. 4.6, and that of automatic differentiation around anything that moves."""

import casadi as ca
import numpy as np
import pytest

from kingpost import open_model
from kingpost.base.errors import MechanismError
from kingpost.modular.linearisation import Spread, linearise_directly
from kingpost.modular.subsystem import Subsystem
from kingpost.modular.tree import assembled
from kingpost.plugins.models.five_bar_parts import five_bar
from kingpost.plugins.models.pendulum_subsystems import in_angles, in_place, of_a_body, with_speed_square
from kingpost.plugins.models.two_rod_subsystems import in_points

G, A = 9.81, 1.0
HANGING = {"x": A, "y": 0.0, "z": 0.0, "x_dot": 0.0, "y_dot": 0.0, "z_dot": 0.0}
TILTED = {**HANGING, "x": 0.8 * A, "y": 0.6 * A}


def automatic(tree):
    """Derivatives of the nonlinear rates."""
    t, x, v, p = tree.system.arguments
    rates = tree.rates
    slopes = ca.Function("f", [t, x, v, p], [ca.densify(ca.jacobian(rates, x)), ca.densify(ca.jacobian(rates, v))])
    return [item.full() for item in slopes(tree.t, tree.x, tree.u, tree.p)]


@pytest.mark.parametrize(
    ("make", "values"),
    [
        (in_angles, {"theta": 0.9, "theta_dot": 0.4, "phi_dot": 1.3}),
        (in_place, {}),
        (with_speed_square, {}),
        (of_a_body, {}),
        (in_points, {"force": 3.0, "x2_dot": 0.5, "z1_dot": -0.7}),
        (five_bar, {"VL": 3.0, "iL": 1.5, "thetaL_dot": 0.7, "thetaR_dot": -0.4}),
    ],
)
def test_direct_is_automatic_around_moving_references(make, values):
    """Non-zero speeds, inputs and accelerations; both are exact, so that only rounding differs."""
    tree = assembled(make(), values)
    direct = linearise_directly(tree)
    assert np.abs(direct.q.matrix).max() > 0.1
    by_x, by_u = automatic(tree)
    size = 1 + np.abs(by_x).max()
    assert np.allclose(direct.G.matrix, by_x, rtol=0, atol=1e-11 * size)
    assert np.allclose(direct.H.matrix, by_u, rtol=0, atol=1e-11 * size)


def test_other_states_than_the_start_can_be_the_reference():
    tree = assembled(in_points())
    other = assembled(in_points(), {"z1": -0.2, "x2": 1.8, "x2_dot": 0.4})
    found = linearise_directly(tree, 0.0, other.x, other.u, other.p)
    assert np.allclose(found.G.matrix, automatic(other)[0], rtol=0, atol=1e-10)


def test_it_is_what_linearize_finds_for_the_mechanism():
    tree = assembled(of_a_body())
    direct = linearise_directly(tree)
    found = open_model("spherical-pendulum-subsystems:variables=body").linearize()
    states = [name.removeprefix("S.") for name in found.states]
    assert len(states) > 5
    assert np.allclose(found.A, direct.G.part(states, states).matrix, rtol=0, atol=1e-10)


def test_example_4_6_at_rest():
    """About (a, 0, 0): x'' = -u / a, y'' = -(g / a) y, z'' = -(g / a) z, u' = 0."""
    tree = assembled(with_speed_square(HANGING))
    found = linearise_directly(tree).G
    expected = {("x_dot", "u"): -1 / A, ("y_dot", "y"): -G / A, ("z_dot", "z"): -G / A}
    for axis in "xyz":
        expected[axis, f"{axis}_dot"] = 1.0
    for row in found.rows:
        for column in found.columns:
            assert found[row, column].matrix.item() == pytest.approx(expected.get((row, column), 0.0), abs=1e-12)


@pytest.fixture(scope="module")
def tilted():
    return assembled(with_speed_square(TILTED))


@pytest.mark.parametrize("step", [None, 1e-3])
def test_example_4_6_while_it_is_let_go(tilted, step):
    """About (4 a / 5, 3 a / 5, 0) at rest, with accelerations (9 g / 25, -12 g / 25, 0, 0); LC, then the equations of motion.

    By steps g = 1e-3, Prop. 4.4 errs by g^2 times the third derivative of -y / x and the like, 3! y / x^4 / 6 < 2.
    """
    allowed = 1e-11 if step is None else 2e-6 * G
    direct = linearise_directly(tilted, step=step)
    assert direct.q.part(["x_ddot", "y_ddot", "z_ddot", "u_dot"]).matrix.ravel() == pytest.approx(
        [9 * G / 25, -12 * G / 25, 0.0, 0.0], abs=1e-12
    )
    C = direct.root.C
    assert C.reference["x_ddot", "y_ddot"].matrix.item() == pytest.approx(-3 / 4, abs=1e-12)
    slopes = {
        ("x", "x_ddot", "y_ddot"): 15 / (16 * A),
        ("y", "x_ddot", "y_ddot"): -5 / (4 * A),
        ("z", "x_ddot", "z_ddot"): -5 / (4 * A),
        ("y_dot", "u_dot", "y_ddot"): 2.0,
        ("x_dot", "u_dot", "y_ddot"): -3 / 2,
        ("z_dot", "u_dot", "z_ddot"): 2.0,
    }
    for (name, row, column), value in slopes.items():
        assert C.changes[name][row, column].matrix.item() == pytest.approx(value, abs=allowed)
    expected = {
        ("x_dot", "x"): -72 * G / (125 * A), ("x_dot", "y"): 96 * G / (125 * A), ("x_dot", "u"): -4 / (5 * A),
        ("y_dot", "x"): 21 * G / (125 * A), ("y_dot", "y"): -28 * G / (125 * A), ("y_dot", "u"): -3 / (5 * A),
        ("z_dot", "z"): -4 * G / (5 * A), ("u", "x_dot"): 18 * G / 25, ("u", "y_dot"): -24 * G / 25,
    }  # fmt: skip
    for row in ("x_dot", "y_dot", "z_dot", "u"):
        for column in direct.G.columns:
            assert direct.G[row, column].matrix.item() == pytest.approx(expected.get((row, column), 0.0), abs=allowed)


def test_eigenvalues_of_example_4_6(tilted):
    """0 three times (defective, so that rounding spreads it by its cube root) and +-i sqrt(4 g / 5 a) twice each."""
    values = np.sort_complex(np.round(linearise_directly(tilted).eigenvalues, 3))
    frequency = np.sqrt(4 * G / (5 * A))
    assert np.sort(np.abs(values)) == pytest.approx([0, 0, 0, *[frequency] * 4], abs=2e-3)
    assert np.abs(values.real).max() < 2e-3


def test_the_printed_factor_of_prop_4_4_fails(tilted):
    """(4.21) prints 1 / g where 1 / (2 g) is right: with it, B0 Cj + Bj C0 = 0 would not hold."""
    root = linearise_directly(tilted, step=1e-4).root
    B, C = root.B, root.C
    for name in ("x", "y", "z"):
        kept = B.reference @ C.changes[name] + B.changes[name] @ C.reference
        assert np.abs(kept.matrix).max() < 1e-6
    printed = B.reference @ (C.changes["x"] * 2.0) + B.changes["x"] @ C.reference
    assert np.abs(printed.matrix).max() > 0.1


def test_a_complement_that_is_held_fixed_gives_other_eigenvalues(tilted):
    """The terms Cj' f0 xj matter where forces act at the reference."""
    root = linearise_directly(tilted).root
    frozen = {name: root.C.reference.T @ change for name, change in root.f.changes.items()}
    lost = root.fbar.changes["y"] - frozen["y"] if "y" in frozen else root.fbar.changes["y"]
    assert np.abs(lost.matrix).max() > 1.0


def slide(misfit):
    """A rod guided by two parallel rails that are `misfit` apart in slope: over-constrained unless that is zero."""
    return Subsystem(
        "rod",
        variables={0: ("x", "yL", "yR")},
        invariants={"left": "yL - x", "right": "yR - x", "bar": f"yR - yL - {misfit} * sin(x)"},
        forces={"x": "-x_ddot - 4 * x", "yL": "-yL_ddot", "yR": "-yR_ddot"},
        independent=("x",),
    )


def test_compatible_redundancy_is_linearised_exactly_by_least_squares():
    tree = assembled(slide(0.0))
    plain = linearise_directly(tree).G
    spread = linearise_directly(
        tree, spread={"rod": Spread(weights={"rod.bar": 5.0}, symmetry={"yL_ddot": "yR_ddot", "yR_ddot": "yL_ddot"})}
    ).G
    assert spread.equals(plain, 1e-12)
    assert plain["x_dot", "x"].matrix.item() == pytest.approx(-4 / 3, abs=1e-13)


def test_incompatible_constraints_are_linearised_by_least_squares():
    """At x = 0 both sides follow: yL' = (1 - m/3) x', yR' = (1 + m/3) x', so that 1 + 2 + 2 (m/3)^2 is moved by -4 x."""
    misfit = 0.3
    tree = assembled(slide(0.0))
    other = assembled(slide(misfit), singular="pivot")
    found = linearise_directly(
        type(tree)(other.system, other.root, tree.start, other.t, other.x, other.u, other.p), spread={"rod": Spread()}
    )
    C = found.root.C.reference
    assert C.part(["yL_ddot", "yR_ddot"]).matrix.ravel() == pytest.approx([1 - misfit / 3, 1 + misfit / 3], abs=1e-12)
    assert found.G["x_dot", "x"].matrix.item() == pytest.approx(-4 / (3 + 2 * (misfit / 3) ** 2), abs=1e-12)


def test_nodes_that_are_not_there_cannot_be_spread():
    with pytest.raises(MechanismError, match="there is no node 'bar' to spread"):
        linearise_directly(assembled(slide(0.0)), spread={"bar": Spread()})
