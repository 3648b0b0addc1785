"""A Dask cluster behind the service: studies run there, and what is killed there or here costs no run."""

import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip("distributed")

from kingpost.studies.store import Store
from tests.fmu.service.serving import PATIENCE, RunningServer, eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(os.name != "posix", reason="signals and process groups are those of POSIX"),
]
STUDY = """\
name = "deck lifts"
model = "small-crane-parked"
t_end = 300
skip = 1
step = 0.02
output_step = 0.1
[sea]
spectrum = "jonswap"
components = 6
scatter = "scatter.csv"
headings = [150]
seeds = 12
[keep]
loads = ["slew"]
statistics = ["max"]
[limits]
"hook.z" = { range = 0.6 }
"""
SCATTER = "Hs [m], Tp [s], probability\n0.5, 5, 0.4\n0.5, 6, 0.3\n1.5, 6, 0.3\n"
RUNS = 36


def run_so_far(server, job) -> int:
    """Return how many runs of a study have ended."""
    folders = [path for path in (server.folder / "jobs" / str(job)).glob("*/results") if Store.exists(path)]
    if not folders:
        return 0
    with Store(folders[-1]) as store:
        return store.counts().run


def numbers_in(folder) -> dict[str, tuple]:
    """Return what came of each case of a study."""
    with Store(folder) as store:
        return {entry.case.key: (entry.state, dict(entry.outcome.numbers)) for entry in store.stored()}


def test_a_study_on_a_cluster_survives_a_worker_and_the_server(tmp_path, clusters):
    cluster = clusters(2)
    on = f"dask://{cluster.address}"
    server = RunningServer(tmp_path / "project", "--on", on).start()
    for name, text in (("scatter.csv", SCATTER), ("sea.toml", STUDY)):
        (tmp_path / name).write_text(text)
        uploaded = server.client.upload(tmp_path / name)
    job = server.client.submit("study", file=uploaded["hash"])
    try:
        eventually(lambda: run_so_far(server, job) >= 3, "no run comes back from the cluster", 2 * PATIENCE)
        assert f"--on={on}" in server.client.job(job)["command"]
        os.killpg(cluster.workers[0].pid, signal.SIGKILL)
        kept = run_so_far(server, job)
        eventually(lambda: run_so_far(server, job) > kept, "the other worker does not go on")
        server.kill()
        kept = run_so_far(server, job)
        assert kept < RUNS
        server = RunningServer(tmp_path / "project", "--on", on).start()
        end = server.client.wait(job, limit=3 * PATIENCE)
        assert (end["state"], end["error"], end["attempts"]) == ("done", None, 2)
        assert f"kingpost: {kept}" in server.client.log(job)  # those were not run again
        record = server.client.ask("GET", f"jobs/{job}/study")
        assert (record["cases"]["done"], record["cases"]["failed"]) == (RUNS, 0)
    finally:
        server.stop()
    words = [sys.executable, "-m", "kingpost", "study", str(tmp_path / "sea.toml"), "--on", "threads", "--out", "here"]
    subprocess.run(words, check=True, cwd=tmp_path, capture_output=True)
    there, here = (numbers_in(folder) for folder in (server.folder / "jobs" / str(job) / "2" / "results", tmp_path / "here"))
    assert len(here) == RUNS
    assert there == here
