"""A charge in a uniform field against closed forms."""

import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, KingpostError, Mechanism, Parameter
from tests.plugins.forces.deriving import BUILT_IN, FORMULATIONS, applied, run
from tests.plugins.forces.machines import crane, states


def flying(field, charge="q"):
    return Mechanism(
        "flying",
        parameters=[Parameter("q", 0.3, "C", "charge")],
        bodies=[Body("drop", mass=2.0, inertia=(0.1, 0.1, 0.1))],
        joints=[Joint("flight", "translational", "world", "drop")],
        forces=[ForceElement("uniform-field", body="drop", field=field, charge=charge)],
    )


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_charge_in_a_field_that_swings(formulation):
    """m x'' = q E sin(w t), from rest: x = q E / (m w^2) (w t - sin(w t)); the field has no potential."""
    E, w = 40.0, 3.0
    history = run(flying((0, f"{E} * sin({w} * t)", 0)), 2.0, 0.002, formulation=formulation, monitors=True)
    exact = 0.3 * E / (2.0 * w**2) * (w * history.time - np.sin(w * history.time))
    # rk4 is Simpson's rule here: (w h)^4 / 2880 of the amplitude.
    np.testing.assert_allclose(history["flight.y"], exact, atol=1e-11)
    assert np.abs(history["energy.potential"]).max() == 0.0
    # The work is found by Hermite's rule over samples of 0.02 s from a power that swings with 2 w: (0.12)^4 / 720 of it.
    assert np.abs(history["energy.error"]).max() < 3e-7 * history["energy.total"].max()


def test_a_field_that_stands_has_a_potential():
    history = run(flying((3.0, 0, -5.0)), 1.0, 0.01)
    np.testing.assert_allclose(
        history["energy.potential"], -0.3 * (3 * history["flight.x"] - 5 * history["flight.z"]), atol=1e-12
    )
    assert np.ptp(history["energy.total"]) < 1e-12


def test_at_a_point_it_is_a_prescribed_force_there_in_world_axes():
    field, charge, at = np.array([2.0, -1.0, 0.5]), -1.7, (0.1, 0.2, -0.3)
    ours = crane(ForceElement("uniform-field", body="load", field=field.tolist(), charge=charge, at=at))
    theirs = crane(ForceElement("body-wrench", body="load", force=(charge * field).tolist(), at=at, frame="world"))
    for q, v in states(ours, np.random.default_rng(3)):
        np.testing.assert_allclose(applied(ours, q, v), applied(theirs, q, v), atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"field": (0, 0, 0), "charge": 1.0}, "uniform-field on 'load': field is [0, 0, 0] V/m and never acts"),
        ({"field": (1, 0, 0), "charge": 0.0}, "uniform-field on 'load': charge is 0 C and feels no field"),
        ({"field": ("E", 0, 0), "charge": 1.0}, "field = 'E' uses 'E', which is not declared. Known here: t."),
        ({"field": (1, 0, 0)}, "lacks 'charge'. It takes: body (required), field (required), charge (required)"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(KingpostError) as error:
        run(crane(ForceElement("uniform-field", body="load", **options)), 0.01, 0.01)
    assert message in str(error.value)
    assert "uniform-field" in BUILT_IN.forces
