"""Executors: the same bits everywhere, and workers that die."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kingpost import KingpostError, PluginError
from kingpost.plugins.executors.local import Local, LocalOptions
from kingpost.plugins.executors.threads import Threads, ThreadsOptions
from kingpost.simulation.settings import RunSettings
from kingpost.studies.case import Case
from kingpost.studies.executor import Executor, cores, executor_named
from kingpost.testing.executors import EXECUTOR_CHECKS, ExecutorSubject, Sequential, check_executor
from tests.core.studies.small import cases, deadly_work, work


@pytest.fixture(scope="module", params=["local", "threads"])
def subject(request):
    return ExecutorSubject(request.param, options={"workers": 2})


@pytest.mark.quick("threads-*", "local-check_every_case_once", "local-check_same_bits", "local-check_failed_cases")
@pytest.mark.parametrize("check", EXECUTOR_CHECKS)
def test_conformance(check, subject):
    check(subject)


def test_no_process_is_left(subject):
    assert multiprocessing.active_children() == []


def test_threads_interpret_in_turns(plugins):
    """What is interpreted is locked as a whole; the bits are the same."""
    slow = work(t_end=0.2, how=RunSettings(step=0.01, output_step=0.02, backend="vm"))
    threads = {out.key: out.numbers for out in Threads(ThreadsOptions(3)).outcomes(slow, cases(4))}
    assert threads == {out.key: out.numbers for out in Sequential().outcomes(slow, cases(4))}


class Twice(Executor):
    """Gives every outcome twice."""

    name = "twice"

    def outcomes(self, work, cases):
        for outcome in Sequential().outcomes(work, cases):
            yield outcome
            yield outcome


class Greedy(Executor):
    """Takes all cases at once."""

    name = "greedy"

    def outcomes(self, work, cases):
        kept = [case for case, _ in zip(cases, range(10_000), strict=False)]
        yield from Sequential().outcomes(work, kept)


def test_the_kit_finds_what_is_wrong():
    with pytest.raises(AssertionError, match="the outcomes are those of"):
        check_executor(Twice)
    with pytest.raises(AssertionError, match="10000 cases were taken for 3 outcomes|cases were taken"):
        check_executor(Greedy)


def starting(count):
    return [Case(f"case-{k}", {"shoulder.angle": 0.1 * k}) for k in range(count)]


def test_a_worker_that_is_killed_is_replaced_and_its_case_is_run_again(tmp_path):
    deadly, trail = deadly_work(tmp_path, times=1, value=0.2)
    found = list(Local(LocalOptions(workers=2)).outcomes(deadly, starting(6)))
    assert sorted(outcome.key for outcome in found) == [f"case-{k}" for k in range(6)]
    assert {outcome.key: outcome.numbers for outcome in found} == {f"case-{k}": {"start": 0.1 * k} for k in range(6)}
    assert len(list(trail.iterdir())) == 1


@pytest.mark.slow
def test_a_case_that_kills_worker_after_worker_has_failed(tmp_path):
    deadly, trail = deadly_work(tmp_path, times=99, value=0.1)
    found = {out.key: out for out in Local(LocalOptions(workers=1, attempts=2)).outcomes(deadly, starting(3))}
    assert len(found) == 3
    assert found["case-1"].error == (
        "its worker process ended 2 times at this case, the last time by SIGKILL (killed, perhaps for want of memory)"
    )
    assert not found["case-0"].error and not found["case-2"].error
    assert len(list(trail.iterdir())) == 2


def test_executors_by_name(plugins):
    assert isinstance(executor_named("local:workers=3", plugins), Local)
    assert executor_named("local:workers=3", plugins).options.workers == 3
    assert executor_named("threads", plugins).name == "threads"
    remote = executor_named("dask://host.example:8786", plugins)
    assert (remote.name, remote.options.address) == ("dask", "host.example:8786")
    assert cores() >= 1
    for text, message in [
        ("locale", "did you mean 'local'"),
        ("local:worker=1", "workers"),
        ("local:workers=-1", "workers = -1: give a number of processes"),
        ("threads:workers=-1", "workers = -1: give a number of threads"),
        ("local:attempts=0", "attempts = 0: give 1 or more"),
        ("threads://host:1", "executor 'threads' takes no address"),
        ("dask:patience=0", "patience = 0 s must be above 0"),
    ]:
        with pytest.raises(PluginError, match=message):
            executor_named(text, plugins)


CLIENT = """
import sys, os
from pathlib import Path
from kingpost.plugins.executors.local import Local, LocalOptions
from tests.core.studies.small import work, cases
if __name__ == "__main__":
    for outcome in Local(LocalOptions(workers=2)).outcomes(work(t_end=5.0), cases(100000)):
        print(outcome.key, flush=True)
"""


@pytest.mark.slow
def test_workers_end_with_a_client_that_is_killed(tmp_path):
    script = tmp_path / "client.py"
    script.write_text(CLIENT)
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    client = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment, cwd=root)
    assert client.stdout is not None and client.stdout.readline().startswith("case-")
    children = _children(client.pid)
    assert len(children) >= 2
    os.kill(client.pid, signal.SIGKILL)
    client.wait()
    client.stdout.close()
    for _ in range(200):
        if not [pid for pid in children if Path(f"/proc/{pid}").exists() and not _zombie(pid)]:
            return
        time.sleep(0.1)
    pytest.fail("workers go on without their client")


def _children(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _zombie(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.slow
def test_a_worker_that_cannot_start_is_told(monkeypatch):
    """A script without its guard, or a machine without memory: every worker ends before it is ready."""
    monkeypatch.setattr("kingpost.plugins.executors.local.serve", _ends_at_once)
    with pytest.raises(KingpostError, match=r"2 worker processes ended before .* with exit status 7\. A script .*__main__"):
        list(Local(LocalOptions(workers=1, attempts=2)).outcomes(work(), cases(2)))


def _ends_at_once(connection, work):
    os._exit(7)
