"""Machine code and interpreter, and the cache of compiled kernels."""

import dataclasses
import json
import multiprocessing
import shutil
import subprocess
import sys

import casadi as ca
import numpy as np
import pytest

from kingpost import ForceElement, SolverError, simulate
from kingpost.kernel.compiler import LIBRARY, build_cached, find_compiler
from kingpost.kernel.kernel import Kernel
from kingpost.testing.problems import pendulum, pushed_mass

SOURCE = "double twice(double x) { return 2 * x; }\n"


def observe_function(factor: float = 2.0) -> ca.Function:
    t, x, u, p = ca.SX.sym("t"), ca.SX.sym("x", 3), ca.SX.sym("u", 1), ca.SX.sym("p", 2)
    return ca.Function("kp_observe", [t, x, u, p], [ca.vertcat(factor * x + t, u * p)])


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("KINGPOST_CACHE_DIR", str(folder))
    return folder


@pytest.mark.parametrize("backend", ["c", "vm"])
def test_both_backends_sample_the_same(backend):
    kernel = Kernel([observe_function()], backend)
    assert kernel.backend == backend
    rng = np.random.default_rng(1)
    t, x, u, p = rng.normal(size=4), rng.normal(size=(4, 3)), rng.normal(size=(4, 1)), np.array([3.0, 5.0])
    y = kernel.sample(t, x, u, p)
    assert np.allclose(y, np.column_stack([2 * x + t[:, None], u * p]), rtol=1e-15, atol=0)
    assert np.array_equal(kernel.evaluator("kp_observe")(t[0], x[0], u[0], p), y[0])


@pytest.mark.parametrize("backend", ["c", "vm"])
def test_bound_arrays_are_read_in_place(backend):
    t, x, u, p = np.zeros(1), np.ones(3), np.ones(1), np.ones(2)
    evaluate, y = Kernel([observe_function()], backend).evaluator("kp_observe").bind(t, x, u, p)
    evaluate()
    assert y.tolist() == [2.0, 2.0, 2.0, 1.0, 1.0]
    x[1], t[0] = 5.0, 0.5
    evaluate()
    assert y.tolist() == [2.5, 10.5, 2.5, 1.0, 1.0]


def test_arrays_that_cannot_be_bound_are_refused():
    evaluator = Kernel([observe_function()], "vm").evaluator("kp_observe")
    good = [np.zeros(1), np.ones(3), np.ones(1), np.ones(2)]
    for wrong in (np.ones(4), np.ones(3, dtype=np.float32), np.ones(6)[::2]):
        with pytest.raises(SolverError, match="argument 1 of 'kp_observe' must be a contiguous float64 array of 3 numbers"):
            evaluator.bind(good[0], wrong, *good[2:])
    with pytest.raises(TypeError, match="'kp_observe' takes 4 arguments, got 1"):
        evaluator(1.0)


def test_both_backends_march_to_the_same_bits():
    runs = [
        simulate(pushed_mass(), 1.0, backend=backend, inputs={"push": lambda t: t}, output_step=0.05, step=0.01)
        for backend in ("c", "vm")
    ]
    # The same operations in the same order on the same processor, without contraction to fused operations.
    assert np.array_equal(runs[0].values, runs[1].values)
    assert [run.provenance["backend"]["loop"] for run in runs] == ["compiled", "python"]


def test_the_second_kernel_comes_from_the_cache(own_cache):
    first, second = Kernel([observe_function()], "c"), Kernel([observe_function()], "c")
    other = Kernel([observe_function(3.0)], "c")
    assert (first.cached, second.cached, other.cached) == (False, True, False)
    assert second.note == f"cache hit {first.key}"
    assert first.note.startswith("compiled in ")
    assert sorted(entry.name for entry in own_cache.iterdir()) == sorted({first.key, other.key})


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


def test_without_a_compiler_the_interpreter_is_used(monkeypatch, tmp_path):
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


def test_an_unwritable_cache_is_no_obstacle(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("KINGPOST_CACHE_DIR", str(blocked / "cache"))
    assert Kernel([observe_function()], "c").backend == "c"


def test_the_source_is_the_same_in_every_process():
    code = (
        "from kingpost.testing.problems import pendulum; from kingpost import prepare;"
        "print(prepare(pendulum(), 1.0, backend='c').kernel.key)"
    )
    keys = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert len(keys) == 1


def test_a_run_that_explodes_says_when_and_where_and_keeps_what_it_had():
    spring = ForceElement("joint-spring", coordinate="rail.displacement", stiffness=-1e6)
    runaway = dataclasses.replace(pushed_mass(), forces=(spring,))
    for backend in ("c", "vm"):
        with pytest.raises(SolverError) as error:
            simulate(runaway, 10.0, step=0.1, backend=backend, settings={"rail.displacement": 1.0})
        message = str(error.value)
        history = error.value.history
        assert history is not None
        assert np.isfinite(history.values).all()
        # The square of the speed leaves the range of numbers before the speed does.
        stopped = history.time[-1] + 0.1
        assert f"'pushed-mass' with rk4: the state at t = {stopped:g} s is such that 'energy.kinetic' is inf; try" in message
        assert "rail.displacement.rate = " in message
        assert json.loads(json.dumps(dict(history.provenance), allow_nan=False))["outcome"] == "failed"


def test_a_state_that_leaves_the_numbers_stops_the_run_at_the_last_good_one(plugins):
    double_pendulum = plugins.models.get("double-pendulum")().build()
    for backend in ("c", "vm"):
        with pytest.raises(SolverError) as error:
            simulate(double_pendulum, 100.0, backend=backend, step=0.5)
        history = error.value.history
        assert history is not None
        assert f"the state after t = {history.time[-1]:g} s is not finite; try a step smaller than 0.5 s" in str(error.value)
        assert f"Last good state: shoulder.angle = {history['shoulder.angle'][-1]:.6g}" in str(error.value)


def test_an_input_of_the_wrong_length_or_not_finite_is_refused():
    with pytest.raises(Exception, match="input 'push' has 3 values, but the run has 101 output times"):
        simulate(pushed_mass(), 1.0, inputs={"push": np.zeros(3)})
    with pytest.raises(Exception, match="input 'push' is nan at t = 0.5 s"):
        simulate(pushed_mass(), 1.0, inputs={"push": lambda t: np.nan if t >= 0.5 else 0.0})
    with pytest.raises(Exception, match=r"has no input 'pusch'; did you mean 'push'\?"):
        simulate(pushed_mass(), 1.0, inputs={"pusch": 1.0})


def test_histories_are_read_only_and_name_their_channels():
    history = simulate(pendulum(), 0.1)
    with pytest.raises(ValueError, match="read-only"):
        history.values[0, 0] = 1.0
    with pytest.raises(Exception, match=r"no channel 'pivot.angel'; did you mean 'pivot.angle'\?"):
        history["pivot.angel"]
    assert history.unit("pivot.angle.rate") == "rad/s"
    assert history.select(["pivot.angle", "energy.total"]).shape == (11, 2)
