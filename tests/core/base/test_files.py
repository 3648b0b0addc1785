"""Files are there whole or not at all."""

import json
import os
import stat

import pytest

from kingpost import FileError
from kingpost.base.files import write_json, write_whole


def test_a_file_takes_its_place_when_it_is_complete(tmp_path):
    path = tmp_path / "new" / "folder" / "x.txt"
    write_whole(path, lambda beside: beside.write_text("all of it") and None)
    assert path.read_text() == "all of it"
    assert list(path.parent.iterdir()) == [path]


def test_half_a_file_leaves_the_earlier_one_and_nothing_beside_it(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("earlier")

    def fail(beside):
        beside.write_text("half")
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_whole(path, fail)
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_what_the_system_refuses_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=r"'.*file/x.txt' cannot be written"):
        write_whole(tmp_path / "file" / "x.txt", lambda beside: None)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_others_may_read_it_as_far_as_the_user_lets_them(tmp_path):
    old = os.umask(0o027)
    try:
        write_json(tmp_path / "x.json", {"a": 1})
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "x.json").stat().st_mode) == 0o640


def test_json_without_a_word_for_a_number_is_refused_before_anything_is_written(tmp_path):
    write_json(tmp_path / "x.json", {"a": [1, 2.5]})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "x.json", {"a": float("nan")})
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": [1, 2.5]}
