"""Who waits for a compiler is told what it does; and those who need the same wait for one."""

import threading

import pytest

from kingpost.kernel import bounded
from kingpost.kernel.compiler import Compiler, build_cached, find_compiler
from kingpost.kernel.telling import told

SOURCE = "int answer(void) { return 42; }\n"


@pytest.fixture
def slow_compiler(tmp_path):
    """A compiler that takes its time and writes down when it is called."""
    real = find_compiler()
    if real is None:
        pytest.skip("there is no C compiler")
    script = tmp_path / "slow-cc"
    script.write_text(f'#!/bin/sh\necho called >> "{tmp_path}/calls"\nsleep 0.4\nexec {" ".join(real.command)} "$@"\n')
    script.chmod(0o755)
    return Compiler((str(script),), "slow 1.0")


def test_what_a_compiler_does_and_for_how_long(tmp_path, monkeypatch, slow_compiler):
    monkeypatch.setattr(bounded, "LOOK", 0.05)
    heard = []
    cache = tmp_path / "cache"
    with told(heard.append):
        build_cached(SOURCE, slow_compiler, cache)
        first = list(heard)
        heard.clear()
        build_cached(SOURCE + "/* another */\n", slow_compiler, cache)
        assert build_cached(SOURCE, slow_compiler, cache).cached
    assert len(first) >= 4
    assert first[0].expected is None
    assert [doing.seconds for doing in first] == sorted(doing.seconds for doing in first)
    assert first[-1].words == f"compiling 0 kB of C with {slow_compiler.command[0]} ({first[-1].seconds:.0f} s)"
    assert heard[0].expected > 0.3  # as the first one took
    assert heard[0].words.endswith("(0 s, usually 1 s)")


def test_nobody_need_listen(tmp_path, slow_compiler):
    assert not build_cached(SOURCE, slow_compiler, tmp_path / "cache").cached


def test_those_who_need_the_same_build_it_once(tmp_path, slow_compiler):
    heard, built = [], []

    def build():
        with told(heard.append):
            built.append(build_cached(SOURCE, slow_compiler, tmp_path / "cache"))

    threads = [threading.Thread(target=build) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "calls").read_text() == "called\n"
    assert sorted(each.cached for each in built) == [False, True, True]
    assert "waiting for another process that compiles the same (0 s)" in {doing.words for doing in heard}
