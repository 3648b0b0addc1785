"""Live sessions over HTTP and a WebSocket."""

import json
import time
import warnings

import numpy as np
import pytest

pytest.importorskip("fastapi")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have another HTTP client
    from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from kingpost.fmu.live import open_session, replay
from kingpost.fmu.live.scenario import scenario_of
from kingpost.fmu.process.sandbox import sandbox_available
from kingpost.fmu.service import live_sessions
from kingpost.fmu.service.app import make_app
from kingpost.fmu.service.context import Context
from kingpost.fmu.service.folder import ProjectFolder
from kingpost.fmu.service.live_routes import LARGEST_MESSAGE, sessions_of
from kingpost.fmu.service.settings import ServiceSettings
from kingpost.fmu.service.store import Store
from tests.fmu.live.test_child import MODEL
from tests.fmu.live.test_opening import SYSTEM
from tests.fmu.machines import rig

TOKEN = "a-token-for-tests-only"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
START = {"model": "double-pendulum", "options": {"backend": "vm", "loads": ["all"], "step": 0.02, "frame": 0.04}}


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    folder = ProjectFolder(tmp_path_factory.mktemp("project"))
    folder.make()
    made = Context(folder, Store(folder.database), ServiceSettings())
    yield made
    made.describer.close()
    made.store.close()


@pytest.fixture(scope="module")
def http(context):
    app = make_app(context, TOKEN, ["testserver"])
    with TestClient(app, headers=HEADERS, raise_server_exceptions=False) as client:
        yield client
        client.portal.call(sessions_of(app).close)


@pytest.fixture
def session(http):
    answer = http.post("/api/v1/live", json=START)
    assert answer.status_code == 201, answer.text
    yield answer.json()
    http.delete(f"/api/v1/live/{answer.json()['id']}")


@pytest.fixture(scope="module")
def standing(http):
    """A session that stands while several tests look at it."""
    answer = http.post("/api/v1/live", json=START)
    assert answer.status_code == 201, answer.text
    return answer.json()


def talk(http, session, **headers):
    return http.websocket_connect(f"/api/v1/live/{session['id']}", headers={**HEADERS, **headers})


def hear(socket, kind, most=2000):
    for _ in range(most):
        message = json.loads(socket.receive_text())
        if message["type"] == kind:
            return message
    raise AssertionError(f"nothing of kind {kind}")


def test_a_session_from_begin_to_end(http, session):
    assert [body["name"] for body in session["scene"]["bodies"]]
    assert {"name", "unit", "value", "min", "max"} <= set(session["parameters"][0])
    parameter = session["parameters"][0]
    with talk(http, session) as socket:
        assert hear(socket, "state")["playing"] is False
        socket.send_text(json.dumps({"do": "play"}))
        assert hear(socket, "state")["playing"] is True
        while hear(socket, "frame")["t"] < 0.2:
            pass
        socket.send_text(json.dumps({"do": "pause"}))
        while hear(socket, "state")["playing"]:
            pass
        socket.send_text(json.dumps({"do": "set", "values": {parameter["name"]: 1.5 * parameter["value"]}}))
        assert hear(socket, "state")["values"][parameter["name"]] == 1.5 * parameter["value"]
        socket.send_text(json.dumps({"do": "step", "count": 5}))
        last = hear(socket, "frame")
        while last["t"] < 0.3:
            last = hear(socket, "frame")
        socket.send_text(json.dumps({"do": "go", "t": 0.08}))
        while hear(socket, "state")["t"] > 0.1:  # that of the step comes first
            pass
        socket.send_text(json.dumps({"do": "set", "values": {"no-such": 1}}))
        assert "no-such" in hear(socket, "error")["error"]
        socket.send_text("x" * (LARGEST_MESSAGE + 1))
        assert "at most" in hear(socket, "error")["error"]
        text = http.get(f"/api/v1/live/{session['id']}/scenario").text
        scenario = scenario_of(text)
        assert scenario.start == START
        assert scenario.actions[0].set == {parameter["name"]: 1.5 * parameter["value"]}
        (listed,) = [one for one in http.get("/api/v1/live").json()["sessions"] if one["id"] == session["id"]]
        assert listed["state"] == "paused"
        assert listed["scene"]["bodies"]
        socket.send_text(json.dumps({"do": "end"}))
        assert hear(socket, "ended") == {"type": "ended"}
    assert http.get(f"/api/v1/live/{session['id']}").status_code == 404
    assert session["id"] not in [program.id for program in sessions_of(http.app).every()]


@pytest.mark.slow
def test_a_scenario_begins_where_its_session_did_and_repeats_it(http, session, plugins):
    parameter = session["parameters"][0]["name"]
    with talk(http, session) as socket:
        hear(socket, "state")
        socket.send_text(json.dumps({"do": "watch", "channels": [session["channels"][0]["name"]]}))
        hear(socket, "frame")
        socket.send_text(json.dumps({"do": "step", "count": 10}))
        hear(socket, "state")
        socket.send_text(json.dumps({"do": "set", "values": {parameter: 0.77}}))
        socket.send_text(json.dumps({"do": "step", "count": 10}))
        t = 0.0
        while t < 0.79:
            frame = hear(socket, "frame")
            t = frame["t"]
    text = http.get(f"/api/v1/live/{session['id']}/scenario").text
    other = http.post("/api/v1/live", json={"scenario": text})
    assert other.status_code == 201, other.text
    with talk(http, other.json()) as socket:
        hear(socket, "state")
        socket.send_text(json.dumps({"do": "watch", "channels": [session["channels"][0]["name"]]}))
        hear(socket, "frame")
        socket.send_text(json.dumps({"do": "step", "count": 20}))
        again = hear(socket, "frame")
        while again["t"] < 0.79:
            again = hear(socket, "frame")
    assert (again["t"], again["watched"]) == (frame["t"], frame["watched"])
    http.delete(f"/api/v1/live/{other.json()['id']}")
    history = replay(open_session(scenario_of(text).start, plugins), scenario_of(text))
    np.testing.assert_array_equal(history.values[-1, 0], frame["watched"][session["channels"][0]["name"]])


