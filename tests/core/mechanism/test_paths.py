"""Straight lines and turns in space: closed forms, the numbers of document 000, and what is refused."""

import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kingpost import MechanismError
from kingpost.mechanism.orientations import bryant_angles, orientation, rotation_bryant, rotation_of_vector
from kingpost.mechanism.paths import Chain, Line, Turn, read_path
from kingpost.mechanism.trajectories import Joined, RestToRest, Sequence, ThreePhase

EPS = np.finfo(float).eps
#: CABLEV, document 000, Sect. 6.3: both motions at once.
CABLEV = Turn((0, 0, 0), {"bryant": (math.pi / 6, math.pi / 4, math.pi / 3)}, 0, 20, "three-phase:blend=5")


def test_a_line_is_one_profile_in_every_component():
    # Document 000, Sect. 4.4.2: from (5, 0, -5) to (-2, 2, -2) in three phases.
    line = Line((5, 0, -5), (-2, 2, -2), 0, 20, "three-phase:blend=5")
    c = ThreePhase(0, 1, 0, 20, 5)
    assert line.components[0] == ThreePhase(5, -2, 0, 20, 5)
    assert line.smoothness == 4
    for t in (-1.0, 0.0, 2.5, 10.0, 17.5, 20.0, 30.0):
        for order in range(9):
            expected = np.array([5.0, 0.0, -5.0]) * (order == 0) + np.array([-7.0, 2.0, 3.0]) * c.value(t, order=order)
            assert line.value(t, order=order) == pytest.approx(expected, rel=8 * EPS, abs=8 * EPS)


@pytest.mark.parametrize(
    ("profile", "component"),
    [
        ("rest-to-rest", RestToRest(1, 4, 0, 2)),
        ("smooth:7", RestToRest(1, 4, 0, 2, "smooth:7")),
        ("three-phase:blend=0.5,smooth=6", ThreePhase(1, 4, 0, 2, 0.5, "smooth:6")),
        ("linear", Sequence((0, 2), (1, 4), "linear")),
    ],
)
def test_profiles_make_the_components(profile, component):
    assert Line([1], [4], 0, 2, profile).components == (component,)


def test_a_line_may_hold_formulas_and_symbols():
    line = Line(("a", 0), (0, "2 * a"), 0, "T", "smooth:6")
    t, a = ca.SX.sym("t"), ca.SX.sym("a")
    value = ca.vertcat(*line.value(t, {"a": a, "T": 3.0}, 6))
    found = ca.Function("f", [t, a], [value])(1.0, 2.0).full().ravel()
    assert found == pytest.approx(np.array(line.value(1.0, {"a": 2.0, "T": 3.0}, 6)), rel=20 * EPS)


def test_the_turn_of_the_document_has_its_axis_and_angle():
    assert CABLEV.angle == pytest.approx(1.5244035, abs=5e-8)
    assert CABLEV.direction == pytest.approx([0.5675524, 0.2904527, 0.7704035], abs=5e-8)
    assert np.linalg.norm(CABLEV.direction) == pytest.approx(1.0, abs=4 * EPS)
    assert CABLEV.orientation(20.0) == pytest.approx(rotation_bryant(math.pi / 6, math.pi / 4, math.pi / 3), abs=8 * EPS)


def test_the_printed_axis_has_the_length_two():
    # Document 000, eq. (6.97), divides by sin s instead of 2 sin s.
    R, s = np.array(CABLEV.end), CABLEV.angle
    printed = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / math.sin(s)
    assert np.linalg.norm(printed) == pytest.approx(2.0, abs=1e-14)
    assert printed / 2 == pytest.approx(CABLEV.direction, abs=1e-14)


ANGLES = st.tuples(*[st.floats(-3, 3)] * 3)


@given(start=ANGLES, end=ANGLES, t=st.floats(1.0, 4.0))
def test_a_turn_goes_from_one_orientation_to_the_other(start, end, t):
    R0, R1 = orientation(start), orientation(end)
    try:
        turn = Turn(start, end, 1.0, 4.0, "smooth:6")
    except MechanismError:  # within 1e-6 of half a turn
        return
    assert turn.orientation(1.0) == pytest.approx(R0, abs=20 * EPS)
    assert turn.orientation(4.0) == pytest.approx(R1, abs=50 * EPS)
    assert turn.angle < math.pi
    # The components are the rotation vector from the start.
    assert R0 @ rotation_of_vector(np.array(turn.value(t))) == pytest.approx(turn.orientation(t), abs=20 * EPS)


