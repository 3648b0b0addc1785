"""How errors change from sample to sample at the end of a path, against the same loops simulated."""

import numpy as np
import pytest

from kingpost.control.blocks import sampled
from kingpost.control.servo.loop_stability import LoopStability, loop_stability
from tests.plugins.feedback.loops import errors, feedback, in_samples, servo_loop, start_of


def test_two_masses_with_poles_of_choice():
    """Four poles at -3, sampled: near exp(-3 h), of which rounding and sampling make four around it."""
    loop = servo_loop("mass-chain")
    for h, spread in ((0.001, 0.004), (0.0001, 0.0006)):
        found = loop_stability(loop, sampled(feedback("dynamic-extension:poles=-3").controller(loop), h))
        assert found.at_once == pytest.approx(np.exp(-3 * h), abs=spread)


def test_it_foresees_what_a_sample_of_delay_does():
    loop = servo_loop("overhead-crane")
    for horizon, late in ((0.01, True), (0.05, False)):
        block = feedback(f"dae-step:horizon={horizon}").controller(loop)
        found = loop_stability(loop, block)
        assert found.at_once < 1
        assert (found.late > 1) == late
        times, states = in_samples(loop, block, start_of(loop), 300, 1)
        runs_away = len(times) < 301 or np.abs(errors(loop, times, states)).max() > 1.0
        assert runs_away == late
    # By hand, for the swing alone: e, h e' and h^2 e'' of the sample before; see the docstring of 'dae-step'.
    loop_of_swing = np.array([[1, 1, 0.5], [0, 1, 1], [-1, -1, 0]])
    expected = np.abs(np.linalg.eigvals(loop_of_swing)).max()
    one = loop_stability(loop, feedback("dae-step:horizon=0.01").controller(loop)).late
    assert one == pytest.approx(expected, rel=0.25)


def test_words():
    assert LoopStability(0.9, 1.2).sentence == (
        "largest factor from sample to sample 0.9 (stable); one sample late 1.2 (unstable)"
    )
    assert "neither decays nor grows" in LoopStability(1.0, 1.0).sentence


def test_a_path_from_outside_has_no_end():
    from kingpost.control.servo.feedback import ServoLoop

    loop = ServoLoop(servo_loop("mass-chain").problem, "inputs")
    block = sampled(feedback("dynamic-extension:path=inputs").controller(loop), 0.01)
    assert loop_stability(loop, block) == "the path comes from outside, so that its end is not known"
