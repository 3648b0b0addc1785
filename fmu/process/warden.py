"""Keeps watch over a sandbox from outside: ``python -I -S warden.py SETTINGS BWRAP ARGUMENTS...``; see sandbox.py.

It hands signals on to the command inside, ends what takes more memory, disk or time than all its processes together may, says
so in a sentence, and leaves nothing behind in the folders of the results but files and folders. It imports nothing but the
standard library, for it stands beside every command.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: Seconds between two looks at memory, and at least between two looks at the disk.
LOOK, DISK_LOOK = 0.1, 0.5
#: Seconds that a command has to keep what it has computed when its time is over.
GRACE = 15.0
#: The exit status of a command that the sandbox has ended.
ENDED = 12
#: Statuses by which a command says itself that a signal has asked it to end.
ASKED = (128 + signal.SIGHUP, 128 + signal.SIGINT, 128 + signal.SIGTERM)
#: Users whom no system gives to anybody; each sandbox that root starts has one of its own.
FIRST_USER = 0x70000000
#: The part of a disk that says that it is full.
NEARLY_FULL = 0.01
#: Folders inside each other that a result may have.
DEEPEST = 40


class Warden:
    """One sandbox, from its start to its end."""

    def __init__(self, settings: dict[str, Any], command: list[str]) -> None:
        self._limits: dict[str, float] = settings["limits"]
        self._folders = [Path(folder) for folder in settings["writable"]]
        self._user = FIRST_USER + os.getpid() if settings["changes_user"] else None
        self._environment: dict[str, str] = settings["environment"]
        for name in settings["handed_on"]:
            if name in os.environ:
                self._environment[name] = os.environ[name]
        self._command = command
        self._parent = os.getppid()
        self._inside = 0
        self._waiting: list[int] = []
        #: Whether the command was asked to end, for its time is over.
        self._asked = False
        #: Whether everything was to end at once.
        self._stopped = False
        #: Whether there was no more room for temporary files.
        self._full = False
        #: Why something was ended.
        self.reasons: list[str] = []

    def run(self) -> int:
        """Run the command and return its exit status."""
        self._before = {path: found for folder in self._folders for path, found in survey(folder)}
        self._written = sum(found.st_blocks * 512 for found, _ in self._before.values())
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._hand_on)
        signal.signal(signal.SIGQUIT, self._stop)
        self._give_folders()
        try:
            return self._watched()
        finally:
            for folder in self._folders:
                tidy(folder, self._before, None if self._user is None else (os.getuid(), os.getgid()))

    def _give_folders(self) -> None:
        if self._user is not None:
            self._environment["KINGPOST_SANDBOX_USER"] = str(self._user)
            for path, (found, _) in self._before.items():
                if stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode):
                    os.chown(path, self._user, self._user, follow_symlinks=False)

    def _watched(self) -> int:
        ours, theirs = os.pipe()
        words = [self._command[0], "--info-fd", str(theirs), *self._command[1:]]
        # What is asked of a command comes from whoever started it, never from a terminal.
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL if os.isatty(0) else None,
            env=self._environment,
            pass_fds=(theirs,),
            start_new_session=True,
        )
        os.close(theirs)
        with os.fdopen(ours, "rb") as told:
            content = told.read()
        first = int(json.loads(content)["child-pid"]) if content else 0
        try:
            self._look_after(process, first)
        finally:
            if process.poll() is None:
                # The first process inside takes all others along, and is gone only when they are.
                os.kill(first or process.pid, signal.SIGKILL)
            code = process.wait()
        return self._understood(code)

    def _look_after(self, process: subprocess.Popen[bytes], first: int) -> None:
        started, next_disk, grace = time.monotonic(), 0.0, 0.0
        while not _ended_within(process, LOOK):
            if not self._inside and first:
                self._inside = next(iter(_children(first)), 0)
                while self._inside and self._waiting:
                    self._hand_on(self._waiting.pop(0))
            now = time.monotonic()
            if os.getppid() != self._parent:
                return  # whoever wanted a result is gone
            if self._stopped or (grace and now > grace):
                return
            if not grace and now - started > self._limits["wall"]:
                self.reasons.append(f"it had its {self._limits['wall']:g} s, and may not have more")
                self._asked = True
                grace = now + GRACE
                self._hand_on(signal.SIGTERM)
            if first and self._too_much_memory(first):
                return
            if now > next_disk:
                self._look_at_temporary_files(first)
                if self._too_much_disk():
                    return
                next_disk = time.monotonic() + max(DISK_LOOK, 10 * (time.monotonic() - now))

    def _too_much_memory(self, first: int) -> bool:
        """End the largest process if all together have too much memory; say whether that was done before, so all must go."""
        sizes = {pid: _memory(pid) for pid in _family(first)}
        total = sum(sizes.values())
        if total <= self._limits["memory"]:
            return False
        had = f"its processes together had {total / 1e6:.0f} MB of memory, and may have {self._limits['memory'] / 1e6:.0f} MB"
        if self.reasons:
            self.reasons[:] = [had]
            return True
        self.reasons.append(had)
        with contextlib.suppress(ProcessLookupError):
            os.kill(max(sizes, key=lambda pid: sizes[pid]), signal.SIGKILL)
        return False

    def _too_much_disk(self) -> bool:
        size, count = -self._written, -len(self._before)
        for folder in self._folders:
            for path, (found, _) in survey(folder):
                size, count = size + found.st_blocks * 512, count + 1
                if too_deep(path, folder):
                    self.reasons.append(f"it made folders that are {DEEPEST} deep inside each other")
                elif size > self._limits["disk"]:
                    self.reasons.append(f"it wrote more than {self._limits['disk'] / 1e6:.0f} MB of files")
                elif count > self._limits["written_files"]:
                    self.reasons.append(f"it wrote more than {self._limits['written_files']:.0f} files")
                else:
                    continue
                return True
        return False

    def _look_at_temporary_files(self, first: int) -> None:
        """See whether their room is used up, which ends nothing here, but most likely whoever needs some more."""
        with contextlib.suppress(OSError):
            room = os.statvfs(f"/proc/{first}/root/tmp")
            self._full = self._full or room.f_bavail < NEARLY_FULL * room.f_blocks

    def _hand_on(self, number: int, frame: Any = None) -> None:
        if not self._inside:
            self._waiting.append(number)
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._inside, number)

    def _stop(self, number: int, frame: Any = None) -> None:
        self._stopped = True
        self.reasons.append("it was told to end at once")

    def _understood(self, code: int) -> int:
        """Return the exit status, and say what the sandbox had to do with it."""
        died = code < 0 or (code > 128 and (self._asked or code not in ASKED))
        if died and not self.reasons and not self._full:
            number = -code if code < 0 else code - 128
            self.reasons.append(_cause(number, self._limits))
        if self._full and code != 0 and not self.reasons:
            room = f"{self._limits['temporary'] / 1e6:.0f} MB"
            print(f"kingpost: in the sandbox, temporary files had filled the {room} that they may", file=sys.stderr, flush=True)
        elif self.reasons:
            ended = "the sandbox ended the command" if died else "the sandbox ended a process of the command"
            print(f"kingpost: {ended}: {'; '.join(self.reasons)}", file=sys.stderr, flush=True)
        return ENDED if died else code


def _cause(number: int, limits: dict[str, float]) -> str:
    if number == signal.SIGXCPU:
        return f"it had used up its {limits['cpu']:g} s of CPU time"
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    short = ", as the system does if memory runs short" if number == signal.SIGKILL else ""
    return f"it was killed by {name}{short}"


def _ended_within(process: subprocess.Popen[bytes], limit: float) -> bool:
    """Wait for the end of a process, but no longer than ``limit`` s."""
    try:
        handle = os.pidfd_open(process.pid)
    except (OSError, AttributeError):
        time.sleep(limit)
    else:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll(1000 * limit)
        os.close(handle)
    return process.poll() is not None


def _children(pid: int) -> list[int]:
    """Return the processes that one has started, or been left with."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(word) for task in tasks for word in (task / "children").read_text(encoding="ascii").split()]
    except FileNotFoundError:
        return _children_by_search(pid) if Path(f"/proc/{pid}").exists() else []
    except OSError:
        return []


