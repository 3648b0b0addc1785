"""Compiling the sources of an FMU, for this machine and for others."""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kingpost.base.errors import ExportError, listed
from kingpost.base.scratch import Scratch
from kingpost.fmu.export.native.sources import NativeSources
from kingpost.kernel.bounded import compilation_limit, kill_group, run_bounded
from kingpost.kernel.compiler import USUAL_LEVEL, find_compiler, optimization

#: Portable code without fused operations: the same bits on every processor of a kind, and in process.
FLAGS = ("-std=c99", "-fno-math-errno", "-ffp-contract=off", "-fvisibility=hidden", "-Wno-int-conversion", "-w")
#: Long straight-line code that is called rarely is not worth the time that a compiler takes to polish it.
LEVELS = {"derivatives.c": "1", "adjoints.c": "1"}


@dataclass(frozen=True)
class Platform:
    """A system that an FMU can hold a binary for."""

    name: str
    #: Folder below binaries/ in FMI 2 and FMI 3.
    folders: dict[int, str]
    suffix: str
    #: What Zig calls it; glibc is kept old enough for the systems in use.
    target: str
    flags: tuple[str, ...] = ("-fPIC",)
    libraries: tuple[str, ...] = ("-lm",)


PLATFORMS = {
    item.name: item
    for item in (
        Platform("linux64", {2: "linux64", 3: "x86_64-linux"}, ".so", "x86_64-linux-gnu.2.17"),
        Platform("linux-arm64", {2: "aarch64-linux", 3: "aarch64-linux"}, ".so", "aarch64-linux-gnu.2.17"),
        Platform("win64", {2: "win64", 3: "x86_64-windows"}, ".dll", "x86_64-windows-gnu", (), ()),
        Platform("darwin64", {2: "darwin64", 3: "x86_64-darwin"}, ".dylib", "x86_64-macos"),
        Platform("darwin-arm64", {2: "aarch64-darwin", 3: "aarch64-darwin"}, ".dylib", "aarch64-macos"),
    )
}


def this_platform() -> Platform | None:
    """Return the platform that this machine is, if FMUs know it."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    names = {
        ("linux", "x86_64"): "linux64",
        ("linux", "aarch64"): "linux-arm64",
        ("win32", "x86_64"): "win64",
        ("darwin", "x86_64"): "darwin64",
        ("darwin", "aarch64"): "darwin-arm64",
    }
    return PLATFORMS.get(names.get((sys.platform, machine), ""))


def build_binary(sources: NativeSources, target: Platform, name: str = "model") -> bytes:
    """Return the shared library ``name`` for a platform: by the local compiler for this one, by Zig for others."""
    if target == this_platform():
        compiler = find_compiler()
        if compiler is not None:
            return _build(sources, list(compiler.command), target, name)
    if importlib.util.find_spec("ziglang") is None:
        raise ExportError(
            f"no compiler for platform '{target.name}': install Zig's compiler with pip install 'kingpost[cross]', or a C "
            "compiler of this machine (set CC) for its own platform. The sources travel inside an FMU: fmpy compile can "
            "build it elsewhere"
        )
    return _build(sources, [sys.executable, "-m", "ziglang", "cc", "-target", target.target], target, name)


def _build(sources: NativeSources, compiler: list[str], target: Platform, name: str) -> bytes:
    """Compile the files of an FMU side by side, then link them."""
    with Scratch("fmu") as folder:
        for file, text in sources.texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        objects = [f"{Path(file).stem}.o" for file in sources.compiled]
        compilations = [
            [*compiler, *FLAGS, optimization(LEVELS.get(file, USUAL_LEVEL)), *target.flags, "-c", file, "-o", result]
            for file, result in zip(sources.compiled, objects, strict=True)
        ]
        limit = compilation_limit(sum(map(len, sources.texts.values())))
        processes: list[subprocess.Popen[Any]] = []
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            done = [pool.submit(_run, words, folder, limit, processes.append) for words in compilations]
            try:
                for future in done:
                    future.result()
            except BaseException:
                # Whoever interrupts an export does not want to wait for compilers.
                pool.shutdown(wait=False, cancel_futures=True)
                for process in processes:
                    kill_group(process)
                raise
        library = folder / f"{name}{target.suffix}"
        _run([*compiler, "-shared", "-s", *objects, "-o", library.name, *target.libraries], folder, limit)
        return library.read_bytes()


def _run(
    words: list[str],
    folder: Path,
    limit: float,
    started: Callable[[subprocess.Popen[Any]], Any] = lambda process: None,
) -> None:
    try:
        done = run_bounded(words, limit, folder, started)
    except TimeoutError as error:
        raise ExportError(f"the compiler hangs: {error}") from None
    except OSError as error:
        raise ExportError(f"{shlex.join(words)}: {error}") from None
    if done.returncode != 0:
        raise ExportError(f"the compiler failed: {shlex.join(words)}\n{done.stderr.strip()[-2000:]}")


def platforms_named(names: str | None) -> list[Platform]:
    """Return the platforms in a list joined by ``+``; by default this machine's."""
    if names is None:
        own = this_platform()
        if own is None:
            raise ExportError(f"this machine is no platform that FMUs know; name some of {listed(PLATFORMS)} with platforms=")
        return [own]
    found = []
    for name in (word.strip() for word in names.split("+")):
        if name not in PLATFORMS:
            raise ExportError(f"'{name}' is no platform; there are: {listed(PLATFORMS)}")
        found.append(PLATFORMS[name])
    return found
