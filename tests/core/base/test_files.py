"""Files that are either there whole or not at all."""

import os
import stat

import pytest

from kingpost.base.errors import FileError
from kingpost.base.files import LONGEST_NAME, json_file, safe_name, write_json, write_together, write_whole


def text(words):
    return lambda path: path.write_text(words) and None


def failing(error):
    def write(path):
        path.write_text("half of")
        raise error

    return write


def listing(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_folders_are_made_and_files_replaced(tmp_path):
    folder = tmp_path / "new" / "folder"
    write_together(folder, {"a.txt": text("a"), "b.txt": text("b")})
    write_whole(folder / "a.txt", text("again"))
    assert listing(folder) == {"a.txt": "again", "b.txt": "b"}


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_if_one_fails_all_stay_as_they_were(tmp_path, error):
    write_together(tmp_path, {"a.txt": text("old")})
    with pytest.raises(type(error)):
        write_together(tmp_path, {"a.txt": text("new"), "b.txt": failing(error)})
    assert listing(tmp_path) == {"a.txt": "old"}


def test_a_full_disk_names_the_file(tmp_path):
    with pytest.raises(FileError, match="b.txt' cannot be written: .*No space left"):
        write_together(tmp_path, {"a.txt": text("a"), "b.txt": failing(OSError(28, "No space left on device"))})
    assert listing(tmp_path) == {}


def test_where_a_folder_stands_no_file_is_written(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(FileError, match="taken' cannot be written"):
        write_whole(tmp_path / "taken", text("a"))
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=r"file/x' cannot be written"):
        write_whole(tmp_path / "file" / "x", text("a"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "taken"]


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_permissions_are_those_of_any_new_file(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "a.txt", text("a"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


def test_what_json_cannot_hold_is_refused_before_anything_is_written(tmp_path):
    write_json(tmp_path / "a.json", {"x": [1.5, None]})
    assert listing(tmp_path) == {"a.json": '{\n  "x": [\n    1.5,\n    null\n  ]\n}\n'}
    with pytest.raises(ValueError, match="JSON"):
        json_file({"x": float("nan")})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("crane with controller", "crane with controller"),
        ("vessel-crane_2.1 (calm)", "vessel-crane_2.1 (calm)"),
        ("Kran Ångström", "Kran Ångström"),
        ("../../x", "x"),
        ("/etc/passwd", "etc-passwd"),
        ("C:\\x", "C--x"),
        ("a\0b\nc", "a-b-c"),
        ("..", "unnamed"),
        (".hidden", "hidden"),
        ("", "unnamed"),
        ("NUL", "_NUL"),
        ("com1.txt", "_com1.txt"),
        ("a\ud800", "a"),
    ],
)
def test_names_of_things_become_names_of_files(name, expected):
    assert safe_name(name) == expected


def test_long_names_are_cut_and_stay_different(tmp_path):
    one, other = (safe_name("å" * 300 + end) for end in "xy")
    assert one != other
    assert max(len(one.encode()), len(other.encode())) <= LONGEST_NAME
    (tmp_path / one).mkdir()
