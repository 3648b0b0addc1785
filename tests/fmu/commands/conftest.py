"""Verbs, run in this process."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kingpost import KingpostError, PluginSet


@pytest.fixture
def run_verb(
    plugins: PluginSet, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Any, str, str]]:
    """Run a verb in a throw-away folder: ``run_verb(FmuCheck(), "x.fmu")`` gives exit status, output and error output."""
    monkeypatch.chdir(tmp_path)

    def run(verb: Any, *words: Any) -> tuple[Any, str, str]:
        parser = argparse.ArgumentParser(prog=f"kingpost {verb.name}")
        verb.configure(parser)
        try:
            status = verb.run(parser.parse_args([str(word) for word in words]), plugins)
        except KingpostError as error:
            print(error, file=sys.stderr)
            status = error.exit_code
        except SystemExit as leave:
            status = leave.code
        return status, *capsys.readouterr()

    return run
