"""``kingpost doctor``."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import shutil
import sys
from typing import TYPE_CHECKING, Any

from kingpost.base.version import __version__
from kingpost.cli.command import Command
from kingpost.cli.output import print_json, print_table
from kingpost.kernel.cache_folder import cache_directory, usable_folder
from kingpost.kernel.compiler import LIBRARY, find_compiler

if TYPE_CHECKING:
    from kingpost.registry.pluginset import PluginSet


class Doctor(Command):
    """Say what this installation can do: compiler, extras, versions, cache, plugins."""

    name = "doctor"
    example = "kingpost doctor --json"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print JSON")
        parser.add_argument("--clear-cache", action="store_true", help="delete all compiled kernels first")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        if arguments.clear_cache:
            shutil.rmtree(cache_directory(), ignore_errors=True)
        report = examine(plugins)
        if arguments.json:
            print_json(report)
        else:
            print_table([(name, _words(value)) for name, value in report.items()])
        return 0


def examine(plugins: PluginSet) -> dict[str, Any]:
    """Return what this installation can do."""
    compiler = find_compiler()
    works, problem = _try_compiler()
    directory = cache_directory()
    entries = [library.parent for library in directory.glob(f"[!.]*/{LIBRARY}")]
    size = sum(file.stat().st_size for entry in entries for file in entry.glob("*"))
    return {
        "kingpost": __version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        "compiler": {
            "found": compiler.version if compiler else None,
            "command": " ".join(compiler.command) if compiler else None,
            "works": works,
            "problem": problem,
        },
        "cache": {
            "folder": str(directory),
            "kernels": len(entries),
            "kB": round(size / 1024),
            **({"problem": obstacle} if (obstacle := usable_folder(directory)[1]) else {}),
        },
        "requirements": _requirements(extra=None),
        **{f"extra {extra}": _requirements(extra) for extra in _extras()},
        "plugins": len(plugins.listing()),
        "broken plugins": [str(entry) for entry in plugins.broken],
    }


def _try_compiler() -> tuple[bool, str]:
    import casadi as ca

    from kingpost.kernel.kernel import Kernel

    x = ca.SX.sym("x", 4)
    kernel = Kernel([ca.Function("kp_observe", [ca.SX.sym("t"), x, ca.SX.sym("u", 0), ca.SX.sym("p", 0)], [2 * x])])
    return kernel.backend == "c", "" if kernel.backend == "c" else kernel.note.partition(": ")[2]


def _extras() -> list[str]:
    metadata = importlib.metadata.metadata("kingpost")
    return sorted(metadata.get_all("Provides-Extra") or [])


def _requirements(extra: str | None) -> dict[str, str | None]:
    """Return the installed version of each requirement of the core or of one extra; None for what is missing."""
    versions: dict[str, str | None] = {}
    for line in importlib.metadata.requires("kingpost") or []:
        text, _, marker = line.partition(";")
        belongs = f'extra == "{extra}"' in marker.replace("'", '"') if extra else "extra" not in marker
        if not belongs or "python_version <" in marker:
            continue
        name = text.strip().split("[")[0].split(">")[0].split("=")[0].split("<")[0].split("!")[0].strip()
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return versions


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(item)}" for key, item in value.items() if item != "")
    if isinstance(value, list):
        return "; ".join(map(str, value)) or "none"
    return {None: "missing", True: "yes", False: "no"}.get(value, str(value))
