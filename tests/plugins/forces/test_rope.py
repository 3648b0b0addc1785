"""The elastic rope: statics, virtual work over sheaves and off winches, slack, damping that never pushes, a fall into it."""

import math

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kingpost import (
    Body,
    ForceElement,
    Joint,
    KingpostError,
    Mechanism,
    MechanismError,
    PluginSet,
    SolverError,
    read_model,
    simulate,
)
from kingpost.multibody.assembly import assemble, make_forces
from kingpost.multibody.tree import TreeKinematics
from tests.plugins.forces.deriving import BUILT_IN, FORMULATIONS, applied, derive, potential

G = 9.81


def hanging(*forces, mass=50.0, **start):
    """A mass on a vertical rail below a hook at the origin."""
    return Mechanism(
        "hanging",
        bodies=[Body("load", mass=mass)],
        joints=[Joint("rail", "prismatic", "world", "load", axis=(0, 0, 1), **start)],
        forces=forces,
    )


def sling(**options):
    return ForceElement("rope", **{"body": "load", "other": "world", **options})


# Statics


@pytest.mark.parametrize(
    ("options", "stretch"),
    [({"stiffness": 2e4}, 50 * G / 2e4), ({"EA": 1e5}, 50 * G * 4.0 / 1e5)],
    ids=["stiffness", "EA"],
)
def test_a_load_stretches_the_rope_by_its_weight(options, stretch):
    mechanism = hanging(ForceElement("gravity"), sling(length=4.0, **options))
    assert applied(mechanism, [-(4.0 + stretch)], [0.0]) == pytest.approx([0.0], abs=1e-9)
    assert stretch > 0.005  # beyond the rounded corner


def test_a_slack_rope_does_nothing_at_all():
    mechanism = hanging(sling(length=4.0, stiffness=2e4, damping=1e3))
    for place, speed in ((-1.0, 5.0), (-3.99, -5.0), (-3.9949, -5.0)):
        assert applied(mechanism, [place], [speed]).tolist() == [0.0]
        assert potential(mechanism, [place]) == 0.0


# Virtual work


def crane(*forces):
    """A hull with a boom and a winch, and a load that flies beside it."""
    inertia = (0.5, 0.6, 0.7)
    return Mechanism(
        "crane",
        bodies=[Body(name, mass=3.0, inertia=inertia) for name in ("hull", "boom", "drum", "load")],
        joints=[
            Joint("sea", "free", "world", "hull"),
            Joint("luff", "revolute", "hull", "boom", axis=(0, 1, 0), position=(0.3, 0, 1)),
            Joint("winch", "revolute", "hull", "drum", axis=(0, 1, 0), position=(-0.5, 0.1, 0.4)),
            Joint("flight", "free", "world", "load"),
        ],
        forces=forces,
    )


def over_the_boom(**options):
    return ForceElement(
        "rope",
        body="load",
        at=(0.1, 0.2, 0.3),
        via=[(2.0, 0.1, 0.2), (0.5, 0, 0.3)],
        via_body="boom",
        other="hull",
        other_at=(-0.5, 0.1, 0.4),
        drum="winch.angle",
        radius=0.4,
        **options,
    )


def states(count=3):
    rng = np.random.default_rng(2)
    for _ in range(count):
        q = rng.uniform(-1, 1, 16)
        for first in (3, 12):
            q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
        q[7] *= 0.5  # the drum pays out 0.4 m at most
        yield q, rng.uniform(-2, 2, 14)


LAWS = {"stiffness": {"stiffness": 80.0}, "EA": {"EA": 150.0}, "rounded": {"stiffness": 80.0, "transition": 9.0}}


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("law", LAWS)
def test_a_rope_over_sheaves_and_off_a_winch_is_the_slope_of_its_potential(law, formulation):
    mechanism = crane(over_the_boom(length=1.5, **LAWS[law]))
    equations = derive(mechanism, formulation)
    near = 1e-5
    for q, _ in states():
        rates = [np.asarray(equations.kinematics(q, unit, [])).ravel() for unit in np.eye(equations.nv)]
        slopes = [
            (potential(mechanism, q + near * r, formulation) - potential(mechanism, q - near * r, formulation)) / (2 * near)
            for r in rates
        ]
        assert max(map(abs, slopes)) > 10
        # Differences of up to 1e3 J: 1e-10 of third derivatives, and rounding of 1e-13 over 2e-5.
        assert applied(mechanism, q, np.zeros(14), formulation=formulation) == pytest.approx(np.negative(slopes), abs=1e-5)


