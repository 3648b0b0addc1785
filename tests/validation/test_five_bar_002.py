"""The five-bar of document 002 with its motors: complements and forces in closed form (targets 9 and 27)."""

import casadi as ca
import numpy as np
import pytest

from kingpost.modular.labelled import Labelled
from kingpost.modular.tree import assembled
from kingpost.plugins.models.five_bar_parts import five_bar, linkage

#: Data in which left and right differ, and a state that moves.
OTHER = {"aUL": 0.16, "aBL": 0.28, "mUL": 1.3, "mBR": 0.7, "JUL": 0.06, "JBR": 0.05, "gammaUR": 0.4, "gammaBL": 0.6, "bUR": 0.3}
MOVING = {"thetaL_dot": 0.7, "thetaR_dot": -0.4}


@pytest.fixture(scope="module")
def machine():
    return assembled(five_bar(), {**OTHER, **MOVING, "iL": 1.5, "iR": -0.5, "VL": 3.0, "VR": 1.0, "etaL": 20.0})


def named(tree):
    return {**dict(zip(tree.system.states, tree.x, strict=True)), **dict(zip(tree.system.parameters, tree.p, strict=True))}


def test_09_complements_of_the_five_bar(machine):
    """A S = 0 for the whole, and C_R in closed form."""
    assert np.abs((machine.start.A @ machine.start.S).matrix).max() < 1e-11
    s = named(machine)
    chi = np.sin(s["chi"])
    th = {side: s[f"theta{side}"] for side in "LR"}
    ph = {side: s[f"phi{side}"] for side in "LR"}
    aU, aB = ({side: s[f"a{kind}{side}"] for side in "LR"} for kind in "UB")
    expected = {
        "x": (-np.sin(th["L"] - ph["L"]) * np.sin(ph["R"]) * aU["L"], np.sin(ph["L"]) * np.sin(th["R"] - ph["R"]) * aU["R"]),
        "y": (np.cos(ph["R"]) * np.sin(th["L"] - ph["L"]) * aU["L"], -np.cos(ph["L"]) * np.sin(th["R"] - ph["R"]) * aU["R"]),
        "phiL": (np.sin(th["L"] - ph["R"]) * aU["L"] / aB["L"], -np.sin(th["R"] - ph["R"]) * aU["R"] / aB["L"]),
        "phiR": (np.sin(th["L"] - ph["L"]) * aU["L"] / aB["R"], -np.sin(th["R"] - ph["L"]) * aU["R"] / aB["R"]),
    }
    (linkage_node,) = (child for child in machine.start.children if child.given.name == "R")
    for label, row in expected.items():
        found = linkage_node.C.part(f"{label}_ddot", ["thetaL_ddot", "thetaR_ddot"]).matrix.ravel()
        assert np.allclose(found, np.array(row) / chi, rtol=0, atol=1e-12)
    turning = linkage_node.C.part(["chi_ddot", "phiR_ddot", "phiL_ddot"]).matrix
    assert np.allclose(turning[0], turning[1] - turning[2], rtol=0, atol=1e-12)


def test_09_the_closed_form_holds_in_symbols():
    """The same in symbols: C_R of the tree, evaluated at another state than the one it was built at."""
    tree, other = assembled(linkage()), assembled(linkage(), {"thetaL": 2.4, "thetaR": 0.8})
    C = tree.root.C
    at = ca.Function("C", tree.system.arguments, [ca.densify(C.matrix)])(0.0, other.x, other.u, other.p)
    assert Labelled(at, C.rows, C.columns).equals(other.start.C, 1e-11)


def test_27_forces_of_a_half(machine):
    """fbar_H in closed form, for left and right, at any accelerations of its two angles."""
    s = named(machine)
    (linkage_node,) = (child for child in machine.start.children if child.given.name == "R")
    for side, half in zip("LR", linkage_node.children[:2], strict=True):
        aU, aB, gU, gB, mU, mB, JU, JB, bU = (
            s[f"{name}{side}"] for name in ("aU", "aB", "gammaU", "gammaB", "mU", "mB", "JU", "JB", "bU")
        )
        th, ph, th1, ph1, g = (s[name] for name in (f"theta{side}", f"phi{side}", f"theta{side}_dot", f"phi{side}_dot", "g"))
        th2, ph2 = 1.7, -2.3
        z = Labelled([th2, ph2], (f"theta{side}_ddot", f"phi{side}_ddot"))
        found = (half.hb - half.Mb @ z).part(z.rows).matrix.ravel()
        sin, cos = np.sin(th - ph), np.cos(th - ph)
        expected = [
            -gB * aU * aB * mB * (ph1**2 * sin + ph2 * cos)
            - bU * th1
            - th2 * (aU**2 * (gU**2 * mU + mB) + JU)
            - g * aU * np.cos(th) * (gU * mU + mB),
            -gB * aB * mB * (aU * (th2 * cos - th1**2 * sin) + gB * aB * ph2 + g * np.cos(ph)) - JB * ph2,
        ]
        assert np.allclose(found, expected, rtol=0, atol=1e-11)


