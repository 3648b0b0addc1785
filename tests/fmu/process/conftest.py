"""Commands in a sandbox."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kingpost.fmu.process.sandbox import Limits, sandbox_available, sandboxed


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str
    folder: Path


@pytest.fixture
def sandbox() -> None:
    """What a test needs that runs something in a sandbox."""
    reason = sandbox_available()
    if reason is not None:
        pytest.skip(f"needs a sandbox ({reason})")


@pytest.fixture
def confined_run(sandbox: None, tmp_path: Path) -> Callable[..., Outcome]:
    """Run an FMU in a sandbox: ``confined_run(fmu, "--timeout", "5", memory=1e9)``."""

    def run(fmu: Path, *words: str, **limits: Any) -> Outcome:
        folder = tmp_path / "results"
        folder.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "kingpost", "fmu-run", str(fmu), "--out", str(folder), "--write", "csv", *words]
        line = sandboxed(command, readable=[fmu], writable=[folder], limits=Limits(**limits))
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
        return Outcome(done.returncode, done.stdout, done.stderr, folder)

    return run
