"""The C compiler of this machine, if there is one, and the cache of what it built."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kingpost.base.errors import KingpostError, listed
from kingpost.kernel.bounded import compilation_limit, run_bounded
from kingpost.kernel.cache_folder import cache_directory, made_by_us, remove_abandoned, usable_folder

#: Without contraction to fused operations the results are the same bits on every machine, and the interpreter's.
# CasADi passes plain zeros for pointers in places, which newer compilers take for an error.
FLAGS = ("-fno-math-errno", "-ffp-contract=off", "-Wno-int-conversion", "-fPIC", "-shared")
#: For the processor at hand; the cache tells processors apart, so that a shared home directory is safe.
NATIVE = "-march=native"
#: What ``KINGPOST_OPTIMIZE`` may say: how much a compiler polishes. At every level the numbers are the same bits.
LEVELS = ("0", "1", "2", "3")
USUAL_LEVEL = "2"
LIBRARY = "kernel.so"
SOURCE = "kernel.c"
RECORD = "record.json"
#: Seconds that a compiler may take to say who it is.
VERSION_LIMIT = 20.0


class CompilerError(Exception):
    """The compiler refused or crashed; the message holds what it said."""


def optimization(most: str = USUAL_LEVEL) -> str:
    """Return the flag by which a compiler polishes: ``most``, or what ``KINGPOST_OPTIMIZE`` says."""
    level = os.environ.get("KINGPOST_OPTIMIZE") or most
    if level not in LEVELS:
        raise KingpostError(f"KINGPOST_OPTIMIZE is {level!r}; it is the level at which C code is compiled: {listed(LEVELS)}")
    return f"-O{level}"


@dataclass(frozen=True)
class Compiler:
    """A C compiler: the words that start it, and how it names itself."""

    command: tuple[str, ...]
    version: str

    def build(self, source: Path, library: Path) -> None:
        """Compile ``source`` into the shared library ``library``."""
        for flags in ([NATIVE, *_flags()], _flags()):  # not every compiler knows the first
            command = [*self.command, *flags, source.name, "-o", library.name, "-lm"]
            try:
                done = run_bounded(command, compilation_limit(source.stat().st_size), source.parent)
            except TimeoutError as error:
                raise CompilerError(str(error)) from None
            except OSError as error:
                raise CompilerError(f"{shlex.join(command)}: {error}") from None
            if done.returncode == 0 and library.is_file():
                return
        raise CompilerError(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stderr.strip()[-2000:]}")


def find_compiler() -> Compiler | None:
    """Return the compiler named by ``CC``, else the first of cc, gcc and clang that answers, else None."""
    if sys.platform == "win32":
        return None
    named = os.environ.get("CC")
    for words in [shlex.split(named)] if named else [["cc"], ["gcc"], ["clang"]]:
        if not words or shutil.which(words[0]) is None:
            continue
        try:
            answer = run_bounded([*words, "--version"], VERSION_LIMIT)
        except OSError:  # it cannot be started, or hangs
            continue
        if answer.returncode == 0:
            return Compiler(tuple(words), answer.stdout.split("\n")[0].strip())
    return None


@dataclass(frozen=True)
class Built:
    """A compiled library, whether it was found in the cache, and why the cache could not be used, if so."""

    library: Path
    key: str
    cached: bool
    obstacle: str = ""


def build_cached(source: str, compiler: Compiler, directory: Path | None = None) -> Built:
    """Return the shared library for ``source``, from the cache if it is there and whole.

    An entry is a folder that appears at once by renaming, so that processes building the same source never see each
    other's half-made files; the record in it holds the library's hash, so that a damaged one is rebuilt. Where others can write
    no cache is kept, for whoever can write a library can write its hash.
    """
    identity = "\n".join([*compiler.command, compiler.version, *_flags(), platform.system(), _processor(), source])
    key = hashlib.sha256(identity.encode()).hexdigest()[:32]
    root, obstacle = usable_folder(directory or cache_directory())
    entry = root / key
    if _whole(entry):
        return Built(entry / LIBRARY, key, cached=True, obstacle=obstacle)
    remove_abandoned(root)
    work = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=root))
    try:
        (work / SOURCE).write_text(source)
        compiler.build(work / SOURCE, work / LIBRARY)
        record = {"sha256": _hash(work / LIBRARY), "compiler": compiler.version, "flags": _flags()}
        (work / RECORD).write_text(json.dumps(record))
        if entry.exists() and not _whole(entry):
            _discard(entry)
        try:
            work.rename(entry)
        except OSError:
            # Another process was first; what it built is as good.
            if not _whole(entry):
                raise
    finally:
        if work.exists():
            shutil.rmtree(work, ignore_errors=True)
    return Built(entry / LIBRARY, key, cached=False, obstacle=obstacle)


def _flags() -> tuple[str, ...]:
    return (optimization(), *FLAGS)


@cache
def _processor() -> str:
    """Return what tells this processor from others that run other instructions."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features = next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        features = platform.processor()
    return f"{platform.machine()} {features}"


def _whole(entry: Path) -> bool:
    try:
        if not made_by_us(entry, entry / RECORD, entry / LIBRARY):
            return False  # put there when the folder was open to others
        record = json.loads((entry / RECORD).read_text())
        return bool(record["sha256"] == _hash(entry / LIBRARY))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _discard(entry: Path) -> None:
    """Move a damaged entry out of the way, then delete it; a process that uses the old library keeps it."""
    trash = Path(tempfile.mkdtemp(prefix=f".{entry.name}-", dir=entry.parent))
    with contextlib.suppress(FileNotFoundError):  # another process may have cleared it first
        entry.rename(trash / "damaged")
    shutil.rmtree(trash, ignore_errors=True)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
