"""``--sandbox`` of the verbs that run FMUs: the same command once more, where it can do no harm."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from kingpost.base.errors import KingpostError
from kingpost.base.files import safe_name
from kingpost.base.text_files import is_file
from kingpost.fmu.commands.options import SANDBOX

#: Files in which other files are named.
NAMING = (".toml", ".ssd", ".xml")


def run_in_sandbox(arguments: argparse.Namespace, readable: Sequence[Path], folder: Path | None = None) -> NoReturn:
    """Become the same command in a sandbox, which can read some files and write its results into a folder."""
    from kingpost.fmu.file.archive_limits import check_stranger
    from kingpost.fmu.process.sandbox import sandboxed

    plugins = [Path(name) for name in getattr(arguments, "plugin", [])]
    files = [path for path in (*readable, *plugins) if path.exists()]  # of others the command says that they are not there
    for path in files:
        if path.suffix.lower() in (".fmu", ".ssp") and is_file(path):
            check_stranger(path)
    words = [word for word in arguments.words if not (word.startswith("--sa") and SANDBOX.startswith(word))]
    if folder is not None:
        _check_folder(folder, files)
        folder.mkdir(parents=True, exist_ok=True)
        words += ["--out", str(folder)]  # the last one counts
    command = [sys.executable, "-m", "kingpost", *words]
    line = sandboxed(command, readable=files, writable=[] if folder is None else [folder])
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(line[0], line)


def results_folder(arguments: argparse.Namespace, subject: Path) -> Path:
    """Return where results go."""
    return arguments.out or Path("results") / safe_name(subject.stem)


def files_of_system(path: Path) -> list[Path]:
    """Return what a coupled system is made of: its file, its folder if it names others, and whatever it names elsewhere."""
    if path.suffix.lower() not in NAMING or not is_file(path):
        return [path]
    return [path.parent, *(found for word in _words(path) if is_file(found := path.parent / word))]


def _words(path: Path) -> Iterator[str]:
    if path.suffix.lower() != ".toml":
        return
    from kingpost.base.toml import read_toml

    queue: list[Any] = [read_toml(path)[1]]
    while queue:
        entry = queue.pop()
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            queue += entry.values()
        elif isinstance(entry, list):
            queue += entry


def _check_folder(folder: Path, files: Sequence[Path]) -> None:
    """Refuse a folder for results in which there is something else to lose."""
    place = folder.resolve()
    for path in (Path.cwd(), Path.home(), *files):
        if path.resolve().is_relative_to(place):
            raise KingpostError(
                f"{SANDBOX}: an FMU in the sandbox can write in the folder of the results, and '{folder}' also holds '{path}'; "
                "choose one for the results alone (--out)"
            )
