"""Folders for a while: gone with their owner, at the latest when the next one is asked for."""

import os
import signal
import subprocess
import sys
import time

import pytest

from kingpost.base import scratch
from kingpost.base.scratch import LOCK, YOUNG, Scratch, remove_orphans

OWNER = """
import sys, time
from kingpost.base.scratch import Scratch
place = Scratch("test")
(place.path / "deep" / "er").mkdir(parents=True)
print(place.path, flush=True)
time.sleep(60)
"""


@pytest.fixture
def own_place(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch._tidied.discard(str(tmp_path))
    return tmp_path


def aged(folder):
    old = time.time() - 2 * YOUNG
    os.utime(folder / LOCK, (old, old))


def test_a_folder_is_gone_afterwards(own_place):
    with Scratch("test") as folder:
        (folder / "file").write_text("x")
        assert folder.name.startswith("kingpost-test-")
    assert list(own_place.iterdir()) == []
    with pytest.raises(KeyboardInterrupt), Scratch("test"):
        raise KeyboardInterrupt
    assert list(own_place.iterdir()) == []


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="POSIX")
def test_the_folder_of_a_killed_process_goes_with_the_next_one(own_place):
    process = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    folder = own_place / process.stdout.readline().strip().rpartition(os.sep)[2]
    aged(folder)
    remove_orphans(own_place)
    assert (folder / "deep" / "er").is_dir()  # its owner lives
    process.kill()
    process.wait()
    process.stdout.close()
    with Scratch("test") as other:
        assert list(own_place.iterdir()) == [other]


def test_what_is_young_or_nobodys_stays(own_place):
    for name in ("kingpost-new", "kingpost-unlocked", "other"):
        (own_place / name).mkdir()
    (own_place / "kingpost-new" / LOCK).touch()  # made, and about to be locked
    (own_place / "other" / LOCK).touch()
    aged(own_place / "other")
    remove_orphans(own_place)
    assert sorted(path.name for path in own_place.iterdir()) == ["kingpost-new", "kingpost-unlocked", "other"]
    (own_place / "kingpost-link").symlink_to(own_place / "other")
    remove_orphans(own_place)
    assert (own_place / "other" / LOCK).exists()
    aged(own_place / "kingpost-new")
    remove_orphans(own_place)
    assert not (own_place / "kingpost-new").exists()
