"""What a machine cannot test is said in one line, and other Pythons that it has are found."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import conftest

ROOT = Path(__file__).parents[2]


def told(*reasons):
    """Return the lines at the end of a run of tests that were skipped for these reasons."""
    lines = []
    skipped = [SimpleNamespace(longrepr=("test.py", 1, f"Skipped: {reason}")) for reason in reasons]
    conftest.pytest_terminal_summary(SimpleNamespace(stats={"skipped": skipped} if skipped else {}, write_line=lines.append))
    return lines


def test_what_was_not_tested_is_said_in_one_line():
    assert told() == ["Nothing was left untested."]
    browser, library = "no Chromium here", "ecospy does not load; install libtbb12 (Debian)"
    assert told(browser, library, browser) == [f"Not tested here: {browser} (2 tests); {library} (1 test)"]


@pytest.mark.skipif(os.name != "posix", reason="the Pythons here are scripts of a shell")
def test_the_oldest_and_the_newest_other_python_are_found(tmp_path):
    own = "{}.{}".format(*sys.version_info[:2])
    answers = {name: f"echo '{name.replace('.', ' ')} /there/python{name}'" for name in ("3.10", "3.27", "3.28", own)}
    answers |= {"3.9": "echo '3 9 /there/python3.9'", "3.29": "exit 1"}  # too old, and broken
    (tmp_path / "bin").mkdir()
    for name, answer in answers.items():
        program = tmp_path / "bin" / f"python{name}"
        program.write_text(f"#!/bin/sh\n{answer}\n")
        program.chmod(0o755)
    environment = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    words = [sys.executable, str(ROOT / "tools" / "other_pythons.py")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    first = "3.27" if own == "3.10" else "3.10"
    assert done.stdout.splitlines() == [f"{name} /there/python{name}" for name in (first, "3.28")]
    environment["PATH"] = str(tmp_path)
    assert subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout == ""


def test_what_is_tried_with_other_pythons_is_there():
    """What reads XML is among it, whose elements are true or not by the version."""
    listed = [line for line in (ROOT / "tests" / "other_pythons.txt").read_text().splitlines() if not line.startswith("#")]
    assert [path for path in listed if not (ROOT / path).exists()] == []
    assert {"tests/core/cli/test_wrong_input.py", "tests/fmu/cosim/description/ssp", "tests/fmu/file"} <= set(listed)
