"""FMUs without a solver: events in the steps of ours, sizes of states, and no question beyond the stop time."""

import numpy as np
import pytest

from kingpost.fmu.running import run_fmu
from tests.fmu.building import MODEL_EXCHANGE, needs_compiler, oscillator

pytestmark = needs_compiler
TOLD_OF_STEPS = MODEL_EXCHANGE.replace('completedIntegratorStepNotNeeded="true" ', "")


def swing(t, start=0.1, force=0.0):
    """The oscillator's position, let go at rest, with a force from then on: m = 2 kg, k = 50 N/m, d = 0.4 N s/m."""
    decay, rest = 0.1, force / 50.0
    w = np.sqrt(25 - decay**2)
    return rest + (start - rest) * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))


def test_step_events_come_after_each_step_of_the_solver(folder):
    """Told of steps, this FMU is pushed by 10 N from the first one on in which its position is negative."""
    path = oscillator(folder, "STEP_EVENT", interfaces=(TOLD_OF_STEPS,), name="step-event")
    history = run_fmu(path, 2.0, step=1.0, tolerance=1e-8, isolated=False)
    # It crosses zero at 0.317 s; at 1e-8 a fourth-order step of CVode is about (1e-8)^(1/5) / w = 5 ms long. The push adds
    # swing(t, 0, 10), whose slope at 0.683 s after is 0.4 m/s, so a delay of 5 ms is felt by about 2 mm.
    crossing = (np.pi / 2 + np.arctan(0.02)) / 5.0
    expected = swing(1.0) + swing(1.0 - crossing, 0.0, 10.0)
    assert history["position"][1] == pytest.approx(expected, abs=0.01)
    # At the communication point it would have been too late for any push: 0.2 m away.
    assert abs(expected - swing(1.0)) > 0.1


def test_tolerances_follow_the_sizes_of_states(folder):
    """At 0.255 s the states become a million times smaller, and say so."""
    path = oscillator(folder, "SHRINK", interfaces=(MODEL_EXCHANGE,), name="shrink")
    history = run_fmu(path, 1.0, tolerance=1e-6, isolated=False)
    after = history.time > 0.26
    # Relative to the states the tolerance is what it was: some hundred steps with 1e-6 each. With the old sizes it would be as
    # large as the states themselves.
    assert history["position"][after] == pytest.approx(1e-6 * swing(history.time[after]), abs=1e-6 * 1e-6 * 500)


@pytest.mark.parametrize("defects", [("STRICT_TIME",), ("KICK", "STRICT_TIME")])
def test_no_rates_are_asked_for_beyond_the_stop_time(folder, defects):
    path = oscillator(folder, *defects, interfaces=(MODEL_EXCHANGE,), name="-".join(defects).lower())
    assert len(run_fmu(path, 1.0, step=0.1, isolated=False)) == 11
