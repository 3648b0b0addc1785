"""Equilibria and small motions of closed loops against minima of potentials, hand balances and minimal equations."""

import json
from math import cos, sin, sqrt

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from kingpost import Body, ForceElement, Joint, Mechanism, SolverError, simulate
from kingpost.equations.consistency import consistent_start
from kingpost.mechanism.closures import Closure
from kingpost.plugins.formulations.directors.formulation import Directors
from kingpost.plugins.formulations.kane import Kane
from kingpost.plugins.formulations.recursive import Recursive
from kingpost.plugins.models.four_bar import AXIS, coupler_and_rocker
from kingpost.statics.equilibrium import find_equilibrium
from kingpost.statics.linearize import linearize
from tests.validation.machines import model, place

G = 9.81


# --- four-bar


def four_bar_middles(crank):
    """Return the places of the middles of crank, coupler and rocker, and their angles."""
    coupler, rocker = coupler_and_rocker(crank, 1.0, 3.0, 2.5, 3.0)
    pin = np.array([cos(crank), sin(crank)])
    middles = [pin / 2, pin + 1.5 * np.array([cos(coupler), sin(coupler)]), [3 + 1.25 * cos(rocker), 1.25 * sin(rocker)]]
    return np.array(middles), np.array([crank, coupler, rocker])


@pytest.mark.parametrize("formulation", [Kane, Recursive])
def test_the_four_bar_rests_where_its_potential_is_least(plugins, formulation):
    masses, lengths = np.array([1.0, 3.0, 2.0]), np.array([1.0, 3.0, 2.5])

    def potential(crank):
        return G * masses @ four_bar_middles(crank)[0][:, 1]

    equations, x, u, p = place(model(plugins, "four-bar"), plugins, formulation)
    found = find_equilibrium(equations, x, u, p)
    lowest = minimize_scalar(potential, bracket=(-2.2, -1.8, -1.4), tol=1e-12).x
    # A minimum found from values of V alone is good to the square root of their rounding.
    assert found.x[0] == pytest.approx(lowest, abs=3e-8)
    assert found.stable and found.residual < 1e-12
    assert not found.x[3:].any()
    # w^2 = V'' / I with I from the kinetic energy at a unit rate of the crank, both by central differences.
    h = 1e-4
    stiffness = (potential(lowest + h) - 2 * potential(lowest) + potential(lowest - h)) / h**2
    (ahead, turned), (behind, back) = four_bar_middles(lowest + h), four_bar_middles(lowest - h)
    speeds, rates = (ahead - behind) / (2 * h), (turned - back) / (2 * h)
    inertia = masses @ (speeds**2).sum(axis=1) + (masses * lengths**2 / 12) @ rates**2
    (mode,) = found.linearisation.modes
    assert found.linearisation.A.shape == (2, 2)
    assert abs(mode.eigenvalue) == pytest.approx(sqrt(stiffness / inertia), rel=1e-6)
    # The shape has all joints: rates of the pin and the rocker by that of the crank.
    assert mode.shape.real == pytest.approx([1.0, rates[1] - 1.0, rates[2]], rel=1e-6)


def test_the_four_bar_has_an_unstable_equilibrium_too(plugins):
    """The nearest to the upright crank is where the potential is greatest; going for a stable one it is passed by."""
    equations, x, u, p = place(model(plugins, "four-bar"), plugins)
    x[:3] = 1.4, coupler_and_rocker(1.4, 1.0, 3.0, 2.5, 3.0)[0] - 1.4, coupler_and_rocker(1.4, 1.0, 3.0, 2.5, 3.0)[1]
    top = find_equilibrium(equations, x, u, p, stable=False)
    assert not top.stable
    highest = minimize_scalar(lambda a: -four_bar_middles(a)[0][:, 1] @ [1.0, 3.0, 2.0], bracket=(1.0, 1.4, 1.9), tol=1e-12).x
    assert top.x[0] == pytest.approx(highest, abs=3e-8)
    found = find_equilibrium(equations, top.x, u, p)
    assert found.stable
    np.testing.assert_allclose(found.passed, [top.x[:3]], atol=1e-9)
    lowest = find_equilibrium(equations, place(model(plugins, "four-bar"), plugins)[1], u, p)
    assert np.sin((found.x[:3] - lowest.x[:3]) / 2) == pytest.approx(0.0, abs=1e-9)


