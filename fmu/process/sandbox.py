"""A command of ours in a sandbox, for FMUs from strangers: bubblewrap around it, limits on it, a warden beside it.

Inside there is no network, no home, no process of anybody else; the folders that Python and this package need can be read,
those of the results written, and nothing else is there. :mod:`kingpost.fmu.process.warden` watches from outside,
:mod:`kingpost.fmu.process.confined` sets the limits inside and becomes the command.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from kingpost.base.errors import FileError, KingpostError, listed

#: The variable of the environment that changes limits, for example ``memory=8e9,cpu=7200``.
VARIABLE = "KINGPOST_SANDBOX_LIMITS"
HERE = Path(__file__).parent
#: Where systems keep shared libraries; links among them stay links.
LIBRARIES = ("/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib")
MORE_LIBRARIES = ("/usr/local/lib64", "/nix/store", "/gnu/store", "/etc/ld.so.cache", "/etc/alternatives")
#: Variables that a command inside is given as they are outside; all others stay outside, and with them whatever is secret.
HANDED_ON = (
    "LANG", "LC_ALL", "LC_CTYPE", "TZ", "PYTHONPATH", "OPENBLAS_NUM_THREADS", "KINGPOST_PROGRESS", "KINGPOST_SAMPLES",
    "KINGPOST_ARCHIVE_LIMITS", "KINGPOST_NO_PLUGINS", "KINGPOST_LOAD_PLUGINS", "KINGPOST_TRACE_PLUGINS", "KINGPOST_OPTIMIZE",
    "KINGPOST_JOB_LIMITS", "PYTHONUNBUFFERED",
)  # fmt: skip
ENVIRONMENT = {
    "HOME": "/tmp", "TMPDIR": "/tmp", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "XDG_CACHE_HOME": "/tmp/cache",
    "MPLCONFIGDIR": "/tmp/matplotlib", "KINGPOST_CACHE_DIR": "/tmp/kernels", "PYTHONSAFEPATH": "1",
    "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
}  # fmt: skip
#: A process may reserve this many times the memory that all may have: what is reserved is rarely used, and the warden counts.
RESERVE = 2.0
#: Seconds that a trial of the sandbox may take, on a machine that has much else to do.
TRIAL = 120.0
#: Kernels before this one count the processes of a user wherever they run.
OWN_COUNTS = (5, 14)


class SandboxError(KingpostError):
    """There is no sandbox on this machine, or what is asked for does not fit one."""


@dataclass(frozen=True)
class Limits:
    """The most that a command in a sandbox may take. Bytes, seconds and numbers; 0 for ``wall``: no limit."""

    #: Memory of all its processes together.
    memory: float = 4e9
    #: CPU time of each process.
    cpu: float = 3600.0
    #: Time from begin to end; the command is asked to end then, and keeps what it has computed.
    wall: float = 0.0
    #: The size of one file.
    file_size: float = 2e9
    #: All that is written into the folders for results, and how many files and folders that may be.
    disk: float = 8e9
    written_files: float = 20_000
    #: Temporary files, which are kept in memory and gone with the sandbox.
    temporary: float = 1e9
    #: Files that are open in one process.
    open_files: float = 1024
    #: Processes and threads.
    processes: float = 256


def limits_in_force(limits: Limits | None = None) -> Limits:
    """Return limits as the environment has changed them."""
    names = [field.name for field in fields(Limits)]
    changes: dict[str, float] = {}
    for word in filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))):
        name, _, number = (part.strip() for part in word.partition("="))
        try:
            changes[name] = float(number)
        except ValueError:
            changes[name] = math.nan
        allowed = changes[name] > 0 or (name == "wall" and changes[name] == 0)
        if name not in names or not allowed or changes[name] == math.inf:
            raise KingpostError(f"{VARIABLE}: '{word}' is no limit; write {listed(names)} as in memory=8e9,cpu=7200")
    return replace(limits or Limits(), **changes)


def sandbox_available() -> str | None:
    """Return None if commands can be run in a sandbox here, or the reason why not; tried once in a process."""
    return _tried()


def sandboxed(
    command: Sequence[str], *, readable: Sequence[Path], writable: Sequence[Path], limits: Limits | None = None
) -> list[str]:
    """Return the command line to start instead of ``command``, so that it runs in a sandbox.

    Parameters
    ----------
    command
        A command of ours: ``[sys.executable, "-m", "kingpost", "fmu-run", ...]``. Paths in it must be those of ``readable`` and
        ``writable``, from the root or from the current folder.
    readable, writable
        Files and folders that it sees where they are outside; the latter must be folders, which it can write in. Whatever it
        leaves there is a file or a folder, never a link.
    limits
        By default those of :class:`Limits` as the environment has changed them.

    SIGTERM, SIGINT and SIGHUP to the process that is started reach the command; SIGQUIT ends everything at once. Its exit
    status is that of the command, or 12 if the sandbox had to end it. If the process that starts it ends, so does everything
    inside.

    Raises
    ------
    SandboxError
        If there is no sandbox here (:func:`sandbox_available`).
    FileError
        If there is nothing at one of the paths.

    """
    reason = sandbox_available()
    if reason is not None:
        raise SandboxError(f"there is no sandbox on this machine: {reason}")
    for path in (*readable, *writable):
        if not path.exists():
            raise FileError(f"there is no '{path}' that a sandbox could show")
    if _changes_user():
        _check_open(readable)
    return _command_line(command, readable, writable, limits or limits_in_force())


def _check_open(readable: Iterable[Path]) -> None:
    """Refuse what only its owner can read, where the command runs as somebody else."""
    for path in readable:
        wanted = 0o005 if path.is_dir() else 0o004
        if path.stat().st_mode & wanted != wanted:
            raise SandboxError(
                f"root gives commands in a sandbox to a user to whom nothing belongs, and '{path}' is for its owner alone; "
                "allow others to read it, or run as an ordinary user"
            )


def _command_line(command: Sequence[str], readable: Iterable[Path], writable: Iterable[Path], limits: Limits) -> list[str]:
    wrap = shutil.which("bwrap")
    assert wrap is not None
    python = [sys.executable, "-I", "-S"]
    lent = _kernels()
    root = _changes_user()
    folders = [Path(os.path.realpath(folder)) for folder in writable]
    watched = {
        "limits": {
            "memory": limits.memory, "disk": limits.disk, "written_files": limits.written_files, "cpu": limits.cpu,
            "wall": limits.wall or 1e300, "temporary": limits.temporary,
        },
        "writable": [str(folder) for folder in folders],
        "changes_user": root,
        "handed_on": list(HANDED_ON),
        "environment": {**ENVIRONMENT, **({} if lent is None else {"KINGPOST_LENT_CACHE": str(lent)})},
    }  # fmt: skip
    inside = {
        "changes_user": root,
        "limits": {
            "RLIMIT_AS": int(RESERVE * limits.memory), "RLIMIT_CPU": math.ceil(limits.cpu),
            "RLIMIT_FSIZE": int(limits.file_size), "RLIMIT_NOFILE": int(limits.open_files),
            "RLIMIT_NPROC": int(limits.processes) + _counted_elsewhere(),
        },
    }  # fmt: skip
    shown = [*_needed(), *([] if lent is None else [lent]), *readable]
    return [
        *python, str(HERE / "warden.py"), json.dumps(watched), wrap,
        *_namespaces(root), *_places(shown, list(writable), limits), "--",
        *python, str(HERE / "confined.py"), json.dumps(inside), *command,
    ]  # fmt: skip


def _namespaces(root: bool) -> list[str]:
    words = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    words += ["--hostname", "sandbox", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if root:
        # To change to another user, and to give up for good what root could have again; confined.py does both.
        return words + [word for name in ("SETUID", "SETGID", "SETPCAP") for word in ("--cap-add", f"CAP_{name}")]
    return [*words, "--unshare-user", *(["--disable-userns"] if "--disable-userns" in _help() else [])]


def _places(readable: Sequence[Path], writable: Sequence[Path], limits: Limits) -> list[str]:
    """Return the options that say what there is inside: parents before what lies in them, so that the latter stays visible."""
    words = ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
    size = ["--size", str(int(limits.temporary))] if "--size" in _help() else []
    words += [*size, "--tmpfs", "/tmp"]
    for library in LIBRARIES:
        place = Path(library)
        if place.is_symlink():
            words += ["--symlink", str(place.readlink()), library]
        elif place.is_dir():
            words += ["--dir", "/usr", "--dir", "/usr/local", "--ro-bind", library, library]
    wanted = {shown: "--ro-bind" for path in readable for shown in _spellings(path)}
    wanted |= {shown: "--bind" for path in writable for shown in _spellings(path)}
    given = {Path(library): "--ro-bind" for library in LIBRARIES if Path(library).is_dir()}
    for path in sorted(wanted, key=lambda path: len(path.parts)):
        if wanted[path] == "--ro-bind" and _around(path, given) == "--ro-bind":
            continue
        given[path] = wanted[path]
        words += [*_parents(path, given), wanted[path], os.path.realpath(path), str(path)]
    for link, target in _interpreter_links():
        if not _around(link, given):
            words += [*_parents(link, given), "--symlink", target, str(link)]
    here = Path.cwd()
    if not _around(here, given):
        words += [*_parents(here, given), "--dir", str(here)]
    return [*words, "--remount-ro", "/", "--chdir", str(here)]


def _around(path: Path, given: Mapping[Path, str]) -> str:
    """Return how the innermost place is shown that holds a path, if one does."""
    places = [place for place in given if path.is_relative_to(place)]
    return given[max(places, key=lambda place: len(place.parts))] if places else ""


def _parents(path: Path, given: Mapping[Path, str]) -> list[str]:
    """Return the options that make the folders above a path; those that bubblewrap makes by itself are for its user alone."""
    above = [parent for parent in reversed(path.parents) if not _around(parent, given) and str(parent) not in ("/", "/tmp")]
    return [word for parent in above for word in ("--dir", str(parent))]


def _spellings(path: Path) -> list[Path]:
    """Return a path from the root, as it is written and with links followed."""
    return list(dict.fromkeys([_from_root(path), path.resolve()]))


def _from_root(path: Path) -> Path:
    return Path(os.path.normpath(Path.cwd() / path))


def _needed() -> list[Path]:
    """Return what Python and this package need to be read."""
    prefixes = dict.fromkeys([sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix])
    found = [Path(prefix) / name for prefix in prefixes for name in ("lib", "lib64", "pyvenv.cfg")]
    found += [Path(os.path.realpath(sys.executable)), *map(Path, MORE_LIBRARIES), *_search_path(), *_packages()]
    return [path for path in dict.fromkeys(found) if path.exists()]


@lru_cache(maxsize=1)
def _search_path() -> tuple[Path, ...]:
    """Return where a new interpreter looks for modules; this one may have been given the current folder, with all in it."""
    code = "import sys; print(*filter(None, sys.path), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONSAFEPATH": "1"}, capture_output=True, text=True, check=False
    )
    return tuple(Path(line) for line in done.stdout.splitlines())


def _packages() -> Iterator[Path]:
    """Yield the folders of this package and of those that extend it, wherever they are installed."""
    names = ["kingpost", "kingpost.plugins", "kingpost.fmu"]
    names += [entry.value.partition(":")[0].partition(".")[0] for entry in importlib.metadata.entry_points(group="kingpost")]
    for name in dict.fromkeys(names):
        spec: Any = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            yield from map(Path, spec.submodule_search_locations)
        elif spec is not None and spec.origin:
            yield Path(spec.origin)


def _interpreter_links() -> Iterator[tuple[Path, str]]:
    """Yield the links that lead from the name of the interpreter to its file, as those of a virtual environment."""
    path = _from_root(Path(sys.executable))
    for _ in range(40):
        if not path.is_symlink():
            return
        target = str(path.readlink())
        yield path, target
        path = _from_root(path.parent / target)


def _kernels() -> Path | None:
    """Return the cache of compiled kernels, which is lent to the command, for there is no compiler inside.

    That of root is for root alone, so it cannot be read by the user to whom commands are given then.
    """
    if _changes_user():
        return None
    if os.environ.get("KINGPOST_CACHE_DIR"):
        place = Path(os.environ["KINGPOST_CACHE_DIR"])
    else:
        place = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "kingpost"
    return place.absolute() if os.access(place, os.R_OK | os.X_OK) else None


def _changes_user() -> bool:
    """Say whether this is the real root, whose processes the kernel does not count, so that others must run the command."""
    if os.getuid() != 0:
        return False
    try:
        words = Path("/proc/self/uid_map").read_text(encoding="ascii").split()
    except OSError:
        return True
    return words[:2] == ["0", "0"]


def _counted_elsewhere() -> int:
    """Return how many processes and threads this user has, where the kernel counts them along with those of the sandbox."""
    version = tuple(int(word) for word in re.findall(r"\d+", os.uname().release)[:2])
    if version >= OWN_COUNTS or _changes_user():
        return 0
    count = 0
    for place in Path("/proc").iterdir():
        try:
            if place.name.isdigit() and place.stat().st_uid == os.getuid():
                count += sum(1 for _ in (place / "task").iterdir())
        except OSError:
            continue
    return count


@lru_cache(maxsize=1)
def _help() -> str:
    """Return which options bubblewrap has here."""
    wrap = shutil.which("bwrap")
    if wrap is None:
        return ""
    done = subprocess.run([wrap, "--help"], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@lru_cache(maxsize=1)
def _tried() -> str | None:
    if sys.platform != "linux":
        return "bubblewrap is for Linux"
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed; the package is called bubblewrap, the program bwrap"
    try:
        line = _command_line([sys.executable, "-m", "kingpost", "--version"], [], [], Limits())
        done = subprocess.run(line, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=TRIAL)
    except subprocess.TimeoutExpired:
        return f"a trial did not end within {TRIAL:g} s"
    except OSError as error:
        return f"a trial could not be started: {error}"
    if done.returncode == 0:
        return None
    said = " | ".join(done.stderr.strip().splitlines()[-3:]) or f"exit status {done.returncode}"
    return f"a trial failed: {said}{_advice()}"


#: Settings of the kernel that keep ordinary users from making namespaces, which bubblewrap is made of.
SETTINGS = {
    "/proc/sys/user/max_user_namespaces": ("0", "user.max_user_namespaces=0 forbids user namespaces"),
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "kernel.unprivileged_userns_clone=0 forbids user namespaces"),
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "kernel.apparmor_restrict_unprivileged_userns=1 forbids user namespaces to programs without a profile of AppArmor",
    ),
}


def _advice() -> str:
    for place, (value, words) in SETTINGS.items():
        try:
            if Path(place).read_text(encoding="ascii").strip() == value:
                return f". The setting {words}"
        except OSError:
            continue
    return ""