@pytest.mark.parametrize("law", ["stiffness", "EA"])
def test_the_winch_feels_the_tension_times_its_radius_in_the_sense_of_paying_out(law):
    mechanism = crane(over_the_boom(length=1.5, **LAWS[law]))
    kinematics = TreeKinematics(assemble(mechanism, BUILT_IN))
    rope = make_forces(mechanism, BUILT_IN)["rope"].state(kinematics)
    measure = ca.Function("measure", [kinematics.q, kinematics.v], [rope.tension, rope.length, rope.unstretched])
    winch = [speed.name for speed in mechanism.speeds].index("winch.angle.rate")
    for q, _ in states():
        tension, length, unstretched = (float(x) for x in measure(q, np.zeros(14)))
        drum = q[[coordinate.name for coordinate in mechanism.coordinates].index("winch.angle")]
        assert unstretched == pytest.approx(1.5 + 0.4 * drum, rel=1e-14)
        stretch = length - unstretched
        exact, more = (
            (80.0 * stretch, 0.0)
            if law == "stiffness"
            else (150 * stretch / unstretched, 150 / 2 * (stretch / unstretched) ** 2)
        )
        # What the rounded corner leaves in the energy, EA (0.01 m)^2 / 40 over the length, shows in the second term.
        assert tension == pytest.approx(exact, rel=1e-12)
        assert applied(mechanism, q, np.zeros(14))[winch] == pytest.approx(0.4 * (exact + more), rel=1e-4 if more else 1e-12)


# Damping


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_damping_acts_on_the_rate_of_the_stretch_and_never_pushes(formulation):
    k, d, tau, radius, pay_out = 20.0, 10.0, 0.02, 0.5, 0.3
    mechanism = Mechanism(
        "winch",
        bodies=[Body("load", mass=2.0), Body("drum", mass=1.0, inertia=(0.1, 0.1, 0.1))],
        joints=[
            Joint("rail", "prismatic", "world", "load", axis=(1, 0, 0)),
            Joint("winch", "revolute", "world", "drum", axis=(0, 1, 0)),
        ],
        forces=[
            sling(length=f"1 + {pay_out} * t", stiffness=k, damping=d, damping_time=tau, drum="winch.angle", radius=radius)
        ],
    )
    rng = np.random.default_rng(4)
    pushed = 0
    for place, angle, speed, turn, t in rng.uniform((1.5, -0.5, -6, -6, 0), (3.0, 0.5, 6, 6, 1), (30, 5)):
        stretch, rate = place - 1 - pay_out * t - radius * angle, speed - pay_out - radius * turn
        if stretch < 0.005:
            continue
        elastic, drag = k * stretch, (d + tau * k) * rate
        tension = elastic + drag if drag >= -elastic / 2 else -(elastic**2) / (4 * drag)
        pushed += elastic + drag < 0
        found = applied(mechanism, [place, angle], [speed, turn], t, formulation=formulation)
        assert found == pytest.approx([-tension, radius * tension], rel=1e-11)
        assert tension > 0
    assert pushed >= 3  # a plain damper would push there


@pytest.mark.parametrize("integrator", ["rk4", "midpoint"])
def test_a_load_that_falls_into_its_rope_stops_where_the_energy_says(integrator):
    mass, k, fall, corner = 50.0, 2e4, 0.5, 0.05
    rope = sling(length=4.0, stiffness=k, transition=corner)
    history = simulate(
        hanging(ForceElement("gravity"), rope, mass=mass, start=-(4.0 - fall)),
        1.5,
        step=1e-3,
        integrator=integrator,
        backend="vm",
        plugins=BUILT_IN,
    )
    # m g (fall + s) = k s^2 / 2 + k corner^2 / 40 at the lowest point.
    energy = mass * G * fall - k * corner**2 / 40
    lowest = (mass * G + math.sqrt((mass * G) ** 2 + 2 * k * energy)) / k
    place, step = history["rail.displacement"], 1e-3
    # It falls for 0.3 s, flies up as long, and falls again; samples come every 10 ms.
    assert 0.01 * (place > -4.0 + corner).sum() > 0.7
    # The samples miss the turning point by half an output step of 10 ms at most; the deceleration there is k s / m - g.
    missed = (k * lowest / mass - G) * 0.005**2 / 2
    assert -4.0 - lowest - 1e-5 < place.min() < -4.0 - lowest + missed + 1e-5
    # With w = 20 /s, midpoint is off by (w h)^2 / 24 of the taut part's energy in between, rk4 by far less.
    tolerance = 2 * (20 * step) ** 2 / 24 * k * lowest**2 / 2
    assert np.ptp(history["energy.total"]) < tolerance


