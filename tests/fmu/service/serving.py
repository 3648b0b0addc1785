"""Projects for tests: applications in this process without executors, and real servers."""

import json
import re
import signal
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have another HTTP client
    from starlette.testclient import TestClient

from kingpost.fmu.service.app import make_app
from kingpost.fmu.service.client import Client
from kingpost.fmu.service.context import Context
from kingpost.fmu.service.folder import ProjectFolder
from kingpost.fmu.service.settings import ServiceSettings
from kingpost.fmu.service.store import Store

TOKEN = "a-token-for-tests-only"
HOST = "testserver"
#: Seconds that anything may take on a machine that has much else to do.
PATIENCE = 240.0
#: The least that a run can be asked for.
SHORT = {"t_end": 0.05, "report": False, "write": "csv", "backend": "vm", "loads": "none"}


def make_context(path: Path, **settings) -> Context:
    folder = ProjectFolder(path)
    folder.make()
    return Context(folder, Store(folder.database), ServiceSettings(**settings))


def browser_of(context: Context, **headers) -> TestClient:
    app = make_app(context, TOKEN, [HOST])
    return TestClient(app, headers={"Authorization": f"Bearer {TOKEN}", **headers}, raise_server_exceptions=False)


class RunningServer:
    """A server that was started as a user does it."""

    def __init__(self, folder: Path, *words: str, workers: int = 1) -> None:
        self.folder, self.words = folder, ["--workers", str(workers), "--nice", "0", "--no-open", *words]
        self.client: Client | None = None

    def start(self) -> "RunningServer":
        self.log = self.folder.parent / f"{self.folder.name}.out"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "kingpost", "serve", str(self.folder), "--port", "0", *self.words],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )
        end = time.monotonic() + PATIENCE
        while not (found := re.search(r"(http://[\d.:]+)/\?token=(\S+)", self.log.read_text())):
            assert self.process.poll() is None and time.monotonic() < end, self.log.read_text()
            time.sleep(0.05)
        self.client = Client(found[1], found[2], timeout=PATIENCE)
        return self

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def executors(self) -> list[int]:
        """Return the processes of its executors."""
        return [pid for pid, words in processes() if "kingpost.fmu.service.executor" in words and str(self.folder) in words]

    def job_processes(self) -> list[int]:
        return list(self.jobs_by_process())

    def jobs_by_process(self) -> dict[int, int]:
        """Return the numbers of the jobs that run, by their processes."""
        place = re.compile(re.escape(str(self.folder / "jobs")) + r"/(\d+)/")
        found = {pid: place.search(" ".join(words)) for pid, words in processes() if _is_job(words)}
        return {pid: int(match[1]) for pid, match in found.items() if match}


def _is_job(words: list[str]) -> bool:
    return "kingpost.fmu.service.job_process" in words


def processes() -> list[tuple[int, list[str]]]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append((int(entry.parent.name), entry.read_bytes().decode(errors="replace").split("\0")))
        except OSError:
            continue
    return found


def eventually(condition, what: str, limit: float = PATIENCE):
    """Wait until something is so, and return what it is."""
    end = time.monotonic() + limit
    while not (found := condition()):
        assert time.monotonic() < end, what
        time.sleep(0.05)
    return found


@contextmanager
def running(folder: Path, *words: str, workers: int = 1):
    server = RunningServer(folder, *words, workers=workers).start()
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.terminate()
            try:
                server.process.wait(60)
            except subprocess.TimeoutExpired:
                server.kill()


def write_result(context: Context, job: int, attempt: int, files: dict[str, bytes]) -> None:
    """Put files where an attempt at a job leaves them."""
    results = context.folder.attempt(job, attempt) / "results"
    results.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_bytes(content)


def plan_of(*words: str) -> dict:
    return {
        "request": {"kind": "run"},
        "plan": {"words": list(words), "blobs": {}, "texts": {}, "results": {}, "foreign": False},
    }


def said(answer) -> dict:
    return json.loads(answer.text)
