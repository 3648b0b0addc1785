"""Every built-in force against closed forms, its potential and virtual work, in two formulations; and what forces refuse."""

import dataclasses
import functools
import math

import casadi as ca
import numpy as np
import pytest
import scipy.special
from scipy.interpolate import BPoly, CubicSpline

from kingpost import (
    Body,
    FileError,
    Force,
    ForceElement,
    Input,
    Joint,
    KingpostError,
    Loads,
    Mechanism,
    MechanismError,
    Output,
    Parameter,
    PluginError,
    PluginSet,
    prepare,
    read_model,
    simulate,
)
from kingpost.mechanism.trajectories import RestToRest, Sampled, Sequence, ThreePhase
from kingpost.modelfiles.toml_model import mechanism_from_dict
from kingpost.multibody.assembly import assemble
from kingpost.multibody.tree import TABLE
from kingpost.registry.registry import Origin

FORMULATIONS = ("kane", "recursive")
#: As in the conformance kit: some 1e3 operations per entry, and mass matrices with condition numbers up to 1e4.
ROUNDING = 1e-10
BUILT_IN = PluginSet(entry_points=False)


@functools.cache
def derive(mechanism, formulation="kane"):
    return BUILT_IN.formulations.get(formulation)().derive(assemble(mechanism, BUILT_IN))


def applied(mechanism, q, v, t=0.0, u=(), p=(), formulation="kane"):
    """The generalized forces of a mechanism, less what it would take to move it so without any."""
    bare = dataclasses.replace(mechanism, forces=())
    forces = [
        np.asarray(derive(machine, formulation).descriptor(t, q, v, list(u), list(p))[1]).ravel()
        for machine in (mechanism, bare)
    ]
    return forces[0] - forces[1]


def rail(*forces, mass=2.0, start=0.0, start_rate=0.0, **more):
    return Mechanism(
        "rail",
        bodies=[Body("mass", mass=mass)],
        joints=[Joint("rail", "prismatic", "world", "mass", axis=(1, 0, 0), start=start, start_rate=start_rate)],
        forces=forces,
        **more,
    )


def on_rail(kind, **options):
    return ForceElement(kind, coordinate="rail.displacement", **options)


def run(mechanism, t_end, step, **arguments):
    return simulate(mechanism, t_end, step=step, backend="vm", plugins=BUILT_IN, **arguments)


def rk4_error(rate, t_end, step):
    """A bound for the error of rk4, relative to the motion.

    The error of a step is (rate step)^5 / 120 of the motion for xdot = rate x. A nonlinear motion has harmonics, too; three
    times the basic rate covers those that matter here, and twice the sum what the errors do to each other over a few periods.
    """
    return 2 * t_end / step * (3 * rate * step) ** 5 / 120


# Gravity


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_centre_of_a_thrown_spinning_body_follows_a_parabola(formulation):
    com, spin, velocity, g = np.array([0.3, -0.2, 0.1]), 1.5, np.array([2.0, -1.0, 3.0]), np.array([0.5, 0.0, -9.0])
    # The origin moves with the centre of mass less the turn about it; the axis of the turn is a principal one.
    origin_velocity = velocity - np.cross([0, 0, spin], com)
    thrown = Mechanism(
        "thrown",
        bodies=[Body("stick", mass=3.0, com=com, inertia=(0.4, 0.3, 0.2))],
        joints=[Joint("flight", "free", "world", "stick", start_rate=(0, 0, spin, *origin_velocity))],
        forces=[ForceElement("gravity", acceleration=g.tolist())],
        outputs=[Output("com", "stick", at=com)],
    )
    history = run(thrown, 1.0, 0.005, formulation=formulation)
    t = history.time[:, None]
    path = com + velocity * t + g * t**2 / 2
    # The speed in body axes, up to 12 m/s, turns with 1.5 rad/s.
    tolerance = 12 * rk4_error(spin, 1.0, 0.005)
    assert np.abs(history.select(["com.x", "com.y", "com.z"]) - path).max() < tolerance
    assert history["energy.potential"] == pytest.approx(-3.0 * path @ g, abs=3.0 * 9.1 * tolerance)
    assert np.ptp(history["energy.total"]) < 3.0 * 12 * tolerance


# Forces along a joint coordinate


def test_a_linear_spring_and_damper_make_a_decaying_oscillation():
    mass, k, d, rest, start = 2.0, 18.0, 1.6, 0.4, 1.0
    history = run(rail(on_rail("joint-spring", stiffness=k, damping=d, rest=rest), mass=mass, start=start), 3.0, 0.002)
    decay, t = d / (2 * mass), history.time
    w = math.sqrt(k / mass - decay**2)
    exact = rest + (start - rest) * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
    assert np.abs(history["rail.displacement"] - exact).max() < rk4_error(math.sqrt(k / mass), 3.0, 0.002)


def test_a_spring_with_a_cubic_part_is_a_duffing_oscillator():
    # x = A cn(w t, m) solves M x'' = -(k1 x + k3 x^3) with w^2 = (k1 + k3 A^2) / M and m = k3 A^2 / (2 (k1 + k3 A^2)).
    mass, k1, k3, amplitude = 2.0, 3.0, 7.0, 1.2
    history = run(rail(on_rail("joint-spring", stiffness=(k1, 0, k3)), mass=mass, start=amplitude), 4.0, 0.002)
    w = math.sqrt((k1 + k3 * amplitude**2) / mass)
    cn = scipy.special.ellipj(w * history.time, k3 * amplitude**2 / (2 * mass * w**2))[1]
    error = rk4_error(w, 4.0, 0.002) * amplitude
    x = history["rail.displacement"]
    assert np.abs(x - amplitude * cn).max() < error
    assert np.abs(history["energy.potential"] - (k1 * x**2 / 2 + k3 * x**4 / 4)).max() < 1e-13 * history["energy.total"][0]


