"""Inputs of native FMUs that change during a step, by the derivatives that importers give."""

import math

import pytest
from fmpy.fmi1 import FMICallException

from tests.fmu.export.native.calls import TIME, refused
from tests.fmu.hosting import Hosted
from tests.fmu.machines import flywheel


def test_inputs_that_change_linearly_are_taken_exactly(native):
    # torque = 1 + 3 t on 2 kg m^2: angle = t^2 / 4 + t^3 / 4
    path, errors = native(flywheel(), step=1.0), {}
    for linear in (True, False):
        for count in (10, 20, 40):
            with Hosted(path) as fmu:
                fmu.initialize()
                h = 1.0 / count
                for i in range(count):
                    fmu.set({"torque": 1 + 3 * i * h})
                    if linear:
                        fmu.raw.setRealInputDerivatives([fmu.references["torque"]], [1], [3.0])
                    fmu.step(i * h, h)
                    if linear:
                        assert fmu.get("torque") == pytest.approx(1 + 3 * (i + 1) * h)
                if linear:
                    assert fmu.get("axle.angle.rate") == pytest.approx(1.25, rel=1e-14)
                errors[linear, count] = abs(fmu.get("axle.angle") - 0.5)
    # The motion is a polynomial of degree 3 in time, for which rk4 is exact; held inputs are of first order.
    assert max(errors[True, count] for count in (10, 20, 40)) < 1e-14
    assert math.log2(errors[False, 20] / errors[False, 40]) == pytest.approx(1.0, abs=0.1)
    with Hosted(path) as fmu:
        fmu.initialize()
        torque = fmu.references["torque"]
        refused(3, fmu.raw.setRealInputDerivatives, [torque], [9], [1.0])
        assert fmu.said == "derivatives of inputs are taken from order 1 to 8; one of order 9 cannot be used"
        refused(3, fmu.raw.setRealInputDerivatives, [0], [1], [1.0])
        assert fmu.said == "value reference 0 is not an input, so it has no derivative to set"
        refused(3, fmu.raw.setRealInputDerivatives, [torque], [1], [math.nan])
        assert fmu.said == "the derivative of 'torque' was set to nan; it must be finite"
        # A new value is a new beginning: it holds unless it is given a rate of its own.
        fmu.raw.setRealInputDerivatives([torque], [1], [1.0])
        fmu.set({"torque": 2.0})
        fmu.step(0.0, 0.1)
        assert fmu.get("torque") == 2.0
        refused(3, fmu.raw.getRealOutputDerivatives, [fmu.references["axle.angle"]], [1])


def test_going_back_takes_rates_and_parameters_along(native):
    with Hosted(native(flywheel(), step=0.01)) as fmu:
        fmu.initialize()
        fmu.set({"torque": 1.0})
        fmu.raw.setRealInputDerivatives([fmu.references["torque"]], [1], [5.0])
        state = fmu.save()
        fmu.step(0.0, 0.5)
        first = fmu.get(fmu.outputs).tobytes()
        fmu.set({"torque": -100.0})
        fmu.restore(state)
        fmu.step(0.0, 0.5)
        assert fmu.get(fmu.outputs).tobytes() == first
        fmu.forget(state)


def test_inputs_follow_the_polynomial_of_their_derivatives(native):
    """A torque of sum c_k t^k on 2 kg m^2 gives the speed sum c_k t^(k + 1) / (2 (k + 1)), by rk4 up to the third power."""
    derivatives = (3.0, -4.0, 12.0)
    powers = [1.0, *(value / math.factorial(k) for k, value in enumerate(derivatives, start=1))]
    with Hosted(native(flywheel(), step=0.01)) as fmu:
        torque = [fmu.references["torque"]] * 3
        fmu.initialize()
        fmu.set({"torque": 1.0})
        fmu.raw.setRealInputDerivatives(torque, [1, 2, 3], list(derivatives))
        fmu.step(0.0, 0.5)
        rate, angle, after = fmu.get(["axle.angle.rate", "axle.angle", "torque"])
        assert rate == pytest.approx(sum(c * 0.5 ** (k + 1) / (k + 1) for k, c in enumerate(powers)) / 2, rel=1e-13)
        assert after == pytest.approx(sum(c * 0.5**k for k, c in enumerate(powers)), rel=1e-14)
        # The angle is what the speed does between: the part of t^5 is known to rk4 up to h^4 / 2880 times the third derivative.
        wanted = sum(c * 0.5 ** (k + 2) / ((k + 1) * (k + 2)) for k, c in enumerate(powers)) / 2
        assert angle == pytest.approx(wanted, abs=1e-10)
        # Then it holds: derivatives are for one step.
        fmu.step(0.5, 0.1)
        assert fmu.get("axle.angle.rate") == pytest.approx(rate + 0.05 * after, rel=1e-13)


def test_derivatives_of_high_order_leave_an_error_of_the_next(native):
    """With n derivatives of sin in steps of H, what is left of the speed is of order n + 1, until it is that of rk4."""
    errors = {}
    for count in (4, 8):
        for highest in (1, 2, 3, 8):
            with Hosted(native(flywheel(), step=0.001)) as fmu:
                torque, h = fmu.references["torque"], 2.0 / count
                fmu.initialize()
                for k in range(count):
                    t = k * h
                    fmu.set({"torque": math.sin(t)})
                    orders = list(range(1, highest + 1))
                    fmu.raw.setRealInputDerivatives([torque] * highest, orders, [math.sin(t + n * math.pi / 2) for n in orders])
                    fmu.step(t, h)
                speed = fmu.get("axle.angle.rate")
            errors[highest, count] = abs(speed - (1 - math.cos(2.0)) / 2)
    for highest in (1, 2, 3):
        assert math.log2(errors[highest, 4] / errors[highest, 8]) == pytest.approx(highest + 1, abs=0.3)
    # 0.25^9 / 10! in each of 8 steps.
    assert errors[8, 8] < 1e-11


def test_a_step_that_fails_leaves_inputs_where_it_got_to(native):
    """After a discarded step the polynomial goes on from the time that was reached."""
    with Hosted(native(flywheel(), step=0.25)) as fmu:
        fmu.initialize()
        fmu.set({"torque": 1.0})
        fmu.raw.setRealInputDerivatives([fmu.references["torque"]] * 2, [1, 2], [0.0, 1e308])
        with pytest.raises(FMICallException):
            fmu.step(0.0, 10.0)
        reached, torque = fmu.raw.getReal([TIME, fmu.references["torque"]])
        assert torque == pytest.approx(1.0 + 0.5e308 * reached**2, rel=1e-12)
