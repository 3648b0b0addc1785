"""Kernels that travel to machines without a compiler, and kernels that are built once."""

import json
import multiprocessing
import os
import pickle
from dataclasses import replace

import numpy as np
import pytest

from kingpost import KingpostError, SolverError
from kingpost.kernel import compiler as compiler_module
from kingpost.kernel.compiler import build_cached, built_elsewhere, find_compiler, missing_features, processor
from kingpost.kernel.kernel import Kernel
from kingpost.kernel.pack import packed
from tests.core.kernel.functions import observe_function

#: A compiler that notes each call, and takes its time.
COUNTING = """#!/bin/sh
[ "$1" = --version ] && exec cc --version
echo once >> {log}
sleep 0.5
exec cc "$@"
"""


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KINGPOST_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def no_compiler(tmp_path, monkeypatch):
    """Take the compiler away when called."""

    def take():
        monkeypatch.delenv("CC", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        assert find_compiler() is None

    return take


def sample(kernel):
    return kernel.sample(np.arange(4.0), np.ones((4, 3)) / 3, np.ones((4, 1)), np.array([3.0, 5.0]))


def test_without_a_compiler_a_kernel_is_found_by_its_source(own_cache, no_compiler):
    built = Kernel([observe_function()], "c")
    no_compiler()
    found = Kernel([observe_function()], "c")
    assert (found.backend, found.key, found.compiler) == ("c", built.key, built.compiler)
    assert found.note == f"cache hit {built.key}, compiled elsewhere by {built.compiler}; there is no C compiler here"
    assert Kernel([observe_function()]).backend == "c"
    assert Kernel([observe_function(3.0)]).backend == "vm"  # another source


def test_a_kernel_travels(own_cache, no_compiler, tmp_path, monkeypatch):
    built = Kernel([observe_function()], "c")
    pack = pickle.loads(pickle.dumps(packed(built)))
    assert repr(pack) == f"<kernel pack {built.key}, {len(pack.library)} bytes, {built.compiler}>"
    monkeypatch.setenv("KINGPOST_CACHE_DIR", str(tmp_path / "far away"))
    no_compiler()
    with pytest.raises(SolverError, match="no C compiler was found"):
        Kernel([observe_function()], "c")
    pack.install()
    pack.install()
    there = Kernel([observe_function()], "c")
    assert there.backend == "c"
    assert np.array_equal(sample(there), sample(built))
    assert packed(there) == pack


def test_a_kernel_that_was_shipped_is_not_compiled_again(own_cache, tmp_path, monkeypatch):
    """Even where there is a compiler, and whichever: all workers of a study run the same code."""
    pack = packed(Kernel([observe_function()], "c"))
    assert pack is not None
    monkeypatch.setenv("KINGPOST_CACHE_DIR", str(tmp_path / "far away"))
    replace(pack, key="0" * 32).install()
    there = Kernel([observe_function()], "c")
    assert (there.cached, there.key) == (True, "0" * 32)


def test_a_cache_can_be_lent_to_read(own_cache, no_compiler, tmp_path, monkeypatch):
    """As a sandbox does: its user owns nothing there, and writes nothing there."""
    built = Kernel([observe_function()], "c")
    lent = built._path.parents[1]
    before = sorted(lent.rglob("*"))
    monkeypatch.setenv("KINGPOST_CACHE_DIR", str(tmp_path / "far away"))
    no_compiler()
    monkeypatch.setattr(compiler_module, "made_by_us", lambda *paths: False)
    monkeypatch.setenv("KINGPOST_LENT_CACHE", str(lent))
    there = Kernel([observe_function()], "c")
    assert there.backend == "c" and there._path == built._path
    assert np.array_equal(sample(there), sample(built))
    assert sorted(lent.rglob("*")) == before
    monkeypatch.delenv("KINGPOST_LENT_CACHE")
    with pytest.raises(SolverError, match="no C compiler was found"):
        Kernel([observe_function()], "c")


def test_a_pack_for_another_processor_is_refused(own_cache, tmp_path, monkeypatch):
    built = Kernel([observe_function()], "c")
    pack = packed(built)
    assert pack is not None and pack.refusal() == ""
    other = replace(pack, processor=f"{pack.processor} teleport")
    with pytest.raises(KingpostError, match=r"was compiled for a processor with features that this one lacks: teleport\. Give"):
        other.install()
    assert missing_features("vax780 fast") == ["vax780"]
    assert missing_features(processor()) == []
    assert missing_features(" ".join(processor().split()[:3])) == []  # an older one of the same kind
    monkeypatch.setattr(compiler_module, "processor", lambda: processor().rpartition(" ")[0])
    assert built_elsewhere(built._source()) is None
    monkeypatch.undo()


def test_a_pack_that_was_damaged_is_refused(own_cache):
    pack = packed(Kernel([observe_function()], "c"))
    assert pack is not None
    with pytest.raises(KingpostError, match="is damaged: its bytes do not have the hash"):
        replace(pack, library=pack.library[:-1]).install()
    assert packed(Kernel([observe_function()], "vm")) is None


def _build(folder):
    os.environ["KINGPOST_CACHE_DIR"] = folder
    kernel = Kernel([observe_function()], "c")
    return kernel.cached, kernel.note


def test_processes_that_need_the_same_kernel_build_it_once(own_cache, tmp_path, monkeypatch):
    script, log = tmp_path / "cc", tmp_path / "log"
    script.write_text(COUNTING.format(log=log))
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    own_cache.mkdir(mode=0o700)
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        done = pool.map(_build, [str(own_cache)] * 3, chunksize=1)
    assert log.read_text() == "once\n"
    assert sorted(cached for cached, _ in done) == [False, True, True]
    assert [entry.suffix for entry in own_cache.iterdir()] == [""]  # no lock is left


def test_a_wait_is_told(own_cache, monkeypatch):
    monkeypatch.setattr("kingpost.kernel.kernel.WORTH_TELLING", -1.0)
    kernel = Kernel([observe_function()], "c")
    assert "s of waiting for another process that compiled it" in kernel.note


def test_what_a_killed_build_leaves_is_no_obstacle(own_cache):
    compiler = find_compiler()
    assert compiler is not None
    key = build_cached("int one(void) { return 1; }\n", compiler).key
    (own_cache / f".{key}.lock").write_text("")  # nobody holds it
    record = json.loads((own_cache / key / "record.json").read_text())
    assert {"source", "processor", "sha256", "compiler", "flags"} <= record.keys()
    (own_cache / key / "kernel.so").write_bytes(b"half")
    assert not build_cached("int one(void) { return 1; }\n", compiler).cached
    assert [entry.name for entry in own_cache.iterdir()] == [key]
