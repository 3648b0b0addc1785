"""Contact of points with a plane: statics, virtual work, equal and opposite, no pull, friction, and energy that never grows."""

import itertools
import math

import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, Mechanism, MechanismError, simulate
from tests.plugins.forces.deriving import BUILT_IN, FORMULATIONS, applied, derive, potential

G = 9.81
#: The corners of a cube with edges of 1 m.
CORNERS = tuple(itertools.product((-0.5, 0.5), repeat=3))


def contact(**options):
    return ForceElement("plane-contact", **{"body": "box", "points": CORNERS, "stiffness": 5e3, **options})


def box(*forces, **start):
    return Mechanism(
        "box",
        bodies=[Body("box", mass=20.0, inertia=(3.0, 3.0, 3.0))],
        joints=[Joint("flight", "free", "world", "box", **start)],
        forces=forces,
    )


def box_and_deck(*forces, **start):
    return Mechanism(
        "box-and-deck",
        bodies=[Body("box", mass=20.0, inertia=(3.0, 3.5, 4.0)), Body("deck", mass=60.0, inertia=(20.0, 30.0, 40.0))],
        joints=[
            Joint("flight", "free", "world", "box", **start),
            Joint("sea", "free", "world", "deck"),
        ],
        forces=forces,
    )


def rotation(e):
    w, (x, y, z) = e[0], e[1:]
    n = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * (w * n + n @ n)


def states(count=4):
    """Boxes that stick some of their corners through a tilted deck, all in motion."""
    rng = np.random.default_rng(3)
    for _ in range(count):
        q = np.concatenate([rng.uniform(-0.3, 0.3, 3), rng.uniform(-1, 1, 4), rng.uniform(-0.3, 0.3, 3), rng.uniform(-1, 1, 4)])
        for first in (3, 10):
            q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
        yield q, rng.uniform(-2, 2, 12)


TILTED = {"other": "deck", "position": (0.1, 0.2, -0.1), "normal": (0.3, -0.2, 2.0)}


def test_a_box_sinks_in_by_its_weight_over_the_stiffness_of_its_corners():
    depth = 20.0 * G / (4 * 5e3)
    mechanism = box(ForceElement("gravity"), contact(position=(0, 0, 2.0)))
    assert depth > 0.0005  # beyond the rounded corner
    assert applied(mechanism, [0.3, -4.0, 2.5 - depth, 1, 0, 0, 0], np.zeros(6)) == pytest.approx([0.0] * 6, abs=1e-10)
    # The energy of the springs, and what the rounded corner of 1 mm leaves in it.
    springs = 4 * 5e3 * (depth**2 / 2 + 0.001**2 / 40)
    assert potential(box(contact()), [0, 0, 0.5 - depth, 1, 0, 0, 0]) == pytest.approx(springs, rel=1e-12)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_elastic_part_is_the_slope_of_its_potential(formulation):
    mechanism = box_and_deck(contact(**TILTED, transition=0.1))
    equations = derive(mechanism, formulation)
    near = 1e-5
    for q, _ in states():
        rates = [np.asarray(equations.kinematics(q, unit, [])).ravel() for unit in np.eye(12)]
        slopes = [
            (potential(mechanism, q + near * r, formulation) - potential(mechanism, q - near * r, formulation)) / (2 * near)
            for r in rates
        ]
        assert max(map(abs, slopes)) > 100
        # Third derivatives of up to 6 k / (0.1 m) times 1e-10 / 6, from each of eight corners.
        assert applied(mechanism, q, np.zeros(12), formulation=formulation) == pytest.approx(np.negative(slopes), abs=1e-4)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_box_and_deck_push_each_other_equally_and_lose_energy(formulation):
    rough = box_and_deck(contact(**TILTED, damping=300.0, friction=0.4))
    smooth = box_and_deck(contact(**TILTED))
    for q, v in states():
        forces = applied(rough, q, v, formulation=formulation)
        total = np.zeros(6)
        for first_q, first_v in ((0, 0), (7, 6)):
            R = rotation(q[first_q + 3 : first_q + 7])
            moment, force = R @ forces[first_v : first_v + 3], R @ forces[first_v + 3 : first_v + 6]
            total += np.concatenate([moment + np.cross(q[first_q : first_q + 3], force), force])
        assert np.abs(total).max() < 1e-12 * np.abs(forces).max()
        lost = (forces - applied(smooth, q, v, formulation=formulation)) @ v
        assert lost < -10


