"""Whatever is killed at whatever moment: no acknowledged job is lost, and none ends twice."""

import os
import random
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from kingpost.fmu.service.store import Store
from tests.fmu.service.serving import PATIENCE, SHORT, RunningServer, eventually

pytestmark = pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="looks for processes in /proc")


def kill_at_random(folder, kills: int, jobs: int, seed: int) -> None:
    """Submit jobs while servers, executors and the processes of jobs are killed; then let everything come to an end."""
    chance = random.Random(seed)
    server = RunningServer(folder, workers=2).start()
    acknowledged: list[int] = []
    try:
        for number in range(kills):
            while len(acknowledged) < (number + 1) * jobs // kills:
                key = f"job {len(acknowledged)}"
                acknowledged.append(server.client.submit("run", model="double-pendulum", options=SHORT, key=key, name=key))
            time.sleep(chance.uniform(0.0, 1.5))
            what = chance.choice(["server", "executor", "executor"]) if number else "executor"
            if what == "server":
                orphans = [*server.executors(), *server.job_processes()]
                server.kill()
                eventually(partial(none_alive, orphans), "executors or jobs outlive their server")
                server = RunningServer(folder, workers=2).start()
            elif found := server.executors():
                os.kill(chance.choice(found), signal.SIGKILL)
        if kills > 1:
            server.kill()
            server = RunningServer(folder, workers=2).start()
        ends = {job: server.client.wait(job, limit=PATIENCE + 20 * jobs) for job in acknowledged}
        assert {job: (end["state"], end["error"]) for job, end in ends.items()} == dict.fromkeys(acknowledged, ("done", None))
        assert len(set(acknowledged)) == jobs
    finally:
        if server.process.poll() is None:
            server.stop()
    store = Store(folder / "kingpost.sqlite")
    for job in acknowledged:
        told = [event.data["state"] for event in store.events(0, job, 10_000) if event.what == "state"]
        assert told.count("done") == 1
        assert told[-1] == "done"
        assert sorted(path.name for path in (folder / "jobs" / str(job)).iterdir()) == [str(store.job(job).attempts)]
    assert store.counts()["done"] == jobs
    assert store.db.row("PRAGMA integrity_check")[0] == "ok"
    store.close()


def none_alive(pids: list[int]) -> bool:
    return not any(map(alive, pids))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_executor_and_a_server_are_killed(tmp_path):
    kill_at_random(tmp_path / "project", kills=2, jobs=3, seed=1)


@pytest.mark.slow
def test_twenty_kills(tmp_path):
    kill_at_random(tmp_path / "project", kills=20, jobs=20, seed=2)


@pytest.mark.slow
@pytest.mark.skipif("KINGPOST_KILLS" not in os.environ, reason="takes hours: KINGPOST_KILLS=1000 asks for it")
def test_many_kills(tmp_path):
    kills = int(os.environ["KINGPOST_KILLS"])
    kill_at_random(tmp_path / "project", kills=kills, jobs=kills, seed=3)
