"""The bicycle against the published benchmark: canonical matrices, eigenvalues over the speed, and the nonlinear motion."""

import numpy as np
import pytest

from kingpost import simulate
from kingpost.equations.consistency import consistent_start
from kingpost.mechanism.values import resolve_values
from kingpost.multibody.assembly import assemble
from kingpost.simulation.problem import start_state
from kingpost.statics.linearize import linearize_along
from tests.validation.natural import PLUGINS, derive, model

#: Meijaard et al. 2007, eqs. (A 1) ff. and table 2: (lean, steer).
MASS = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
C1 = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])
#: Capsize, castering, and weave, by the speed (m/s); at 0 the eigenvalues are +-3.13 and +-5.53.
EIGENVALUES = {
    0: (-3.13164324790656, -5.53094371765393, 3.13164324790656, 5.53094371765393),
    1: (-3.13423125066578, -7.11008014637442, 3.52696170990070 + 0.80774027519930j),
    2: (-3.07158645641514, -8.67387984831735, 2.68234517512745 + 1.68066296590675j),
    3: (-2.63366137253667, -10.35101467245920, 1.70675605663975 + 2.31582447384325j),
    4: (-1.42944427361326, -12.15861426576447, 0.41325331521125 + 3.07910818603206j),
    5: (-0.32286642900409, -14.07838969279822, -0.77534188219585 + 4.46486771378823j),
    6: (-0.00406690076970, -16.08537123098026, -1.52644486584142 + 5.87673060598709j),
    7: (0.10268170574766, -18.15788466125262, -2.13875644258362 + 7.19525913329805j),
    8: (0.14327879765713, -20.27940894394569, -2.69348683581097 + 8.46037971396931j),
    9: (0.15790184030917, -22.43788559040858, -3.21675402252485 + 9.69377351531791j),
    10: (0.16105338653172, -24.62459635017404, -3.72016840437287 + 10.90681139476287j),
}


@pytest.fixture(scope="module")
def linear():
    """The linear systems of the whole machine for straight runs at 0 to 10 m/s."""
    bicycle = model("whipple-bicycle")
    equations = derive(bicycle, "kane")
    assembly = assemble(bicycle, PLUGINS)
    p = np.array([parameter.default for parameter in bicycle.parameters])
    states = np.array([start_state(assembly, equations, resolve_values(bicycle, {"speed": v})) for v in EIGENVALUES])
    return linearize_along(equations, np.zeros(len(states)), states, np.zeros((len(states), 2)), p)


def canonical(system):
    """Return M, C and K of M q'' + C q' + K q = torques for q = (lean, steer), which must be a system of its own.

    The rates of lean and steer are rows of A; with S making (q, q') of the machine's state, S A = F S.
    """
    rows = [system.states.index(f"displacement of {name}") for name in ("attitude.lean", "steer.angle")]
    S = np.vstack([np.eye(len(system.A))[rows], system.A[rows]])
    F = S @ system.A @ np.linalg.pinv(S)
    assert np.abs(S @ system.A - F @ S).max() < 1e-9 * np.abs(system.A).max()
    inputs = [system.inputs.index(name) for name in ("lean_torque", "steer_torque")]
    M = np.linalg.inv((S @ system.B)[2:, inputs])
    return M, -M @ F[2:, 2:], -M @ F[2:, :2]


def test_the_canonical_matrices(linear):
    """To all published digits but rounding: 14 of them, and matrices up to 1e4 whose inverses have a condition of 1e3."""
    for v, system in zip(EIGENVALUES, linear, strict=True):
        M, C, K = canonical(system)
        np.testing.assert_allclose(M, MASS, atol=1e-9)
        np.testing.assert_allclose(C, v * C1, atol=1e-9 * (1 + v))
        np.testing.assert_allclose(K, 9.81 * K0 + v**2 * K2, atol=1e-8 * (1 + v**2))


def test_the_eigenvalues_over_the_speed(linear):
    for v, system in zip(EIGENVALUES, linear, strict=True):
        expected = EIGENVALUES[v]
        found = np.linalg.eigvals(system.A)
        for value in (*expected, *np.conj(expected)):
            assert np.abs(found - value).min() < 1e-8, (v, value)
        # Place, yaw and the angles of the wheels: nothing brings them back.
        assert np.sum(np.abs(found) < 1e-4) == len(found) - 4


