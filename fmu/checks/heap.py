"""The heap, watched over by the C library: memory that is written past its end, or freed twice."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from pathlib import Path

from kingpost.fmu.checks.check import Verdict, finding, not_applicable, passed
from kingpost.fmu.checks.fmu_under_test import FmuUnderTest

#: The part of glibc, from 2.34 on, that looks at the heap.
WATCHER = "libc_malloc_debug.so.0"
HEAP_STEPS = 100


def watching() -> dict[str, str]:
    """Return what the environment of a process must have for its heap to be watched."""
    if not sys.platform.startswith("linux"):
        return {}
    before = os.environ.get("LD_PRELOAD")
    return {
        # Ends the process when it finds damage. Older versions of glibc look at the variable alone.
        "MALLOC_CHECK_": "3",
        "GLIBC_TUNABLES": "glibc.malloc.check=3",
        "LD_PRELOAD": f"{WATCHER} {before}" if before else WATCHER,
    }


def heap(subject: FmuUnderTest) -> Verdict:
    """Use an instance from beginning to end; each piece of memory that it frees is looked at, and all of it at the end."""
    if not _watched():
        return not_applicable("the C library of this system does not watch over the heap")
    subject.keep(finding("memory that is not its own was written, or freed twice"))
    steps = subject.steps(HEAP_STEPS)
    run = subject.start()
    for _ in range(steps):
        run.step()
        run.row()
    if subject.fmu.can("canGetAndSetFMUstate"):
        state = run.instance.save()
        run.instance.restore(state)
        run.instance.forget(state)
    run.finish()
    gc.collect()
    # Memory of all sizes, so that the C library comes by all that is free.
    subject.note("allocating and freeing memory after the instance was freed")
    library = ctypes.CDLL(None)
    library.malloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    pieces = [library.malloc(ctypes.c_size_t(16 << k)) for k in range(16) for _ in range(8)]
    for piece in pieces:
        library.free(piece)
    return passed(f"{steps} steps, watched by the C library, from instantiation until it was freed")


def _watched() -> bool:
    maps = Path("/proc/self/maps")
    return maps.is_file() and WATCHER.removesuffix(".so.0") in maps.read_text(encoding="utf-8", errors="replace")
