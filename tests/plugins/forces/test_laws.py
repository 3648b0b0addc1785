"""One-sided laws: rounded corners, and drag that never turns a push into a pull."""

import casadi as ca
import numpy as np
import pytest

from kingpost.plugins.forces.laws import never_negative, one_sided


def test_the_rounded_corner_is_zero_below_straight_above_and_smooth_between():
    s = ca.SX.sym("s")
    value, slope, integral = one_sided(s, ca.SX(0.2))
    derivatives = [ca.gradient(integral, s) - value, ca.gradient(value, s) - slope]
    curvature = ca.gradient(slope, s)
    law = ca.Function("law", [s], [value, slope, integral, *derivatives, curvature])
    for stretch in (-3.0, -0.1):
        assert [float(x) for x in law(stretch)] == [0.0] * 6
    for stretch in (0.1 + 1e-9, 0.7, 20.0):
        found = [float(x) for x in law(stretch)]
        assert found[:3] == pytest.approx([stretch, 1.0, stretch**2 / 2 + 0.2**2 / 40], rel=1e-14)
        assert found[3:] == pytest.approx([0, 0, 0], abs=1e-14 * stretch)
    for stretch in np.linspace(-0.099, 0.099, 23):
        value_here, slope_here, _, *zero, curvature_here = (float(x) for x in law(stretch))
        assert zero == pytest.approx([0, 0], abs=1e-15)
        assert value_here > max(stretch, 0)
        assert 0 < slope_here < 1
        # 6 x (1 - x) / width, which vanishes at both ends: the force is twice differentiable everywhere.
        x = stretch / 0.2 + 0.5
        assert curvature_here == pytest.approx(6 * x * (1 - x) / 0.2, abs=1e-12)


def test_a_one_sided_force_adds_its_drag_but_never_changes_its_sign():
    e, d = ca.SX.sym("e"), ca.SX.sym("d")
    total = never_negative(e, d)
    law = ca.Function("law", [e, d], [total, ca.jacobian(total, ca.vertcat(e, d))])
    for elastic in (1e-9, 0.3, 5.0, 1e6):
        for part in (-1e3, -3.0, -0.51, -0.5, -0.2, 0.0, 0.8, 40.0):
            exact = elastic * (1 + part if part >= -0.5 else -1 / (4 * part))
            assert float(law(elastic, part * elastic)[0]) == pytest.approx(exact, rel=1e-14)
        slopes = [np.asarray(law(elastic, (-0.5 + side) * elastic)[1]) for side in (-1e-9, 1e-9)]
        assert slopes[0] == pytest.approx(slopes[1], abs=1e-8)
    # Without an elastic part there is nothing to take off, and the slopes that Newton's method sees are finite.
    for drag in (-2.0, -1e-9, 0.0):
        assert float(law(0.0, drag)[0]) == 0.0
        assert np.isfinite(np.asarray(law(0.0, drag)[1])).all()
