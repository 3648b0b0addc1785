"""Plain data as TOML."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
#: How deep tables get headings of their own; below that they are written inline.
HEADINGS = 2


def toml_text(data: Mapping[str, Any], headings: int = HEADINGS) -> str:
    """Return ``data`` as the text of a TOML file; entries that are None are left out, tables below ``headings`` are inline.

    Raises
    ------
    ValueError
        If something in it cannot be written.

    """
    return "\n".join(_lines(data, (), headings)) + "\n"


def _lines(table: Mapping[str, Any], path: tuple[str, ...], headings: int) -> Iterator[str]:
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping) and len(path) < headings}
    arrays = {key: value for key, value in table.items() if not path and _several(value)}
    for key, value in table.items():
        if key not in tables and key not in arrays and value is not None:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in tables.items():
        below = (*path, key)
        if not all(isinstance(entry, Mapping) and len(below) < headings for entry in value.values()) or not value:
            yield f"\n[{'.'.join(map(_key, below))}]"
        yield from _lines(value, below, headings)
    for key, value in arrays.items():
        for entry in value:
            yield f"\n[[{_key(key)}]]"
            yield from (f"{_key(name)} = {_value(item)}" for name, item in entry.items() if item is not None)


def _several(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError(f"{key!r} is no name")
    return key if _BARE.match(key) else _text(key)


def _text(text: str) -> str:
    if any(0xD800 <= ord(char) <= 0xDFFF for char in text):
        raise ValueError(f"{text!r:.80} holds half of a character")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"{value} has more than 64 bits")
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else {True: "inf", False: "-inf"}[value > 0] if value == value else "nan"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_value(entry)}" for key, entry in value.items() if entry is not None) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value(entry) for entry in value) + "]"
    raise ValueError(f"{value!r:.80} is neither a number, a text, a list nor a table")
