"""Pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\*_<>\[\]|`{}$])")
#: An option, and settings in a row.
_WORDS_OF_CODE = re.compile(r"((?<![\w-])--[a-z][\w-]*|[\w.:-]+=[\w./+-]+(?:,[\w.]+=[\w./+-]+)+)")
_ROLE = re.compile(r":(?:py:)?(?:class|func|meth|mod|attr|data|exc|obj):`~?([^`<]*?)(?:\s*<[^`]*>)?`")


def plain(text: str) -> str:
    """Return text in which nothing is markup, but options and long lists of settings are code, which may break anywhere."""
    parts = _WORDS_OF_CODE.split(" ".join(text.split()))
    return "".join(cell(part) if i % 2 else _SPECIAL.sub(r"\\\1", part) for i, part in enumerate(parts))


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
        else _spaced(part)
        for part in parts
    )


def _spaced(text: str) -> str:
    """Return plain text with the spaces at its ends, which stand before and after code."""
    inner = text.strip()
    return text.replace(inner, plain(inner)) if inner else text


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
