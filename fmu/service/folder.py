"""The folder of a project: where the store, the uploaded files, the jobs and the token are."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kingpost.base.errors import FileError
from kingpost.fmu.service.errors import DiskFullError

#: Characters of a token that is made here, and the fewest of one that is given.
TOKEN_BYTES = 32
SHORTEST_TOKEN = 16
#: Free bytes below which no new job is taken.
LEAST_FREE = 200e6


@dataclass(frozen=True)
class ProjectFolder:
    """``DIR`` of ``kingpost serve DIR``."""

    root: Path

    @property
    def database(self) -> Path:
        return self.root / "kingpost.sqlite"

    @property
    def blobs(self) -> Path:
        return self.root / "blobs"

    @property
    def incoming(self) -> Path:
        """Uploads that are not complete; emptied when the server starts."""
        return self.root / "incoming"

    @property
    def jobs(self) -> Path:
        return self.root / "jobs"

    @property
    def token_file(self) -> Path:
        return self.root / "token"

    @property
    def address_file(self) -> Path:
        """Where the server of this project listens, while there is one; clients look there."""
        return self.root / "address"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def job(self, job: int) -> Path:
        return self.jobs / str(job)

    def attempt(self, job: int, attempt: int) -> Path:
        """The place of one attempt; an executor that was given up and still writes does so beside the one that counts."""
        return self.job(job) / str(attempt)

    def make(self) -> None:
        """Make what is missing; only the user of the server may look inside."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            for place in (self.blobs, self.incoming, self.jobs, self.logs):
                place.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise FileError(f"'{self.root}' cannot be the folder of a project: {error}; choose another") from None
        for left in self.incoming.iterdir():
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)

    def token(self, file: Path | None = None) -> str:
        """Return the token in a file, by default the project's own, which is made when there is none."""
        path = file or self.token_file
        if not path.exists():
            made = secrets.token_urlsafe(TOKEN_BYTES)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as stream:
                stream.write(f"{made}\n")
        try:
            found = path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"the token in '{path}' cannot be read: {error}") from None
        if len(found) < SHORTEST_TOKEN or not all(char.isalnum() or char in "-_.~" for char in found):
            raise FileError(
                f"the token in '{path}' has {len(found)} characters; write at least {SHORTEST_TOKEN} letters, digits, '-', "
                "'_', '.' or '~' into it, or delete the file and a new one is made"
            )
        return found

    def check_room(self, least: float) -> None:
        """Refuse new work when the disk is nearly full; what runs keeps the rest."""
        free = shutil.disk_usage(self.root).free
        if free < least:
            raise DiskFullError(
                f"the disk of '{self.root}' has {free / 1e6:.0f} MB left; new jobs and files are refused below "
                f"{least / 1e6:.0f} MB. Delete jobs that nobody needs, or make room otherwise; jobs that run go on"
            )


@contextlib.contextmanager
def only_server(folder: ProjectFolder) -> Iterator[None]:
    """Hold the project for one server; the system lets go of it with the process, however that ends."""
    path = folder.root / "lock"
    with path.open("a+b") as stream:
        try:
            _lock(stream.fileno())
        except OSError:
            raise FileError(
                f"another 'kingpost serve' works in '{folder.root}'; stop it first, or choose another folder"
            ) from None
        yield


def _lock(handle: int) -> None:
    if os.name == "posix":
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