@pytest.mark.parametrize(
    ("damping", "speed"),
    [
        (0.8, lambda t, v, m: v * np.exp(-0.8 * t / m)),
        ((0.0, 0.8), lambda t, v, m: v / (1 + 0.8 * abs(v) * t / m)),
        ((0.0, 0.0, 0.8), lambda t, v, m: v / np.sqrt(1 + 2 * 0.8 * v**2 * t / m)),
    ],
    ids=["linear", "quadratic", "cubic"],
)
@pytest.mark.parametrize("start_rate", [1.5, -1.5])
def test_each_part_of_the_damping_slows_a_mass_as_known(damping, speed, start_rate):
    history = run(rail(on_rail("joint-spring", damping=damping), start_rate=start_rate), 2.0, 0.005)
    exact = speed(history.time, start_rate, 2.0)
    # The steepest rate is that of the cubic law at the start, 3 d v^2 / m.
    error = rk4_error(3 * 0.8 * 1.5**2 / 2.0, 2.0, 0.005)
    assert np.abs(history["rail.displacement.rate"] - exact).max() < error


def test_springs_and_dampers_add_up_their_powers():
    k, d, rest = (3.0, -2.0, 5.0, 0.7), (0.4, 1.1, 0.6), 0.25
    mechanism = rail(on_rail("joint-spring", stiffness=k, damping=d, rest=rest))
    for s, r in np.random.default_rng(1).uniform(-2, 2, (20, 2)):
        pull = sum(k[i] * s ** (i + 1) for i in range(4))
        drag = d[0] * r + d[1] * r * abs(r) + d[2] * r**3
        assert applied(mechanism, rest + s, r) == pytest.approx([-pull - drag], rel=1e-13, abs=1e-13)
        assert drag * r >= 0


def test_a_joint_effort_is_a_formula_in_time_inputs_and_parameters():
    push, slope = Input("push", "N"), Parameter("slope", 0.6, "N/s")
    force = on_rail("joint-effort", effort="push * cos(2 * t) + slope * t")
    mechanism = rail(force, mass=2.0, inputs=[push], parameters=[slope])
    history = run(mechanism, 2.0, 0.005, settings={"push": 3.0, "slope": 0.9})
    t = history.time
    exact = 3.0 / 2.0 * (1 - np.cos(2 * t)) / 4 + 0.9 * t**3 / (6 * 2.0)
    assert np.abs(history["rail.displacement"] - exact).max() < rk4_error(2.0, 2.0, 0.005)


def test_an_actuator_holds_a_number_against_its_gains():
    mechanism = rail(on_rail("joint-actuator", stiffness=50.0, damping=4.0, target=0.3, effort="7 * t"))
    assert applied(mechanism, 0.5, -2.0, t=0.1) == pytest.approx([-50.0 * 0.2 + 4.0 * 2.0 + 0.7], rel=1e-14)


def test_an_actuator_follows_a_formula_together_with_its_rate():
    # With the inertia fed forward the mass stays on its target, but only if the damping acts on the speed against the target's.
    inertial, lag = "-2 * 0.5 * 9 * sin(3 * t)", "-4 * 0.5 * 3 * cos(3 * t)"
    error = rk4_error(3.0, 3.0, 0.002)
    for effort, follows in ((inertial, True), (f"{inertial} {lag}", False)):
        force = on_rail("joint-actuator", stiffness=8.0, damping=4.0, target="0.5 * sin(3 * t)", effort=effort)
        history = run(rail(force, mass=2.0, start_rate=1.5), 3.0, 0.002)
        away = np.abs(history["rail.displacement"] - 0.5 * np.sin(3 * history.time)).max()
        assert away < error if follows else away > 0.1


KNOTS, LEVELS = (0.5, 1.0, 2.5), (0.0, 1.0, -1.0)
#: The only polynomial of degree 9 from 0 to 1 with four vanishing derivatives at both ends.
SMOOTH = BPoly.from_derivatives([0, 1], [[0, 0, 0, 0, 0], [1, 0, 0, 0, 0]])
FEW, MANY = np.linspace(0.2, 2.8, 7), np.linspace(0.2, 2.8, 2 * TABLE)


def joined_smoothly(t, order):
    if not KNOTS[0] < t < KNOTS[-1]:
        return (LEVELS[0] if t < KNOTS[0] else LEVELS[-1]) if order == 0 else 0.0
    k = np.searchsorted(KNOTS, t) - 1
    span, way = KNOTS[k + 1] - KNOTS[k], LEVELS[k + 1] - LEVELS[k]
    return LEVELS[k] * (order == 0) + way / span**order * float(SMOOTH((t - KNOTS[k]) / span, order))


def joined_straight(times, values):
    def target(t, order):
        if order == 0:
            return float(np.interp(t, times, values))
        inside = times[0] < t < times[-1]
        k = np.searchsorted(times, t) - 1
        return float((values[k + 1] - values[k]) / (times[k + 1] - times[k])) if inside else 0.0

    return target


def joined_by_spline(times, values):
    spline = CubicSpline(times, values)

    def target(t, order):
        if times[0] < t < times[-1]:
            return float(spline(t, order))
        return 0.0 if order else float(values[0] if t < times[0] else values[-1])

    return target


TARGETS = {
    "number": (0.7, lambda t, order: 0.7 if order == 0 else 0.0),
    "formula": ("0.4 * sin(3 * t) + t", lambda t, order: 0.4 * np.sin(3 * t) + t if order == 0 else 1.2 * np.cos(3 * t) + 1),
    "sequence": (Sequence(KNOTS, LEVELS), joined_smoothly),
    "ramps": (Sequence(KNOTS, LEVELS, "linear"), joined_straight(KNOTS, LEVELS)),
    "few samples": (Sampled(FEW, np.sin(FEW)), joined_straight(FEW, np.sin(FEW))),
    "few samples, cubic": (Sampled(FEW, np.sin(FEW), "cubic"), joined_by_spline(FEW, np.sin(FEW))),
    "many samples": (Sampled(MANY, np.sin(MANY)), joined_straight(MANY, np.sin(MANY))),
    "many samples, cubic": (Sampled(MANY, np.sin(MANY), "cubic"), joined_by_spline(MANY, np.sin(MANY))),
}


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("target", TARGETS)
def test_an_actuator_acts_on_the_difference_to_its_target_and_to_its_rate(target, formulation):
    trajectory, exact = TARGETS[target]
    mechanism = rail(on_rail("joint-actuator", stiffness=50.0, damping=4.0, target=trajectory))
    equations = derive(mechanism, formulation)
    assert len((*equations.externals, *equations.traced)) == (2 if target.startswith("many") else 0)  # value and rate
    for t, q, v in np.random.default_rng(2).uniform((-0.5, -1, -1), (3.5, 1, 1), (40, 3)):
        effort = -50.0 * (q - exact(t, 0)) - 4.0 * (v - exact(t, 1))
        # The coefficients of the polynomials, up to 540 * 2, cancel to values of order 1.
        assert applied(mechanism, q, v, t, formulation=formulation) == pytest.approx([effort], abs=1e-10)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_many_samples_are_compiled_and_move_the_mass_as_the_interpreter_does(formulation):
    target = Sampled(MANY, np.sin(3 * MANY), "cubic")
    mechanism = rail(on_rail("joint-actuator", stiffness=50.0, damping=4.0, target=target))
    runs = [
        prepare(mechanism, 3.0, step=0.01, backend=backend, formulation=formulation, plugins=BUILT_IN)
        for backend in ("c", "vm")
    ]
    assert [simulation.kernel.backend for simulation in runs] == ["c", "vm"]
    compiled, interpreted = (simulation.run() for simulation in runs)
    # The same operations, but for the order of sums: 300 steps of a damped motion add up no more than 300 roundings.
    assert np.abs(compiled.values - interpreted.values).max() < 1e-12
    assert np.abs(compiled["rail.displacement"]).max() > 0.5