def test_a_run_from_equilibrium_stays_there(plugins):
    history = simulate(model(plugins, "four-bar"), 1.0, start="equilibrium", backend="vm", step=0.01, plugins=plugins)
    assert np.ptp(history.values[:, :3], axis=0).max() < 1e-12


# --- luffing crane


def test_the_cylinder_of_the_luffing_crane_by_moment_balances(plugins):
    """About the boom's foot for the boom, about the cylinder's foot for barrel and rod: two equations for the eye's force."""
    mechanism = model(plugins, "luffing-crane")
    equations, x, u, p = place(mechanism, plugins)
    x[equations.nq :] = 0.0
    found = find_equilibrium(equations, x, u, p)
    assert found.stable
    _, boom, cylinder, length = found.x[:4]
    along, lean = np.array([cos(boom), sin(boom)]), np.array([cos(cylinder), sin(cylinder)])
    eye, foot = 4.0 * along, np.array([1.0, -2.0])
    np.testing.assert_allclose(foot + length * lean, eye, atol=1e-12)
    weights_of_boom = -G * (3000.0 * 7.5 * along[0] + 2000.0 * 15.0 * along[0])
    weights_of_cylinder = -G * (200.0 * 0.8 * lean[0] + 120.0 * (length - 0.8) * lean[0])
    # Moments x Fz - z Fx of the force F on the boom, and of -F on the cylinder.
    lever = eye - foot
    F = np.linalg.solve([[-eye[1], eye[0]], [lever[1], -lever[0]]], [-weights_of_boom, -weights_of_cylinder])
    wrench = found.closures["cylinder-eye"]
    assert np.linalg.norm(wrench[3:]) == pytest.approx(np.linalg.norm(F), rel=1e-10)
    assert np.abs(wrench[:3]).max() < 1e-6 * np.linalg.norm(F)
    # The oil carries what acts along the rod: the eye's force and the rod's weight.
    pushed = 2e7 * (x[3] - length)
    assert pushed == pytest.approx(F @ lean + 120.0 * G * lean[1], rel=1e-8)
    # The rope hangs down, whatever the boom does, with sqrt(g / l) across it if the king could not turn.
    assert found.x[4:6] == pytest.approx([0.0, boom], abs=1e-9)


# --- parallelogram


def parallelogram(kind, damping=0.0):
    """Return two hanging rods of 1.5 m whose ends a bar of their distance joins: it swings without turning."""
    rod = {"com": (0, 0, -0.75), "inertia": (2.0 * 1.5**2 / 12, 2.0 * 1.5**2 / 12, 0.01)}
    forces = [ForceElement("gravity")]
    if damping:
        forces.append(ForceElement("joint-spring", coordinate="left.angle", stiffness=0.0, damping=damping))
    return Mechanism(
        "parallelogram",
        bodies=[
            Body("left-rod", 2.0, **rod),
            Body("right-rod", 2.0, **rod),
            Body("bar", 5.0, com=(1, 0, 0), inertia=(1, 1, 1)),
        ],
        joints=[
            Joint("left", "revolute", "world", "left-rod", axis=AXIS, start=0.7),
            Joint("right", "revolute", "world", "right-rod", axis=AXIS, position=(2, 0, 0), start=0.7),
            Joint("knee", "revolute", "left-rod", "bar", axis=AXIS, position=(0, 0, -1.5), start=-0.7),
        ],
        closures=[Closure("pin", kind, "right-rod", "bar", axis=AXIS, position=(0, 0, -1.5), child_position=(2, 0, 0))],
        forces=forces,
    )


@pytest.mark.parametrize("kind", ["point-on-line", "revolute"])
def test_the_frequency_of_a_swinging_parallelogram(plugins, kind):
    """w^2 = g (m + M) / (l (2 m / 3 + M)) for rods m and a bar M; the same with a pin of which three rows are redundant."""
    equations, x, u, p = place(parallelogram(kind, damping=3.0), plugins)
    found = find_equilibrium(equations, x, u, p)
    assert np.abs(found.x).max() < 1e-10
    assert found.redundant == (("pin",) if kind == "revolute" else ())
    inertia = 1.5**2 * (2 * 2.0 / 3 + 5.0)
    (mode,) = found.linearisation.modes
    w = sqrt(G * 1.5 * (2.0 + 5.0) / inertia)
    assert abs(mode.eigenvalue) == pytest.approx(w, rel=1e-10)
    assert mode.damping == pytest.approx(3.0 / (2 * w * inertia), rel=1e-8)
    assert (mode.shape / mode.shape[0]).real == pytest.approx([1, 1, -1], abs=1e-9)
    # Half of the bar hangs on each rod.
    assert np.linalg.norm(found.closures["pin"][3:]) == pytest.approx(5.0 * G / 2, rel=1e-10)


