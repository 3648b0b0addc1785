"""Trajectories one after another, where derivatives jump, and all derivatives at once."""

import math

import casadi as ca
import numpy as np
import pytest

from kingpost import MechanismError
from kingpost.mechanism.trajectories import (
    HIGHEST_ORDER,
    Break,
    Constant,
    Joined,
    RestToRest,
    Sampled,
    Sequence,
    ThreePhase,
    read_trajectory,
)
from tests.core.mechanism.set_points import EPS, ORDERS, SAMPLE_TIMES, SAMPLE_VALUES, SAMPLED

OUT = RestToRest(0.0, 2.0, 0.0, 3.0, "smooth:6")
BACK = ThreePhase(2.0, -1.0, 4.0, 9.0, 1.0)


def test_each_part_holds_until_the_next():
    whole = Joined((OUT, BACK, Constant(-1.0)), (3.5, 10.0))
    for t in np.linspace(-1.0, 12.0, 53):
        part = OUT if t < 3.5 else BACK if t < 10.0 else Constant(-1.0)
        assert all(whole.value(t, order=order) == part.value(t, order=order) for order in ORDERS)


@pytest.mark.parametrize("symbol", [ca.SX, ca.MX])
def test_symbols_choose_the_same_part(symbol):
    whole = Joined((OUT, Sampled(SAMPLE_TIMES, SAMPLE_VALUES, "cubic"), BACK), ("switch", 6.0))
    t = symbol.sym("t")
    function = ca.Function("f", [t], [symbol(whole.value(t, {"switch": 1.5}, order)) for order in ORDERS])
    for time in (-1.0, 0.5, 1.5, 1.7, 2.9, 5.0, 6.0, 7.3, 9.5):
        # Splines are looked up by MX and added up in another order.
        assert [float(v) for v in function(time)] == pytest.approx(whole.jets(time, 8, {"switch": 1.5}), rel=1e-12, abs=1e-12)


def test_smoothness_is_measured_at_the_joints():
    assert Joined((OUT, BACK), (3.5,)).smoothness == 4  # BACK's own
    assert Joined((OUT, RestToRest(2.0, 5.0, 4.0, 6.0, "smooth:7")), (3.5,)).smoothness == 6
    assert Joined((OUT, BACK), (1.0,)).smoothness == -1
    assert Joined((OUT, BACK), (1.0,)).breaks()[1] == Break(1.0, 0, pytest.approx(2.0 - OUT.value(1.0)))
    # A corner: the same value, another slope.
    ramp = Joined((Sequence((0, 1), (0, 1), "linear"), Sequence((0, 2), (1, 0), "linear")), (2 / 3,))
    assert ramp.smoothness == 0
    assert ramp.breaks()[1] == Break(2 / 3, 1, pytest.approx(-1.5))
    # Pieces of one polynomial are as smooth as that, wherever they are joined.
    cubic = Sampled((0.0, 1.0, 2.0, 3.0), (0.0, 1.0, 8.0, 27.0), "cubic")
    assert Joined((cubic, cubic), (1.5,)).smoothness_between(0.1, 2.9) == HIGHEST_ORDER


def test_breaks_outside_of_a_part_do_not_count():
    # BACK's fifth derivative jumps at 4, 5, 8 and 9 s; OUT's seventh at 0 and 3 s.
    whole = Joined((OUT, BACK), (4.5,))
    assert [(found.time, found.order) for found in whole.breaks()] == [(0, 7), (3, 7), (4.5, 0), (5, 5), (8, 5), (9, 5)]
    assert whole.smoothness_between(0.0, 4.0) == 6
    assert whole.smoothness_between(0.5, 2.5) == HIGHEST_ORDER
    assert whole.smoothness_between(4.6, 9.0) == 4


def test_joined_parts_may_be_joined_themselves():
    inner = Joined((OUT, BACK), (3.5,))
    outer = Joined((inner, Constant(-1.0)), (9.5,))
    assert outer.breaks() == inner.breaks()
    assert outer.value(7.0, order=3) == BACK.value(7.0, order=3)


