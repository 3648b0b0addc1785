"""Files are known as ours by digests that nobody else can have written."""

import hashlib
import os

import pytest

from kingpost.kernel import made_here as module
from kingpost.kernel.made_here import FOLDER, made_here, remember

CONTENT = b"an archive"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KINGPOST_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_was_made_is_known_and_nothing_else(own_cache):
    assert not made_here(DIGEST)
    remember(CONTENT, "crane.fmu")
    assert made_here(DIGEST)
    assert not made_here(hashlib.sha256(CONTENT + b".").hexdigest())
    assert (own_cache / FOLDER).stat().st_mode & 0o077 == 0


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="POSIX permissions")
@pytest.mark.parametrize("place", [".", FOLDER])
def test_a_folder_that_others_can_write_proves_nothing(own_cache, place):
    remember(CONTENT, "crane.fmu")
    (own_cache / place).chmod(0o777)
    assert not made_here(DIGEST)
    remember(b"another", "other.fmu")
    (own_cache / place).chmod(0o700)
    assert made_here(DIGEST) and not made_here(hashlib.sha256(b"another").hexdigest())


def test_where_nothing_can_be_written_nothing_is_known(own_cache):
    own_cache.write_text("a file")
    remember(CONTENT, "crane.fmu")
    assert not made_here(DIGEST)


def test_the_oldest_are_forgotten(own_cache, monkeypatch):
    monkeypatch.setattr(module, "MOST", 3)
    for i in range(5):
        remember(b"%d" % i, f"{i}.fmu")
        os.utime(own_cache / FOLDER / hashlib.sha256(b"%d" % i).hexdigest(), (i, i))
    remember(CONTENT, "crane.fmu")
    known = [made_here(hashlib.sha256(b"%d" % i).hexdigest()) for i in range(5)]
    assert known == [False, False, False, True, True] and made_here(DIGEST)