def test_viscous_friction_decays_and_coulomb_friction_brakes_evenly():
    viscous = run(rail(on_rail("joint-friction", viscous=0.8), start_rate=1.5), 2.0, 0.005)
    exact = 1.5 * np.exp(-0.8 / 2.0 * viscous.time)
    assert np.abs(viscous["rail.displacement.rate"] - exact).max() < rk4_error(0.8 / 2.0, 2.0, 0.005)
    # Above twenty times the transition speed tanh is 1 to the last bit, and rk4 has no error under a constant force.
    coulomb = run(rail(on_rail("joint-friction", coulomb=0.6, transition=0.01), start_rate=-1.5), 4.0, 0.01)
    exact = -1.5 + 0.6 / 2.0 * coulomb.time
    assert exact[-1] < -20 * 0.01
    assert np.abs(coulomb["rail.displacement.rate"] - exact).max() < 1e-12


def test_a_loaded_joint_with_friction_creeps_at_a_known_speed():
    load, coulomb, transition = 0.3, 0.6, 0.02
    friction = on_rail("joint-friction", coulomb=coulomb, transition=transition)
    history = run(rail(friction, on_rail("joint-effort", effort=load), mass=0.5), 1.0, 0.01)
    # The slope of the friction at the creep speed, (c^2 - F^2) / (c s), over the mass: an error decays with 45 /s.
    assert history["rail.displacement.rate"][-1] == pytest.approx(transition * math.atanh(load / coulomb), rel=1e-12)


def test_friction_is_the_formula_of_its_documentation():
    mechanism = rail(on_rail("joint-friction", viscous=0.8, coulomb=0.6, transition=0.1))
    for rate in (-2.0, -0.05, 0.0, 0.1, 3.0):
        exact = -0.8 * rate - 0.6 * math.tanh(rate / 0.1)
        assert applied(mechanism, 0.2, rate) == pytest.approx([exact], rel=1e-14, abs=1e-15)


# Forces on bodies


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_point_spring_to_the_world_is_a_damped_oscillator_along_its_line(formulation):
    spring = ForceElement(
        "point-spring",
        body="mass",
        other="world",
        at=(0.1, 0, 0),
        other_at=(3.1, 0, 0),
        length=1.0,
        stiffness=18.0,
        damping=1.6,
    )
    # The points are 3 - x apart, so the spring is at rest at x = 2.
    history = run(rail(spring, mass=2.0, start=1.5), 3.0, 0.002, formulation=formulation)
    t, decay = history.time, 1.6 / (2 * 2.0)
    w = math.sqrt(18.0 / 2.0 - decay**2)
    exact = 2.0 - 0.5 * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
    assert np.abs(history["rail.displacement"] - exact).max() < rk4_error(3.0, 3.0, 0.002)
    assert history["energy.potential"] == pytest.approx(18.0 / 2 * (2.0 - history["rail.displacement"]) ** 2, abs=1e-12)


def two_flying_bodies(*forces, **more):
    return Mechanism(
        "two",
        bodies=[Body("a", mass=2.0, inertia=(0.1, 0.1, 0.1)), Body("b", mass=3.0, inertia=(0.2, 0.2, 0.2))],
        joints=[
            Joint("fly-a", "free", "world", "a", start_rate=(0, 0, 0, 0.4, 0.1, 0)),
            Joint("fly-b", "free", "world", "b", start=(1.5, 0, 0, 1, 0, 0, 0), start_rate=(0, 0, 0, 0.4, 0.1, 0)),
        ],
        forces=forces,
        **more,
    )


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_two_bodies_on_a_spring_swing_with_their_reduced_mass_and_keep_their_momentum(formulation):
    spring = ForceElement("point-spring", body="a", other="b", length=1.0, stiffness=12.0)
    history = run(two_flying_bodies(spring), 2.0, 0.002, formulation=formulation)
    w = math.sqrt(12.0 / (2.0 * 3.0 / (2.0 + 3.0)))
    distance = history["fly-b.x"] - history["fly-a.x"]
    assert np.abs(distance - (1.0 + 0.5 * np.cos(w * history.time))).max() < rk4_error(w, 2.0, 0.002)
    for axis, speed in (("x", 0.4), ("y", 0.1), ("z", 0.0)):
        momentum = 2.0 * history[f"fly-a.v{axis}"] + 3.0 * history[f"fly-b.v{axis}"]
        # The forces cancel exactly; 1000 steps round sums of order 1.
        assert np.abs(momentum - 5.0 * speed).max() < 1e-12