# --- slider-crank


def slider_crank_acceleration(angle, rate, torque, gas, r=0.1, l=0.3, m1=2.0, m2=1.0, m3=0.8):
    """Return the crank's acceleration by Lagrange's equation in its angle alone: I a'' + I' a'^2 / 2 + V' = Q."""

    def motion(a):
        """Return inertia, height times weight and piston place at an angle of the crank."""
        s, c = sin(a), cos(a)
        root = sqrt(l * l - (r * s) ** 2)
        turn = -r * c / root  # rod's rate, by the crank's
        middle_x, middle_z = -r * s - r * r * s * c / (2 * root), r * c / 2
        piston = -r * s - r * r * s * c / root
        inertia = m1 * r * r / 3 + m2 * (middle_x**2 + middle_z**2) + m2 * l * l / 12 * turn**2 + m3 * piston**2
        return inertia, G * (m1 * r * s / 2 + m2 * r * s / 2), piston

    h = 1e-5
    (ahead, high, _), (behind, low, _) = motion(angle + h), motion(angle - h)
    inertia, _, piston = motion(angle)
    return (torque + gas * piston - (ahead - behind) / (2 * h) * rate**2 / 2 - (high - low) / (2 * h)) / inertia


@pytest.mark.parametrize("formulation", [Kane, Recursive])
def test_a_turning_slider_crank_against_its_minimal_equation(plugins, formulation):
    """Around a motion, not a rest: the speeds of rod and piston change with a displacement, too."""
    equations, x, u, p = place(model(plugins, "slider-crank"), plugins, formulation)
    angle, rate, u = x[0], 20.0, np.array([3.0, -40.0])
    x = consistent_start(equations, 0.0, x, p).x
    assert x[3] == pytest.approx(rate, abs=1e-12)
    result = linearize(equations, 0.0, x, u, p)
    assert result.states == ("displacement of shaft.angle", "shaft.angle.rate")
    h = 1e-3  # truncation 1e-6 of third derivatives, rounding of the inner differences 1e-11 / h

    def slope(function):
        return (8 * (function(h) - function(-h)) - function(2 * h) + function(-2 * h)) / (12 * h)

    by_angle = slope(lambda d: slider_crank_acceleration(angle + d, rate, *u))
    by_rate = slope(lambda d: slider_crank_acceleration(angle, rate + d, *u))
    by_torque = slope(lambda d: slider_crank_acceleration(angle, rate, u[0] + d, u[1]))
    by_gas = slope(lambda d: slider_crank_acceleration(angle, rate, u[0], u[1] + d))
    np.testing.assert_allclose(result.A, [[0, 1], [by_angle, by_rate]], rtol=1e-6)
    np.testing.assert_allclose(result.B, [[0, 0], [by_torque, by_gas]], rtol=1e-6)
    # The pin's place as an output: r (cos a, 0, sin a), which its rate does not enter.
    np.testing.assert_allclose(result.C, [[-0.1 * sin(angle), 0], [0, 0], [0.1 * cos(angle), 0]], atol=1e-12)
    # Without the speeds that a displacement asks of the other joints A would be wrong: they are in it.
    assert abs(by_angle) > 10


def test_an_open_loop_is_not_linearised(plugins):
    equations, x, u, p = place(model(plugins, "slider-crank"), plugins)
    # The start rates are those of the crank alone: crank and rod turn as one, and the pin 0.362 m away leaves the piston.
    with pytest.raises(SolverError, match=f"closure 'piston-pin' is run apart by {20 * x[2]:.4g} m/s or rad/s"):
        linearize(equations, 0.0, x, u, p)
    x[2] += 0.1
    with pytest.raises(SolverError, match="closure 'piston-pin' is open by 0.1 m or rad"):
        linearize(equations, 0.0, x, u, p)


