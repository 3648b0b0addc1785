"""Implicit and structure-preserving integrators against what numerical analysis and mechanics say of them."""

import math
import re
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, ForceElement, Input, Joint, Mechanism, SolverError, prepare, simulate
from kingpost.base.errors import PluginError
from kingpost.equations.newton_records import repeat_newton
from kingpost.mechanism.closures import Closure
from kingpost.registry.selection import select
from kingpost.testing.problems import oscillator, pendulum, planar_pendulum

INDEX_3 = ["backward-euler", "midpoint", "energy-momentum", "variational", "generalized-alpha", "bdf2"]
IMPLICIT = [*INDEX_3, "radau2"]


def rod(name, length, mass):
    return Body(name, mass=mass, com=(length / 2, 0, 0), inertia=(0.001, mass * length**2 / 12, mass * length**2 / 12))


def four_bar(rate=1.0):
    """Crank 1 m, coupler 3 m, rocker 2.5 m, pivots 3 m apart; closed by hand with the law of cosines."""
    crank, coupler, rocker, ground, angle = 1.0, 3.0, 2.5, 3.0, 1.0
    tip = crank * np.array([math.cos(angle), math.sin(angle)])
    pivot = np.array([ground, 0.0])
    reach = np.linalg.norm(pivot - tip)
    along = (coupler**2 - rocker**2 + reach**2) / (2 * reach)
    e = (pivot - tip) / reach
    pin = tip + e * along + np.array([-e[1], e[0]]) * math.sqrt(coupler**2 - along**2)
    return Mechanism(
        "four-bar",
        inputs=(Input("torque", "N.m"),),
        bodies=(rod("crank", crank, 1.0), rod("coupler", coupler, 3.0), rod("rocker", rocker, 2.0)),
        joints=(
            Joint("crank", "revolute", "world", "crank", axis=(0, 0, 1), start=angle, start_rate=rate),
            Joint(
                "knee", "revolute", "crank", "coupler", axis=(0, 0, 1), position=(crank, 0, 0),
                start=math.atan2(*(pin - tip)[::-1]) - angle,
            ),
            Joint(
                "rocker", "revolute", "world", "rocker", axis=(0, 0, 1), position=(ground, 0, 0),
                start=math.atan2(*(pin - pivot)[::-1]),
            ),
        ),
        closures=(
            Closure(
                "pin", "point-on-line", "rocker", "coupler", axis=(0, 0, 1), position=(rocker, 0, 0),
                child_position=(coupler, 0, 0),
            ),
        ),
        forces=(
            ForceElement("gravity", acceleration=(0, -9.81, 0)),
            ForceElement("joint-effort", coordinate="crank.angle", effort="torque"),
        ),
    )  # fmt: skip


def spatial_arm():
    """A double pendulum that turns about the vertical: the momentum about the vertical is constant."""
    return Mechanism(
        "spatial-arm",
        bodies=(Body("mast", mass=1.0, inertia=(0.1, 0.1, 0.2)), rod("upper", 1.0, 2.0), rod("lower", 0.8, 1.5)),
        joints=(
            Joint("slew", "revolute", "world", "mast", axis=(0, 0, 1), start_rate=2.0),
            Joint("shoulder", "revolute", "mast", "upper", axis=(0, 1, 0), start=0.4, start_rate=-1.0),
            Joint("elbow", "revolute", "upper", "lower", axis=(0, 1, 0), position=(1, 0, 0), start=0.9),
        ),
        forces=(ForceElement("gravity"),),
    )


SPIN_INERTIA = np.array([0.3, 0.5, 0.7])
SPIN_MASS = 2.0


def spinning_body():
    """A free body that tumbles about its middle axis, which is unstable."""
    return Mechanism(
        "spinning-body",
        bodies=(Body("body", mass=SPIN_MASS, inertia=tuple(SPIN_INERTIA)),),
        joints=(Joint("free", "free", "world", "body", start_rate=(0.3, 4.0, 0.2, 1.0, 0.0, 0.5)),),
    )


def gap(simulation, history):
    """Return the largest error of the constraints on positions in a history."""
    equations, count = simulation.equations, len(history.time)
    q, v = equations.split(history.values[:, : simulation.states].T)
    residuals = equations.constraint_residuals.map(count)
    return float(np.abs(np.asarray(residuals(history.time[None, :], q, v, np.tile(simulation.p[:, None], count))[0])).max())


