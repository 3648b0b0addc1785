"""Sessions: going on, back, and on again; values that are set; scenarios."""

import math

import numpy as np
import pytest

from kingpost.fmu.live import LiveError, LiveSession, LiveStoppedError
from kingpost.fmu.live.scenario import Action, Scenario
from tests.fmu.live.test_machine import ready
from tests.fmu.machines import rig


@pytest.fixture
def session(plugins):
    return LiveSession(ready(rig(), plugins), {"model": "rig"})


def played(session, frames, actions=None):
    """Return the rows of the next frames; ``actions`` by the number of the frame at which they are done."""
    rows = []
    for _ in range(frames):
        if actions and session.frame in actions:
            session.set(actions[session.frame])
            # What is seen at a frame is what is there after the action.
            rows[-1:] = [session.row][: len(rows)]
        session.advance()
        rows.append(session.row)
    return np.array(rows)


ACTIONS = {5: {"torque": 1.0}, 20: {"mass": 3.0, "torque": -2.0}, 33: {"torque": 0.5}}


def test_going_back_and_playing_on_repeats_what_was_done_to_the_same_bits(session):
    first = played(session, 60, ACTIONS)
    for t in (0.5, 0.0, 1.0, 0.66):
        session.go(t)
        frame = session.frame
        assert session.t == pytest.approx(t)
        np.testing.assert_array_equal(played(session, 60 - frame), first[frame:])
        assert session.values["torque"] == 0.5
        assert session.values["mass"] == 3.0


@pytest.mark.parametrize("most", [4, 7, 16])
def test_few_states_are_enough_to_go_anywhere_exactly(plugins, most):
    session = LiveSession(ready(rig(), plugins), most_states=most)
    first = played(session, 200, ACTIONS)
    assert session.states_kept <= most
    rng = np.random.default_rng(3)
    for frame in rng.integers(0, 200, 40):
        session.go(session.time_of(int(frame)))
        assert session.frame == frame
        if frame:
            np.testing.assert_array_equal(session.row, first[frame - 1])
        assert session.states_kept <= most


def test_values_are_those_of_the_time_that_one_is_at(session):
    played(session, 60, ACTIONS)
    session.go(0.2)
    assert (session.values["torque"], session.values["mass"]) == (1.0, 2.0)
    session.go(0.0)
    assert (session.values["torque"], session.values["mass"]) == (0.0, 2.0)
    session.go(1.2)
    assert (session.values["torque"], session.values["mass"]) == (0.5, 3.0)


def test_one_can_go_on_again_as_far_as_the_session_has_come(session):
    first = played(session, 40, ACTIONS)
    session.go(0.1)
    assert session.repeating
    assert session.kept == (0.0, pytest.approx(0.8))
    session.go(0.8)
    assert not session.repeating
    np.testing.assert_array_equal(session.row, first[-1])


def test_something_else_that_is_done_gives_up_what_came_later(session):
    played(session, 60, ACTIONS)
    session.go(0.2)
    session.set({"torque": 7.0})
    assert session.kept == (0.0, pytest.approx(0.2))
    assert not session.repeating
    played(session, 60)
    assert session.values["torque"] == 7.0
    assert [action.set for action in session.scenario().actions] == [{"torque": 1.0}, {"torque": 7.0}]


def test_what_is_set_to_what_it_is_changes_nothing(session):
    played(session, 60, ACTIONS)
    session.go(0.2)
    assert session.set({"torque": 1.0, "mass": 2.0}) == {}
    assert session.kept[1] == pytest.approx(1.2)


def test_a_scenario_repeats_the_session_to_the_same_bits(session, plugins):
    first = played(session, 30, ACTIONS)
    session.go(0.3)
    session.set({"gravity": 5.0})
    first[14] = session.row
    later = played(session, 45, {40: {"torque": 3.0}})
    other = LiveSession(ready(rig(), plugins))
    other.load(session.scenario())
    np.testing.assert_array_equal(played(other, 60), np.vstack([first[:15], later]))
    assert other.scenario().actions == session.scenario().actions
    assert other.values == session.values


def test_something_that_is_done_ends_the_rest_of_a_scenario(session):
    session.load(Scenario({}, (Action(0.1, {"torque": 1.0}), Action(0.5, {"torque": 2.0}))))
    played(session, 10)
    session.set({"torque": 9.0})
    played(session, 40)
    assert session.values["torque"] == 9.0


