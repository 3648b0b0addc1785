"""Equilibria and small motions against closed forms."""

import dataclasses
import json

import numpy as np
import pytest

from kingpost import Body, ForceElement, Input, Joint, Mechanism, Output, SolverError, simulate
from kingpost.plugins.formulations.kane import Kane
from kingpost.plugins.formulations.recursive import Recursive
from kingpost.statics.equilibrium import find_equilibrium
from kingpost.statics.linearize import linearize
from kingpost.testing.problems import oscillator
from tests.validation.machines import place


@pytest.mark.parametrize("formulation", [Kane, Recursive])
def test_small_motions_of_a_double_pendulum(plugins, formulation):
    """Two equal rods: det(K - w^2 M) = 0 gives w^2 = (3 +- 6 / sqrt 7) g / l."""
    mechanism = plugins.models.get("double-pendulum")().build()
    equations, x, u, p = place(mechanism, plugins, formulation)
    found = find_equilibrium(equations, x, u, p)
    assert found.stable
    assert np.abs(found.x).max() < 1e-12
    frequencies = sorted(abs(mode.eigenvalue) for mode in found.linearisation.modes)
    exact = np.sqrt((3 + np.array([-1, 1]) * 6 / np.sqrt(7)) * 9.81)
    assert np.allclose(frequencies, exact, rtol=1e-10)
    assert all(abs(mode.damping) < 1e-10 for mode in found.linearisation.modes)


def test_the_vessel_crane_at_rest_tilts_by_about_one_degree(plugins):
    """Cubic springs against the overturning weight: k a^3 = W a, so a = sqrt(W / k) = 1.2 degrees for W = 35.1 kN m/rad."""
    mechanism = plugins.models.get("vessel-crane")().build()
    equations, x, u, p = place(mechanism, plugins)
    found = find_equilibrium(equations, x, u, p)
    assert found.stable
    assert found.residual < 1e-6  # N m, of moments of some 1e3 N m
    names = [coordinate.name for coordinate in mechanism.coordinates]
    pitch, roll = found.x[names.index("hull.pitch")], found.x[names.index("hull.roll")]
    weight = (1200 * 2.5 + 30 * (6 + 7) + 30 * 7) * 9.81  # the outer boom folded back adds little
    assert abs(pitch) == pytest.approx(np.sqrt(weight / 8e7), rel=0.05)
    assert np.degrees(abs(pitch)) == pytest.approx(1.2, abs=0.05)
    assert np.degrees(abs(roll)) > 1.0
    assert len(found.passed) >= 1  # the position without pitch is an equilibrium, too, but not a stable one


def test_the_upright_vessel_is_unstable(plugins):
    mechanism = plugins.models.get("vessel-crane")().build()
    equations, x, u, p = place(mechanism, plugins)
    nearest = find_equilibrium(equations, x, u, p, stable=False)
    assert not nearest.stable
    assert nearest.linearisation.modes[0].eigenvalue.real == pytest.approx(1.61, abs=0.02)


def test_a_stable_equilibrium_stays_where_it_is(plugins):
    mechanism = plugins.models.get("vessel-crane")().build()
    # Set-points at 0 s are at rest; freeze them there by holding the first one.
    frozen = dataclasses.replace(
        mechanism,
        forces=tuple(
            force if force.kind != "joint-actuator" else ForceElement(
                "joint-actuator", name=force.name, **{**force.options, "target": force.options["target"].values[0]}
            )
            for force in mechanism.forces
        ),
    )  # fmt: skip
    history = simulate(frozen, 5.0, start="equilibrium", plugins=plugins)
    assert np.ptp(history.values[:, :6], axis=0).max() < 1e-9


def test_matrices_against_finite_differences(plugins):
    """A, B, C, D for a machine with a quaternion, in motion: displacements are rotations about body axes."""
    mechanism = Mechanism(
        "spinning",
        inputs=[Input("push", "N"), Input("twist", "N.m")],
        bodies=[
            Body("body", 2.0, com=(0.1, 0, 0.2), inertia=(1.0, 2.0, 2.5)),
            Body("arm", 1.0, com=(0.5, 0, 0), inertia=(0.1, 0.2, 0.2)),
        ],
        joints=[
            Joint(
                "base", "free", "world", "body",
                start=(0.1, 0.2, 0.3, 0.7, 0.1, -0.1, 0.7), start_rate=(0.3, -0.2, 0.5, 1, 2, 3),
            ),
            Joint("hinge", "revolute", "body", "arm", axis=(0, 1, 1), start=0.4, start_rate=0.7),
        ],
        forces=[
            ForceElement("gravity"),
            ForceElement("body-wrench", body="body", force=("push", 0, 0), moment=(0, "twist", 0)),
        ],
        outputs=[Output("tip", "arm", at=(1, 0, 0)), Output("tip-speed", "arm", at=(1, 0, 0), quantity="velocity")],
    )  # fmt: skip
    equations, x, u, p = place(mechanism, plugins)
    result = linearize(equations, 0.0, x, u, p)
    assert result.A.shape == (14, 14)
    q, v = equations.split(x)

    def moved(theta, dv):
        """Move along the speeds, exactly: integrate qdot = N w for a unit of time with constant w."""
        state = q.copy()
        for _ in range(50):
            k1 = np.asarray(equations.kinematics(state, theta / 50, p)).ravel()
            k2 = np.asarray(equations.kinematics(state + k1 / 2, theta / 50, p)).ravel()
            state = state + k2
        return np.concatenate([state, v + dv])

    def rates(state, push):
        """vdot, outputs and the motions of the free joint at a state."""
        vdot = np.asarray(equations.accelerations(0, state[: equations.nq], state[equations.nq :], push, p)).ravel()
        outputs = np.asarray(equations.observations(0, state[: equations.nq], state[equations.nq :], push, p)).ravel()[:12]
        return vdot, outputs

    reach = 1e-5
    for i in range(14):
        change = np.zeros(14)
        change[i] = reach
        (ahead_a, ahead_y), (behind_a, behind_y) = (rates(moved(s * change[:7], s * change[7:]), u) for s in (1, -1))
        # Central differences: truncation 1e-10 times third derivatives of order 10, rounding 1e-15 / 1e-5.
        assert np.allclose((ahead_a - behind_a) / (2 * reach), result.A[7:, i], atol=1e-7 * np.abs(result.A).max())
        assert np.allclose((ahead_y - behind_y) / (2 * reach), result.C[:, i], atol=1e-7 * np.abs(result.C).max())
    for j in range(2):
        push = np.zeros(2)
        push[j] = 1.0
        assert np.allclose(rates(x, push)[0] - rates(x, 0 * push)[0], result.B[7:, j], atol=1e-12)
        assert np.allclose(result.D[:, j], 0)


