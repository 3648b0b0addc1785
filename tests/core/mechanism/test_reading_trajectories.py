"""Trajectories from plain data, and what is refused."""

import math

import pytest

from kingpost import MechanismError
from kingpost.mechanism.trajectories import (
    TRAJECTORY_KINDS,
    Constant,
    RestToRest,
    Sampled,
    Sequence,
    ThreePhase,
    read_trajectory,
)
from tests.core.mechanism.set_points import CRANE, UNIT


@pytest.mark.parametrize(
    ("make", "message", "path"),
    [
        (lambda: Constant("a +"), "constant trajectory: level: 'a +' is not a formula", "level"),
        (lambda: RestToRest(math.inf, 1, 0, 1), "rest-to-rest trajectory: start: expected a finite number, got inf", "start"),
        (lambda: RestToRest(0, 1, 2, 2), "t_end is 2.0 s, t_start is 2.0 s; the end must come after the start", "t_end"),
        (lambda: ThreePhase(0, 1, 3, 2, 0.5), "three-phase trajectory: t_end is 2.0 s, t_start is 3.0 s", "t_end"),
        (lambda: ThreePhase(0, 1, 0, 2, 0), "t_blend is 0.0 s; it must be positive", "t_blend"),
        (lambda: ThreePhase(0, 1, "t0", 2, -1), "t_blend is -1.0 s; it must be positive", "t_blend"),
        (
            lambda: ThreePhase(0, 1, 1, 3, 1.5),
            "t_blend is 1.5 s, more than half of the 2.0 s from t_start = 1.0 s to t_end = 3.0 s; use at most 1.0 s",
            "t_blend",
        ),
        (lambda: Sequence((0, 1), (1, 2, 3)), "sequence trajectory: 2 times but 3 values; give one value for each", "values"),
        (lambda: Sequence((0,), (1,)), "sequence trajectory: 1 point(s) given; at least 2 are needed", "times"),
        (lambda: Sequence((0, 2, 1), (1, 2, 3)), "times must rise: times[2] is 1.0 s after 2.0 s; sort them", "times"),
        (lambda: Sequence((0, "T", 2, 2), (1, 2, 3, 4)), "times must rise: times[3] is 2.0 s after 2.0 s", "times"),
        (lambda: Sequence((0, 1), (1, 2), "cubic"), "profile: expected one of 'rest-to-rest', 'linear', 'hold'", "profile"),
        (lambda: Sampled((0, 0), (1, 2)), "sampled trajectory: times must rise: times[1] is 0.0 s after 0.0 s", "times"),
        (lambda: Sampled((0, "T"), (1, 2)), "sampled trajectory: times: expected a number, got the formula 'T'", "times"),
        (lambda: Sampled((0, 1), (1, math.nan)), "sampled trajectory: values: expected a finite number, got nan", "values"),
        (
            lambda: Sampled((0, 1, 2), (1, 2, 3), "quintic"),
            "quintic interpolation needs 6 samples, got 3; give more, or use 'cubic' or 'linear'",
            "interpolation",
        ),
        (
            lambda: Sampled((0, 1), (1, 2), "septic"),
            "interpolation: expected one of 'hold', 'linear', 'cubic'",
            "interpolation",
        ),
    ],
)
def test_what_is_no_trajectory_is_refused(make, message, path):
    with pytest.raises(MechanismError) as error:
        make()
    assert message in str(error.value)
    assert error.value.path == (path,)


@pytest.mark.parametrize(
    ("trajectory", "scope", "message"),
    [
        (RestToRest(0, 1, 0, "T"), {"T": -1.0}, "t_end is -1.0 s, t_start is 0.0 s"),
        (ThreePhase(0, 1, 0, 4, "T"), {"T": 3.0}, "t_blend is 3.0 s, more than half of the 4.0 s"),
        (Sequence((0, "T"), (0, 1)), {"T": 0.0}, "times must rise: times[1] is 0.0 s after 0.0 s"),
        (Constant("length"), {"lenght": 1.0}, "uses 'length', which is not declared; did you mean 'lenght'?"),
        (Constant("sqrt(a)"), {"a": -1.0}, "'sqrt(a)' is nan with a = -1.0; a trajectory needs finite numbers"),
        (Constant("a ** 0.5"), {"a": -1.0}, "'a ** 0.5' has no real value with a = -1.0"),
    ],
)
def test_what_formulas_break_is_found_when_their_numbers_are_known(trajectory, scope, message):
    with pytest.raises(MechanismError) as error:
        trajectory.value(0.0, scope)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (2, Constant(2.0)),
        ("2*a", Constant("2 * a")),
        (UNIT, UNIT),
        ({"kind": "constant", "level": "a"}, Constant("a")),
        ({"kind": "rest-to-rest", "start": 0, "end": "a", "t_start": 0, "t_end": 1}, RestToRest(0, "a", 0, 1)),
        ({"kind": "three-phase", "start": 0, "end": 1, "t_start": 0, "t_end": 20, "t_blend": 5}, CRANE),
        ({"kind": "sequence", "times": [0, 1], "values": [0, "a"], "profile": "hold"}, Sequence((0, 1), (0, "a"), "hold")),
        ({"kind": "sampled", "times": [0, 1], "values": [0, 2]}, Sampled((0, 1), (0, 2))),
    ],
)
def test_plain_data_describe_trajectories(data, expected):
    assert read_trajectory(data) == expected


def test_every_kind_can_be_read():
    assert set(TRAJECTORY_KINDS) == {"constant", "rest-to-rest", "three-phase", "sequence", "sampled", "joined"}
    assert all(cls.kind == kind for kind, cls in TRAJECTORY_KINDS.items())


def test_a_table_may_name_a_file_beside_it(tmp_path):
    (tmp_path / "heave.csv").write_text("t,x,y\n0,1,3\n1,2,4\n", encoding="utf-8")
    table = {"kind": "sampled", "file": "heave.csv", "column": "y", "interpolation": "hold"}
    assert read_trajectory(table, tmp_path) == Sampled((0, 1), (3, 4), "hold")


@pytest.mark.parametrize(
    ("data", "message", "path"),
    [
        ({"kind": "three-fase"}, "no trajectory of kind 'three-fase'; did you mean 'three-phase'? Kinds: constant,", ("kind",)),
        ({"kind": ["x"]}, "there is no trajectory of kind ['x']", ("kind",)),
        (
            {"start": 0},
            "the trajectory lacks 'kind'. Kinds: constant, rest-to-rest, three-phase, sequence, sampled, joined.",
            (),
        ),
        ({"kind": "constant", "levle": 1}, "a constant trajectory has no 'levle'; did you mean 'level'?", ("levle",)),
        ({"kind": "rest-to-rest", "start": 0}, "a rest-to-rest trajectory lacks 'end'. It takes: start (required), end", ()),
        ({"kind": "sequence", "times": 3, "values": [1]}, "a sequence trajectory: times: expected a list, got 3", ("times",)),
        (
            {"kind": "sampled", "file": "x.csv", "times": [0, 1]},
            "a sampled trajectory from a file has no 'times'. It takes: file (required), column = None, interpolation",
            ("times",),
        ),
        ([1, 2], "constant trajectory: level: expected a number or a formula, got [1, 2]", ("level",)),
    ],
)
def test_data_that_describe_no_trajectory_are_refused(data, message, path):
    with pytest.raises(MechanismError) as error:
        read_trajectory(data)
    assert message in str(error.value)
    assert error.value.path == path
