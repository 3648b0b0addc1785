"""TOML files of this package: read, and refused with file and line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kingpost.base.errors import FileError, KingpostError, MechanismError, closest, listed
from kingpost.base.numbers import finite, shown
from kingpost.base.toml import LineIndex, read_toml


@dataclass(frozen=True)
class TableFile:
    """The content of a TOML file."""

    path: Path
    text: str
    data: Mapping[str, Any]

    @contextmanager
    def refusing(self, *where: str | int) -> Iterator[None]:
        """Turn whatever is wrong with the entry ``where`` into a message that begins with file and line."""
        try:
            yield
        except FileError:
            raise
        except KingpostError as error:
            inner = error.path if isinstance(error, MechanismError) else ()
            line = LineIndex(self.text).line((*where, *inner))
            raise FileError(f"{self.path}{f':{line}' if line else ''}: {error}") from None

    def check_keys(self, known: tuple[str, ...], what: str) -> None:
        """Refuse entries that the file should not have."""
        for key in self.data:
            if key not in known:
                with self.refusing(key):
                    raise KingpostError(f"{what} has no '{key}'{closest(key, known)} It takes: {listed(known)}.")


def read_table(path: str | Path, what: str) -> TableFile:
    """Return the content of a TOML file that holds ``what``."""
    path = Path(path)
    return TableFile(path, *read_toml(path, what))


def as_table(value: Any, what: str, example: str) -> Mapping[str, Any]:
    """Return a table, or refuse what stands in its place."""
    if not isinstance(value, Mapping):
        raise KingpostError(f"{what} must be a table, written {example}; got {value!r}")
    return value


def as_tables(value: Any, what: str) -> list[Mapping[str, Any]]:
    """Return a list of tables, or refuse what stands in its place."""
    if not isinstance(value, list) or not value or not all(isinstance(entry, Mapping) for entry in value):
        raise KingpostError(f"'{what}' must be one or more tables, each written [[{what}]]; got {value!r}")
    return value


def as_number(value: Any, what: str) -> float:
    """Return a finite number, or refuse what stands in its place."""
    number = finite(value)
    if number is None:
        raise KingpostError(f"{what} = {shown(value)} is not a finite number")
    return number
