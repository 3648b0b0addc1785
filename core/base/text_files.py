"""Text files, and JSON: read whole, or refused with a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kingpost.base.errors import FileError
from kingpost.base.numbers import finite_in


def read_text(path: Path, what: str = "", encoding: str = "utf-8") -> str:
    """Return the text in a file; ``what`` it holds is said if it is not there."""
    try:
        return path.read_text(encoding=encoding)
    except FileNotFoundError:
        kind = f"{what.removeprefix('the ')} " if what else ""
        raise FileError(f"there is no {kind}file '{path}'") from None
    except (OSError, ValueError) as error:  # not UTF-8, or a name that no file can have
        raise FileError(f"'{path}' cannot be read: {error}") from None


def possible(name: str) -> bool:
    """Say whether a file can have a name: file systems take up to 255 bytes, without a NUL."""
    return "\0" not in name and len(name.encode("utf-8", "surrogatepass")) <= 255


def is_file(path: Path) -> bool:
    """Say whether there is such a file; a name that no file can have, with a NUL or too long, is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_dir(path: Path) -> bool:
    """Say the same of a folder."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def resolved(path: Path) -> Path:
    """Return the same path from the root, links followed."""
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError) as error:  # a NUL, too long, links in a ring
        raise FileError(f"'{path}' cannot be the path of a file: {error}") from None


def parse_json(text: str | bytes, *, finite: bool = False) -> Any:
    """Return what a JSON text says, or raise :class:`ValueError`, also for one that is nested too deep.

    Python reads NaN and Infinity, which are not JSON, and 1e999 as infinite; where all numbers must be ``finite`` it does not.
    """
    strict: dict[str, Any] = {"parse_constant": _finite_number, "parse_float": _finite_number} if finite else {}
    try:
        return json.loads(text, **strict)
    except RecursionError:
        raise ValueError("its lists and objects are nested too deep to be read") from None


def _finite_number(text: str) -> float:
    number = finite_in(text)
    if number is None:
        raise ValueError(f"it holds the number {text}, which is not finite")
    return number
