"""Pages of all public names, from their docstrings, which Sphinx reads."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import kingpost
import kingpost.fmu
from docsite.text import from_docstring, table

FOLDER = "reference/api"
#: The names of the package itself by the room that they come from: title, and the rooms.
TOPICS = {
    "machines": ("Machines", ("mechanism", "vessels", "modular", "base.fields", "base.formulas")),
    "files": ("Files of models and results", ("modelfiles", "results")),
    "runs": ("Runs", ("simulation", "equations", "studies", "base.version")),
    "statics": ("Equilibria and small motions", ("statics",)),
    "loads": ("Loads and forces", ("loads", "multibody")),
    "control": ("Paths, controllers and optimal control", ("control",)),
    "gradients": ("Gradients", ("gradients",)),
    "marine": ("Seas and hulls", ("marine",)),
    "plugins": ("Plugins and commands", ("registry", "cli")),
    "errors": ("Errors", ("base.errors",)),
}


def modules() -> list[str]:
    """Return the packages below kingpost that have public names of their own."""
    found = []
    # In a checkout that is installed as editable, the three folders are apart.
    for package in (kingpost, kingpost.fmu):
        for info in [None, *pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]:
            name = package.__name__ if info is None else info.name
            if (info is None or info.ispkg) and name != "kingpost" and not name.startswith("kingpost.plugins"):
                found += [name] if getattr(importlib.import_module(name), "__all__", None) else []
    return list(dict.fromkeys(found))


def pages() -> dict[str, str]:
    """Return a page for every topic of the package and for every sub-package with public names."""
    made, rows = {}, []
    known: dict[int, str] = {}
    for slug, (title, names) in _topics().items():
        blocks = [_directive("kingpost", name, known) for name in names]
        made[f"{FOLDER}/{slug}.md"] = f"# {title}\n\n" + "\n".join(blocks)
        rows.append((f"[{title}]({slug}.md)", ", ".join(f"{{py:obj}}`~kingpost.{name}`" for name in names)))
    for name in modules():
        module = importlib.import_module(name)
        slug = name.replace(".", "-")
        summary = (inspect.getdoc(module) or "").split("\n\n")[0]
        head = f"# {name}\n\n{from_docstring(summary)}\n\n"
        blocks = [_directive(name, each, known) for each in sorted(module.__all__, key=str.lower)]
        made[f"{FOLDER}/{slug}.md"] = head + "\n".join(blocks)
        rows.append((f"[{name}]({slug}.md)", from_docstring(summary)))
    made[f"{FOLDER}/index.md"] = (
        "# Python\n\nAll public names, by what they are for. Those of the package itself are imported as "
        "`from kingpost import simulate`.\n\n" + table(("page", "names"), rows)
    )
    return made


def _topics() -> dict[str, tuple[str, list[str]]]:
    """Return title and names of every topic; a name without a topic is a fault."""
    topics: dict[str, tuple[str, list[str]]] = {slug: (title, []) for slug, (title, _) in TOPICS.items()}
    for place, names in {**kingpost.PLACES, "base.version": ("__version__",)}.items():
        (slug,) = (slug for slug, (_, rooms) in TOPICS.items() if any(f"{place}.".startswith(f"{room}.") for room in rooms))
        topics[slug][1].extend(names)
    return {
        slug: (title, sorted(names, key=lambda name: (name.islower(), name.lower()))) for slug, (title, names) in topics.items()
    }


def _directive(module: str, name: str, known: dict[int, str]) -> str:
    """Return what makes Sphinx document a name; one that it documents elsewhere is a link."""
    value = getattr(importlib.import_module(module), name)
    full = f"{module}.{name}"
    if id(value) in known and (isinstance(value, type) or callable(value)):
        return f"`{full}` is {{py:obj}}`{known[id(value)]}`.\n"
    known[id(value)] = full
    if isinstance(value, type):
        return _block(f"autoclass:: {full}", *([":members:"] if not issubclass(value, Exception) else []))
    if inspect.isroutine(value) or hasattr(value, "__wrapped__"):
        return _block(f"autofunction:: {full}")
    return _block(f"py:data:: {full}", "", _described(value))


def _block(directive: str, *lines: str) -> str:
    inside = "\n".join(f"   {line}" if line else "" for line in lines)
    return f"```{{eval-rst}}\n.. {directive}\n{inside}\n```\n"


def _described(value: Any) -> str:
    shown = " ".join(repr(value).split())
    kind = type(value).__name__
    return f"A ``{kind}``: ``{shown}``." if len(shown) < 120 and "`" not in shown else f"A ``{kind}``."


def documented_names() -> Iterator[str]:
    """Yield every public name that has an entry."""
    for _, names in _topics().values():
        yield from (f"kingpost.{name}" for name in names)
    for module in modules():
        yield from (f"{module}.{name}" for name in importlib.import_module(module).__all__)
