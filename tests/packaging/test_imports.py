"""Nothing is imported by the name of its folder; which rooms may import which is in test_rooms.py."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


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


@pytest.mark.parametrize("folder", ["core", "plugins", "fmu", "examples", "tests", "benchmarks"])
def test_folders_are_never_imported_by_their_own_name(folder):
    for path in (ROOT / folder).rglob("*.py"):
        assert not imported(path) & {"core", "plugins", "fmu"}, path


def test_core_holds_nothing_called_like_a_mapped_package():
    assert not {path.stem for path in (ROOT / "core").iterdir()} & {"plugins", "fmu"}
