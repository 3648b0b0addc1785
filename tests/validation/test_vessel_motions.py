"""Hulls in the time domain against panel codes in the frequency domain: regular waves, and free decays."""

import functools

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from kingpost import simulate
from kingpost.marine.hydro.fitting.closed_loop import ClosedLoop, damping_ratio
from kingpost.marine.hydro.fitting.retardation import decay_by_convolution, retardation
from kingpost.simulation.at_sea import sea_settings
from tests.core.marine.hydro.fitting.hulls import fitted, hull, shipped
from tests.validation.vessel_runs import AMPLITUDE, PLUGINS, harmonic, machine, measured, motions_in, predicted, regular

#: What is asked for: errors of motions relative to the largest one of all frequencies and headings.
LIMITS = np.array([0.02, 0.01, 0.01, 0.01, 0.02, 0.02])


@functools.cache
def floating(name):
    memory = shipped() if name == "barge_deep" else fitted(name).memory
    vessel, mechanism = machine(hull(name), fitted=(memory, "fitted before"))
    return vessel, mechanism, predicted(vessel)


def largest(data):
    sizes = np.abs(data.motions).max(axis=(0, 1))
    return np.where(sizes > 1e-9, sizes, np.inf)


def check(name, k, h, **how):
    vessel, mechanism, prediction = floating(name)
    data = vessel.data
    found, rest = measured(vessel, mechanism, k, h, prediction, **how)
    assert (np.abs(found - data.motions[k, h]) < LIMITS * largest(data)).all(), (data.frequencies[k], data.headings[h])
    # A run that begins in the steady state of its memory stays in it: what is left is of second order in waves of 0.1 mm, but
    # for slow motions that nothing holds, which second-order forces of 1e-4 push for two periods.
    assert (rest < 2e-3 * largest(data)).all()


# Long oblique waves, the roll resonance in beam waves, the peak of heave in beam waves, short waves.
@pytest.mark.quick("13-2", "30-3")
@pytest.mark.parametrize(("k", "h"), [(10, 1), (13, 2), (18, 2), (30, 3)])
def test_in_regular_waves_the_barge_moves_as_the_panel_code_says(k, h):
    check("barge_deep", k, h, backend="vm", periods=1, steps=40)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["barge_deep", "hemisphere_r5"])
def test_in_regular_waves_hulls_move_as_the_panel_code_says_at_all_frequencies_and_headings(name):
    data = hull(name)
    for k in range(len(data.frequencies)):
        for h in range(len(data.headings)):
            check(name, k, h)


@pytest.mark.slow
@pytest.mark.parametrize("k", [12, 17, 22])
def test_from_rest_a_barge_comes_to_move_as_the_panel_code_says(k):
    """Nothing of the answer is put in: a ramp of 30 s, 200 s to settle, head waves; heave and pitch are damped by 14 %."""
    data = hull("barge_deep")
    _, mechanism = machine(data, fitted=(shipped(), ""), ramp=30.0)
    w = float(data.frequencies[k])
    settings = sea_settings(mechanism, regular(w, data.headings[4]), PLUGINS)
    history = simulate(mechanism, 300.0, settings=settings, step=0.05, plugins=PLUGINS)
    late = history.time > 230.0
    found, _ = harmonic(history.time[late], motions_in(history, data.reference)[late], w)
    error = np.abs(found / AMPLITUDE - data.motions[k, 4]) / largest(data)
    assert (error[[2, 4]] < LIMITS[[2, 4]]).all()


@pytest.mark.quick("heave")
@pytest.mark.parametrize("motion", [2, 3], ids=["heave", "roll"])
def test_let_go_the_barge_swings_as_by_convolution(motion):
    data = hull("barge_deep")
    vessel, mechanism, _ = floating("barge_deep")
    settings = {"hull.z": 1e-3} if motion == 2 else {"hull.qx": 5e-4, "hull.y": 1e-3}  # about the reference point, 1 m up
    step, count = 0.05, 201
    history = simulate(
        mechanism, step * (count - 1), settings={**settings, **sea_settings(mechanism, regular(1.0, 0.0, 0.0), PLUGINS)},
        step=step, backend="vm", plugins=PLUGINS,
    )  # fmt: skip
    found = motions_in(history, data.reference)[:, motion]
    times = step * np.arange(count)
    start = np.zeros(6)
    start[motion] = 1e-3
    total = data.inertia + vessel.memory.added_mass_inf
    for kernel, allowed in ((vessel.memory.kernel(times), 3e-3), (retardation(data, times), 0.01)):
        # With the fitted K(t) the trapezoidal rule alone differs: (w h)^2 / 12 of a phase of 10 or 18 rad. The K(t) from the
        # damping has a tail in the place of what lies beyond 2.5 rad/s.
        exact = decay_by_convolution(total, data.restoring, np.zeros((6, 6)), kernel, start, step, count)[:, motion]
        assert np.abs(found - exact).max() < allowed * 1e-3


def test_roll_swings_and_dies_out_as_its_resonance_in_the_data_says():
    """The peak of the answer to a roll moment, from the data alone: it is at w, and at 1/sqrt(2) of its height 2 d w wide."""
    data = hull("barge_deep")
    w = np.linspace(0.88, 0.94, 60001)
    k = slice(9, 20)
    A, B = (CubicSpline(data.frequencies[k], table[k])(w) for table in (data.added_mass, data.damping))
    s = 1j * w[:, None, None]
    answer = np.abs(np.linalg.inv(s**2 * (data.inertia + A) + s * B + data.restoring + 1e3 * np.eye(6))[:, 3, 3])
    top = int(answer.argmax())
    wide = np.ptp(w[answer > answer[top] / np.sqrt(2)])
    roots = ClosedLoop(shipped(), data.inertia, data.restoring, np.zeros((6, 6))).roots
    root = min(roots, key=lambda each: abs(each - 1j * w[top]))
    # Motions of the memory are within 1 % of the data's, so is the place of the peak within a part of its width; its height,
    # and so its width, within some per cent: the error of roll, 0.7 % of the peak, and that of symmetric matrices.
    assert abs(root) == pytest.approx(w[top], rel=1e-3)
    assert damping_ratio(root) == pytest.approx(wide / (2 * w[top]), rel=0.05)