def printed_row(s, q, X):
    """(g) of Ex. 4.3 as printed, along theta of side X."""
    Y = "R" if X == "L" else "L"
    names = ("aU", "aB", "gammaU", "gammaB", "mU", "mB", "JU", "JB", "bU", "theta", "phi", "Jm", "bm", "k", "i", "eta")
    v = {f"{name}{side}": s[f"{name}{word}"] for side, word in (("X", X), ("Y", Y)) for name in names}
    th1 = {side: s[f"theta{word}_dot"] for side, word in (("X", X), ("Y", Y))}
    ph1 = {side: s[f"phi{word}_dot"] for side, word in (("X", X), ("Y", Y))}
    th2 = {side: q[f"theta{word}_ddot"] for side, word in (("X", X), ("Y", Y))}
    ph2 = {side: q[f"phi{word}_ddot"] for side, word in (("X", X), ("Y", Y))}
    sn = lambda *terms: np.sin(sum(sign * v[name] for sign, name in terms))  # noqa: E731
    cs = lambda *terms: np.cos(sum(sign * v[name] for sign, name in terms))  # noqa: E731
    D = sn((1, "phiY"), (-1, "phiX"))
    xx, yy, xy = sn((1, "thetaX"), (-1, "phiX")), sn((1, "thetaY"), (-1, "phiY")), sn((1, "thetaX"), (-1, "phiY"))
    both = sn((-1, "phiY"), (2, "thetaX"), (-1, "phiX"))
    cxx, cyy = cs((1, "thetaX"), (-1, "phiX")), cs((1, "thetaY"), (-1, "phiY"))
    cpX, cpY, spY, ctX = cs((1, "phiX")), cs((1, "phiY")), sn((1, "phiY")), cs((1, "thetaX"))
    g, mL = s["g"], s["mL"]
    return (
        v["gammaBY"] * v["aUY"] * v["aUX"] * v["mBY"] * th1["Y"] ** 2 * yy * xx / D
        + v["gammaBX"] * v["aUX"] ** 2 * v["mBX"] * th1["X"] ** 2 * xx * xy / D
        - v["gammaBX"] * v["aUX"] * v["aBX"] * v["mBX"] * ph1["X"] ** 2 * xx
        - th1["X"] * (v["bmX"] * v["etaX"] ** 2 + v["bUX"])
        - v["aUX"] * mL * q["y_ddot"] * cpY * xx / D
        - v["gammaBY"] * v["aUY"] * v["aUX"] * v["mBY"] * th2["Y"] * cyy * xx / D
        + v["aUX"] * mL * q["x_ddot"] * spY * xx / D
        - v["aUX"] * ph2["X"] / v["aBX"]
        * (v["gammaBX"] * v["aBX"] ** 2 * v["mBX"] * cxx + (v["gammaBX"] ** 2 * v["aBX"] ** 2 * v["mBX"] + v["JBX"]) * xy / D)
        + th2["X"] / 2
        * (
            v["aUX"] ** 2 * (v["mBX"] * (v["gammaBX"] * (1 - both / D) - 2) - 2 * v["gammaUX"] ** 2 * v["mUX"])
            - 2 * (v["JmX"] * v["etaX"] ** 2 + v["JUX"])
        )
        - v["aUX"] * ph2["Y"] * xx * (v["gammaBY"] ** 2 * v["aBY"] ** 2 * v["mBY"] + v["JBY"]) / (v["aBY"] * D)
        + v["kX"] * v["etaX"] * v["iX"]
        - g * v["aUX"] * (v["gammaBY"] * v["mBY"] * cpY * xx / D + v["mBX"] * (v["gammaBX"] * cpX * xy / D + ctX))
        - g * v["aUX"] * v["gammaUX"] * v["mUX"] * ctX
    ), v["aUX"] * mL * g * cpY * xx / D  # fmt: skip


@pytest.mark.parametrize("side", ["L", "R"])
def test_27_forces_of_the_five_bar_need_the_weight_of_the_payload(machine, side):
    """fbar_P at random accelerations is the printed (f), and the printed (g) less the weight that it lacks."""
    s = named(machine)
    root = machine.start
    z = Labelled(np.array([3.0, -2.0, 1.1, -0.6]), ("iL_dot", "iR_dot", "thetaL_ddot", "thetaR_ddot"))
    motion = root.S @ z + root.e
    q = dict(zip(motion.rows, motion.matrix.ravel(), strict=True))
    _, fbar = root.forces(motion)
    printed, weight = printed_row(s, q, side)
    found = fbar[f"theta{side}_ddot"].matrix.item()
    assert found == pytest.approx(printed - weight, abs=1e-10)
    assert abs(found - printed) == pytest.approx(abs(weight))
    assert abs(weight) > 0.1
    current = fbar[f"i{side}_dot"].matrix.item()
    V = {"L": 3.0, "R": 1.0}[side]
    electric = V - s[f"ind{side}"] * q[f"i{side}_dot"] - s[f"res{side}"] * s[f"i{side}"]
    assert current == pytest.approx(electric - s[f"kappa{side}"] * s[f"eta{side}"] * s[f"theta{side}_dot"], abs=1e-12)
