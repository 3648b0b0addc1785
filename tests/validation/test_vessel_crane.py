"""The vessel-crane of document 004 as a whole: its motion, its energy, and what the paper leaves open."""

import json
from functools import cache
from math import pi

import numpy as np
import pinocchio
import pytest
import scipy.integrate

from kingpost import SolverError, simulate
from tests.validation.test_peers import vessel_crane_pinocchio

SETPOINTS = np.array([[0, 0, -3 * pi / 4], [0, pi / 4, -pi / 4], [pi / 2, pi / 4, -pi / 4]])
KP, KD, K = 5e4, 5e3, 8e7


def setpoint(t):
    """Set-points and rates of slew, luff and knuckle, written out again."""
    k = min(int(t // 10), 1)
    s = min((t - 10 * k) / 10, 1.0)
    c = 126 * s**5 - 420 * s**6 + 540 * s**7 - 315 * s**8 + 70 * s**9
    dc = (630 * s**4 - 2520 * s**5 + 3780 * s**6 - 2520 * s**7 + 630 * s**8) / 10
    move = SETPOINTS[k + 1] - SETPOINTS[k]
    return SETPOINTS[k] + c * move, dc * move


def drives(t, q, v):
    """Torques of the crane's drives."""
    target, rate = setpoint(t)
    return -KP * (q[3:] - target) - KD * (v[3:] - rate)


@cache
def independent_solution(gravity):
    """The same machine built from the paper's numbers in Pinocchio, advanced by SciPy, at every tenth of a second."""
    times = np.arange(201) * 0.1
    peer = vessel_crane_pinocchio()
    model, data, order = peer.model, peer.model.createData(), list(peer.q_order)
    model.gravity.linear = np.array([0, 0, -gravity])
    back = np.argsort(order)

    def rhs(t, x):
        q, v = x[:6], x[6:]
        tau = np.concatenate([-K * q[:3] ** 3, drives(t, q, v)])
        return np.concatenate([v, pinocchio.aba(model, data, q[order], v[order], tau[order])[back]])

    x = np.concatenate([np.zeros(3), SETPOINTS[0], np.zeros(6)])
    columns = []
    # Stability, not accuracy, bounds most of the steps: tolerances of 1e-12 and 1e-14 change no angle by more than 2e-13.
    # The set-points are only four times differentiable at 10 s, so the solver starts anew there.
    for part in (times[times <= 10], times[times >= 10]):
        solution = scipy.integrate.solve_ivp(
            rhs, (part[0], part[-1]), x, method="DOP853", rtol=1e-10, atol=1e-12, t_eval=part, dense_output=False
        )
        columns.append(solution.y)
        x = solution.y[:, -1]
    return np.hstack([columns[0], columns[1][:, 1:]]).T


@pytest.mark.parametrize(("gravity", "allowed"), [(0.0, 1e-8), (9.81, 1e-7)])
@pytest.mark.parametrize("formulation", ["kane", "recursive"])
def test_twenty_seconds_agree_with_an_independent_solution(plugins, gravity, allowed, formulation):
    """RK4 at 1 ms errs by some 2e-10; with gravity the upright vessel amplifies errors until it leans on its springs."""
    mechanism = plugins.models.get("vessel-crane")().build()
    history = simulate(
        mechanism, 20.0, settings={"gravity": gravity}, output_step=0.1, formulation=formulation, plugins=plugins
    )
    exact = independent_solution(gravity)
    assert np.abs(history.values[:, :12] - exact)[:, :6].max() < allowed


def test_the_energy_balance_closes(plugins):
    """Kinetic and potential energy of weight and springs change by the work of the drives alone."""
    mechanism = plugins.models.get("vessel-crane")().build()
    history = simulate(mechanism, 20.0, output_step=0.001, plugins=plugins)
    q, v = history.values[:, :6], history.values[:, 6:12]
    power = np.array([drives(t, q[i], v[i]) @ v[i, 3:] for i, t in enumerate(history.time)])
    work = scipy.integrate.cumulative_simpson(power, x=history.time, initial=0.0)
    energy = history["energy.total"]
    # Simpson's rule at 1 ms errs by (0.36)^4 / 180 of the short transients of the fastest mode, which hold less than 1 J.
    assert np.abs(energy - energy[0] - work).max() < 1e-9 * np.abs(energy).max()


def test_the_model_is_the_papers(plugins, kingpost_cli):
    mechanism = plugins.models.get("vessel-crane")().build()
    assert [body.name for body in mechanism.bodies] == ["vessel", "king", "inner-boom", "outer-boom"]
    assert [joint.name for joint in mechanism.joints] == ["hull", "slew", "luff", "knuckle"]
    defaults = {parameter.name: parameter.default for parameter in mechanism.parameters}
    table_one = {"l1": 5, "l2": 2, "l3": 2, "d1": 2.5, "d2": 1, "d3": 1, "d4": 1, "m1": 1200, "m2": 30, "m3": 30, "m4": 30}
    fixed_here = {"l4": 2, "kP": 5e4, "kD": 5e3, "gravity": 9.81, "stiffness": 8e7}
    assert defaults == table_one | fixed_here
    answer = json.loads(kingpost_cli("eval", "vessel-crane").out)
    assert answer["names"]["q"] == ["hull.roll", "hull.pitch", "hull.yaw", "slew.angle", "luff.angle", "knuckle.angle"]
    assert answer["q"] == [0.0, 0.0, 0.0, 0.0, 0.0, -3 * pi / 4]
    assert len(answer["u"]) == 9


def test_channels_of_the_main_job(kingpost_cli, tmp_path):
    assert kingpost_cli("run", "vessel-crane", "--write", "csv", "--out", "o").status == 0
    header = (tmp_path / "o" / "history.csv").read_text().split("\n")[1].split(",")
    coordinates = ["hull.roll", "hull.pitch", "hull.yaw", "slew.angle", "luff.angle", "knuckle.angle"]
    assert header[:13] == ["time", *coordinates, *(f"{name}.rate" for name in coordinates)]


def test_inputs_act_where_they_say(plugins):
    """A torque in the slewing joint and a moment on the vessel, as accelerations at rest: M vdot = tau."""
    mechanism = plugins.models.get("vessel-crane")().build()
    settings = {"gravity": 0.0}
    still = simulate(mechanism, 0.001, settings=settings, plugins=plugins)
    assert np.abs(still.values[-1, 6:12]).max() < 1e-12
    pushed = simulate(mechanism, 0.001, settings=settings | {"slew_torque": 10.0, "vessel_moment_x": -3.0}, plugins=plugins)
    assert pushed["slew.angle.rate"][-1] > 0
    assert pushed["hull.roll.rate"][-1] < 0


def test_an_upright_vessel_amplifies_a_small_pitch(plugins):
    """A perturbation of 1e-8 rad grows to some 1e-2 within 10 s: a property of the model, not of the integrator."""
    mechanism = plugins.models.get("vessel-crane")().build()
    one, other = (
        simulate(mechanism, 10.0, settings={"hull.pitch": pitch}, plugins=plugins)["hull.pitch"] for pitch in (0.0, 1e-8)
    )
    assert 1e-3 < np.abs(one - other).max() < 1e-1


def test_pitching_over_is_reported(plugins):
    mechanism = plugins.models.get("vessel-crane")().build()
    with pytest.raises(SolverError, match=r"joint 'hull' \(cardan\) is about to lock at t = 0 s.*hull.pitch = 1.565"):
        simulate(mechanism, 4.0, settings={"hull.pitch": 1.565}, plugins=plugins)
