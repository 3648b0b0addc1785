"""Programs with a limit of time: ended with whatever they have started."""

import os
import shutil
import subprocess
import sys
import threading
import time

import pytest

from kingpost.kernel.bounded import compilation_limit, kill_group, run_bounded

#: A program that hangs in another one, which keeps its output open, as a compiler does in its parts.
HANGING = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"


def running(group):
    """Return the processes of a group that still run; what is left of one that has ended does not."""
    words = ["ps", "-A", "-o", "pgid=,stat=,pid="]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    return [pid for number, state, pid in map(str.split, lines) if int(number) == group and state[0] != "Z"]


def test_what_a_program_says_and_how_it_ends(tmp_path):
    code = "import os, sys; print(os.getcwd()); print(repr(sys.stdin.read()), file=sys.stderr); sys.exit(3)"
    done = run_bounded([sys.executable, "-c", code], 60.0, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (3, f"{tmp_path}\n", "''\n")
    with pytest.raises(FileNotFoundError):
        run_bounded([str(tmp_path / "nothing")], 60.0)


@pytest.mark.skipif(os.name != "posix" or shutil.which("ps") is None, reason="groups of processes, and ps")
def test_a_program_that_hangs_in_another_is_ended_with_it():
    begun, started = time.monotonic(), []
    with pytest.raises(TimeoutError, match=r"did not end within 1 s and was stopped"):
        run_bounded([sys.executable, "-c", HANGING], 1.0, started=started.append)
    assert time.monotonic() - begun < 30
    assert running(started[0].pid) == []


def test_somebody_else_can_end_it():
    started, found = [], []

    def run():
        found.append(run_bounded([sys.executable, "-c", "import time; time.sleep(60)"], 60.0, started=started.append))

    thread = threading.Thread(target=run)
    thread.start()
    while not started:
        time.sleep(0.01)
    kill_group(started[0])
    thread.join(30)
    assert found[0].returncode != 0
    kill_group(started[0])  # it is gone: nothing happens
    assert isinstance(started[0], subprocess.Popen)


def test_long_sources_get_more_time():
    # A kernel of 2.2 MB takes some 30 s on a slow machine.
    assert compilation_limit(0) == 120.0
    assert compilation_limit(2_200_000) > 10 * 30