def test_the_angular_velocity_is_that_of_the_orientation():
    turn = Turn((0.3, -0.5, 1.0), (-1.0, 0.4, 0.2), 0.0, 2.0, "smooth:6")
    t, h = 0.8, 1e-3

    def R(t):
        return turn.orientation(t)

    # Differences of sixth order: h^6 of the seventh derivative, below 1e5, and eps / h of rounding.
    weights = ((-1 / 60, -3), (3 / 20, -2), (-3 / 4, -1), (3 / 4, 1), (-3 / 20, 2), (1 / 60, 3))
    spin = sum(w * R(t + k * h) for w, k in weights) / h @ R(t).T
    w = turn.angular_velocity(t)
    assert spin == pytest.approx(np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]), abs=1e-11)
    for order in range(4):  # eq. (6.101)
        rate = sum(w * turn.angular_velocity(t + k * h, order=order) for w, k in weights) / h
        assert turn.angular_velocity(t, order=order + 1) == pytest.approx(rate, rel=1e-9, abs=1e-9)
    assert turn.angular_acceleration(t) == pytest.approx(turn.angular_velocity(t, order=1))
    # The axis is the same in the axes of the start, of the body, and turned into the world fixed there.
    axis = w / np.linalg.norm(w)
    assert R(0.0) @ turn.direction == pytest.approx(axis, abs=1e-14)
    assert R(t) @ turn.direction == pytest.approx(axis, abs=1e-14)


def test_bryant_angles_along_the_turn_of_the_document():
    # t = 10 s is half of the way.
    phi = bryant_angles(CABLEV.orientation(10.0))
    assert rotation_bryant(*phi) == pytest.approx(rotation_of_vector(CABLEV.direction * CABLEV.angle / 2), abs=8 * EPS)
    rates = [np.array(bryant_angles(CABLEV.orientation(t))) for t in np.linspace(0, 20, 401)]
    assert max(np.abs(np.diff(rates, axis=0)).max(axis=0)) < 0.02  # no jump of a sign


def test_small_turns_keep_their_digits_and_none_is_a_turn_by_zero():
    tiny = Turn((0, 0, 0), (0, 0, 1e-9), 0, 1)
    assert tiny.angle == pytest.approx(1e-9, rel=4 * EPS)
    assert tiny.direction == pytest.approx([0, 0, 1])
    none = Turn((0.3, 0.2, 0.1), (0.3, 0.2, 0.1), 0, 1)
    assert none.value(0.5) == pytest.approx((0, 0, 0), abs=4 * EPS)
    assert none.orientation(0.7) == pytest.approx(orientation((0.3, 0.2, 0.1)), abs=4 * EPS)
    with pytest.raises(MechanismError, match="it starts and ends at the same orientation; a turn by .* rad has no axis"):
        _ = none.direction


def test_half_a_turn_needs_an_axis_and_a_reference_in_its_middle():
    with pytest.raises(
        MechanismError, match=r"the angle is 3.14159265 rad, .* rad short of half a turn: rounding would"
    ) as error:
        Turn((0, 0, 0), (0, 0, math.pi), 0, 1)
    assert error.value.path == ("axis",)
    with pytest.raises(MechanismError, match=r"allows less than 3.14159265; write reference = 'middle'") as error:
        Turn((0, 0, 0), (0, 0, math.pi), 0, 1, axis=(0, 0, 1))
    assert error.value.path == ("reference",)
    for sign in (1, -1):
        turn = Turn((0, 0, 0), (0, 0, math.pi), 0, 1, axis=(0, 0, sign), reference="middle")
        assert turn.angle == pytest.approx(math.pi)
        assert turn.value(0.0) == pytest.approx((0, 0, -sign * math.pi / 2))
        assert turn.value(1.0) == pytest.approx((0, 0, sign * math.pi / 2))
        assert turn.angular_velocity(0.5)[2] * sign > 0
        assert turn.reference_angles == pytest.approx((0, 0, sign * math.pi / 2))
        there = turn.reference_orientation @ rotation_of_vector(np.array(turn.value(0.3)))
        assert there == pytest.approx(turn.orientation(0.3), abs=8 * EPS)


def test_an_axis_says_which_way_round():
    short = Turn((0, 0, 0), (0, 0, 2.0), 0, 1, axis=(0, 0, 5))
    assert short == Turn((0, 0, 0), (0, 0, 2.0), 0, 1, axis=(0, 0, 5))
    assert short.angle == pytest.approx(2.0)
    long = Turn((0, 0, 0), (0, 0, 2.0), 0, 1, axis=(0, 0, -1), reference="middle")
    assert long.angle == pytest.approx(2 * math.pi - 2.0)
    assert long.orientation(1.0) == pytest.approx(np.array(long.end), abs=8 * EPS)
    with pytest.raises(
        MechanismError, match=r"axis \[0.0, 1.0, 1.0\] is 0.785 rad from the axis of the turn, \[0.0, 0.0, 1.0\]"
    ):
        Turn((0, 0, 0), (0, 0, 2.0), 0, 1, axis=(0, 1, 1))
    with pytest.raises(MechanismError, match=r"axis \[0.0, 0.0, 0.0\] is no direction"):
        Turn((0, 0, 0), (0, 0, 2.0), 0, 1, axis=(0, 0, 0))


