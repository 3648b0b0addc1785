"""Integrators on the rotation group: unit quaternions by construction, order, closed forms."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from kingpost import Body, ForceElement, Joint, Mechanism, prepare, simulate
from kingpost.mechanism.closures import Closure
from kingpost.plugins.integrators.rotations import Rotations, cayley, dexpinv, exponential, half_cayley, product
from kingpost.registry.selection import select
from kingpost.symbols.screws import rotation_of_quaternion

INERTIA = np.array([0.3, 0.5, 0.7])


def free_body(rates=(0.6, 3.0, -1.2, 0.5, -0.2, 0.3)):
    return Mechanism(
        "free-body",
        bodies=[Body("body", mass=2.0, inertia=tuple(INERTIA))],
        joints=[Joint("free", "free", "world", "body", start=(0.1, 0.2, 0.3, 0.5, 0.5, -0.5, 0.5), start_rate=rates)],
    )


def pendulum_tree():
    """A rail car with a ball-jointed rod, on it a hinge and another ball: all that trees may mix."""
    return Mechanism(
        "pendulum-tree",
        bodies=[
            Body("car", mass=2.0, inertia=(0.1, 0.1, 0.1)),
            Body("rod", mass=1.0, com=(0.1, 0, -0.5), inertia=(0.1, 0.12, 0.05)),
            Body("arm", mass=0.7, com=(0.3, 0, 0), inertia=(0.02, 0.05, 0.04)),
            Body("bob", mass=0.5, com=(0, 0.1, -0.2), inertia=(0.03, 0.02, 0.01)),
        ],
        joints=[
            Joint("rail", "prismatic", "world", "car", axis=(1, 0, 0), start=0.2, start_rate=0.4),
            Joint("ball", "spherical", "car", "rod", start=(0.8, 0.6, 0.0, 0.0), start_rate=(0.5, 1.0, 2.0)),
            Joint("hinge", "revolute", "rod", "arm", axis=(0, 1, 0), position=(0, 0, -0.6), start=0.4, start_rate=-1.0),
            Joint("tip", "spherical", "arm", "bob", position=(0.5, 0, 0), start_rate=(-1.0, 0.5, 1.0)),
        ],
        forces=[ForceElement("gravity"), ForceElement("joint-spring", coordinate="rail.displacement", stiffness=20.0)],
    )


def ring():
    """Two ball-jointed rods whose ends a ball closure joins: a loop with quaternions."""
    rod = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.02, 0.1, 0.1)}
    # Ends meet at (0.8, 0, 0.6) and (1.6 - 0.8, 0, 0.6): turned about y by -a and by -(pi - a), cos a = 0.8.
    half = np.arccos(0.8) / 2
    return Mechanism(
        "ring",
        bodies=[Body("one", **rod), Body("two", **rod)],
        joints=[
            Joint("left", "spherical", "world", "one", start=(np.cos(half), 0, -np.sin(half), 0), start_rate=(0.7, 0, 0)),
            Joint(
                "right", "spherical", "world", "two", position=(1.6, 0, 0),
                start=(np.cos(np.pi / 2 - half), 0, -np.sin(np.pi / 2 - half), 0),
            ),
        ],
        closures=[Closure("top", "spherical", "one", "two", position=(1, 0, 0), child_position=(1, 0, 0))],
        forces=[ForceElement("gravity")],
    )  # fmt: skip


def run(machine, t_end, step, plugins, integrator="lie-rk4", **options):
    fixed = {} if step is None else {"step": step}
    return simulate(
        machine, t_end, integrator=integrator, plugins=plugins, **{"backend": "vm", "output_step": t_end, **fixed, **options}
    )


def without_normalisation(machine, integrator, steps, h, plugins):
    """Return the states of a run in which nothing but the method itself keeps quaternions at unit length."""
    simulation = prepare(machine, 1.0, integrator="rk4", step=0.1, plugins=plugins, backend="vm")
    equations = simulation.equations
    x = ca.MX.sym("x", simulation.states)
    u, p = simulation.inputs[0], simulation.p
    step = ca.Function("step", [x], [select(plugins.integrators, integrator).step(equations, 0, x, ca.MX(u), ca.MX(p), h)])
    states = [simulation.x0]
    for _ in range(steps):
        states.append(np.asarray(step(states[-1])).ravel())
    return equations, np.array(states)


def numbers(expression):
    return np.asarray(ca.evalf(expression)).ravel()


# --- the maps


def test_the_exponential_is_the_rotation_about_an_axis():
    theta = np.array([0.3, -0.4, 1.2])
    angle, (x, y, z) = np.linalg.norm(theta), theta / np.linalg.norm(theta)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    rodrigues = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    e = ca.evalf(exponential(ca.DM(theta)))
    np.testing.assert_allclose(np.asarray(ca.DM(rotation_of_quaternion(e))), rodrigues, atol=1e-15)
    assert np.array_equal(numbers(exponential(ca.DM.zeros(3))), [1, 0, 0, 0])


@pytest.mark.parametrize("size", [0.0, 1e-3, 0.5])
def test_dexpinv_gives_the_angular_velocity_back(size):
    """The rate of exp(theta(t)) by differences of the quaternion, e' = e (0, w) / 2."""
    rng = np.random.default_rng(1)
    theta, w, d = size * rng.standard_normal(3), rng.standard_normal(3), 1e-4
    rate = numbers(dexpinv(ca.DM(theta), ca.DM(w)))
    e = [numbers(exponential(ca.DM(theta + s * rate))) for s in (0, d, -d, 2 * d, -2 * d)]
    edot = (8 * (e[1] - e[2]) - (e[3] - e[4])) / (12 * d)
    conjugate = e[0] * np.array([1, -1, -1, -1])
    found = 2 * np.asarray(product(ca.DM(conjugate), ca.DM(edot))).ravel()
    # Differences of fourth order; the series of dexpinv ends with |theta|^8 / 1.2e6, of 4e-7 at |theta| = 0.8.
    np.testing.assert_allclose(found, [0, *w], atol=1e-11 + 4 * np.linalg.norm(theta) ** 8 / 1.2e6)


