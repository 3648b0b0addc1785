"""Nothing is imported by the name of its folder; which rooms may import which is in test_rooms.py."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: How imports that may be wrong are written: only files that have such a text need a closer look.
SUSPECT = re.compile(r"\bfrom\s+\.|\b(?:from|import)\s+(?:[\w., ]*,\s*)?(?:core|plugins|fmu)\b")


def imported(path: Path) -> set[str]:
    """Return every module that a file imports, at any depth of nesting."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            if node.level and "runtime" in path.parts:
                continue  # copied into FMUs, where it has another name
            assert node.level == 0, f"{path}: imports are absolute here"
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module or ""}
    return names


def test_the_walk_sees_imports_inside_functions(tmp_path):
    path = tmp_path / "x.py"
    path.write_text("def f():\n    from kingpost.plugins import forces\n")
    assert "kingpost.plugins.forces" in imported(path)


@pytest.mark.parametrize(
    "line", ["import core", "from plugins import forces", "import os, fmu", "from . import x", "from .x import y"]
)
def test_a_file_with_such_an_import_is_looked_at(line):
    assert SUSPECT.search(f"def f():\n    {line}\n")
    assert not SUSPECT.search("from kingpost.plugins import forces\nimport kingpost.fmu\n")


@pytest.mark.parametrize("folder", ["core", "plugins", "fmu", "examples", "tests", "benchmarks"])
def test_folders_are_never_imported_by_their_own_name(folder):
    for path in (ROOT / folder).rglob("*.py"):
        if SUSPECT.search(path.read_text(encoding="utf-8")):
            assert not imported(path) & {"core", "plugins", "fmu"}, path


def test_core_holds_nothing_called_like_a_mapped_package():
    assert not {path.stem for path in (ROOT / "core").iterdir()} & {"plugins", "fmu"}
