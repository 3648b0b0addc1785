"""Exported FMUs and the C master, built once for all worker processes of a test run."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fmpy
import pytest

from kingpost import Mechanism, PluginSet
from kingpost.fmu.blocks.block import export_block
from kingpost.fmu.cosim import Component, System
from kingpost.fmu.export.native.exporter import NativeFmu, NativeOptions
from kingpost.kernel.compiler import find_compiler
from kingpost.simulation.export_model import prepare_export
from kingpost.simulation.exporter import ExportSelection
from tests.fmu.building import COMPILER, oscillator, relay
from tests.fmu.cosim.coupled import CONNECTIONS, left, right

C_MASTER = Path(__file__).parent / "c_master"
#: The headers of both standards.
HEADERS = Path(fmpy.__file__).parent / "c-code"


def once(path: Path, build: Callable[[Path], None]) -> Path:
    """Return ``path``, built by whichever process comes first; the others wait for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(f"{path.name}.lock")
    while not path.exists():
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            time.sleep(0.05)
            continue
        try:
            if not path.exists():
                build(path)
        finally:
            lock.unlink()
    return path


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that is new in every test run and common to its processes."""
    own = tmp_path_factory.getbasetemp()
    return (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "fmus"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the tests of a file share, so that each small FMU is built once."""
    return tmp_path_factory.mktemp("built")


@pytest.fixture(scope="session")
def machine(plugins: PluginSet) -> Callable[[str], Mechanism]:
    """Return a built-in model by name."""
    return lambda name: plugins.models.get(name)().build()


@pytest.fixture(scope="session")
def native(shared_folder: Path, plugins: PluginSet) -> Callable[..., Path]:
    """Export a machine as a native FMU: ``native(machine, fmi=3, fmu="me", step=0.01, loads="all", outputs=["tip.*"])``."""
    if find_compiler() is None:
        pytest.skip("native FMUs need a C compiler")

    def export(
        mechanism: Mechanism,
        *,
        fmi: Any = 2,
        fmu: Any = "cs",
        outputs: list[str] | None = None,
        inputs: list[str] | None = None,
        parameters: list[str] | None = None,
        arrays: bool = False,
        names: Any = "flat",
        **options: Any,
    ) -> Path:
        selection = ExportSelection(outputs, inputs, parameters)
        told = f"{mechanism.digest()} {fmi} {fmu} {selection} {arrays} {names} {sorted(options.items())}"
        path = shared_folder / f"{mechanism.name}-{fmi}-{fmu}-{hashlib.sha256(told.encode()).hexdigest()[:12]}.fmu"

        def build(target: Path) -> None:
            model = prepare_export(mechanism, plugins=options.pop("plugins", plugins), **options)
            NativeFmu(NativeOptions(fmi=fmi, fmu=fmu, arrays=arrays, names=names)).export(model, selection, target)

        return once(path, build)

    return export


@pytest.fixture(scope="session")
def c_master(shared_folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the master in c_master/ (see its main.c): a process without Python in it."""
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if compiler is None or os.name != "posix":
        pytest.skip("the C master needs a C compiler and POSIX threads")

    def build(target: Path) -> None:
        sources = sorted(str(source) for source in C_MASTER.glob("*.c"))
        beside = target.with_suffix(".new")
        words = [compiler, "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{HEADERS}", *sources, "-o", str(beside)]
        subprocess.run([*words, "-ldl", "-lpthread"], check=True)
        beside.rename(target)

    program = once(shared_folder / "c-master", build)

    def run(*words: Any, check: bool = True) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "PYTHON"))}
        return subprocess.run([program, *map(str, words)], capture_output=True, text=True, env=clean, timeout=300, check=check)

    return run


@pytest.fixture(scope="session")
def masses(shared_folder: Path, plugins: PluginSet) -> Callable[[int], dict[str, Path]]:
    """The two masses as native FMUs: ``masses(2)["a"]``."""
    if find_compiler() is None:
        pytest.skip("native FMUs need a C compiler")

    def export(fmi: int) -> dict[str, Path]:
        found = {}
        for name, block in (("a", left()), ("b", right())):

            def build(target: Path, block: Any = block) -> None:
                export_block(block, target, to=f"native-fmu:fmi={fmi}", plugins=plugins)

            found[name] = once(shared_folder / f"cosim-{block.name}-{fmi}.fmu", build)
        return found

    return export


@pytest.fixture(scope="session")
def as_fmus(masses: Callable[[int], dict[str, Path]]) -> Callable[..., System]:
    """The system of the two masses, of FMUs: ``as_fmus(fmi=3, isolate=True, step=0.02)``."""

    def make(fmi: int = 2, isolate: bool | None = None, **options: Any) -> System:
        components = tuple(Component(name, fmu=path, isolate=isolate) for name, path in masses(fmi).items())
        return System("two masses", components, CONNECTIONS, **{"t_end": 2.0, **options})

    return make


@pytest.fixture(scope="session")
def relays(shared_folder: Path) -> Callable[..., Path]:
    """The C relay, which passes on what it gets: ``relays("named", {'unit="rad"': 'unit="deg"'})``."""
    if COMPILER is None:
        pytest.skip("needs a C compiler")

    def make(name: str = "relay", change: dict[str, str] | None = None) -> Path:
        return once(shared_folder / f"{name}.fmu", lambda path: path.hardlink_to(relay(_own(path), name, change)))

    def _own(path: Path) -> Path:
        folder = path.parent / f"building-{path.stem}"
        folder.mkdir(exist_ok=True)
        return folder

    return make


@pytest.fixture
def broken(tmp_path: Path) -> Callable[..., Path]:
    """The C oscillator with defects: ``broken("CRASH_LATER")``."""
    if COMPILER is None:
        pytest.skip("needs a C compiler")
    return lambda *defects, **options: oscillator(tmp_path, *defects, **options)
