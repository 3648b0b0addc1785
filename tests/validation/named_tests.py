"""Tables that name the test of every target or statement: whether these tests are there."""

from collections.abc import Iterable
from pathlib import Path

TESTS = Path(__file__).parents[1]


def missing(places: Iterable[str]) -> list[str]:
    """Return those of ``folder/test_file.py::test_name``, below the folder of all tests, that name no test."""
    return [place for place in places if not _defines(*place.split("::"))]


def _defines(file: str, name: str) -> bool:
    return name.startswith("test_") and f"\ndef {name}(" in (TESTS / file).read_text()
