"""Pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\*_<>\[\]|`{}$])")
_ROLE = re.compile(r":(?:py:)?(?:class|func|meth|mod|attr|data|exc|obj):`~?([^`<]*?)(?:\s*<[^`]*>)?`")


def plain(text: str) -> str:
    """Return text in which nothing is markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def cell(text: str) -> str:
    """Return code for a cell of a table."""
    return f"`{text}`".replace("|", "\\|") if text else ""


def from_docstring(text: str) -> str:
    """Return a sentence of a docstring as Markdown: double backticks and roles become code."""
    parts = re.split(r"(``.+?``|:(?:py:)?\w+:`[^`]*`)", " ".join(text.split()))
    return "".join(
        f"`{part[2:-2]}`".replace("|", "\\|")
        if part.startswith("``")
        else _ROLE.sub(r"`\1`", part)
        if part.startswith(":") and part.endswith("`")
        else plain(part)
        for part in parts
    )


def paragraphs(docstring: str) -> str:
    """Return a docstring as Markdown: paragraphs as such, what is indented as it stands."""
    found = []
    for block in re.split(r"\n\s*\n", docstring.strip()):
        indented = all(line.startswith("    ") for line in block.split("\n"))
        found.append(f"```text\n{block}\n```" if indented else from_docstring(block))
    return "\n\n".join(found)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
