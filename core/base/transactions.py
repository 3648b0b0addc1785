"""Files of a folder that are exchanged together: whatever ends the process, all of them are there as they were, or all are new.

New files are filled in a folder of their own (``.kingpost-incomplete-...``), brought to disk, and then that folder is renamed
to ``.kingpost-commit``. This renaming is the one point at which the exchange happens: from then on a file in there counts
before one of the same name beside it. Moving them to where they belong is work that anybody can finish, any number of
times and side by side, because it is the same work for all: the writer, the next writer, or a reader. There is no journal that
could be torn, and no lock that could be left behind; nothing is needed that Windows lacks.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from kingpost.base.interrupts import uninterrupted

#: Fills a file that does not exist yet.
Fill: TypeAlias = Callable[[Path], None]

COMMIT = ".kingpost-commit"
INCOMPLETE = ".kingpost-incomplete-"
LOCK = "lock"
FILES = "files"
#: Attempts to be the one that commits, while others do.
ATTEMPTS = 100


def exchange(folder: Path, files: Mapping[str, Fill]) -> None:
    """Fill files out of sight, then exchange all of them at one point, on disk; if one fails, everything stays as it was.

    What processes that were killed have left in ``folder`` is finished or removed first; other files are not touched.
    """
    _make(folder)
    settle(folder)
    _remove_left_over(folder)
    with _staging(folder) as staged:
        for name, fill in files.items():
            fill(staged / name)
            _sync(staged / name)
        for name in files:
            if (folder / name).is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(folder / name))
        if len(files) == 1:
            (staged / name).replace(folder / name)
            _sync(folder)
            return
        _sync(staged)
        _commit(staged, folder)
    try:
        settle(folder)
    except OSError as error:  # a file that another program holds, on Windows
        reason = f"{error.strerror or error}; the new files are whole in {COMMIT} there, and the next run or reader moves them"
        raise OSError(error.errno, reason, error.filename, None, error.filename2) from None


def begin_growing(folder: Path, name: str) -> tuple[Path, int | None]:
    """Return a new folder ``name`` in ``folder``, for files that grow in the open, and what holds it as long as we work in it.

    What ends this process leaves it as it is: nobody removes it. :func:`commit_grown` puts its files where they belong.
    """
    _make(folder)
    settle(folder)
    _remove_left_over(folder)
    place = folder / name
    with uninterrupted():
        place.mkdir()
        if sys.platform == "win32":
            return place, None  # where folders cannot be locked
        lock = os.open(place, os.O_RDONLY)
        _locked(lock)
    return place, lock


def commit_grown(place: Path, folder: Path) -> None:
    """Exchange the files of ``folder`` for those in ``place``, a folder of its own, at one point, on disk."""
    for file in sorted(place.iterdir()):
        _sync(file)
        if (folder / file.name).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(folder / file.name))
    _sync(place)
    _commit(place, folder)
    settle(folder)


def nobody_works_in(place: Path) -> bool:
    """Say whether a folder with files that grow is one that a process has left which was ended; unknown counts as yes."""
    if sys.platform == "win32":
        return True
    try:
        lock = os.open(place, os.O_RDONLY)
    except OSError:
        return True
    try:
        return _locked(lock) is not False
    finally:
        os.close(lock)


def settle(folder: Path) -> None:
    """Move what was committed to where it belongs, if whoever committed it has not done so."""
    commit = folder / COMMIT
    # A link could lead to files of somebody else.
    if commit.is_symlink() or not commit.is_dir():
        return
    with contextlib.suppress(FileNotFoundError):  # others may be settling, too
        for file in sorted(commit.iterdir()):
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                file.replace(folder / file.name)
        _sync(folder)
        try:
            commit.rmdir()
        except OSError as error:
            # Meanwhile somebody else may have committed, and settles that.
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise


def current(path: Path) -> Path:
    """Return where the content of ``path`` is: as long as a commit is not settled, beside it."""
    committed = path.parent / COMMIT / path.name
    try:
        return path if committed.parent.is_symlink() or not committed.exists() else committed
    except OSError:  # no permission to look
        return path


def _commit(staged: Path, folder: Path) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            staged.rename(folder / COMMIT)
            break
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EACCES) or attempt == ATTEMPTS:
                raise
            settle(folder)  # another writer was first
    _sync(folder)


@contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    """Give an empty folder in ``folder``, locked as long as this process works in it."""
    claimed: tuple[Path, int] | None = None
    try:
        with uninterrupted():
            claimed = _claimed(folder)
        staged = claimed[0] / FILES
        staged.mkdir()
        yield staged
    finally:
        if claimed is not None:
            with uninterrupted():
                _given_up(*claimed)


def _claimed(folder: Path) -> tuple[Path, int]:
    """Return a new folder in ``folder``, and the lock that says that somebody works in it."""
    while True:
        place = Path(tempfile.mkdtemp(prefix=INCOMPLETE, dir=folder))
        try:
            lock = os.open(place / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:
            continue  # somebody took it for left over before it was locked
        if _locked(lock) is not False and _is(lock, place / LOCK):
            return place, lock
        os.close(lock)


def _given_up(place: Path, lock: int) -> None:
    shutil.rmtree(place / FILES, ignore_errors=True)
    # Windows deletes no file that is open; elsewhere the lock goes last, so that nobody else clears up at the same time.
    if sys.platform == "win32":
        os.close(lock)
        shutil.rmtree(place, ignore_errors=True)
    else:
        shutil.rmtree(place, ignore_errors=True)
        os.close(lock)


def _remove_left_over(folder: Path) -> None:
    """Remove what processes have left that were killed while they filled files; nobody holds its lock any more."""
    for place in folder.iterdir():
        if not place.name.startswith(INCOMPLETE) or place.is_symlink() or not place.is_dir():
            continue
        try:
            lock = os.open(place / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:  # gone, or somebody else's
            continue
        try:
            if _locked(lock) and _is(lock, place / LOCK):
                shutil.rmtree(place / FILES, ignore_errors=True)
                if sys.platform != "win32":
                    shutil.rmtree(place, ignore_errors=True)
        finally:
            os.close(lock)
        if sys.platform == "win32":
            shutil.rmtree(place, ignore_errors=True)  # fails while somebody has the lock open


def _locked(lock: int) -> bool | None:
    """Lock an open file without waiting and say whether that worked; None where there are no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK) else None
    return True


def _is(lock: int, path: Path) -> bool:
    """Say whether an open file is still the one at ``path``."""
    try:
        return os.path.samestat(os.fstat(lock), path.stat())
    except OSError:
        return False


def _make(folder: Path) -> None:
    """Make a folder with its parents, and bring their entries to disk."""
    new = []
    place = folder
    while not place.exists():
        new.append(place)
        place = place.parent
    folder.mkdir(parents=True, exist_ok=True)
    for place in reversed(new):
        _sync(place.parent)


def _sync(path: Path) -> None:
    """Have the content of a file, or the entries of a folder, brought to disk."""
    folder = path.is_dir()
    if folder and sys.platform == "win32":
        return  # where renaming is written through
    handle = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError as error:
        if not folder or error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems sync no folders
            raise
    finally:
        os.close(handle)