def test_uploaded_models_and_systems(http, context):
    model = http.post("/api/v1/files", content=MODEL.encode(), headers={"X-Filename": "swing.toml"})
    assert model.status_code == 201, model.text
    answer = http.post("/api/v1/live", json={"file": model.json()["hash"], "options": {"backend": "vm"}})
    assert answer.status_code == 201, answer.text
    assert [entry["name"] for entry in answer.json()["inputs"]] == ["torque"]
    http.delete(f"/api/v1/live/{answer.json()['id']}")
    import tomllib

    system = http.post("/api/v1/live", json={"system": tomllib.loads(SYSTEM)})
    assert system.status_code == 201, system.text
    assert [entry["name"] for entry in system.json()["inputs"]] == ["one.torque"]
    assert list(context.folder.incoming.glob("live-*"))
    http.delete(f"/api/v1/live/{system.json()['id']}")
    assert not list(context.folder.incoming.glob("live-*"))


@pytest.mark.slow
def test_an_uploaded_fmu_runs_in_the_sandbox_and_goes_back(http, context, native):
    if sandbox_available() is not None:
        pytest.skip("there is no sandbox here")
    path = native(rig(), step=0.005)
    upload = http.post("/api/v1/files", content=path.read_bytes(), headers={"X-Filename": "rig.fmu"})
    answer = http.post("/api/v1/live", json={"file": upload.json()["hash"]})
    assert answer.status_code == 201, answer.text
    session = answer.json()
    assert session["obstacle"] == ""
    with talk(http, session) as socket:
        for message in ({"do": "step", "count": 5}, {"do": "set", "values": {"rig.torque": 1.0}}, {"do": "go", "t": 0.02}):
            socket.send_text(json.dumps(message))
        while hear(socket, "state")["t"] != pytest.approx(0.02):
            pass
    http.delete(f"/api/v1/live/{session['id']}")
    assert not list(context.folder.incoming.glob("live-*"))


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 422, "takes one of model, file, system and scenario"),
        ({"model": "a", "file": "b"}, 422, "takes one of"),
        ({"model": "smal-crane"}, 422, "did you mean 'small-crane'"),
        ({"model": "double-pendulum", "settings": {"mas1": 1.0}}, 422, "nothing called 'mas1'"),
        ({"model": "double-pendulum", "options": {"integrator": "dop853"}}, 422, "chooses its own steps"),
        ({"model": "double-pendulum", "options": {"cut": ["../../etc"]}}, 403, "outside"),
        ({"model": "double-pendulum", "more": 1}, 422, "more"),
        ({"file": "0" * 64}, 404, ""),
        ({"system": {"plugins": ["x.py"], "components": {}}}, 403, "cannot load Python"),
        ({"scenario": "[[["}, 422, "not valid TOML"),
        ({"scenario": '[start]\nmodel = "double-pendulum"', "model": "double-pendulum"}, 422, "give nothing beside it"),
        ({"scenario": '[start]\nsystem = "/etc/passwd"'}, 422, "system is a table"),
        ({"scenario": '[start]\nmodel = "/etc/x.toml"'}, 422, "there is no model"),
    ],
)
def test_what_cannot_begin_is_refused_with_a_sentence(http, context, body, status, words):
    before = [program.id for program in sessions_of(http.app).every()]
    answer = http.post("/api/v1/live", json=body)
    assert answer.status_code == status, answer.text
    assert words in answer.json()["error"]
    assert not list(context.folder.incoming.glob("live-*"))
    assert [program.id for program in sessions_of(http.app).every()] == before


@pytest.mark.parametrize("headers", [{"Authorization": "Bearer wrong"}, {"Origin": "http://evil.example"}])
def test_strangers_hear_nothing(http, standing, headers):
    with pytest.raises(WebSocketDisconnect), talk(http, standing, **headers) as socket:
        socket.receive_text()


def test_a_session_that_is_not_there(http):
    with pytest.raises(WebSocketDisconnect), talk(http, {"id": "nobody"}) as socket:
        socket.receive_text()
    for verb, path in (("get", ""), ("get", "/scenario"), ("delete", "")):
        assert getattr(http, verb)(f"/api/v1/live/nobody{path}").status_code == 404


def test_there_are_not_too_many(http, standing, monkeypatch):
    monkeypatch.setattr(live_sessions, "MOST_SESSIONS", 1)
    answer = http.post("/api/v1/live", json=START)
    assert answer.status_code == 503
    assert "end one of them first" in answer.json()["error"]


def test_who_leaves_lets_the_session_wait(http, standing):
    with talk(http, standing) as socket:
        hear(socket, "state")
        socket.send_text(json.dumps({"do": "play"}))
        hear(socket, "frame")
    for _ in range(600):
        if http.get(f"/api/v1/live/{standing['id']}").json()["state"] == "paused":
            return
        time.sleep(0.1)
    raise AssertionError("it goes on although nobody looks")