def test_a_damped_rope_only_takes_energy_away_and_comes_to_rest_at_its_static_length():
    rope = sling(length=4.0, EA=8e4, damping_time=0.02)
    history = simulate(hanging(ForceElement("gravity"), rope, start=-3.8), 6.0, step=1e-3, backend="vm", plugins=BUILT_IN)
    assert np.diff(history["energy.total"]).max() < 1e-8 * abs(history["energy.total"][0])
    # w = 20 /s and a damping time of 0.02 s: a fifth of critical damping once it is taut, exp(-4 * 5) after the bounces.
    assert history["rail.displacement"][-1] == pytest.approx(-4.0 * (1 + 50 * G / 8e4), abs=1e-6)


def test_a_rope_that_is_wound_up_to_its_end_stops_the_run():
    rope = sling(length="0.5 - t", EA=1e3)
    for backend in ("vm", "c"):
        with pytest.raises(SolverError) as error:
            simulate(hanging(rope), 1.0, step=1e-2, backend=backend, plugins=BUILT_IN)
        assert error.value.history.time[-1] == pytest.approx(0.49, abs=0.011)


# What is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 1.0}, "give either EA (N, per unstretched length) or stiffness (N/m, of the whole rope), there is neither"),
        ({"length": 1.0, "EA": 1.0, "stiffness": 2.0}, "or stiffness (N/m, of the whole rope), not both"),
        ({"length": 0.0, "EA": 1.0}, "rope on 'load': length is 0; it must be positive"),
        ({"length": 1.0, "EA": -5.0}, "EA is -5; it must be positive"),
        ({"length": 1.0, "EA": 1.0, "damping": -1}, "damping is -1; it must not be negative"),
        ({"length": 1.0, "EA": 1.0, "transition": 0}, "transition is 0; it must be positive"),
        ({"length": 1.0, "EA": 1.0, "radius": 0.3}, "there is a radius but no drum"),
        (
            {"length": 1.0, "EA": 1.0, "drum": "rail.displacment", "radius": 0.3},
            "drum: 'rail.displacment' is not a joint coordinate; did you mean 'rail.displacement'? Known: rail.displacement.",
        ),
        ({"length": 1.0, "EA": 1.0, "via": [(0, 0, 1)], "via_body": "bom"}, "via_body: 'bom' is not a body, nor the world"),
    ],
)
def test_a_rope_that_cannot_be_is_refused(options, message):
    with pytest.raises(MechanismError) as error:
        derive(hanging(sling(**options)))
    assert isinstance(error.value, KingpostError)
    assert message in str(error.value)


# Everything together


def test_the_machine_of_the_documentation_runs_and_its_load_hangs_on_the_rope(root, tmp_path):
    text = (root / "docs" / "marine.md").read_text()
    path = tmp_path / "barge.toml"
    path.write_text(text.split("```toml\n")[1].split("```")[0])
    history = simulate(read_model(path, BUILT_IN), 2.0, step=0.002, backend="vm", plugins=BUILT_IN)

    def point(joint, at):
        x, y, z, *e = (history[f"{joint}.{name}"] for name in ("x", "y", "z", "qx", "qy", "qz", "qw"))
        return Rotation.from_quat(np.transpose(e)).apply(at) + np.transpose([x, y, z])

    length = np.linalg.norm(point("sea", (0, 4, 6)) - point("swing", (0, 0, 0.5)), axis=1)
    stretch = 500 * G * 3.45 / 2e6
    assert length[0] == pytest.approx(3.45 + stretch, abs=1e-4)
    # Barge and tip begin to heel: the load bounces on its rope with less than its weight, so that this stays taut.
    assert (length > 3.45).all()
    assert np.abs(length - 3.45).max() < 2 * stretch
    assert np.ptp(history["sea.qx"]) > 0.003


@pytest.mark.parametrize("formulation", ["recursive", "directors", "nullspace", "quaternions"])
def test_every_formulation_shows_tension_and_length(formulation):
    hanging = Mechanism(
        "hanging",
        bodies=(Body("load", mass=2.0, inertia=(1, 1, 1)),),
        joints=(Joint("flight", "free", "world", "load", start=(0, 0, -1.2, 1, 0, 0, 0)),),
        forces=(ForceElement("gravity"), ForceElement("rope", body="load", other="world", length=1.0, stiffness=100.0)),
    )
    shown = [
        simulate(
            hanging, 0.1, step=0.01, formulation=name, backend="vm", output_step=0.05, plugins=PluginSet(entry_points=False)
        )
        for name in ("kane", formulation)
    ]
    for channel in ("rope.tension", "rope.length"):
        np.testing.assert_allclose(shown[1][channel], shown[0][channel], rtol=1e-7)
    assert shown[0]["rope.tension"][0] == pytest.approx(100.0 * 0.2, rel=1e-2)
