"""Machine code and interpreter: the same numbers, and arrays that are read in place."""

import casadi as ca
import numpy as np
import pytest

from kingpost import SolverError, simulate
from kingpost.kernel import kernel as kernel_module
from kingpost.kernel.kernel import Kernel
from kingpost.testing.problems import pushed_mass
from tests.core.kernel.functions import observe_function


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


def test_sources_that_no_compiler_ends_with_are_interpreted(monkeypatch):
    monkeypatch.setattr(kernel_module, "LONGEST_SOURCE", 1000)
    x = ca.MX.sym("x")
    function = ca.Function("kp_rhs", [x], [ca.sin(x)])
    kernel = Kernel([function], "auto")
    assert kernel.backend == "vm"
    assert "MB, for which a compiler takes hours; backend 'c' has it compiled all the same" in kernel.note
    assert Kernel([function], "c").backend == "c"
