"""``kingpost new``."""

from __future__ import annotations

import argparse
import keyword
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kingpost.base.errors import FileError, MechanismError
from kingpost.cli.command import Command

if TYPE_CHECKING:
    from kingpost.registry.pluginset import PluginSet

STARTS = Path(__file__).parent / "starts"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*\Z")
#: By kind of plugin that can be begun: what it is, and a command that uses it at once.
KINDS = {
    "integrator": (
        "An integrator: a class that says how a state is advanced by a step.",
        "kingpost run double-pendulum --plugin @MODULE@.py --integrator @NAME@",
    ),
    "force": (
        "A force: a class that says what acts on bodies, as expressions of their motion.",
        "kingpost plugins --kind force --verbose --plugin @MODULE@.py",
    ),
    "model": (
        "A model: a machine that can be run by name, built from options.",
        "kingpost run @NAME@ --plugin @MODULE@.py",
    ),
}


class New(Command):
    """Write files to start from: a model file, a plugin with its tests, or a study.

    They run as they are, and their comments say what to change. Nothing that exists is overwritten.
    """

    name = "new"
    example = "kingpost new model my-crane"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("what", choices=["model", "plugin", "study"], help="what is to be begun")
        parser.add_argument("name", metavar="NAME", help="what it is called: a letter, then letters, digits, '-' or '_'")
        parser.add_argument("--kind", choices=[*KINDS], default="integrator", help="kind of plugin (default: integrator)")
        parser.add_argument(
            "--into", type=Path, default=Path(), metavar="DIR", help="folder in which the files are put (default: this one)"
        )

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        name: str = arguments.name
        if not _NAME.match(name):
            raise MechanismError(f"name '{name}': use a letter, then letters, digits, '-' or '_'")
        texts, first = _STARTS[arguments.what](name, arguments.kind)
        made = [arguments.into / place for place in texts]
        for path in made:
            if path.exists():
                raise FileError(f"'{path}' exists already, and is left as it is; choose another name, or --into DIR")
        for path, text in zip(made, texts.values(), strict=True):
            _write(path, text)
        print(f"wrote {', '.join(map(str, made))}")
        where = "" if arguments.into == Path() else f"cd {arguments.into} && "
        print(f"try   {where}{first}")
        return 0


def _filled(start: str, words: Mapping[str, str]) -> str:
    """Return a text to start from, with its words put in."""
    text = (STARTS / start).read_text(encoding="utf-8")
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


def _model(name: str, kind: str) -> tuple[dict[str, str], str]:
    return {f"{name}.toml": _filled("model.toml", {"NAME": name})}, f"kingpost run {name}.toml"


def _study(name: str, kind: str) -> tuple[dict[str, str], str]:
    files = {"study.toml": "study.toml", "scatter.csv": "study-scatter.csv", "spots.toml": "study-spots.toml"}
    texts = {f"{name}/{file}": _filled(start, {"NAME": name}) for file, start in files.items()}
    return texts, f"kingpost study {name}/study.toml --workers 2 --out results/{name}"


def _plugin(name: str, kind: str) -> tuple[dict[str, str], str]:
    name = name.lower()
    module = name.replace("-", "_")
    if keyword.iskeyword(module):
        raise MechanismError(f"name '{name}' is a word of Python, so it cannot be a module; choose another")
    title = "".join(part.capitalize() for part in module.split("_"))
    what, command = KINDS[kind]
    words = {"WHAT": what, "TRY": command, "NAME": name, "MODULE": module, "CLASS": title, "KIND": kind}
    files = {
        f"{module}.py": f"plugin-{kind}.py.txt",
        f"test_{module}.py": f"plugin-{kind}-test.py.txt",
        "pyproject.toml": "plugin-pyproject.toml",
        "README.md": "plugin-readme.txt",
    }
    texts = {f"{name}/{file}": _filled(start, words) for file, start in files.items()}
    return texts, command.replace("@MODULE@", f"{name}/{module}").replace("@NAME@", name)


_STARTS = {"model": _model, "plugin": _plugin, "study": _study}


def _write(path: Path, text: str) -> None:
    from kingpost.base.files import write_whole

    write_whole(path, partial(_fill, text))


def _fill(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
