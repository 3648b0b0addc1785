"""Current and wind by coefficients: against closed forms."""

import math
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from kingpost import ForceElement, KingpostError
from kingpost.plugins.forces.flow import CurrentOptions, WindOptions
from tests.plugins.forces.deriving import FORMULATIONS, applied, derive, run
from tests.plugins.forces.floating import heaving, rotation, shape, states, vessel

HALF = np.linspace(0, np.pi, 25)
WHOLE = np.arange(48) * np.pi / 24


def tables(angles):
    """Coefficients of a plate with two faces: what a Fourier series of few terms gives."""
    return {
        "surge": (0.7 * np.cos(angles)).tolist(),
        "sway": (0.9 * np.sin(angles)).tolist(),
        "yaw": (0.1 * np.sin(2 * angles)).tolist(),
        "roll": (-0.3 * np.sin(angles)).tolist(),
    }


def closed(angles):
    return {
        "surge": 0.7 * np.cos(angles),
        "sway": 0.9 * np.sin(angles),
        "yaw": 0.1 * np.sin(2 * angles),
        "roll": -0.3 * np.sin(angles),
    }


@pytest.mark.parametrize(
    "angles", [HALF, WHOLE, WHOLE - 1.0, np.append(WHOLE, 2 * np.pi)], ids=["half", "whole", "turned", "closed"]
)
def test_between_its_headings_a_table_is_a_periodic_spline(angles):
    options = WindOptions(
        body="hull", velocity=(1, 0, 0), headings=tuple(angles), **{k: tuple(v) for k, v in tables(angles).items()}
    )
    anywhere = np.linspace(-np.pi, np.pi, 301)
    for name in ("surge", "sway", "yaw", "roll"):
        # The error of a cubic spline: 5/384 h^4 times the fourth derivative, at most 16 x 0.1 in yaw.
        assert np.abs(options.spline(name)(anywhere) - closed(anywhere)[name]).max() < 5 / 384 * (np.pi / 24) ** 4 * 1.6


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_force_is_pressure_times_area_times_coefficient(formulation):
    flow, at = np.array([2.0, -1.2, 0.3]), np.array([0.4, -0.1, 0.5])
    force = ForceElement(
        "current-coefficients", body="hull", velocity=flow.tolist(), headings=HALF.tolist(), at=at.tolist(), frontal_area=3.0,
        lateral_area=7.0, length=11.0, height=2.0, density=1.5, **tables(HALF),
    )  # fmt: skip
    mechanism = vessel(shape(0), shape(1), force)
    for q, v in states():
        R = rotation(q)
        yaw = math.atan2(R[1, 0], R[0, 0])
        turn = np.array([[math.cos(yaw), -math.sin(yaw), 0], [math.sin(yaw), math.cos(yaw), 0], [0, 0, 1]])
        relative = turn.T @ (flow - R @ (v[3:6] + np.cross(v[:3], at)))
        angle, pressure = math.atan2(relative[1], relative[0]), 0.75 * (relative[0] ** 2 + relative[1] ** 2)
        c = closed(angle)
        force_B = R.T @ turn @ [pressure * 3 * c["surge"], pressure * 7 * c["sway"], 0]
        moment_B = R.T @ turn @ [pressure * 14 * c["roll"], 0, pressure * 77 * c["yaw"]] + np.cross(at, force_B)
        # The spline misses the series by 5/384 h^4 of its fourth derivative: 6e-6 of forces of this size.
        size = pressure * 77
        assert applied(mechanism, q, v, formulation=formulation) == pytest.approx([*moment_B, *force_B, 0], abs=1e-5 * size)


def test_a_still_flow_does_nothing_and_has_derivatives():
    force = ForceElement("wind-coefficients", body="hull", velocity=(0, 0, 0), headings=HALF.tolist(), **tables(HALF))
    equations = derive(vessel(shape(0), shape(1), force))
    q, v = [0, 0, 0, 1, 0, 0, 0, 0], np.zeros(7)
    assert np.isfinite(np.asarray(equations.accelerations(0, q, v, [], []))).all()
    symbols = [equations.t, equations.q, equations.v, equations.u, equations.p]
    slope = ca.Function("slope", symbols, [ca.jacobian(equations.f, equations.v)])
    assert np.isfinite(np.asarray(slope(0, q, v, [], []))).all()


def test_a_drifting_body_reaches_the_speed_of_the_current_as_known():
    """With surge alone m u' = q (U - u)^2 from rest: U - u = U / (1 + q U t / m), q = density area C / 2."""
    mass, U, factor = 4.0, 2.0, 0.5 * 3.0 * 0.5 * 0.7
    mechanism = heaving(
        ForceElement(
            "current-coefficients", body="hull", velocity=(U, 0, 0), headings=HALF.tolist(), density=3.0, frontal_area=0.5,
            surge=tables(HALF)["surge"],
        ),
        mass=mass,
    )  # fmt: skip
    sliding = replace(mechanism, joints=[replace(mechanism.joints[0], axis=(1, 0, 0))])
    history = run(sliding, 3.0, 0.01)
    exact = U - U / (1 + factor * U * history.time / mass)
    assert np.abs(history["sea.displacement.rate"] - exact).max() < 1e-8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"headings": (0.0, 1.0, 2.0)}, "there are 3 headings; give at least four"),
        ({"headings": (0.0, 1.0, 2.0, 2.5)}, "headings go from 0 to 2.5 rad; give them from 0 to pi"),
        ({"surge": ()}, "has no coefficients; give some of surge, sway, roll, pitch and yaw"),
        ({"surge": (1.0, 2.0)}, "surge has 2 coefficients for 25 headings"),
        ({"sway": tuple(np.cos(HALF))}, "sway is 1 at heading 0 and -1 at pi; a table for half a turn is mirrored"),
        ({"frontal_area": -2.0}, "frontal_area is -2; it must not be negative"),
    ],
)
def test_tables_that_do_not_fit_are_refused(options, message):
    given = {"headings": tuple(HALF), "surge": tuple(np.cos(HALF)), **options}
    if options.get("headings"):
        given["surge"] = (1.0,) * len(options["headings"])
    with pytest.raises(KingpostError) as error:
        CurrentOptions(body="hull", velocity=(1, 0, 0), **given)
    assert message in str(error.value) and "current-coefficients on 'hull'" in str(error.value)
