"""Where compiled kernels are kept: a folder in which nobody else can put anything, for what lies there is run."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

#: What a build has left that was killed is removed after this many seconds.
ABANDONED = 86400.0
#: Root, who can do everything anyway, and the user that stands for root inside a container without privileges.
SYSTEM = (0, 65534)


def cache_directory() -> Path:
    """Return where compiled kernels are kept: ``KINGPOST_CACHE_DIR``, or a folder in the user's cache directory."""
    if os.environ.get("KINGPOST_CACHE_DIR"):
        return Path(os.environ["KINGPOST_CACHE_DIR"])
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "kingpost"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kingpost"


def lent_directory() -> Path | None:
    """Return a cache of somebody else from which kernels may be taken, and into which none are put, if there is one.

    Commands in a sandbox have it: there they run as a user to whom nothing belongs. It need not be safe from others as our own
    must be, for whoever says in the environment where it is can make this process run anything anyway.
    """
    place = os.environ.get("KINGPOST_LENT_CACHE")
    return Path(place) if place else None


def usable_folder(directory: Path) -> tuple[Path, str]:
    """Return ``directory`` and an empty text, or a folder that lasts as long as this process, and why that is used instead."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        return _passing(), f"compiled for this process alone: the cache folder '{directory}' cannot be made ({error.strerror})"
    obstacle = who_else_can_write(directory)
    if obstacle:
        return _passing(), (
            f"compiled for this process alone: the cache folder '{directory}' is not used, because {obstacle}. What is kept "
            "there is run, so it must be safe from others: take their permission to write away, or set KINGPOST_CACHE_DIR to a "
            "folder of your own"
        )
    if not os.access(directory, os.W_OK | os.X_OK):
        return _passing(), f"compiled for this process alone: there is no permission to write in the cache folder '{directory}'"
    return directory, ""


def who_else_can_write(directory: Path) -> str:
    """Return who but this user could put files into a folder, or exchange it, as part of a sentence; empty if nobody can."""
    if sys.platform == "win32":
        return ""  # where no compiler is used
    place = directory.resolve()
    try:
        found = place.stat()
        if found.st_uid != os.getuid():
            return f"'{place}' belongs to the user {_user(found.st_uid)}"
        if found.st_mode & stat.S_IWOTH:
            return f"everybody can write in '{place}'"
        if found.st_mode & stat.S_IWGRP and not _private(found.st_gid):
            return f"the group {_group(found.st_gid)} can write in '{place}'"
        # Whoever can write in a folder above can exchange the one below, unless the sticky bit keeps each to his own. Groups
        # are let through there, as project folders are made: what they put in place of ours would not belong to this user.
        for parent in place.parents:
            found = parent.stat()
            if found.st_uid not in (os.getuid(), *SYSTEM):
                return f"'{parent}' above it belongs to the user {_user(found.st_uid)}"
            if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
                return f"everybody can write in '{parent}' above it"
    except OSError as error:
        return f"it cannot be looked at ({error})"
    return ""


def made_by_us(*paths: Path) -> bool:
    """Say whether all these were made by this user."""
    return sys.platform == "win32" or all(path.lstat().st_uid == os.getuid() for path in paths)


def _private(group: int) -> bool:
    """Say whether a group has one member, this user, as many systems make one for each."""
    import grp

    try:
        entry = grp.getgrgid(group)
    except KeyError:
        return False
    name = _user(os.getuid())
    return entry.gr_name == name and not set(entry.gr_mem) - {name}


def _group(number: int) -> str:
    import grp

    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _user(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def remove_abandoned(directory: Path) -> None:
    """Remove what builds have left that were killed."""
    for place in directory.glob(".*"):
        try:
            old = time.time() - place.lstat().st_mtime > ABANDONED
        except OSError:
            continue
        if old and place.is_dir() and not place.is_symlink():
            shutil.rmtree(place, ignore_errors=True)


def _passing() -> Path:
    """Return a folder that lasts as long as this process, one for all its kernels."""
    return _passing_of(os.getpid())


@cache
def _passing_of(process: int) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="kingpost-cache-"))

    def remove() -> None:
        if os.getpid() == process:  # a child that was forked leaves it to its parent
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder
