"""The offshore cranes: float, heel, decay, answer waves, swing, set down, and keep account of energy."""

from math import pi, sqrt

import numpy as np
import pytest
from scipy.optimize import brentq

from kingpost import simulate
from kingpost.mechanism.values import resolve_values
from kingpost.multibody.assembly import assemble
from kingpost.plugins.models.offshore_data import LARGE, SMALL
from kingpost.simulation.problem import start_state
from kingpost.statics.equilibrium import find_equilibrium
from kingpost.statics.linearize import linearize
from kingpost.symbols.screws import numeric, quaternion_rpy

G, RHO = 9.81, 1025.0
STILL = {"wave_amplitude": 0.0}
#: The hull alone, its centre of gravity amidships.
BARE = {**STILL, "carried_mass": 0.0, "hull_x": 0.0, "hull_y": 0.0}


def built(name, plugins):
    return plugins.models.get(name)().build()


def state(mechanism, plugins, settings, formulation="kane"):
    assembly = assemble(mechanism, plugins)
    equations = plugins.formulations.get(formulation)().derive(assembly)
    values = resolve_values(mechanism, settings)
    u = np.array([values.inputs[signal.name] for signal in mechanism.inputs])
    p = np.array([values.parameters[parameter.name] for parameter in mechanism.parameters])
    return equations, start_state(assembly, equations, values), u, p


def at_rest(mechanism, plugins, settings, formulation="kane"):
    equations, x, u, p = state(mechanism, plugins, settings, formulation)
    found = find_equilibrium(equations, x, u, p, 0.0)
    return dict(zip([item.name for item in mechanism.coordinates], found.x[: equations.nq], strict=True))


def coefficients(vessel):
    """Waterplane terms and inertias of the hull alone, written out once more."""
    weight = RHO * G
    mass, roll = vessel.hull_mass, vessel.hull_mass * (0.35 * vessel.beam) ** 2
    heave = 0.80 * weight * vessel.length * vessel.beam
    return mass, roll, heave, 0.70 / 12 * weight * vessel.length * vessel.beam**3


@pytest.mark.parametrize("name", ["small-vessel", "offshore-vessel"])
def test_a_vessel_heels_under_a_known_moment(name, plugins):
    vessel = (SMALL if "small" in name else LARGE).vessel
    mass, _, _, waterplane = coefficients(vessel)
    moment = 0.02 * waterplane
    found = at_rest(built(name, plugins), plugins, {**BARE, "vessel_moment_x": moment})

    def balance(heel):
        # Restoring as written in docs/offshore.md: the waterplane's, and buoyancy below weight.
        couple = mass * G * (vessel.buoyancy_z - vessel.hull_z)
        return waterplane * np.sin(heel) * np.cos(heel) + couple * np.sin(heel) - moment

    assert 2 * np.arcsin(found["hull.qx"]) == pytest.approx(brentq(balance, 0, 0.5), rel=1e-8)


def test_a_vessel_sinks_by_what_it_is_given_to_carry(plugins):
    vessel = SMALL.vessel
    found = at_rest(built("small-vessel", plugins), plugins, {**BARE, "vessel_force_z": -5e3})
    assert found["hull.z"] == pytest.approx(-5e3 / coefficients(vessel)[2], rel=1e-9)


@pytest.mark.parametrize(("name", "ship"), [("small-crane", SMALL), ("offshore-crane", LARGE)])
def test_a_ship_with_its_crane_floats_upright_at_its_draft(name, ship, plugins):
    """The table of docs/offshore.md: masses add up to the displacement, moments to nothing, but for what drives yield."""
    mechanism = built(name, plugins)
    found = at_rest(mechanism, plugins, STILL, "recursive")
    # The drives yield by about 0.03 rad under the load, which moves the crane's weight by some 0.2 m.
    assert abs(found["hull.z"]) < 1e-3
    assert 2 * abs(found["hull.qx"]) < 2e-3
    assert 2 * abs(found["hull.qy"]) < 1e-3
    carried = sum(ship.crane.masses.values())
    assert next(p.default for p in mechanism.parameters if p.name == "carried_mass") == pytest.approx(carried)


