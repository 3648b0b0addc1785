"""Equilibria of machines whose places of rest are known."""

import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, Mechanism, SolverError
from kingpost.statics.equilibrium import find_equilibrium
from tests.validation.machines import place

G = 9.81


def stick(start, *forces):
    """A stick of 2 kg on a hinge, its centre of mass 0.5 m away; at angle 0 it hangs."""
    return Mechanism(
        "stick",
        bodies=[Body("stick", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.0))],
        joints=[Joint("hinge", "revolute", "world", "stick", axis=(0, 1, 0), start=start)],
        forces=[ForceElement("gravity"), *forces],
    )


def test_a_weight_stretches_its_spring_by_its_weight_over_the_stiffness(plugins):
    mechanism = Mechanism(
        "scale",
        bodies=[Body("weight", mass=3.0)],
        joints=[Joint("rail", "prismatic", "world", "weight", axis=(0, 0, 1))],
        forces=[ForceElement("gravity"), ForceElement("joint-spring", coordinate="rail.displacement", stiffness=200.0)],
    )
    equations, x, u, p = place(mechanism, plugins)
    found = find_equilibrium(equations, x, u, p)
    np.testing.assert_allclose(found.x, [-3.0 * G / 200.0, 0.0], atol=1e-12)
    assert found.stable and found.residual < 1e-10


def test_a_stick_near_the_top_falls_to_the_bottom_unless_any_place_will_do(plugins):
    equations, x, u, p = place(stick(np.pi - 0.01), plugins)
    below = find_equilibrium(equations, x, u, p)
    assert below.stable and np.cos(below.x[0]) == pytest.approx(1.0, abs=1e-12)
    above = find_equilibrium(equations, x, u, p, stable=False)
    assert not above.stable and above.x[0] == pytest.approx(np.pi, abs=1e-9)
    # Around the top theta'' = (m g d / J) theta.
    growth = np.sqrt(2.0 * G * 0.5 / (0.1 + 2.0 * 0.5**2))
    assert above.linearisation.modes[0].eigenvalue.real == pytest.approx(growth, rel=1e-9)


def test_a_spring_that_holds_the_stick_up_is_a_balance_of_moments(plugins):
    equations, x, u, p = place(stick(0.3, ForceElement("joint-effort", coordinate="hinge.angle", effort=4.0)), plugins)
    found = find_equilibrium(equations, x, u, p)
    assert np.sin(found.x[0]) == pytest.approx(4.0 / (2.0 * G * 0.5), rel=1e-12)


def test_a_push_that_nothing_balances_has_no_equilibrium(plugins):
    too_much = ForceElement("joint-effort", coordinate="hinge.angle", effort=20.0)
    equations, x, u, p = place(stick(0.3, too_much), plugins)
    with pytest.raises(SolverError, match="'stick'"):
        find_equilibrium(equations, x, u, p)


def test_other_coordinates_are_refused(plugins):
    equations, x, u, p = place(stick(0.3), plugins, plugins.formulations.get("directors"))
    with pytest.raises(SolverError, match="take formulation 'kane' or 'recursive', which give the same motion"):
        find_equilibrium(equations, x, u, p)
