"""A real server on loopback: jobs from the first request to the last file, and its end."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from kingpost.fmu.service.client import Client, NoServerError
from kingpost.fmu.service.errors import ServiceError
from tests.fmu.service.serving import PATIENCE, SHORT, eventually, running

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and process groups are those of POSIX")
LONG = {**SHORT, "t_end": 100_000.0, "step": 0.001, "output_step": 100.0}


@pytest.fixture(scope="module")
def done(client):
    """A run that has ended well."""
    job = client.submit("run", model="double-pendulum", settings={"mass2": 2.0}, options={**SHORT, "write": "csv,npz"})
    return client.wait(job, limit=PATIENCE)


@pytest.fixture(scope="module")
def client(server):
    return server.client


def test_a_run_from_submission_to_its_files(client, server, done, tmp_path):
    assert (done["state"], done["error"], done["exit_status"], done["progress"]) == ("done", None, 0, 1.0)
    assert done["command"][:4] == ["kingpost", "run", "double-pendulum", "--set=mass2=2.0"]
    assert done["summary"]["parameters"]["mass2"]["value"] == 2.0
    names = [path.name for path in client.download(done["id"], tmp_path)]
    assert {"history.csv", "history.npz", "run.json"} <= set(names)
    found = client.ask("GET", f"jobs/{done['id']}/history?channels=shoulder.angle&points=3")
    assert len(found["channels"]["shoulder.angle"]["max"]) == 3
    place = server.folder / "jobs" / str(done["id"]) / "1"
    assert sorted(path.name for path in place.iterdir()) == ["log.txt", "record.json", "results"]  # nothing temporary


def test_events_tell_the_end(client, done):
    seen = list(client.events(done["id"]))
    assert [data["state"] for what, _, data in seen if what == "state"] == ["queued", "running", "done"]
    assert list(client.events(done["id"], since=seen[-1][1])) == []


def test_a_failed_job_has_the_message_of_the_command_line(client, server):
    job = client.wait(client.submit("run", model="double-pendulum", settings={"mas2": 1.0}, options=SHORT), limit=PATIENCE)
    words = [sys.executable, "-m", *job["command"][:-2]]
    there = subprocess.run(words, capture_output=True, text=True, check=False, cwd=server.folder)
    assert (job["state"], job["exit_status"]) == ("failed", there.returncode)
    assert there.stderr.strip() == f"kingpost: {job['error']}"
    assert job["error"] in client.log(job["id"])


def test_a_running_job_is_cancelled_and_keeps_what_it_computed(client):
    job = client.submit("run", model="double-pendulum", options=LONG)
    eventually(lambda: client.job(job)["progress"] > 0, "it never told its progress")
    assert client.job(job)["time_left_s"] > 0
    client.cancel(job)
    found = client.wait(job, limit=PATIENCE)
    assert found["state"] == "cancelled"
    assert "interrupted" in found["error"]
    assert any(entry["name"].startswith("interrupted-history") for entry in found["files"])


def test_the_token_is_nowhere_in_what_the_server_writes(client, server, done):
    urllib.request.urlopen(f"{client.address}/api/v1/health").read()
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(f"{client.address}/api/v1/jobs?token={client.token}")
    assert server.log.read_text().count(client.token) == 1  # the address
    for path in server.folder.rglob("*"):
        if path.is_file() and path.name != "token":
            assert client.token.encode() not in path.read_bytes(), path
    assert (server.folder / "token").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_a_second_server_in_the_same_folder_is_refused(server):
    words = [sys.executable, "-m", "kingpost", "serve", str(server.folder), "--port", "0"]
    found = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert found.returncode != 0
    assert "another 'kingpost serve' works in" in found.stderr


@pytest.mark.slow
def test_submit_and_jobs_on_the_command_line(server, client, tmp_path):
    common = ["--server", client.address, "--token-file", str(server.folder / "token")]

    def kingpost(*words):
        line = [sys.executable, "-m", "kingpost", *words, *common]
        return subprocess.run(line, capture_output=True, text=True, check=False, timeout=PATIENCE)

    options = [word for name, value in SHORT.items() for word in ("--option", f"{name}={json.dumps(value).strip(chr(34))}")]
    done = kingpost("submit", "run", "double-pendulum", *options, "--set", "mass1=3", "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "history.csv").is_file()
    listed = kingpost("jobs", "--state", "done", "--json")
    newest = json.loads(listed.stdout)["jobs"][0]
    assert newest["name"] == "double-pendulum"
    assert f"{newest['id']}, run, double-pendulum" in kingpost("jobs", str(newest["id"])).stdout
    assert "deleted" in kingpost("jobs", str(newest["id"]), "--delete").stdout
    refused = kingpost("submit", "run", "no-such-model")
    assert refused.returncode != 0
    assert "there is no model 'no-such-model'" in refused.stderr


def test_a_client_says_what_is_wrong(server, tmp_path):
    with pytest.raises(NoServerError, match="no server answers"):
        Client("http://127.0.0.1:9", "token").jobs()
    with pytest.raises(ServiceError, match="needs the token") as refusal:
        Client(server.client.address, "wrong-token").jobs()
    assert refusal.value.status == 401


@pytest.mark.slow
def test_every_kind_of_job_runs_to_its_end(client, tmp_path):
    ends = {}
    jobs = {
        "run": {"model": "vessel-crane", "options": {"t_end": 0.5}},
        "inverse": {"model": "overhead-crane", "options": {"task": "003"}},
        "optimise": {"model": "overhead-crane", "options": {"task": "001", "intervals": 20}},
        "export": {"model": "double-pendulum", "options": {"fmi": 2}},
        "cosim": {"system": {"components": {"a": {"model": "double-pendulum"}}, "run": {"t_end": 0.2, "step": 0.01}}},
    }
    for kind, asked in jobs.items():
        ends[kind] = client.wait(client.submit(kind, **asked), limit=PATIENCE)
    run = ends["run"]["id"]
    for kind in ("report", "fatigue"):
        ends[kind] = client.wait(client.submit(kind, job=run), limit=PATIENCE)
    study = tmp_path / "study.toml"
    study.write_text(
        'name = "s"\nmodel = "double-pendulum"\nt_end = 0.5\n[vary]\nmass1 = [1.0, 2.0]\n'
        '[limits]\n"energy.total" = { max = 1e9 }\n'
    )
    ends["study"] = client.wait(client.submit("study", file=client.upload(study)["hash"]), limit=PATIENCE)
    (fmu,) = [path for path in client.download(ends["export"]["id"], tmp_path / "fmu") if path.suffix == ".fmu"]
    digest = client.upload(fmu)["hash"]
    if client.ask("GET", "doctor")["sandbox"] == "works":
        ends["fmu-run"] = client.wait(client.submit("fmu-run", file=digest, options={"t_end": 0.2}), limit=PATIENCE)
        ends["fmu-check"] = client.wait(client.submit("fmu-check", file=digest, options={"only": "units"}), limit=PATIENCE)
    assert {kind: (job["state"], job["error"]) for kind, job in ends.items()} == dict.fromkeys(ends, ("done", None))


@pytest.mark.slow
def test_the_end_gives_jobs_back_and_the_next_server_goes_on(tmp_path):
    folder = tmp_path / "project"
    with running(folder) as first:
        long = first.client.submit("run", model="double-pendulum", options=LONG)
        waiting = first.client.submit("run", model="double-pendulum", options=SHORT)
        eventually(lambda: first.client.job(long)["state"] == "running", "nobody took the job")
        executors = first.executors()
        assert executors
        assert first.stop() == 0
        assert not first.executors()
        assert not first.job_processes()
    with running(folder) as second:
        assert second.client.job(long)["state"] in ("queued", "running")
        second.client.cancel(long)
        assert second.client.wait(long, limit=PATIENCE)["state"] == "cancelled"
        assert second.client.wait(waiting, limit=PATIENCE)["state"] == "done"