def test_what_leaves_the_plane_is_not_held_back():
    mechanism = box(contact(points=[(0, 0, 0)], stiffness=1e3, damping=500.0, friction=0.5))
    for depth in (0.001, 0.01, 0.2):
        for speed in (0.5, 4.0, 30.0):
            drag = 500 * speed
            pressed = 1e3 * depth - drag if drag <= 500 * depth else (1e3 * depth) ** 2 / (4 * drag)
            force = applied(mechanism, [0, 0, -depth, 1, 0, 0, 0], [0, 0, 0, 0, 0, speed])
            assert force[5] == pytest.approx(pressed, rel=1e-9)
            assert force[5] > 0
    for height in (0.0005, 0.3):
        assert applied(mechanism, [0, 0, height, 1, 0, 0, 0], [1.0, 2, 3, 4, 5, -6]).tolist() == [0.0] * 6


@pytest.mark.parametrize("speed", [(3.0, 4.0), (0.01, 0.0), (0.0, -0.003)])
def test_friction_is_coulombs_above_the_slip_speed_and_viscous_below(speed):
    mu, slip, depth = 0.3, 0.01, 0.05
    mechanism = box(contact(points=[(0, 0, 0)], friction=mu, slip=slip))
    force = applied(mechanism, [0, 0, -depth, 1, 0, 0, 0], [0, 0, 0, *speed, 0.0])
    size = math.hypot(*speed)
    drag = -mu * 5e3 * depth * np.array(speed) / math.hypot(size, slip)
    assert force == pytest.approx([0, 0, 0, *drag, 5e3 * depth], rel=1e-12)
    if size > 1:
        assert np.linalg.norm(drag) == pytest.approx(mu * 5e3 * depth, rel=slip**2 / size**2)


def test_a_sliding_box_is_braked_by_mu_g():
    mu, depth, speed = 0.2, 20.0 * G / (4 * 5e3), 3.0
    # Without turning, on a rail along x and one along z.
    sliding = Mechanism(
        "sliding",
        bodies=[Body("sledge", mass=1e-9), Body("box", mass=20.0)],
        joints=[
            Joint("along", "prismatic", "world", "sledge", axis=(1, 0, 0), start_rate=speed),
            Joint("up", "prismatic", "sledge", "box", axis=(0, 0, 1), start=0.5 - depth),
        ],
        forces=[ForceElement("gravity"), contact(friction=mu)],
    )
    history = simulate(sliding, 1.0, step=0.005, backend="vm", plugins=BUILT_IN)
    exact = speed - mu * G * history.time
    assert exact[-1] > 1.0
    # The slip speed of 1 cm/s takes (0.01 / v)^2 / 2 of the friction, at most 5e-5, away.
    assert np.abs(history["along.displacement.rate"] - exact).max() < 5e-5 * mu * G * 1.0 + 1e-9


def test_a_box_that_falls_on_its_corner_keeps_its_energy_without_damping():
    turn = np.array([1.0, 0.3, 0.2, 0.1]) / np.linalg.norm([1.0, 0.3, 0.2, 0.1])
    forces = (ForceElement("gravity"), contact(transition=0.02))
    history = simulate(
        box(*forces, start=(0, 0, 1.2, *turn)), 1.5, integrator="dop853:rtol=1e-9", backend="vm", plugins=BUILT_IN
    )
    elastic = history["energy.potential"] - 20.0 * G * history["flight.z"]
    assert elastic.max() > 20  # it did touch
    # Some hundred steps, each with an error of 1e-9 of the energy, which is of second degree.
    assert np.ptp(history["energy.total"]) < 500 * 2 * 1e-9 * history["energy.total"][0]


