"""Signals that ask a command to end: what was computed is kept, and the exit status names the signal."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kingpost.cli.signals import ENDING, TWICE, Asked, asked_to_end, while_doing
from kingpost.results.read_write import read_history

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="POSIX signals")
KINGPOST = [sys.executable, "-m", "kingpost"]
LONG = ("run", "double-pendulum", "--t-end", "1e6", "--output-step", "100", "-v", "--write", "csv", "--out", "o")
SLOW_MODEL = """
import time
import kingpost

class Slow(kingpost.Model):
    '''Takes long to build.'''
    name = "slow"
    def build(self):
        print("building", flush=True)
        time.sleep(60)

@kingpost.hookimpl
def kingpost_register_models(): return [Slow]
"""


def ended(words, cwd, number, line=b""):
    """Start a command, signal it as soon as it has said ``line``, and return its exit status and what it said."""
    process = subprocess.Popen([*map(str, words)], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    assert line in process.stdout.readline()
    if line == b"kernel":
        time.sleep(0.7)  # until there are samples
    process.send_signal(number)
    said, _ = process.communicate(timeout=60)
    return process.returncode, said.decode()


@pytest.mark.quick("*-143")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_run_that_is_asked_to_end_keeps_its_samples(tmp_path, number, status):
    code, said = ended([*KINGPOST, *LONG], tmp_path, number, b"kernel")
    assert code == status
    assert "kingpost: interrupted at t = " in said and f"(by {number.name})" in said
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == ["interrupted-history.csv", "interrupted-run.json"]
    assert json.loads((tmp_path / "o" / "interrupted-run.json").read_text())["outcome"] == "interrupted"
    assert len(read_history(tmp_path / "o" / "interrupted-history.csv")) > 1


@pytest.mark.parametrize(
    ("verb", "number", "status"),
    [
        ("run", signal.SIGTERM, 143),
        ("run", signal.SIGINT, 130),
        ("inverse", signal.SIGINT, 130),
        ("optimise", signal.SIGTERM, 143),
    ],
)
def test_an_interrupt_during_preparation_says_so(tmp_path, verb, number, status):
    (tmp_path / "slow.py").write_text(SLOW_MODEL)
    code, said = ended([*KINGPOST, verb, "slow", "--plugin", "slow.py"], tmp_path, number, b"building")
    assert code == status
    assert "kingpost: interrupted while 'slow' was being prepared; nothing was computed" in said
    assert {path.name for path in tmp_path.iterdir()} <= {"slow.py", "__pycache__"}


INVERSE = """
import sys, time
from kingpost.cli.output import ProgressBar

def slowly(self, fraction):
    print("under way", flush=True)
    time.sleep(0.2)

ProgressBar.__call__ = slowly
from kingpost.cli.main import main

words = ["inverse", "mass-chain", "--task", "003", "--stepper", "bdf2:step=0.001", "--write", "csv", "--out", "o"]
sys.exit(main([*words, "--method", sys.argv[1]]))
"""


@pytest.mark.parametrize(
    ("number", "status"), [pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow), (signal.SIGINT, 130)]
)
def test_steps_of_inverse_dynamics_that_are_interrupted_are_kept_beside_earlier_results(tmp_path, number, status):
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "history.csv").write_text("earlier")
    code, said = ended([sys.executable, "-c", INVERSE, "minimal-extension"], tmp_path, number, b"under way")
    assert code == status
    by = "(by SIGTERM)" if number == signal.SIGTERM else ""
    files = ("interrupted-history.csv", "interrupted-run.json")
    assert "kingpost: interrupted at t = " in said and by in said
    assert f"are in {', '.join(f'o/{name}' for name in files)}" in said
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == ["history.csv", *files]
    assert (tmp_path / "o" / "history.csv").read_text() == "earlier"
    assert json.loads((tmp_path / "o" / "interrupted-run.json").read_text())["outcome"] == "interrupted"
    found = read_history(tmp_path / "o" / "interrupted-history.csv")
    # In portions of 64 steps of 1 ms; what is kept is the beginning of the whole, of 6 s.
    assert 64 < len(found) < 6001
    assert found["servo.position.mass2.x"] == pytest.approx(0.0, abs=1e-9)


OPTIMISE = """
import sys, time
from kingpost.cli.output import ProgressBar

def slowly(self, words, *_, **numbers):
    if float(words.rpartition("violation")[2]) < 1e-6 or len(sys.argv) > 1:
        print("under way", flush=True)
        time.sleep(1.0)

ProgressBar.say = slowly
from kingpost.cli.main import main

words = ["optimise", "mathematical-pendulum", "--backend", "vm", "--write", "csv", "--out", "o"]
sys.exit(main(words))
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_best_motion_of_a_search_that_is_interrupted_is_kept_beside_earlier_results(tmp_path, number, status):
    """From the first iterate on that keeps all constraints."""
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "history.csv").write_text("earlier")
    code, said = ended([sys.executable, "-c", OPTIMISE], tmp_path, number, b"under way")
    assert code == status, said
    by = " (by SIGTERM)" if number == signal.SIGTERM else ""
    assert "kingpost: interrupted after " in said and "the best motion so far costs " in said and by in said
    files = ["interrupted-history.csv", "interrupted-run.json"]
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == ["history.csv", *files]
    assert (tmp_path / "o" / "history.csv").read_text() == "earlier"
    record = json.loads((tmp_path / "o" / files[1]).read_text())
    assert (record["outcome"], record["status"]) == ("interrupted", "interrupted")
    assert record["optimal"]["violation"] < 1e-6
    assert "its cost is not the least" in record["warnings"][0]


