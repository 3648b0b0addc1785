"""Messages speak to whoever called: flags of the command line are known to the command line alone."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLAG = re.compile(r"(?<![\w-])--[a-z{]")
#: Where flags are at home, or commands are shown, and files that hand flags to other programs.
COMMANDS = ("core/cli", "core/gallery", "fmu/commands", "fmu/service")
OTHER_PROGRAMS = (
    "core/kernel/compiler.py",
    "core/studies/cluster_script.py",
    "fmu/checks/child.py",
    "fmu/export/python/module.py",
    "fmu/process/sandbox.py",
    "fmu/process/warden.py",
)


def texts(tree: ast.AST) -> set[str]:
    """Return the texts in a program that are no documentation."""
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body and isinstance(node.body[0], ast.Expr)
    }
    return {
        ast.unparse(node) if isinstance(node, ast.JoinedStr) else node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation)
    }


@pytest.mark.parametrize("folder", ["core", "plugins", "fmu"])
def test_no_message_names_a_flag(folder):
    for path in sorted((ROOT / folder).rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        program = path.read_text(encoding="utf-8")
        if "--" in program and not place.startswith((*COMMANDS, *OTHER_PROGRAMS)):
            named = [text for text in texts(ast.parse(program)) if FLAG.search(text)]
            assert not named, f"{place}: {named}"


def test_the_walk_sees_flags_in_messages_and_not_in_documentation():
    tree = ast.parse('"""--at."""\ndef f(x):\n    """--at."""\n    return f"--{x}: no", "see --to", "a -- b, x--y"\n')
    assert len([text for text in texts(tree) if FLAG.search(text)]) == 2
