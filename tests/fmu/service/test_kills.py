"""Whatever is killed at whatever moment: no acknowledged job is lost, and none ends twice."""

import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from kingpost.fmu.service.leases import MOST_KILLED
from kingpost.fmu.service.store import Store
from tests.fmu.service.serving import PATIENCE, SHORT, RunningServer, eventually, running

pytestmark = pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="looks for processes in /proc")

#: Seconds between two kills, at most.
LONGEST_PAUSE = 1.0


def kill_at_random(folder, kills: int, jobs: int, seed: int) -> None:
    """Submit jobs while servers, executors and the processes of jobs are killed; then let everything come to an end."""
    chance = random.Random(seed)
    server = RunningServer(folder, workers=2).start()
    acknowledged: list[int] = []
    struck: Counter[int] = Counter()
    made: Counter[str] = Counter()
    try:
        for number in range(kills):
            while len(acknowledged) < (number + 1) * jobs // kills:
                key = f"job {len(acknowledged)}"
                acknowledged.append(server.client.submit("run", model="double-pendulum", options=SHORT, key=key, name=key))
            time.sleep(chance.uniform(0.0, LONGEST_PAUSE))
            what = chance.choice(["server", "executor", "executor", "job"]) if number else "executor"
            made[what] += 1
            if what == "server":
                orphans = [*server.executors(), *server.job_processes()]
                server.kill()
                eventually(partial(none_alive, orphans), "executors or jobs outlive their server")
                server = RunningServer(folder, workers=2).start()
            elif what == "job":
                made["job in vain"] += not kill_a_job(server, struck, chance)
            else:
                found = eventually(server.executors, "no executor is alive")
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
    print(f"{kills} kills {dict(made)} of {jobs} jobs; nothing may be lost")
    store = Store(folder / "kingpost.sqlite")
    for job in acknowledged:
        told = [event.data["state"] for event in store.events(0, job, 10_000) if event.what == "state"]
        assert told.count("done") == 1
        assert told[-1] == "done"
        assert sorted(path.name for path in (folder / "jobs" / str(job)).iterdir()) == [str(store.job(job).attempts)]
    assert store.counts()["done"] == jobs
    assert store.db.row("PRAGMA integrity_check")[0] == "ok"
    store.close()


def kill_a_job(server: RunningServer, struck: Counter[int], chance: random.Random) -> bool:
    """Kill the process of a job, but of none more often than is borne."""
    found = [(pid, job) for pid, job in server.jobs_by_process().items() if struck[job] < MOST_KILLED - 1]
    if not found:
        return False
    pid, job = chance.choice(found)
    struck[job] += 1
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return True


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
def test_a_job_whose_process_is_killed_runs_again_and_fails_when_that_goes_on(tmp_path):
    with running(tmp_path / "project") as server:
        client = server.client
        first = client.submit("run", model="double-pendulum", options=SHORT)
        pid = next(iter(eventually(server.jobs_by_process, "the job does not run")))
        os.kill(pid, signal.SIGKILL)
        end = client.wait(first, limit=PATIENCE)
        assert (end["state"], end["attempts"]) == ("done", 2)
        second = client.submit("run", model="double-pendulum", options={**SHORT, "t_end": 1e6})
        for number in range(MOST_KILLED):
            eventually(partial(runs_for_the, number + 1, second, server), "it does not run")
            os.kill(next(iter(server.jobs_by_process())), signal.SIGKILL)
        end = client.wait(second, limit=PATIENCE)
    assert (end["state"], end["attempts"]) == ("failed", MOST_KILLED)
    assert end["error"] == "the process was ended by SIGKILL, by somebody or for want of memory"


def runs_for_the(time: int, job: int, server: RunningServer) -> bool:
    return server.client.job(job)["attempts"] == time and bool(server.jobs_by_process())


@pytest.mark.slow
def test_twenty_kills(tmp_path):
    kill_at_random(tmp_path / "project", kills=20, jobs=20, seed=2)


@pytest.mark.slow
@pytest.mark.skipif("KINGPOST_KILLS" not in os.environ, reason="takes half an hour: KINGPOST_KILLS=1000 asks for it")
def test_many_kills(tmp_path):
    kills = int(os.environ["KINGPOST_KILLS"])
    kill_at_random(tmp_path / "project", kills=kills, jobs=kills // 2, seed=3)
