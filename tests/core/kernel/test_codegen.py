"""Generated sources."""

import subprocess
import sys

import casadi as ca
import numpy as np
import pytest

from kingpost import SolverError
from kingpost.kernel.codegen import SELDOM, can_fail, generated
from kingpost.kernel.kernel import Kernel


def test_the_source_is_the_same_in_every_process():
    code = (
        "from kingpost.testing.problems import pendulum; from kingpost import prepare;"
        "print(prepare(pendulum(), 1.0, backend='c').kernel.key)"
    )
    keys = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert len(keys) == 1


def doubled():
    """Return a function of functions that cannot fail."""
    x = ca.SX.sym("x", 2)
    inner = ca.Function("inner", [x], [ca.sin(x)], {"never_inline": True})
    y = ca.MX.sym("y", 2)
    return ca.Function("kp_doubled", [y], [2 * inner(inner(y))])


def root():
    """Return the function p -> x with x^2 = p, found in 6 rounds from x = 1: enough near there, and not for a million."""
    x, p = ca.SX.sym("x"), ca.SX.sym("p")
    found = ca.rootfinder("found", "fast_newton", {"x": x, "p": p, "g": x * x - p}, {"max_iter": 6})
    q = ca.MX.sym("p")
    return ca.Function("kp_root", [q], [found(x0=1.0, p=q)["x"]])


def test_code_that_can_fail_is_told_from_code_that_cannot():
    assert not can_fail(generated("kernel", [doubled()]))
    assert can_fail(generated("kernel", [doubled(), root()]))


def test_an_evaluator_takes_numbers_and_arrays_and_says_when_it_failed():
    kernel = Kernel([doubled(), root()], backend="c")
    evaluate = kernel.evaluator("kp_root")
    wanted = np.sqrt(2.0)
    for two in (2, 2.0, np.float64(2.0), np.array(2.0), np.array([2.0]), [2.0]):
        assert abs(evaluate(two) - wanted) <= 1e-12  # Newton's method ends within the square of its last step, 1e-8
    with pytest.raises(SolverError, match="its internal solver did not converge"):
        evaluate(1e6)
    with pytest.raises(TypeError, match="'kp_root' takes 1 arguments, got 2"):
        evaluate(1.0, 2.0)
    alone = Kernel([doubled()], backend="c").evaluator("kp_doubled")
    first, second = alone(np.array([0.1, 0.2])), alone([0.3, 0.4])
    assert np.array_equal(first, 2 * np.sin(np.sin([0.1, 0.2])))  # not overwritten by the second
    assert np.array_equal(second, 2 * np.sin(np.sin([0.3, 0.4])))


def test_what_is_called_seldom_is_not_polished_but_what_others_call_too_is():
    x = ca.SX.sym("x", 2)
    both, alone = (ca.Function(name, [x], [f(x)], {"never_inline": True}) for name, f in (("both", ca.sin), ("alone", ca.cos)))
    y = ca.MX.sym("y", 2)
    usual, seldom = ca.Function("usual", [y], [both(y)]), ca.Function(SELDOM, [y], [both(alone(y))])
    either = ca.Function("kp_try", [y], [ca.Function.if_else("kp_either", usual, seldom)(y[0] > 0, y)])
    code = generated("kernel", [either])
    marked = {
        name: "KP_UNPOLISHED static int" in code[code.index(f"/* {name}:") :].partition("{")[0]
        for name in ("usual", "both", "alone", SELDOM, "kp_either")
    }
    assert marked == {"usual": False, "both": False, "alone": True, SELDOM: True, "kp_either": False}
    assert "KP_UNPOLISHED" not in generated("kernel", [doubled()])
    evaluate = Kernel([either], backend="c").evaluator("kp_try")
    assert np.array_equal(evaluate([0.5, 1.0]), np.sin([0.5, 1.0]))
    assert np.abs(evaluate([-0.5, 1.0]) - np.sin(np.cos([-0.5, 1.0]))).max() < 1e-15
