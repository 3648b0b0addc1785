"""Output feedback where inputs act directly: errors obey a linear equation, whatever else moves."""

import numpy as np
import pytest

from kingpost import KingpostError, MechanismError
from kingpost.control.blocks import sampled
from tests.plugins.feedback.loops import continuous, errors, feedback, in_samples, servo_loop, start_of


@pytest.fixture(scope="module")
def arm():
    return servo_loop("passive-joint-arm", damping=0.2)


@pytest.mark.parametrize(("a0", "a1"), [(9.0, 6.0), (4.0, 1.0)])
def test_errors_decay_as_the_two_gains_say(arm, a0, a1):
    block = feedback(f"pd-output:a0={a0},a1={a1}").controller(arm)
    x = start_of(arm)
    x[0] += 0.3  # y = theta1 + kappa bend, so that the error is -0.3 rad; at rest
    times = np.linspace(0.0, 4.0, 17)
    found = errors(arm, times, continuous(arm, block, x, times))[:, 0]
    # e'' + a1 e' + a0 e = 0 with e(0) = -0.3, e'(0) = 0.
    r = np.roots([1, a1, a0]).astype(complex)
    if abs(r[0] - r[1]) < 1e-6:
        exact = -0.3 * np.exp(-a1 / 2 * times) * (1 + a1 / 2 * times)
    else:
        exact = (-0.3 * (r[0] * np.exp(r[1] * times) - r[1] * np.exp(r[0] * times)) / (r[0] - r[1])).real
    np.testing.assert_allclose(found, exact, atol=2e-11)


def test_errors_of_any_size_decay_in_the_same_way(arm):
    block = feedback("pd-output").controller(arm)
    times = np.linspace(0.0, 1.0, 5)
    shapes = []
    for offset in (0.01, 1.0):
        x = start_of(arm)
        x[0] -= offset
        shapes.append(errors(arm, times, continuous(arm, block, x, times))[:, 0] / offset)
    np.testing.assert_allclose(shapes[0], shapes[1], atol=1e-9)


def test_sampled_errors_go_with_the_sample_time(arm):
    largest = []
    for h in (0.02, 0.01):
        block = sampled(feedback("pd-output").controller(arm), h)
        largest.append(np.abs(errors(arm, *in_samples(arm, block, start_of(arm), round(6.0 / h)))).max())
    # Inputs that hold are half a sample late: order one.
    assert largest[0] < 0.01
    assert 1.8 < largest[0] / largest[1] < 2.2


def test_a_path_from_outside_does_the_same(arm):
    inside = feedback("pd-output").controller(arm)
    loop = servo_loop("passive-joint-arm", damping=0.2)
    from kingpost.control.servo.feedback import ServoLoop

    outside = feedback("pd-output:path=inputs").controller(ServoLoop(loop.problem, "inputs"))
    names = [entry.name for entry in outside.inputs]
    assert names[-3:] == ["desired.azimuth", "desired.azimuth.d1", "desired.azimuth.d2"]
    p = [entry.default for entry in inside.parameters]
    x = np.array([0.3, 0.1, 0.2, -0.4])
    for t in (0.0, 2.5, 5.0):
        gamma = arm.problem.signals([t], 2)[0, :, 0]
        one = float(inside.function(t, [], x, p)[1])
        other = float(outside.function(0.0, [], np.concatenate([x, gamma]), p)[1])
        assert one == pytest.approx(other, rel=1e-14)


def test_tangential_problems_and_unstable_zero_dynamics_are_refused():
    with pytest.raises(MechanismError, match=r"the realisation is tangential \(rank 0 of 1"):
        feedback("pd-output").controller(servo_loop("mass-chain"))
    with pytest.raises(MechanismError, match=r"the realisation is mixed \(rank 1 of 2"):
        feedback("pd-output").controller(servo_loop("overhead-crane"))
    # Document 003, section 4.1: the end of the second link, +- sqrt(6).
    with pytest.raises(MechanismError, match=r"the zero dynamics are unstable: 2\.449"):
        feedback("pd-output").controller(servo_loop("passive-joint-arm", kappa=0.5))


def test_gains_that_do_not_let_errors_decay_are_refused():
    with pytest.raises(KingpostError, match=r"a1 = 0: it must be positive, or errors do not decay"):
        feedback("pd-output:a1=0")
    with pytest.raises(KingpostError, match=r"sample_time = -1 s: it must be positive"):
        feedback("pd-output:sample_time=-1")
