"""All documents of the gallery, and how their entries are found by what a reader calls them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module

from kingpost.base.errors import KingpostError, closest, listed
from kingpost.gallery.entry import Document, Entry

NAMES = ("000", "001", "002", "003", "004")


@cache
def document(name: str) -> Document:
    """Return a document by its number."""
    found: Document = import_module(f"kingpost.gallery.document_{name}.inventory").DOCUMENT
    return found


def documents(names: Sequence[str] = NAMES) -> list[Document]:
    """Return documents, all by default; a number that there is none of is refused."""
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise KingpostError(f"there is no document '{unknown[0]}'{closest(unknown[0], NAMES)} Documents: {listed(NAMES)}.")
    return [document(name) for name in names]


def number_of(words: str) -> str:
    """Return the number of a figure or table as the inventory has it: 'Fig. 6.9' is 6.9, and 'table 3.1' T3.1."""
    match = re.fullmatch(r"\s*(fig(?:ure|s)?\.?|t(?:able|ab\.)?)?\s*([0-9]+(?:\.[0-9]+)?|[IVX]+)\s*", words, re.IGNORECASE)
    if not match:
        return words.strip()
    kind, number = (match[1] or "").lower(), match[2]
    return f"T{number}" if kind.startswith("t") else number


def entries(of: Sequence[Document], only: Sequence[str] = (), long: bool = False) -> list[tuple[Document, Entry]]:
    """Return the entries of documents that show the items in ``only``; all but long ones by default.

    What is named is taken, long or not. A number that no document has is refused, and so is an item that is no result.
    """
    if not only:
        return [(doc, entry) for doc in of for entry in doc.entries if long or not entry.long]
    found: dict[tuple[str, str], tuple[Document, Entry]] = {}
    for words in only:
        number = number_of(words)
        holders = [(doc, doc.item(number)) for doc in of if any(item.number == number for item in doc.items)]
        if not holders:
            known = [item.number for doc in of for item in doc.items]
            where = f"document {of[0].name}" if len(of) == 1 else "any document"
            raise KingpostError(f"'{words}' is no figure or table of {where}{closest(number, known)}")
        made = [(doc, entry) for doc, item in holders if (entry := doc.entry_for(item.number)) is not None]
        if not made:
            doc, item = holders[0]
            raise KingpostError(f"{item.title} of document {doc.name} is not reproduced: {item.reason}")
        found |= {(doc.name, entry.name): (doc, entry) for doc, entry in made}
    return list(found.values())
