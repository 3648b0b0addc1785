"""Loads on ropes of machines on a moving base: kinematics against closed forms, set-points against the whole machine."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kingpost import MechanismError, prepare
from kingpost.mechanism.elements import Output
from kingpost.plugins.feedback.suspension import Suspension
from kingpost.plugins.models.offshore_data import LARGE_CRANE

TARGETS = tuple(f"{name}_target" for name in ("slew", "luff", "knuckle", "winch"))
HOOK = ("hook.x", "hook.y", "hook.z")
TWIST = ("wx", "wy", "wz", "vx", "vy", "vz")


@pytest.fixture(scope="module")
def crane(plugins):
    return plugins.models.get("offshore-crane-on-base")().build()


@pytest.fixture(scope="module")
def suspension(crane, plugins):
    return Suspension(crane, TARGETS, HOOK, plugins)


@pytest.fixture(scope="module")
def p(crane):
    return np.array([entry.default for entry in crane.parameters])


def moving_base(rng):
    """Inputs of a base that moves anyhow, with what they mean: time, place, rotation, twist and its rate."""
    turn = Rotation.from_rotvec(0.2 * rng.normal(size=3))
    place, twist, rate = rng.normal(size=3), 0.3 * rng.normal(size=6), 0.2 * rng.normal(size=6)
    x, y, z, w = turn.as_quat()
    values = {"base_t": 1.5, **dict(zip(("base_x", "base_y", "base_z"), place, strict=True))}
    values |= dict(zip(("base_qw", "base_qx", "base_qy", "base_qz"), (w, x, y, z), strict=True))
    values |= {f"base_{name}": value for name, value in zip(TWIST, twist, strict=True)}
    values |= {f"base_{name}_rate": value for name, value in zip(TWIST, rate, strict=True)}
    return values, place, turn.as_matrix(), twist, rate


def tip_on_base(q):
    """Where the tip is from the crane's foot: two arms in a plane that the slew angle turns."""
    slew, luff, bend, _ = q
    reach = LARGE_CRANE.boom * np.cos(luff) + LARGE_CRANE.knuckle * np.cos(luff + bend)
    height = LARGE_CRANE.height + LARGE_CRANE.boom * np.sin(luff) + LARGE_CRANE.knuckle * np.sin(luff + bend)
    return np.array([reach * np.cos(slew), reach * np.sin(slew), height])


def angles(rng):
    return np.array([-1.5, 0.9, -1.1, 0.0]) + [0.5, 0.2, 0.3, 3.0] * rng.uniform(-1, 1, 4)


def given(suspension, values):
    return np.array([values[signal.name] for signal in suspension.base_inputs])


