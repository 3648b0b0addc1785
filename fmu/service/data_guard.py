"""Uploaded data stays data: it may neither bring Python nor name files outside of the folder of its job."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kingpost.fmu.service.errors import ServiceError

#: Texts under these keys are for people.
PROSE = ("description", "name", "title", "comment", "unit", "author", "text")
#: How deep tables may lie in each other.
DEEPEST = 50
_PYTHON = re.compile(r"\.py[cdowz]?\s*\Z", re.IGNORECASE)
_OUTSIDE = re.compile(r"\A\s*(?:[/\\~]|[A-Za-z]:[/\\]|file:)|(?:^|[/\\])\.\.(?:[/\\]|\s*\Z)", re.IGNORECASE)
_PARTS = re.compile(r"[=:,;|]")
_FILE = re.compile(
    r"([\w .+-]+(?:/[\w .+-]+)*\.(?:toml|fmu|csv|npz|mat|h5|parquet|urdf|ssp|ssd|ssv|xml|stl|obj|json|txt|out|1|3))"
    r"(?::[^/]*)?\Z",
    re.IGNORECASE,
)


def check_data(data: Any, where: str, depth: int = 0) -> None:
    """Refuse plain data, as it comes from TOML or JSON, that brings code or leaves its folder."""
    if depth > DEEPEST:
        raise ServiceError(f"{where}: tables lie more than {DEEPEST} deep in each other")
    if isinstance(data, Mapping):
        for key, value in data.items():
            place = f"{where}.{str(key)[:60]}"
            if str(key) == "plugins" and value:
                raise ServiceError(
                    f"{place}: uploaded files are data and cannot load Python; install plugins where the server runs",
                    status=403,
                    code="python",
                )
            if not (str(key) in PROSE and isinstance(value, str)):
                check_data(value, place, depth + 1)
    elif isinstance(data, (list, tuple)):
        for k, value in enumerate(data):
            check_data(value, f"{where}[{k}]", depth + 1)
    elif isinstance(data, str):
        check_words(data, where)


def check_words(text: str, where: str) -> None:
    """Refuse a text that names a Python file, or a file outside of the folder of its job."""
    if "\x00" in text:
        raise ServiceError(f"{where}: a text with a zero byte")
    for part in (text, *_PARTS.split(text)):
        if _PYTHON.search(part):
            raise ServiceError(f"{where}: '{part[:80]}' names Python code, which is refused", status=403, code="python")
        if _OUTSIDE.search(part):
            raise ServiceError(
                f"{where}: '{part[:80]}' names a place outside of the job's folder; upload the file and give its name alone",
                status=403,
                code="outside",
            )


def file_names(data: Any) -> Iterator[str]:
    """Yield the texts in plain data that look like names of files, without columns behind them."""
    if isinstance(data, Mapping):
        for value in data.values():
            yield from file_names(value)
    elif isinstance(data, (list, tuple)):
        for value in data:
            yield from file_names(value)
    elif isinstance(data, str) and (found := _FILE.match(data)):
        yield found[1]
