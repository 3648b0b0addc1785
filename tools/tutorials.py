"""Play the tutorials: do what their blocks say, one after the other, and look whether what they show comes out.

    python tools/tutorials.py PAGE.md           # does the page, in a folder of its own, and says what differs
    python tools/tutorials.py --fill PAGE.md    # puts what comes out into output blocks that are empty
    python tools/tutorials.py --notebooks       # writes the notebooks of examples/notebooks anew

A block says what it is in its first line: a name, as in ```toml title="sea.toml", makes it a file; ```sh is commands, of which
those that end in & go on beside the others; ```python is code, in one session for the whole page; ```text is what the block
before it prints, of which "..." leaves lines out. Other languages belong to other programs and are not done here.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
NOTEBOOKS = ROOT / "examples" / "notebooks"
#: Tutorials that are notebooks, too.
AS_NOTEBOOKS = ("life-from-a-scatter-table", "own-integrator", "load-along-a-path", "optimal-manoeuvre")
FENCE = re.compile(r'^```(?P<language>\w+)?(?: title="(?P<title>[^"]+)")?[^\n]*\n(?P<text>.*?)^```$', flags=re.M | re.S)
NUMBER = re.compile(r"(?<![\w.-])-?\d+\.?\d*(?:e[+-]?\d+)?(?![\w])")
#: Dates, times that something took, sizes of files, hashes and versions, which are others on every machine.
OWN_OF_A_MACHINE = re.compile(
    r"\b(?:Kingpost|fmpy|rainflow) \d+\.[\d.]+\d|"
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\b[\d.e+-]+ (?:s|ms|us|min|h)\b|[\d.]+ [kM]?B\b|\b[0-9a-f]{8,}\b"
)


@dataclass(frozen=True)
class Step:
    """One block of a page: a file, commands, code, what they print, or text that is for other programs."""

    kind: str
    text: str
    name: str = ""
    line: int = 0


def kind_of(language: str, title: str) -> str:
    """Return what a block is."""
    if title:
        return "file"
    return {"sh": "commands", "python": "code", "text": "output"}.get(language, "other")


def steps(page: str) -> list[Step]:
    """Return the blocks of a page."""
    found = []
    for match in FENCE.finditer(page):
        language, title = match["language"] or "", match["title"] or ""
        found.append(Step(kind_of(language, title), match["text"], title, page.count("\n", 0, match.start()) + 1))
    return found


def commands(text: str) -> list[tuple[str, int]]:
    """Return the commands of a block without their comments, each with the status that it shall end with.

    A line that ends in a backslash goes on; a comment "status 3" tells of a command that is meant to be refused.
    """
    found = []
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        bare, _, comment = re.sub(r"(^|\s+)#\s*", "\0", line, count=1).partition("\0")
        if bare.strip():
            status = re.search(r"\bstatus (\d+)", comment)
            found.append((bare.strip(), int(status[1]) if status else 0))
    return found


def comparable(line: str) -> tuple[str, list[float]]:
    """Return a line with its numbers taken out, and these."""
    line = OWN_OF_A_MACHINE.sub("~", line.strip())
    return re.sub(r"\s+", " ", NUMBER.sub("#", line)), [float(item) for item in NUMBER.findall(line)]


def alike(shown: str, printed: str, rel: float = 2e-3) -> bool:
    """Whether two lines have the same words, and numbers that agree in the digits that people read."""
    (words, numbers), (other_words, others) = comparable(shown), comparable(printed)
    return words == other_words and all(
        abs(a - b) <= rel * max(abs(a), abs(b)) + 1e-6 for a, b in zip(numbers, others, strict=True)
    )


def missing(shown: str, printed: str) -> str:
    """Return the first line that is shown and was not printed after those before it, or nothing."""
    rest = iter(printed.splitlines())
    for line in shown.splitlines():
        if line.strip() in ("", "..."):
            continue
        if not any(alike(line, candidate) for candidate in rest):
            return line
    return ""


class Player:
    """Does the blocks of one page in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.printed = folder, ""
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.beside: list[subprocess.Popen[str]] = []
        # The console script that belongs to this Python comes first, as in an environment that was activated.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        self.environment = {**os.environ, "PATH": path, "COLUMNS": "120", "MPLBACKEND": "Agg"}

    def do(self, step: Step) -> str:
        """Do one block; return what is wrong, or nothing."""
        return {"file": self._file, "commands": self._commands, "code": self._code, "output": self._output}.get(
            step.kind, lambda _: ""
        )(step)

    def _file(self, step: Step) -> str:
        path = self.folder / step.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(step.text, encoding="utf-8")
        return ""

    def _commands(self, step: Step) -> str:
        self.printed = ""
        for command, status in commands(step.text):
            if command.endswith("&"):
                if wrong := self._start(command.removesuffix("&")):
                    return wrong
                continue
            words = shlex.split(command)
            if words[0] not in ("kingpost", "python", "cat", "ls"):
                return f"'{command}' is none of kingpost, python, cat, ls: mark it as another program's"
            done = subprocess.run(command, shell=True, cwd=self.folder, env=self.environment, capture_output=True, text=True)
            self.printed += done.stdout + done.stderr
            if done.returncode != status:
                return f"'{command}' ends with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        return ""

    def _start(self, command: str) -> str:
        """Start a command that goes on beside the others, and wait for its first words."""
        program = subprocess.Popen(
            f"exec {command}",
            shell=True,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.beside.append(program)
        assert program.stdout is not None
        self.printed += (said := program.stdout.readline())
        return "" if said else f"'{command}' ended with {program.wait()} without a word"

    def end(self) -> None:
        """End what was started beside the page."""
        for program in self.beside:
            program.terminate()
            program.communicate(timeout=60)

    def _code(self, step: Step) -> str:
        printed = io.StringIO()
        before = Path.cwd()
        os.chdir(self.folder)
        sys.path.insert(0, str(self.folder))
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(step.text, f"block at line {step.line}", "exec"), self.names)
        except Exception:
            return traceback.format_exc()
        finally:
            os.chdir(before)
            sys.path.remove(str(self.folder))
            self.printed = printed.getvalue()
        return ""

    def _output(self, step: Step) -> str:
        line = missing(step.text, self.printed)
        return f"{line!r} is shown, and not printed in:\n{self.printed}" if line else ""


