"""Tests stand where modules stand: whoever holds a line finds its tests by path."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOPS = ("core", "plugins", "fmu")
#: Rooms without tests of their own, and why.
ELSEWHERE: dict[str, str] = {}


def has_modules(folder: Path) -> bool:
    """Say whether a folder is a room; one that only passes names on is a door, such as core/waves."""
    return any(path.name != "__init__.py" for path in folder.glob("*.py"))


def has_tests(folder: Path) -> bool:
    return any(folder.glob("test_*.py"))


def folders(*tops: Path) -> list[Path]:
    return sorted(folder for top in tops for folder in top.rglob("*") if folder.is_dir() and "__pycache__" not in folder.parts)


ROOMS = [path.relative_to(ROOT).as_posix() for path in folders(*(ROOT / top for top in TOPS)) if has_modules(path)]


@pytest.mark.parametrize("room", [room for room in ROOMS if room not in ELSEWHERE])
def test_every_room_has_tests_at_its_place(room):
    assert has_tests(ROOT / "tests" / room), f"put tests of {room}/*.py into tests/{room}/test_*.py"


def test_no_tests_are_left_where_there_is_no_room():
    tested = [path.relative_to(ROOT / "tests") for path in folders(*(ROOT / "tests" / top for top in TOPS)) if has_tests(path)]
    assert [str(path) for path in tested if path.as_posix() not in ROOMS] == []
    assert not [top for top in TOPS if has_tests(ROOT / "tests" / top)]


def test_exceptions_are_rooms_without_tests():
    assert [room for room in ELSEWHERE if room not in ROOMS or has_tests(ROOT / "tests" / room)] == []


def test_rooms_are_found():
    assert {"core/base", "core/cli", "plugins/forces", "fmu/export/native", "fmu/cosim/masters"} <= set(ROOMS)
    assert "core/waves" not in ROOMS
