"""Friction by a joint's own load against closed forms, independent solutions and its energy."""

import fmpy
import numpy as np
import pytest

from kingpost import (
    Body,
    Closure,
    ForceElement,
    Input,
    Joint,
    KingpostError,
    Mechanism,
    MechanismError,
    PluginSet,
    SolverError,
    export,
    linearize,
)
from tests.plugins.forces.bearings import ROUNDING, G, double_pendulum, pendulum, posed, seen
from tests.plugins.forces.deriving import BUILT_IN, FORMULATIONS, run


def friction_of_pendulum(angle, rate, c, mass=2.0, length=0.5, inertia=0.1):
    """The friction torque of the pendulum's journal with c = mu r tanh(...), by the root of a quadratic.

    Along the rod the pin carries m (L w^2 + g cos a), across it m (L alpha + g sin a) with alpha = (T - m g L sin a) / J: as
    much as a + b T. T = -c N gives (1 - c^2 b^2) N^2 + 2 a b c N - (a^2 + along^2) = 0, whose positive root is N as long as
    c b < 1.
    """
    J = inertia + mass * length**2
    along = mass * (length * rate**2 + G * np.cos(angle))
    a = mass * G * np.sin(angle) * (1 - mass * length**2 / J)
    b = mass * length / J
    A, B, C = 1 - (c * b) ** 2, a * b * c, -(a**2 + along**2)
    N = (-B + np.sqrt(B**2 - A * C)) / A
    return -c * N, N, abs(c) * b, J


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_pendulum_on_a_journal_has_the_friction_of_its_quadratic(formulation):
    problem = posed(pendulum(), formulation, loads=("pin",))
    rng = np.random.default_rng(1)
    for angle, rate in rng.uniform(-3, 3, (20, 2)):
        found, (vdot,) = seen(problem, np.array([angle, rate]))
        effort, N, coupling, J = friction_of_pendulum(angle, rate, 0.3 * 0.2 * np.tanh(rate / 0.01))
        assert vdot == pytest.approx((effort - 2.0 * G * 0.5 * np.sin(angle)) / J, rel=ROUNDING, abs=ROUNDING)
        assert found["journal.load"] == pytest.approx(N, rel=ROUNDING)
        assert found["journal.coupling"] == pytest.approx(coupling, rel=ROUNDING)
        assert found["journal.residual"] < ROUNDING * abs(effort)
        # It is the friction part of the load, and the parts add up.
        assert found["pin.friction.My"] == pytest.approx(effort, rel=ROUNDING)
        assert found["pin.My"] == pytest.approx(effort, rel=ROUNDING)
        assert found["loads.residual.moment"] < ROUNDING * N


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("method", ["recursive", "auxiliary-speeds"])
def test_loads_add_up_by_every_method(formulation, method):
    problem = posed(double_pendulum(), formulation, loads=("all",), load_method=method)
    found, _ = seen(problem)
    for joint in ("upper", "lower"):
        parts = [found[f"{joint}.{part}.My"] for part in ("constraint", "friction")]
        assert found[f"{joint}.My"] == pytest.approx(sum(parts), rel=ROUNDING)
    assert found["loads.residual.moment"] < 1e-10
    assert found["loads.residual.force"] < 1e-10


def incline(slope, mu, rate, transition=1e-3, **more):
    """A block on rails down a slope; its centre of mass is on the rail."""
    down = (np.cos(slope), 0, -np.sin(slope))
    return Mechanism(
        "incline",
        bodies=[Body("block", mass=3.0, inertia=(0.1, 0.1, 0.1))],
        joints=[Joint("rail", "prismatic", "world", "block", axis=down, start_rate=rate)],
        forces=[
            ForceElement("gravity"),
            ForceElement("bearing-friction", name="rub", joint="rail", mu=mu, transition=transition),
        ],
        **more,
    )


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_block_slides_down_an_incline_as_coulomb_says(formulation):
    slope, mu, t = 0.6, 0.25, 1.5
    history = run(incline(slope, mu, 1.0), t, 0.01, formulation=formulation)
    a = G * (np.sin(slope) - mu * np.cos(slope))
    # tanh(1000) is 1, so the motion is a parabola, which rk4 follows exactly.
    assert history["rail.displacement"][-1] == pytest.approx(t + a * t**2 / 2, rel=ROUNDING * 10)
    assert history["rub.load"] == pytest.approx(3.0 * G * np.cos(slope), rel=ROUNDING)


def test_a_block_that_coulomb_would_hold_creeps_at_the_speed_of_the_tanh():
    # At rest: m g sin = mu m g cos tanh(v / transition).
    slope, mu, transition = 0.2, 0.5, 1e-2
    history = run(incline(slope, mu, 0.5, transition), 2.0, 1e-3)
    assert history["rail.displacement.rate"][-1] == pytest.approx(transition * np.arctanh(np.tan(slope) / mu), rel=1e-9)


