"""The C compiler of this machine, if there is one, and the cache of what it built."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shlex
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from kingpost.base.errors import KingpostError, listed
from kingpost.kernel.bounded import compilation_limit, run_bounded
from kingpost.kernel.cache_folder import cache_directory, lent_directory, made_by_us, remove_abandoned, usable_folder
from kingpost.kernel.locks import locked

#: Without contraction to fused operations the results are the same bits on every machine with the same functions of C. They are
#: the interpreter's up to the last bits: it may take the same terms in another order.
# CasADi passes plain zeros for pointers in places, which newer compilers take for an error.
FLAGS = ("-fno-math-errno", "-ffp-contract=off", "-Wno-int-conversion", "-fPIC", "-shared")
#: For the processor at hand; the cache tells processors apart, so that a shared home directory is safe.
NATIVE = "-march=native"
#: What ``KINGPOST_OPTIMIZE`` may say: how much a compiler polishes. At every level the numbers are the same bits.
LEVELS = ("0", "1", "2", "3", "g")
USUAL_LEVEL = "2"
#: For code that is called some thousand times and not millions of times: compiled in a third of the time, and as fast where it
#: is straight-line code.
QUICK_LEVEL = "g"
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

    def build(self, source: Path, library: Path, level: str = USUAL_LEVEL) -> None:
        """Compile ``source`` into the shared library ``library``; whoever listens is told how long it takes."""
        from kingpost.kernel.telling import listening, tell

        size, expected = source.stat().st_size, None
        if listening():
            expected = _expected_seconds(size, library.parent.parent)

        def going_on(seconds: float) -> None:
            tell(f"compiling {size / 1e3:.0f} kB of C with {shlex.join(self.command)}", seconds, expected)

        for flags in ([NATIVE, *_flags(level)], _flags(level)):  # not every compiler knows the first
            command = [*self.command, *flags, source.name, "-o", library.name, "-lm"]
            try:
                done = run_bounded(command, compilation_limit(size), source.parent, going_on=going_on)
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
    #: Who compiled it.
    compiler: str = ""
    #: Seconds that were waited for another process, which compiled the same.
    waited: float = 0.0


def build_cached(source: str, compiler: Compiler, directory: Path | None = None, level: str = USUAL_LEVEL) -> Built:
    """Return the shared library for ``source``, from the cache if it is there and whole, or if it was shipped here.

    An entry is a folder that appears at once by renaming, so that processes building the same source never see each
    other's half-made files; the record in it holds the library's hash, so that a damaged one is rebuilt. Processes that need
    the same library at the same time build it once: all but one wait. Where others can write no cache is kept, for whoever can
    write a library can write its hash.
    """
    identity = "\n".join([*compiler.command, compiler.version, *_flags(level), platform.system(), processor(), source])
    key = hashlib.sha256(identity.encode()).hexdigest()[:32]
    root, obstacle = usable_folder(directory or cache_directory())
    entry = root / key
    if _whole(entry):
        return Built(entry / LIBRARY, key, cached=True, obstacle=obstacle, compiler=compiler.version)
    shipped = built_elsewhere(source, root, level, shipped=True)
    if shipped is not None:
        return replace(shipped, obstacle=obstacle)
    remove_abandoned(root)
    lock = root / f".{key}.lock"
    with locked(lock, compilation_limit(len(source)), lambda: _whole(entry), _waiting) as waited:
        if _whole(entry):
            return Built(entry / LIBRARY, key, cached=True, obstacle=obstacle, compiler=compiler.version, waited=waited)
        work = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=root))
        try:
            (work / SOURCE).write_text(source)
            started = time.perf_counter()
            compiler.build(work / SOURCE, work / LIBRARY, level)
            built = {"seconds": round(time.perf_counter() - started, 3), "source_bytes": len(source)}
            _put(work, entry, compiler.version, level, source_hash(source, level), processor(), took=built)
        finally:
            if work.exists():
                shutil.rmtree(work, ignore_errors=True)
    return Built(entry / LIBRARY, key, cached=False, obstacle=obstacle, compiler=compiler.version, waited=waited)


def built_elsewhere(
    source: str, directory: Path | None = None, level: str = USUAL_LEVEL, *, shipped: bool = False
) -> Built | None:
    """Return a library in the cache for ``source`` that this processor can run, whichever compiler made it, or None.

    For machines that have no compiler, whose version is a part of the keys; and for libraries that were ``shipped`` here.
    """
    root, obstacle = usable_folder(directory or cache_directory())
    wanted = source_hash(source, level)
    lent = lent_directory()
    for path in [*sorted(root.glob(f"*/{RECORD}")), *([] if lent is None else sorted(lent.glob(f"*/{RECORD}")))]:
        record = _record(path.parent)
        if record.get("source") != wanted or (shipped and not record.get("shipped")):
            continue
        if not missing_features(str(record.get("processor", ""))) and _whole(path.parent):
            compiler = str(record.get("compiler", ""))
            return Built(path.parent / LIBRARY, path.parent.name, cached=True, obstacle=obstacle, compiler=compiler)
    return None


def install(
    library: bytes,
    key: str,
    compiler: str,
    source: str,
    built_for: str,
    level: str = USUAL_LEVEL,
    directory: Path | None = None,
) -> Path:
    """Put a library that was compiled elsewhere into the cache, as one that was shipped; ``source`` is the hash of its source.

    Whoever calls this lets the library be run: it must come from somebody who may do that.
    """
    root, _ = usable_folder(directory or cache_directory())
    entry = root / key
    if not _whole(entry):
        work = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=root))
        try:
            (work / LIBRARY).write_bytes(library)
            _put(work, entry, compiler, level, source, built_for, shipped=True)
        finally:
            if work.exists():
                shutil.rmtree(work, ignore_errors=True)
    return entry


def _waiting(seconds: float) -> None:
    from kingpost.kernel.telling import tell

    tell("waiting for another process that compiles the same", seconds)


def _expected_seconds(size: int, root: Path) -> float | None:
    """Return how long compiling so many bytes of source may take, by what those took that were compiled here last."""
    paths = sorted(root.glob(f"*/{RECORD}"), key=lambda path: path.stat().st_mtime)[-20:]
    records = [_record(path.parent) for path in paths]
    rates = [
        record["seconds"] / record["source_bytes"]
        for record in records
        if isinstance(record.get("seconds"), float) and isinstance(record.get("source_bytes"), int) and record["source_bytes"]
    ]
    return float(statistics.median(rates)) * size if rates else None


def _put(
    work: Path,
    entry: Path,
    compiler: str,
    level: str,
    source: str,
    built_for: str,
    *,
    shipped: bool = False,
    took: Mapping[str, float] | None = None,
) -> None:
    """Complete the folder of a library with a record, and move it into its place."""
    record = {
        "sha256": _hash(work / LIBRARY),
        "compiler": compiler,
        "flags": _flags(level),
        "source": source,
        "processor": built_for,
        **({"shipped": True} if shipped else {}),
        **(took or {}),
    }
    (work / RECORD).write_text(json.dumps(record))
    if entry.exists() and not _whole(entry):
        _discard(entry)
    try:
        work.rename(entry)
    except OSError:
        # Another process was first; what it built is as good.
        if not _whole(entry):
            raise


def anything_kept(directory: Path | None = None) -> bool:
    """Say whether the cache has any library at all."""
    lent = lent_directory()
    places = [directory or cache_directory(), *([] if lent is None else [lent])]
    return any(True for place in places for _ in place.glob(f"*/{RECORD}"))


def source_hash(source: str, level: str = USUAL_LEVEL) -> str:
    """Return what tells a source and how it is compiled from others, whoever compiles it."""
    identity = "\n".join([*_flags(level), platform.system(), platform.machine(), source])
    return hashlib.sha256(identity.encode()).hexdigest()


def missing_features(built_for: str) -> list[str]:
    """Return what the processor that a library was built for has and this one has not, none if the library runs here."""
    machine, *features = built_for.split() or ["an unknown machine"]
    own_machine, *own = processor().split()
    if machine != own_machine:
        return [machine]
    return sorted(set(features) - set(own))


def _flags(level: str) -> tuple[str, ...]:
    return (optimization(level), *FLAGS)


@cache
def processor() -> str:
    """Return what tells this processor from others that run other instructions."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features = next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        features = platform.processor()
    return f"{platform.machine()} {features}"


def _whole(entry: Path) -> bool:
    try:
        if entry.parent != lent_directory() and not made_by_us(entry, entry / RECORD, entry / LIBRARY):
            return False  # put there when the folder was open to others
        return bool(_record(entry)["sha256"] == _hash(entry / LIBRARY))
    except (OSError, KeyError):
        return False


def _record(entry: Path) -> dict[str, Any]:
    """Return the record of an entry, empty if there is none that can be read."""
    try:
        record = json.loads((entry / RECORD).read_text())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _discard(entry: Path) -> None:
    """Move a damaged entry out of the way, then delete it; a process that uses the old library keeps it."""
    trash = Path(tempfile.mkdtemp(prefix=f".{entry.name}-", dir=entry.parent))
    with contextlib.suppress(FileNotFoundError):  # another process may have cleared it first
        entry.rename(trash / "damaged")
    shutil.rmtree(trash, ignore_errors=True)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
