"""The cache of compiled kernels, and compilers that fail or are missing."""

import json
import multiprocessing
import shutil

import numpy as np
import pytest

from kingpost import KingpostError, SolverError, simulate
from kingpost.kernel.compiler import LIBRARY, build_cached, find_compiler
from kingpost.kernel.kernel import Kernel
from tests.core.kernel.functions import observe_function

SOURCE = "double twice(double x) { return 2 * x; }\n"


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("KINGPOST_CACHE_DIR", str(folder))
    return folder


def test_the_second_kernel_comes_from_the_cache(own_cache):
    first, second = Kernel([observe_function()], "c"), Kernel([observe_function()], "c")
    other = Kernel([observe_function(3.0)], "c")
    assert (first.cached, second.cached, other.cached) == (False, True, False)
    assert second.note == f"cache hit {first.key}"
    assert first.note.startswith("compiled in ")
    assert sorted(entry.name for entry in own_cache.iterdir()) == sorted({first.key, other.key})


def test_at_every_level_of_optimization_the_bits_are_the_same(own_cache, monkeypatch, plugins):
    """What most tests compile at level 0 gives the numbers of level 2, which users have."""
    crane = plugins.models.get("vessel-crane")().build()
    runs = []
    for level in ("", "0"):
        monkeypatch.setenv("KINGPOST_OPTIMIZE", level)
        runs.append(simulate(crane, 0.5, output_step=0.05, loads="all", backend="c", plugins=plugins))
    np.testing.assert_array_equal(runs[0].values, runs[1].values)
    flags = [json.loads(entry.read_text())["flags"] for entry in own_cache.glob("*/record.json")]
    assert {words[0] for words in flags} == {"-O0", "-O2"}


def test_a_level_that_there_is_not_is_refused(own_cache, monkeypatch):
    monkeypatch.setenv("KINGPOST_OPTIMIZE", "fast")
    with pytest.raises(KingpostError, match="KINGPOST_OPTIMIZE is 'fast'; it is the level at .*: 0, 1, 2, 3"):
        Kernel([observe_function()], "auto")


@pytest.mark.parametrize("damage", ["truncate", "garbage", "no record", "no library", "bad record"])
def test_a_damaged_entry_is_rebuilt(own_cache, damage):
    key = Kernel([observe_function()], "c").key
    entry = own_cache / key
    # Replaced, not overwritten: this process still has the old library mapped.
    shutil.copytree(entry, copy := own_cache / "copy")
    shutil.rmtree(entry)
    if damage == "truncate":
        (copy / LIBRARY).write_bytes((copy / LIBRARY).read_bytes()[:1000])
    elif damage == "garbage":
        (copy / LIBRARY).write_bytes(b"garbage" * 1000)
    elif damage == "no record":
        (copy / "record.json").unlink()
    elif damage == "no library":
        (copy / LIBRARY).unlink()
    else:
        (copy / "record.json").write_text("[")
    copy.rename(entry)
    again = Kernel([observe_function()], "c")
    assert (again.backend, again.cached, again.key) == ("c", False, key)
    assert np.allclose(again.sample(np.zeros(1), np.ones((1, 3)), np.zeros((1, 1)), np.zeros(2))[0, :3], 2.0)
    assert [entry.name for entry in own_cache.iterdir()] == [key]
    assert Kernel([observe_function()], "c").cached


def _build(folder):
    compiler = find_compiler()
    assert compiler is not None
    return str(build_cached(SOURCE, compiler, folder).library)


def test_processes_that_build_at_once_end_with_one_good_entry(tmp_path):
    context = multiprocessing.get_context("spawn")
    with context.Pool(4) as pool:
        libraries = pool.map(_build, [tmp_path] * 12)
    assert len(set(libraries)) == 1
    assert len(list(tmp_path.iterdir())) == 1
    compiler = find_compiler()
    assert compiler is not None
    assert build_cached(SOURCE, compiler, tmp_path).cached


def test_without_a_compiler_the_interpreter_is_used(monkeypatch, tmp_path, own_cache):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    kernel = Kernel([observe_function()])
    assert kernel.backend == "vm"
    assert "no C compiler was found (set CC" in kernel.note
    with pytest.raises(SolverError, match=r"backend 'c' was asked for, but no C compiler was found .* or use backend 'vm'"):
        Kernel([observe_function()], "c")


def test_a_compiler_that_fails_is_quoted(monkeypatch, tmp_path, own_cache):
    fake = tmp_path / "fakecc"
    fake.write_text('#!/bin/sh\n[ "$1" = --version ] && echo fakecc 1.0 && exit 0\necho no room left >&2\nexit 3\n')
    fake.chmod(0o755)
    monkeypatch.setenv("CC", str(fake))
    kernel = Kernel([observe_function()])
    assert kernel.backend == "vm"
    assert "the C compiler failed" in kernel.note
    assert "no room left" in kernel.note
    with pytest.raises(SolverError, match="no room left"):
        Kernel([observe_function()], "c")
    assert list(own_cache.iterdir()) == []


def test_a_compiler_that_hangs_is_ended_and_the_interpreter_used(monkeypatch, tmp_path, own_cache):
    """Also one that hangs in a program that it has started, and one that hangs before it says who it is."""
    fake = tmp_path / "fakecc"
    fake.write_text('#!/bin/sh\n[ "$1" = --version ] && echo fakecc 1.0 && exit 0\nsleep 60\n')
    fake.chmod(0o755)
    monkeypatch.setenv("CC", str(fake))
    monkeypatch.setattr("kingpost.kernel.compiler.compilation_limit", lambda size: 0.3)
    kernel = Kernel([observe_function()])
    assert kernel.backend == "vm"
    assert "the C compiler failed" in kernel.note and "did not end within 0 s and was stopped" in kernel.note
    with pytest.raises(SolverError, match="was stopped"):
        Kernel([observe_function()], "c")
    assert list(own_cache.iterdir()) == []
    fake.write_text("#!/bin/sh\nsleep 60\n")
    monkeypatch.setattr("kingpost.kernel.compiler.VERSION_LIMIT", 0.3)
    assert find_compiler() is None


def test_an_unwritable_cache_is_no_obstacle(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("KINGPOST_CACHE_DIR", str(blocked / "cache"))
    assert Kernel([observe_function()], "c").backend == "c"
