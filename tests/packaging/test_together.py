"""Tests that share something expensive are still called what the scheduler of the tests looks for."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import TOGETHER

ROOT = Path(__file__).parents[2]


@cache
def names() -> list[str]:
    """Return the names of all tests, without what they are parametrized with."""
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                found.append(f"{path.relative_to(ROOT).as_posix()}::{node.name}")
    return found


@pytest.mark.parametrize("pattern", TOGETHER)
def test_every_pattern_has_its_tests(pattern):
    before, _, _ = pattern.partition(r"\[")
    assert sum(re.match(before, name) is not None for name in names()) >= 1
