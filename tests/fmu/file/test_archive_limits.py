"""Archives that would unpack to far more than they are."""

import zipfile

import pytest

from kingpost import FileError, KingpostError
from kingpost.fmu.cosim.description.ssp.reading import read_ssp
from kingpost.fmu.file.archive_limits import VARIABLE, check_limits, check_stranger
from kingpost.fmu.file.opened import open_fmu
from tests.fmu.hostile_archives import ARCHIVES, DESCRIPTIONS


def bomb(path, megabytes, members=1):
    """Add zeros, which pack a thousand times smaller."""
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        for number in range(members):
            with archive.open(f"resources/{number}.bin", "w") as member:
                for _ in range(megabytes):
                    member.write(bytes(10**6))
    return path


def test_a_small_file_that_would_fill_the_disk_is_refused(described, tmp_path, monkeypatch):
    path = bomb(described(), 150)
    size = path.stat().st_size
    assert size < 300e3
    message = r"would unpack from 0.1\d+ MB to 150 MB, \d+ times as much; the limit is 200 times \(above 100 MB\)"
    with pytest.raises(FileError, match=message) as refused:
        open_fmu(path)
    monkeypatch.setenv(VARIABLE, str(refused.value).rpartition(f"set {VARIABLE} to ")[2])  # as the message advises
    fmu = open_fmu(path)
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(FileError, match="times as much"):  # also if it was changed since
        fmu.unpack(tmp_path / "unpacked")
    assert not (tmp_path / "unpacked").exists()


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ("size=2.5e6", r"would unpack to 3(\.\d+)? MB; the limit is 2.5 MB. .* set KINGPOST_ARCHIVE_LIMITS to size=3.3e\+06"),
        ("ratio=900, count=3", "holds 4 members; the limit is 3. .* set KINGPOST_ARCHIVE_LIMITS to count=4.4"),
    ],
)
def test_limits_can_be_set(described, monkeypatch, limits, message):
    path = bomb(described(), 1, members=3)
    open_fmu(path)
    monkeypatch.setenv(VARIABLE, limits)
    with pytest.raises(FileError, match=message):
        open_fmu(path)


@pytest.mark.parametrize("text", ["size", "size=much", "weight=3", "ratio=-1", "count=nan"])
def test_a_wrong_limit_is_refused(described, monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(KingpostError, match=f"'{text}' is no limit; write size, count, ratio as in"):
        open_fmu(described())


def test_ssp_archives_have_the_same_limits(tmp_path):
    with pytest.raises(FileError, match="times as much"):
        read_ssp(bomb(tmp_path / "x.ssp", 150), tmp_path / "unpacked")
    assert not (tmp_path / "unpacked").exists()


def test_a_member_yields_no_more_than_it_announces(tmp_path):
    """The sizes that are added up are those of the directory; a member that says less there than it has is damaged."""
    path = bomb(tmp_path / "x.zip", 1)
    content = path.read_bytes()
    assert content.count((10**6).to_bytes(4, "little")) == 2  # in the header of the member, and in the directory
    path.write_bytes(content.replace((10**6).to_bytes(4, "little"), (1000).to_bytes(4, "little")))
    with zipfile.ZipFile(path) as archive:
        check_limits(archive, path)
        with pytest.raises(zipfile.BadZipFile):
            archive.extractall(tmp_path)
    assert sum(file.stat().st_size for file in (tmp_path / "resources").iterdir()) <= 1000


@pytest.mark.quick("zip-slip", "link", "nul", "long-name", "encrypted", "cut")
@pytest.mark.parametrize("kind", ARCHIVES)
def test_archives_of_strangers_that_are_made_to_do_harm_are_refused(tmp_path, kind):
    write, message = ARCHIVES[kind]
    write(tmp_path / "x.fmu")
    with pytest.raises(FileError, match=message) as refused:
        check_stranger(tmp_path / "x.fmu")
    assert len(str(refused.value)) < 400 and "\0" not in str(refused.value)


@pytest.mark.parametrize("kind", DESCRIPTIONS)
def test_descriptions_that_grow_or_fetch_are_refused(tmp_path, kind):
    write, message = DESCRIPTIONS[kind]
    write(tmp_path / "x.fmu")
    check_stranger(tmp_path / "x.fmu")  # the archive is sound
    with pytest.raises(FileError, match=message):
        open_fmu(tmp_path / "x.fmu")


def test_honest_archives_of_strangers_are_not_refused(described):
    check_stranger(described(**{"binaries\\win64\\x.dll": b"", "resources/brønnøysund prøve.txt": b"", "documentation/": b""}))


@pytest.mark.parametrize("large", [False, True])
def test_a_list_of_members_that_would_fill_the_memory_is_not_even_read(described, monkeypatch, large):
    path = described()
    monkeypatch.setenv(VARIABLE, "count=1")
    if large:
        monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 0)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"" if large else b"a comment"
        archive.writestr(f"resources/{'n' * 100}", b"")
    with pytest.raises(FileError, match=r"the list of its members has 0.000\d+ MB; the limit is 0.00015 MB"):
        check_stranger(path)
