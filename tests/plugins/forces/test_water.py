"""Added mass and damping against rigid bodies, Galilei's principle and closed forms."""

import casadi as ca
import numpy as np
import pytest

from kingpost import ForceElement, KingpostError
from tests.plugins.forces.deriving import FORMULATIONS, ROUNDING, applied, derive, run
from tests.plugins.forces.floating import (
    UNIT,
    full_matrix,
    hat,
    heaving,
    in_heave,
    rigid,
    rk4_error,
    rotation,
    shape,
    states,
    vessel,
)


def together(*parts):
    """Mass, centre and inertia of rigid bodies (mass, com, inertia) that are one."""
    mass = sum(m for m, _, _ in parts)
    com = sum(m * c for m, c, _ in parts) / mass
    return mass, com, sum(inertia - m * hat(c - com) @ hat(c - com) for m, c, inertia in parts)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), (0.3, -0.2, 0.6)])
def test_an_added_mass_like_a_rigid_body_moves_like_one(at, formulation):
    hull, crane, water, sleeve = (shape(seed) for seed in range(4))
    forces = [
        ForceElement("added-mass", name=f"around-{name}", body=name, matrix=rigid(*part, about=at).tolist(), at=at)
        for name, part in (("hull", water), ("crane", sleeve))
    ]
    wet = derive(vessel(hull, crane, *forces), formulation)
    heavy = derive(vessel(together(hull, water), together(crane, sleeve)), formulation)
    for q, v in states():
        found, expected = (equations.descriptor(0, q, v, [], []) for equations in (wet, heavy))
        for one, other in zip(found, expected, strict=True):  # M, f and the accelerations
            assert np.abs(np.asarray(one) - np.asarray(other)).max() < ROUNDING * np.abs(np.asarray(other)).max()
        kinetic = [float(equations.observations(0, q, v, [], [])[-3]) for equations in (wet, heavy)]
        assert kinetic[0] == pytest.approx(kinetic[1], rel=ROUNDING)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_any_added_mass_keeps_the_energy(formulation):
    force = ForceElement("added-mass", body="hull", matrix=full_matrix().tolist(), at=(0.1, 0.4, -0.3))
    equations = derive(vessel(shape(0), shape(1), force), formulation)
    t, q, v, u, p = equations.t, equations.q, equations.v, equations.u, equations.p
    vdot = equations.accelerations(t, q, v, u, p)
    power = ca.jtimes(equations.kinetic, q, equations.kinematics(q, v, p)) + ca.jtimes(equations.kinetic, v, vdot)
    size = ca.sum1(ca.fabs(ca.gradient(equations.kinetic, v) * vdot))
    evaluate = ca.Function("power", [t, q, v, u, p], [power, size])
    for state in states():
        change, scale = (float(result) for result in evaluate(0, *state, [], []))
        assert abs(change) < ROUNDING * max(1.0, scale)


def test_a_body_that_drifts_at_an_angle_feels_the_munk_moment():
    matrix = np.diag([1.5, 4.0, 6.0, 0.2, 0.3, 0.4])
    force = ForceElement("added-mass", body="hull", matrix=matrix.tolist())
    u, v, w = 2.0, -0.7, 0.4
    moment_and_force = applied(vessel(shape(0), shape(1), force), [0, 0, 0, 1, 0, 0, 0, 0], [0, 0, 0, u, v, w, 0])
    munk = [(4.0 - 6.0) * v * w, (6.0 - 1.5) * u * w, (1.5 - 4.0) * u * v]
    assert moment_and_force == pytest.approx([*munk, 0, 0, 0, 0], abs=1e-12)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_in_a_current_everything_moves_as_seen_by_somebody_who_drifts_along(formulation):
    current = (0.8, -0.5, 0.3)
    still, drifting = (
        derive(
            vessel(
                shape(0),
                shape(1),
                ForceElement("added-mass", body="hull", matrix=full_matrix().tolist(), at=(0.1, 0, 0.2), current=flow),
                ForceElement(
                    "body-damping", body="hull", matrix=full_matrix(4).tolist(), quadratic=(1, 2, 3, 4, 5, 6), current=flow
                ),
            ),
            formulation,
        )
        for flow in ((0, 0, 0), current)
    )
    for q, v in states():
        current_B = rotation(q).T @ current
        carried = v.copy()
        carried[3:6] += current_B
        seen = np.asarray(still.accelerations(0, q, v, [], [])).ravel()
        found = np.asarray(drifting.accelerations(0, q, carried, [], [])).ravel()
        # The velocity in body axes holds the current, which turns backwards in them.
        found[3:6] += np.cross(v[:3], current_B)
        assert np.abs(found - seen).max() < ROUNDING * np.abs(seen).max()


