"""The API, asked in this process: who may ask, jobs and their results, a disk that is full."""

import json

import numpy as np
import pytest

from kingpost.base.channels import Channel
from kingpost.cli.sample_file import SampleFile
from kingpost.fmu.service.guard import COOKIE, urlsplit_host
from kingpost.fmu.service.histories import Shown, thinned
from kingpost.fmu.service.leases import Leases
from kingpost.fmu.service.starting import Place
from kingpost.fmu.service.watching import Said
from kingpost.results.history import History
from kingpost.results.run_folder import write_run
from kingpost.studies.case import Case, Outcome
from kingpost.studies.reducer import number_name
from kingpost.studies.running import SPEC
from kingpost.studies.store import Store as StudyStore
from tests.fmu.service.serving import TOKEN, browser_of, make_context, plan_of, said, write_result

RUN = {"kind": "run", "model": "vessel-crane", "options": {"t_end": 5}}


def submitted(http, **changes) -> int:
    answer = http.post("/api/v1/jobs", json={**RUN, **changes})
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def ended(context, job: int, state="done", error=None):
    """Let a job have been run by somebody."""
    if context.store.fact("epoch") is None:
        context.store.next_epoch()
    executor = Leases(context.store, int(context.store.fact("epoch")), "tests")
    taken = executor.take()
    assert taken.id == job
    executor.end(taken, state, 0 if state == "done" else 4, error)


def test_health_needs_no_token_and_everything_else_does(http):
    stranger = {"Authorization": ""}
    assert http.get("/api/v1/health", headers=stranger).json()["status"] == "ok"
    for path in ("/", "/api/v1/jobs", "/api/v1/metrics", "/api/v1/openapi.json", "/report/charts.js", "/anything"):
        answer = http.get(path, headers=stranger)
        assert answer.status_code == 401, path
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert TOKEN not in answer.text
    assert http.post("/api/v1/jobs", json=RUN, headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert http.get("/api/v1/jobs", headers={"Authorization": f"Basic {TOKEN}"}).status_code == 401
    assert http.get(f"/api/v1/jobs?token={TOKEN}", headers=stranger).status_code == 401  # in the address of the page only


def test_the_address_with_the_token_leaves_a_cookie_that_scripts_cannot_read(http):
    stranger = {"Authorization": ""}
    answer = http.get(f"/?token={TOKEN}", headers=stranger, follow_redirects=False)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"{COOKIE}={TOKEN}; ")
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    del http.headers["Authorization"]
    assert http.get("/api/v1/jobs", headers={"Cookie": f"{COOKIE}={TOKEN}"}).status_code == 200
    assert http.get("/api/v1/jobs", headers={"Cookie": f"{COOKIE}=other"}).status_code == 401
    http.cookies.clear()
    assert http.get("/?token=wrong", follow_redirects=False).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "testserver:99", "", "testserver.evil.example"])