def test_the_top_of_a_is_the_rate_of_displacements(plugins):
    """For a steadily turning free body a displacement seen from the body turns the other way: theta' = dv - w x theta."""
    mechanism = Mechanism(
        "turning",
        bodies=[Body("body", 1.0, inertia=(1, 1, 1))],
        joints=[Joint("ball", "spherical", "world", "body", start_rate=(0.3, -0.7, 1.1))],
    )
    equations, x, u, p = place(mechanism, plugins)
    top = linearize(equations, 0.0, x, u, p).A[:3, :3]
    w = np.array([0.3, -0.7, 1.1])
    assert np.allclose(top, -np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]), atol=1e-12)


def test_nothing_to_hold_it_is_said(plugins):
    falling = Mechanism(
        "falling",
        bodies=[Body("stone", 1.0)],
        joints=[Joint("fall", "prismatic", "world", "stone", axis=(0, 0, 1))],
        forces=[ForceElement("gravity")],
    )
    equations, x, u, p = place(falling, plugins)
    with pytest.raises(SolverError, match="no equilibrium was found .* a force of -9.81 is left along 'fall.displacement'"):
        find_equilibrium(equations, x, u, p)


def test_a_step_that_is_too_long_for_the_drives_is_warned_of(plugins):
    """The fastest mode of the stretched vessel-crane decays at 358/s, and RK4 needs h < 2.785 / |lambda| = 7.8 ms."""
    mechanism = plugins.models.get("vessel-crane")().build()
    assert simulate(mechanism, 20.0, step=0.005, plugins=plugins).provenance["warnings"] == []
    with pytest.raises(SolverError) as error:
        simulate(mechanism, 20.0, step=0.01, plugins=plugins)
    assert "a step of 0.01 s is too long for rk4: from t = 6." in str(error.value)
    assert "Use a step of 0.005 s" in str(error.value)


def test_the_stability_limit_of_rk4_is_found(plugins):
    """An oscillator with w = 2 rad/s: RK4 is stable up to w h = 2 sqrt 2, so up to 1.414 s."""
    run = simulate(oscillator(), 150.0, step=1.5, output_step=1.5, plugins=plugins)
    (warning,) = run.provenance["warnings"]
    assert "a step of 1.5 s is too long for rk4: from t = 0 s on errors outgrow the motion" in warning
    assert "need 1.4 s or less. Use a step of 1 s" in warning
    assert simulate(oscillator(), 140.0, step=1.4, output_step=1.4, plugins=plugins).provenance["warnings"] == []


def test_commands(kingpost_cli):
    record = json.loads(kingpost_cli("equilibrium", "vessel-crane", "--json").out)
    assert record["stable"] is True
    assert record["names"]["q"][:3] == ["hull.roll", "hull.pitch", "hull.yaw"]
    text = kingpost_cli("equilibrium", "vessel-crane").out
    assert "came past an unstable equilibrium" in text
    assert "\nstable\n" in text
    assert "UNSTABLE" in kingpost_cli("equilibrium", "vessel-crane", "--any").out
    record = json.loads(kingpost_cli("linearize", "vessel-crane", "--from", "equilibrium", "--json").out)
    assert np.shape(record["A"]) == (12, 12)
    assert np.shape(record["B"]) == (12, 9)
    assert np.shape(record["C"]) == (3, 12)
    assert "FREQUENCY [Hz]" in kingpost_cli("linearize", "double-pendulum").out
    run = json.loads(
        kingpost_cli("run", "vessel-crane", "--from", "equilibrium", "--t-end", "1", "--json", "--write", "csv").out
    )
    assert run["start"]["hull.pitch"] == pytest.approx(-0.0209, abs=1e-3)
    warned = kingpost_cli("run", "vessel-crane", "--step", "0.01", "--t-end", "7", "--write", "csv")
    assert warned.status == 11
    assert "kingpost: warning: a step of 0.01 s is too long for rk4" in warned.err
