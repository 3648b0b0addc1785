"""Dask clusters for tests: a scheduler and workers that can be killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


class Cluster:
    """A scheduler and workers, each a process of its own, as a user starts them."""

    def __init__(self, folder, workers=2):
        self.file = Path(folder) / "scheduler.json"
        self.processes = []
        words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
        self.scheduler = self.start("dask_scheduler", *words, "--scheduler-file", str(self.file))
        for _ in range(600):
            if self.file.is_file() and self.file.read_text().rstrip().endswith("}"):
                break
            time.sleep(0.1)
        self.address = json.loads(self.file.read_text())["address"].removeprefix("tcp://")
        self.workers = [
            self.start("dask_worker", self.address, "--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard")
            for _ in range(workers)
        ]

    def start(self, name, *words):
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{name}", *words],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        self.processes.append(process)
        return process

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def clusters(tmp_path):
    made = []

    def make(workers=2):
        folder = tmp_path / f"cluster-{len(made)}"
        folder.mkdir()
        made.append(Cluster(folder, workers))
        return made[-1]

    yield make
    for cluster in made:
        cluster.close()
