"""Feedback by an implicit step: what it does for every realisation, with measured errors."""

import numpy as np
import pytest

from kingpost import KingpostError
from tests.plugins.feedback.loops import errors, feedback, in_samples, servo_loop, start_of


def run(name, law, seconds, late=0, offset=0.0, **settings):
    """Largest errors and errors at the end of some seconds."""
    loop = servo_loop(name, **settings)
    block = feedback(law).controller(loop)
    x = start_of(loop)
    x[0] -= offset
    count = round(seconds / block.sample_time)
    times, states = in_samples(loop, block, x, count, late)
    found = np.abs(errors(loop, times, states))
    return (found.max(axis=0), found[-1]) if len(times) == count + 1 else (np.full(found.shape[1], np.inf),) * 2


def test_the_step_of_the_document_on_the_crane():
    """One sample for a horizon: 2 mm across and 6 mm up at 10 ms, and first order in the step."""
    largest, _ = run("overhead-crane", "dae-step:horizon=0.01", 3.0)
    assert largest == pytest.approx([0.00173, 0.00625], abs=2e-4)
    shorter, _ = run("overhead-crane", "dae-step:sample_time=0.005,horizon=0.005", 3.0)
    assert largest / shorter == pytest.approx([2.0, 2.0], abs=0.4)


def test_the_load_behind_comes_back():
    largest, end = run("overhead-crane", "dae-step", 8.0, offset=0.1)
    assert largest[0] == pytest.approx(0.1)
    assert end.max() < 5e-3


def test_a_sample_of_delay_is_too_much_for_the_step_of_the_document():
    assert np.isinf(run("overhead-crane", "dae-step:horizon=0.01", 3.0, late=1)[0]).all() or (
        run("overhead-crane", "dae-step:horizon=0.01", 3.0, late=1)[0].max() > 1.0
    )
    # Five samples, as Kingpost has it, do with it: 14 mm across, 44 mm up.
    largest, _ = run("overhead-crane", "dae-step", 3.0, late=1)
    assert largest == pytest.approx([0.0145, 0.0442], abs=1e-3)


def test_orthogonal_and_tangential_problems():
    largest, end = run("passive-joint-arm", "dae-step:horizon=0.01", 8.0, damping=0.2)
    assert largest.max() < 0.01
    assert end.max() < 1e-3
    largest, end = run("mass-chain", "dae-step:horizon=0.01", 8.0)
    assert largest.max() < 0.01
    assert end.max() < 1e-3


@pytest.mark.parametrize("method", ["minimal-extension", "output-coordinates", "projection"])
def test_methods_give_the_same_inputs_on_the_path(method):
    """All systems have the same solution; from a state on the path backward Euler finds inputs that differ by O(h)."""
    loop = servo_loop("overhead-crane")
    found = []
    for horizon in (0.002, 0.001):
        block = feedback(f"dae-step:method={method},horizon={horizon}").controller(loop)
        p, m = [entry.default for entry in block.parameters], [state.start for state in block.memory]
        found.append(np.asarray(block.step(0.0, m, start_of(loop), p, 0.01)[1]).ravel() - loop.start.point.u)
    # At rest there is no force on the trolley, and the weight of the load on the winch. The path begins with its fifth
    # derivative: what a step away is asked for goes with its length.
    assert np.abs(found[1]).max() < 0.3
    assert found[0][0] / found[1][0] == pytest.approx(2.0, rel=0.01)


def test_a_path_from_outside_is_carried_on():
    from kingpost.control.servo.feedback import ServoLoop

    loop = servo_loop("overhead-crane")
    inside = feedback("dae-step:horizon=0.02").controller(loop)
    outside = feedback("dae-step:horizon=0.02,path=inputs").controller(ServoLoop(loop.problem, "inputs"))
    p, m = [entry.default for entry in inside.parameters], [state.start for state in inside.memory]
    x = start_of(loop)
    for t in (0.5, 1.0):
        x[:3] = [2.2, -0.4, 3.9]
        gamma = loop.problem.signals([t], 4)[0, :, :2].ravel()
        one = np.asarray(inside.step(t, m, x, p, 0.01)[1]).ravel()
        other = np.asarray(outside.step(t, m, np.concatenate([x, gamma]), p, 0.01)[1]).ravel()
        # The fifth derivative, 15120 * 5 / 3^5 at most, is left out: h^5 / 120 of the path, h^3 / 6 of its acceleration,
        # which the swing asks for with 1 / h^2.
        np.testing.assert_allclose(one, other, rtol=5e-3)


def test_what_cannot_be_stepped_is_refused():
    with pytest.raises(KingpostError, match=r"horizon = -1: it must be finite and not negative"):
        feedback("dae-step:horizon=-1")