def test_actions_at_the_start_and_between_frames(session):
    session.load(Scenario({}, (Action(0.0, {"torque": 1.0}), Action(0.031, {"torque": 2.0}), Action(0.032, {"mass": 4.0}))))
    assert session.values["torque"] == 1.0
    session.advance()
    assert session.values["torque"] == 1.0
    session.advance()
    assert (session.values["torque"], session.values["mass"]) == (2.0, 4.0)
    assert [action.t for action in session.scenario().actions] == [0.0, 0.04]


def test_scenarios_are_loaded_at_the_start_and_fit(session):
    with pytest.raises(LiveError, match="nothing called 'torqe' that could be changed; did you mean 'torque'"):
        session.load(Scenario({}, (Action(0.0, {"torqe": 1.0}),)))
    with pytest.raises(LiveError, match="before the session begins"):
        session.load(Scenario({}, (Action(-1.0, {"torque": 1.0}),)))
    session.advance()
    with pytest.raises(LiveError, match="at the start of a session"):
        session.load(Scenario({}))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"torqe": 1.0}, "nothing called 'torqe' that could be changed; did you mean 'torque'.* It has: torque, length"),
        ({"torque": math.nan}, "'torque' was set to nan; it must be finite"),
        ({"torque": math.inf}, "it must be finite"),
        ({"torque": "much"}, "which is not a number"),
        ({"torque": True}, "it takes a number"),
        ({"torque": 10**400}, "must be finite"),
        ({"length": 11.0}, r"outside its range \[0.1, 10\] m"),
        ({"pivot.angle": 1.0}, "cannot be changed while 'rig' runs: it is part of the state"),
        ([1.0], "a table of names and numbers"),
        ({"mass": -2.0}, "mass is -2 kg"),
    ],
)
def test_what_cannot_be_set_is_refused_and_changes_nothing(session, plugins, values, message):
    session.advance(3)
    with pytest.raises(LiveError, match=message):
        session.set(values)
    assert session.scenario().actions == ()
    other = LiveSession(ready(rig(), plugins))
    np.testing.assert_array_equal(played(session, 5), played(other, 8)[3:])


@pytest.mark.parametrize(
    ("t", "message"),
    [
        (1.0, "has come to t = 0.06 s; to see 1 s, play on"),
        (-1.0, "began at t = 0 s"),
        (math.nan, "takes a time in s"),
        ("soon", "takes a time in s"),
        (None, "takes a time in s"),
    ],
)
def test_times_that_are_not_there_are_refused(session, t, message):
    session.advance(3)
    with pytest.raises(LiveError, match=message):
        session.go(t)
    assert session.frame == 3


def test_channels_are_watched_by_name(session):
    session.watch(["pivot.angle", "tip.x"])
    session.advance()
    assert list(session.watched) == ["pivot.angle", "tip.x"]
    assert session.watched["pivot.angle"] == session.row[0]
    with pytest.raises(LiveError, match="no channel 'tip.X'; did you mean 'tip.x'"):
        session.watch(["tip.X"])
    for wrong in ("tip.x", [1], None):
        with pytest.raises(LiveError, match="a list of channels"):
            session.watch(wrong)
    assert list(session.watched) == ["pivot.angle", "tip.x"]


class Dumb:
    """A subject that cannot go back: it wraps one that can."""

    def __init__(self, inner, fails_at=math.inf):
        self.inner, self.fails_at = inner, fails_at
        self.obstacle = "'thing' cannot save its state"

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def advance(self):
        if self.inner.t >= self.fails_at:
            raise LiveStoppedError("it broke")
        self.inner.advance()


def test_what_cannot_save_its_state_cannot_go_back_but_go_on_and_change(plugins):
    session = LiveSession(Dumb(ready(rig(), plugins)))
    session.advance(5)
    session.set({"torque": 1.0})
    session.advance(5)
    with pytest.raises(LiveError, match="it cannot go back: 'thing' cannot save its state"):
        session.go(0.1)
    assert session.kept == (session.t, session.t)
    assert session.states_kept == 0
    with pytest.raises(LiveError, match="mass is -1"):
        session.set({"torque": 2.0, "mass": -1.0})
    assert session.values["torque"] == 1.0


def test_what_broke_and_cannot_go_back_says_so_again(plugins):
    session = LiveSession(Dumb(ready(rig(), plugins), fails_at=0.1))
    for _ in range(2):
        with pytest.raises(LiveStoppedError, match="it broke"):
            session.advance(10)
    with pytest.raises(LiveStoppedError, match="it broke"):
        session.set({"torque": 1.0})
