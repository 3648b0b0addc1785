"""Added mass, damping and wave excitation against rigid bodies, Galilei's principle, closed forms and linear theory."""

import functools
import math

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, ForceElement, Input, Joint, KingpostError, Mechanism, Parameter, PluginSet, simulate
from kingpost.marine.waves import jonswap
from kingpost.multibody.assembly import assemble

FORMULATIONS = ("kane", "recursive")
BUILT_IN = PluginSet(entry_points=False)
#: As in the conformance kit: some 1e3 operations per entry, and mass matrices with condition numbers up to 1e4.
ROUNDING = 1e-10


@functools.cache
def derive(mechanism, formulation="kane"):
    return BUILT_IN.formulations.get(formulation)().derive(assemble(mechanism, BUILT_IN))


def run(mechanism, t_end, step, **arguments):
    return simulate(mechanism, t_end, step=step, backend="vm", plugins=BUILT_IN, **arguments)


def rk4_error(rate, t_end, step):
    """A bound for the error of rk4 relative to a motion with ``rate``: (rate step)^5 / 120 in each step, twice for safety."""
    return 2 * t_end / step * (rate * step) ** 5 / 120


def hat(p):
    return np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])


def rigid(mass, com, inertia, about=(0.0, 0.0, 0.0)):
    """The 6 x 6 inertia of a rigid body about a point in the marine order: forces first."""
    c = hat(np.subtract(com, about))
    return np.block([[mass * np.eye(3), -mass * c], [mass * c, inertia - mass * c @ c]])


