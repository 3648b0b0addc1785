"""Every block of code in the documentation is checked: Python and commands run, files can be read, output is marked so.

A block says what it is: ``python`` and ``sh`` are run, ``toml`` and ``json`` are read, ``text`` is output or
data. What Python needs beside what a page shows stands before it in a line ``<!-- setup: import this -->``; a block that cannot
run has a line ``<!-- fragment: what it needs -->`` before it. Lines of indented blocks that begin with ``kingpost`` are
commands, too. In the quick suite, Python is compiled and commands are held against the parsers; the
long validation runs them; own_files.py has what stands in for files of the reader's own.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from kingpost.base.toml import tomllib
from kingpost.cli.main import make_parser
from tests.docs.own_files import make_stand_ins

ROOT = Path(__file__).parents[2]
#: Tutorials are played from begin to end by test_tutorials.py.
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if page.parent.name != "tutorials" or page.name == "README.md"]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
#: Languages, and what is done with them.
LANGUAGES = {"python", "sh", "toml", "json", "text", "matlab"}
FRAGMENT = re.compile(r"<!-- fragment: \S.* -->")
SETUP = re.compile(r"<!-- setup: (\S.*) -->")
#: Verbs that wait for a person, a server or another machine; each has tests of its own.
WAITING = ("live", "serve", "submit", "jobs")
#: Commands that do all that other tests do piece by piece: tests/core/gallery runs every entry.
ELSEWHERE = (("gallery", "all"),)
#: Files for which nothing stands in, and where the commands with them run.
OWN_FILES = {
    "sea.toml": "tests/docs/test_studies.py",
    "results/sea": "tests/docs/test_studies.py",
}
#: Options whose word names a file that the command writes.
WRITTEN = ("-o", "--out", "--to", "--memory", "--plot", "--picture", "--record")


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int
    fragment: bool = False
    setup: str = ""


def blocks(page):
    """Return the fenced blocks of a page."""
    lines, found, i, last = page.read_text(encoding="utf-8").split("\n"), [], 0, 0
    while i < len(lines):
        fence = re.match(r"( *)(`{3,})(\w*)", lines[i])
        if not fence:
            i += 1
            continue
        end = next(j for j in range(i + 1, len(lines)) if lines[j].strip() == fence[2])
        above = next((line for line in reversed(lines[:i]) if line.strip()), "")
        setup = "".join(f"{given[1]}\n" for line in lines[last:i] if (given := SETUP.match(line)))
        found.append(Block(fence[3], "\n".join(lines[i + 1 : end]) + "\n", i + 1, bool(FRAGMENT.match(above)), setup))
        i = last = end + 1
    return found


def commands(page):
    """Return the command lines of a page, as words: those in fenced blocks of the shell, and indented ones."""
    text, fenced = page.read_text(encoding="utf-8"), blocks(page)
    inside = {line for block in fenced for line in range(block.line, block.line + block.text.count("\n") + 1)}
    lines = [line for block in fenced if block.language == "sh" for line in block.text.replace("\\\n", " ").split("\n")]
    outside = "\n".join("" if i in inside else line for i, line in enumerate(text.split("\n"), start=0))
    lines += [line for line in outside.replace("\\\n", " ").split("\n") if line.startswith("    ")]
    found = []
    for line in lines:
        words = re.sub(r"^\s*(?:\$ )?(?:\w+=\S* )*(?:\.venv/bin/)?(?=kingpost )", "", line)
        if words.startswith("kingpost "):
            found += [
                shlex.split(part.removeprefix("kingpost ").split(" > ")[0], comments=True)
                for part in words.split(" && kingpost ")
            ]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_block_says_what_it_is_and_can_be_read(name):
    for block in blocks(ROOT / name):
        where = f"{name}, line {block.line}"
        assert block.language in LANGUAGES, f"{where}: {block.language or 'no language'}; output is text"
        if block.language == "python":
            compile(block.text, where, "exec")
        elif block.language == "toml":
            assert tomllib.loads(block.text), where
        elif block.language == "json":
            json.loads(block.text)


def test_every_command_fits_the_parsers(plugins, capsys):
    parser = make_parser(plugins)
    count = 0
    for name, page in zip(NAMES, PAGES, strict=True):
        for words in commands(page):
            try:
                parser.parse_args(words)
            except SystemExit:
                pytest.fail(f"{name}: kingpost {shlex.join(words)}: {capsys.readouterr().err}")
            count += 1
    assert count > 90


def test_files_that_a_command_writes_are_not_asked_for():
    assert named_files(["export", "pendulum", "-o", "crane.fmu"]) == ["export", "pendulum"]
    assert elsewhere(["study", "sea.toml", "--workers", "2"]) and not elsewhere(["run", "my-model.toml"])


def named_files(words):
    """Return the words of a command that may name a file to be read."""
    return [word for before, word in pairwise(["", *words]) if before not in WRITTEN and word not in WRITTEN]


def elsewhere(words):
    """Tell whether a command waits for something, or runs in another test."""
    waits = words[0] in WAITING or "dask" in " ".join(words)
    return waits or tuple(words[:2]) in ELSEWHERE or not OWN_FILES.keys().isdisjoint(named_files(words))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, page in zip(NAMES, PAGES, strict=True) if commands(page)])
def test_the_commands_of_a_page_run(name, tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for words in commands(ROOT / name):
        if elsewhere(words):
            continue
        make_stand_ins(name, (ROOT / name).read_text(), named_files(words), tmp_path)
        done = subprocess.run(
            [sys.executable, "-m", "kingpost", *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"kingpost {shlex.join(words)}: {done.stderr[-2000:]}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, page in zip(NAMES, PAGES, strict=True) if any(b.language == "python" for b in blocks(page))]
)
def test_the_python_of_a_page_runs(name, tmp_path):
    """The blocks of a page follow each other, as whoever reads it would type them."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    runs = [block for block in blocks(ROOT / name) if block.language == "python" and not block.fragment]
    make_stand_ins(name, (ROOT / name).read_text(), [block.text for block in runs], tmp_path)
    # Not on import, for a page may start processes.
    pieces = [f"exec(compile({block.setup + block.text!r}, {f'{name}, line {block.line}'!r}, 'exec'))" for block in runs]
    (tmp_path / "page.py").write_text("\n    ".join(["if __name__ == '__main__':", *pieces, "pass"]))
    done = subprocess.run(
        [sys.executable, "page.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MPLBACKEND": "agg"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