def test_heave_decays_as_a_damped_oscillator(plugins):
    vessel = SMALL.vessel
    mass, _, stiffness, _ = coefficients(vessel)
    moved = 1.9 * mass
    w, ratio = sqrt(stiffness / moved), 0.25
    history = simulate(
        built("small-vessel", plugins), 6.0, settings={**BARE, "hull.z": 0.3}, step=0.01, backend="vm", plugins=plugins
    )
    damped = w * sqrt(1 - ratio**2)
    exact = (
        0.3
        * np.exp(-ratio * w * history.time)
        * (np.cos(damped * history.time) + ratio / sqrt(1 - ratio**2) * np.sin(damped * history.time))
    )
    # rk4: (w h)^5 / 120 a step, 600 steps of w h = 0.027.
    assert np.abs(history["hull.z"] - exact).max() < 0.3 * 600 * (w * 0.01) ** 5 / 120 + 1e-9


def test_heave_in_waves_is_that_of_the_transfer_function(plugins):
    vessel = SMALL.vessel
    mass, _, stiffness, _ = coefficients(vessel)
    wave, frequency = 0.01, 1.1
    settings = {**BARE, "wave_amplitude": wave, "wave_frequency": frequency}
    history = simulate(
        built("small-vessel", plugins), 60.0, settings=settings, step=0.05, output_step=0.1, backend="vm", plugins=plugins
    )
    moved, damping = 1.9 * mass, 2 * 0.25 * sqrt(stiffness * 1.9 * mass)
    answer = 0.6 * stiffness * wave / (stiffness - frequency**2 * moved + 1j * frequency * damping)
    late = history.time > 45.0
    exact = (answer * np.exp(1j * frequency * history.time)).real
    # What roll of some 0.01 rad does to heave is of second order in it.
    assert np.abs(history["hull.z"] - exact)[late].max() < 2e-3 * abs(answer)


def test_the_load_swings_with_the_period_of_a_body_on_a_rope(plugins):
    """Rope and box are two pendulums in series: a generalized eigenvalue problem by hand."""
    crane = SMALL.crane
    stiff = {
        f"{drive}_stiffness": 1e3 * k for drive, k in zip(("slew", "luff", "knuckle", "winch"), crane.stiffness, strict=True)
    }
    mechanism = built("small-crane-on-base", plugins)
    equations, x, u, p = state(mechanism, plugins, {**stiff, "rope_EA": 1e3 * crane.rope_EA}, "recursive")
    found = find_equilibrium(equations, x, u, p, 0.0)
    frequencies = np.array([mode.frequency for mode in linearize(equations, 0.0, found.x, u, p).modes])
    a, b = crane.rope, crane.load[2] / 2
    for width in crane.load[:2]:
        inertia = (width**2 + crane.load[2] ** 2) / 12
        M = np.array([[a * a, a * b], [a * b, b * b + inertia]])
        squares = np.linalg.eigvals(np.linalg.solve(M, np.diag([a, b]) * G)).real
        for expected in np.sqrt(squares) / (2 * pi):
            # Drives and rope a thousand times as stiff yield by 1e-3 of what they did.
            assert np.abs(frequencies / expected - 1).min() < 2e-3


@pytest.mark.parametrize("name", ["small-crane", pytest.param("offshore-crane-cylinder", marks=pytest.mark.slow)])
def test_energy_is_accounted_for(name, plugins):
    """Without damping and waves: kinetic, potential and the energy in the drives, which are springs then, stay the same."""
    mechanism = built(name, plugins)
    none = {parameter.name: 0.0 for parameter in mechanism.parameters if "damping" in parameter.name}
    settings = {**STILL, **none, "roll_quadratic": 0.0, "hull.wx": 0.1, "hull.vz": 0.3}
    history = simulate(
        mechanism, 2.0, settings=settings, integrator="dop853:rtol=1e-11,atol=1e-12", output_step=0.1, plugins=plugins
    )
    defaults = {parameter.name: parameter.default for parameter in mechanism.parameters}
    targets = {signal.name: signal.default for signal in mechanism.inputs}
    energy = history["energy.total"].copy()
    for drive, coordinate in (
        ("slew", "slew.angle"), ("luff", "luff.angle"), ("knuckle", "knuckle.angle"), ("winch", "winch.angle"),
        ("cylinder", "stroke.length"),
    ):  # fmt: skip
        if f"{drive}_target" in targets:
            energy += defaults[f"{drive}_stiffness"] / 2 * (history[coordinate] - targets[f"{drive}_target"]) ** 2
    exchanged = np.ptp(history["energy.kinetic"])
    assert np.abs(energy - energy[0]).max() < 1e-8 * exchanged


