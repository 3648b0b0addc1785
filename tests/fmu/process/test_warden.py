"""What a sandbox leaves behind, and what its warden counts."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kingpost.fmu.process.warden import DEEPEST, _cause, _children, _children_by_search, _family, _memory, survey, tidy

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux")


def test_only_files_and_folders_stay(tmp_path):
    (tmp_path / "old").symlink_to("/etc/hosts")
    (tmp_path / "changed").symlink_to("/etc/hosts")
    before = dict(survey(tmp_path))
    (tmp_path / "changed").unlink()
    (tmp_path / "changed").symlink_to("/etc/passwd")
    (tmp_path / "history.csv").write_text("t\n")
    (tmp_path / "history.csv").chmod(0o6755)
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "inside").write_text("x")
    (tmp_path / "hidden" / "link").symlink_to("/")
    (tmp_path / "hidden" / "inside").chmod(0)
    (tmp_path / "hidden").chmod(0)
    os.mkfifo(tmp_path / "pipe")
    tidy(tmp_path, before, None)
    assert sorted(str(path.relative_to(tmp_path)) for path, _ in survey(tmp_path)) == [
        ".", "hidden", "hidden/inside", "history.csv", "old",
    ]  # fmt: skip
    assert (tmp_path / "history.csv").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "hidden" / "inside").read_text() == "x"


def test_a_burrow_is_removed_however_deep(tmp_path):
    here = Path.cwd()
    (tmp_path / "kept").mkdir()
    try:
        os.chdir(tmp_path)
        for _ in range(1500):  # deeper than Python recurses, and than a path can be long
            os.mkdir("below_and_below")  # noqa: PTH102
            os.chdir("below_and_below")
    finally:
        os.chdir(here)
    tidy(tmp_path, {}, None)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert max(len(path.parts) for path, _ in survey(tmp_path)) <= len(tmp_path.parts) + DEEPEST


def test_processes_are_found_with_their_memory():
    code = "import subprocess, sys; x = bytearray(50_000_000); print(1, flush=True); sys.stdin.read()"
    starter = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"
    process = subprocess.Popen([sys.executable, "-c", starter], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdout.readline()
        (child,) = _children(process.pid)
        assert _children_by_search(process.pid) == [child] == _family(process.pid)
        assert 50e6 < _memory(child) < 150e6
        assert child in _family(os.getpid()) and _memory(2**22 + 1) == 0
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def test_causes_are_told():
    assert _cause(signal.SIGXCPU, {"cpu": 60.0}) == "it had used up its 60 s of CPU time"
    assert _cause(signal.SIGKILL, {}) == "it was killed by SIGKILL, as the system does if memory runs short"
    assert _cause(signal.SIGSEGV, {}) == "it was killed by SIGSEGV"
