"""The program in which a session runs."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kingpost.fmu.process.program import start_program

MODEL = """
name = "swing"
[inputs]
torque = { unit = "N.m" }
[[bodies]]
name = "bob"
mass = 1.0
com = [0, 0, -1]
[[joints]]
name = "pivot"
kind = "revolute"
parent = "world"
child = "bob"
axis = [0, 1, 0]
start = 0.5
[[forces]]
kind = "gravity"
[[forces]]
kind = "joint-actuator"
name = "motor"
coordinate = "pivot.angle"
effort = "torque"
stiffness = 0
damping = 0
"""


class Child:
    def __init__(self, job):
        self.process = start_program(
            "kingpost.fmu.live.child", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.say(job)

    def say(self, *messages):
        for message in messages:
            text = message if isinstance(message, str) else json.dumps(message)
            self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def hear(self, kind=None):
        """Return the next message, or the next of a kind."""
        while True:
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read().decode()
            message = json.loads(line)
            if kind is None or message["type"] == kind:
                return message


@pytest.fixture
def child(tmp_path):
    (tmp_path / "swing.toml").write_text(MODEL)
    started = []

    def start(**job):
        started.append(Child({"start": {"file": "swing.toml"}, "folder": str(tmp_path), **job}))
        return started[-1]

    yield start
    for each in started:
        each.process.stdin.close()
        each.process.wait(60)
        each.process.stdout.close()
        each.process.stderr.close()


def test_a_session_in_a_program_of_its_own(child):
    talk = child()
    ready = talk.hear()
    assert ready["type"] == "ready", ready
    assert ready["name"] == "swing"
    talk.say({"do": "watch", "channels": ["pivot.angle"]}, {"do": "set", "values": {"torque": 1.0}}, {"do": "play"})
    assert talk.hear("state")["values"]["torque"] == 1.0
    while talk.hear("frame")["t"] < 0.3:
        pass
    talk.say({"do": "pause"})
    while talk.hear("state")["playing"]:
        pass
    talk.say({"do": "step", "count": 3})
    last = talk.hear("frame")
    talk.say({"do": "go", "t": 0.1}, {"do": "go", "t": last["t"]})
    back, again = talk.hear("frame"), talk.hear("frame")
    assert back["t"] == pytest.approx(0.1)
    assert again == last
    talk.say("no json", {"do": "set", "values": {"torqe": 1}}, '{"do": "set", "values": {"torque": NaN}}')
    assert "not JSON" in talk.hear("error")["error"]
    assert "did you mean 'torque'" in talk.hear("error")["error"]
    assert "must be finite" in talk.hear("error")["error"]
    talk.say({"do": "end"})
    assert talk.hear() == {"type": "ended"}
    assert talk.process.wait(60) == 0


def test_what_cannot_begin_is_told(child):
    for job, words in (({"start": 3}, "is a table"),):
        talk = child(**job)
        message = talk.hear()
        assert message["type"] == "failed"
        assert words in message["error"]
        assert talk.process.wait(60) == 0


@pytest.mark.slow
def test_it_ends_when_nobody_speaks_to_it_any_more(child):
    talk = child()
    talk.hear()
    talk.say({"do": "play"})
    talk.process.stdin.close()
    assert talk.process.wait(60) == 0


def test_a_scenario_is_carried_out_and_told_under_the_name_that_the_user_gave(child):
    text = '[start]\nfile = "swing.toml"\n[[actions]]\nt = 0.1\nset = {torque = 2.0}\n'
    talk = child(start=None, scenario=text, **{"as": {"file": "abc123"}})
    talk.hear()
    talk.say({"do": "step", "count": 6}, {"do": "scenario"})
    assert talk.hear("state")["values"]["torque"] == 2.0
    assert 'file = "abc123"' in talk.hear("scenario")["text"]


def test_it_ends_with_its_starter(tmp_path):
    (tmp_path / "swing.toml").write_text(MODEL)
    code = f"""
import json, os, subprocess, sys
from kingpost.fmu.process.program import start_program
p = start_program("kingpost.fmu.live.child", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
p.stdin.write(json.dumps({{"start": {{"file": "swing.toml"}}, "folder": {str(tmp_path)!r}}}).encode() + b"\\n")
p.stdin.flush()
p.stdout.readline()
print(p.pid, flush=True)
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    pid = int(done.stdout)
    for _ in range(600):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        state = Path(f"/proc/{pid}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            return  # it has ended, and nobody asked how
        time.sleep(0.1)
    raise AssertionError("the session outlives its starter")
