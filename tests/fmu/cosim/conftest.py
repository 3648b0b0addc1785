"""FMUs of the small blocks, and an oscillator in C that can be given defects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kingpost import PluginSet
from kingpost.fmu.blocks.block import export_block
from kingpost.fmu.cosim import Component, System
from kingpost.kernel.compiler import find_compiler
from tests.fmu.building import COMPILER, oscillator
from tests.fmu.conftest import once
from tests.fmu.cosim.coupled import CONNECTIONS, left, right


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


@pytest.fixture
def broken(tmp_path: Path) -> Callable[..., Path]:
    """The C oscillator with defects: ``broken("CRASH_LATER")``."""
    if COMPILER is None:
        pytest.skip("needs a C compiler")
    return lambda *defects, **options: oscillator(tmp_path, *defects, **options)
