"""Springs, efforts, actuators and friction at joints against closed forms and the formulas of their documentation."""

import math

import numpy as np
import pytest
import scipy.special
from scipy.interpolate import BPoly, CubicSpline

from kingpost import (
    Body,
    ForceElement,
    Input,
    Joint,
    Mechanism,
    Parameter,
    prepare,
)
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.trajectories import Sampled, Sequence
from tests.plugins.forces.deriving import BUILT_IN, FORMULATIONS, applied, derive, run
from tests.plugins.forces.machines import FEW, KNOTS, LEVELS, MANY, rail, rk4_error


def on_rail(kind, **options):
    return ForceElement(kind, coordinate="rail.displacement", **options)


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


#: The only polynomial of degree 9 from 0 to 1 with four vanishing derivatives at both ends.
SMOOTH = BPoly.from_derivatives([0, 1], [[0, 0, 0, 0, 0], [1, 0, 0, 0, 0]])


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


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_rotor_is_a_body_that_a_gear_turns(formulation):
    """The same machine with a rotor as a force, and as a body on the base with a gear: the same motion, energy and loads."""
    ratio, inertia = -7.0, 0.3

    def machine(body):
        bodies = [Body("arm", mass=3.0, com=(0.4, 0, 0), inertia=(0.1, 0.5, 0.5))]
        joints = [Joint("hinge", "revolute", "world", "arm", axis=(0, 1, 0), start=0.3, start_rate=-0.5)]
        forces = [ForceElement("gravity"), ForceElement("joint-effort", coordinate="hinge.angle", effort="4 * sin(3 * t)")]
        closures = []
        if body:
            bodies.append(Body("rotor", mass=0.0, inertia=(inertia / 2, inertia, inertia / 2)))
            joints.append(
                Joint("axle", "revolute", "world", "rotor", axis=(0, 1, 0), start=0.3 * ratio, start_rate=-0.5 * ratio)
            )
            closures.append(Closure("gear", "gear", coordinates=("axle.angle", "hinge.angle"), ratio=ratio))
        else:
            # A rotor on a coordinate with the ratio to it.
            forces.append(ForceElement("joint-inertia", coordinates=("hinge.angle",), ratios=(ratio,), inertia=inertia))
        return Mechanism("arm", bodies=bodies, joints=joints, forces=forces, closures=closures)

    rotor, geared = (run(machine(body), 1.0, 0.005, formulation=formulation, loads="all") for body in (False, True))
    for name in ("hinge.angle", "hinge.angle.rate", "energy.kinetic", "energy.total", "hinge.Fx", "hinge.Fz", "hinge.My"):
        assert rotor[name] == pytest.approx(geared[name], abs=1e-9), name
    # What drive and rotor together do to the joint, and what drive and gear do to it.
    assert rotor["hinge.actuator.My"] == pytest.approx(geared["hinge.actuator.My"] + geared["hinge.closure.My"], abs=1e-9)
    assert np.abs(rotor["loads.residual.moment"]).max() < 1e-9
    assert np.ptp(rotor["hinge.angle"]) > 0.05
