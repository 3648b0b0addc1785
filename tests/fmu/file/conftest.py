"""FMU files of which nothing needs to be compiled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kingpost.fmu.export.archive import write_archive
from tests.fmu.building import CO_SIMULATION, MODEL_EXCHANGE, SOURCES


@pytest.fixture
def described(tmp_path: Path) -> Callable[..., Path]:
    """The description of the oscillator without its binary: ``described(**{"../escape": b""})`` adds files."""

    def make(interfaces: tuple[str, ...] = (CO_SIMULATION, MODEL_EXCHANGE), **files: bytes) -> Path:
        text = (SOURCES / "oscillator2.xml").read_text(encoding="utf-8").replace("<!-- interfaces -->", "".join(interfaces))
        write_archive(tmp_path / "x.fmu", {"modelDescription.xml": text.encode(), **files})
        return tmp_path / "x.fmu"

    return make