def _children_by_search(pid: int) -> list[int]:
    """Do so on kernels that do not list them."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with contextlib.suppress(OSError):
                words = (place / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
                if int(words[1]) == pid:
                    found.append(int(place.name))
    return sorted(found)


def _family(first: int) -> list[int]:
    """Return all processes of a sandbox but the one that only waits for the others."""
    found, queue = [], _children(first)
    while queue:
        pid = queue.pop()
        found.append(pid)
        queue += _children(pid)
    return found


def _memory(pid: int) -> int:
    """Return the bytes of memory that are a process's own, swapped out or not."""
    size = 0
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(("RssAnon:", "RssShmem:", "VmSwap:")):
                size += 1024 * int(line.split()[1])
    return size


def survey(folder: Path) -> Iterator[tuple[Path, tuple[os.stat_result, str]]]:
    """Go through a folder and all in it, following no link: what each is, and where links lead."""
    queue = [folder]
    while queue:
        path = queue.pop()
        try:
            found = path.lstat()
            link = str(path.readlink()) if stat.S_ISLNK(found.st_mode) else ""
            if stat.S_ISDIR(found.st_mode):
                queue += _members(path, found)
        except OSError:
            if not too_deep(path, folder):
                continue  # it is gone, or cannot be looked at
            found, link = folder.lstat(), ""
        yield path, (found, link)


