"""Locks that end with their holders."""

import os
import signal
import subprocess
import sys
import time

import pytest

from kingpost.kernel.locks import locked

fcntl = pytest.importorskip("fcntl")
HOLD = """
import sys, time
from pathlib import Path
from kingpost.kernel.locks import locked
with locked(Path(sys.argv[1]), 60.0):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "lock")], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_lock_is_free_again_and_leaves_nothing(tmp_path):
    for _ in range(2):
        with locked(tmp_path / "lock", 1.0) as waited:
            assert (tmp_path / "lock").exists()
            assert waited < 0.5
        assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_process_that_was_killed_is_taken_at_once(tmp_path, holder):
    """The file that it leaves is no lock."""
    started = time.perf_counter()
    with locked(tmp_path / "lock", 0.3) as waited:
        assert 0.3 <= waited < 5.0  # held by another: given up after the limit
    assert (tmp_path / "lock").exists()  # it was not ours to remove
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert (tmp_path / "lock").exists()
    with locked(tmp_path / "lock", 60.0) as waited:
        assert waited < 5.0
    assert time.perf_counter() - started < 30.0
    assert list(tmp_path.iterdir()) == []


def test_a_wait_ends_when_there_is_nothing_to_wait_for(tmp_path, holder):
    looks = []

    def settled():
        looks.append(1)
        return len(looks) > 2

    with locked(tmp_path / "lock", 60.0, settled) as waited:
        assert waited < 5.0
    assert len(looks) == 3


def test_where_files_cannot_be_locked_nobody_waits(tmp_path, monkeypatch):
    def refuse(handle, how):
        raise OSError("no locks here")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with locked(tmp_path / "lock", 60.0) as waited:
        assert waited < 1.0
    with locked(tmp_path / "no folder" / "lock", 60.0) as waited:
        assert waited < 1.0
