"""A disk that is full is an error with a message, in every format, and the earlier result stays."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="lengths of files are limited as POSIX does")


def test_every_format_ends_cleanly(plugins, tmp_path):
    command = [sys.executable, "-m", "tests.plugins.writers.full_disk", str(tmp_path / "run")]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    answers = dict(line.split(":", 1) for line in done.stdout.splitlines())
    assert set(answers) == set(plugins.writers)
    for name, answer in answers.items():
        assert "cannot be written: " in answer, name
        assert "File too large" in answer, name
