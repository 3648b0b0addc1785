"""Files that are made to do harm, uploaded to a real server: it stays up, says the reason, and nothing is left behind."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi")

from kingpost.fmu.process.sandbox import sandbox_available
from kingpost.fmu.service import histories
from kingpost.fmu.service.client import Client
from kingpost.fmu.service.errors import ServiceError
from kingpost.fmu.service.watching import ProgressReader, Said
from tests.fmu.building import hostile, needs_compiler, oscillator
from tests.fmu.hostile_archives import ARCHIVES, DESCRIPTIONS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is for Linux")
#: Seconds that anything may take on a machine that has much else to do.
PATIENCE = 600.0
LIMITS = "memory=6e8,cpu=5,disk=1e8,temporary=1e8,processes=60,wall=1000"
#: What an FMU may do, the state of its job, and a pattern for what is said about it.
DEEDS = {
    "crash": (["crash"], "failed", "the process of the FMU was killed by SIGSEGV while stepping from t = 0.0 s"),
    "abort": (["abort"], "failed", "the process of the FMU was killed by SIGABRT while stepping"),
    "hang": (["sleep"], "failed", "did not come back within 3 s while stepping"),
    "cpu": (["spin"], "failed", r"was killed by SIGXCPU, for it had used up its 5 s of CPU time"),
    "memory": (["memory"], "failed", r"its processes together had \d+ MB of memory, and may have 600 MB"),
    "disk": (["fill {results}"], "failed", "it wrote more than 100 MB of files"),
    "burrow": (["burrow {results}", "sleep"], "failed", "it made folders that are 40 deep inside each other"),
    "reach": (
        ["read {token}", "read {store}", "list {jobs}", "write {project}/harm", "link {token} {results}/token",
         "link {token} {results}/report.html", "link {token} {telling}/progress.jsonl", "connect 127.0.0.1 {port}"],
        "done", "",
    ),
}  # fmt: skip


class Server:
    """A server that was started as a user does it."""

    def __init__(self, folder: Path) -> None:
        self.folder, log = folder, folder.parent / "server.log"
        words = [
            sys.executable,
            "-m",
            "kingpost",
            "serve",
            str(folder),
            "--port",
            "0",
            "--no-open",
            "--workers",
            "1",
            "--nice",
            "0",
        ]
        with log.open("wb") as stream:
            self.process = subprocess.Popen(
                words,
                stdout=stream,
                stderr=stream,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "KINGPOST_SANDBOX_LIMITS": LIMITS},
            )
        end = time.monotonic() + PATIENCE
        while not (found := re.search(r"(http://[\d.]+:(\d+))/\?token=(\S+)", log.read_text())):
            assert self.process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        self.client, self.port = Client(found[1], found[3], timeout=PATIENCE), int(found[2])

    def check(self) -> None:
        """See that the server is well, and that nothing is left of what has ended."""
        assert self.process.poll() is None
        assert self.client.ask("GET", "health")["status"] == "ok"
        assert list((self.folder / "incoming").iterdir()) == []
        for attempt in (self.folder / "jobs").glob("*/*"):
            assert not {"work", "tmp", "telling"} & {path.name for path in attempt.iterdir()}
            assert not [path for path in attempt.rglob("*") if path.is_symlink() or not (path.is_file() or path.is_dir())]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    found = Server(tmp_path_factory.mktemp("hostile") / "project")
    yield found
    found.process.send_signal(signal.SIGTERM)
    try:
        assert found.process.wait(PATIENCE) == 0
    finally:
        found.process.kill()


@pytest.fixture
def sandbox():
    reason = sandbox_available()
    if reason is not None:
        pytest.skip(f"needs a sandbox ({reason})")


@pytest.mark.quick("zip-slip", "zip-bomb", "link", "nul", "entity-bomb")
@pytest.mark.parametrize("kind", [*ARCHIVES, *DESCRIPTIONS])
def test_archives_made_to_do_harm_are_refused(server, tmp_path, kind):
    write, message = {**ARCHIVES, **DESCRIPTIONS}[kind]
    if kind in DESCRIPTIONS:
        message = "which could bring entities"
    elif kind == "cut":
        message = "is no archive"
    write(tmp_path / "x.fmu")
    with pytest.raises(ServiceError, match=message) as refused:
        server.client.upload(tmp_path / "x.fmu")
    assert 400 <= refused.value.status < 500
    assert str(server.folder) not in str(refused.value) and "\0" not in str(refused.value)
    assert not list(server.folder.parent.rglob("escaped")) and not Path("/tmp/escaped").exists()
    server.check()


def test_what_code_of_others_leaves_is_opened_with_care(tmp_path, monkeypatch):
    (tmp_path / "secret").write_text('{"fraction": 0.5}\n')
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "nowhere"):
        assert ProgressReader(tmp_path / name).last() is None  # and nobody waits
    assert ProgressReader(tmp_path / "secret").last() == Said(0.5)
    monkeypatch.setattr(histories, "LARGEST_HISTORY", 1e6)
    np.savez_compressed(tmp_path / "history.npz", x=np.zeros(200_000))
    assert (tmp_path / "history.npz").stat().st_size < 10_000
    with pytest.raises(
        ServiceError, match="'history.npz' has 2 MB; histories up to 1 MB are shown; fetch larger ones as files"
    ):
        histories.history_in(tmp_path)
    (tmp_path / "history.npz").write_bytes(b"PK")
    with pytest.raises(ServiceError, match="'history.npz' is damaged"):
        histories.history_in(tmp_path)
    (tmp_path / "history.npz").unlink()
    (tmp_path / "history.csv").symlink_to("/etc/passwd")
    with pytest.raises(ServiceError, match="there is no history"):
        histories.history_in(tmp_path)


def told(server, text, job):
    place = server.folder / "jobs" / str(job) / "1"
    return text.format(
        results=place / "results", telling=place / "telling", token=server.folder / "token", project=server.folder,
        store=server.folder / "kingpost.sqlite", jobs=server.folder / "jobs", port=server.port,
    )  # fmt: skip


@needs_compiler
@pytest.mark.quick("crash")
@pytest.mark.parametrize("what", DEEDS)
def test_fmus_that_do_harm_end_with_the_reason(server, sandbox, tmp_path, what):
    deeds, state, message = DEEDS[what]
    number = max((job["id"] for job in server.client.jobs()["jobs"]), default=0) + 1
    fmu = hostile(tmp_path, *(told(server, deed, number) for deed in deeds), name=what)
    uploaded = server.client.upload(fmu)
    job = server.client.submit(
        "fmu-run", file=uploaded["hash"], options={"timeout": 3 if what == "hang" else 500, "report": False}
    )
    assert job == number
    ended = server.client.wait(job, limit=PATIENCE)
    assert ended["state"] == state, ended["error"]
    assert re.search(message, ended["error"] or ""), ended["error"]
    assert "Traceback" not in server.client.log(job)
    if what == "reach":
        log = server.client.log(job)
        for deed in ("read {token}", "read {store}", "write {project}/harm"):
            assert f"could not {told(server, deed, job)}: " in log
        assert set(re.findall(r"/jobs holds (\S+)", log)) == {".", "..", str(job)}  # no other job
        assert "could not connect to 127.0.0.1: Connection refused" in log
        assert not (server.folder / "harm").exists()
        assert not {"token", "report.html"} & {file["name"] for file in ended["files"]}
    server.check()


@needs_compiler
@pytest.mark.slow
def test_a_coupled_system_with_an_fmu_that_crashes(server, sandbox, tmp_path):
    good, bad = oscillator(tmp_path), hostile(tmp_path, "crash", name="bad")
    hashes = {path: server.client.upload(path)["hash"] for path in (good, bad)}
    system = {
        "run": {"t_end": 0.3, "step": 0.1},
        "components": {"good": {"fmu": hashes[good]}, "bad": {"fmu": hashes[bad]}},
        "connections": [{"from": "bad.y", "to": "good.force"}],
    }
    job = server.client.submit("cosim", system=system, options={"report": False})
    ended = server.client.wait(job, limit=PATIENCE)
    assert ended["state"] == "failed"
    assert re.search("'bad'.*its process was killed by SIGSEGV while stepping", ended["error"]), ended["error"]
    server.check()


@needs_compiler
@pytest.mark.slow
def test_an_honest_fmu_runs_is_checked_and_can_be_cancelled(server, sandbox, tmp_path):
    uploaded = server.client.upload(oscillator(tmp_path))
    for kind, options in (("fmu-run", {}), ("fmu-check", {"only": "archive,run"})):
        ended = server.client.wait(server.client.submit(kind, file=uploaded["hash"], options=options), limit=PATIENCE)
        assert ended["state"] == "done", ended["error"]
    slow = server.client.upload(oscillator(tmp_path, "SLOW"))
    job = server.client.submit("fmu-run", file=slow["hash"], options={"t_end": 100.0, "report": False, "write": "csv"})
    end = time.monotonic() + PATIENCE
    while not server.client.job(job)["progress"]:
        assert time.monotonic() < end
        time.sleep(0.2)
    # Its samples come out of the sandbox while it runs, and what it computed is kept when it is cancelled.
    route = f"jobs/{job}/history?channels=position&points=20000"
    while not (so_far := server.client.ask("GET", route))["time"]:
        assert time.monotonic() < end
        time.sleep(0.2)
    assert so_far["complete"] is False
    server.client.cancel(job)
    ended = server.client.wait(job, limit=PATIENCE)
    assert ended["state"] == "cancelled"
    assert re.search(r"interrupted at t = \S+ s.*\nThe \d+ samples", ended["error"]), ended["error"]
    assert {"interrupted-history.csv", "interrupted-run.json"} <= {file["name"] for file in ended["files"]}
    kept = server.client.ask("GET", route)
    assert kept["complete"] is True
    count = len(so_far["time"])
    assert 1 <= count <= len(kept["time"])
    assert kept["time"][:count] == so_far["time"]
    assert kept["channels"]["position"]["min"][:count] == so_far["channels"]["position"]["min"]
    server.check()


@needs_compiler
@pytest.mark.slow
def test_an_fmu_that_takes_no_notice_of_being_cancelled(server, sandbox, tmp_path):
    """It hangs before the first sample, in a call that may last; what is left of it goes all the same."""
    number = max((job["id"] for job in server.client.jobs()["jobs"]), default=0) + 1
    fmu = hostile(tmp_path, told(server, "link {token} {results}/token", number), "sleep", name="deaf")
    job = server.client.submit("fmu-run", file=server.client.upload(fmu)["hash"], options={"report": False})
    end = time.monotonic() + PATIENCE
    while not (server.folder / "jobs" / str(job) / "1" / "results" / "token").is_symlink():
        assert time.monotonic() < end
        time.sleep(0.1)
    server.client.cancel(job)
    assert server.client.wait(job, limit=PATIENCE)["state"] == "cancelled"
    server.check()
