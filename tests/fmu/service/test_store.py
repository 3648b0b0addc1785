"""The store and its leases: nothing acknowledged is lost, nothing ends twice, and lists stay quick."""

import json
import sqlite3
import subprocess
import sys
import time

import pytest

from kingpost.base.errors import FileError
from kingpost.fmu.service import leases as leases_module
from kingpost.fmu.service.connection import Connections
from kingpost.fmu.service.errors import ServiceError
from kingpost.fmu.service.executor import Executor, killed
from kingpost.fmu.service.leases import MOST_KILLED, MOST_LOST, Leases, end_process, process_mark, take_back
from kingpost.fmu.service.schema import VERSION
from kingpost.fmu.service.settings import JobLimits, ServiceSettings
from kingpost.fmu.service.starting import Place
from kingpost.fmu.service.store import Blob, Store
from kingpost.fmu.service.watching import Said
from tests.fmu.service.serving import plan_of


@pytest.fixture
def store(tmp_path):
    found = Store(tmp_path / "kingpost.sqlite")
    yield found
    found.close()


def executor(store, owner="one"):
    return Leases(store, store.next_epoch() if store.fact("epoch") is None else int(store.fact("epoch")), owner)


def test_a_job_is_there_after_it_was_acknowledged(store, tmp_path):
    job, new = store.add("run", "crane", {"a": 1})
    assert new
    again = Store(tmp_path / "kingpost.sqlite")
    assert again.job(job).spec == {"a": 1}
    assert again.job(job).state == "queued"
    assert again.db.row("PRAGMA journal_mode")[0] == "wal"
    assert again.db.row("PRAGMA synchronous")[0] == 2  # FULL
    again.close()


def test_the_same_key_gives_the_same_job_and_another_request_with_it_is_refused(store):
    job, _ = store.add("run", "crane", {"a": 1}, "key")
    assert store.add("run", "crane", {"a": 1}, "key") == (job, False)
    with pytest.raises(ServiceError, match=f"used for job {job}") as refusal:
        store.add("run", "crane", {"a": 2}, "key")
    assert refusal.value.status == 409
    assert store.add("run", "crane", {"a": 1})[0] != job


def test_a_job_is_taken_kept_and_ended_once(store):
    one, two = executor(store, "one"), executor(store, "two")
    job, _ = store.add("run", "crane", {})
    taken = one.take()
    assert taken.id == job
    assert two.take() is None
    assert one.started(taken, 12, ["kingpost"])
    assert one.renew(taken, Said(0.5, 3.0)) == (True, False)
    assert two.end(taken, "done", 0, None) is False
    assert one.end(taken, "done", 0, None) is True
    assert one.end(taken, "failed", 1, "late") is False
    assert store.job(job).state == "done"
    assert store.counts()["done"] == 1


def test_an_attempt_that_was_given_up_cannot_end_its_job(store, monkeypatch):
    monkeypatch.setattr(leases_module, "LEASE", -1.0)
    one, two = executor(store, "one"), executor(store, "two")
    job, _ = store.add("run", "crane", {})
    first = one.take()
    assert take_back(store) == [job]
    second = two.take()
    assert (first.attempts, second.attempts) == (1, 2)
    assert one.renew(first) == (False, False)
    assert one.end(first, "done", 0, None) is False
    assert two.end(second, "done", 0, None) is True


def test_executors_of_an_earlier_server_can_do_nothing_more(store):
    old = executor(store)
    job, _ = store.add("run", "crane", {})
    store.add("run", "crane", {})
    taken = old.take()
    store.next_epoch()
    assert old.end(taken, "done", 0, None) is False
    assert old.take() is None
    assert take_back(store, everything=True) == [job]
    assert store.counts()["queued"] == 2


def test_a_job_whose_executors_are_always_lost_fails_in_the_end(store):
    store.add("run", "crane", {})
    for _ in range(MOST_LOST):
        assert executor(store).take() is not None
        take_back(store, owner="one")
    assert store.job(1).state == "failed"
    assert f"lost {MOST_LOST} times" in store.job(1).error


def test_a_job_that_is_given_back_waits_and_does_not_count_as_lost(store):
    one = executor(store)
    store.add("run", "crane", {})
    assert one.give_back(one.take())
    assert (store.job(1).state, store.job(1).lost) == ("queued", 0)


def test_cancelling(store):
    one = executor(store)
    first, second = store.add("run", "a", {})[0], store.add("run", "b", {})[0]
    taken = one.take()
    assert store.cancel(first) == "running"
    assert one.renew(taken) == (True, True)
    assert store.cancel(second) == "cancelled"
    take_back(store, owner="one")  # lost while it was to be cancelled
    assert store.job(first).state == "cancelled"
    assert store.cancel(second) == "cancelled"
    with pytest.raises(ServiceError, match="no job 99"):
        store.cancel(99)


def test_only_jobs_that_have_ended_are_deleted(store):
    job, _ = store.add("run", "a", {})
    with pytest.raises(ServiceError, match="has not ended"):
        store.delete(job)
    store.cancel(job)
    store.delete(job)
    assert store.counts()["cancelled"] == 0
    assert [event.data for event in store.events(0, job)] == [{"state": "deleted"}]
    assert store.add("run", "b", {})[0] > job  # numbers do not come back


