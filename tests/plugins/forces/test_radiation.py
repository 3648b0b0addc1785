"""Radiation with memory: its formula, its energy, its frequency response, in every formulation that takes it."""

import casadi as ca
import numpy as np
import pytest

from kingpost import ForceElement, Input, KingpostError, export, linearize
from kingpost.fmu import run_fmu
from kingpost.plugins.forces.radiation import Radiation, RadiationOptions
from tests.plugins.forces.deriving import BUILT_IN, FORMULATIONS, ROUNDING, derive, run
from tests.plugins.forces.floating import full_matrix, hat, heaving, in_heave, rotation, shape, states, vessel

#: Oscillators g g' s / (s^2 + 2 d w s + w^2): residue g g' p / (p - conj p) at p = -d w + i w sqrt(1 - d^2).
SWAY_ROLL = (0.9, 0.3, np.array([2.0, 1.0]))
HEAVE = (1.4, 0.4, np.array([3.0]))


def term(frequency, damping, g):
    p = frequency * (-damping + 1j * np.sqrt(1 - damping**2))
    residue = np.outer(g, g) * p / (p - p.conjugate())
    upper = residue[np.triu_indices(len(g))]
    return (p.real, p.imag), [(r.real, r.imag) for r in upper]


def memory(*oscillators, **more):
    terms = [term(*oscillator) for oscillator in oscillators]
    motions = [("heave",) if len(oscillator[2]) == 1 else ("sway", "roll") for oscillator in oscillators]
    return {"poles": [p for p, _ in terms], "motions": motions, "residues": [r for _, r in terms], **more}


def oscillator(s, frequency, damping, g):
    return np.outer(g, g) * s / (s**2 + 2 * damping * frequency * s + frequency**2)


BOTH = memory(SWAY_ROLL, HEAVE)


def turned(heading):
    c, s = np.cos(heading), np.sin(heading)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("follows_yaw", [False, True])
def test_the_force_is_the_formula_of_its_documentation(formulation, follows_yaw):
    at, heading, A = np.array([0.3, -0.2, 0.4]), 0.7, full_matrix()
    options = dict(**BOTH, added_mass=A.tolist(), at=at.tolist(), heading=heading, follows_yaw=follows_yaw)
    wet, dry = (
        derive(vessel(shape(0), shape(1), *forces), formulation)
        for forces in ((ForceElement("radiation", body="hull", **options),), ())
    )
    z = np.array([0.2, -0.5, 0.4, 0.1, -0.3, 0.6])  # sway 1, 2, roll 1, 2, heave 1, 2
    for q, v in states():
        R, w = rotation(q), v[:3]
        yaw = np.arctan2(R[1, 0], R[0, 0]) if follows_yaw else heading
        R_HB = turned(yaw).T @ R
        J = np.block([[-R_HB @ hat(at), R_HB], [R_HB, np.zeros((3, 3))]])
        near = 1e-6  # the rate of J along the motion, by differences: an error of 1e-9 or so
        ends = []
        for sign in (1, -1):
            turn = np.linalg.norm(w) * sign * near
            axis = w / np.linalg.norm(w)
            later = R @ (np.eye(3) + np.sin(turn) * hat(axis) + (1 - np.cos(turn)) * hat(axis) @ hat(axis))
            there = turned(np.arctan2(later[1, 0], later[0, 0]) if follows_yaw else heading).T @ later
            ends.append(np.block([[-there @ hat(at), there], [there, np.zeros((3, 3))]]))
        bias = (ends[0] - ends[1]) / (2 * near) @ v[:6]
        (p1, r1), (p2, r2) = term(*SWAY_ROLL), term(*HEAVE)
        force = np.zeros(6)
        R1 = np.array([[complex(*r1[0]), complex(*r1[1])], [complex(*r1[1]), complex(*r1[2])]])
        force[[1, 3]] = 2 * (R1.real @ z[[0, 2]] + R1.imag @ z[[1, 3]])
        force[2] = 2 * (r2[0][0] * z[4] + r2[0][1] * z[5])
        wrench = -J.T @ (force + A @ bias)
        M, f = (np.asarray(item) for item in wet.descriptor(0, q, v, z, [])[:2])
        M0, f0 = (np.asarray(item) for item in dry.descriptor(0, q, v, [], [])[:2])
        assert f.ravel()[:6] - f0.ravel()[:6] == pytest.approx(wrench, abs=1e-7)
        assert (M - M0)[:6, :6] == pytest.approx(J.T @ A @ J, abs=1e-10)
        velocity = J @ v[:6]
        rates, (a, b) = np.asarray(wet.rhs(0, np.concatenate([q, v, z]), [], [])).ravel()[-6:], p1
        assert rates[:2] == pytest.approx([a * z[0] + b * z[1] + velocity[1], a * z[1] - b * z[0]], abs=1e-10)
        assert rates[4] == pytest.approx(p2[0] * z[4] + p2[1] * z[5] + velocity[2], abs=1e-10)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("follows_yaw", [False, True])
