"""Pages of the kinds of plugins, with every plugin that Kingpost brings and its options, from the registry."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from docsite.text import cell, from_docstring, paragraphs, table
from kingpost import PluginSet
from kingpost.registry.kinds import PluginKind

FOLDER = "reference/plugins"
#: What a kind is called where its name does not say it.
TITLES = {"nlp_solvers": "Solvers of nonlinear programs", "optimal_control": "Transcriptions of optimal control"}


def pages() -> dict[str, str]:
    """Return a page for every kind, and one that lists them."""
    plugins = PluginSet(entry_points=False)
    rows = [
        (f"[{title(kind)}]({name}.md)", str(len(plugins.of(name))), cell(kind.hook + "()"), from_docstring(kind.summary))
        for name, kind in plugins.kinds.items()
    ]
    first = (
        "# Plugins\n\nWhat Kingpost brings of each kind, with all options and their defaults; `kingpost plugins -v` lists the "
        "same, and yours beside it. An option is given as `NAME:KEY=VALUE,...` on the command line, and by its name in files "
        "and in Python. How to write plugins is in [Plugins](../../plugins.md).\n\n"
        + table(("kind", "built in", "hook", "what they are"), rows)
    )
    return {f"{FOLDER}/index.md": first} | {f"{FOLDER}/{name}.md": _page(kind, plugins) for name, kind in plugins.kinds.items()}


def title(kind: PluginKind) -> str:
    """Return what a kind is called."""
    return TITLES.get(kind.name, kind.name.replace("_", " ").capitalize())


def _page(kind: PluginKind, plugins: PluginSet) -> str:
    entries = sorted((cls for cls, _ in plugins.of(kind.name).entries()), key=lambda cls: str(cls.name))
    interface = kind.base()
    parts = [
        f"# {title(kind)}",
        f"{from_docstring(kind.summary).capitalize()}. They derive from `{_public(interface)}` and are registered by the hook "
        f"[`{kind.hook}()`](../../plugins.md#{kind.hook}).",
    ]
    rows = [(f"[`{cls.name}`](#{_anchor(kind, cls)})", from_docstring(cls.summary())) for cls in entries]
    parts.append(table(("name", "what it is"), rows))
    for cls in entries:
        parts.append(f"({_anchor(kind, cls)})=\n## {cls.name}\n\n{paragraphs(inspect.getdoc(cls) or '')}")
        if kind.name == "commands":
            parts.append(f"[All options of the verb](../commands/{cls.name}.md)")
        if kind.name == "models":
            parts.append(f"[Picture, commands and numbers](../../models/{cls.name}.md)")
        options = options_of(cls)
        if options:
            parts.append(paragraphs(inspect.getdoc(cls.Options) or ""))
            parts.append(table(("option", "takes", "default"), options))
    return "\n\n".join(part for part in parts if part) + "\n"


def options_of(cls: Any) -> list[tuple[str, str, str]]:
    """Return the options of a plugin: name, type and default."""
    rows = []
    for field in dataclasses.fields(cls.Options):
        default = "required"
        if field.default is not dataclasses.MISSING:
            default = cell(repr(field.default))
        elif field.default_factory is not dataclasses.MISSING:
            default = cell(repr(field.default_factory()))
        kind = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))
        rows.append((cell(field.name), cell(kind), default))
    return rows


def _anchor(kind: PluginKind, cls: Any) -> str:
    return f"{kind.name}-{cls.name}".replace("_", "-").lower()


def _public(cls: type[Any]) -> str:
    import kingpost

    return f"kingpost.{cls.__name__}" if cls.__name__ in kingpost.__all__ else f"{cls.__module__}.{cls.__name__}"
