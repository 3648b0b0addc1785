"""TOML files, and where each of their entries stands, so that a message can name the line.

The parser of Python keeps no positions.
"""

from __future__ import annotations

import pathlib
import re
import sys
from typing import Any

from kingpost.base.errors import FileError, Path
from kingpost.base.text_files import read_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_KEY = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*\]")
_ASSIGNMENT = re.compile(rf"\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*=")


class LineIndex:
    """Line numbers (from 1) of the entries of a TOML text, by path, e.g. ``("bodies", 0, "mass")``."""

    def __init__(self, text: str) -> None:
        self._lines: dict[Path, int] = {}
        self._arrays: dict[Path, int] = {}
        self._table: Path = ()
        self._entry: Path = ()
        self._depth = 0
        self._items = 0
        self._quote = ""
        for number, line in enumerate(text.split("\n"), start=1):
            self._read(line, number)

    def line(self, path: Path) -> int | None:
        """Return the line of ``path``, or of the nearest entry that contains it."""
        for length in range(len(path), 0, -1):
            if path[:length] in self._lines:
                return self._lines[path[:length]]
        return None

    def _read(self, line: str, number: int) -> None:
        if self._depth == 0 and not self._quote:
            header, assignment = _HEADER.match(line), _ASSIGNMENT.match(line)
            if header:
                self._enter(header[1] == "[[", _keys(header[2]), number)
                return
            if assignment:
                self._entry = (*self._table, *_keys(assignment[1]))
                self._items = 0
                self._note(self._entry, number)
                line = line[assignment.end() :]
        self._scan(line, number)

    def _enter(self, array: bool, keys: Path, number: int) -> None:
        path: Path = ()
        for key in keys[:-1]:
            path = (*path, key)
            if path in self._arrays:
                path = (*path, self._arrays[path])
        path = (*path, keys[-1])
        if array:
            self._note(path, number)
            self._arrays[path] = self._arrays.get(path, -1) + 1
            path = (*path, self._arrays[path])
        self._table = path
        self._note(path, number)

    def _note(self, path: Path, number: int) -> None:
        self._lines.setdefault(path, number)

    def _scan(self, line: str, number: int) -> None:
        """Follow strings and brackets to the end of the line; note where the items of an array begin."""
        i = 0
        while i < len(line):
            if self._quote:
                if line.startswith("\\", i) and self._quote.startswith('"'):
                    i += 2
                elif line.startswith(self._quote, i):
                    i += len(self._quote)
                    self._quote = ""
                else:
                    i += 1
                continue
            character = line[i]
            if character == "#":
                return
            if character in "\"'":
                self._quote = character * 3 if line.startswith(character * 3, i) else character
                i += len(self._quote)
                continue
            if character in "[{":
                if self._depth == 1:
                    self._note((*self._entry, self._items), number)
                    self._items += 1
                self._depth += 1
            elif character in "]}":
                self._depth -= 1
            i += 1
        if len(self._quote) == 1:
            self._quote = ""  # only triple-quoted strings go over lines


def _keys(dotted: str) -> Path:
    return tuple(key.strip("\"'") for key in re.findall(_KEY, dotted))


def read_toml(path: pathlib.Path, what: str = "") -> tuple[str, dict[str, Any]]:
    """Return text and content of a TOML file; ``what`` it holds is said if it is not there."""
    text = read_text(path, what)
    return text, parsed_toml(text, str(path))


def parsed_toml(text: str, where: str) -> dict[str, Any]:
    """Return the content of a TOML text; ``where`` it stands begins what is said against it."""
    try:
        return tomllib.loads(text)
    except ValueError as error:  # no TOML, or a whole number with more digits than Python reads
        raise FileError(f"{where} is not valid TOML: {error}") from None
    except RecursionError:
        raise FileError(f"{where} cannot be read: its arrays and tables are nested too deep") from None
