"""Whitworth's quick return against document 002, section 5.3.1, and against virtual work written out by hand."""

from dataclasses import replace
from math import pi

import casadi as ca
import numpy as np
import pytest

from kingpost import inverse, read_history
from kingpost.gallery.document_002.numbers import QUICK_RETURN
from kingpost.modelfiles.opened import open_model
from kingpost.multibody.assembly import assemble
from kingpost.simulation.problem import derive
from kingpost.simulation.settings import RunSettings
from tests.plugins.models.inverse_002 import R4, SPEED, along, kinetic_energy, moments_of, needed, quick_return

W = pi / 2
T = ca.SX.sym("t")
STEP = 0.002


@pytest.fixture(scope="module")
def reference():
    """Return functions of the time: coordinates with their derivatives, the torque, and the kinetic energy."""
    angle = pi / 4 + W * T
    crank = ca.SX.sym("crank")
    parts, _ = quick_return(crank)
    torque = moments_of(parts, crank, [angle], T)
    energy = ca.substitute(kinetic_energy(parts, crank), ca.vertcat(crank, SPEED[0]), ca.vertcat(angle, W))
    return along(T, quick_return(angle)[1]), ca.Function("torque", [T], [torque]), ca.Function("energy", [T], [energy])


@pytest.fixture(scope="module")
def opened():
    return open_model("whitworth")


@pytest.fixture(scope="module")
def found(opened):
    """Return one turn of the crank as inverse dynamics finds it."""
    task = replace(opened.task("002"), t_end=4.0)
    how = RunSettings(loads=("slot", "crank-pivot"))
    stepper = f"backward-euler:step={STEP}"
    return inverse(opened.mechanism, task, method="computed-torque", stepper=stepper, plugins=opened.plugins, how=how)


def extremum(history, name, near):
    """Return time and value of the turning point of a channel nearest to a time, from a parabola through three samples."""
    t, y = history.time, history[name]
    turning = np.flatnonzero((y[1:-1] - y[:-2]) * (y[2:] - y[1:-1]) <= 0) + 1
    k = turning[np.argmin(np.abs(t[turning] - near))]
    a, b, c = y[k - 1], y[k], y[k + 1]
    shift = (a - c) / (2 * (a - 2 * b + c))
    return t[k] + shift * STEP, b - (a - c) * shift / 4


def test_the_torque_is_that_of_virtual_work(found, reference):
    ours = np.array([float(reference[1](t)) for t in found.time])
    np.testing.assert_allclose(found["torque"], ours, atol=1e-11)
    places = np.array([reference[0](t)[0] for t in found.time])
    for k, name in enumerate(("crank-pivot.angle", "lever-pivot.angle", "lever-tip.angle", "rail.displacement")):
        turns = (found[name] - places[:, k]) / (2 * pi) if "angle" in name else np.zeros(1)
        np.testing.assert_allclose(found[name] - 2 * pi * np.round(turns), places[:, k], atol=1e-12)


@pytest.fixture(scope="module")
def slopes():
    """Return, for each channel, the function of the time that gives it and its first three derivatives."""
    angle = pi / 4 + W * T
    crank = ca.SX.sym("crank")
    parts, _ = quick_return(crank)
    _, lever, _, slider = quick_return(angle)[1]
    exact = {"torque": moments_of(parts, crank, [angle], T)}
    exact |= {"rail.displacement.rate": ca.jacobian(slider, T), "lever-pivot.angle.rate": ca.jacobian(lever, T)}
    found = {}
    for name, expression in exact.items():
        column = [expression]
        for _ in range(3):
            column.append(ca.jacobian(column[-1], T))
        found[name] = ca.Function("slopes", [T], [ca.vertcat(*column)])
    return found


@pytest.mark.parametrize(("name", "time", "value"), QUICK_RETURN)
def test_extrema_and_their_times(found, slopes, name, time, value):
    """Against the extremum of the closed form, found by Newton's method on its slope.

    The vertex of a parabola through samples h apart is off by less than h^3 / 15 of the third derivative, and in time by
    h^2 / 6 of it over the second. The notes round to five decimals, and took the largest of samples: their times have
    milliseconds, and samples 1 ms apart miss a peak by up to (1 ms)^2 / 8 of the second derivative.
    """
    exact = time
    for _ in range(8):
        _, slope, second, third = np.asarray(slopes[name](exact)).ravel()
        exact -= slope / second
    peak = float(slopes[name](exact)[0])
    when, what = extremum(found, name, time)
    assert what == pytest.approx(peak, abs=STEP**3 / 15 * abs(third) + 1e-11)
    assert when == pytest.approx(exact, abs=STEP**2 / 6 * abs(third / second) + 2 * STEP**2)
    assert value == pytest.approx(peak, abs=5e-6 + 1e-3**2 / 8 * abs(second))
    assert time == pytest.approx(exact, abs=5e-4)