def test_the_load_is_set_down_on_deck_and_picked_up_again(plugins):
    """Slack rope and all weight on the deck in between; a crane on a base at rest."""
    crane = SMALL.crane
    mechanism = built("small-crane-on-base", plugins)
    # Turned aft, the load hangs above the deck; then pay out and take in again.
    inboard = pi
    radius = crane.drum_radius
    reach = np.hypot(*crane.tip[:2])
    x, y, _ = SMALL.vessel.foot

    def winch(t):
        return float(np.interp(t, [0, 12, 16, 26], [0.0, 3.0, 3.0, 0.0])) / radius

    history = simulate(
        mechanism, 30.0, step=0.002, output_step=0.05, plugins=plugins,
        settings={
            "slew.angle": inboard, "slew_target": inboard, "load.x": x - reach, "load.y": y, "load.qw": np.cos(inboard / 2),
            "load.qz": np.sin(inboard / 2),
        },
        inputs={"winch_target": winch},
    )  # fmt: skip
    time, tension = history.time, history["rope.tension"]
    weight = crane.masses["load"] * G
    down = (time > 14.0) & (time < 16.0)
    deck = SMALL.vessel.foot[2] + crane.load[2] / 2
    assert tension[down].max() < 1e-3 * weight
    # On eight corners' springs, the lower four of them: weight / (4 k).
    assert np.abs(history["load.z"][down] - deck + weight / (4 * crane.deck_stiffness)).max() < 2e-3
    late = time > 28.0
    assert history["load.z"][late].min() > deck + 0.2
    assert tension[late].mean() == pytest.approx(weight, rel=0.02)


def test_north_east_down_is_the_same_machine(plugins):
    """The same motion of the base in both conventions gives the same crane, and wrenches that are turned by 180 degrees."""
    forward, down = (built(f"offshore-crane-on-base{suffix}", plugins) for suffix in ("", "-ned"))
    rng = np.random.default_rng(1)
    roll, pitch, yaw = 0.1, -0.05, 0.2
    twist, rate = rng.normal(size=6) / 10, rng.normal(size=6) / 10
    half = {}
    quaternion = numeric(quaternion_rpy(roll, pitch, yaw)).ravel()
    flip = np.array([1, -1, -1] * 2)
    names = ("wx", "wy", "wz", "vx", "vy", "vz")
    ours = {
        "base_x": 3.0,
        "base_y": 2.0,
        "base_z": 4.0,
        **{f"base_q{axis}": q for axis, q in zip("wxyz", quaternion, strict=True)},
    }
    theirs = {"base_x": 3.0, "base_y": -2.0, "base_z": -4.0, "base_roll": roll, "base_pitch": -pitch, "base_yaw": -yaw}
    for mechanism, settings, sign in ((forward, ours, np.ones(6)), (down, theirs, flip)):
        motion = {f"base_{name}": value for name, value in zip(names, sign * twist, strict=True)}
        motion |= {f"base_{name}_rate": value for name, value in zip(names, sign * rate, strict=True)}
        half[mechanism.name] = simulate(
            mechanism, 0.002, settings={**settings, **motion}, output_step=0.001, backend="vm", plugins=plugins
        )
    one, other = half.values()
    np.testing.assert_allclose(other["rope.tension"], one["rope.tension"], rtol=1e-9)
    for i, name in enumerate(("Mx", "My", "Mz", "Fx", "Fy", "Fz")):
        scale = np.abs(one["foot.Fz"]).max() * (30.0 if i < 3 else 1.0)
        np.testing.assert_allclose(other[f"foot.{name}"], flip[i] * one[f"foot.{name}"], atol=1e-9 * scale)
    # The weight of the crane presses its base down: positive in axes with z down.
    assert other["foot.Fz"][0] > 0 > one["foot.Fz"][0]
