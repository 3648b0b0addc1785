"""Archives: the same bytes for the same content."""

import io
import stat
import zipfile

from kingpost.fmu.export.archive import archive, write_archive

FILES = {"resources/b.txt": b"b", "binaries/x/model.so": b"code", "modelDescription.xml": b"<x/>", "a.txt": b"a" * 1000}


def test_the_order_in_which_files_are_given_does_not_matter():
    assert archive(FILES) == archive(dict(reversed(FILES.items())))
    assert archive(FILES) != archive({**FILES, "a.txt": b"other"})


def test_other_tools_find_the_description_first_and_binaries_that_can_be_loaded():
    with zipfile.ZipFile(io.BytesIO(archive(FILES))) as opened:
        assert opened.namelist() == ["modelDescription.xml", "a.txt", "binaries/x/model.so", "resources/b.txt"]
        assert opened.testzip() is None
        assert {name: opened.read(name) for name in opened.namelist()} == FILES
        modes = {entry.filename: entry.external_attr >> 16 for entry in opened.infolist()}
    assert modes["binaries/x/model.so"] & stat.S_IXUSR and not modes["a.txt"] & stat.S_IXUSR


def test_the_size_that_is_told_is_that_of_the_file(tmp_path):
    assert write_archive(tmp_path / "x.fmu", FILES) == (tmp_path / "x.fmu").stat().st_size
