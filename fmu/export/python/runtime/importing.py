"""Packages that only one FMU sees: bundled under unique names, kept in memory, and checked for what they need."""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from kingpost.fmu.export.python.runtime.engine import ERROR, EngineError


class _Memory(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Modules whose sources are kept in memory: importers delete the folder of an FMU while others still use its code."""

    def __init__(self, name: str, sources: Mapping[str, tuple[str, str]], packages: frozenset[str]) -> None:
        self._name, self._sources, self._packages = name, sources, packages

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._sources:
            return None
        spec = importlib.util.spec_from_loader(
            fullname, self, origin=self._sources[fullname][0], is_package=self.is_package(fullname)
        )
        if spec is not None:
            spec.has_location = True
        return spec

    def is_package(self, fullname: str) -> bool:
        return fullname in self._packages

    def get_source(self, fullname: str) -> str:
        """Return the text, which tracebacks show."""
        return self._sources[fullname][1]

    def get_code(self, fullname: str) -> CodeType:
        path, text = self._sources[fullname]
        return compile(text, path, "exec", dont_inherit=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None


def install(name: str, folder: Path, renamed: Mapping[str, str] | None = None) -> None:
    """Make the package in ``folder`` importable as ``name``; it stays so when the folder is gone."""
    if any(isinstance(finder, _Memory) and finder.find_spec(name) for finder in sys.meta_path):
        return
    sources, packages = {}, set()
    for path in folder.rglob("*.py"):
        parts = [name, *path.relative_to(folder).with_suffix("").parts]
        if parts[-1] == "__init__":
            parts.pop()
            packages.add(".".join(parts))
        text = path.read_text(encoding="utf-8")
        sources[".".join(parts)] = str(path), rename_imports(text, renamed) if renamed else text
    if name not in sources:
        raise EngineError(ERROR, f"the FMU is incomplete: there is no package in '{folder}'. Unpack it again", deadly=True)
    sys.meta_path.insert(0, _Memory(name, sources, frozenset(packages)))


def adopt(module: str, private: str, renamed: Mapping[str, str]) -> None:
    """Make a private copy of an installed package, so that it works with this FMU's own Kingpost and no other."""
    spec = importlib.util.find_spec(module)
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    if folders:
        install(private, Path(folders[0]), renamed)
        return
    if spec is None or spec.origin is None:
        raise EngineError(ERROR, f"the plugin module '{module}' is not installed", deadly=True)
    text = rename_imports(Path(spec.origin).read_text(encoding="utf-8"), renamed)
    sys.meta_path.insert(0, _Memory(private, {private: (spec.origin, text)}, frozenset()))


def rename_imports(source: str, names: Mapping[str, str]) -> str:
    """Return Python source that imports the top-level packages in ``names`` under other names; lines stay where they are."""
    lines = source.encode().splitlines(keepends=True)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        if isinstance(node, ast.ImportFrom):
            top = (node.module or "").split(".")[0]
            if node.level or top not in names:
                continue
            row, old = node.lineno - 1, lines[node.lineno - 1]
            head, tail = old[: node.col_offset], old[node.col_offset :]
            lines[row] = head + re.sub(rb"^from(\s+)\w+", b"from\\1" + names[top].encode(), tail, count=1)
            continue
        if not any(alias.name.split(".")[0] in names for alias in node.names):
            continue
        last = node.end_lineno or node.lineno
        before = lines[node.lineno - 1][: node.col_offset]
        after = lines[last - 1][node.end_col_offset :]
        blank = b"\\\n" * (last - node.lineno)  # a statement over several lines stays as long
        lines[node.lineno - 1 : last] = [before + b"import " + blank + _renamed(node.names, names).encode() + after]
    return b"".join(lines).decode()


def _renamed(aliases: Sequence[ast.alias], names: Mapping[str, str]) -> str:
    words = []
    for alias in aliases:
        top, _, rest = alias.name.partition(".")
        if top not in names:
            words.append(f"{alias.name} as {alias.asname}" if alias.asname else alias.name)
            continue
        new = f"{names[top]}.{rest}" if rest else names[top]
        if alias.asname:
            words.append(f"{new} as {alias.asname}")
        else:
            # "import a.b" makes the name a known.
            words += [new, f"{names[top]} as {top}"] if rest else [f"{new} as {top}"]
    return ", ".join(words)


def check_requirements(requires: Sequence[Mapping[str, str]], python: str, model: str) -> None:
    """Refuse a machine that lacks packages, with the command that installs them."""
    running = sys.version.split()[0]
    oldest = tuple(int(part) for part in python.split("."))
    where = f"Python {running} ({sys.executable or 'embedded in this program'})"
    if sys.version_info[: len(oldest)] < oldest:
        raise EngineError(ERROR, f"'{model}' runs in Python and needs Python {python} or newer; this is {where}", deadly=True)
    missing = []
    for needed in requires:
        if needed.get("python_below") and sys.version_info[:2] >= tuple(map(int, needed["python_below"].split("."))):
            continue
        try:
            importlib.import_module(needed["module"])
        except ImportError as error:
            missing.append((needed, error))
    if missing:
        packages = ", ".join(f"'{needed['distribution']}' ({error})" for needed, error in missing)
        wanted = " ".join(f"'{needed['distribution']}=={needed['version']}'" for needed, _ in missing)
        raise EngineError(
            ERROR,
            f"'{model}' runs in Python and needs {packages}, which {where} cannot import. Install what it was exported with: "
            f"{sys.executable or 'python3'} -m pip install {wanted}",
            deadly=True,
        )


def check_distributions(distributions: Sequence[Mapping[str, str]], model: str) -> None:
    """Refuse a machine without the plugins that the model uses, in the versions it was exported with."""
    for needed in distributions:
        try:
            found = importlib.metadata.version(needed["distribution"])
        except importlib.metadata.PackageNotFoundError:
            found = ""
        if found != needed["version"]:
            what = f"version {found} is installed" if found else "it is not installed"
            raise EngineError(
                ERROR,
                f"'{model}' uses the plugin '{needed['distribution']}' {needed['version']} ({needed['provides']}), and {what} "
                f"in Python {sys.version.split()[0]}. Install it with: {sys.executable or 'python3'} -m pip install "
                f"'{needed['distribution']}=={needed['version']}'",
                deadly=True,
            )