def test_starts_and_stroke(found):
    assert found["rail.displacement.rate"][0] == pytest.approx(-0.25588, abs=6e-6)
    assert found["lever-pivot.angle.rate"][0] == pytest.approx(0.46200, abs=6e-6)
    assert found["torque"][0] == pytest.approx(0.03654, abs=6e-6)
    x, t = found["rail.displacement"], found.time
    # Samples miss the ends by less than x'' h^2 / 8 = 2e-6 m.
    assert [x.min(), x.max(), np.ptp(x)] == pytest.approx([0.33908, 0.92218, 0.58310], abs=1.2e-5)
    rate = found["rail.displacement.rate"]
    back, forth = (t[k] - rate[k] * STEP / (rate[k + 1] - rate[k]) for k in np.flatnonzero(rate[1:] * rate[:-1] < 0))
    assert [back, forth] == pytest.approx([1.812, 3.187], abs=6e-4)
    assert (4 - (forth - back)) / (forth - back) == pytest.approx(1.909, abs=2e-3)
    # The pin goes from r4 below the crank's pivot to r4 above it.
    slot = found["pin_in_slot"]
    assert [slot.min(), slot.max()] == pytest.approx([0.3 - R4, 0.3 + R4], abs=1e-6)


def test_a_turn_takes_no_work_and_power_is_the_rate_of_energy(found, reference):
    """Target 44: u1 w4 = dT/dt, and T is the same after a turn."""
    assert abs(found["servo.work"][-1]) < 1e-8
    energy = np.array([float(reference[2](t)) for t in found.time])
    np.testing.assert_allclose(found["energy.kinetic"], energy, atol=1e-12)
    rate = (energy[2:] - energy[:-2]) / (2 * STEP)
    # h^2 / 6 times the third derivative of T, about 0.4 J of it at 12 rad/s.
    np.testing.assert_allclose(found["torque"][1:-1] * W, rate, atol=STEP**2 / 6 * 0.4 * 15**3)


def test_residuals_are_below_those_of_the_document(found, opened, reference):
    """Target 46: 8e-6 for the norm of the constraints of second order; ours are rounding."""
    assert np.abs(found["servo.acceleration.crank-pivot.angle"]).max() < 1e-12
    equations = derive(assemble(opened.mechanism, opened.plugins), "kane", opened.plugins)
    p = [parameter.default for parameter in opened.mechanism.parameters]
    for t in (0.0, 0.9, 2.4, 3.3):
        q, v, a = reference[0](t)
        (torque,), residual = needed(equations, t, q, v, a, p, ("torque",))
        assert residual < 1e-12
        assert torque == pytest.approx(float(reference[1](t)), abs=1e-12)


def test_the_slot_presses_as_the_crank_needs(found):
    """About its pivot the crank feels the torque and the slot; it turns evenly, so that both cancel."""
    force = found.loads("slot", frame="world").total[:, 3:]
    angle = found["crank-pivot.angle"]
    moment = R4 * (np.cos(angle) * force[:, 1] - np.sin(angle) * force[:, 0])
    np.testing.assert_allclose(moment, -found["torque"], atol=1e-10)


def test_the_verb_with_the_method_of_the_document(kingpost_cli, tmp_path, reference):
    """Theorem 4.3 (method modular) finds the same torques as the fixture above, here from words to files."""
    outcome = kingpost_cli(
        "inverse", "whitworth", "--task", "002", "--method", "modular", "--loads", "none", "--backend", "vm",
        "--stepper", "backward-euler:step=0.05", "--out", str(tmp_path), "--write", "npz",
    )  # fmt: skip
    assert outcome.status == 0, outcome.err
    assert "002: torque for crank-pivot.angle" in outcome.out
    history = read_history(tmp_path / "history.npz")
    assert history.time[-1] == pytest.approx(16.0)
    np.testing.assert_allclose(history["torque"], [float(reference[1](t)) for t in history.time], atol=1e-10)