# Damping


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_damping_is_the_formula_of_its_documentation(formulation):
    matrix = full_matrix() + 3 * np.triu(np.ones((6, 6)), 1) - 3 * np.tril(np.ones((6, 6)), -1)  # with a part that does no work
    quadratic, at, current = np.arange(1.0, 7.0), np.array([0.2, -0.4, 0.5]), np.array([0.6, 0.1, -0.2])
    force = ForceElement(
        "body-damping",
        body="hull",
        matrix=matrix.tolist(),
        quadratic=quadratic.tolist(),
        at=at.tolist(),
        current=current.tolist(),
        transition=0.3,
    )
    mechanism = vessel(shape(0), shape(1), force)
    for q, v in states():
        linear = v[3:6] - rotation(q).T @ current
        speed = np.concatenate([linear + np.cross(v[:3], at), v[:3]])
        drag = matrix @ speed + quadratic * speed**2 * np.tanh(speed / 0.3)
        exact = np.concatenate([-drag[3:] - np.cross(at, drag[:3]), -drag[:3], [0.0]])
        assert applied(mechanism, q, v, formulation=formulation) == pytest.approx(exact, abs=1e-11)
        assert drag @ speed > 0


def test_quadratic_damping_slows_a_body_as_known():
    mass, q, speed, transition = 4.0, 3.0, 2.0, 0.01
    history = run(heaving(ForceElement("body-damping", body="hull", quadratic=(0, 0, q, 0, 0, 0)), start_rate=speed), 3.0, 0.01)
    exact = speed / (1 + q * speed * history.time / mass)
    # The slowest speed is 36 times the transition: the smoothing is lost in rounding. The steepest rate is 2 q v / m at first.
    assert exact[-1] > 30 * transition
    assert np.abs(history["sea.displacement.rate"] - exact).max() < speed * rk4_error(2 * q * speed / mass, 3.0, 0.01)


# What is refused


def crooked():
    matrix = full_matrix().tolist()
    matrix[4][1] += 0.5
    return matrix


@pytest.mark.parametrize(
    ("force", "message"),
    [
        (
            ForceElement("added-mass", body="hull", matrix=crooked()),
            f"the matrix is not symmetric: entry (5, 2) is {crooked()[4][1]}, entry (2, 5) is {crooked()[1][4]}",
        ),
        (
            ForceElement("added-mass", body="hull", matrix=in_heave(-2.0)),
            "added-mass on 'hull': entry (3, 3) of the matrix, heave, is -2, which is negative",
        ),
        (
            ForceElement("added-mass", body="hull", matrix=(np.eye(6) + 1.5 * np.eye(6)[::-1]).tolist()),
            "the matrix is indefinite: the smallest eigenvalue of its symmetric part, scaled to a unit diagonal, is -0.5",
        ),
        (
            ForceElement("added-mass", body="hull", matrix=[[("1 + t" if i == j else 0) for j in range(6)] for i in range(6)]),
            "added-mass on 'hull': matrix entry '1 + t' uses 't', which changes with time",
        ),
        (
            ForceElement("body-damping", body="hull", matrix=(np.eye(6) + 5 * np.eye(6, k=1)).tolist()),
            "body-damping on 'hull': the matrix is indefinite",
        ),
        (ForceElement("body-damping", body="hull", quadratic=(0, -1, 0, 0, 0, 0)), "quadratic coefficient of sway is -1"),
        (ForceElement("body-damping", body="hull", transition=0), "transition is 0; it must be positive"),
        (ForceElement("wave-excitation", body="hull", components=(), transfer=[UNIT]), "there is no wave component"),
        (
            ForceElement("wave-excitation", body="hull", components=[(1, 1, 0)] * 3, transfer=[UNIT] * 2),
            "transfer has 2 rows, but there are 3 wave components",
        ),
        (ForceElement("wave-excitation", body="hull", components=[(1, 1, 0)], transfer=[]), "transfer has 0 rows"),
        (
            ForceElement("wave-excitation", body="hull", components=[(1, 0, 0)], transfer=[UNIT]),
            "the frequency of component 1 is 0 rad/s; it must be positive",
        ),
        (
            ForceElement("wave-excitation", body="hull", components=[(1, 1, 0)], transfer=[UNIT], ramp=-1),
            "ramp is -1 s; it must not be negative",
        ),
    ],
)
def test_what_no_water_does_is_refused(force, message):
    with pytest.raises(KingpostError) as error:
        derive(heaving(force))
    assert message in str(error.value)
