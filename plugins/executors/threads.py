"""Cases in threads of this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice

from kingpost.base.errors import MechanismError
from kingpost.studies.case import Case, Outcome
from kingpost.studies.executor import Executor, cores
from kingpost.studies.work import StudyWork


@dataclass(frozen=True)
class ThreadsOptions:
    """How many.

    Parameters
    ----------
    workers
        Threads; 0 for one on each processor that this process may use.

    """

    workers: int = 0

    def __post_init__(self) -> None:
        if self.workers < 0:
            raise MechanismError(f"workers = {self.workers}: give a number of threads, 0 for one on each processor")


class Threads(Executor):
    """Threads of this process, which share one compiled run: its time loop needs no interpreter; the rest takes turns."""

    name = "threads"
    Options = ThreadsOptions

    def outcomes(self, work: StudyWork, cases: Iterable[Case]) -> Iterator[Outcome]:
        worker, source = work.prepare(), iter(cases)
        count = self.options.workers or cores()
        running: set[Future[Outcome]] = set()
        pool = ThreadPoolExecutor(count, thread_name_prefix="kingpost-study")
        try:
            while True:
                # One more than there are threads for each, so that none waits for us.
                running |= {pool.submit(worker.run, case) for case in islice(source, 2 * count - len(running))}
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:
            pool.shutdown(cancel_futures=True)
