"""Cases on a Dask cluster: one of processes of this machine, or one that is there already."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from itertools import islice
from types import ModuleType
from typing import Any

from kingpost.base.errors import KingpostError, MechanismError, PluginError
from kingpost.studies.case import Case, Outcome
from kingpost.studies.executor import Executor, cores
from kingpost.studies.work import StudyWork

#: Only this machine can reach what is bound to this address.
LOOPBACK = "127.0.0.1"
#: A task is a bundle of cases, since a task costs some 10 ms of processors beside its work. It takes about so long (s of a
#: processor): at first the shortest time, so that few cases are shared well, then this part of what each worker has done.
TASK_TIME, SHORT_TASK, TASK_PART = 5.0, 0.5, 0.1
#: The most cases in a task: as many are run again when a worker dies.
MOST_CASES = 1000
#: Tasks for each worker that are handed over: one at work and one for when it ends.
TASKS_AHEAD = 2
#: Seconds between two looks at how many workers there are.
LOOK = 5.0
#: How often a case is suspected before it is run with nothing beside it.
ALONE = 2
#: Cases in the first tasks, by which the time of one is measured.
FIRST_TASK = 1


@dataclass(frozen=True)
class DaskOptions:
    """Where, how many, and how often.

    Parameters
    ----------
    address
        Of a scheduler, ``host:port``; empty for a cluster of processes on this machine, which only this machine can reach.
    workers
        Processes of such a cluster; 0 for one on each processor that this process may use.
    attempts
        How often a case is tried whose worker dies.
    patience
        Seconds to wait for a scheduler and its first worker.

    """

    address: str = ""
    workers: int = 0
    attempts: int = 3
    patience: float = 60.0

    def __post_init__(self) -> None:
        if self.workers < 0:
            raise MechanismError(f"workers = {self.workers}: give a number of processes, 0 for one on each processor")
        if self.attempts < 1:
            raise MechanismError(f"attempts = {self.attempts}: give 1 or more")
        if not self.patience > 0.0:
            raise MechanismError(f"patience = {self.patience:g} s must be above 0")


class Dask(Executor):
    """Workers of a Dask cluster, here or elsewhere; the kernel is sent along, and cases of lost workers are run again."""

    name = "dask"
    Options = DaskOptions

    def outcomes(self, work: StudyWork, cases: Iterable[Case]) -> Iterator[Outcome]:
        library = distributed()
        work = work.with_kernel()
        with _client(library, self.options) as client:
            yield from _Submission(library, client, work, self.options).outcomes(iter(cases))


def distributed() -> ModuleType:
    """Return Dask's ``distributed``, or say how to install it."""
    try:
        import distributed as library
    except ImportError:
        raise PluginError(
            "the executor 'dask' needs the package 'distributed'; install it with: pip install 'kingpost[cluster]'"
        ) from None
    return library