def test_rotations_are_found_among_all_kinds_of_joints(plugins):
    equations = prepare(pendulum_tree(), 1.0, plugins=plugins, backend="vm").equations
    names = [item.name for item in (*equations.position_quantities, *equations.speed_quantities)]
    found = [(names[a], names[b]) for a, b in Rotations(equations).rows]
    assert found == [("ball.qw", "ball.wx"), ("tip.qw", "tip.wx")]
    x = np.arange(float(len(names)))
    rotations = Rotations(equations)
    # Taken apart and put together with no turn, a state is the same.
    again = ca.evalf(rotations.state(ca.MX(x), rotations.flat(ca.MX(x)), exponential(ca.MX.zeros(6))))
    assert np.array_equal(np.asarray(again).ravel(), x)


# --- the method


def test_unit_length_holds_by_construction(plugins):
    """Products of unit quaternions: some units in the last place for each of 2000 steps, in either direction."""
    equations, states = without_normalisation(pendulum_tree(), "lie-rk4", 2000, 0.01, plugins)
    for first in equations.quaternions:
        assert np.abs(np.linalg.norm(states[:, first : first + 4], axis=1) - 1).max() < 2000 * 4 * np.finfo(float).eps
    # rk4 leaves it, by errors of its order.
    equations, states = without_normalisation(pendulum_tree(), "rk4", 200, 0.01, plugins)
    assert np.abs(np.linalg.norm(states[:, 1:5], axis=1) - 1).max() > 1e-9