def test_the_added_mass_keeps_the_energy(formulation, follows_yaw):
    force = ForceElement(
        "radiation", body="hull", added_mass=full_matrix().tolist(), at=(0.1, 0.4, -0.3), heading=0.5, follows_yaw=follows_yaw
    )
    equations = derive(vessel(shape(0), shape(1), force), formulation)
    t, q, v, u, p = equations.t, equations.q, equations.v, equations.u, equations.p
    vdot = equations.accelerations(t, q, v, u, p)
    power = ca.jtimes(equations.kinetic, q, equations.kinematics(q, v, p)) + ca.jtimes(equations.kinetic, v, vdot)
    size = ca.sum1(ca.fabs(ca.gradient(equations.kinetic, v) * vdot))
    evaluate = ca.Function("power", [t, q, v, u, p], [power, size])
    for state in states():
        change, scale = (float(result) for result in evaluate(0, *state, [], []))
        assert abs(change) < ROUNDING * max(1.0, scale)


@pytest.mark.parametrize("formulation", ["kane", "recursive", "modular", "directors"])
def test_what_the_memory_takes_is_what_the_body_loses(formulation):
    added = {} if formulation == "directors" else {"added_mass": np.diag([1, 2, 3, 1, 1, 1.0]).tolist()}
    integrator = {"integrator": "rk4"} if formulation != "directors" else {}
    mechanism = vessel(
        shape(0), shape(1), ForceElement("radiation", name="water", body="hull", at=(0.1, 0.2, -0.3), **BOTH, **added)
    )
    history = run(
        mechanism, 2.0, 0.01, formulation=formulation, settings={"sea.vy": 1.0, "sea.vz": -0.5, "sea.wx": 0.8}, **integrator
    )
    power, h = history["water.power"], 0.01
    # Simpson's rule: an error of h^4 / 180 times the fourth derivative of the power, (some 4 rad/s)^4, over 2 s.
    taken = h / 3 * (power[0] + power[-1] + 4 * power[1:-1:2].sum() + 2 * power[2:-1:2].sum())
    energy = history["energy.kinetic"] + history["energy.potential"]
    allowed = 1e-6 if formulation != "directors" else 1e-3  # a rule of second order: (4 h)^2 / 12 of what moves
    assert energy[0] - energy[-1] == pytest.approx(taken, abs=allowed * energy[0])
    assert taken > 0.01 * energy[0]


