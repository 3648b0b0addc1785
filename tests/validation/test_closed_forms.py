"""Built-in machines against equations of motion derived by hand."""

import numpy as np
import pytest

from kingpost.mechanism.values import resolve_values
from kingpost.multibody.assembly import assemble
from kingpost.plugins.formulations.kane import Kane


def double_pendulum(q, v, m1, m2, l1, l2, d, g):
    """Accelerations of two uniform rods, from Lagrange's equations in the absolute angles a = q1, b = q1 + q2.

    T = (m1/3 + m2) l1^2 a'^2 / 2 + m2 l2^2 b'^2 / 6 + m2 l1 l2 a' b' cos(a - b) / 2
    V = -(m1/2 + m2) g l1 cos a - m2 g l2 cos b / 2
    """
    a, b = q[0], q[0] + q[1]
    da, db = v[0], v[0] + v[1]
    coupling = m2 * l1 * l2 / 2
    M = np.array(
        [
            [(m1 / 3 + m2) * l1**2, coupling * np.cos(a - b)],
            [coupling * np.cos(a - b), m2 * l2**2 / 3],
        ]
    )
    # The hinge torques -d q1' and -d q2' do work on q1 and q2: on a it is -d q1' + d q2', on b it is -d q2'.
    forces = np.array(
        [
            -coupling * np.sin(a - b) * db**2 - (m1 / 2 + m2) * g * l1 * np.sin(a) - d * v[0] + d * v[1],
            coupling * np.sin(a - b) * da**2 - m2 * g * l2 / 2 * np.sin(b) - d * v[1],
        ]
    )
    dda, ddb = np.linalg.solve(M, forces)
    return np.array([dda, ddb - dda])


def slider_pendulum(q, v, trolley, load, length, k, c, g, drive):
    """Accelerations of a trolley with a hanging point load at (x - l sin a, -l cos a)."""
    a = q[1]
    M = np.array(
        [
            [trolley + load, -load * length * np.cos(a)],
            [-load * length * np.cos(a), load * length**2],
        ]
    )
    forces = np.array(
        [
            drive - c * v[0] - k * q[0] - load * length * np.sin(a) * v[1] ** 2,
            -load * g * length * np.sin(a),
        ]
    )
    return np.linalg.solve(M, forces)


CASES = {
    "double-pendulum": (
        double_pendulum,
        {"mass1": 1.3, "mass2": 0.7, "length1": 0.9, "length2": 1.4, "damping": 0.2, "gravity": 9.5},
        {},
    ),
    "slider-pendulum": (
        slider_pendulum,
        {"trolley_mass": 210.0, "load_mass": 480.0, "rope_length": 3.7}
        | {"rail_stiffness": 900.0, "rail_damping": 60.0, "gravity": 9.7},
        {"drive": 1234.0},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_accelerations_agree_with_a_derivation_by_hand(name, plugins):
    by_hand, settings, inputs = CASES[name]
    mechanism = plugins.models.get(name)().build()
    values = resolve_values(mechanism, settings | inputs)
    equations = Kane().derive(assemble(mechanism, plugins))
    p, u = list(values.parameters.values()), list(values.inputs.values())
    rng = np.random.default_rng(7)
    for _ in range(200):
        q, v = rng.uniform(-3, 3, 2), rng.uniform(-5, 5, 2)
        vdot = np.asarray(equations.accelerations(0.0, q, v, u, p)).ravel()
        exact = by_hand(q, v, *settings.values(), *inputs.values())
        # The masses differ by less than 10, so condition numbers stay below 1e3 and rounding below 1e-12.
        assert np.abs(vdot - exact).max() <= 1e-10 * max(1.0, np.abs(exact).max())
