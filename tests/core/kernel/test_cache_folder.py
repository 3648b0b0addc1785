"""Compiled code is run, so it is kept only where nobody else can write, and nothing is left where it cannot be kept."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kingpost.kernel import cache_folder
from kingpost.kernel.cache_folder import remove_abandoned, usable_folder, who_else_can_write
from kingpost.kernel.compiler import build_cached, find_compiler

pytestmark = pytest.mark.skipif(os.name != "posix", reason="owners and permissions are those of POSIX")
root = pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files to others")
SOURCE = "double twice(double x) { return 2 * x; }\n"
STRANGER = 54321


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "above" / "cache"
    path.mkdir(parents=True, mode=0o700)
    return path


@pytest.fixture(autouse=True)
def _no_private_group(monkeypatch):
    monkeypatch.setattr(cache_folder, "_private", lambda group: False)


@pytest.mark.parametrize(
    ("mode", "message"),
    [(0o777, "everybody can write in"), (0o1777, "everybody can write in"), (0o770, "the group .* can write in")],
)
def test_a_folder_that_others_can_write_is_not_used(folder, mode, message):
    assert usable_folder(folder) == (folder, "")
    folder.chmod(mode)
    instead, obstacle = usable_folder(folder)
    assert instead != folder
    assert instead.stat().st_mode & 0o777 == 0o700
    assert "is not used, because" in obstacle
    assert "set KINGPOST_CACHE_DIR to a folder of your own" in obstacle
    assert re.search(message, obstacle)


def test_a_folder_that_others_can_exchange_is_not_used(folder):
    folder.parent.chmod(0o777)
    assert f"everybody can write in '{folder.parent}' above it" in usable_folder(folder)[1]
    folder.parent.chmod(0o1777)  # as /tmp is
    assert usable_folder(folder) == (folder, "")
    folder.parent.chmod(0o770)
    assert usable_folder(folder) == (folder, "")


@root
def test_a_folder_of_somebody_else_is_not_used(folder):
    os.chown(folder, STRANGER, 0)
    assert f"'{folder}' belongs to the user {STRANGER}" in usable_folder(folder)[1]
    os.chown(folder, 0, 0)
    os.chown(folder.parent, STRANGER, 0)
    assert f"'{folder.parent}' above it belongs to the user {STRANGER}" in usable_folder(folder)[1]


def test_the_group_that_a_user_has_for_himself_is_no_other(folder, monkeypatch):
    folder.chmod(0o770)
    assert who_else_can_write(folder)
    monkeypatch.setattr(cache_folder, "_private", lambda group: True)
    assert not who_else_can_write(folder)


def planted(folder):
    """Put a library with its hash where the cache has its entry for SOURCE."""
    compiler = find_compiler()
    assert compiler is not None
    entry = build_cached(SOURCE, compiler, folder).library.parent
    other = build_cached(SOURCE.replace("2", "666"), compiler, folder).library.parent
    for path in other.iterdir():
        shutil.copy(path, entry / path.name)
    return compiler, entry, json.loads((entry / "record.json").read_text())["sha256"]


def test_a_planted_kernel_is_not_loaded_from_an_open_folder(folder):
    compiler, entry, _ = planted(folder)
    assert build_cached(SOURCE, compiler, folder).library.parent == entry  # hash and library fit
    folder.chmod(0o777)
    built = build_cached(SOURCE, compiler, folder)
    assert built.library.parent.parent != folder
    assert "is not used, because" in built.obstacle


@root
def test_a_planted_kernel_is_not_loaded_once_the_folder_was_closed(folder):
    compiler, entry, planted_hash = planted(folder)
    os.chown(entry / "kernel.so", STRANGER, STRANGER)
    built = build_cached(SOURCE, compiler, folder)
    assert (built.cached, built.obstacle) == (False, "")
    assert json.loads((entry / "record.json").read_text())["sha256"] != planted_hash


def test_nothing_is_left_where_nothing_can_be_kept(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "temporary").mkdir()
    program = (
        "import tempfile\n"
        "from kingpost.kernel.compiler import build_cached, find_compiler\n"
        f"first, second = (build_cached({SOURCE!r}, find_compiler()) for _ in range(2))\n"
        "assert (first.cached, second.cached) == (False, True)\n"
        "assert str(first.library).startswith(tempfile.gettempdir())\n"
        "print(second.obstacle)\n"
    )
    environment = {**os.environ, "KINGPOST_CACHE_DIR": str(tmp_path / "file" / "cache"), "TMPDIR": str(tmp_path / "temporary")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "compiled for this process alone: the cache folder" in done.stdout
    assert list((tmp_path / "temporary").iterdir()) == []


def test_what_killed_builds_have_left_is_removed_after_a_day(folder):
    for name in (".old", ".new", "entry"):
        (folder / name).mkdir()
    for name in (".old", "entry"):
        os.utime(folder / name, (0.0, time.time() - 2 * 86400))
    remove_abandoned(folder)
    assert sorted(path.name for path in folder.iterdir()) == [".new", "entry"]


def test_the_command_line_says_so(kingpost_cli, monkeypatch, tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("KINGPOST_CACHE_DIR", str(tmp_path / "open"))
    outcome = kingpost_cli("run", "double-pendulum", "--t-end", "0.1", "--write", "csv", "--backend", "c")
    assert outcome.status == 0
    assert "kingpost: compiled for this process alone: the cache folder" in outcome.err
    assert "everybody can write in" in json.loads(kingpost_cli("doctor", "--json").out)["cache"]["problem"]
    assert Path(tmp_path / "open").is_dir() and not list((tmp_path / "open").iterdir())
