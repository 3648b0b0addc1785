"""Fixtures for the tests of plugin authors; switch them on with ``pytest_plugins = ["kingpost.testing.fixtures"]``."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from kingpost.cli.main import main
from kingpost.registry.pluginset import PluginSet


class Outcome(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str


@pytest.fixture
def kingpost_plugins() -> PluginSet:
    """All plugins of this environment: built-ins and installed ones."""
    return PluginSet()


@pytest.fixture
def kingpost_cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Run the ``kingpost`` command in a throw-away folder: ``kingpost_cli("run", "double-pendulum").out``."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Outcome:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = main([str(word) for word in words])
            except SystemExit as leave:  # argparse leaves this way
                status = int(leave.code or 0)
        return Outcome(status, out.getvalue(), err.getvalue())

    return run
