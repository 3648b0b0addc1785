"""Platforms and compilers."""

import pytest

from kingpost import ExportError, export
from kingpost.fmu.export.native.building import PLATFORMS, platforms_named
from tests.fmu.hosting import Hosted


def test_platforms():
    assert [platform.name for platform in platforms_named("win64+linux64 + darwin-arm64")] == [
        "win64",
        "linux64",
        "darwin-arm64",
    ]
    assert set(PLATFORMS) == {"linux64", "linux-arm64", "win64", "darwin64", "darwin-arm64"}
    with pytest.raises(ExportError, match="'mars' is no platform; there are: linux64, linux-arm64, win64"):
        platforms_named("linux64+mars")


@pytest.mark.slow
@pytest.mark.parametrize("fmi", [2, 3])
def test_at_every_level_of_optimization_the_bits_are_the_same(fmi, monkeypatch, tmp_path, machine, plugins):
    """What most tests compile at level 0 gives the numbers of level 2, which users have."""
    rows = []
    for level in ("", "0"):
        monkeypatch.setenv("KINGPOST_OPTIMIZE", level)
        path = tmp_path / f"level{level}.fmu"
        export(machine("double-pendulum"), path, to=f"native-fmu:fmi={fmi}", loads="all", plugins=plugins)
        with Hosted(path) as fmu:
            fmu.initialize()
            fmu.steps(20, 0.01)
            along = fmu.derivative(fmu.outputs, ["length1"], [1.0])
            rows.append([*fmu.get(fmu.outputs), *along])
    assert rows[0] == rows[1]


def test_a_compiler_that_fails_or_is_missing_is_named(monkeypatch, tmp_path, kingpost_cli):
    broken = tmp_path / "brokencc"
    broken.write_text('#!/bin/sh\n[ "$1" = --version ] && echo brokencc 1.0 && exit 0\necho out of paper >&2\nexit 3\n')
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    outcome = kingpost_cli("export", "double-pendulum", "-o", "dp.fmu")
    assert outcome.status == 7
    assert "the compiler failed: " in outcome.err and "out of paper" in outcome.err
    monkeypatch.setenv("CC", "no-such-compiler")
    outcome = kingpost_cli("export", "double-pendulum", "-o", "dp.fmu")
    if outcome.status != 0:  # with the 'cross' extra installed, Zig does it
        assert "no compiler for platform" in outcome.err and "pip install 'kingpost[cross]'" in outcome.err
        assert not (tmp_path / "dp.fmu").exists()