def test_lines_follow_each_other():
    chain = Chain((Line((0, 4), (2, 4), 0, 2), Line((2, 4), (2, 1), 3, 5, "smooth:6")))
    assert chain.times == (3.0,)
    assert chain.components[1] == Joined((RestToRest(4, 4, 0, 2), RestToRest(4, 1, 3, 5, "smooth:6")), (3,))
    assert chain.value(1.0) == (1.0, 4.0)
    assert chain.value(4.0) == (2.0, 2.5)
    assert chain.smoothness == 4
    torn = Chain((Line([0], [2], 0, 2), Line([3], [4], 3, 5)))
    assert torn.smoothness == -1


def test_turns_follow_each_other_about_one_axis():
    first = Turn((0.3, 0, 0), (0.9, 0, 0), 0, 1)
    chain = Chain((first, Turn((0.9, 0, 0), (2.0, 0, 0), 2, 3), Turn((2.0, 0, 0), (1.5, 0, 0), 4, 5)))
    assert chain.value(1.5) == pytest.approx((0.6, 0, 0))
    assert chain.value(3.0) == pytest.approx((1.7, 0, 0))
    assert chain.value(5.0) == pytest.approx((1.2, 0, 0))
    assert chain.smoothness == 4
    with pytest.raises(MechanismError, match=r"the axis of turn 2, .* is not that of the turn\(s\) before, \[1.0, 0.0, 0.0\]"):
        Chain((first, Turn((0.9, 0, 0), (0.9, 0.5, 0), 2, 3)))
    with pytest.raises(MechanismError, match="turn 2 starts 0.1 rad from where the one before ends"):
        Chain((first, Turn((1.0, 0, 0), (2.0, 0, 0), 2, 3)))
    with pytest.raises(
        MechanismError, match=r"after turn 2 the rotation vector has the length 3.6; a measure of it stays below"
    ):
        Chain((Turn((0, 0, 0), (2, 0, 0), 0, 1), Turn((2, 0, 0), (3.6, 0, 0), 2, 3)))


def test_paths_are_read_from_plain_data():
    line = {"kind": "line", "start": [0, 4], "end": [5, 1], "t_start": 0, "t_end": 3}
    assert read_path(line) == Line((0, 4), (5, 1), 0, 3)
    turn = {"kind": "turn", "start": [0, 0, 0], "end": {"rpy": [0, 0, 1]}, "t_start": 0, "t_end": 3, "profile": "smooth:6"}
    assert read_path(turn) == Turn((0, 0, 0), (0, 0, 1), 0, 3, "smooth:6")
    later = {**line, "start": [5, 1], "end": [0, 4], "t_start": 4, "t_end": 6}
    assert read_path({"kind": "chain", "parts": [line, later]}).times == (4.0,)
    assert read_path(CABLEV) is CABLEV


@pytest.mark.parametrize(
    ("make", "message", "path"),
    [
        (lambda: Line((0, 0), (1,), 0, 1), "line: it starts at 2 component(s) and ends at 1", ("end",)),
        (lambda: Line((), (), 0, 1), "line: it starts at 0 component(s) and ends at 0", ("end",)),
        (lambda: Line((0,), (1,), 1, 1), "line: t_end is 1.0 s, t_start is 1.0 s; the end must come after", ("t_end",)),
        (lambda: Line((0,), (1,), 0, 1, "cubic"), "line: profile: expected one of 'rest-to-rest'", ("profile",)),
        (
            lambda: Line((0,), (1,), 0, 1, "three-phase:blend=2"),
            "line, profile 'three-phase:blend=2': profile is",
            ("profile",),
        ),
        (lambda: Turn((0, 0), (0, 0, 1), 0, 1), "turn: start: rpy: expected 3 numbers, got (0, 0)", ("start",)),
        (lambda: Chain((CABLEV,)), "chain: 1 part(s) given; at least 2 are needed", ("parts",)),
        (
            lambda: Chain((CABLEV, Line((0,) * 3, (1,) * 3, 0, 1))),
            "chain: its parts do not fit each other: a turn of 3",
            ("parts",),
        ),
        (lambda: read_path({"start": 0}), "a path of several measures is a table with 'kind'. Kinds: line, turn, chain.", ()),
        (lambda: read_path({"kind": "lin"}), "there is no path of kind 'lin'; did you mean 'line'?", ("kind",)),
        (lambda: read_path({"kind": "line", "strat": 1}), "a line has no 'strat'; did you mean 'start'?", ("strat",)),
    ],
)
def test_what_is_no_path_is_refused(make, message, path):
    with pytest.raises(MechanismError) as error:
        make()
    assert message in str(error.value)
    assert error.value.path == path
