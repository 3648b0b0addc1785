"""``kingpost live``: scenarios repeated, sessions served."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from kingpost import read_history
from kingpost.fmu.live import open_session, read_scenario
from tests.fmu.live.test_child import MODEL
from tests.fmu.live.test_opening import SYSTEM

#: Seconds that anything may take on a machine that has much else to do.
PATIENCE = 240.0


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("swing.toml").write_text(MODEL)
    Path("pair.toml").write_text(SYSTEM)
    return tmp_path


def recorded(path, file, name):
    """Play a session and write what was done; return its last row."""
    session = open_session({"file": file})
    session.advance(10)
    session.set({name: 0.7})
    session.advance(15)
    session.go(0.3)
    session.set({name: -2.0})
    session.advance(20)
    session.scenario().write(path)
    return session


@pytest.mark.parametrize(("file", "name"), [("swing.toml", "torque"), ("pair.toml", "one.torque")])
def test_a_replay_writes_the_history_of_the_session(place, kingpost_cli, file, name):
    session = recorded(place / "done.toml", file, name)
    answer = kingpost_cli(
        "live", "--headless", "--replay", "done.toml", "--out", "out", "--write", "npz", "--record", "sub/again.toml"
    )
    assert answer.status == 0, answer.err
    assert "2 actions" in answer.out
    history = read_history(place / "out" / "history.npz")
    np.testing.assert_array_equal(history.values[-1, : len(session.row)], session.row)
    assert history.time[-1] == session.t
    again = read_scenario(place / "sub" / "again.toml")
    assert again.start["file"] == f"../{file}"
    assert again.actions == session.scenario().actions
    assert json.loads((place / "out" / "run.json").read_text())["actions"][1]["set"] == {name: -2.0}


@pytest.mark.slow
def test_what_is_given_beside_a_scenario_counts(place, kingpost_cli):
    recorded(place / "done.toml", "swing.toml", "torque")
    assert kingpost_cli("live", "--headless", "--replay", "done.toml", "--out", "a", "--set", "torque=5", "--json").status == 0
    first = read_history(place / "a" / "history.csv")
    assert kingpost_cli("live", "--headless", "--replay", "done.toml", "--out", "b", "--write", "csv").status == 0
    assert not np.array_equal(first.values, read_history(place / "b" / "history.csv").values)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["swing.toml", "--headless"], 2, "go together"),
        (["swing.toml", "--replay", "x.toml"], 2, "go together"),
        ([], 2, "name a model, a system or a file"),
        (["swing.toml", "--port", "99999"], 2, "give 0 to 65535"),
        (["--headless", "--replay", "none.toml"], 6, "none.toml"),
        (["--headless", "--replay", "swing.toml"], 6, "scenario has no 'name'"),
    ],
)
def test_wrong_words_are_refused(place, kingpost_cli, words, code, message):
    answer = kingpost_cli("live", *words)
    assert answer.status == code
    assert message in answer.err


def test_a_session_that_stops_keeps_what_was_computed(place, kingpost_cli):
    (place / "s.toml").write_text('until = 9.0\n[start]\nfile = "swing.toml"\noptions = { t_end = 0.5 }\n')
    answer = kingpost_cli("live", "--headless", "--replay", "s.toml", "--out", "out", "--write", "csv")
    assert answer.status == 5
    assert "come to its end" in answer.err
    assert (place / "out" / "failed-history.csv").is_file()


def test_a_session_is_served_until_somebody_ends_it(place):
    pytest.importorskip("uvicorn")
    connect = pytest.importorskip("websockets.sync.client").connect
    log = place / "log.txt"
    words = [sys.executable, "-m", "kingpost", "live", "swing.toml", "--no-open", "--record", "done.toml"]
    with log.open("wb") as stream:
        process = subprocess.Popen(words, stdout=stream, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    try:
        end = time.monotonic() + PATIENCE
        while not (found := re.search(r"http://([\d.:]+)/\?token=(\S+)#/live/(\w+)", log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        host, token, session = found.groups()
        headers = {"Authorization": f"Bearer {token}"}
        with connect(f"ws://{host}/api/v1/live/{session}", additional_headers=headers, open_timeout=60) as socket:
            assert json.loads(socket.recv(60))["type"] == "state"
            socket.send(json.dumps({"do": "step", "count": 5}))
            socket.send(json.dumps({"do": "set", "values": {"torque": 1.25}}))
            while True:
                message = json.loads(socket.recv(60))
                if message["type"] == "state" and message["values"]["torque"] == 1.25:
                    break
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0, log.read_text()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    assert read_scenario(place / "done.toml").actions[0].set == {"torque": 1.25}


@pytest.mark.slow
def test_what_cannot_begin_ends_the_service_with_its_message(place):
    pytest.importorskip("uvicorn")
    words = [sys.executable, "-m", "kingpost", "live", "swing.toml", "--no-open", "--set", "torq=1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode != 0
    assert "nothing called 'torq'" in done.stderr
    assert "Traceback" not in done.stderr