def too_deep(path: Path, folder: Path) -> bool:
    """Say whether a path inside a folder is deeper than results are."""
    return len(path.parts) - len(folder.parts) > DEEPEST


def _members(folder: Path, found: os.stat_result) -> list[Path]:
    try:
        return list(folder.iterdir())
    except PermissionError:  # whoever made it has taken even the owner's right to look into it
        folder.chmod(stat.S_IMODE(found.st_mode) | 0o700)
        return list(folder.iterdir())


def tidy(folder: Path, before: dict[Path, tuple[os.stat_result, str]], owner: tuple[int, int] | None) -> None:
    """Remove from a folder whatever is neither file nor folder, such as links that lead elsewhere, unless it was there before.

    What is left belongs to ``owner``, if that is given, who can read and write it, and nobody can run it as somebody else.
    """
    for path, (found, link) in list(survey(folder)):
        known = before.get(path)
        with contextlib.suppress(OSError):
            if too_deep(path, folder):
                top = folder.joinpath(*path.parts[len(folder.parts) :][:1])
                if top.exists():
                    # Python's own way is recursive, and gives up where folders are a thousand deep.
                    subprocess.run(["rm", "-rf", "--", str(top)], check=False, stderr=subprocess.DEVNULL)
                continue
            plain = stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)
            same = known is not None and stat.S_IFMT(known[0].st_mode) == stat.S_IFMT(found.st_mode) and known[1] == link
            if not plain and not same:
                path.unlink()
                continue
            if owner is not None:
                kept = (known[0].st_uid, known[0].st_gid) if known is not None else owner
                os.chown(path, *kept, follow_symlinks=False)
            if plain:
                needed = 0o700 if stat.S_ISDIR(found.st_mode) else 0o600
                path.chmod((found.st_mode & 0o777) | needed)


if __name__ == "__main__":
    warden = Warden(json.loads(sys.argv[1]), sys.argv[2:])
    sys.exit(warden.run())