@contextlib.contextmanager
def _client(library: ModuleType, options: DaskOptions) -> Iterator[Any]:
    """Give a client of the scheduler at an address, or of a cluster that lasts as long as this."""
    import dask

    if options.address:
        address = options.address if "://" in options.address else f"tcp://{options.address}"
        try:
            client = library.Client(address, timeout=options.patience, set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise KingpostError(
                f"no Dask scheduler answers at {address} within {options.patience:g} s ({error}); start one with: dask "
                "scheduler"
            ) from None
        with client:
            yield client
        return
    # No page of it is served, and nothing listens but on loopback; its protocol runs code.
    quiet = {
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        "distributed.scheduler.allowed-failures": options.attempts - 1,
        # What looks at workers many times a second costs more than all tasks together.
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "2 s",
        "distributed.admin.tick.limit": "1 hour",
        "distributed.admin.system-monitor.interval": "10 s",
        # Ten times a second, in every worker and in what guards it, memory was looked at: 1 % of a processor for each worker.
        "distributed.worker.memory.monitor-interval": "2 s",
        # Results are gone as soon as they are told, so that nothing is to be balanced.
        "distributed.scheduler.active-memory-manager.start": False,
        "distributed.client.scheduler-info-interval": "10 s",
        # One that is killed again and again would be given up.
        "distributed.deploy.lost-worker-timeout": "1 hour",
    }
    with (
        dask.config.set(quiet),
        library.LocalCluster(
            n_workers=options.workers or cores(),
            threads_per_worker=1,
            processes=True,
            host=LOOPBACK,
            dashboard_address=f"{LOOPBACK}:0",
            worker_dashboard_address=None,
            silence_logs=50,
            protocol="tcp://",
        ) as cluster,
        library.Client(cluster, set_as_default=False) as client,
    ):
        yield client


class _Submission:
    """Cases on their way through a cluster, in bundles."""

    def __init__(self, library: ModuleType, client: Any, work: StudyWork, options: DaskOptions) -> None:
        from kingpost.plugins.executors.dask_worker import StudyPlugin, run_bundle

        self.library, self.client, self.options, self._run = library, client, options, run_bundle
        self.name = f"kingpost-study-{uuid.uuid4().hex[:12]}"
        self._plugin = StudyPlugin(self.name, work)
        self._completed = library.as_completed(loop=client.loop)
        self._flying: dict[str, tuple[tuple[Case, ...], int]] = {}
        # When a worker dies, Dask suspects all tasks that it had. So the cases of a task that it gives up go once more, each in
        # a task of its own, and at last with nothing beside them: what kills a worker then is to blame.
        self._suspects: tuple[deque[Case], deque[Case]] = (deque(), deque())
        self._tasks = 0
        self._cases, self._seconds = 0, 0.0
        self._asked, self._room = -LOOK, 1

    def outcomes(self, cases: Iterator[Case]) -> Iterator[Outcome]:
        try:
            self._begin()
            while True:
                self._submit(cases)
                if not self._flying:
                    return
                yield from self._landed(next(self._completed))
        except (self.library.comm.CommClosedError, CancelledError):
            raise self._lost() from None
        finally:
            with contextlib.suppress(Exception):  # a scheduler that is gone needs no farewell
                self.client.unregister_worker_plugin(self.name)

    def _begin(self) -> None:
        """Wait for the first worker, and give all workers what they need."""
        try:
            self.client.wait_for_workers(1, timeout=self.options.patience)
            self.client.register_plugin(self._plugin, name=self.name)
        except (self.library.TimeoutError, OSError):  # two classes in Python 3.10
            if self.client.status != "running":
                raise self._lost() from None
            raise KingpostError(
                f"the Dask scheduler at {self.client.scheduler.address} has had no worker for {self.options.patience:g} s; "
                "start some with: dask worker ADDRESS"
            ) from None

    def _submit(self, cases: Iterator[Case]) -> None:
        """Hand over as many bundles as keep all workers busy."""
        room = TASKS_AHEAD * self._threads() - len(self._flying)
        for _ in range(room):
            bundle, trial = self._next(cases)
            if not bundle:
                return
            self._tasks += 1
            key = f"{self.name}-{self._tasks}"
            self._flying[key] = bundle, trial
            self._completed.add(self.client.submit(self._run, self.name, bundle, key=key, pure=False))

    def _next(self, cases: Iterator[Case]) -> tuple[tuple[Case, ...], int]:
        """Return the cases of the next task, and how often they were suspected; none while a suspect is alone."""
        again, alone = self._suspects
        if any(trial == ALONE for _, trial in self._flying.values()):
            return (), 0
        if again:
            return (again.popleft(),), 1
        bundle = tuple(islice(cases, self._size()))
        if not bundle and alone and not self._flying:
            return (alone.popleft(),), ALONE
        return bundle, 0

    def _lost(self) -> KingpostError:
        return KingpostError(
            f"the Dask scheduler at {self.options.address or LOOPBACK} no longer answers; {len(self._flying)} task(s) were on "
            "their way. What is finished is kept: resume the study"
        )

    def _threads(self) -> int:
        """Return how many cases can be run at once; asked for now and then, since workers come and go."""
        if time.monotonic() > self._asked + LOOK:
            self._asked, self._room = time.monotonic(), max(1, sum(self.client.nthreads().values()))
        return self._room

    def _size(self) -> int:
        """Return how many cases a task takes, from the time that those took which have come back."""
        if not self._cases:
            return FIRST_TASK
        wanted = min(TASK_TIME, max(SHORT_TASK, TASK_PART * self._seconds / self._room))
        return max(1, min(MOST_CASES, round(wanted / max(self._seconds / self._cases, 1e-6))))

    def _landed(self, future: Any) -> Iterator[Outcome]:
        bundle, trial = self._flying.pop(future.key)
        if future.status == "cancelled" or future.status == "lost":
            raise self._lost()
        if future.status == "error":
            yield from self._failed(future.exception(), bundle, trial)
            return
        try:
            outcomes = future.result()
        except self.library.KilledWorker as error:  # the results were lost with their worker, and so was the next attempt
            yield from self._failed(error, bundle, trial)
            return
        for outcome in outcomes:
            self._cases, self._seconds = self._cases + 1, self._seconds + outcome.cpu_s
            yield outcome

    def _failed(self, error: BaseException, bundle: tuple[Case, ...], trial: int) -> Iterator[Outcome]:
        if isinstance(error, KingpostError):
            raise error
        if not isinstance(error, self.library.KilledWorker):
            raise KingpostError(f"a Dask task failed: {type(error).__name__}: {error}") from error
        if trial < ALONE:
            self._suspects[trial].extend(bundle)
            return
        yield Outcome(bundle[0].key, error=f"its Dask worker died at this case, again and again: {error}")
