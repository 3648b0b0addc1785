"""Programs that run FMUs apart: how they are started, heard and ended."""

import os
import subprocess

import pytest

from kingpost.fmu.process.program import PRINTED, end_program, hand_over, handed_over, last_printed, start_program


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return how to start a program of the given code."""
    monkeypatch.chdir(tmp_path)

    def start(code, **options):
        (tmp_path / "modules").mkdir(exist_ok=True)
        (tmp_path / "modules" / "one_program.py").write_text(code)
        places = os.pathsep.join(filter(None, [str(tmp_path / "modules"), os.environ.get("PYTHONPATH")]))
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return start_program("one_program", "word", environment={"PYTHONPATH": places}, **options)

    return start


def test_modules_of_the_current_folder_do_not_stand_in_for_others(program, tmp_path):
    (tmp_path / "json.py").write_text("raise ImportError('the wrong one')")
    told, said = program("import json, sys; print(json.dumps(sys.argv[1:]))").communicate(timeout=60)
    assert (told.strip(), said) == (b'["word"]', b"")


@pytest.mark.skipif(not hasattr(os, "getsid"), reason="sessions are POSIX")
@pytest.mark.parametrize("session", [True, False])
def test_an_interrupt_reaches_only_a_program_of_the_same_session(program, session):
    told, _ = program("import os; print(os.getsid(0))", session=session).communicate(timeout=60)
    assert (int(told) != os.getsid(0)) == session


def test_what_is_printed_is_no_answer_and_nothing_planned_for_the_end_is_done(program):
    code = """
import atexit, os
from kingpost.fmu.process.program import leave, own_input, own_output
asked, told = own_input(), own_output()
atexit.register(print, "at the end")
print("printed")
os.write(told, os.read(asked, 100).upper())
leave()
"""
    process = program(code, stdin=subprocess.PIPE)
    assert [text.split() for text in process.communicate(b"question", timeout=60)] == [[b"QUESTION"], [b"printed"]]
    assert process.returncode == 0


def test_a_program_may_also_leave_with_all_that_was_planned(program):
    code = """
import atexit
from kingpost.fmu.process.program import leave
atexit.register(print, "at the end")
leave(at_once=False)
"""
    assert program(code).communicate(timeout=60)[0].split() == [b"at", b"the", b"end"]


def test_a_program_that_does_not_end_is_ended(program):
    process = program("import time; print('there', flush=True); time.sleep(600)")
    assert process.stdout.readline().strip() == b"there"
    assert end_program(process, 0.05) != 0
    process.stdout.close()
    process.stderr.close()
    process = program("raise SystemExit(3)")
    assert end_program(process, 60.0) == 3
    process.stdout.close()
    process.stderr.close()


def test_jobs_and_printed_lines_pass_through_files(tmp_path):
    hand_over({"name": "Überbau", "steps": [1, 2]}, tmp_path / "job.json")
    assert handed_over(tmp_path / "job.json") == {"name": "Überbau", "steps": [1, 2]}
    assert last_printed(tmp_path / "printed") == []
    (tmp_path / "printed").write_bytes(b"\n".join(b"line %d" % i for i in range(9)) + b" \xff\n\n")
    lines = last_printed(tmp_path / "printed")
    assert (len(lines), lines[0], lines[-1]) == (PRINTED, "line 4", "line 8 \N{REPLACEMENT CHARACTER}")
