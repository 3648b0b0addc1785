"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kingpost import PluginSet

pytest_plugins = ["kingpost.testing.fixtures"]

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def plugins() -> PluginSet:
    """The built-in plugins alone, whatever else is installed."""
    return PluginSet(entry_points=False)


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep compiled kernels of the tests out of the user's cache; one cache for all worker processes."""
    shared = tmp_path_factory.getbasetemp().parent / "kernels"
    os.environ["KINGPOST_CACHE_DIR"] = str(shared)