def test_the_gap_is_tip_less_load_less_stretched_rope(suspension, p):
    """Closed form: the base goes on with its twist and the rate of that; the rope is as long as its tension makes it."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        values, place, R, twist, rate = moving_base(rng)
        q, y, free, t = angles(rng), rng.normal(size=3), rng.normal(size=3) + [0, 0, 9.81], 1.7
        ago = t - 1.5
        turned = Rotation.from_rotvec(twist[:3] * ago + rate[:3] * ago**2 / 2).as_matrix()
        moved = R @ (twist[3:] * ago + (rate[3:] + np.cross(twist[:3], twist[3:])) * ago**2 / 2)
        tip = place + moved + R @ turned @ tip_on_base(q)
        tension = LARGE_CRANE.masses["load"] * np.linalg.norm(free)
        paid_out = LARGE_CRANE.rope + 0.9 * LARGE_CRANE.knuckle + LARGE_CRANE.drum_radius * q[3]
        length = paid_out * (1 + tension / LARGE_CRANE.rope_EA) - 0.9 * LARGE_CRANE.knuckle
        expected = tip - y - length * free / np.linalg.norm(free)
        gap, _, found = suspension.gap_function(t, q, given(suspension, values), p, y, free)
        np.testing.assert_allclose(np.asarray(gap).ravel(), expected, atol=1e-12)
        assert float(found) == pytest.approx(length, rel=1e-14)


def test_rates_of_the_gap_are_those_of_drives_and_base(suspension, p):
    """The Jacobian by central differences; the base alone moves the tip by R (v + w x r) in closed form."""
    rng = np.random.default_rng(1)
    values, _, R, twist, _ = moving_base(rng)
    u, q, y, free = given(suspension, values), angles(rng), rng.normal(size=3), np.array([0.3, -0.2, 9.9])

    def gap(t, q):
        return np.asarray(suspension.gap_function(t, q, u, p, y, free)[0]).ravel()

    J, reach = np.asarray(suspension.gap_function(1.5, q, u, p, y, free)[1]), 1e-5
    slopes = [(gap(1.5, q + reach * unit) - gap(1.5, q - reach * unit)) / (2 * reach) for unit in np.eye(4)]
    # Differences of numbers of the size 50: 1e-10 of their second order, 1e-9 of rounding.
    np.testing.assert_allclose(J, np.transpose(slopes), atol=5e-9)
    by_base = (gap(1.5 + reach, q) - gap(1.5 - reach, q)) / (2 * reach)
    np.testing.assert_allclose(by_base, R @ (twist[3:] + np.cross(twist[:3], tip_on_base(q))), atol=5e-9)


@pytest.mark.parametrize("tilt", [0.0, 0.1])
def test_at_rest_the_set_points_are_those_of_which_the_machine_came_to_rest(suspension, crane, p, plugins, tilt):
    """The equilibrium of the whole machine, with the load and its elastic rope, from its own equations."""
    settings = {"base_qw": np.cos(tilt / 2), "base_qx": np.sin(tilt / 2)}
    problem = prepare(crane, 0.1, settings=settings, start="equilibrium", plugins=plugins)
    names = [item.name for item in problem.equations.position_quantities]
    q = np.array([problem.x0[names.index(drive.coordinate)] for drive in suspension.drives])
    values = {signal.name: signal.default for signal in crane.inputs} | settings
    zero = np.zeros(4)
    found = suspension.setpoint_function(0, q, zero, zero, given(suspension, values), p, [0, 0, 9.81])
    expected = [values[name] for name in TARGETS]
    assert np.abs(q - expected).max() > 0.005  # drives give way under their loads
    # The rounded corner between slack and taut gives the drum EA width^2 / (40 length^2) more, 0.15 N: 5e-9 rad of its drive.
    np.testing.assert_allclose(np.asarray(found).ravel(), expected, atol=6e-9)


def test_with_the_set_points_drives_accelerate_as_they_should(suspension, crane, p, plugins):
    """The whole machine's accelerations, anywhere and in any motion of base and drives, with a load that pulls at its rope."""
    bare = replace(
        crane, parameters=[replace(e, default=0.0) if e.name == "rope_damping_time" else e for e in crane.parameters]
    )
    problem = prepare(bare, 0.1, plugins=plugins)
    e = problem.equations
    accelerations = e.exact.accelerations
    positions, speeds = ([item.name for item in group] for group in (e.position_quantities, e.speed_quantities))
    rng = np.random.default_rng(2)
    for _ in range(5):
        values, *_ = moving_base(rng)
        q, v, a = angles(rng), 0.1 * rng.normal(size=4), 0.2 * rng.normal(size=4)
        free = np.array([0.8, -0.5, 9.9]) + 0.3 * rng.normal(size=3)
        u = given(suspension, values)
        tip = np.asarray(suspension.gap_function(1.5, q, u, p, np.zeros(3), free)[0]).ravel()
        setpoints = np.asarray(suspension.setpoint_function(1.5, q, v, a, u, p, free)).ravel()
        x_q, x_v = np.zeros(e.nq), np.zeros(e.nv)
        for k, drive in enumerate(suspension.drives):
            x_q[positions.index(drive.coordinate)] = q[k]
            x_v[speeds.index(f"{drive.coordinate}.rate")] = v[k]
        hook = tip - [0, 0, LARGE_CRANE.load[2] / 2]  # the gap with the load's point at the origin is where that must be
        x_q[[positions.index(f"load.{axis}") for axis in "xyz"]] = hook
        x_q[positions.index("load.qw")] = 1.0
        inputs = {**values, **dict(zip(TARGETS, setpoints, strict=True))}
        inputs |= {drive.rate: v[k] for k, drive in enumerate(suspension.drives)} | {"targets_t": 1.5}
        found = accelerations(1.5, x_q, x_v, [inputs[signal.name] for signal in crane.inputs], problem.p)
        rows = [speeds.index(f"{drive.coordinate}.rate") for drive in suspension.drives]
        # The drum, 720 kg m^2, gets 0.15 N of the rope's rounded corner more; the knuckle feels that by the drum's inertia.
        np.testing.assert_allclose(np.asarray(found).ravel()[rows[:3]], a[:3], atol=1e-6)
        assert np.asarray(found).ravel()[rows[3]] == pytest.approx(a[3], abs=3e-4)


def test_what_does_not_hang_on_one_rope_is_refused(crane, plugins):
    with pytest.raises(MechanismError, match=r"leads all three coordinates .* the task has tip.x. Take hook.x, hook.y, hook.z"):
        Suspension(crane, TARGETS, ("tip.x",), plugins)
    with pytest.raises(MechanismError, match=r"one drive with a set-point for every coordinate .* without: knuckle.angle"):
        Suspension(crane, (*TARGETS[:2], TARGETS[3]), HOOK, plugins)
    with pytest.raises(MechanismError, match=r"input 'base_x' is no set-point of a joint-actuator"):
        Suspension(crane, ("base_x", *TARGETS[1:]), HOOK, plugins)
    parked = plugins.models.get("small-crane-parked-on-base")().build()
    with pytest.raises(MechanismError, match=r"needs one rope with a free body at its end; .* has none"):
        Suspension(parked, (), HOOK, plugins)
    elsewhere = replace(crane, outputs=[Output("hook", "load")])
    with pytest.raises(MechanismError, match=r"Give the machine an output on 'load' at"):
        Suspension(elsewhere, TARGETS, HOOK, plugins)


def test_no_symbol_is_left_open(suspension):
    for function in (suspension.gap_function, suspension.setpoint_function, suspension.gravity_function):
        assert isinstance(function, ca.Function)
        assert not function.has_free()