# --- rolling


def test_a_ball_on_springs_rolls_to_and_fro(plugins):
    """A solid ball held by springs k along x and along y: w^2 = k / (7/5 m). Turning about the contact nothing holds it."""
    slides = [("x", (1, 0, 0), 0.3), ("y", (0, 1, 0), -0.2), ("z", (0, 0, 1), 0.2)]
    parents = ["world", "along-x", "along-y", "along-z"]
    machine = Mechanism(
        "ball",
        bodies=[*(Body(name, 0.0) for name in parents[1:]), Body("ball", mass=3.0, inertia=(0.4 * 3.0 * 0.2**2,) * 3)],
        joints=[
            *(
                Joint(name, "prismatic", parent, f"along-{name}", axis=axis, start=start)
                for (name, axis, start), parent in zip(slides, parents, strict=False)
            ),
            Joint("turn", "spherical", "along-z", "ball"),
        ],
        closures=[Closure("contact", "rolling", "world", "ball", radius=0.2)],
        forces=[
            ForceElement("gravity"),
            ForceElement("joint-spring", name="kx", coordinate="x.displacement", stiffness=50.0),
            ForceElement("joint-spring", name="ky", coordinate="y.displacement", stiffness=90.0),
        ],
    )
    equations, x, u, p = place(machine, plugins)
    found = find_equilibrium(equations, x, u, p)
    np.testing.assert_allclose(found.x[:3], [0, 0, 0.2], atol=1e-10)
    # It has rolled there: by 0.3 m about y and 0.2 m about x, so it is turned.
    assert abs(found.x[3]) < 0.9
    np.testing.assert_allclose(found.closures["contact"][3:], 3.0 * G * _up(found.x), atol=1e-8)
    linear = found.linearisation
    assert linear.A.shape == (5 + 3, 5 + 3)  # five displacements, three speeds
    frequencies = sorted(abs(mode.eigenvalue) for mode in linear.modes if mode.eigenvalue.imag > 1e-6)
    np.testing.assert_allclose(frequencies, np.sqrt(np.array([50.0, 90.0]) / (1.4 * 3.0)), rtol=1e-9)


def _up(x):
    """Return the world's z in the axes of the ball."""
    w, a, b, c = x[3:7]
    return np.array([2 * (a * c - w * b), 2 * (b * c + w * a), w * w - a * a - b * b + c * c])


# --- what is refused, and the commands


def test_other_coordinates_are_refused(plugins):
    equations, x, u, p = place(model(plugins, "four-bar"), plugins, Directors)
    with pytest.raises(SolverError, match="formulation 'directors' has others; take formulation 'kane' or 'recursive'"):
        find_equilibrium(equations, x, u, p)


def test_commands_on_closed_loops(kingpost_cli, tmp_path):
    record = json.loads(kingpost_cli("equilibrium", "slider-crank", "--json").out)
    assert record["stable"] is True
    assert record["q"][:2] == pytest.approx([-np.pi / 2, np.pi / 2 + np.arcsin(1 / 3)], abs=1e-9)
    # Half of the rod's weight rests on the piston: the crank pin below it pushes neither way.
    assert np.linalg.norm(record["closures"]["piston-pin"][3:]) == pytest.approx(G / 2, rel=1e-9)
    text = kingpost_cli("equilibrium", "slider-crank").out
    assert "closure     piston-pin         force 4.905 N, moment 0 N.m" in text
    assert "\nstable\n" in text
    record = json.loads(kingpost_cli("linearize", "slider-crank", "--json").out)
    assert record["states"] == ["displacement of shaft.angle", "shaft.angle.rate"]
    assert record["shape_names"] == ["shaft.angle", "crank-pin.angle", "bore.displacement"]
    assert len(record["modes"][0]["shape_real"]) == 3
    (tmp_path / "state.json").write_text('{"q": [0.8, -1.0, 0.36]}')
    refused = kingpost_cli("linearize", "slider-crank", "--at", "state.json")
    assert refused.status != 0
    assert "leave closure 'piston-pin' open by 0.01213" in refused.err and "--close-loops" in refused.err
    closed = kingpost_cli("linearize", "slider-crank", "--at", "state.json", "--close-loops")
    assert closed.status == 0
    assert "kingpost: warning: 'crank-pin.angle' starts" in closed.err
