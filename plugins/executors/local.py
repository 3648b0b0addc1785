"""Cases in processes of this machine, which may die."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from kingpost.base.errors import KingpostError, MechanismError
from kingpost.studies.case import Case, Outcome
from kingpost.studies.executor import Executor, cores
from kingpost.studies.work import StudyWork

#: Seconds that a worker is given to end by itself.
GRACE = 2.0
#: What keeps libraries from starting threads in every worker.
ONE_THREAD = "OPENBLAS_NUM_THREADS"


@dataclass(frozen=True)
class LocalOptions:
    """How many, and how often.

    Parameters
    ----------
    workers
        Processes; 0 for one on each processor that this process may use.
    attempts
        How often a case is tried whose worker dies.

    """

    workers: int = 0
    attempts: int = 3

    def __post_init__(self) -> None:
        if self.workers < 0:
            raise MechanismError(f"workers = {self.workers}: give a number of processes, 0 for one on each processor")
        if self.attempts < 1:
            raise MechanismError(f"attempts = {self.attempts}: give 1 or more")


class Local(Executor):
    """Processes of this machine; one that dies is replaced, and its case is run again."""

    name = "local"
    Options = LocalOptions

    def outcomes(self, work: StudyWork, cases: Iterable[Case]) -> Iterator[Outcome]:
        pool = _Pool(work, iter(cases), self.options.workers or cores(), self.options.attempts)
        try:
            yield from pool.outcomes()
        finally:
            pool.close()


def serve(connection: Connection, work: StudyWork) -> None:
    """Run cases as they come until nobody is at the other end: what a worker process does."""
    # Who interrupts a study interrupts its client, which tells the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        try:
            worker = work.prepare()
        except KingpostError as error:
            connection.send(error)
            return
        connection.send(None)
        while True:
            connection.send(worker.run(connection.recv()))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


@dataclass(eq=False)
class _Member:
    """A worker process, and the case that it is at, with how often that was tried."""

    process: Any
    connection: Connection
    ready: bool = False
    case: Case | None = None
    attempts: int = 0


class _Pool:
    def __init__(self, work: StudyWork, cases: Iterator[Case], count: int, attempts: int) -> None:
        self.work, self.cases, self.count, self.attempts = work, cases, count, attempts
        self.repeated: deque[tuple[Case, int]] = deque()
        self.members: dict[Connection, _Member] = {}
        self.stillborn = 0
        self._context = multiprocessing.get_context("spawn")
        self._ahead: Case | None = None

    def outcomes(self) -> Iterator[Outcome]:
        while self._more() or any(member.case for member in self.members.values()):
            for member in self.members.values():
                if member.ready and member.case is None:
                    self._give(member)
            busy = sum(member.case is not None for member in self.members.values())
            if self._more() and len(self.members) < self.count and busy == len(self.members):
                self._start()
                continue
            for connection in wait(list(self.members)):
                assert isinstance(connection, Connection)
                yield from self._heard(self.members[connection])

    def _more(self) -> bool:
        """Say whether a case is waiting."""
        if not self.repeated and self._ahead is None:
            self._ahead = next(self.cases, None)
        return bool(self.repeated) or self._ahead is not None

    def _next(self) -> tuple[Case, int]:
        if self.repeated:
            return self.repeated.popleft()
        assert self._ahead is not None
        case, self._ahead = self._ahead, None
        return case, 0

    def _start(self) -> None:
        """Start a worker, with a case for when it is ready: there are no more workers than cases."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=serve, args=(theirs, self.work), daemon=True, name="kingpost-study")
        before = os.environ.get(ONE_THREAD)
        os.environ.setdefault(ONE_THREAD, "1")
        try:
            process.start()
        finally:
            if before is None:
                del os.environ[ONE_THREAD]
        theirs.close()  # so that its death is the end of the pipe
        case, attempts = self._next()
        self.members[ours] = _Member(process, ours, case=case, attempts=attempts)

    def _give(self, member: _Member) -> None:
        if member.case is None and self._more():
            member.case, member.attempts = self._next()
        if member.case is not None:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has died; that is heard next
                member.connection.send(member.case)

    def _heard(self, member: _Member) -> Iterator[Outcome]:
        try:
            answer = member.connection.recv()
        except (EOFError, ConnectionResetError, OSError):
            yield from self._buried(member)
            return
        if isinstance(answer, KingpostError):
            raise answer
        if isinstance(answer, Outcome):
            member.case = None
        else:
            member.ready, self.stillborn = True, 0
        self._give(member)
        if isinstance(answer, Outcome):
            yield answer

    def _buried(self, member: _Member) -> Iterator[Outcome]:
        """Put the case of a worker that has died back, or give it up."""
        del self.members[member.connection]
        member.connection.close()
        member.process.join(GRACE)
        if member.process.is_alive():  # it has closed its end and does not go
            member.process.kill()
            member.process.join()
        case, code = member.case, member.process.exitcode
        if not member.ready:
            self.stillborn += 1
            if self.stillborn >= self.attempts:
                raise KingpostError(
                    f"{self.stillborn} worker processes ended before they were ready, the last one {_ending(code)}. A script "
                    'that runs a study must do so under: if __name__ == "__main__"'
                )
            if case is not None:
                self.repeated.append((case, member.attempts))
            return
        if case is None:
            return
        if member.attempts + 1 < self.attempts:
            self.repeated.append((case, member.attempts + 1))
            return
        yield Outcome(
            case.key, error=f"its worker process ended {self.attempts} times at this case, the last time {_ending(code)}"
        )

    def close(self) -> None:
        """End all workers."""
        for member in self.members.values():
            member.connection.close()
            member.process.terminate()
        for member in self.members.values():
            member.process.join(GRACE)
            if member.process.is_alive():
                member.process.kill()
                member.process.join()
        self.members = {}


def _ending(code: int | None) -> str:
    """Return how a process ended, in words."""
    if code is None or code >= 0:
        return f"with exit status {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return f"by {name}{' (killed, perhaps for want of memory)' if -code == signal.SIGKILL else ''}"