def entries(matrix):
    return tuple(float(matrix[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))


def together(*parts):
    """Mass, centre and inertia of rigid bodies (mass, com, inertia) that are one."""
    mass = sum(m for m, _, _ in parts)
    com = sum(m * c for m, c, _ in parts) / mass
    return mass, com, sum(inertia - m * hat(c - com) @ hat(c - com) for m, c, inertia in parts)


def shape(seed):
    """A random mass, centre and inertia that a body can have."""
    rng = np.random.default_rng(seed)
    cloud = rng.uniform(-1, 1, (5, 3))
    second = cloud.T @ cloud
    return float(rng.uniform(1, 4)), rng.uniform(-0.5, 0.5, 3), np.trace(second) * np.eye(3) - second


def body(name, part):
    mass, com, inertia = part
    return Body(name, mass=mass, com=com.tolist(), inertia=entries(inertia))


def vessel(hull, crane, *forces, **more):
    return Mechanism(
        "vessel",
        bodies=[body("hull", hull), body("crane", crane)],
        joints=[
            Joint("sea", "free", "world", "hull"),
            Joint("slew", "revolute", "hull", "crane", axis=(0.1, 0, 1), position=(0.4, 0.1, 0.5), child_position=(0, 0.1, 0)),
        ],
        forces=forces,
        **more,
    )


def states(count=3, seed=1):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        turn = rng.uniform(-1, 1, 4)
        yield np.array([*rng.uniform(-1, 1, 3), *(turn / np.linalg.norm(turn)), rng.uniform(-1, 1)]), rng.uniform(-2, 2, 7)


def rotation(q):
    w, n = q[3], q[4:7]
    return np.eye(3) + 2 * (w * hat(n) + hat(n) @ hat(n))


def full_matrix(seed=3):
    """Symmetric, positive definite, with all couplings: no rigid body's."""
    root = np.random.default_rng(seed).uniform(-1, 1, (6, 6))
    return (root @ root.T + 0.5 * np.eye(6)).round(6)


def applied(mechanism, q, v, t=0.0, u=(), p=(), formulation="kane"):
    """The generalized forces of the forces of a mechanism."""
    bare = Mechanism("bare", bodies=mechanism.bodies, joints=mechanism.joints)
    with_forces = np.asarray(derive(mechanism, formulation).descriptor(t, q, v, list(u), list(p))[1]).ravel()
    return with_forces - np.asarray(derive(bare, formulation).descriptor(t, q, v, [], [])[1]).ravel()


# Added mass


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


def heaving(*forces, mass=4.0, start=0.0, start_rate=0.0, **more):
    return Mechanism(
        "heaving",
        bodies=[Body("hull", mass=mass)],
        joints=[Joint("sea", "prismatic", "world", "hull", axis=(0, 0, 1), start=start, start_rate=start_rate)],
        forces=forces,
        **more,
    )


def in_heave(value):
    return np.diag([0, 0, value, 0, 0, 0]).tolist()


def test_quadratic_damping_slows_a_body_as_known():
    mass, q, speed, transition = 4.0, 3.0, 2.0, 0.01
    history = run(heaving(ForceElement("body-damping", body="hull", quadratic=(0, 0, q, 0, 0, 0)), start_rate=speed), 3.0, 0.01)
    exact = speed / (1 + q * speed * history.time / mass)
    # The slowest speed is 36 times the transition: the smoothing is lost in rounding. The steepest rate is 2 q v / m at first.
    assert exact[-1] > 30 * transition
    assert np.abs(history["sea.displacement.rate"] - exact).max() < speed * rk4_error(2 * q * speed / mass, 3.0, 0.01)


# Waves

UNIT = (0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("frequency", [0.6, 1.4, 3.0], ids=["long", "resonant", "short"])
def test_a_floating_body_heaves_in_a_regular_wave_by_the_closed_form(frequency, formulation):
    mass, added, damping, stiffness, transfer, amplitude, phase, lead = 4.0, 3.0, 1.2, 14.0, 25.0, 0.3, 0.7, -0.4
    wave = amplitude * np.exp(1j * phase)
    force = transfer * np.exp(1j * lead) * wave
    Z = force / (stiffness - frequency**2 * (mass + added) + 1j * frequency * damping)
    mechanism = heaving(
        ForceElement("added-mass", body="hull", matrix=in_heave(added)),
        ForceElement("body-damping", body="hull", matrix=in_heave(damping)),
        ForceElement("hydrostatic", body="hull", matrix=in_heave(stiffness)),
        ForceElement(
            "wave-excitation",
            body="hull",
            components=[(amplitude, frequency, phase)],
            transfer=[(0, 0, transfer, 0, 0, 0)],
            transfer_phase=[(0, 0, lead, 0, 0, 0)],
        ),
        mass=mass,
        start=Z.real,
        start_rate=(1j * frequency * Z).real,
    )
    # Begun in the steady state, the motion is it from the first step on: nothing has to decay.
    history = run(mechanism, 12.0, 0.02, formulation=formulation)
    exact = (Z * np.exp(1j * frequency * history.time)).real
    assert np.abs(history["sea.displacement"] - exact).max() < abs(Z) * rk4_error(3.0, 12.0, 0.02)


def test_all_six_motions_in_a_small_wave_are_those_of_the_linear_theory():
    mass, com, inertia = shape(0)
    A, B, C = full_matrix(1), full_matrix(2), 5 * full_matrix(5)
    frequency, amplitude = 1.3, 1e-4
    lead, magnitude = np.array([0.1, 0.5, -0.7, 1.2, 2.0, -0.3]), np.array([3.0, -2.0, 5.0, 1.0, 4.0, -6.0])
    X = amplitude * np.linalg.solve(
        C - frequency**2 * (rigid(mass, com, inertia) + A) + 1j * frequency * B, magnitude * np.exp(1j * lead)
    )
    place, speed = X.real, (1j * frequency * X).real
    mechanism = Mechanism(
        "floating",
        bodies=[body("hull", (mass, com, inertia))],
        joints=[
            Joint("sea", "free", "world", "hull", start=(*place[:3], 1, *place[3:] / 2), start_rate=(*speed[3:], *speed[:3]))
        ],
        forces=[
            ForceElement("added-mass", body="hull", matrix=A.tolist()),
            ForceElement("body-damping", body="hull", matrix=B.tolist()),
            ForceElement("hydrostatic", body="hull", matrix=C.tolist()),
            ForceElement(
                "wave-excitation",
                body="hull",
                components=[(amplitude, frequency, 0)],
                transfer=[magnitude.tolist()],
                transfer_phase=[lead.tolist()],
            ),
        ],
    )
    history = run(mechanism, 10.0, 0.01)
    found = history.select(["sea.x", "sea.y", "sea.z", "sea.qx", "sea.qy", "sea.qz"]) * np.array([1, 1, 1, 2, 2, 2])
    exact = np.real(np.outer(np.exp(1j * frequency * history.time), X))
    # Terms of second order, motion times motion, are left out: some ten of them. rk4 adds less than 1e-6 of the motion.
    size = np.abs(X).max()
    assert np.abs(found - exact).max() < 10 * size**2 + 1e-6 * size


def test_a_wave_wrench_keeps_its_horizontal_axes_and_its_point():
    transfer, lead = np.array([3.0, -2.0, 5.0, 1.0, 4.0, -6.0]), np.array([0.1, 0.5, -0.7, 1.2, 2.0, -0.3])
    waves, at, heading = [(0.4, 0.9, 0.3), (0.2, 1.7, -1.1)], np.array([0.5, -0.2, 0.1]), 0.8
    rows, leads = [transfer, 2 * transfer], [lead, lead + 0.2]
    force = ForceElement(
        "wave-excitation",
        body="hull",
        components=waves,
        transfer=np.array(rows).tolist(),
        transfer_phase=np.array(leads).tolist(),
        at=at.tolist(),
        heading=heading,
        ramp=4.0,
    )
    mechanism = vessel(shape(0), shape(1), force)
    turn = np.array([[math.cos(heading), -math.sin(heading), 0], [math.sin(heading), math.cos(heading), 0], [0, 0, 1]])
    for t, grown in ((-1.0, 0.0), (0.0, 0.0), (1.0, 0.103515625), (2.0, 0.5), (4.0, 1.0), (7.0, 1.0)):
        q, v = next(states())
        wrench = sum(
            a * row * np.cos(w * t + phase + ahead) for (a, w, phase), row, ahead in zip(waves, rows, leads, strict=True)
        )
        force_B, moment_B = rotation(q).T @ turn @ wrench[:3], rotation(q).T @ turn @ wrench[3:]
        exact = grown * np.concatenate([moment_B + np.cross(at, force_B), force_B, [0.0]])
        assert applied(mechanism, q, v, t) == pytest.approx(exact, abs=1e-12)


def test_one_row_serves_all_components_and_formulas_may_use_inputs_and_parameters():
    sea = [("scale * 0.5", "w", "shift"), (0.2, 1.7, "2 * shift")]
    force = ForceElement("wave-excitation", body="hull", components=sea, transfer=[UNIT])
    more = {
        "inputs": [Input("shift", "rad")],
        "parameters": [Parameter("scale", 1.0, "1"), Parameter("w", 1.0, "rad/s")],
    }
    exact = 1.4 * 0.5 * math.cos(1.1 * 2.0 + 0.3) + 0.2 * math.cos(1.7 * 2.0 + 0.6)
    assert applied(heaving(force, **more), [0.0], [0.0], 2.0, [0.3], [1.4, 1.1]) == pytest.approx([exact], abs=1e-14)


def test_fifty_waves_cost_a_sine_and_a_cosine_each():
    force = ForceElement("wave-excitation", body="hull", components=jonswap(2.0, 8.0, components=50), transfer=[UNIT] * 50)
    equations = derive(heaving(force))
    symbols = [equations.t, equations.q, equations.v, equations.u, equations.p]
    function = ca.Function("f", symbols, [equations.f])
    operations = [function.instruction_id(i) for i in range(function.n_instructions())]
    assert sum(operation in (ca.OP_SIN, ca.OP_COS) for operation in operations) <= 100
    assert len(operations) < 600


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


def test_the_sea_of_the_documentation_can_be_put_on_a_body(root):
    names = {}
    exec((root / "docs" / "marine.md").read_text().split("```python\n")[1].split("```")[0], names)
    equations = derive(
        Mechanism(
            "barge", [Body("barge", mass=1.0)], [Joint("sea", "prismatic", "world", "barge", axis=(0, 0, 1))], [names["force"]]
        )
    )
    heave = float(equations.descriptor(30.0, [0], [0], [], [])[1])
    assert heave == pytest.approx(3.5e5 * sum(a * math.cos(w * 30.0 + phase) for a, w, phase in names["sea"]), rel=1e-12)
