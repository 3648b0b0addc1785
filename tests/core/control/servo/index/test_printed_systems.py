"""Indices of equations as document 000 prints them: derivative array and signature method, without hints."""

import numpy as np
import pytest

from kingpost.control.servo.index.array_index import level, level_at, levels_at, time_scales
from kingpost.control.servo.index.sampled import slopes
from kingpost.control.servo.index.signature import jacobian_rank, signature
from kingpost.control.servo.index.walk import Walk
from tests.core.control.servo.systems import navy_2d, navy_2d_with_mass, navy_3d, navy_3d_with_mass

CASES = {"2d": (navy_2d, 5), "2d with mass": (navy_2d_with_mass, 5), "3d": (navy_3d, 5), "3d with mass": (navy_3d_with_mass, 7)}


@pytest.fixture(scope="module")
def found():
    """Return the levels of a crane at 0.3 of its manoeuvre, with its walk there."""
    kept = {}

    def find(name):
        if name not in kept:
            printed = CASES[name][0]()
            taus = time_scales(printed.t_end)
            walk = Walk.from_rest(printed.system, taus[0], 0.0, printed.start, 5)
            walk.to(0.3 * printed.t_end)
            kept[name] = printed, walk, *levels_at(printed.system, taus[0], walk.t, walk.x, taus)
        return kept[name]

    return find


@pytest.mark.parametrize("name", CASES)
def test_index_and_internal_states(found, name):
    _, _, levels, _ = found(name)
    assert [level.determined for level in levels] == [False] * (len(levels) - 1) + [True]
    assert (levels[-1].order, levels[-1].free) == (CASES[name][1], 0)
    assert all(level.width > 1e6 for level in levels)


@pytest.mark.parametrize("name", CASES)
def test_signature_method_agrees(found, name):
    printed, walk, _, series = found(name)
    made = signature(printed.system, walk.t, series[:, 0], series[:, 1] / walk.tau)
    gap, sign = jacobian_rank(made.jacobian(*slopes(printed.system, walk.tau, walk.t, series)))
    assert made.index == CASES[name][1]
    assert gap.nullity == 0
    assert sign != 0
    # Pryce: as many states as the offsets of unknowns exceed those of rows.
    assert sum(made.unknown_offsets) - sum(made.row_offsets) == 0


def test_a_pulley_with_mass_in_space_looks_like_index_6_without_scales(found):
    """The document says 5. The component at k = 6 is small and no rounding: what a threshold would miss, a gap shows."""
    _, _, levels, _ = found("3d with mass")
    six, seven = levels[-2:]
    assert 1e-5 < six.component < 0.3
    assert seven.component < 1e-11
    assert six.with_rates.nullity == six.beyond.nullity + 1


def test_the_length_of_the_manoeuvre_is_no_scale_of_time(found):
    """With tau = 20 s, gaps shrink by orders of magnitude; the widest of several is kept."""
    printed, walk, levels, series = found("3d with mass")
    long = level_at(printed.system, 7, walk.tau, walk.t, series, [20.0])
    assert long.width < 1e-2 * levels[-1].width


def test_other_scales_of_time_say_the_same(found):
    """What a scale does to the Jacobian is exact: an array written with it gives the same ranks."""
    from kingpost.control.servo.derivative_array import DerivativeArray

    printed, walk, levels, series = found("2d")
    k, n = levels[-1].order, printed.system.size
    for tau in (0.1, 0.3):
        x = series[:, : k + 2] * (tau / walk.tau) ** np.arange(k + 2)
        array = DerivativeArray(printed.system, k, tau)
        J = array.jacobian(walk.t, x, array.signals(walk.t))
        own = level(J, n, tau, walk.t, [tau])
        other = level_at(printed.system, k, walk.tau, walk.t, series, [tau])
        assert own.with_rates.nullity == other.with_rates.nullity == levels[-1].with_rates.nullity
        assert own.with_rates.above == pytest.approx(other.with_rates.above, rel=1e-6)
