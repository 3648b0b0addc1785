"""Exchanging the files of a folder at one point: order of what reaches the disk, left-overs, and what is not ours."""

import os
from pathlib import Path

import pytest

from kingpost.base.transactions import COMMIT, INCOMPLETE, LOCK, current, exchange, settle


def text(words):
    return lambda path: path.write_text(words) and None


def listing(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def pending(folder, **files):
    """Make a commit that nobody has settled."""
    (folder / COMMIT).mkdir()
    for name, words in files.items():
        (folder / COMMIT / name).write_text(words)


def test_everything_is_on_disk_before_the_exchange_and_the_exchange_before_anything_else(tmp_path, monkeypatch):
    happened = []
    fsync, rename, replace = os.fsync, Path.rename, Path.replace

    def synced(handle):
        path = Path(f"/proc/self/fd/{handle}").resolve() if Path("/proc/self/fd").is_dir() else Path("?")
        happened.append(("sync", path.name))
        fsync(handle)

    def renamed(path, target):
        happened.append(("commit", Path(target).name))
        return rename(path, target)

    def replaced(source, target):
        happened.append(("move", Path(target).name))
        return replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    monkeypatch.setattr(Path, "replace", replaced)
    exchange(tmp_path, {"a": text("1"), "b": text("2")})
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("which file is synced is not known here")
    assert happened == [
        ("sync", "a"),
        ("sync", "b"),
        ("sync", "files"),
        ("commit", COMMIT),
        ("sync", tmp_path.name),
        ("move", "a"),
        ("move", "b"),
        ("sync", tmp_path.name),
    ]


def test_what_was_committed_counts_and_is_settled_by_anybody(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "mine").write_text("mine")
    pending(tmp_path, a="new", b="new")
    assert current(tmp_path / "a") == tmp_path / COMMIT / "a"
    assert current(tmp_path / "mine") == tmp_path / "mine"
    settle(tmp_path)
    assert listing(tmp_path) == {"a": "new", "b": "new", "mine": "mine"}
    pending(tmp_path, a="newer")
    exchange(tmp_path, {"b": text("newest")})
    assert listing(tmp_path) == {"a": "newer", "b": "newest", "mine": "mine"}


def test_no_link_is_followed_to_files_of_others(tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir(), ours.mkdir()
    (theirs / "a").write_text("theirs")
    (ours / COMMIT).symlink_to(theirs)
    settle(ours)
    assert current(ours / "a") == ours / "a"
    assert listing(theirs) == {"a": "theirs"}


def test_left_overs_of_the_dead_are_removed_and_work_of_the_living_is_not(tmp_path):
    dead, other = tmp_path / f"{INCOMPLETE}dead", tmp_path / ".incomplete"
    (dead / "files").mkdir(parents=True)
    (dead / "files" / "a").write_text("half of")
    (dead / LOCK).write_text("")
    other.mkdir()

    def fill(path):
        exchange(tmp_path, {"b": text("b"), "c": text("c")})
        path.write_text("a")

    exchange(tmp_path, {"a": fill, "d": text("d")})
    other.rmdir()
    assert listing(tmp_path) == {name: name for name in "abcd"}


def test_a_file_that_cannot_be_moved_yet_is_not_lost(tmp_path, monkeypatch):
    (tmp_path / "b").write_text("old")
    replace = Path.replace

    def held(source, target):
        if source.name == "b":
            raise PermissionError(13, "it is open in another program", str(source), None, str(target))
        return replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", held)
        with pytest.raises(PermissionError, match="open in another program; the new files are whole in .kingpost-commit there"):
            exchange(tmp_path, {"a": text("new"), "b": text("new")})
    assert current(tmp_path / "b").read_text() == "new"
    settle(tmp_path)
    assert listing(tmp_path) == {"a": "new", "b": "new"}


def test_a_folder_in_the_way_is_met_before_the_exchange(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "b").mkdir()
    with pytest.raises(IsADirectoryError):
        exchange(tmp_path, {"a": text("new"), "b": text("new")})
    assert (tmp_path / "a").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
