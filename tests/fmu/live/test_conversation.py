"""What is said to a session, and what it answers."""

import json

import numpy as np
import pytest

from kingpost.fmu.live import LiveSession
from kingpost.fmu.live.conversation import Conversation
from kingpost.fmu.live.scenario import scenario_of
from tests.fmu.live.test_machine import ready
from tests.fmu.machines import rig


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def talk(plugins, clock):
    return Conversation(LiveSession(ready(rig(), plugins, loads="all"), {"model": "rig"}), clock)


def kinds(messages):
    json.dumps(messages, allow_nan=False)
    return [message["type"] for message in messages]


def run_for(talk, clock, seconds):
    """Let the clock go, and the conversation wake when it wants to."""
    said, end = [], clock.now + seconds
    while clock.now < end:
        clock.now += max(1e-4, min(talk.wait(), end - clock.now))
        said += talk.tick()
    return said


def test_what_a_page_needs_first(talk):
    told = talk.ready()
    assert kinds([told]) == ["ready"]
    assert [entry["name"] for entry in told["inputs"]] == ["torque"]
    length = next(entry for entry in told["parameters"] if entry["name"] == "length")
    assert (length["unit"], length["value"], length["min"], length["max"]) == ("m", 1.0, 0.1, 10.0)
    assert {"name": "tip.x", "unit": "m", "role": "outputs"} in told["channels"]
    assert [body["name"] for body in told["scene"]["bodies"]] == ["bob"]
    assert told["loads"] == ["pivot"]


def test_it_plays_at_its_pace_and_shows_at_most_fifty_frames_a_second(talk, clock):
    assert kinds(talk.answer({"do": "play"})) == ["state"]
    said = run_for(talk, clock, 2.0)
    assert talk.session.t == pytest.approx(2.0, abs=0.05)
    frames = [message for message in said if message["type"] == "frame"]
    assert 80 <= len(frames) <= 105
    states = [message for message in said if message["type"] == "state"]
    assert 1 <= len(states) <= 3
    assert states[-1]["real_factor"] == pytest.approx(1.0, abs=0.1)
    talk.answer({"do": "pace", "factor": 4})
    said = run_for(talk, clock, 2.0)
    assert talk.session.t == pytest.approx(10.0, abs=0.3)
    assert len([message for message in said if message["type"] == "frame"]) <= 105
    assert kinds(talk.answer({"do": "pause"})) == ["frame", "state"]
    assert run_for(talk, clock, 5.0) == []
    assert talk.wait() == float("inf")


def test_frames_hold_poses_as_the_scene_wants_them_and_what_is_watched(talk):
    assert kinds(talk.answer({"do": "watch", "channels": ["pivot.angle", "tip.z"], "loads": ["pivot"]})) == ["frame"]
    (frame, state) = talk.answer({"do": "step", "count": 5})
    session = talk.session
    assert frame["t"] == session.t == state["t"]
    assert frame["watched"]["pivot.angle"] == session.row[0]
    (pose,) = frame["poses"]
    names = [channel.name for channel in session.subject.channels]
    wanted = [session.row[names.index(f"bob.pose.{part}")] for part in ("px", "py", "pz")]
    np.testing.assert_allclose(pose[:3], wanted, atol=1e-6)
    assert np.linalg.norm(pose[3:]) == pytest.approx(1.0, abs=1e-5)
    assert len(frame["loads"]["pivot"]) == 6


def test_steps_go_on_and_back(talk):
    talk.answer({"do": "step", "count": 5})
    row = talk.session.row
    talk.answer({"do": "step", "count": 4})
    _, state = talk.answer({"do": "step", "count": -4})
    assert state["t"] == pytest.approx(0.1)
    assert state["repeating"]
    np.testing.assert_array_equal(talk.session.row, row)
    talk.answer({"do": "step", "count": -400})
    assert talk.session.t == 0.0


def test_values_are_set_times_gone_to_and_all_of_it_told(talk):
    talk.answer({"do": "step", "count": 10})
    state, frame = talk.answer({"do": "set", "values": {"torque": 2.0}})
    assert state["values"]["torque"] == 2.0
    assert frame["type"] == "frame"
    assert talk.answer({"do": "set", "values": {"torque": 2.0}}) == []
    talk.answer({"do": "step", "count": 10})
    _, state = talk.answer({"do": "go", "t": 0.1})
    assert state["kept"] == [0.0, pytest.approx(0.4)]
    assert state["values"]["torque"] == 0.0
    (said,) = talk.answer({"do": "scenario"})
    assert scenario_of(said["text"]).actions[0].set == {"torque": 2.0}
    assert talk.answer({"do": "end"}) == [{"type": "ended"}]
    assert talk.ended


def test_a_parameter_that_changes_the_looks_sends_the_scene_again(talk, clock):
    talk.answer({"do": "set", "values": {"gravity": 3.0}})
    assert run_for(talk, clock, 1.0) == []
    talk.answer({"do": "set", "values": {"length": 2.5}})
    assert kinds(run_for(talk, clock, 1.0)) == ["scene", "frame"]
    assert talk.wait() == float("inf")


def test_what_stops_by_itself_pauses_with_its_reason_and_can_go_back(talk, clock):
    talk.answer({"do": "step", "count": 5})
    talk.session.subject.t_end = 0.2
    talk.answer({"do": "play"})
    said = run_for(talk, clock, 1.0)
    assert kinds(said)[-3:] == ["error", "frame", "state"]
    assert "come to its end" in said[-3]["error"]
    assert said[-1]["playing"] is False
    assert "come to its end" in said[-1]["stopped"]
    _, state = talk.answer({"do": "go", "t": 0.0})
    assert state["stopped"] == ""


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("play", "a message is a table with 'do'"),
        ({"do": 3}, "a message is a table with 'do'"),
        ({"do": "plya"}, "nothing called 'plya' to do; did you mean 'play'"),
        ({"do": "step", "count": 0}, "whole number of frames"),
        ({"do": "step", "count": 1.5}, "whole number of frames"),
        ({"do": "step", "count": 10**9}, "whole number of frames"),
        ({"do": "pace"}, "takes a factor"),
        ({"do": "pace", "factor": float("nan")}, "takes a factor"),
        ({"do": "go"}, "takes a time"),
        ({"do": "set"}, "a table of names and numbers"),
        ({"do": "set", "values": {"torqe": 1}}, "did you mean 'torque'"),
        ({"do": "set", "values": {"torque": float("nan")}}, "must be finite"),
        ({"do": "watch", "channels": ["no"]}, "no channel 'no'"),
        ({"do": "watch", "channels": [], "loads": ["no"]}, "joints whose loads are computed: pivot"),
        ({"do": "watch", "channels": [], "loads": [[]]}, "joints whose loads are computed: pivot"),
    ],
)
def test_what_cannot_be_done_is_answered_with_a_sentence(talk, message, words):
    (answer,) = talk.answer(message)
    assert answer["type"] == "error"
    assert words in answer["error"]
