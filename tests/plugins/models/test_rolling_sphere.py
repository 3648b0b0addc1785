"""The charged sphere in a trough against document 002, examples 2.5 and 4.4, written out by hand."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from kingpost import simulate
from kingpost.symbols.screws import rotation_of_quaternion
from tests.validation.natural import PLUGINS, assert_close, derive, model, numbers

R, G, M, E, K = 0.01, 9.8, 0.05, 1e4, 5e-6
J = 0.4 * M * R**2
#: Document 002 as recomputed in the notes: t, x, y, and the angular velocity in space axes.
TABLE = (
    (1, 0.139317, -0.088321, 12.3465, 37.4876, -28.4579),
    (2, 0.830153, 0.055936, -21.8224, 86.5898, -13.9842),
    (4, 1.661352, -0.037724, -24.3809, 1.8697, 5.9805),
)
PERIOD = 2.368858


def by_hand(t_end, times):
    """Return the contact point and the angular velocity (space axes) of example 4.4: Newton, Euler, v = r w x n.

    States: quaternion (x, y, z, t), contact point x and y, and w. With n = (0, -y, 1) / sqrt(1 + y^2) and the centre at
    contact + r n, its velocity r w x n gives y' by the arc of the centre's path; the acceleration is linear in w'.
    """

    def rate(t, state):
        qx, qy, qz, qt = state[:4]
        _, y = state[4:6]
        w = state[6:9]
        s = np.sqrt(1 + y * y)
        n = np.array([0.0, -y, 1.0]) / s
        v = R * np.cross(w, n)
        # centre: y - r y / s and y^2 / 2 + r / s
        y_rate = v[1] / (1 - R / s**3)
        n_rate = np.array([0.0, -1 / s**3, -y / s**3]) * y_rate
        qdot = 0.5 * np.array([
            qt * w[0] + qz * w[1] - qy * w[2], -qz * w[0] + qt * w[1] + qx * w[2],
            qy * w[0] - qx * w[1] + qt * w[2], -qx * w[0] - qy * w[1] - qz * w[2],
        ])  # fmt: skip
        # The charge is at R (0, 0, -r): minus the third column of the rotation.
        b = -R * np.array([2 * (qx * qz + qy * qt), 2 * (qy * qz - qx * qt), 1 - 2 * qx**2 - 2 * qy**2])
        field = np.array([K * E * np.sin(np.pi * t / 2), 0.0, 0.0])
        # m (r w' x n + r w x n') = F + m g + f ; J w' = b x field - r n x f
        N = R * np.array([[0, n[2], -n[1]], [-n[2], 0, n[0]], [n[1], -n[0], 0]])  # N w = r w x n
        applied = field + M * np.array([0.0, 0.0, -G])
        known = M * R * np.cross(w, n_rate) - applied
        w_rate = np.linalg.solve(
            J * np.eye(3) + M * N.T @ N,
            np.cross(b, field) - N.T @ known,
        )
        return [*qdot, v[0], y_rate, *w_rate]

    start = [0, 0, 0, 1, 0, 0.1, 0, 0, 0]
    return solve_ivp(rate, (0, t_end), start, t_eval=times, rtol=1e-10, atol=1e-11, method="DOP853").y[4:]


def space_omega(history):
    """Return the angular velocity in world axes."""
    q = history.select([f"motion.q{name}" for name in "wxyz"]).T
    rotation = ca.Function("R", [e := ca.SX.sym("e", 4)], [ca.vec(rotation_of_quaternion(e))])
    R_WB = np.asarray(rotation(q)).T.reshape(-1, 3, 3).transpose(0, 2, 1)
    return np.einsum("nij,nj->ni", R_WB, history.select([f"motion.w{name}" for name in "xyz"]))


@pytest.fixture(scope="module")
def four_seconds():
    return simulate(model("rolling-sphere"), 4.0, step=2e-4, output_step=0.05, plugins=PLUGINS, monitors=True)


def test_the_table_of_the_notes(four_seconds):
    """Errors of rk4: halving the step from 2e-4 s changes x(4) by 1e-7 and the last digits of w by 1e-5."""
    omega = space_omega(four_seconds)
    for t, x, y, *w in TABLE:
        i = round(t / 0.05)
        assert [four_seconds["touch.x"][i], four_seconds["touch.y"][i]] == pytest.approx([x, y], abs=6e-7)
        assert omega[i] == pytest.approx(w, abs=6e-5)


def test_newton_and_euler_written_out_by_hand_give_the_same_motion(four_seconds):
    times = np.array([0.5, 1.0, 2.0])
    exact = by_hand(2.0, times)
    rows = np.round(times / 0.05).astype(int)
    ours = np.column_stack([four_seconds["touch.x"], four_seconds["touch.y"], space_omega(four_seconds)])[rows].T
    # 1e-10 of solve_ivp, and the error of rk4, 2e-7 m and 1e-5 rad/s, on motions that double an error in a second.
    np.testing.assert_allclose(ours[:2], exact[:2], atol=1e-6)
    np.testing.assert_allclose(ours[2:], exact[2:], atol=1e-4)


@pytest.mark.slow
def test_the_last_row_of_the_table():
    """x(20) = 7.72638: rk4 with 1e-4 s is 3e-5 m off, by what halving the steps changes."""
    history = simulate(model("rolling-sphere"), 20.0, step=1e-4, output_step=0.5, plugins=PLUGINS)
    assert history["touch.x"][-1] == pytest.approx(7.72638, abs=5e-5)
    assert history["touch.y"][-1] == pytest.approx(-0.093659, abs=6e-7)
    assert space_omega(history)[-1] == pytest.approx([9.2253, -12.721, -4.710], abs=2e-3)
    # The field has a period of 4 s, x has not.
    x = history["touch.x"][::8]
    assert np.abs(np.diff(x, 2)).max() > 0.1


def crossings(time, values):
    """Return when values rise through zero, by the line between two samples."""
    rows = np.flatnonzero((values[:-1] < 0) & (values[1:] >= 0))
    return time[rows] - values[rows] * (time[rows + 1] - time[rows]) / (values[rows + 1] - values[rows])


def test_the_period_across_the_trough_and_that_of_the_height(four_seconds):
    """By quadrature of 7/10 m c'^2 = m g (z(0.1) - z), with the path c of the centre; y knows nothing of the field."""

    def slowness(u):
        y = 0.1 * np.sin(u)
        s, top = np.sqrt(1 + y * y), np.sqrt(1.01)
        arc = (1 - R / s**3) * s
        fall = (0.01 - y * y) / 2 + R / top - R / s
        return arc * np.sqrt(0.7 / (G * fall)) * 0.1 * np.cos(u)

    assert 4 * quad(slowness, 0, np.pi / 2 - 1e-7, epsabs=1e-10)[0] == pytest.approx(PERIOD, abs=1e-6)
    fine = simulate(model("rolling-sphere"), 5.0, step=1e-3, output_step=5e-3, plugins=PLUGINS)
    rises = crossings(fine.time, fine["touch.y"])
    # Between samples 5 ms apart the line is off by (w h)^2 / 8 of h w, and rk4 with 1 ms by 1e-4 of the phase.
    assert np.diff(rises) == pytest.approx(PERIOD, abs=2e-4)
    z = fine["touch.z"] - 0.0025
    assert np.diff(crossings(fine.time, z)) == pytest.approx(PERIOD / 2, abs=2e-3)


