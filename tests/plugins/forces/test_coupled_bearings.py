"""Bearings whose friction depends on each other: two pendulums against Newton, and the slider-crank of the document."""

import numpy as np
import pytest

from kingpost import Body, Closure, ForceElement, Input, Joint, Mechanism
from kingpost.gallery.document_002.numbers import SLIDER_CRANK
from tests.plugins.forces.bearings import G, double_pendulum, posed, seen
from tests.plugins.forces.deriving import FORMULATIONS


def newton_of_two_bearings(q, v, c):
    """Accelerations of the double pendulum by Newton's method on all ten unknowns of two free bodies, in the plane."""
    m, J, L, s = (2.0, 1.5), 0.1, 1.0, 0.5
    angles = np.array([q[0], q[0] + q[1]])
    rates = np.array([v[0], v[0] + v[1]])
    down = [np.array([-np.sin(angle), -np.cos(angle)]) for angle in angles]  # from pin to centre, x and z
    side = [np.array([-np.cos(angle), np.sin(angle)]) for angle in angles]  # its derivative with the angle

    def equations(z):
        (a1, a2), (F1, F2), (T1, T2) = z[:2], (z[2:4], z[4:6]), z[6:]
        spins = (a1, a1 + a2)
        at_pin = L * (side[0] * spins[0] - down[0] * rates[0] ** 2)
        centre = [
            s * (side[0] * spins[0] - down[0] * rates[0] ** 2),
            at_pin + s * (side[1] * spins[1] - down[1] * rates[1] ** 2),
        ]
        weight = [np.array([0, -mass * G]) for mass in m]

        def moment(arm, force):  # about y
            return arm[1] * force[0] - arm[0] * force[1]

        return np.array(
            [
                *(F1 - F2 + weight[0] - m[0] * centre[0]),
                *(F2 + weight[1] - m[1] * centre[1]),
                T1 - T2 + moment(-s * down[0], F1) - moment((L - s) * down[0], F2) - J * spins[0],
                T2 + moment(-s * down[1], F2) - J * spins[1],
                T1 + c[0] * np.hypot(*F1),
                T2 + c[1] * np.hypot(*F2),
            ]
        )

    z = np.ones(8)
    for _ in range(50):
        residual = equations(z)
        steps = 1e-6 * np.eye(8)
        jacobian = np.column_stack([(equations(z + step) - equations(z - step)) / 2e-6 for step in steps])
        z = z - np.linalg.solve(jacobian, residual)
    assert np.abs(equations(z)).max() < 1e-10
    return z[:2], np.hypot(*z[2:4]), np.hypot(*z[4:6])


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_two_coupled_bearings_are_those_of_newton_on_two_free_bodies(formulation):
    problem = posed(double_pendulum(), formulation)
    rng = np.random.default_rng(2)
    for x in rng.uniform(-2, 2, (6, 4)):
        found, vdot = seen(problem, x)
        c = np.array([0.4 * 0.2, 0.3 * 0.15]) * np.tanh(x[2:] / 0.1)
        exact, first, second = newton_of_two_bearings(x[:2], x[2:], c)
        # The other method ends at residuals of 1e-10 N.
        assert vdot == pytest.approx(exact, rel=1e-9, abs=1e-9)
        assert (found["first.load"], found["second.load"]) == pytest.approx((first, second), rel=1e-9)
        assert max(found["first.residual"], found["second.residual"]) < 1e-12 * first


CRANK, ROD = 0.5, np.sqrt(2.0)


def slider_crank(closure="spherical"):
    return Mechanism(
        "slider-crank",
        bodies=[
            Body("crank", mass=1.0, inertia=(0.2, 0.2, 0.2)),
            Body("rod", mass=0.5, com=(ROD * np.sqrt(0.5), 0, 0), inertia=(0, 0.1, 0.1)),
            Body("slider", mass=2.0, inertia=(0.1, 0.1, 0.1)),
        ],
        joints=[
            Joint("shaft", "revolute", "world", "crank", axis=(1, 0, 0)),
            Joint("pin", "universal", "crank", "rod", axis=(0, 0, 1), axis2=(0, 1, 0), position=(0, -CRANK, 0)),
            Joint("slide", "prismatic", "world", "slider", axis=(1, 0, 0), position=(0, -CRANK, 0)),
        ],
        closures=[Closure("end", closure, "rod", "slider", position=(ROD, 0, 0))],
        inputs=[Input("torque", "N.m")],
        forces=[
            ForceElement("joint-effort", name="drive", coordinate="shaft.angle", effort="torque"),
            ForceElement("bearing-friction", name="guide", joint="slide", mu=0.5, transition=1e-9),
        ],
    )


def slider_crank_at(t):
    """Start values of the document's motion, and the acceleration of its slider."""
    k, w = (1 - np.sqrt(0.5)) * ROD / 10, 2 * np.pi
    s, rate, acceleration = (
        -k * (1 + 8 * np.sin(w * t) ** 2),
        -8 * k * w * np.sin(2 * w * t),
        -16 * k * w**2 * np.cos(2 * w * t),
    )
    chi = np.arccos(1 - (ROD**2 - (ROD + s) ** 2) / (2 * CRANK**2))
    along = np.array([ROD + s, CRANK * (np.cos(chi) - 1), CRANK * np.sin(chi)]) / ROD
    turned = np.cos(chi) * along[1] + np.sin(chi) * along[2], np.cos(chi) * along[2] - np.sin(chi) * along[1]
    start = {
        "shaft.angle": chi,
        "shaft.angle.rate": -(ROD + s) * rate / (CRANK**2 * np.sin(chi)),
        "pin.first": np.arctan2(turned[0], along[0]),
        "pin.second": np.arcsin(-turned[1]),
        "slide.displacement": ROD + s,
        "slide.displacement.rate": rate,
    }
    return start, acceleration


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_slider_crank_in_space_has_the_friction_of_the_document(formulation):
    problem = posed(slider_crank(), formulation, loads=("slide",), values=slider_crank_at(0.05)[0])
    equations = problem.equations
    for t, _, _, _, torque, y, z, x in SLIDER_CRANK:
        start, acceleration = slider_crank_at(t)
        q, v = (
            np.array([start.get(item.name, 0.0) for item in items])
            for items in (equations.position_quantities, equations.speed_quantities)
        )
        # The rates of the universal joint follow from the others: the errors of speeds are linear in them.
        errors = [
            np.asarray(equations.constraint_residuals(0.0, q, w, problem.p)[1]).ravel() for w in (v, *(v + np.eye(4)[1:3]))
        ]
        v[1:3] -= np.linalg.lstsq(np.array(errors[1:] - errors[0]).T, errors[0], rcond=None)[0]
        state = np.concatenate([q, v])
        # Printed with five decimals; accelerations of the slider are forces over 2 kg, times up to 3 by the linkage.
        vdot = np.asarray(equations.accelerations(0.0, q, v, [torque], problem.p)).ravel()
        assert vdot[3] == pytest.approx(acceleration, abs=1e-5)
        values = np.asarray(equations.observe(0.0, state, [torque], problem.p)).ravel()
        found = {channel.name: value for channel, value in zip(equations.channels, values, strict=True)}
        assert (found["slide.constraint.Fy"], found["slide.constraint.Fz"]) == pytest.approx((y, z), abs=1e-5)
        assert found["slide.friction.Fx"] == pytest.approx(x, abs=1e-5)
        assert found["loads.residual.force"] < 1e-10