@pytest.fixture(scope="module")
def four_bar_reference(plugins):
    """States of the four-bar after 1 s: rk4 in the accelerations, with projection, at two steps that agree to 1e-11."""
    coarse, fine = (simulate(four_bar(), 1.0, step=h, output_step=1.0, plugins=plugins).values[-1, :6] for h in (1e-4, 5e-5))
    assert np.abs(coarse - fine).max() < 1e-11
    return fine


@pytest.mark.parametrize("name", [name for name in IMPLICIT if name != "backward-euler"])
def test_a_four_bar_moves_as_with_rk4_and_projection(name, plugins, four_bar_reference):
    step = 1e-3 if name == "radau2" else 2.5e-5
    history = simulate(four_bar(), 1.0, step=step, output_step=1.0, integrator=name, plugins=plugins)
    assert np.abs(history.values[-1, :6] - four_bar_reference).max() < 1e-8


@pytest.mark.parametrize("name", INDEX_3)
def test_loops_stay_closed_to_round_off(name, plugins):
    simulation = prepare(four_bar(), 200.0, step=0.002, output_step=0.1, integrator=name, plugins=plugins)
    history = simulation.run()
    assert history.provenance["statistics"]["steps"] == 100_000
    assert gap(simulation, history) < 2e-14  # some units in the last place of lengths of 3 m


@pytest.mark.slow
@pytest.mark.parametrize("name", INDEX_3)
def test_loops_stay_closed_to_round_off_over_a_million_steps(name, plugins):
    simulation = prepare(four_bar(), 1000.0, step=0.001, output_step=1.0, integrator=name, plugins=plugins)
    assert gap(simulation, simulation.run()) < 2e-14


@pytest.mark.parametrize("name", IMPLICIT)
def test_machine_code_and_interpreter_agree(name, plugins):
    one, two = (
        simulate(four_bar(), 0.2, step=0.01, output_step=0.01, integrator=name, backend=backend, plugins=plugins).values
        for backend in ("c", "vm")
    )
    # Compilers may contract products and sums; twenty steps let that grow a little.
    assert np.abs(one - two).max() < 1e-11


@pytest.mark.parametrize("step", [0.5, 0.1])
def test_backward_euler_takes_energy_as_its_amplification_factor_says(step, plugins):
    """On x'' = -w^2 x the amplification is 1 / (1 - i w h), so each step divides the energy by 1 + (w h)^2."""
    history = simulate(oscillator(), 20.0, step=step, output_step=step, integrator="backward-euler", plugins=plugins)
    energy = history["energy.total"]
    expected = energy[0] / (1 + (2 * step) ** 2) ** np.arange(len(energy))
    assert np.abs(energy / expected - 1).max() < 1e-12


@pytest.mark.parametrize("step", [0.5, 0.1])
def test_radau2_takes_energy_as_its_stability_function_says(step, plugins):
    """R(z) = (1 + z/3) / (1 - 2z/3 + z^2/6)."""
    history = simulate(oscillator(), 20.0, step=step, output_step=step, integrator="radau2", plugins=plugins)
    z = 2j * step
    factor = abs((1 + z / 3) / (1 - 2 * z / 3 + z**2 / 6)) ** 2
    energy = history["energy.total"]
    assert np.abs(energy / (energy[0] * factor ** np.arange(len(energy))) - 1).max() < 1e-11


def test_bdf2_satisfies_its_formula(plugins):
    step = 0.05
    history = simulate(oscillator(), 2.0, step=step, output_step=step, integrator="bdf2", plugins=plugins)
    x, v = history["rail.displacement"], history["rail.displacement.rate"]
    for now, rate in ((x, v), (v, -4 * x)):
        assert np.abs(1.5 * now[2:] - 2 * now[1:-1] + 0.5 * now[:-2] - step * rate[2:]).max() < 1e-14
        assert abs(now[1] - now[0] - step * rate[1]) < 1e-14


