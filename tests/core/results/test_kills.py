"""The files of one run are one transaction: whatever ends a writing process, the earlier run is there whole, or the new one."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kingpost import read_history

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked and killed as POSIX does")
ROOT = Path(__file__).parents[3]


def kills(tmp_path, how, times):
    command = [sys.executable, "-m", "tests.core.results.kills", str(tmp_path / "run"), how, str(times), "7", "csv,npz"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_killed_before_every_single_call(tmp_path):
    counts = kills(tmp_path, "points", 1000)
    assert 30 <= counts["kills"] < 1000  # all there are
    assert counts["old"] > 5
    assert counts["new"] > 5


@pytest.mark.slow
def test_killed_at_any_time(tmp_path):
    assert kills(tmp_path, "times", 30)["kills"] == 30


@pytest.mark.slow
def test_killed_a_thousand_times(tmp_path):
    counts = kills(tmp_path, "times", 1000)
    assert counts["kills"] == counts["old"] + counts["new"] == 1000


def test_several_writers_at_once(tmp_path):
    counts = kills(tmp_path, "crowd", 15)
    assert counts["old"] + counts["new"] == 15


@pytest.mark.slow
def test_the_command_killed_at_any_time(tmp_path):
    words = [sys.executable, "-m", "kingpost", "run", "double-pendulum", "--out", str(tmp_path), "--report", "--t-end"]
    subprocess.run([*words, "1"], check=True, capture_output=True)
    old = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    draw = random.Random(3)
    for _ in range(60):
        child = subprocess.Popen([*words, "2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            child.wait(draw.uniform(0.5, 5.0))
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.wait()
        history = read_history(tmp_path)
        assert (history.time[-1], history.provenance["time"]["end_s"]) in [(1.0, 1.0), (2.0, 2.0)]
        if history.time[-1] == 1.0:
            assert {name: (tmp_path / name).read_bytes() for name in old} == old
    subprocess.run([*words, "1"], check=True, capture_output=True)
    assert {path.name for path in tmp_path.iterdir()} == set(old)
