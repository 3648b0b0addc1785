"""Studies on Dask: the same bits, and workers, schedulers and clients that are killed."""

import builtins
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kingpost import KingpostError, PluginError
from kingpost.plugins.executors import dask as module
from kingpost.plugins.executors.dask import Dask, DaskOptions
from kingpost.studies.case import Case
from kingpost.studies.store import Store
from kingpost.testing.executors import EXECUTOR_CHECKS, ExecutorSubject, Sequential
from tests.core.studies.small import cases, deadly_work, work

pytest.importorskip("distributed")
# What its processes say when they are killed, and sockets that the killed leave, are no faults of ours.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
ROOT = Path(__file__).parents[3]


def starting(count):
    return [Case(f"case-{k}", {"shoulder.angle": 0.1 * k}) for k in range(count)]


def test_a_worker_that_is_killed_loses_nothing(tmp_path):
    """On a cluster of this machine: its case is run again, no outcome comes twice, and the numbers are those of one process."""
    deadly, trail = deadly_work(tmp_path, times=1, value=0.2)
    found = list(Dask(DaskOptions(workers=2)).outcomes(deadly, starting(6)))
    assert sorted(outcome.key for outcome in found) == [f"case-{k}" for k in range(6)]
    assert len(list(trail.iterdir())) == 1
    assert {out.key: out.numbers for out in found} == {
        out.key: out.numbers for out in Sequential().outcomes(deadly, starting(6))
    }


@pytest.mark.slow
@pytest.mark.parametrize("check", EXECUTOR_CHECKS)
def test_conformance(check):
    check(ExecutorSubject("dask", options={"workers": 1}))


@pytest.mark.slow
def test_a_case_that_kills_worker_after_worker_has_failed(tmp_path, monkeypatch):
    """In a bundle with others, which are run all the same."""
    monkeypatch.setattr(module, "FIRST_TASK", 3)
    deadly, _ = deadly_work(tmp_path, times=99, value=0.1)
    found = {out.key: out for out in Dask(DaskOptions(workers=1, attempts=2)).outcomes(deadly, starting(6))}
    assert len(found) == 6
    assert "its Dask worker died at this case, again and again" in found["case-1"].error
    assert [key for key, out in found.items() if out.error] == ["case-1"]


def test_without_the_package_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *words, **more):
        if name == "distributed":
            raise ImportError(name)
        return real(name, *words, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        PluginError, match=r"needs the package 'distributed'; install it with: pip install 'kingpost\[cluster\]'"
    ):
        next(Dask().outcomes(work(), cases(1)))


def _run_and_kill(cluster, outcomes, store):
    """Store outcomes, and after some of them kill the scheduler."""
    for number, outcome in enumerate(outcomes):
        store.add(outcome)
        if number == 10:
            os.killpg(cluster.scheduler.pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_scheduler_that_is_killed_is_told_and_the_study_is_resumed(tmp_path, clusters, monkeypatch):
    """What came back before is stored once; the rest is run on another cluster; together it is what one process gives."""
    monkeypatch.setattr(module, "TASK_TIME", 1e-6)  # tasks of one case
    many = cases(60)
    long = work(t_end=200.0)
    cluster = clusters()
    with Store(tmp_path / "store") as store:
        store.plan(many)
        with pytest.raises(KingpostError, match=r"the Dask scheduler at 127.0.0.1:\d+ no longer answers.*resume the study"):
            _run_and_kill(cluster, Dask(DaskOptions(cluster.address)).outcomes(long, store.open_cases()), store)
        before = store.counts()
        assert 11 <= before.done < 60 and before.failed == 0
        other = clusters()
        # A worker of the other one is killed, too.
        for number, outcome in enumerate(Dask(DaskOptions(other.address)).outcomes(long, store.open_cases())):
            assert store.outcome(outcome.key) is None  # none is run twice
            store.add(outcome)
            if number == 3:
                os.killpg(other.workers[0].pid, signal.SIGKILL)
        assert (store.counts().done, store.counts().failed) == (60, 0)
        alone = {out.key: out.numbers for out in Sequential().outcomes(long, many)}
        assert {case.key: dict(store.outcome(case.key).numbers) for case in many} == alone


@pytest.mark.slow
@pytest.mark.parametrize(("step", "patience"), [("wait_for_workers", 5.0), ("register_plugin", 30.0)])
def test_a_scheduler_that_is_killed_before_the_first_case_is_told(clusters, monkeypatch, step, patience):
    import distributed

    cluster = clusters()
    real = getattr(distributed.Client, step)

    def killed(*words, **more):
        os.killpg(cluster.scheduler.pid, signal.SIGKILL)
        cluster.scheduler.wait()
        return real(*words, **more)

    monkeypatch.setattr(distributed.Client, step, killed)
    with pytest.raises(KingpostError, match=r"the Dask scheduler at 127.0.0.1:\d+ no longer answers.*resume the study"):
        next(Dask(DaskOptions(cluster.address, patience=patience)).outcomes(work(), cases(3)))


CLIENT = """
import sys
from kingpost.plugins.executors import dask
from kingpost.plugins.executors.dask import Dask, DaskOptions
from kingpost.studies.store import Store
from tests.core.studies.small import work
dask.TASK_TIME = 1e-6
with Store(sys.argv[2]) as store:
    for outcome in Dask(DaskOptions(sys.argv[1])).outcomes(work(t_end=200.0), store.open_cases()):
        store.add(outcome)
        print(outcome.key, flush=True)
"""


@pytest.mark.slow
def test_a_client_that_is_killed_loses_nothing(tmp_path, clusters):
    many = cases(60)
    cluster = clusters()
    with Store(tmp_path / "store") as store:
        store.plan(many)
    words = [sys.executable, "-c", CLIENT, cluster.address, str(tmp_path / "store")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    client = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
    assert client.stdout is not None
    told = [client.stdout.readline().strip() for _ in range(8)]
    os.kill(client.pid, signal.SIGKILL)
    told += [line.strip() for line in client.stdout]
    client.wait()
    client.stdout.close()
    with Store(tmp_path / "store") as store:
        assert 8 <= store.counts().done < 60
        assert all(store.outcome(key) is not None for key in told)
    again = subprocess.run(words, capture_output=True, text=True, env=environment, check=True)
    assert not set(told) & set(again.stdout.split())
    with Store(tmp_path / "store") as store:
        assert (store.counts().done, store.counts().failed) == (60, 0)
        alone = {out.key: out.numbers for out in Sequential().outcomes(work(t_end=200.0), many)}
        assert {case.key: dict(store.outcome(case.key).numbers) for case in many} == alone


def test_a_scheduler_that_does_not_answer_is_told():
    with pytest.raises(KingpostError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9 within 0.5 s"):
        next(Dask(DaskOptions("127.0.0.1:9", patience=0.5)).outcomes(work(), cases(1)))