def test_a_point_spring_pulls_along_its_line_with_its_polynomials():
    k, d, length = (3.0, -2.0, 5.0), (0.4, 1.1, 0.6), 0.6
    spring = ForceElement("point-spring", body="a", other="b", length=length, stiffness=k, damping=d)
    mechanism = two_flying_bodies(spring)
    rng = np.random.default_rng(3)
    for _ in range(10):
        at = rng.uniform(-1, 1, (2, 3))
        speed = rng.uniform(-1, 1, (2, 3))
        q = [*at[0], 1, 0, 0, 0, *at[1], 1, 0, 0, 0]
        v = [0, 0, 0, *speed[0], 0, 0, 0, *speed[1]]
        apart = at[1] - at[0]
        distance = np.linalg.norm(apart)
        direction = apart / distance
        s, r = distance - length, direction @ (speed[1] - speed[0])
        pull = k[0] * s + k[1] * s**2 + k[2] * s**3 + d[0] * r + d[1] * r * abs(r) + d[2] * r**3
        exact = [0, 0, 0, *(pull * direction), 0, 0, 0, *(-pull * direction)]
        assert applied(mechanism, q, v) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_spring_between_two_points_of_one_body_does_nothing(formulation):
    spring = ForceElement(
        "point-spring", body="a", other="a", at=(1, 2, 3), other_at=(-1, 0.5, 2), length=0.5, stiffness=(40.0, 8.0), damping=5.0
    )
    mechanism = two_flying_bodies(spring)
    stretch = math.sqrt(4 + 1.5**2 + 1) - 0.5
    rng = np.random.default_rng(4)
    for q, v in states(mechanism, rng):
        # A pull of some 1e2 N at arms of some metres cancels.
        assert np.abs(applied(mechanism, q, v, formulation=formulation)).max() < 1e3 * 10 * np.finfo(float).eps
        potential = float(derive(mechanism, formulation).observations(0, q, v, [], [])[-2])
        assert potential == pytest.approx(40.0 * stretch**2 / 2 + 8.0 * stretch**3 / 3, rel=1e-13)


def test_two_points_that_meet_feel_no_force():
    spring = ForceElement("point-spring", body="mass", other="world", length=0.5, stiffness=40.0, damping=3.0)
    assert applied(rail(spring), 0.0, 1.0) == pytest.approx([0.0], abs=0)


