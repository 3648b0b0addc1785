"""Programs end with the process that started them, also while they are inside a call that never returns."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from kingpost.fmu.process.program import start_program

pytestmark = pytest.mark.skipif(os.name != "posix", reason="POSIX processes")
#: What a program may be doing when its starter dies; one that keeps the interpreter to itself is ended by Linux alone.
BUSY = {
    "in Python": "while True: pass",
    "in native code": "import ctypes; ctypes.CDLL(None).pause()",
    "holding on to the interpreter": "import ctypes; ctypes.PyDLL(None).pause()",
}
STARTER = """
import os, subprocess, sys, time
sys.path.insert(0, {folder!r})
from kingpost.fmu.process.program import start_program
process = start_program("busy_program", environment={{"PYTHONPATH": {path!r}}}, stdin=subprocess.DEVNULL)
time.sleep(60)
"""


def gone(pid, patience=20.0):
    """Say whether a process ends within some time; one that nobody has asked about its end counts."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
        except FileNotFoundError:
            pytest.skip("needs ps")
        if not state.strip() or state.startswith("Z"):
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def program(tmp_path):
    """Return how to write a program that says its number and goes on to be busy; what the path to it is."""

    def write(busy):
        code = f"""
        import os, signal
        from kingpost.fmu.process.lifeline import end_with_starter
        end_with_starter()
        print(os.getpid(), flush=True)
        {busy}
        """
        (tmp_path / "busy_program.py").write_text(textwrap.dedent(code))
        return os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))

    return write


@pytest.mark.parametrize("busy", BUSY)
def test_a_program_ends_when_its_starter_is_killed(program, tmp_path, busy):
    if busy == "holding on to the interpreter" and sys.platform != "linux":
        pytest.skip("needs Linux")
    code = STARTER.format(folder=str(tmp_path), path=program(BUSY[busy]))
    starter = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    pid = int(starter.stdout.readline())
    time.sleep(0.1)  # until it is busy
    starter.kill()
    starter.wait()
    starter.stdout.close()
    try:
        assert gone(pid)
    finally:
        if not gone(pid, 0.1):
            os.kill(pid, signal.SIGKILL)


def test_a_program_outlives_the_thread_that_started_it(program):
    path = program("import sys; sys.stdin.read(1); print('alive')")
    started = []

    def start():
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        started.append(start_program("busy_program", environment={"PYTHONPATH": path}, **options))
        started[0].stdout.readline()

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    time.sleep(0.1)
    assert started[0].communicate("x", timeout=30)[0] == "alive\n"


def test_a_program_that_is_told_to_end_with_its_group_leaves_that_to_its_starter(program):
    path = program("os.kill(os.getpid(), signal.SIGTERM); print('alive')")
    process = start_program(
        "busy_program", environment={"PYTHONPATH": path}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    assert process.communicate(timeout=30)[0].split()[1:] == ["alive"]
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="looks into /proc")
def test_nothing_stays_open(program):
    path = program("pass")
    handles = Path("/proc/self/fd")
    before = len(list(handles.iterdir()))
    process = start_program("busy_program", environment={"PYTHONPATH": path}, stdout=subprocess.DEVNULL)
    assert process.wait(30) == 0
    del process
    assert len(list(handles.iterdir())) == before
    with pytest.raises(ValueError, match="null"):
        start_program("busy_program", "no\0word")
    assert len(list(handles.iterdir())) == before
