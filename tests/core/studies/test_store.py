"""The store: everything that was finished is there, once, whatever ends the process."""

import math
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from kingpost import FileError, KingpostError
from kingpost.studies.case import Case, Outcome
from kingpost.studies.store import Store


def cases(count):
    for k in range(count):
        yield Case(f"{k:020x}", {"a": float(k)}, f"jonswap:Hs=1,Tp=6,seed={k}", {"seed": k, "position": "out"}, 1 / count)


def test_cases_and_outcomes_come_back_to_the_last_bit(tmp_path):
    numbers = {"slew.Mx:max": math.pi * 1e5, "slew.Mx:min": -1 / 3, "odd": math.nan}
    with Store(tmp_path) as store:
        assert store.plan(cases(3)) == 3
        store.add(Outcome(f"{1:020x}", numbers, "", 0.25))
        store.add(Outcome(f"{2:020x}", {}, "it exploded", 0.5))
        assert (store.counts().planned, store.counts().done, store.counts().failed, store.counts().open) == (3, 1, 1, 1)
    with Store(tmp_path) as store:
        open_, done, failed = store.stored()
        assert [entry.state for entry in (open_, done, failed)] == ["open", "done", "failed"]
        assert done.case == list(cases(3))[1]
        assert math.isnan(done.outcome.numbers["odd"])
        assert {**done.outcome.numbers, "odd": 0} == {**numbers, "odd": 0}
        assert failed.outcome.error == "it exploded"
        assert [case.key for case in store.open_cases()] == [f"{0:020x}"]
        assert store.outcome("nobody") is None
        assert store.forget_failures() == 1
        assert [case.key for case in store.open_cases()] == [f"{0:020x}", f"{2:020x}"]


def test_a_new_plan_keeps_the_outcomes_of_cases_that_stay(tmp_path):
    with Store(tmp_path) as store:
        store.plan(cases(4))
        for case in list(store.open_cases()):
            store.add(Outcome(case.key, {"x": 1.0}))
        changed = [*cases(2), Case("f" * 20, {}, "", {"seed": 9}, 0.5)]
        store.plan(changed)
        counts = store.counts()
        assert (counts.planned, counts.done, counts.open, counts.stored) == (3, 2, 1, 4)


def test_a_plan_that_fails_leaves_the_one_before(tmp_path):
    def broken():
        yield from cases(2)
        raise RuntimeError("stop")

    with Store(tmp_path) as store:
        store.plan(cases(3))
        with pytest.raises(RuntimeError):
            store.plan(broken())
        assert store.counts().planned == 3


def test_the_same_content_is_run_once(tmp_path):
    same = [Case("a" * 20, {}, "", {"changed": "base"}, 1.0), Case("a" * 20, {}, "", {"changed": "x = 1"}, 0.0)]
    with Store(tmp_path) as store:
        store.plan(same)
        assert len(list(store.open_cases())) == 1
        store.add(Outcome("a" * 20, {"x": 1.0}))
        assert store.counts().done == 2


def test_a_case_is_found_by_the_beginning_of_its_key(tmp_path):
    with Store(tmp_path) as store:
        store.plan([Case("ab12" + "0" * 16), Case("ab34" + "0" * 16)])
        assert store.find("AB1").case.key.startswith("ab12")
        with pytest.raises(KingpostError, match="2 cases have keys that begin with 'ab'"):
            store.find("ab")
        with pytest.raises(KingpostError, match="there is no case with a key that begins with 'ab2'; did you mean 'ab"):
            store.find("ab2")
        with pytest.raises(KingpostError, match="is no key of a case"):
            store.find("ab%")


def test_what_is_no_store_is_refused(tmp_path):
    (tmp_path / "study.sqlite").write_text("nothing of the kind, and long enough to be looked at")
    with pytest.raises(FileError, match="cannot be used as the store of a study"):
        Store(tmp_path)
    with Store(tmp_path / "new") as store:
        store.note("version", 99)
    with pytest.raises(FileError, match="another version of kingpost"):
        Store(tmp_path / "new")


def test_a_damaged_store_is_refused_or_read(tmp_path):
    """With bytes that are others, or without its end: a sentence, whatever is asked of it."""
    with Store(tmp_path / "whole") as store:
        store.note("spec", {"model": "crane"})
        store.plan([Case(f"{i:020x}", {"mass": float(i)}, "", {"row": i}) for i in range(40)])
        for i in range(20):
            store.add(Outcome(f"{i:020x}", {"slew.Mx:max": 1.0 * i, "slew.Mx:min": -1.0}, "", 0.1))
    whole = (tmp_path / "whole" / "study.sqlite").read_bytes()
    refused = 0
    for number in range(60):
        rng = random.Random(number)
        content = bytearray(whole)
        for _ in range(rng.choice((1, 10, 100))):
            content[rng.randrange(len(content))] = rng.randrange(256)
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "study.sqlite").write_bytes(content[: rng.randrange(len(content))] if number % 10 == 0 else content)
        try:
            with Store(folder) as store:
                store.fact("spec")
                store.counts()
                assert all(isinstance(entry.case.settings, dict) for entry in store.stored())
                list(store.open_cases())
                store.outcome(f"{3:020x}")
                store.note("spec", {})
                store.add(Outcome("f" * 20, {"slew.Mx:max": 1.0}, "", 0.1))
        except FileError as error:
            refused += "study.sqlite' " in str(error)
    assert 10 < refused < 60


def test_a_full_disk_is_said(tmp_path):
    with Store(tmp_path) as store:
        store.plan([Case("ab12" + "0" * 16)])
        pages = store._db.execute("pragma page_count").fetchone()[0]
        store._db.execute(f"pragma max_page_count = {pages}")
        with pytest.raises(FileError, match="study.sqlite' cannot be used as the store of a study: database or disk is full"):
            store.note("spec", {"model": "x" * 100_000})
        with pytest.raises(FileError, match="disk is full"):
            store.plan([Case(f"{i:020x}", {"mass": float(i)}, "", {"row": i}) for i in range(2000)])
        assert store.counts().planned == 1  # all of a plan, or none


@pytest.mark.slow
def test_1e5_cases_are_planned_and_listed_without_delay(tmp_path):
    started = time.process_time()
    with Store(tmp_path) as store:
        assert store.plan(cases(100_000)) == 100_000
        assert sum(1 for _ in store.open_cases()) == 100_000
        assert store.counts().open == 100_000
    # About 1 s of CPU; ten times that would be a delay, whatever the machine.
    assert time.process_time() - started < 10.0


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here")
def test_kill_9_loses_nothing(tmp_path):
    program = textwrap.dedent(
        f"""
        from kingpost.studies.case import Case, Outcome
        from kingpost.studies.store import Store
        store = Store({str(tmp_path)!r})
        store.plan(Case(f"{{k:020x}}") for k in range(10**4))
        for k in range(10**4):
            store.add(Outcome(f"{{k:020x}}", {{"x": k / 7}}))
            print(k, flush=True)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if int(line) == 200:
            os.kill(process.pid, signal.SIGKILL)
            break
    said = max([200, *(int(line) for line in process.stdout if line.strip().isdigit())])
    process.stdout.close()
    process.wait()
    with Store(tmp_path) as store:
        counts = store.counts()
        assert said + 1 <= counts.done <= said + 2  # the last one may not have been said
        assert all(entry.outcome.numbers["x"] == entry.place / 7 for entry in store.stored() if entry.outcome)
        assert counts.open == 10**4 - counts.done == sum(1 for _ in store.open_cases())