def inertia(*points):
    """The moments and products of inertia of point masses of 1 kg: always possible."""
    cloud = np.array(points, dtype=float)
    second = cloud.T @ cloud
    matrix = np.trace(second) * np.eye(3) - second
    return tuple(float(matrix[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))


def crane(*forces, **more):
    """A tree with free, revolute, spherical and prismatic joints, long enough that 'recursive' cuts it into two blocks."""
    shapes = inertia((0.5, 0.1, 0), (-0.2, 0.4, 0.1), (0, 0.1, 0.3)), inertia((0.3, 0, 0.1), (0.1, -0.2, 0.2), (0, 0.3, -0.1))
    return Mechanism(
        "crane",
        bodies=[
            Body("barge", mass=5.0, com=(0.1, 0, -0.2), inertia=shapes[0]),
            Body("tower", mass=2.0, com=(0, 0.1, 0.4), inertia=shapes[1]),
            Body("boom", mass=1.5, com=(0.6, 0, 0.1), inertia=shapes[0]),
            Body("load", mass=1.0, com=(0, 0.05, -0.7), inertia=shapes[1]),
            Body("trolley", mass=0.8, com=(0.1, 0.1, 0), inertia=shapes[1]),
            Body("buoy", mass=1.2),
        ],
        joints=[
            Joint("hull", "free", "world", "barge"),
            Joint("slew", "revolute", "barge", "tower", axis=(0, 0.1, 1), position=(0.2, 0, 0.5), rotation=(0.1, 0.2, 0.3)),
            Joint("luff", "revolute", "tower", "boom", axis=(0, 1, 0), position=(0.1, 0, 1)),
            Joint("ball", "spherical", "boom", "load", position=(1.2, 0, 0), child_position=(0, 0, 0.1)),
            Joint("slide", "prismatic", "boom", "trolley", axis=(1, 0, 0.1), position=(0.3, 0.1, 0)),
            Joint("heave", "prismatic", "world", "buoy", axis=(0, 0.2, 1), position=(2, 1, 0)),
        ],
        forces=forces,
        **more,
    )


def states(mechanism, rng, count=3):
    """Yield random coordinates, with unit quaternions, and speeds."""
    equations = derive(mechanism)
    for _ in range(count):
        q = rng.uniform(0.3, 1.2, equations.nq) * rng.choice([-1.0, 1.0], equations.nq)
        for first in equations.quaternions:
            q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
        yield q, rng.uniform(-2, 2, equations.nv)


def rates(equations, q, p=()):
    """The rates of the coordinates for each unit speed, as rows: the transpose of N."""
    return [np.asarray(equations.kinematics(q, unit, list(p))).ravel() for unit in np.eye(equations.nv)]


#: Central differences with this step are off by 1e-10 of third derivatives, and by 1e-11 of values that are rounded.
NEAR = 1e-5


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("frame", ["body", "world"])
@pytest.mark.parametrize("body", ["barge", "load"])
def test_the_work_of_a_wrench_is_that_of_its_force_at_its_point(body, frame, formulation):
    at, moment, force = (0.4, -0.3, 0.8), np.array([3.0, -1.0, 2.0]), np.array([5.0, 4.0, -6.0])
    markers = {"o": (0, 0, 0), "x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "point": at}
    wrench = ForceElement("body-wrench", body=body, moment=moment.tolist(), force=(5.0, "2 * push", "-t"), at=at, frame=frame)
    mechanism = crane(
        wrench, inputs=[Input("push", "N")], outputs=[Output(name, body, at=place) for name, place in markers.items()]
    )
    equations = derive(mechanism, formulation)

    def place(q):
        points = np.asarray(equations.observations(0, q, np.zeros(equations.nv), [0], [])).ravel()[:15].reshape(5, 3)
        return (points[1:4] - points[0]).T, points[4]

    for q, v in states(mechanism, np.random.default_rng(5), 2):
        R, _ = place(q)
        force_W, moment_W = (force, moment) if frame == "world" else (R @ force, R @ moment)
        work = []
        for rate in rates(equations, q):
            (R_ahead, p_ahead), (R_behind, p_behind) = place(q + NEAR * rate), place(q - NEAR * rate)
            spin = (R_ahead - R_behind) / (2 * NEAR) @ R.T
            turn = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
            work.append(force_W @ (p_ahead - p_behind) / (2 * NEAR) + moment_W @ turn)
        # The point is some 3 m from the joints, the force 9 N: derivatives of order 30.
        assert applied(mechanism, q, v, t=6.0, u=[2.0], formulation=formulation) == pytest.approx(work, abs=30 * 1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_damper_between_turning_bodies_acts_against_the_rate_of_its_length(formulation):
    ends = {"load": (0.3, -0.2, 0.4), "barge": (-0.5, 0.6, 0.1)}
    damper = ForceElement(
        "point-spring", body="load", at=ends["load"], other="barge", other_at=ends["barge"], damping=(2.0, 1.0, 0.5)
    )
    mechanism = crane(damper, outputs=[Output(f"on-{body}", body, at=at) for body, at in ends.items()])
    equations = derive(mechanism, formulation)

    def length(q):
        points = np.asarray(equations.observations(0, q, np.zeros(equations.nv), [], [])).ravel()[:6]
        return float(np.linalg.norm(points[:3] - points[3:]))

    for q, v in states(mechanism, np.random.default_rng(11)):
        slopes = np.array([(length(q + NEAR * rate) - length(q - NEAR * rate)) / (2 * NEAR) for rate in rates(equations, q)])
        r = slopes @ v
        drag = 2.0 * r + 1.0 * r * abs(r) + 0.5 * r**3
        # Some ten speeds and slopes of order 1; the drag, up to 100 N, changes ten times as fast.
        assert applied(mechanism, q, v, formulation=formulation) == pytest.approx(-drag * slopes, abs=1e3 * 1e-9)


# Hydrostatics


def floating(matrix, position=(0.0, 0.0, 0.0), **start):
    return Mechanism(
        "floating",
        bodies=[Body("hull", mass=4.0, inertia=(0.5, 0.9, 1.1))],
        joints=[Joint("sea", "free", "world", "hull", **start)],
        forces=[ForceElement("hydrostatic", body="hull", matrix=matrix, position=position)],
    )


def restoring(seed=6):
    """A matrix with all couplings, positive definite."""
    root = np.random.default_rng(seed).uniform(-2, 2, (6, 6))
    return (root @ root.T + np.eye(6)).round(3)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_small_displacements_in_the_order_surge_to_yaw_meet_the_matrix(formulation):
    matrix, rest = restoring(), np.array([1.0, -2.0, 0.5])
    mechanism = floating(matrix.tolist(), rest.tolist())

    def wrench(displacement):
        # A turn by a small angle about a world axis; the axes of the hull are the world's to first order.
        quaternion = np.array([1.0, *(displacement[3:] / 2)])
        moment_and_force = applied(mechanism, [*(rest + displacement[:3]), *quaternion], np.zeros(6), formulation=formulation)
        return np.concatenate([moment_and_force[3:], moment_and_force[:3]])

    assert np.abs(wrench(np.zeros(6))).max() == 0.0
    columns = [(wrench(NEAR * unit) - wrench(-NEAR * unit)) / (2 * NEAR) for unit in np.eye(6)]
    assert np.abs(np.array(columns).T + matrix).max() < 1e-9 * np.abs(matrix).max()


def test_a_floating_body_heaves_with_its_own_frequency():
    history = run(floating(np.diag([0, 0, 36.0, 0, 0, 0]).tolist(), (0, 0, 1.0)), 3.0, 0.002)
    exact = 1.0 - np.cos(math.sqrt(36.0 / 4.0) * history.time)
    assert np.abs(history["sea.z"] - exact).max() < rk4_error(3.0, 3.0, 0.002)


@pytest.mark.parametrize(("mode", "moment"), [(3, 0.5), (4, 0.9), (5, 1.1)], ids=["roll", "pitch", "yaw"])
def test_a_large_turn_about_an_axis_is_that_of_a_pendulum(mode, moment):
    # V = C sin(a)^2 / 2, so (2a)'' = -C / I sin(2a): a pendulum in 2a, with sin(a) = k cd(w t, k^2), k = sin(start) and
    # w^2 = C / I.
    C, start = 3.0, 0.7
    axis = np.eye(3)[mode - 3]
    begin = (0, 0, 0, math.cos(start / 2), *(math.sin(start / 2) * axis))
    history = run(floating(np.diag(C * np.eye(6)[mode]).tolist(), start=begin), 4.0, 0.002)
    k, w = math.sin(start), math.sqrt(C / moment)
    _, cn, dn, _ = scipy.special.ellipj(w * history.time, k**2)
    half = history.select(["sea.qx", "sea.qy", "sea.qz"]) @ axis
    assert np.abs(np.sin(2 * np.arcsin(half)) - k * cn / dn).max() < rk4_error(w, 4.0, 0.002)


def test_a_floating_body_with_all_couplings_keeps_its_energy():
    spin = (0.5, -0.3, 0.4, 0.2, 0.1, -0.3)
    mechanism = floating(restoring().tolist(), start=(0.2, -0.1, 0.3, 1, 0.1, -0.2, 0.15), start_rate=spin)
    history = simulate(mechanism, 5.0, integrator="dop853:rtol=1e-10", backend="vm", plugins=BUILT_IN)
    total = history["energy.total"]
    assert np.ptp(history["energy.kinetic"]) > 0.1 * total[0]
    # Some 200 steps, each with an error of 1e-10 of the state, and the energy is of second degree in it.
    assert np.abs(total / total[0] - 1).max() < 200 * 2 * 1e-10


# Potentials

MATRIX = restoring(7)
CONSERVATIVE = {
    "gravity": (ForceElement("gravity", acceleration=(0.3, -0.5, -9.7)),),
    "joint-spring": (
        ForceElement("joint-spring", name="linear", coordinate="slew.angle", stiffness=30.0, rest=0.2),
        ForceElement("joint-spring", name="polynomial", coordinate="slide.displacement", stiffness=(40.0, 5.0, 30.0)),
    ),
    "point-spring": (
        ForceElement(
            "point-spring",
            name="mooring",
            body="barge",
            at=(0.5, 0.2, 0),
            other="world",
            other_at=(4, 1, -2),
            stiffness=(9.0, 2.0),
        ),
        ForceElement(
            "point-spring",
            name="stay",
            body="load",
            at=(0.1, 0, 0.3),
            other="barge",
            other_at=(0.4, 0, 0),
            length=0.5,
            stiffness=20.0,
        ),
        ForceElement(
            "point-spring", name="tie", body="load", other="trolley", other_at=(0, 0.2, 0), length=0.3, stiffness=15.0
        ),
        ForceElement("point-spring", name="fender", body="barge", other="buoy", length=2.0, stiffness=(5.0, 0.0, 1.0)),
    ),
    "hydrostatic": (ForceElement("hydrostatic", body="barge", matrix=MATRIX.tolist(), position=(0.5, 0, -0.3)),),
}
CONSERVATIVE["all"] = tuple(force for forces in CONSERVATIVE.values() for force in forces)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("forces", CONSERVATIVE)
def test_a_conservative_force_changes_no_energy(forces, formulation):
    mechanism = crane(*CONSERVATIVE[forces])
    equations = derive(mechanism, formulation)
    t, q, v, u, p = equations.t, equations.q, equations.v, equations.u, equations.p
    energy = equations.kinetic + equations.potential
    vdot = equations.accelerations(t, q, v, u, p)
    power = ca.jtimes(energy, q, equations.kinematics(q, v, p)) + ca.jtimes(energy, v, vdot)
    size = ca.sum1(ca.fabs(ca.gradient(energy, v) * vdot))
    evaluate = ca.Function("power", [t, q, v, u, p], [power, size])
    for state in states(mechanism, np.random.default_rng(8)):
        change, scale = (float(result) for result in evaluate(0, *state, [], []))
        assert abs(change) < ROUNDING * max(1.0, scale)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("forces", CONSERVATIVE)
def test_a_conservative_force_is_the_slope_of_its_potential(forces, formulation):
    mechanism = crane(*CONSERVATIVE[forces])
    equations = derive(mechanism, formulation)

    def potential(q):
        return float(equations.observations(0, q, np.zeros(equations.nv), [], [])[-2])

    for q, v in states(mechanism, np.random.default_rng(9)):
        slopes = [(potential(q + NEAR * rate) - potential(q - NEAR * rate)) / (2 * NEAR) for rate in rates(equations, q)]
        assert max(map(abs, slopes)) > 1.0
        # Potentials of up to 1e3 J over distances of order 1.
        assert applied(mechanism, q, v, formulation=formulation) == pytest.approx(np.negative(slopes), abs=1e3 * 1e-9)


EVERYTHING = (
    *CONSERVATIVE["all"],
    ForceElement("joint-spring", name="brake", coordinate="luff.angle", stiffness="k", damping=(0.5, 0.2, 0.1)),
    ForceElement("joint-effort", coordinate="luff.angle", effort="20 * sin(2 * t) + push"),
    ForceElement("joint-actuator", name="a1", coordinate="slew.angle", stiffness=12.0, damping="2 + k", target="sin(t) + wind"),
    ForceElement(
        "joint-actuator", name="a2", coordinate="slide.displacement", stiffness=9.0, damping=3.0, target=Sequence(KNOTS, LEVELS)
    ),
    ForceElement(
        "joint-actuator",
        name="a3",
        coordinate="luff.angle",
        stiffness=9.0,
        damping=3.0,
        target=Sampled(MANY, np.sin(MANY), "cubic"),
    ),
    ForceElement(
        "joint-actuator",
        name="a4",
        coordinate="slew.angle",
        stiffness=9.0,
        damping=3.0,
        target=Sampled(MANY, np.cos(MANY), "cubic"),
    ),
    ForceElement(
        "joint-actuator",
        name="a5",
        coordinate="heave.displacement",
        stiffness=9.0,
        damping=3.0,
        target=Sampled(FEW, np.cos(FEW)),
    ),
    ForceElement("joint-friction", coordinate="heave.displacement", viscous=0.4, coulomb=2.0, transition=0.5),
    ForceElement(
        "point-spring", name="rope", body="trolley", other="world", at=(0, 0, 0.2), stiffness="k", damping=(0.5, 0.3, 0.1)
    ),
    ForceElement("point-spring", name="inner", body="barge", other="barge", at=(1, 0, 0), stiffness=7.0, damping=2.0),
    ForceElement("body-wrench", name="thrust", body="load", moment=("push", 1, 0), force=(0, "wind * t", 3), at=(0.2, 0, 0.1)),
    ForceElement("body-wrench", name="wind", body="barge", force=("3 * wind", 0, "-k"), at=(0, 0, 2), frame="world"),
    ForceElement("added-mass", body="barge", matrix=restoring(12).tolist(), at=(0.2, 0, -0.5), current=(0.5, "wind", 0)),
    ForceElement(
        "added-mass", name="weed", body="trolley", matrix=[[("k" if i == j else 0) for i in range(6)] for j in range(6)]
    ),
    ForceElement(
        "carried-load",
        body="tower",
        wrench=("push", 1, 2, 0, "wind", 3),
        inertia=restoring(14)[np.triu_indices(6)].tolist(),
        position=(0.1, 0.2, 0),
        rotation=(0, 0.3, 0),
    ),
    ForceElement("body-damping", body="barge", matrix=restoring(13).tolist(), quadratic=(1, "k", 3, 1, 2, 3), at=(0, 0, 0.3)),
    ForceElement(
        "wave-excitation", body="barge", components=[(0.5, 1.1, 0.2), ("k", 0.7, 1.0)], transfer=[(3, 1, 9, 2, 4, 1)], ramp=2.0
    ),
    ForceElement(
        "rope",
        name="hoist",
        body="load",
        other="barge",
        via=[(1.0, 0, 0.2)],
        via_body="boom",
        length=0.5,
        EA=60.0,
        damping=3.0,
        drum="slew.angle",
        radius=0.1,
    ),
    ForceElement(
        "plane-contact",
        body="load",
        other="barge",
        points=[(0, 0, -3), (0.3, 0.2, 0)],
        stiffness=30.0,
        damping=4.0,
        friction=0.3,
    ),
)


def test_every_built_in_force_is_among_those_of_the_next_test():
    assert {force.kind for force in EVERYTHING} == set(BUILT_IN.forces)


def test_all_forces_at_once_give_the_same_accelerations_in_both_formulations():
    mechanism = crane(*EVERYTHING, inputs=[Input("push", "N"), Input("wind", "N")], parameters=[Parameter("k", 5.0, "N/m")])
    kane, recursive = (derive(mechanism, formulation) for formulation in FORMULATIONS)
    assert len(kane.externals) == len(recursive.traced) == 4
    rng = np.random.default_rng(10)
    for q, v in states(mechanism, rng, 12):
        t, u, p = rng.uniform(0, 3), rng.uniform(-5, 5, 2), rng.uniform(1, 10, 1)
        exact, vdot = (np.asarray(equations.accelerations(t, q, v, u, p)).ravel() for equations in (kane, recursive))
        assert np.abs(vdot - exact).max() <= ROUNDING * max(1.0, np.abs(exact).max())
        exact, y = (np.asarray(equations.observations(t, q, v, u, p)).ravel() for equations in (kane, recursive))
        assert y == pytest.approx(exact, rel=ROUNDING)


# What is refused


def crooked():
    matrix = restoring().tolist()
    matrix[4][1] += 0.5
    return matrix


@pytest.mark.parametrize(
    ("force", "message"),
    [
        (
            ForceElement("point-spring", body="bage", other="world"),
            "force 'point-spring' (point-spring): body: 'bage' is not a body; did you mean 'barge'? Known: barge, tower, boom,",
        ),
        (
            ForceElement("point-spring", body="barge", other="wurld"),
            "other: 'wurld' is not a body, nor the world; did you mean 'world'? Known: world, barge,",
        ),
        (ForceElement("point-spring", body="world", other="barge"), "body: 'world' is not a body"),
        (ForceElement("point-spring", body="barge"), "lacks 'other'. It takes: body (required), other (required), at ="),
        (
            ForceElement("joint-friction", coordinate="slew.angel"),
            "coordinate: 'slew.angel' is not a joint coordinate; did you mean 'slew.angle'? Known: slew.angle, luff.angle,",
        ),
        (ForceElement("joint-spring", coordinate="ball.qx", stiffness=1.0), "coordinate: 'ball.qx' is not a joint coordinate"),
        (ForceElement("joint-spring", coordinate="ball.wx", stiffness=1.0), "coordinate: 'ball.wx' is not a joint coordinate"),
        (
            ForceElement("joint-friction", coordinate="slew.angle", transition=0),
            "joint-friction on 'slew.angle': transition is 0; it must be positive",
        ),
        (
            ForceElement("joint-actuator", coordinate="slew.angle", stiffness=1.0, damping=1.0, target={"kind": "sequenc"}),
            "target: there is no trajectory of kind 'sequenc'; did you mean 'sequence'? Kinds: constant, rest-to-rest,",
        ),
        (
            ForceElement("joint-actuator", coordinate="slew.angle", stiffness=1.0, damping=1.0, target={"times": [0, 1]}),
            "target: the trajectory lacks 'kind'. Kinds: constant,",
        ),
        (
            ForceElement("joint-actuator", coordinate="slew.angle", stiffness=1.0, damping=1.0, target="goal"),
            "target = 'goal' uses 'goal', which is not declared. Known here: t.",
        ),
        (
            ForceElement("joint-actuator", coordinate="slew.angle", stiffness=1.0),
            "force 'joint-actuator' (joint-actuator) lacks 'damping'. It takes: coordinate (required), stiffness (required)",
        ),
        (
            ForceElement("body-wrench", body="load", force=(1, 2)),
            "force 'body-wrench' (body-wrench): force: expected 3 entries, got 2: (1, 2)",
        ),
        (ForceElement("body-wrench", body="load", frame="earth"), "frame: expected one of 'body', 'world', got 'earth'"),
        (
            ForceElement("hydrostatic", body="barge", matrix=crooked()),
            "hydrostatic on 'barge': the matrix is not symmetric: "
            f"entry (5, 2) is {crooked()[4][1]}, entry (2, 5) is {crooked()[1][4]}",
        ),
        (ForceElement("hydrostatic", body="barge", matrix=np.eye(3).tolist()), "matrix: expected 6 entries, got 3"),
    ],
)
def test_options_that_do_not_fit_are_refused(force, message):
    with pytest.raises(KingpostError) as error:
        simulate(crane(force), 1.0, plugins=BUILT_IN)
    assert message in str(error.value)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(
    ("loads", "message"),
    [
        (
            Loads(wrenches={"bage": ca.SX(6, 1)}),
            "force 'stray' (astray) acts on body 'bage', which is not there; did you mean 'barge'? Known: barge, boom,",
        ),
        (Loads(wrenches={"world": ca.SX(6, 1)}), "force 'stray' (astray) acts on body 'world', which is not there"),
        (
            Loads(efforts={"slew.angel": 1.0}),
            "force 'stray' (astray) acts on coordinate 'slew.angel', which is not there; did you mean 'slew.angle'?",
        ),
        (Loads(efforts={"ball.qx": 1.0}), "force 'stray' (astray) acts on coordinate 'ball.qx', which is not there"),
    ],
)
def test_a_force_plugin_that_acts_on_what_is_not_there_is_named(loads, message, formulation):
    class Astray(Force):
        """Acts on something of its own choice."""

        name = "astray"

        def loads(self, kinematics):
            return loads

    plugins = PluginSet(entry_points=False)
    plugins.forces.add(Astray, Origin("file", __file__, "tests", "local"))
    with pytest.raises(PluginError) as error:
        simulate(crane(ForceElement("astray", name="stray")), 1.0, formulation=formulation, plugins=plugins)
    assert message in str(error.value)


# Model files

RAILS = ("one", "two", "three", "four", "five", "six")
SAMPLES = "time, other, stroke\n0, 9, 0\n1, 9, 0.5\n2, 9, -0.5\n3, 9, 0.25\n"
FILE = "\n".join(
    [
        'name = "rails"',
        *(f'[[bodies]]\nname = "{name}"\nmass = 1.0' for name in RAILS),
        *(
            f'[[joints]]\nname = "{name}"\nkind = "prismatic"\nparent = "world"\nchild = "{name}"\naxis = [1, 0, 0]'
            for name in RAILS
        ),
        "[parameters]",
        'way = { default = 0.5, unit = "m" }',
        *(
            f'[[forces]]\nkind = "joint-actuator"\nname = "drive-{name}"\ncoordinate = "{name}.displacement"\nstiffness = 50\n'
            f"damping = 4\n{target}"
            for name, target in zip(
                RAILS,
                [
                    'target = { kind = "sequence", times = [0, 1, 2.5], values = [0, "way", "-way"] }',
                    'target = { kind = "rest-to-rest", start = 0, end = "way", t_start = 0.5, t_end = 2 }',
                    'target = { kind = "three-phase", start = 0, end = 2, t_start = 0, t_end = 3, t_blend = 0.5 }',
                    '[forces.target]\nkind = "sampled"\ntimes = [0, 1, 2, 3]\nvalues = [0, 1, 0, -1]\ninterpolation = "cubic"',
                    '[forces.target]\nkind = "sampled"\nfile = "data/stroke.csv"\ncolumn = "stroke"\ninterpolation = "cubic"',
                    'target = "way * sin(t)"',
                ],
                strict=True,
            )
        ),
    ]
)
IN_PYTHON = (
    Sequence((0, 1, 2.5), (0, "way", "-way")),
    RestToRest(0, "way", 0.5, 2),
    ThreePhase(0, 2, 0, 3, 0.5),
    Sampled((0, 1, 2, 3), (0, 1, 0, -1), "cubic"),
    Sampled((0, 1, 2, 3), (0, 0.5, -0.5, 0.25), "cubic"),
    "way * sin(t)",
)


@pytest.fixture
def model_file(tmp_path, monkeypatch):
    """A function that writes a model file and its samples in a folder that is not the current one."""
    (tmp_path / "model" / "data").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    def write(text=FILE, samples=SAMPLES):
        (tmp_path / "model" / "data" / "stroke.csv").write_text(samples)
        path = tmp_path / "model" / "rails.toml"
        path.write_text(text)
        return path

    return write


def test_trajectories_in_a_model_file_are_those_of_python(model_file):
    from_file = read_model(model_file(), BUILT_IN)
    in_python = dataclasses.replace(
        from_file,
        forces=[
            ForceElement(
                "joint-actuator", f"drive-{name}", coordinate=f"{name}.displacement", stiffness=50, damping=4, target=target
            )
            for name, target in zip(RAILS, IN_PYTHON, strict=True)
        ],
    )
    file, python = (derive(mechanism) for mechanism in (from_file, in_python))
    seen = []
    for t in np.linspace(-0.2, 3.3, 36):
        vdot, exact = (
            np.asarray(equations.accelerations(t, [0] * 6, [0] * 6, [], [0.7])).ravel() for equations in (file, python)
        )
        assert vdot.tolist() == exact.tolist()
        seen.append(vdot)
    assert (np.ptp(seen, axis=0) > 1.0).all()


def test_samples_from_a_file_belong_to_the_description(model_file):
    path = model_file()
    mechanism = read_model(path, BUILT_IN)
    (path.parent / "data" / "stroke.csv").unlink()
    assert len(simulate(mechanism, 0.1, backend="vm", plugins=BUILT_IN)) == 11
    assert mechanism_from_dict(mechanism.to_dict()).digest() == mechanism.digest()
    other = read_model(model_file(samples=SAMPLES.replace("-0.5", "-0.6")), BUILT_IN)
    assert other.digest() != mechanism.digest()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2, 9, -0.5", "0.5, 9, -0.5", "stroke.csv: times must rise: line 4 has 0.5 s after 1.0 s; sort the lines"),
        ("1, 9, 0.5", "1, 9", "stroke.csv: line 3 has 2 entries, but the header names 3 columns"),
        ("stroke\n", "stroking\n", "stroke.csv has no column 'stroke'; did you mean 'stroking'? Columns: other, stroking."),
    ],
)
def test_samples_that_cannot_be_used_are_refused_with_force_file_and_line(model_file, old, new, message):
    path = model_file(samples=SAMPLES.replace(old, new))
    with pytest.raises(FileError) as error:
        read_model(path, BUILT_IN)
    assert str(error.value).startswith(f"force 'drive-five' (joint-actuator): target: {path.parent}/data/{message}")


def test_a_missing_file_of_samples_is_looked_for_beside_the_model(model_file):
    path = model_file(FILE.replace("stroke.csv", "strike.csv"))
    with pytest.raises(FileError) as error:
        read_model(path, BUILT_IN)
    missing = path.parent / "data" / "strike.csv"
    assert str(error.value) == f"force 'drive-five' (joint-actuator): target: there is no file '{missing}'"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'kind = "three-phase"',
            'kind = "three-phases"',
            "target: there is no trajectory of kind 'three-phases'; did you mean",
        ),
        (
            "times = [0, 1, 2.5]",
            "times = [0, 3, 2.5]",
            "target: sequence trajectory: times must rise: times[2] is 2.5 s after 3.0 s",
        ),
        ("t_blend = 0.5", "t_blend = 2", "t_blend is 2.0 s, more than half of the 3.0 s"),
        ('"-way"', '"-ways"', "target = '-ways' uses 'ways', which is not declared; did you mean 'way'?"),
        (
            'column = "stroke"',
            'columm = "stroke"',
            "target: a sampled trajectory from a file has no 'columm'; did you mean 'column'?",
        ),
        ('data/stroke.csv"', 'data/stroke.csv"\ntimes = [0, 1]', "target: a sampled trajectory from a file has no 'times'"),
        (
            'column = "stroke"\ninterpolation = "cubic"',
            'column = "stroke"\ninterpolation = "quintic"',
            "sampled trajectory: quintic interpolation needs 6 samples, got 4",
        ),
    ],
)
def test_a_trajectory_that_breaks_a_rule_is_refused_with_the_line_of_its_table(model_file, old, new, message):
    assert FILE.count(old) == 1
    text = FILE.replace(old, new)
    path = model_file(text)
    with pytest.raises(MechanismError) as error:
        read_model(path, BUILT_IN)
    lines = text.split("\n")
    wrong = next(i for i, line in enumerate(lines) if new.split("\n")[0] in line)
    table = max(i for i, line in enumerate(lines) if line.startswith(("target =", "[forces.target]")) and i <= wrong)
    assert str(error.value).startswith(f"{path}:{table + 1}: force 'drive-")
    assert message in str(error.value)


def test_an_unsymmetric_matrix_in_a_model_file_is_refused_with_its_line(model_file):
    text = FILE + f'\n[[forces]]\nkind = "hydrostatic"\nbody = "one"\nmatrix = {crooked()}\n'
    path = model_file(text)
    with pytest.raises(MechanismError) as error:
        read_model(path, BUILT_IN)
    line = text[: text.index("matrix =")].count("\n") + 1
    assert str(error.value).startswith(f"{path}:{line}: hydrostatic on 'one': the matrix is not symmetric: entry (5, 2) is")