def test_a_constant_angular_velocity_is_exact_in_steps_of_any_length(plugins):
    """A ball spins: e(t) = e0 exp(w t), after steps of 2 rad each."""
    w = np.array([1.2, -0.5, 1.5])
    ball = Mechanism(
        "ball",
        bodies=[Body("ball", mass=1.0, inertia=(0.4, 0.4, 0.4))],
        joints=[Joint("centre", "spherical", "world", "ball", start=(0.5, 0.5, 0.5, 0.5), start_rate=tuple(w))],
    )
    history = run(ball, 10.0, 1.0, plugins, output_step=1.0)
    exact = [numbers(product(ca.MX([0.5] * 4), exponential(ca.DM(w * t)))) for t in history.time]
    found = history.select([f"centre.{name}" for name in ("qw", "qx", "qy", "qz")])
    np.testing.assert_allclose(found, exact, atol=1e-14)
    # The rates of quaternions that rk4 advances are far off by then.
    plain = run(ball, 10.0, 1.0, plugins, "rk4", output_step=1.0).select(["centre.qw"])
    assert np.abs(plain[:, 0] - np.array(exact)[:, 0]).max() > 0.01


def euler_reference(machine, t_end):
    """Integrate Euler's equations and the rotation matrix, written down here, with SciPy; return w and R."""
    w0 = np.array(machine.joints[0].start_rate[:3], dtype=float)
    e = np.array(machine.joints[0].start[3:], dtype=float)
    R0 = np.asarray(ca.DM(rotation_of_quaternion(ca.DM(e))))

    def rate(t, y):
        w, R = y[:3], y[3:].reshape(3, 3)
        skew = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        return np.concatenate([-np.cross(w, INERTIA * w) / INERTIA, (R @ skew).ravel()])

    y = solve_ivp(rate, (0, t_end), [*w0, *R0.ravel()], "DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    return y[:3], y[3:].reshape(3, 3), R0 @ (INERTIA * w0)


def test_a_free_body_converges_with_order_four(plugins):
    """Speeds, rotation, place and the angular momentum in space, each against Euler's equations or its constant."""
    machine = free_body()
    w, R, momentum = euler_reference(machine, 2.0)
    place = (
        np.array([0.1, 0.2, 0.3])
        + 2.0 * np.asarray(ca.DM(rotation_of_quaternion(ca.DM([0.5, 0.5, -0.5, 0.5]))) @ ca.DM([0.5, -0.2, 0.3])).ravel()
    )
    errors = []
    for step in (0.04, 0.02, 0.01):
        x = run(machine, 2.0, step, plugins).values[-1, :13]
        turned = np.asarray(ca.DM(rotation_of_quaternion(ca.DM(x[3:7]))))
        found = (x[7:10] - w, turned - R, x[:3] - place, turned @ (INERTIA * x[7:10]) - momentum)
        errors.append([np.abs(part).max() for part in found])
    orders = np.log2(np.array(errors[1]) / np.array(errors[2]))
    np.testing.assert_allclose(orders, 4.0, atol=0.3)
    assert max(errors[2]) < 1e-6


@pytest.mark.parametrize("formulation", ["kane", "recursive"])
def test_a_tree_of_mixed_joints_converges_with_order_four(formulation, plugins):
    machine = pendulum_tree()
    exact = run(machine, 1.0, None, plugins, "dop853:rtol=1e-12,atol=1e-13").values[-1, :18]
    errors = []
    for step in (0.02, 0.01, 0.005):
        x = run(machine, 1.0, step, plugins, formulation=formulation).values[-1, :18]
        errors.append([np.abs((x - exact)[rows]).max() for rows in (slice(0, 10), slice(10, 18))])
    orders = np.log2(np.array(errors[1]) / np.array(errors[2]))
    np.testing.assert_allclose(orders, 4.0, atol=0.4)


def test_closed_loops_are_projected_after_each_step(plugins):
    history = run(ring(), 1.0, 0.005, plugins, output_step=0.1, monitors=True)
    assert history["constraints.position"].max() < 1e-14
    exact = run(ring(), 1.0, None, plugins, "dop853:rtol=1e-11,atol=1e-12", output_step=0.1)
    # Errors of fourth order: turns of 4 rad/s, (0.02)^5 / 120 for each of 200 steps.
    np.testing.assert_allclose(history.values[:, :14], exact.values[:, :14], atol=1e-7)
    partitioned = run(ring(), 1.0, 0.005, plugins, output_step=0.1, formulation="kane:independent=auto")
    np.testing.assert_allclose(partitioned.values[:, :14], exact.values[:, :14], atol=1e-7)


def test_a_machine_without_quaternions_moves_as_with_rk4(plugins):
    machine = plugins.models.get("double-pendulum")().build()
    one, other = (run(machine, 1.0, 0.01, plugins, name).values for name in ("lie-rk4", "rk4"))
    np.testing.assert_allclose(one, other, atol=1e-13)


# --- the mid-point rule


def test_cayleys_map_and_its_half():
    theta = np.array([0.9, -0.4, 1.2])
    T = np.array([[0, -1.2, -0.4], [1.2, 0, -0.9], [0.4, 0.9, 0]])
    exact = np.linalg.solve(np.eye(3) - T / 2, np.eye(3) + T / 2)
    whole, half = (ca.evalf(turns(ca.DM(theta))) for turns in (cayley, half_cayley))
    np.testing.assert_allclose(np.asarray(ca.DM(rotation_of_quaternion(whole))), exact, atol=1e-15)
    np.testing.assert_allclose(numbers(product(half, half)), numbers(whole), atol=1e-15)
    assert np.linalg.norm(numbers(half)) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("step", [0.5, 0.05])
def test_the_midpoint_rule_keeps_energy_and_momenta_of_a_free_body(step, plugins):
    """At steps of up to 1.7 rad, to round-off: some units in the last place of 3 J and 2 kg m^2/s for each of 200 steps."""
    history = run(free_body(), 10.0, step, plugins, "lie-midpoint", output_step=step, monitors=True)
    kept = ["energy.total", *(f"momentum.{kind}.{axis}" for kind in ("linear", "angular") for axis in "xyz")]
    assert np.ptp(history.select(kept), axis=0).max() < 200 * 8 * np.finfo(float).eps
    # The centre of mass goes straight on, in steps of any length; it is in the origin of the body.
    for axis in "xyz":
        line = np.polyfit(history.time, history[f"free.{axis}"], 1)
        np.testing.assert_allclose(history[f"free.{axis}"], np.polyval(line, history.time), atol=1e-12)


def test_the_midpoint_rule_converges_with_order_two(plugins):
    w, R, _ = euler_reference(free_body(), 2.0)
    tree = run(pendulum_tree(), 1.0, None, plugins, "dop853:rtol=1e-11,atol=1e-12").values[-1, :18]
    errors = []
    for step in (0.01, 0.005):
        x = run(free_body(), 2.0, step, plugins, "lie-midpoint").values[-1, :13]
        turned = np.asarray(ca.DM(rotation_of_quaternion(ca.DM(x[3:7]))))
        y = run(pendulum_tree(), 1.0, step, plugins, "lie-midpoint").values[-1, :18] - tree
        errors.append([np.abs(part).max() for part in (x[7:10] - w, turned - R, y[:10], y[10:])])
    np.testing.assert_allclose(np.log2(np.array(errors[0]) / np.array(errors[1])), 2.0, atol=0.1)
    history = run(ring(), 1.0, 0.01, plugins, "lie-midpoint", output_step=0.1, monitors=True)
    assert history["constraints.position"].max() < 1e-14


@pytest.mark.parametrize("name", ["lie-rk4", "lie-midpoint"])
def test_they_compile(name, plugins):
    one, other = (run(free_body(), 1.0, 0.01, plugins, name, backend=backend).values for backend in ("auto", "vm"))
    # Compilers may contract products and sums.
    np.testing.assert_allclose(one, other, atol=1e-12)