def test_weave_is_stable_above_and_capsize_below_the_published_speeds(linear):
    M, _, _ = canonical(linear[5])

    def worst(v, oscillating):
        inverse = np.linalg.inv(M)
        A = np.block([[np.zeros((2, 2)), np.eye(2)], [-inverse @ (9.81 * K0 + v**2 * K2), -inverse @ (v * C1)]])
        return max(value.real for value in np.linalg.eigvals(A) if (abs(value.imag) > 1e-9) == oscillating)

    for published, oscillating in ((4.29238253634111, True), (6.02426201538837, False)):
        below, above = (worst(published + d, oscillating) for d in (-1e-6, 1e-6))
        assert below * above < 0


def test_steer_to_lean_ratios(linear):
    """Shapes of the machine's modes are those of the published matrices, and have what document 002 says of the bicycle.

    Capsize steers against the fall at low speeds, with it from one speed on, and not at all in the end.
    """
    capsize = {}
    for v, system in zip(EIGENVALUES, linear, strict=True):
        values, vectors = np.linalg.eig(system.A)
        lean, steer = (system.states.index(f"displacement of {name}") for name in ("attitude.lean", "steer.angle"))
        for value in EIGENVALUES[v]:
            k = np.argmin(np.abs(values - value))
            row = value**2 * MASS[0] + value * v * C1[0] + 9.81 * K0[0] + v**2 * K2[0]
            ratio = vectors[steer, k] / vectors[lean, k]
            assert abs(ratio + row[0] / row[1]) < 1e-7 * (1 + abs(ratio)), (v, value)
            capsize.setdefault(v, ratio.real)
    phases = np.sign([capsize[v] for v in range(11)])
    assert phases[0] < 0 < phases[-1] and np.sum(phases[1:] != phases[:-1]) == 1
    # K2 knows no lean: what is left of steering is g / v^2 of K0.
    inverse = np.linalg.inv(MASS)
    for v in (100.0, 200.0):
        A = np.block([[np.zeros((2, 2)), np.eye(2)], [-inverse @ (9.81 * K0 + v**2 * K2), -inverse @ (v * C1)]])
        values, vectors = np.linalg.eig(A)
        k = np.argmin(np.abs(values))
        assert (vectors[1, k] / vectors[0, k]).real == pytest.approx(9.81 * 80.95 / (76.59734589573222 * v**2), rel=0.05)


def test_between_these_speeds_it_rights_itself_and_keeps_its_energy():
    """Nonlinear, at 4.6 m/s and leaning with 0.5 rad/s: the weave dies out with exp(-0.2 t), and the speed grows a little."""
    history = simulate(
        model("whipple-bicycle"), 6.0, settings={"lean_rate": 0.5}, step=0.005, output_step=0.05, plugins=PLUGINS, backend="vm",
        monitors=True,
    )  # fmt: skip
    lean = np.abs(history["attitude.lean"])
    assert lean[:40].max() > 0.1 and lean[-40:].max() < 0.25 * lean[:40].max()
    # rk4: the castering mode with 13 1/s, (0.065)^5 / 120 in each of 1200 steps, of the 30 J that lean and steer have.
    assert np.ptp(history["energy.total"]) < 1e-5 * 30.0
    assert history["constraints.position"].max() < 1e-13 and history["constraints.speed"].max() < 1e-12
    # What leaning and steering lose, going forward gains.
    assert history["place.x.rate"][-1] > 0 and np.ptp(history["attitude.yaw"]) > 0.05


def test_upright_it_is_carried_by_two_wheels():
    """At rest relative to the ground: the contact forces from one balance of moments about the rear contact."""
    history = simulate(model("whipple-bicycle"), 0.01, step=0.01, plugins=PLUGINS, backend="vm", loads="all")
    mass = 85.0 + 4.0 + 2.0 + 3.0
    front = 9.81 * (85.0 * 0.3 + 4.0 * 0.9 + 3.0 * 1.02) / 1.02
    for name, force in (("rear-contact", mass * 9.81 - front), ("front-contact", front)):
        contact = history.loads(name, frame="world").total[0]
        assert contact[3:] == pytest.approx([0, 0, force], abs=1e-9)


def test_the_wheels_of_a_start_that_leans_and_steers_are_put_on_the_ground():
    """With the frame leaned by a, the rear wheel's centre is at r cos(a); steering lowers the front, which pitch makes good."""
    bicycle = model("whipple-bicycle")
    equations = derive(bicycle, "kane")
    p = np.array([parameter.default for parameter in bicycle.parameters])
    x = start_state(assemble(bicycle, PLUGINS), equations, resolve_values(bicycle, {"attitude.lean": 0.1, "steer.angle": 0.2}))
    closed = consistent_start(equations, 0.0, x, p, far=True).x
    lean = closed[[quantity.name for quantity in bicycle.coordinates].index("attitude.lean")]
    assert closed[2] == pytest.approx(0.3 * np.cos(lean), abs=1e-12)
