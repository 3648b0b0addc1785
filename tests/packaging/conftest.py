"""A wheel built from the checkout, and a fresh environment with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, so that building leaves the real one clean."""
    copy = tmp_path_factory.mktemp("checkout") / "kingpost"
    usual = shutil.ignore_patterns(".git", ".venv", "build", "dist", "*.egg-info", "__pycache__", ".*_cache")

    def ignored(folder: str, names: list[str]) -> set[str]:
        # Results of runs lie at the top; core/results is a room.
        return usual(folder, names) | ({"results"} if Path(folder) == ROOT else set())

    return Path(shutil.copytree(ROOT, copy, ignore=ignored))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> Path:
    """A wheel."""
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(checkout)],
        check=True,
        capture_output=True,
    )
    return next(out.glob("*.whl"))


class Environment:
    """A virtual environment of its own, with nothing of the running one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder, with_pip=True)
        self.bin = folder / "bin"

    def run(self, *words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment."""
        environ = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        environ["KINGPOST_CACHE_DIR"] = str(self.folder / "cache")
        return subprocess.run(
            [self.bin / words[0], *map(str, words[1:])], cwd=cwd, env=environ, capture_output=True, text=True, check=False
        )

    def install(self, *packages: str | Path) -> None:
        """Install packages with pip; Python compiles of them what is used, when it is used."""
        done = self.run("python", "-m", "pip", "install", "--quiet", "--no-compile", *packages, cwd=self.folder)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def make_environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Environment]:
    """Make a fresh environment."""
    return lambda: Environment(tmp_path_factory.mktemp("environment"))


@pytest.fixture(scope="session")
def fresh(make_environment: Callable[[], Environment], wheel: Path) -> Environment:
    """A fresh environment with the wheel, and the example plugin package beside it."""
    environment = make_environment()
    environment.install(wheel, ROOT / "examples" / "C2_plugin_package", "pytest")
    return environment