def test_a_search_that_is_interrupted_before_any_motion_is_one_writes_nothing(tmp_path):
    code, said = ended([sys.executable, "-c", OPTIMISE, "at once"], tmp_path, signal.SIGTERM, b"under way")
    assert code == 143
    assert "the search was interrupted before any motion kept all constraints" in said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


SENSITIVITY = """
import sys, time
from kingpost.cli.output import ProgressBar

def slowly(self, fraction):
    print("under way", flush=True)
    time.sleep(0.3)

ProgressBar.__call__ = slowly
from kingpost.cli.main import main

words = ["sensitivity", "double-pendulum", "--of", "max abs elbow.Fx", "--to", "*", "--t-end", "2", "--backend", "vm"]
sys.exit(main(words))
"""


def test_a_gradient_that_is_interrupted_prints_and_writes_nothing(tmp_path):
    code, said = ended([sys.executable, "-c", SENSITIVITY], tmp_path, signal.SIGTERM, b"under way")
    assert code == 143
    assert "there is no gradient (by SIGTERM)" in said or "the gradient was being found; nothing is written" in said
    assert "with respect to" not in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_inputs_that_are_found_all_at_once_are_not_written_in_part(tmp_path):
    code, said = ended([sys.executable, "-c", INVERSE, "flat"], tmp_path, signal.SIGTERM, b"under way")
    assert code == 143
    assert "kingpost: interrupted while inputs were being found; nothing is written (by SIGTERM)" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", ["report", "fatigue", "plot"])
def test_commands_that_read_results_end_as_well(tmp_path, verb):
    code = (
        "import sys, time\n"
        "import kingpost.results.read_write as reading\n"
        "def read(*_, **kept):\n"
        "    print('reading', flush=True)\n"
        "    time.sleep(60)\n"
        "reading.read_history = read\n"
        "from kingpost.cli.main import main\n"
        f"sys.exit(main([{verb!r}, '.']))\n"
    )
    status, said = ended([sys.executable, "-c", code], tmp_path, signal.SIGTERM, b"reading")
    assert status == 143
    assert said.strip() == "kingpost: interrupted (by SIGTERM)"
    assert list(tmp_path.iterdir()) == []


COMMANDS = {
    "report": ("page.html", "report", "run", "--out", "page.html"),
    "fatigue": ("ranges.json", "fatigue", "run", "--out", "ranges.json"),
    "plot": ("picture.png", "plot", "run", "--out", "picture.png"),
    "export": ("machine.fmu", "export", "double-pendulum", "-o", "machine.fmu"),
}
SLOW = ("plot", "export", "report")


@pytest.mark.parametrize("verb", [pytest.param(verb, marks=[pytest.mark.slow] * (verb in SLOW)) for verb in COMMANDS])
def test_a_command_that_is_asked_to_end_leaves_a_whole_file_and_nothing_else(tmp_path, kingpost_cli, verb):
    """At every one of its file calls: the earlier file, or the new one; no temporary file or folder anywhere."""
    folder = tmp_path / "work"
    folder.mkdir()
    if verb != "export":
        words = ("run", "double-pendulum", "--t-end", "1", "--loads", "all", "--write", "csv", "--out", folder / "run")
        assert kingpost_cli(*words).status == 0
    command = [sys.executable, "-m", "tests.core.cli.endings", str(folder), *COMMANDS[verb]]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # it forks
    root = Path(__file__).parents[3]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert counts["earlier"] > 5 and counts["new"] > 0 and counts["asked"] == counts["earlier"] + counts["new"]


def test_a_run_whose_results_are_being_written_is_not_thrown_away(tmp_path, kingpost_cli, monkeypatch):
    from kingpost.results import run_folder

    whole, tries = run_folder.write_together, []

    def write(folder, files):
        tries.append(folder)
        if len(tries) == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        whole(folder, files)

    monkeypatch.setattr(run_folder, "write_together", write)
    outcome = kingpost_cli("run", "double-pendulum", "--t-end", "0.1", "--write", "csv", "--out", "o")
    assert outcome.status == 143 and len(tries) == 2
    assert "interrupted after the run; its results are whole, in o/history.csv, o/run.json (by SIGTERM)" in outcome.err
    assert len(read_history(tmp_path / "o")) == 11


def test_the_second_of_two_signals_in_a_row_asks_for_nothing_new(monkeypatch):
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    asked = Asked()
    with pytest.raises(KeyboardInterrupt):
        asked.take(signal.SIGTERM, None)
    now += 0.5 * TWICE
    asked.take(signal.SIGHUP, None)
    assert (asked.status, asked.words) == (143, " (by SIGTERM)")
    now += TWICE
    with pytest.raises(KeyboardInterrupt):
        asked.take(signal.SIGHUP, None)
    assert asked.status == 129


def test_handlers_of_others_stay_and_ours_go(monkeypatch):
    before = {number: signal.signal(number, signal.SIG_DFL) for number in ENDING}
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
        with asked_to_end() as asked:
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) == asked.take
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        found = []
        thread = threading.Thread(target=lambda: found.append(_status_in_a_thread()))
        thread.start()
        thread.join()
        assert found == [130]  # signals belong to the main thread
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _status_in_a_thread():
    with asked_to_end() as asked:
        return asked.status


def test_an_interrupt_that_has_something_to_say_keeps_its_words():
    with pytest.raises(KeyboardInterrupt, match=r"^interrupted while this was done$"), while_doing("this was done"):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt, match=r"^at t = 3 s$"), while_doing("this was done"):
        raise KeyboardInterrupt("at t = 3 s")