def test_a_wheel_on_a_collar_slows_down_by_its_weight():
    mu, thrust, mass, inertia, t = 0.1, 0.3, 4.0, 0.8, 1.0
    machine = Mechanism(
        "wheel",
        bodies=[Body("wheel", mass=mass, inertia=(inertia, inertia, inertia))],
        joints=[Joint("spindle", "revolute", "world", "wheel", axis=(0, 0, 1), start_rate=6.0)],
        forces=[
            ForceElement("gravity"),
            ForceElement("bearing-friction", joint="spindle", mu=mu, radius=0.05, thrust_radius=thrust),
        ],
    )
    history = run(machine, t, 0.01)
    # The journal carries nothing: what its rounded norm leaves is 1e-15 N.
    assert history["spindle.angle.rate"][-1] == pytest.approx(6.0 - mu * thrust * mass * G / inertia * t, rel=1e-10)


def drawer(mu, offset, span, push=20.0):
    """A drawer pushed in the line of its guides, its mass beside them: turning it takes a pair of forces on two pads."""
    return Mechanism(
        "drawer",
        bodies=[Body("drawer", mass=2.0, com=(0, offset, 0), inertia=(0.1, 0.1, 0.1))],
        joints=[Joint("guide", "prismatic", "world", "drawer", axis=(1, 0, 0), start_rate=1.0)],
        inputs=[Input("push", "N", default=push)],
        forces=[
            ForceElement("joint-effort", coordinate="guide.displacement", effort="push"),
            ForceElement("bearing-friction", name="pads", joint="guide", mu=mu, span=span, transition=1e-3),
        ],
    )


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_drawer_has_a_pair_of_forces_on_its_pads(formulation):
    mu, offset, span, push = 0.3, 0.4, 0.5, 20.0
    found, (vdot,) = seen(posed(drawer(mu, offset, span), formulation))
    # Both pads carry (push + e) offset / span, of opposite sign, and e = -mu times their sum.
    grip = 2 * mu * offset / span
    assert found["pads.coupling"] == pytest.approx(grip, rel=ROUNDING)
    assert vdot == pytest.approx(push * (1 - grip / (1 + grip)) / 2.0, rel=ROUNDING)


def test_a_drawer_that_jams_is_refused_with_the_number_that_decides():
    with pytest.raises(SolverError) as refused:
        posed(drawer(0.9, 0.4, 0.5))
    assert "'drawer' cannot start: friction that depends on loads has no unique solution at t = 0 s (pads)" in str(
        refused.value
    )
    assert "cause 1.44 units of friction, and this number must be less than 1" in str(refused.value)
    assert "smaller mu or radius" in str(refused.value)


def painleve(mu, transition=1e-3):
    """Painleve's rod: uniform, on a light shoe that slides on a rail."""
    return Mechanism(
        "painleve",
        bodies=[
            Body("shoe", mass=1e-6, inertia=(1.0, 1.0, 1.0)),
            Body("rod", mass=3.0, com=(-0.5, 0, 0), inertia=(1e-3, 0.25, 0.25)),
        ],
        joints=[
            Joint("rail", "prismatic", "world", "shoe", axis=(1, 0, 0), start_rate=4.0),
            Joint("foot", "revolute", "shoe", "rod", axis=(0, 1, 0), start=0.85, start_rate=0.6),
        ],
        forces=[ForceElement("bearing-friction", name="sole", joint="rail", mu=mu, transition=transition)],
    )


@pytest.mark.parametrize(("integrator", "step"), [("rk4", 1e-3), ("midpoint", 1e-3), ("dop853", None)])
def test_the_rod_of_painleve_stops_at_the_angle_at_which_friction_is_not_unique(integrator, step):
    # The rail's normal force per unit of friction is 3 sin cos / (1 + 3 cos^2), at most 3/4; mu = 1.4 is beyond 4/3.
    def coupling(mu, angle):
        return mu * 3 * np.sin(angle) * np.cos(angle) / (1 + 3 * np.cos(angle) ** 2)

    found, _ = seen(posed(painleve(0.8)), np.array([0.0, 0.7, 4.0, 0.0]))
    assert found["sole.coupling"] == pytest.approx(coupling(0.8, 0.7), rel=1e-5)  # but for the mass of the shoe
    with pytest.raises(SolverError, match="'painleve' with .*no unique solution at t = .*Painleve") as refused:
        run(painleve(1.4), 3.0, step, integrator=integrator)
    number = float(str(refused.value).partition("that cause ")[2].split()[0])
    assert 1 <= number < 1.01


def test_what_friction_takes_is_what_the_energy_loses():
    history = run(pendulum(transition=0.5), 2.0, 1e-3, loads=("pin",), output_step=1e-3)
    power = history["pin.friction.My"] * history["pin.angle.rate"]
    lost = history["energy.total"] - history["energy.total"][0]
    # Trapezia: h^2 / 12 times what the slope of the power changes by, some 1e3 W/s; and power never comes back.
    work = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2) * 1e-3])
    assert np.abs(work - lost).max() < 1e-6 / 12 * 1e3
    assert (power <= 0).all()
    assert lost[-1] < -0.5