@pytest.mark.parametrize("integrator", ["rk4", pytest.param("midpoint", marks=pytest.mark.slow)])
def test_a_box_that_falls_on_a_floating_deck_only_loses_energy_and_comes_to_rest(integrator):
    turn = np.array([1.0, 0.2, 0.1, 0.05]) / np.linalg.norm([1.0, 0.2, 0.1, 0.05])
    stiffness = np.diag([500.0, 500.0, 8e3, 4e3, 4e3, 4e3])
    forces = (
        ForceElement("gravity"),
        contact(other="deck", damping=200.0, friction=0.5, transition=0.02, slip=0.05),
        ForceElement("hydrostatic", body="deck", matrix=stiffness.tolist(), position=(0, 0, 80.0 * G / 8e3)),
        ForceElement("body-damping", body="deck", matrix=(stiffness / 10).tolist()),
    )
    mechanism = box_and_deck(*forces, start=(0.1, 0, 1.3, *turn), start_rate=(0, 0, 0, 0.5, 0, 0))
    history = simulate(mechanism, 4.0, step=0.004, integrator=integrator, backend="vm", plugins=BUILT_IN)
    energy = history["energy.total"]
    # The stiffest motion of the box has w^2 = 8 k / m, w h = 0.18: a step is wrong by (w h)^3 / 12 of the energy at most.
    assert np.diff(energy).max() < 0.18**3 / 12 * np.ptp(energy)
    assert energy[-1] < energy[0] - 50
    # Eighty kilograms in all float at height zero; the box stands upon the deck, which heels by some 15 mrad, its corners a
    # centimetre in on average. The rest of the motion has decayed to a few millimetres per second.
    end = {name: np.array([history[f"{name}.{axis}"][-1] for axis in ("x", "y", "z")]) for name in ("flight", "sea")}
    normal = rotation([history[f"sea.{part}"][-1] for part in ("qw", "qx", "qy", "qz")])[:, 2]
    assert normal @ (end["flight"] - end["sea"]) == pytest.approx(0.5 - 20 * G / (4 * 5e3), abs=5e-4)
    assert abs(end["sea"][2]) < 2e-3


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_deck_ends_at_its_edges(formulation):
    """Above the rectangle as without edges, beside it nothing; in between the loads are the slope of the potential."""
    plane = {"position": (0.2, 0.1, 0), "along": (1, 1, 0), "other": "world"}
    bounded = box(contact(extent=(2.0, 1.5), edge=0.1, **plane))
    endless = box(contact(**plane))
    across = np.array([-1, 1, 0]) / math.sqrt(2)
    for away, share in ((0.0, 1.0), (4.0, 0.0)):
        q = np.array([0.2, 0.1, 0.4, 1, 0, 0, 0], dtype=float)
        q[:3] += away * across
        expected = share * applied(endless, q, np.zeros(6), formulation=formulation)
        np.testing.assert_allclose(applied(bounded, q, np.zeros(6), formulation=formulation), expected, atol=1e-6)
    q = np.array([0.2, 0.1, 0.4, 1, 0, 0, 0], dtype=float)
    q[:3] += 0.8 * across
    step, force = 1e-5, applied(bounded, q, np.zeros(6), formulation=formulation)[3:]
    for i in range(3):
        ends = [potential(bounded, q + sign * step * np.eye(7)[i], formulation) for sign in (-1, 1)]
        assert force[i] == pytest.approx(-(ends[1] - ends[0]) / (2 * step), rel=1e-5, abs=1e-3)
    assert np.abs(force[:2]).max() > 10  # the edge pushes it off


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": []}, "plane-contact of 'box': there are no points"),
        ({"other": "box"}, "the plane is on the same body"),
        ({"normal": (0, 0, 0)}, "the normal is (0, 0, 0), which has no direction"),
        ({"stiffness": 0}, "stiffness is 0; it must be positive"),
        ({"slip": 0}, "slip is 0; it must be positive"),
        ({"transition": -1}, "transition is -1; it must be positive"),
        ({"friction": -0.1}, "friction is -0.1; it must not be negative"),
        ({"other": "dek"}, "other: 'dek' is not a body, nor the world; did you mean 'deck'?"),
    ],
)
def test_a_contact_that_cannot_be_is_refused(options, message):
    with pytest.raises(MechanismError) as error:
        derive(box_and_deck(contact(**options)))
    assert message in str(error.value)
