"""Lines of tables and keys in TOML text."""

import pytest

from kingpost import FileError
from kingpost.base.toml import LineIndex, read_toml, tomllib


def test_lines_are_found_through_strings_comments_and_nested_arrays():
    text = "\n".join(
        [
            'a = """',  # 1
            "[not.a.table]",
            'b = 2"""',
            "c = [ # ] a bracket in a comment",  # 4
            "  { x = 1 },",
            "  { x = '}', y = [1, 2] },",  # 6
            "]",
            "[[d.e]]",  # 8
            'f."g h" = 1',
            "[d.e.k]",  # 10
            "l = 1",
            "[[d.e]]",  # 12
            "f = 1",
        ]
    )
    assert tomllib.loads(text)["c"][1]["x"] == "}"
    index = LineIndex(text)
    found = {
        path: index.line(path)
        for path in [
            ("a",), ("b",), ("c", 0), ("c", 1, "x"), ("d", "e", 0, "f", "g h"), ("d", "e", 0, "k", "l"), ("d", "e", 1, "f"),
        ]
    }  # fmt: skip
    assert list(found.values()) == [1, None, 5, 6, 9, 11, 13]


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(FileError, match=r"there is no model file '.*none.toml'"):
        read_toml(tmp_path / "none.toml", "model")
    (tmp_path / "latin.toml").write_bytes(b"a = '\xe6'")
    with pytest.raises(FileError, match=r"latin.toml' cannot be read"):
        read_toml(tmp_path / "latin.toml")
    (tmp_path / "bad.toml").write_text("a = ")
    with pytest.raises(FileError, match=r"bad.toml is not valid TOML: Invalid value"):
        read_toml(tmp_path / "bad.toml")
    (tmp_path / "good.toml").write_text("a = 1\n")
    assert read_toml(tmp_path / "good.toml") == ("a = 1\n", {"a": 1})


def test_an_entry_that_is_not_there_has_the_line_of_what_contains_it():
    index = LineIndex("[a]\nb = 1\n[[c]]\nd = [\n  { e = 1 },\n  { e = 2 },\n]\n")
    assert index.line(("a", "b")) == 2
    assert index.line(("c", 0, "d", 1, "e")) == 6
    assert index.line(("c", 0, "x")) == 3
    assert index.line(("nowhere",)) is None