@pytest.mark.parametrize(
    ("trajectory", "orders"),
    [
        (Constant(3.0), []),
        (RestToRest(1.0, 1.0, 0.0, 1.0), []),
        (Sequence((0, 1, 2, 3), (0, 1, 2, 3), "linear"), [1, 1]),
        (Sequence((0, 1, 2), (5, 5, 6), "hold"), [0]),
        (SAMPLED[0], [0] * 6),  # two of the values are equal
        (SAMPLED[1], [1] * 8),
        (SAMPLED[2], [1, *[3] * 4, 1]),  # there is no knot at the samples next to the ends
        (SAMPLED[3], [1, *[5] * 2, 1]),
        (Sampled((0, 1, 2, 3), (1e6, 1e6 + 1, 1e6 + 2, 1e6 + 3), "cubic"), [1, 1]),  # a straight line, rounded
    ],
)
def test_breaks_are_where_something_jumps(trajectory, orders):
    found = trajectory.breaks()
    assert [item.order for item in found] == orders
    for item in found:
        left, right = (trajectory.jets(item.time, item.order, side=side) for side in ("left", "right"))
        assert right[-1] - left[-1] == pytest.approx(item.jump)
        assert left[:-1] == pytest.approx(right[:-1], abs=1e-9 * max(1.0, abs(left[0])))


def test_two_phases_have_one_break_in_the_middle():
    assert [found.time for found in ThreePhase(0, 1, 0.1, 0.3, 0.1).breaks()] == pytest.approx([0.1, 0.2, 0.3])


@pytest.mark.parametrize("trajectory", [OUT, BACK, *SAMPLED, Constant("sin(2 * t)")])
def test_jets_are_all_derivatives(trajectory):
    for t in (-1.0, 0.0, 0.7, 2.0, 5.5):
        jets = trajectory.jets(t)
        assert jets.shape == (9,) and jets.dtype == float
        assert jets.tolist() == [trajectory.value(t, order=order) for order in ORDERS]
    assert trajectory.jets(1.0, 2).shape == (3,)


def test_a_formula_in_the_time_has_its_derivatives():
    c = Constant("3 * sin(w * t) + t ** 2")
    w, t = 2.0, 0.7
    for order, value in enumerate(c.jets(t, 8, {"w": w})):
        trigonometric = 3 * w**order * math.sin(w * t + order * math.pi / 2)
        assert value == pytest.approx(trigonometric + [t**2, 2 * t, 2][order] if order < 3 else trigonometric, rel=20 * EPS)
    symbol = ca.SX.sym("t")
    function = ca.Function("f", [symbol], [c.value(symbol, {"w": w, "t": symbol}, 5)])
    assert float(function(t)) == pytest.approx(c.value(t, {"w": w}, 5), rel=1e-14)
    assert Constant("u", "u_rate").value(0.0, {"u": 1.0, "u_rate": 4.0}, 1) == 4.0
    assert (c.smoothness, Constant("abs(t)").smoothness, Constant("max(a, 1)").smoothness) == (8, 0, 8)
    with pytest.raises(MechanismError, match=r"derivative 1 of 'sqrt\(t\)' is inf at t = 0.0 s; a trajectory needs finite"):
        Constant("sqrt(t)").value(0.0, order=1)


def test_times_that_are_symbols_have_no_breaks():
    with pytest.raises(MechanismError, match="the times of a rest-to-rest trajectory are symbols; give numbers for the names"):
        RestToRest(0, 1, 0, "T").breaks({"T": ca.SX.sym("T")})
    assert Joined((Constant("a"), Constant("b")), ("T",)).smoothness == -1


@pytest.mark.parametrize(
    ("make", "message", "path"),
    [
        (lambda: Joined((OUT,), ()), "joined trajectory: 1 part(s) given; at least 2 are needed", ("parts",)),
        (lambda: Joined((OUT, BACK), (1, 2)), "2 times for 2 parts; give the 1 time(s) at which each part", ("times",)),
        (lambda: Joined((OUT, BACK, OUT), (2, 1)), "times must rise: times[1] is 1.0 s after 2.0 s", ("times",)),
        (
            lambda: read_trajectory({"kind": "joined", "parts": [1, {"kind": "rest"}], "times": [1]}),
            "a joined trajectory: part 2: there is no trajectory of kind 'rest'; did you mean 'rest-to-rest'?",
            ("parts", 1, "kind"),
        ),
    ],
)
def test_what_cannot_be_joined_is_refused(make, message, path):
    with pytest.raises(MechanismError) as error:
        make()
    assert message in str(error.value)
    assert error.value.path == path


def test_parts_are_read_from_plain_data(tmp_path):
    (tmp_path / "heave.csv").write_text("t,x\n0,1\n1,2\n", encoding="utf-8")
    data = {"kind": "joined", "parts": [{"kind": "sampled", "file": "heave.csv"}, 2], "times": [1]}
    assert read_trajectory(data, tmp_path) == Joined((Sampled((0, 1), (1, 2)), Constant(2)), (1,))