def test_events_tell_every_state_and_only_the_last_progress(store):
    one = executor(store)
    job, _ = store.add("run", "a", {})
    taken = one.take()
    for part in (0.1, 0.2, 0.3):
        one.renew(taken, Said(part, 1.0))
    seen = [(event.what, event.data) for event in store.events(0, job)]
    assert [data.get("state") or data["progress"] for _, data in seen] == ["queued", "running", 0.3]
    mark = store.last_event()
    one.end(taken, "done", 0, None)
    assert [event.data["state"] for event in store.events(mark)] == ["done"]


def test_blobs_are_kept_by_hash_and_found_by_name(store):
    store.add_blob(Blob("ab", "one.toml", 3, "toml", {"holds": "model"}, 1.0))
    store.add_blob(Blob("cd", "one.toml", 4, "toml", {}, 2.0))
    assert store.blob_named("one.toml").hash == "cd"
    assert store.blob("ab").summary == {"holds": "model"}
    assert [blob.hash for blob in store.blobs()] == ["cd", "ab"]
    with pytest.raises(ServiceError, match="no file 'ef'"):
        store.blob("ef")


def test_a_transaction_is_whole_or_not_at_all(store):
    def half() -> None:
        with store.db.writing() as db:
            db.execute("INSERT INTO facts VALUES('x', '1')")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        half()
    assert store.fact("x") is None


def test_a_store_of_another_version_is_refused(tmp_path):
    path = tmp_path / "kingpost.sqlite"
    Connections(path).close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE facts SET value = ? WHERE name = 'schema'", (str(VERSION + 1),))
    db.close()
    with pytest.raises(FileError, match=f"version {VERSION + 1}"):
        Connections(path)


def test_what_is_no_database_is_refused(tmp_path):
    (tmp_path / "kingpost.sqlite").write_text("no database, but long enough to be looked at as one " * 100)
    with pytest.raises(FileError, match="cannot be opened"):
        Store(tmp_path / "kingpost.sqlite")


def test_a_process_is_ended_only_if_it_still_is_the_same(store):
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    try:
        one = executor(store)
        store.add("run", "a", {})
        taken = one.take()
        one.started(taken, sleeper.pid, [])
        known = store.job(1)
        if not known.process_mark:
            pytest.skip("nobody knows here when a process was started")
        store.db.connection.execute("UPDATE jobs SET process_mark = 'another'")
        end_process(store.job(1))
        assert sleeper.poll() is None
        end_process(known)
        assert sleeper.wait(60) < 0
        assert process_mark(sleeper.pid) == ""
    finally:
        sleeper.kill()
        sleeper.wait()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    found = Store(tmp_path_factory.mktemp("large") / "kingpost.sqlite")
    states = ("done", "failed", "queued", "cancelled")
    rows = (
        (f"kind{k % 3}", f"job {k}", states[k % 4], json.dumps({"request": {}}), "digest", float(k)) for k in range(100_000)
    )
    with found.db.writing() as db:
        db.executemany("INSERT INTO jobs(kind, name, state, spec, digest, created) VALUES(?, ?, ?, ?, ?, ?)", rows)
    yield found
    found.close()


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"state": "done"},
        {"kind": "kind1"},
        {"state": "failed", "kind": "kind2"},
        {"state": "running"},
        {"before": 50_000},
        {"state": "queued", "before": 500},
    ],
    ids=str,
)
def test_lists_of_1e5_jobs_take_little_time(large, asked):
    large.jobs(**asked)
    spent = []
    for _ in range(5):
        began = time.process_time()
        found = large.jobs(**asked)
        large.counts()
        spent.append(time.process_time() - began)
    assert min(spent) < 0.020
    assert len(found) == (0 if asked.get("state") == "running" else 50)
    assert all(job.state == asked.get("state", job.state) and job.kind == asked.get("kind", job.kind) for job in found)


def test_counts_of_1e5_jobs_are_kept_by_triggers(large):
    assert large.counts() == {"queued": 25_000, "running": 0, "done": 25_000, "failed": 25_000, "cancelled": 25_000}
    assert sum(number for _, _, number in large.counts_by_kind()) == 100_000
    taken = executor(large).take()
    assert (large.counts()["queued"], large.counts()["running"]) == (24_999, 1)
    executor(large).give_back(taken)


def test_a_job_whose_process_is_killed_by_others_is_tried_thrice(store):
    leases = executor(store)
    number, _ = store.add("run", "x", {})
    for attempt in range(1, MOST_KILLED):
        job = leases.take()
        assert job.attempts == attempt
        assert leases.try_again(job)
        assert store.job(number).state == "queued"
        assert not leases.try_again(job)  # it is nobody's now
    assert not leases.try_again(leases.take())
    assert store.job(number).state == "running"  # to be ended by its executor
    assert store.told(number, "killed") == MOST_KILLED
    assert not killed(-9, ServiceSettings(limits=JobLimits(cpu_seconds=5)))
    assert killed(-9, ServiceSettings())


def test_earlier_attempts_are_gone_before_the_end_is_noted(context, monkeypatch):
    """Who is killed between the two leaves nothing behind that nobody would ever remove."""
    number, _ = context.store.add("run", "x", plan_of("run", "x"))
    leases = executor(context.store)
    leases.give_back(leases.take())
    job = leases.take()
    places = [Place(context.folder.attempt(number, attempt)) for attempt in (1, 2)]
    for place in places:
        place.results.mkdir(parents=True)
    found = []
    monkeypatch.setattr(leases, "end", lambda *words: found.append([place.root.exists() for place in places]))
    process = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    process.wait()
    Executor(context.folder, leases, ServiceSettings())._end(job, places[1], process, None)
    assert found == [[False, True]]