def test_over_any_history_the_memory_takes_energy():
    """Random velocities, exactly held over steps: the work from rest is never negative, at no time."""
    force = Radiation(RadiationOptions(body="hull", **{key: tuple(map(tuple, value)) for key, value in BOTH.items()}))
    terms = list(force.options.terms())
    s = 1j * np.geomspace(1e-3, 1e3, 500)
    K = sum(each.transfer(s) for each in terms)
    exact = np.zeros((500, 6, 6), complex)
    for k, value in enumerate(s):
        exact[k][np.ix_([1, 3], [1, 3])] += oscillator(value, *SWAY_ROLL)
        exact[k, 2, 2] += oscillator(value, *HEAVE)[0, 0]
    assert np.abs(K - exact).max() < 1e-12 * np.abs(exact).max()
    rng = np.random.default_rng(4)
    for _ in range(3):
        h = 0.05
        work, states_ = 0.0, [np.zeros(len(each.motions), complex) for each in terms]
        for velocity in rng.normal(size=(200, 6)) * rng.uniform(0, 2, (200, 1)):
            for n, each in enumerate(terms):
                p, R = complex(*each.pole), each.parts(0) + 1j * each.parts(1)
                v = velocity[each.rows]
                # z' = p z + v exactly over the step, and the integral of z as well.
                before = states_[n]
                after = np.exp(p * h) * before + (np.exp(p * h) - 1) / p * v
                area = (after - before - v * h) / p
                work += float(v @ (2 * (R @ area)).real)
                states_[n] = after
            assert work > -1e-9


def test_linearised_it_has_the_response_of_the_fitted_memory():
    mass, added, stiffness = 4.0, 3.0, 14.0
    mechanism = heaving(
        ForceElement("radiation", body="hull", **memory(HEAVE), added_mass=in_heave(added)),
        ForceElement("hydrostatic", body="hull", matrix=in_heave(stiffness)),
        ForceElement("body-wrench", body="hull", force=(0, 0, "push")),
        inputs=[Input("push", "N")],
        mass=mass,
    )
    system = linearize(mechanism, plugins=BUILT_IN)
    for w in (0.3, 1.0, 1.7, 4.0):
        s = 1j * w
        found = np.linalg.solve(s * np.eye(len(system.A)) - system.A, system.B)[0, 0]
        exact = 1 / (s**2 * (mass + added) + s * oscillator(s, *HEAVE)[0, 0] + stiffness)
        assert found == pytest.approx(exact, rel=1e-10)


@pytest.mark.slow
def test_in_a_native_fmu_it_gives_the_numbers_of_the_run(tmp_path):
    mechanism = heaving(
        ForceElement("radiation", body="hull", **memory(HEAVE), added_mass=in_heave(3.0)),
        ForceElement("hydrostatic", body="hull", matrix=in_heave(14.0)),
        start=0.4,
    )
    reference = run(mechanism, 2.0, 0.01, output_step=0.1)
    done = export(mechanism, tmp_path / "heave.fmu", to="native-fmu", step=0.01, plugins=BUILT_IN)
    history = run_fmu(done.path, 2.0, step=0.1)
    np.testing.assert_allclose(history["sea.displacement"], reference["sea.displacement"], rtol=1e-12, atol=1e-14)


POLES, RESIDUES = BOTH["poles"], BOTH["residues"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "has neither a memory nor an added mass"),
        ({"poles": POLES}, "there are 2 poles, 0 lists of motions and 0 residues"),
        ({**BOTH, "motions": [("sway", "rol"), ("heave",)]}, "term 1 has the motion 'rol'; did you mean 'roll'?"),
        ({**BOTH, "motions": [("sway",), ("heave",)]}, "term 1 has 3 residues for the motions sway; give the upper triangle"),
        ({**BOTH, "poles": [(0.1, 0.9), POLES[1]]}, "pole 1 is 0.1 +0.9i 1/s; real parts must be negative"),
        ({**BOTH, "poles": [POLES[0], (-0.3, 0.0)]}, "pole 2 is real, so its residues must be real"),
        (
            {**memory(HEAVE), "residues": [[(-r[0], r[1]) for r in memory(HEAVE)["residues"][0]]]},
            "radiation on 'hull': the memory is not passive: at",
        ),
        ({"added_mass": in_heave(-1.0)}, "entry (3, 3) of the matrix, heave, is -1, which is negative"),
    ],
)
def test_what_no_water_does_is_refused(options, message):
    with pytest.raises(KingpostError) as error:
        derive(heaving(ForceElement("radiation", body="hull", **options)))
    assert message in str(error.value)