def test_other_names_of_the_server_are_refused(http, host):
    answer = http.get("/api/v1/jobs", headers={"Host": host})
    assert (answer.status_code, answer.json()["code"]) == (403, "host")
    assert http.get("/api/v1/health", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://testserver.evil.example", "file://testserver"])
def test_foreign_pages_are_refused(http, origin):
    answer = http.post("/api/v1/jobs", json=RUN, headers={"Origin": origin})
    assert (answer.status_code, answer.json()["code"]) == (403, "origin")
    assert http.get("/api/v1/jobs", headers={"Origin": "http://testserver"}).status_code == 200
    assert http.get("/api/v1/jobs", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_the_host_of_an_origin():
    assert urlsplit_host("https://A.example:8") == "a.example:8"
    assert urlsplit_host("http://[::1") == ""


def test_every_answer_has_strict_headers_and_scripts_are_ours(http):
    for path in ("/api/v1/jobs", "/report/charts.js", "/api/v1/nothing"):
        headers = http.get(path).headers
        assert "script-src 'self'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
    assert http.get("/report/charts.js").headers["Content-Type"].startswith("text/javascript")
    for path in ("/report/page.py", "/report/..%2f..%2fsetup.js", "/..%2fapp.py", "/page/app.py", "/app.py"):
        assert http.get(path).status_code == 404, path


def test_a_job_is_submitted_listed_and_shown(http):
    job = submitted(http, name="a crane", settings={"m1": 1500.0})
    found = http.get(f"/api/v1/jobs/{job}").json()
    assert (found["state"], found["name"], found["progress"], found["files"]) == ("queued", "a crane", 0.0, [])
    assert found["request"]["settings"] == {"m1": 1500.0}
    listed = http.get("/api/v1/jobs", params={"state": "queued", "kind": "run", "limit": 1}).json()
    assert [entry["id"] for entry in listed["jobs"]] == [job]
    assert listed["counts"]["queued"] == 1
    assert http.get("/api/v1/jobs", params={"before": job}).json()["jobs"] == []
    assert 'kingpost_jobs{state="queued",kind="run"} 1' in http.get("/api/v1/metrics").text


def test_a_request_that_is_repeated_with_its_key_makes_one_job(http):
    key = {"Idempotency-Key": "abc"}
    first = http.post("/api/v1/jobs", json=RUN, headers=key).json()
    assert http.post("/api/v1/jobs", json=RUN, headers=key).json() == first
    other = http.post("/api/v1/jobs", json={**RUN, "name": "x"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (409, "key-used")


def test_jobs_are_cancelled_repeated_and_deleted(http, context):
    job = submitted(http)
    assert http.post(f"/api/v1/jobs/{job}/cancel").json()["state"] == "cancelled"
    again = http.post(f"/api/v1/jobs/{job}/again")
    assert again.status_code == 201
    assert http.get(f"/api/v1/jobs/{again.json()['id']}").json()["request"] == RUN
    write_result(context, job, 1, {"x.csv": b""})
    assert http.delete(f"/api/v1/jobs/{job}").json()["state"] == "deleted"
    assert not context.folder.job(job).exists()
    assert http.get(f"/api/v1/jobs/{job}").status_code == 404
    assert http.delete(f"/api/v1/jobs/{again.json()['id']}").json()["state"] == "cancelled"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"kind": "run", "extra": 1},
        {"kind": 3},
        [],
        "x",
        {"kind": "run", "model": "nothing"},
        {**RUN, "settings": {"a": None}},
    ],
    ids=str,
)
def test_wrong_requests_are_refused_in_one_form(http, body):
    answer = http.post("/api/v1/jobs", json=body)
    assert answer.status_code == 422
    assert set(answer.json()) == {"error", "code"}


def test_uploaded_fmus_are_refused_where_there_is_no_sandbox(context, monkeypatch):
    from tests.fmu.service.test_uploads import FMU, upload

    monkeypatch.setitem(context.__dict__, "sandbox_fault", "there is no bwrap")
    http = browser_of(context)
    digest = upload(http, "crane.fmu", FMU).json()["hash"]
    answer = http.post("/api/v1/jobs", json={"kind": "fmu-check", "file": digest})
    assert (answer.status_code, answer.json()["code"]) == (403, "sandbox")
    assert "there is no bwrap" in answer.json()["error"]
    assert "--trust-fmus" in answer.json()["error"]


def test_trusted_fmus_need_no_sandbox(tmp_path):
    from tests.fmu.service.test_uploads import FMU, upload

    context = make_context(tmp_path / "trusting", trust_fmus=True)
    http = browser_of(context)
    digest = upload(http, "crane.fmu", FMU).json()["hash"]
    assert http.post("/api/v1/jobs", json={"kind": "fmu-check", "file": digest}).status_code == 201
    context.store.close()


def test_a_full_disk_stops_new_jobs_and_harms_none(tmp_path):
    context = make_context(tmp_path / "full")
    job = submitted(browser_of(context))
    full = make_context(tmp_path / "full", least_free=1e18)
    http = browser_of(full)
    for answer in (
        http.post("/api/v1/jobs", json=RUN),
        http.post(f"/api/v1/jobs/{job}/again"),
        http.post("/api/v1/files", content=b"", headers={"X-Filename": "x.csv"}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (507, "disk-full")
        assert "MB left" in answer.json()["error"]
    assert http.get("/api/v1/health").json()["status"] == "disk-full"
    ended(full, job)
    assert http.get(f"/api/v1/jobs/{job}").json()["state"] == "done"
    context.store.close()
    full.store.close()


def history(samples=1001):
    time = np.linspace(0.0, 10.0, samples)
    values = np.column_stack([np.sin(time), np.where(np.arange(samples) == 500, 99.0, 0.0)])
    return History(time, (Channel("a.angle", "rad"), Channel("b", "m")), values, {"outcome": "complete"})


@pytest.fixture
def finished(http, context):
    """A job that has been run, with a history."""
    job = submitted(http)
    ended(context, job)
    write_result(context, job, 1, {"report.html": b"<html>", "sub/x.txt": b"0123456789"})
    write_run(history(), context.folder.attempt(job, 1) / "results", writers=["csv", "npz"])
    (context.folder.attempt(job, 1) / "log.txt").write_bytes("kingpost: wärning\n".encode())
    (context.folder.attempt(job, 1) / "record.json").write_text(json.dumps({"outcome": "complete"}))
    return job


def test_results_are_served(http, finished):
    found = http.get(f"/api/v1/jobs/{finished}").json()
    assert [entry["name"] for entry in found["files"]] == ["history.csv", "history.npz", "report.html", "run.json", "sub/x.txt"]
    assert found["summary"] == {"outcome": "complete"}
    base = f"/api/v1/jobs/{finished}"
    assert http.get(f"{base}/files/sub/x.txt", headers={"Range": "bytes=3-5"}).text == "345"
    page = http.get(f"{base}/files/report.html")
    assert page.headers["Content-Security-Policy"].startswith("sandbox allow-scripts")
    log = http.get(f"{base}/log", params={"from": 10})
    assert log.text == "wärning\n"
    assert log.headers["X-Log-End"] == str(len("kingpost: wärning\n".encode()))
    for name in ("../log.txt", "..%2flog.txt", "%2e%2e/log.txt", "sub", "nothing", "%00"):
        assert http.get(f"{base}/files/{name}").status_code == 404, name


def test_histories_are_thinned_without_losing_a_peak(http, finished):
    base = f"/api/v1/jobs/{finished}"
    channels = http.get(f"{base}/channels").json()
    assert [(entry["name"], entry["unit"]) for entry in channels] == [("a.angle", "rad"), ("b", "m")]
    found = http.get(f"{base}/history", params={"channels": "a.angle,b", "points": 10}).json()
    assert len(found["time"]) == 10
    assert max(found["channels"]["b"]["max"]) == 99.0
    assert max(found["channels"]["b"]["min"]) == 0.0
    part = http.get(f"{base}/history", params={"channels": "b", "from": 4.95, "to": 5.05, "points": 2000}).json()
    assert part["samples"] == 11
    assert part["channels"]["b"]["min"] == part["channels"]["b"]["max"]
    assert part["channels"]["b"]["max"][5] == 99.0
    assert http.get(f"{base}/history", params={"channels": "c"}).status_code == 404
    assert http.get(f"{base}/history", params={"from": 50.0}).json() == {
        **{"time": [], "channels": {}, "samples": 0, "complete": True}
    }


def test_numbers_that_are_not_finite_become_null():
    source = history()
    values = source.values.copy()
    values[:, 0] = np.nan
    values[3, 1] = np.inf
    found = thinned(Shown.of(History(source.time, source.channels, values)), ["a.angle", "b"], None, None, 1001)
    assert set(found["channels"]["a.angle"]["min"]) == {None}
    assert found["channels"]["b"]["max"][3] is None


def test_jobs_without_results_say_so(http):
    job = submitted(http)
    for route in ("channels", "history", "study", "cases", "map", "files/history.csv"):
        answer = http.get(f"/api/v1/jobs/{job}/{route}")
        assert answer.status_code == 404, route
        assert f"job {job} has not run yet" in answer.json()["error"]
    assert http.get(f"/api/v1/jobs/{job}/log").text == ""


def events_in(text: str) -> list[tuple[str, str, dict]]:
    blocks = [
        dict(line.split(": ", 1) for line in block.split("\n")) for block in text.split("\n\n") if block.startswith("event")
    ]
    return [(block["event"], block["id"], json.loads(block["data"])) for block in blocks]


def test_events_of_a_job_tell_everything_and_resume(http, finished):
    route = f"/api/v1/jobs/{finished}/events"
    answer = http.get(route)
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    seen = events_in(answer.text)
    assert [(what, data.get("state")) for what, _, data in seen] == [
        ("log", None), ("state", "queued"), ("state", "running"), ("state", "done"),
    ]  # fmt: skip
    assert seen[0][2]["text"] == "kingpost: wärning\n"
    rest = events_in(http.get(route, headers={"Last-Event-ID": seen[1][1]}).text)
    assert [data["state"] for _, _, data in rest] == ["running", "done"]
    assert http.get(route, headers={"Last-Event-ID": seen[-1][1]}).status_code == 204
    assert len(events_in(http.get(route, headers={"Last-Event-ID": "nonsense"}).text)) == 4


def test_events_of_all_jobs_begin_where_the_client_was(http, context, finished):
    context.stopping.set()
    assert events_in(http.get("/api/v1/events").text) == []


def test_models_plugins_and_kinds(http):
    names = [row["name"] for row in http.get("/api/v1/models").json()]
    assert "vessel-crane" in names
    found = http.get("/api/v1/models/double-pendulum").json()
    assert {"name": "mass1", "default": 1.0, "unit": "kg", "description": "mass of the upper rod"} in found["parameters"]
    assert found["t_end"] == 10.0
    assert {body["name"] for body in found["scene"]["bodies"]} == set(found["bodies"])
    assert http.get("/api/v1/models/nothing").status_code == 404
    assert "rk4" in [row["name"] for row in http.get("/api/v1/plugins").json()["integrator"]]
    assert "t_end" in http.get("/api/v1/kinds").json()["run"]["options"]
    doctor = http.get("/api/v1/doctor").json()
    assert doctor["workers"] == 1 and "compiler" in doctor


def test_faults_are_not_shown_to_clients(http, context, monkeypatch):
    monkeypatch.setattr(context.store, "counts", lambda: 1 / 0)
    answer = http.get("/api/v1/jobs")
    assert (answer.status_code, said(answer)["code"]) == (500, "fault")
    assert "division" not in answer.text


def test_cases_of_a_study_can_be_read_while_it_runs(http, context):
    from kingpost.studies.case import Case, Outcome
    from kingpost.studies.store import Store

    job, _ = context.store.add("study", "sea", plan_of("study"))
    ended(context, job)
    write_result(context, job, 1, {"study.json": b'{"cases": {"done": 1}}'})
    with Store(context.folder.attempt(job, 1) / "results") as store:
        store.plan([Case("a", {}, "", {"Hs": 1.0, "Tp": 6.0}, 0.5), Case("b", {}, "", {"Hs": 2.0, "Tp": 6.0}, 0.5)])
        store.add(Outcome("a", {"max": 3.0}))
    base = f"/api/v1/jobs/{job}"
    assert http.get(f"{base}/study").json() == {"cases": {"done": 1}}
    found = http.get(f"{base}/cases").json()
    assert [(case["key"], case["state"], case["numbers"]) for case in found["cases"]] == [
        ("a", "done", {"max": 3.0}),
        ("b", "open", {}),
    ]
    assert [case["key"] for case in http.get(f"{base}/cases", params={"cell": "Hs=2"}).json()["cases"]] == ["b"]
    assert http.get(f"{base}/cases", params={"cell": "Hs"}).status_code == 422


@pytest.fixture
def watched(context, http):
    """A job that runs, and the file in which it tells its samples."""
    job = submitted(http)
    context.store.next_epoch()
    executor = Leases(context.store, int(context.store.fact("epoch")), "tests")
    place = Place(context.folder.attempt(job, executor.take().attempts))
    place.telling.mkdir(parents=True)
    place.results.mkdir()
    return job, place, executor


def test_samples_of_a_running_job_are_a_history_that_grows(http, watched):
    job, place, _ = watched
    base = f"/api/v1/jobs/{job}"
    assert http.get(f"{base}/history").status_code == 404
    assert http.get(base).json()["drawable"] is False
    source = history()
    samples = SampleFile(place.samples)
    samples.begin(source.channels)
    assert http.get(base).json()["drawable"] is True
    assert http.get(f"{base}/history").json()["time"] == []
    for rows, count in ((slice(0, 300), 300), (slice(300, None), 1001)):
        samples.add(source.time[rows], source.values[rows])
        found = http.get(f"{base}/history", params={"channels": "b", "points": 20000}).json()
        assert found["complete"] is False
        assert found["time"][-1] == source.time[min(count, 1000) - 1]
        values = source["b"][: len(found["time"])]
        assert found["channels"]["b"]["min"] == found["channels"]["b"]["max"] == values.tolist()
    window = http.get(f"{base}/history", params={"channels": "b", "from": 4.95, "to": 5.05, "points": 2}).json()
    assert max(window["channels"]["b"]["max"]) == 99.0
    channels = http.get(f"{base}/channels").json()
    assert [entry["name"] for entry in channels] == ["a.angle", "b"]
    # Half a row is not read, and what is no file of ours is none.
    with place.samples.open("ab") as stream:
        stream.write(b"12345")
    assert http.get(f"{base}/history", params={"points": 20000}).json()["samples"] == 1000
    for nonsense in (b"", b"[]\n", b'{"channels": 3}\n', b'{"channels": [{"name": "a"}]}\n', b"\xff\n", b"[" * 100_000):
        place.samples.write_bytes(nonsense)
        assert http.get(f"{base}/history").status_code == 404
    # The history of the end takes its place.
    write_run(source, place.results, writers=["csv"])
    assert http.get(f"{base}/history").json()["complete"] is True


def test_samples_are_kept_if_a_job_leaves_no_history(http, watched):
    job, place, executor = watched
    samples = SampleFile(place.samples)
    samples.begin(history().channels)
    samples.add(history().time, history().values)
    place.keep_samples()
    place.clear()
    executor.end(executor.store.job(job), "failed", -11, "the process was ended by SIGSEGV")
    assert http.get(f"/api/v1/jobs/{job}/history").json()["samples"] == 1000
    assert http.get(f"/api/v1/jobs/{job}").json()["drawable"] is True


def test_words_on_progress_reach_the_job_and_its_events(http, watched):
    job, _, executor = watched
    said = Said.of(b'{"words": "iteration 3: cost 7", "numbers": {"iteration": 3, "cost": 7.5, "violation": null}}')
    executor.renew(executor.store.job(job), said)
    found = http.get(f"/api/v1/jobs/{job}").json()
    assert (found["words"], found["numbers"], found["progress"]) == (
        "iteration 3: cost 7",
        {"iteration": 3.0, "cost": 7.5},
        0.0,
    )
    executor.end(executor.store.job(job), "done", 0, None)
    found = http.get(f"/api/v1/jobs/{job}").json()
    assert (found["words"], found["numbers"]) == (None, {})


def test_the_map_of_a_study_fills_as_its_runs_end(http, watched):
    job, place, _ = watched
    assert http.get(f"/api/v1/jobs/{job}/map").status_code == 404
    labels = [{"Hs": hs, "Tp": tp, "seed": seed} for hs in (0.5, 1.5) for tp in (5.0, 6.0) for seed in (0, 1)]
    cases = [Case(f"{k:02x}", {}, "", own, 0.125) for k, own in enumerate(labels)]
    with StudyStore(place.results) as store:
        store.plan(cases)
        store.note(SPEC, {"limits": {"hook.z": {"range": 1.0}}})
        empty = http.get(f"/api/v1/jobs/{job}/map").json()
        for case, size, error in ((cases[0], 0.5, ""), (cases[1], 1.5, ""), (cases[2], 0.5, ""), (cases[4], 0.0, "exploded")):
            store.add(Outcome(case.key, {} if error else {number_name("hook.z", "range"): size}, error, 0.1))
    assert (empty["planned"], empty["done"]) == (8, 0)
    assert {cell["within"] for cell in empty["cells"]} == {None}
    found = http.get(f"/api/v1/jobs/{job}/map").json()
    assert (found["planned"], found["done"], found["failed"], found["outside"]) == (8, 3, 1, 0)
    assert found["limits"] == ["hook.z: range up to 1"]
    assert [(cell["runs"], cell["done"], cell["failed"], cell["within"]) for cell in found["cells"]] == [
        *((2, 2, 0, 0.5), (2, 1, 0, 1.0), (2, 0, 1, None), (2, 0, 0, None))
    ]
    with StudyStore(place.results) as store:
        store.note(SPEC, {})
    without = http.get(f"/api/v1/jobs/{job}/map").json()
    assert [(cell["runs"], cell["done"], cell["failed"], cell["within"]) for cell in without["cells"]] == [
        *((2, 2, 0, None), (2, 1, 0, None), (2, 0, 1, None), (2, 0, 0, None))
    ]