def test_small_motions_have_the_slope_of_the_tanh():
    # At rest, hanging: J a'' = -m g L a - mu r N a' / transition with N = m g.
    system = linearize(pendulum(start=0.0, start_rate=0.0), plugins=BUILT_IN)
    np.testing.assert_allclose(
        system.A, np.array([[0, 1], [-2 * G * 0.5 / 0.6, -0.3 * 0.2 * 2 * G / 0.01 / 0.6]]), rtol=ROUNDING
    )


@pytest.mark.parametrize(
    ("integrator", "order"),
    [
        ("backward-euler", 1),
        ("euler-symplectic", 1),
        ("midpoint", 2),
        ("generalized-alpha", 2),
        ("bdf2", 2),
        ("energy-momentum", 2),
        ("radau2", 3),
    ],
)
def test_every_integrator_goes_the_same_way(integrator, order):
    # Rates of 5 1/s over 1 s: an error of order p is some (5 h)^p.
    history, exact = (run(pendulum(transition=0.3), 1.0, 2e-3, integrator=way) for way in (integrator, "rk4"))
    assert abs(history["pin.angle"][-1] - exact["pin.angle"][-1]) < (5 * 2e-3) ** order


@pytest.mark.slow
def test_an_fmu_of_machine_code_has_the_friction_of_the_run(tmp_path):
    machine = pendulum(transition=0.3)
    export(machine, tmp_path / "pendulum.fmu", plugins=PluginSet())
    found = fmpy.simulate_fmu(str(tmp_path / "pendulum.fmu"), stop_time=1.0, output_interval=0.01)
    # The same steps of the same method in the same code.
    assert found["pin.angle"][-1] == pytest.approx(run(machine, 1.0, 1e-3)["pin.angle"][-1], rel=1e-12)


def planar_crank(closure):
    """A plane slider-crank: a revolute closure holds it in its plane once too often, a point on a line does not."""
    return Mechanism(
        "plane",
        bodies=[Body(name, mass=1.0, com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1)) for name in ("crank", "rod", "slider")],
        joints=[
            Joint("shaft", "revolute", "world", "crank", axis=(0, 0, 1), start=0.4),
            Joint("pin", "revolute", "crank", "rod", axis=(0, 0, 1), position=(0.5, 0, 0), start=-0.6),
            Joint("slide", "prismatic", "world", "slider", axis=(1, 0, 0), start=1.4),
        ],
        closures=[
            Closure("end", closure, "rod", "slider", position=(1, 0, 0), axis=(0, 0, 1) if closure == "revolute" else None)
        ],
        forces=[ForceElement("bearing-friction", name="guide", joint="slide", mu=0.2)],
    )


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_load_that_is_not_unique_is_refused(formulation):
    with pytest.raises(MechanismError) as refused:
        posed(planar_crank("revolute"), formulation, close_loops=True)
    assert "force guide depends on the load of joint 'slide', which is not unique" in str(refused.value)
    assert "constraints of closure end follow from others" in str(refused.value)


@pytest.mark.parametrize("formulation", ["directors", "nullspace"])
def test_a_formulation_without_the_capability_says_which_have_it(formulation):
    with pytest.raises(MechanismError) as refused:
        posed(pendulum(), formulation)
    message = f"force 'journal' (bearing-friction) depends on the load of joint pin, and formulation '{formulation}' takes no"
    assert message in str(refused.value)
    assert "Formulations that do: kane, modular, recursive" in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("revolute", {"mu": 0.1}, "the joint turns, so its journal needs a radius"),
        ("revolute", {"mu": -0.1, "radius": 0.1}, "mu is -0.1; it must not be negative"),
        ("revolute", {"mu": 0.1, "radius": 0.1, "transition": 0}, "transition is 0; it must be positive; friction cannot jump"),
        ("revolute", {"mu": 0.1, "radius": 0.1, "span": 0}, "span is 0; it must be positive"),
        ("prismatic", {"mu": 0.1, "radius": 0.1}, "the joint slides, so that a radius means nothing to it"),
        ("prismatic", {"mu": 0.1, "thrust_radius": 0.1}, "the joint slides, and carries no load along its axis"),
        ("screw", {"mu": 0.1, "radius": 0.1}, "the joint is screw; only a revolute joint has a journal"),
    ],
)
def test_options_that_do_not_fit_are_refused(kind, options, message):
    pitch = {"pitch": 0.1} if kind == "screw" else {}
    with pytest.raises(KingpostError, match=message):
        posed(
            Mechanism(
                "bad",
                bodies=[Body("body", mass=1.0, inertia=(1, 1, 1))],
                joints=[Joint("joint", kind, "world", "body", axis=(0, 0, 1), **pitch)],
                forces=[ForceElement("bearing-friction", joint="joint", **options)],
            )
        )