def alpha_amplification(radius, z):
    """Return the matrix of one step of generalized-alpha on x'' = -w^2 x in (x, h v, h^2 a, h^2 w), with z = w h.

    After Chung and Hulbert (1993): M w1 = -K x1 at the end of the step, Newmark's formulas with the algorithmic acceleration a.
    """
    am, af = (2 * radius - 1) / (radius + 1), radius / (radius + 1)
    gamma = 0.5 + af - am
    beta = (1 + af - am) ** 2 / 4
    after = np.array([[1, 0, -beta, 0], [0, 1, -gamma, 0], [0, 0, 1 - am, af - 1], [z**2, 0, 0, 1]])
    before = np.array([[1, 1, 0.5 - beta, 0], [0, 1, 1 - gamma, 0], [0, 0, -am, af], [0, 0, 0, 0]])
    return np.linalg.solve(after, before)


@pytest.mark.parametrize("radius", [0.0, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("step", [0.2, 5.0])
def test_generalized_alpha_damps_as_its_amplification_matrix_says(radius, step, plugins):
    selection = f"generalized-alpha:spectral_radius={radius}"
    history = simulate(oscillator(), 60 * step, step=step, output_step=step, integrator=selection, plugins=plugins)
    matrix, state = alpha_amplification(radius, 2 * step), np.array([1.0, 0.0, -4 * step**2, -4 * step**2])
    expected = []
    for _ in range(61):
        expected.append(state[:2] / [1, step])
        state = matrix @ state
    found = np.column_stack([history["rail.displacement"], history["rail.displacement.rate"]])
    assert np.abs(found - expected).max() < 1e-11 * np.abs(expected).max()  # 60 steps of round-off, (w h)^2 = 100 at most
    # The spectral radius for fast motions: of a threefold eigenvalue at most, so off by (w h)^(-2/3) = 2.2e-3.
    fast = np.abs(np.linalg.eigvals(alpha_amplification(radius, 1e4))).max()
    assert fast == pytest.approx(radius, abs=3e-3)


@pytest.mark.parametrize("radius", [0.8, 0.95])
def test_generalized_alpha_is_stable_on_a_body_that_spins_fast(radius, plugins):
    """A body in directors, with w h = 0.4: without projected speeds the run breaks down after some seconds."""
    selection = f"generalized-alpha:spectral_radius={radius}"
    history = simulate(
        spinning_body(), 10.0, step=0.05, output_step=0.05, integrator=selection, formulation="directors", plugins=plugins
    )
    energy = history["energy.total"]
    assert np.abs(energy / energy[0] - 1).max() < 0.02  # second order with w h = 0.2: some percent of the rotation


def test_generalized_alpha_refuses_a_radius_beyond_one(plugins):
    with pytest.raises(PluginError, match="spectral_radius = 1.5 is not between 0"):
        select(plugins.integrators, "generalized-alpha:spectral_radius=1.5")
    with pytest.raises(PluginError, match="iterations = 0"):
        select(plugins.integrators, "midpoint:iterations=0")


@pytest.mark.parametrize(
    ("mechanism", "formulation", "step"),
    [
        (pendulum(), "kane", 0.1),
        (spatial_arm(), "kane", 0.05),
        pytest.param(spatial_arm(), "recursive", 0.05, marks=pytest.mark.slow),
        (four_bar(), "kane", 0.1),
        (planar_pendulum(), "kane", 0.1),
        (spinning_body(), "kane", 0.2),
        (spinning_body(), "directors", 0.1),
        (planar_pendulum(), "directors", 0.1),
    ],
    ids=lambda item: getattr(item, "name", item),
)
def test_energy_momentum_keeps_the_energy_at_long_steps(mechanism, formulation, step, plugins):
    history = simulate(
        mechanism,
        1000 * step,
        step=step,
        output_step=step,
        integrator="energy-momentum",
        formulation=formulation,
        plugins=plugins,
    )
    energy = history["energy.total"]
    scale = np.abs(history["energy.kinetic"]).max() + np.abs(history["energy.potential"]).max()
    # 1000 steps, each with the round-off of a Newton solution: some 100 units in the last place of the energies.
    assert np.ptp(energy) < 1000 * 100 * np.finfo(float).eps * scale


@pytest.mark.parametrize("name", ["energy-momentum", "variational", "midpoint"])
def test_directors_keep_the_angular_momentum_of_a_free_body(name, plugins):
    """L = m r x rdot + sum E_i d_i x ddot_i with the Euler moments E_i = (J_j + J_k - J_i) / 2: document 000, eq. (2.123)."""
    history = simulate(
        spinning_body(), 50.0, step=0.1, output_step=0.1, integrator=name, formulation="directors", plugins=plugins
    )
    # Twelve coordinates of the body, and their rates behind the four that follow its quaternion.
    places, rates = (history.values[:, rows].reshape(-1, 4, 3) for rows in (slice(0, 12), slice(16, 28)))
    weights = np.array([SPIN_MASS, *(SPIN_INERTIA.sum() / 2 - SPIN_INERTIA)])
    momentum = np.einsum("i,tij->tj", weights, np.cross(places, rates))
    assert momentum[0] == pytest.approx(SPIN_INERTIA * [0.3, 4.0, 0.2], abs=1e-14)  # about the origin, where the body starts
    # 500 steps with the round-off of places up to 50 m away.
    assert np.abs(momentum - momentum[0]).max() < 500 * 50 * SPIN_MASS * 4 * np.finfo(float).eps
    linear = SPIN_MASS * rates[:, 0]
    assert np.abs(linear - linear[0]).max() < 500 * 50 * np.finfo(float).eps / 0.1


@pytest.mark.parametrize("name", ["energy-momentum", "variational", "variational:rule=midpoint"])
def test_the_momentum_of_a_coordinate_that_no_energy_depends_on_is_kept(name, plugins):
    simulation = prepare(spatial_arm(), 50.0, step=0.02, output_step=0.02, integrator=name, plugins=plugins)
    history = simulation.run()
    equations = simulation.equations
    mass = ca.Function("mass", [equations.q, equations.v, equations.p], [(equations.M @ equations.v)[0]])
    momentum = np.array([float(mass(row[:3], row[3:6], simulation.p)) for row in history.values])
    # 2500 steps, each with the round-off of a Newton solution.
    assert np.abs(momentum - momentum[0]).max() < 2500 * 20 * np.finfo(float).eps * abs(momentum[0])
    other = simulate(spatial_arm(), 50.0, step=0.02, output_step=0.02, integrator="generalized-alpha", plugins=plugins)
    momentum = np.array([float(mass(row[:3], row[3:6], simulation.p)) for row in other.values])
    assert np.abs(momentum - momentum[0]).max() > 1e-6  # not every method does


@pytest.mark.parametrize("rule", ["trapezoidal", "midpoint"])
def test_the_energy_error_of_the_variational_integrator_does_not_grow_on_a_closed_loop(rule, plugins):
    errors = {}
    for step in (0.02, 0.01):
        simulation = prepare(
            four_bar(), 400.0, step=step, output_step=0.02, integrator=f"variational:rule={rule}", plugins=plugins
        )
        history = simulation.run()
        error = np.abs(history["energy.total"] - history["energy.total"][0])
        quarter = len(error) // 4
        assert error[-quarter:].max() < 1.2 * error[:quarter].max()
        errors[step] = error.max()
        x = history.values[::500, :6]
        speeds = [np.asarray(simulation.equations.constraint_residuals(0.0, row[:3], row[3:], simulation.p)[1]) for row in x]
        assert np.abs(speeds).max() < 1e-13  # speeds fit the constraints at the nodes
    assert errors[0.02] / errors[0.01] == pytest.approx(4.0, rel=0.1)


def test_work_of_a_torque_is_the_gain_of_energy(plugins):
    """Forces without potential work with the mean speed: a constant torque adds torque times angle, whatever the step."""
    history = simulate(
        four_bar(), 20.0, step=0.1, output_step=0.1, integrator="energy-momentum", settings={"torque": 3.0}, plugins=plugins
    )
    gain = history["energy.total"] - history["energy.total"][0]
    turned = history["crank.angle"] - history["crank.angle"][0]
    assert abs(turned[-1]) > 1.0
    scale = np.abs(history["energy.kinetic"]).max() + np.abs(history["energy.potential"]).max()
    assert np.abs(gain - 3.0 * turned).max() < 200 * 100 * np.finfo(float).eps * scale


@pytest.mark.parametrize("name", ["midpoint", "energy-momentum", "generalized-alpha", "bdf2", "radau2"])
def test_a_ball_rolls_down_a_slope(name, plugins):
    """Constraints on speeds alone: a solid ball rolls with 5/7 of the acceleration of a block that slides."""
    slope, radius, mass = 0.3, 0.2, 3.0
    ball = Mechanism(
        "ball",
        bodies=(Body("ball", mass=mass, inertia=(0.4 * mass * radius**2,) * 3),),
        joints=(Joint("free", "free", "world", "ball", start=(0, 0, radius, 1, 0, 0, 0)),),
        closures=(Closure("floor", "rolling", "world", "ball", radius=radius),),
        forces=(ForceElement("gravity", acceleration=(9.81 * math.sin(slope), 0, -9.81 * math.cos(slope))),),
    )
    history = simulate(ball, 1.0, step=0.002, output_step=0.1, integrator=name, plugins=plugins)
    expected = 5 / 7 * 9.81 * math.sin(slope) / 2 * history.time**2
    # Of second order at least: the ball turns by 5 rad, and errors are some (w h)^2 / 12 of the way with w = 10 rad/s.
    assert np.abs(history["free.x"] - expected).max() < 5e-4 * expected[-1]
    assert np.abs(history["free.z"] - radius).max() < 1e-14


@pytest.mark.parametrize("name", INDEX_3)
def test_the_matrix_of_the_iteration_stays_well_conditioned_as_the_step_goes_to_zero(name, plugins):
    conditions = []
    for step in (1e-3, 1e-7):
        simulation = prepare(four_bar(), 10 * step, step=step, integrator=name, backend="vm", plugins=plugins)
        problem = simulation.integrator.problem(simulation.equations)
        known = [0.0, simulation.x0, simulation.inputs[0], simulation.p, step]
        guess, factors = problem.guess(*known)
        jacobian = problem.residual.jacobian()
        matrix = np.asarray(jacobian(guess, *known, factors, np.zeros(guess.shape))[0])
        conditions.append(np.linalg.cond(matrix))
        history = simulation.run()
        assert gap(simulation, history) < 2e-14
    assert conditions[1] == pytest.approx(conditions[0], rel=0.01)
    assert conditions[0] < 1e3


@pytest.mark.parametrize("backend", ["c", "vm"])
def test_a_step_without_solution_is_explained(backend, plugins):
    simulation = prepare(four_bar(), 1.0, step=0.1, integrator="midpoint:iterations=2", backend=backend, plugins=plugins)
    with pytest.raises(SolverError) as caught:
        simulation.run()
    message = str(caught.value)
    assert message.startswith("'four-bar' with midpoint: the state after t = 0 s is not found: Newton's method did not solve")
    found = re.search(r"in 2 iterations \(largest scaled residual (\S+), (\S+), (\S+)\); the worst is closure 'pin'", message)
    assert found is not None
    first, second, third = map(float, found.groups())
    assert first > 1e-3 > second > third > 1e-10
    assert "try a step smaller than 0.1 s, or more iterations (midpoint:iterations=4)" in message
    assert caught.value.history is not None


def test_the_iteration_can_be_watched(plugins):
    simulation = prepare(four_bar(), 1.0, step=0.1, integrator="midpoint", backend="vm", plugins=plugins)
    record = repeat_newton(
        simulation.integrator, simulation.equations, 0.0, simulation.x0, simulation.inputs[0], simulation.p, 0.1
    )
    assert record.converged
    # Quadratic convergence: each residual is of the order of the square of the one before.
    sizes = [size for size in record.residuals if size > 1e-14]
    assert len(sizes) >= 3
    assert sizes[2] < sizes[1] ** 1.7


def test_the_variational_integrator_refuses_quaternions(plugins):
    with pytest.raises(SolverError, match="needs speeds that are the rates of the coordinates"):
        prepare(spinning_body(), 1.0, integrator="variational", plugins=plugins)


def test_bdf2_and_generalized_alpha_keep_their_order_under_inputs_that_change(plugins):
    """Inputs held over two steps at a time, the same ones for every step: only the errors of the method are left."""
    still = replace(oscillator(), inputs=(Input("push", "N"),))
    machine = replace(
        still, forces=(*still.forces, ForceElement("joint-effort", coordinate="rail.displacement", effort="push"))
    )
    push = 5 * np.sin(np.arange(31) / 3.0)
    for name in ("bdf2", "generalized-alpha"):
        ends = [
            simulate(machine, 3.0, step=step, output_step=0.1, integrator=name, inputs={"push": push}, plugins=plugins).values[
                -1, :2
            ]
            for step in (0.01, 0.005, 0.0025)
        ]
        order = math.log2(np.abs(ends[0] - ends[1]).max() / np.abs(ends[1] - ends[2]).max())
        assert order == pytest.approx(2.0, abs=0.3), name
