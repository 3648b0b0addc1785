"""What an FMU shares with everybody in its process: arithmetic, locale, working folder, files, signals, environment."""

from __future__ import annotations

import contextlib
import ctypes
import locale as locales
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from kingpost.fmu.checks.check import Verdict, finding, not_applicable, note, passed, warning
from kingpost.fmu.checks.fmu_under_test import FmuUnderTest, Run

SURROUNDING_STEPS = 5
#: How C calls the ways to round, by what fegetround returns on x86 and on ARM.
ROUNDINGS = {0: "to nearest", 0x400: "downwards", 0x800: "upwards", 0xC00: "towards zero"}
ROUNDINGS_ARM = {0: "to nearest", 0x400000: "upwards", 0x800000: "downwards", 0xC00000: "towards zero"}
#: The smallest positive double and a thing to multiply it with; product and half of the smallest normal number are not zero.
SMALLEST, SMALLEST_NORMAL = 5e-324, 2.2250738585072014e-308
#: Bytes of struct sigaction in glibc and musl, and more.
SIGACTION = 256
FILES = Path("/proc/self/fd")
FREED = "it was freed"
#: What is looked at, as texts by name, and what a change of it is.
Looks: TypeAlias = Sequence[tuple[Callable[[], Mapping[str, Any]], Callable[..., Verdict]]]


def arithmetic(subject: FmuUnderTest) -> Verdict:
    """Look at rounding, precision, traps and small numbers."""
    return _unchanged(subject, [(_arithmetic, finding)], "rounding, precision, traps and small numbers are as they were")


def locale(subject: FmuUnderTest) -> Verdict:
    """Look at the locale of C, which decides whether numbers are written with a point."""
    return _unchanged(subject, [(_locale, finding)], "it is as it was")


def working_folder(subject: FmuUnderTest) -> Verdict:
    """Look at the working folder, and at what new files may be like."""
    return _unchanged(subject, [(_folder, finding)], "it is as it was, and so is the mask for new files")


def process(subject: FmuUnderTest) -> Verdict:
    """Look at files, signals, environment, limits and timers."""
    at_first = _files()

    def still_open() -> dict[str, Any]:
        now = _files()  # a number that was closed may be that of another file by now
        return {name: file if now.get(name) == file else "closed" for name, file in at_first.items()}

    good = "files, signals, environment, limits and timers are as they were"
    return _unchanged(subject, [(still_open, finding), (_process, warning)], good, at_the_end=[(_files, note)])


def _unchanged(subject: FmuUnderTest, looks: Looks, good: str, at_the_end: Looks = ()) -> Verdict:
    """Use an instance; say after which of its calls something is not as before, or not as before when it was freed."""
    first = [dict(look()) for look, _ in (*looks, *at_the_end)]
    if not any(first):
        return not_applicable("this system does not show it")
    for what in _life(subject):
        seen = (*looks, *(at_the_end if what == FREED else ()))
        for before, (look, weight) in zip(first, seen, strict=False):
            after = look()
            changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
            lines = [f"{name} was {before.get(name, 'not there')} and is {after.get(name, 'gone')}" for name in changed]
            if lines:
                return weight(f"after {what}, {lines[0]}", *lines[1:6])
    return passed(good)


def _life(subject: FmuUnderTest) -> Iterator[str]:
    """Use an instance from beginning to end; say what was done after each call."""
    instance = subject.load()
    yield "it was loaded and instantiated"
    instance.initialize(subject.times.t_start, subject.times.t_stop)
    yield "it was initialised"
    run = Run(subject, instance)
    for k in range(subject.steps(SURROUNDING_STEPS)):
        run.step()
        run.row()
        yield f"step {k + 1}"
    run.finish()
    yield FREED


def _libc() -> Any:
    return ctypes.CDLL(None)


def _arithmetic() -> dict[str, Any]:
    found: dict[str, Any] = {}
    with contextlib.suppress(OSError, AttributeError, TypeError):
        library = _libc()
        mode = int(library.fegetround())
        names = ROUNDINGS if os.uname().machine in ("x86_64", "i686") else ROUNDINGS_ARM
        found["rounding"] = names.get(mode, f"mode {mode:#x}")
        environment = ctypes.create_string_buffer(64)
        library.fegetenv(environment)
        if os.uname().machine == "x86_64":
            found["control word of the x87"] = f"{int.from_bytes(environment.raw[:2], 'little'):#x}"
        found["traps"] = int(library.fegetexcept())
    # Not folded by the compiler of Python: both are variables.
    small, half = SMALLEST, 0.5
    found["numbers below 2.2e-308"] = "kept" if small * 1.0 > 0 and SMALLEST_NORMAL * half > 0 else "flushed to zero"
    return found


def _locale() -> dict[str, Any]:
    with contextlib.suppress(OSError, AttributeError, TypeError):
        function = _libc().setlocale
        function.restype = ctypes.c_char_p
        return {
            name: (function(getattr(locales, name), None) or b"").decode("utf-8", errors="replace")
            for name in dir(locales)
            if name.startswith("LC_") and name != "LC_ALL"
        }
    return {}


def _folder() -> dict[str, Any]:
    mask = os.umask(0)
    os.umask(mask)
    try:
        place = str(Path.cwd())
    except OSError as error:
        place = f"gone ({error.strerror})"
    return {"the working folder": place, "the mask for new files": f"{mask:03o}"}


def _process() -> dict[str, Any]:
    return {**_signals(), **_environment(), **_limits(), **_timers()}


def _signals() -> dict[str, Any]:
    found: dict[str, Any] = {}
    with contextlib.suppress(OSError, AttributeError, TypeError):
        library = _libc()
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            action = ctypes.create_string_buffer(SIGACTION)
            if library.sigaction(int(number), None, action) == 0:
                handler = int.from_bytes(action.raw[: ctypes.sizeof(ctypes.c_void_p)], sys.byteorder)
                found[f"what {_signal_name(number)} does"] = {0: "the default", 1: "nothing"}.get(
                    handler, f"handler {handler:#x}"
                )
    if hasattr(signal, "pthread_sigmask"):
        found["blocked signals"] = (
            ", ".join(sorted(_signal_name(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, ()))) or "none"
        )
    return found


def _signal_name(number: Any) -> str:
    return getattr(number, "name", f"signal {int(number)}")


def _environment() -> dict[str, Any]:
    """Return the environment of C; Python's own is a copy from its beginning."""
    found: dict[str, Any] = {}
    with contextlib.suppress(OSError, AttributeError, ValueError, TypeError):
        entry = ctypes.POINTER(ctypes.c_char_p).in_dll(_libc(), "environ")
        i = 0
        while entry and entry[i]:
            name, _, value = entry[i].decode("utf-8", errors="replace").partition("=")
            found[f"the variable {name}"] = repr(value)
            i += 1
    return found


def _limits() -> dict[str, Any]:
    if sys.platform == "win32":
        return {}
    import resource

    names = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    return {f"the limit {name}": resource.getrlimit(getattr(resource, name)) for name in names}


def _timers() -> dict[str, Any]:
    if not hasattr(signal, "getitimer"):
        return {}
    kinds = {"the alarm clock": signal.ITIMER_REAL, "the timer of its CPU time": signal.ITIMER_PROF}
    return {name: "running" if signal.getitimer(kind)[0] else "off" for name, kind in kinds.items()}


def _files() -> dict[str, Any]:
    found = {}
    if FILES.is_dir():
        for entry in list(FILES.iterdir()):
            with contextlib.suppress(OSError):  # that of the look itself, which is over
                found[f"file descriptor {entry.name}"] = str(entry.readlink())
    return found
