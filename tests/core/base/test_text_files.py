"""Text files and JSON: read whole, or refused with a sentence."""

from pathlib import Path

import pytest

from kingpost.base.errors import FileError
from kingpost.base.text_files import is_file, parse_json, read_text, resolved

#: Names that no file can have; they come from files, which may say anything.
IMPOSSIBLE = ["a\0b.toml", "a" * 300 + ".toml"]


@pytest.mark.parametrize("name", IMPOSSIBLE, ids=["NUL", "long"])
def test_names_that_no_file_can_have_are_refused(tmp_path, name):
    assert not is_file(tmp_path / name)
    with pytest.raises(FileError, match="cannot be read|there is no"):
        read_text(tmp_path / name)


def test_paths_that_cannot_be_resolved_are_refused(tmp_path):
    with pytest.raises(FileError, match="cannot be the path of a file"):
        resolved(tmp_path / "a\0b.toml")
    assert resolved(Path()) == Path.cwd()


def test_a_missing_file_is_named_with_what_it_should_hold(tmp_path):
    with pytest.raises(FileError, match="there is no hot spot file"):
        read_text(tmp_path / "gone.toml", "hot spot")


def test_other_encodings_are_refused(tmp_path):
    (tmp_path / "latin.txt").write_bytes(b"\xe9")
    with pytest.raises(FileError, match="cannot be read"):
        read_text(tmp_path / "latin.txt")


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "1" * 5000, b"\xff"], ids=["deep", "open", "digits", "bytes"])
def test_what_cannot_be_parsed_is_a_value_error(text):
    with pytest.raises(ValueError, match=r".+"):
        parse_json(text)