def test_the_contact_stays_in_the_trough_and_the_energy_is_the_work(four_seconds):
    history = four_seconds
    np.testing.assert_allclose(history["touch.z"], history["touch.y"] ** 2 / 2, atol=1e-15)
    q = history.select([f"motion.q{name}" for name in "wxyz"])
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1.0, atol=1e-13)
    assert history["constraints.position"].max() < 1e-15 and history["constraints.speed"].max() < 1e-13
    # The work is integrated over samples 0.05 s apart of a power whose charge turns with 90 rad/s; so it is found anew here.
    fine = simulate(model("rolling-sphere"), 1.0, step=2e-4, output_step=1e-3, plugins=PLUGINS, monitors=True)
    # Hermite's rule: (90 * 1e-3)^4 / 720 of a work of some 0.05 J.
    assert np.abs(fine["energy.error"]).max() < 1e-7 * np.abs(fine["energy.work"]).max() + 1e-9


def test_a_sphere_that_touches_at_the_charge_does_not_move_it():
    """V S = 0 of example 2.5: the charge is at rest whatever the speeds, while it is the point of contact (y = 0)."""
    mechanism = model("rolling-sphere")
    equations = derive(mechanism, "kane")
    p = np.array([parameter.default for parameter in mechanism.parameters])
    q = np.array([0, 0, R, 1, 0, 0, 0, 0, 0, 0])
    A = np.asarray(ca.Function("A", [equations.q, equations.p], [ca.densify(equations.constraints.A)])(q, p))
    assert np.linalg.matrix_rank(A) == 6
    speeds = np.linalg.svd(A)[2][6:].T  # in the null space: three motions
    arm = np.array([0, 0, -R])
    for v in speeds.T:
        np.testing.assert_allclose(v[3:6] + np.cross(v[:3], arm), 0.0, atol=1e-15)


def test_kane_recursive_and_directors_agree():
    mechanism = model("rolling-sphere")
    kane = derive(mechanism, "kane")
    p = np.array([parameter.default for parameter in mechanism.parameters])
    y = 0.07
    s = np.sqrt(1 + y * y)
    e = np.array([0.5, -0.1, 0.7, 0.5])
    q = np.array([0.2, y - R * y / s, y * y / 2 + R / s, *(e / np.linalg.norm(e)), 0.2, y, y * y / 2])
    A = np.asarray(ca.Function("A", [kane.q, kane.p], [ca.densify(kane.constraints.A)])(q, p))
    v = np.linalg.svd(A)[2][6:].T @ [0.3, -0.2, 0.5]
    expected = numbers(kane.accelerations(0.4, q, v, [], p))
    assert_close(numbers(derive(mechanism, "recursive").accelerations(0.4, q, v, [], p)), expected, "recursive", 1e-9)
    ours = derive(mechanism, "directors")
    Q, V = ours.split(numbers(ours.coordinates.initial(q, v, p)))
    vdot = ours.accelerations(0.4, Q, V, [], p)
    assert_close(numbers(ours.coordinates.joint_state(Q, V, vdot, p)[2]), expected, "directors", 1e-8)