def play(path: Path, folder: Path) -> list[str]:
    """Do a page; return what is wrong with it, with lines. The first block that fails ends it."""
    player = Player(folder)
    try:
        for step in steps(path.read_text(encoding="utf-8")):
            if wrong := player.do(step):
                return [f"{path.name}:{step.line}: {wrong}"]
        return []
    finally:
        player.end()


def filled(path: Path, folder: Path) -> str:
    """Return a page in which output blocks that were empty hold what came out."""
    page, player = path.read_text(encoding="utf-8"), Player(folder)
    made, at = [], 0
    for match, step in zip(FENCE.finditer(page), steps(page), strict=True):
        if step.kind == "output" and not step.text.strip():
            made += [page[at : match.start("text")], player.printed.rstrip() + "\n"]
            at = match.end("text")
        elif wrong := player.do(step):
            print(f"line {step.line}: {wrong}", file=sys.stderr)
    player.end()
    return "".join([*made, page[at:]])


def cells(page: str) -> list[dict[str, Any]]:
    """Return the cells of a notebook of a page: its text, and its blocks in the ways of notebooks."""
    made: list[dict[str, Any]] = []

    def cell(kind: str, text: str) -> None:
        if text.strip():
            own = {"execution_count": None, "outputs": []} if kind == "code" else {}
            lines = text.strip("\n").splitlines(keepends=True)
            made.append({"cell_type": kind, "id": f"cell-{len(made)}", "metadata": {}, **own, "source": lines})

    at = 0
    for match, step in zip(FENCE.finditer(page), steps(page), strict=True):
        cell("markdown", page[at : match.start()])
        at = match.end()
        if step.kind == "file":
            cell("code", f"%%writefile {step.name}\n{step.text}")
        elif step.kind == "commands":
            cell("code", "\n".join(f"!{command}" for command, _ in commands(step.text)))
        elif step.kind == "code":
            cell("code", step.text)
        elif step.kind == "other":
            cell("markdown", match[0])
    cell("markdown", page[at:])
    return made


def notebook(path: Path) -> str:
    """Return a page as a notebook, without what its cells print."""
    # Pages are linked from where notebooks lie.
    page = re.sub(r"\]\((?!https?:|#)([^)]+)\)", r"](../../docs/tutorials/\1)", path.read_text(encoding="utf-8"))
    kernel = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return (
        json.dumps({"cells": cells(page), "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False)
        + "\n"
    )


def main() -> int:
    """Do what is asked for on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pages", nargs="*", type=Path, help="pages (default: all tutorials)")
    parser.add_argument("--fill", action="store_true", help="put what comes out into output blocks that are empty")
    parser.add_argument("--notebooks", action="store_true", help="write the notebooks anew")
    chosen = parser.parse_args()
    if chosen.notebooks:
        NOTEBOOKS.mkdir(exist_ok=True)
        for name in AS_NOTEBOOKS:
            (NOTEBOOKS / f"{name}.ipynb").write_text(notebook(TUTORIALS / f"{name}.md"), encoding="utf-8")
        return 0
    wrong = []
    for page in chosen.pages or sorted(TUTORIALS.glob("*.md")):
        with tempfile.TemporaryDirectory() as folder:
            if chosen.fill:
                page.write_text(filled(page, Path(folder)), encoding="utf-8")
            else:
                wrong += play(page, Path(folder))
    print("\n".join(wrong) or "as shown")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
