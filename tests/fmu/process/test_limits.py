"""Answers are waited for no longer than allowed."""

import math
import subprocess
import sys
import time

import pytest

from kingpost import MechanismError
from kingpost.fmu.process.limits import Answers, checked_limit


@pytest.fixture(params=["poll", "timer"])
def answers(request):
    """Return how to hear a program of the given code, by each of the two ways to wait."""
    processes = []

    def start(code):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        processes.append(process)
        found = Answers(process)
        if request.param == "timer":
            found._poll = None
        return found

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def test_an_answer_is_read_as_soon_as_it_comes(answers):
    heard = answers("import time; print('yes', end='', flush=True); time.sleep(60)")
    begun = time.monotonic()
    assert heard.read(10, 30.0) == b"yes"
    assert time.monotonic() - begun < 30.0


def test_the_end_of_a_program_is_an_empty_answer(answers):
    assert answers("pass").read(10, 30.0) == b""
    assert answers("pass").read(10, math.inf) == b""


def test_nobody_waits_longer_than_allowed(answers):
    heard = answers("import time; time.sleep(60)")
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        heard.read(10, 0.2)
    assert 0.2 <= time.monotonic() - begun < 20.0


def test_limits_are_positive_or_none():
    assert checked_limit(None, "timeout") == checked_limit(0, "timeout") == math.inf
    assert checked_limit(2, "timeout") == 2.0
    for wrong in (-1.0, math.nan):
        with pytest.raises(MechanismError, match="timeout is .* s; it must be positive, or 0 for no limit"):
            checked_limit(wrong, "timeout")
