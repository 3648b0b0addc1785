"""A disk that is really full: new jobs are refused or wait, none is harmed, and all goes on when there is room again."""

import os
import shutil
import subprocess

import pytest

from kingpost.fmu.service.errors import ServiceError
from tests.fmu.service.serving import PATIENCE, SHORT, eventually, running

#: Bytes of the disk, and megabytes below which new jobs are refused.
SIZE = 40_000_000
LEAST = 15
#: A job that tells its progress until somebody cancels it.
ENDLESS = {**SHORT, "t_end": 1e6, "step": 0.001, "output_step": 1000.0}


@pytest.fixture
def small_disk(tmp_path):
    if os.name != "posix" or os.getuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(place)], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place, left: int):
    """Fill a disk until so many bytes are left; return the file that does it."""
    ballast = place / "ballast"
    ballast.write_bytes(b"")
    with ballast.open("r+b", buffering=0) as stream:
        free = shutil.disk_usage(place).free
        os.posix_fallocate(stream.fileno(), 0, max(1, free - left))
    return ballast


@pytest.mark.slow
def test_a_disk_that_is_full_harms_no_job(small_disk):
    with running(small_disk / "project", "--least-free", str(LEAST), workers=2) as server:
        client = server.client
        runs = client.submit("run", model="double-pendulum", options=ENDLESS)
        eventually(lambda: client.job(runs)["progress"] > 0, "it never told its progress")
        # Nearly full: refused with a sentence, while what runs goes on.
        ballast = fill(small_disk, 3_000_000)
        with pytest.raises(ServiceError, match="MB left; new jobs and files are refused below 15 MB") as refused:
            client.submit("run", model="double-pendulum", options=SHORT)
        assert (refused.value.status, refused.value.code) == (507, "disk-full")
        assert client.ask("GET", "health")["status"] == "disk-full"
        with pytest.raises(ServiceError, match="refused below"):
            client.again(runs)
        before = client.job(runs)["progress"]
        eventually(lambda: client.job(runs)["progress"] > before, "it does not go on")
        # Full to the last byte: the store can note nothing, the server answers, the job computes on.
        ballast.unlink()
        waits = [client.submit("run", model="double-pendulum", options=ENDLESS) for _ in range(2)]
        eventually(lambda: client.job(waits[0])["progress"] > 0, "the second does not run")
        ballast = fill(small_disk, 0)
        processes = server.jobs_by_process()
        eventually(lambda: stalled(client, runs), "the store still has room")
        assert client.ask("GET", "health")["status"] == "disk-full"
        # Somebody kills an executor: its job cannot be noted to wait, and is not lost for that.
        os.kill(server.executors()[0], 9)
        eventually(lambda: len(server.jobs_by_process()) == 1, "the job of a dead executor lives on")
        kept = server.jobs_by_process()
        assert set(kept) < set(processes)
        ballast.unlink()
        eventually(lambda: len(server.jobs_by_process()) == 2, "it does not go on when there is room")
        assert set(kept) <= set(server.jobs_by_process())  # the other one was not disturbed
        for job in (runs, *waits):
            assert client.job(job)["state"] in ("running", "queued")
        for job in (*waits, runs):
            client.cancel(job)
        ends = [client.wait(job, limit=PATIENCE) for job in (runs, *waits)]
        assert [end["state"] for end in ends] == ["cancelled"] * 3
        done = client.wait(client.submit("run", model="double-pendulum", options=SHORT), limit=PATIENCE)
        assert (done["state"], done["error"]) == ("done", None)


def stalled(client, job) -> bool:
    """Say whether nothing is noted of a job any more."""
    import time

    before = client.job(job)["progress"]
    time.sleep(2.0)
    return client.job(job)["progress"] == before


@pytest.mark.slow
def test_a_job_that_finds_the_disk_full_waits_for_room_and_is_done(small_disk):
    with running(small_disk / "project", "--least-free", "1", workers=1) as server:
        client = server.client
        # Two seconds of work and some 6 MB of results, for which there is no room at first.
        options = {**SHORT, "t_end": 100.0, "output_step": 0.01, "backend": "c"}
        job = client.submit("run", model="double-pendulum", options=options)
        eventually(server.jobs_by_process, "it does not run")
        ballast = fill(small_disk, 1_200_000)
        eventually(
            lambda: client.job(job)["attempts"] > 1 or client.job(job)["state"] == "queued", "it never found the disk full"
        )
        assert client.job(job)["state"] in ("queued", "running")
        ballast.unlink()
        end = client.wait(job, limit=PATIENCE)
        assert (end["state"], end["error"]) == ("done", None)
        assert end["attempts"] > 1
        events = [what for what, _, _ in client.events(job)]
        assert 1 <= events.count("disk-full") < 3
