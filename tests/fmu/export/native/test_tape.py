"""Derivatives by sweeps over tapes, against CasADi's derivatives of the same functions and against differences of values."""

import ctypes
import subprocess

import casadi as ca
import numpy as np
import pytest

from kingpost.fmu.export.native.sources import _shared
from kingpost.fmu.export.native.tape import KINDS, recorded, tape_source
from kingpost.kernel.compiler import find_compiler

HEADER = "typedef long long int kp_int;\n#define KP_FMI 3\n"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


class Sweeps:
    """Both sweeps over the tape of a function, compiled; each has a workspace that stays from call to call."""

    def __init__(self, function, folder):
        self.tape = recorded(function)
        self.source = tape_source({"it": self.tape}, {"along": ("it", "kp_along"), "back": ("it", "kp_back")})
        texts = {"model.h": HEADER, "sweeps.h": _shared("sweeps.h"), "tape.c": self.source}
        for name, text in texts.items():
            (folder / name).write_text(text)
        words = [*find_compiler().command, "-std=c99", "-pedantic-errors", "-Wall", "-Werror", "-shared", "-fPIC", "tape.c"]
        subprocess.run([*words, "-o", "tape.so", "-lm"], cwd=folder, check=True)
        self.library = ctypes.CDLL(str(folder / "tape.so"))
        self.rooms = {name: self._room(name) for name in ("along", "back")}
        self.sizes = {"along": len(self.tape.results), "back": self.tape.inputs}

    def _room(self, name):
        counts = [ctypes.c_longlong() for _ in range(4)]
        self.library[f"{name}_work"](*map(ctypes.byref, counts))
        _, _, whole, real = (count.value for count in counts)
        return np.zeros(whole, dtype=np.int64), np.zeros(real)

    def __call__(self, name, arguments, direction):
        rows = [np.array(row, dtype=float).ravel() for row in (*arguments, direction)]
        found = np.full(self.sizes[name], np.nan)
        pointers = (ctypes.c_void_p * len(rows))(*(row.ctypes.data for row in rows))
        result = (ctypes.c_void_p * 1)(found.ctypes.data)
        whole, real = (ctypes.c_void_p(room.ctypes.data) for room in self.rooms[name])
        assert self.library[name](pointers, result, whole, real, 0) == 0
        return found


def everything():
    """A function with every kind of operation, each of several others, and results that are an argument and a constant."""
    x, y = ca.SX.sym("x", 4), ca.SX.sym("y", 3)
    a, b, c, d = x[0], x[1], x[2], x[3]
    e, f, g = y[0], y[1], y[2]
    smooth = [
        a + b, a - b * c, a * b - d / e, -(a * c), (a - f) ** 2, (b * c) + (b * c), (a + 3) ** f, (2 + c * c) ** 1.7,
        1 / (a + b * f), ca.sqrt(2 + a * b), ca.exp(a - f), ca.expm1(b * a), ca.log(3 + a), ca.log1p(c * c), ca.sin(a * f),
        ca.cos(b - g), ca.tan(a / 3), ca.asin(a * b / 9), ca.acos(b * c / 9), ca.atan(a * g), ca.sinh(f * a), ca.cosh(a - b),
        ca.tanh(f + c), ca.asinh(a * d), ca.acosh(3 + a * a), ca.atanh(a * f / 9), ca.erf(b * g), ca.atan2(a + 4, b * f),
        ca.hypot(a, b * f), 2.5 ** (a * b),
    ]  # fmt: skip
    cornered = [
        ca.fabs(a - 3), ca.fmin(a, b * f), ca.fmax(a, b * f), ca.fmod(7 * a, 2 + b * b), ca.remainder(7 * a, 2 + c * c),
        ca.copysign(a * d, f - 5), ca.if_else(a < b, a * f, b * c), ca.if_else(ca.logic_and(a <= b, c != d), a * g, b / f),
        ca.if_else(ca.logic_or(a == b, ca.logic_not(c < d)), e * d, a + g), ca.floor(9 * a) * b, ca.ceil(9 * b) * a,
        ca.sign(a - 3) * c,
    ]  # fmt: skip
    return ca.Function("everything", [x, y], [ca.vertcat(*smooth, *cornered, b, 4.25)])


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory):
    return Sweeps(everything(), tmp_path_factory.mktemp("everything"))


def test_every_kind_of_operation_is_on_the_tape(sweeps):
    assert {KINDS[operation.kind] for operation in sweeps.tape.operations} == set(KINDS.values())


def test_both_ways_agree_with_casadi_and_with_differences(sweeps):
    function, rng = everything(), np.random.default_rng(3)
    along, back = function.forward(1), function.reverse(1)

    def numbers(*results):
        return np.concatenate([result.full().ravel() for result in results])

    for _ in range(5):
        arguments = rng.uniform(0.2, 1.5, 4), rng.uniform(0.2, 1.5, 3)
        seed, weights = rng.normal(size=7), rng.normal(size=len(sweeps.tape.results))
        x, y, dx, dy = map(ca.DM, (*arguments, seed[:4], seed[4:]))
        ours = sweeps("along", arguments, seed)
        theirs = numbers(along(x, y, 0, dx, dy))
        # Few operations lie between arguments and results: some rounding errors of values of order ten.
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)
        handed = sweeps("back", arguments, weights)
        np.testing.assert_allclose(handed, numbers(*back(x, y, 0, ca.DM(weights))), rtol=1e-12, atol=1e-12)
        assert handed @ seed == pytest.approx(weights @ ours, rel=1e-12)
        # Central differences: wrong by h^2 f''' / 6 and eps f / h, below 1e-8 with h = 1e-6 and values up to some hundred.
        h = 1e-6
        difference = numbers(function(x + h * dx, y + h * dy) - function(x - h * dx, y - h * dy)) / (2 * h)
        np.testing.assert_allclose(ours, difference, rtol=1e-6, atol=1e-7)


def test_columns_at_one_place_and_at_others_do_not_meet(sweeps):
    places = [([0.3, 0.8, 0.4, 0.9], [0.7, 0.5, 0.6]), ([0.3, 0.8, 0.4, 0.9], [0.7, 0.5, 0.61])]
    seeds = np.eye(7)
    first = [[sweeps("along", place, seed) for seed in seeds] for place in places]
    assert not np.array_equal(first[0], first[1])
    turns = [[sweeps("along", place, seed) for place in places] for seed in seeds]
    np.testing.assert_array_equal(np.array(first), np.array(turns).transpose(1, 0, 2))


def test_equals_share_and_other_branches_stay_out(tmp_path):
    x = ca.SX.sym("x", 2)
    results = [ca.fmax(x[0], x[1]), ca.fmin(x[0], x[1]), ca.if_else(x[0] > 0, ca.sqrt(x[0]), x[1]), ca.sqrt(x[0])]
    sweeps = Sweeps(ca.Function("f", [x], [ca.vertcat(*results)]), tmp_path)
    # At equal values either operand may be the larger one: CasADi takes the mean of both derivatives.
    np.testing.assert_array_equal(sweeps("along", [[2.0, 2.0]], [1.0, 0.0])[:2], [0.5, 0.5])
    # The root has no derivative at zero; what does not use it has, and so has what nobody asks for.
    np.testing.assert_array_equal(sweeps("along", [[0.0, 1.0]], [1.0, 3.0])[:3], [3.0, 1.0, 3.0])
    np.testing.assert_array_equal(sweeps("back", [[0.0, 1.0]], [0.0, 0.0, 2.0, 0.0]), [0.0, 2.0])
    assert np.isinf(sweeps("along", [[0.0, 1.0]], [1.0, 0.0])[3])
    assert np.isinf(sweeps("back", [[0.0, 1.0]], [0.0, 0.0, 0.0, 1.0])[0])


@pytest.mark.slow
def test_long_tapes_have_wider_places(tmp_path):
    x, n = ca.SX.sym("x", 2), 66_000
    value = x[0]
    for _ in range(n):
        value = value * x[1]
    sweeps = Sweeps(ca.Function("f", [x], [value]), tmp_path)
    assert sweeps.tape.places > 0xFFFF and "unsigned int" in sweeps.source
    # x0 x1^n, found by n products, each of which rounds.
    exact = [1.00001**n, 3 * n * 1.00001 ** (n - 1)]
    assert sweeps("back", [[3.0, 1.00001]], [1.0]) == pytest.approx(exact, rel=1e-10)
    assert sweeps("along", [[3.0, 1.00001]], [1.0, 2.0]) == pytest.approx(exact[0] + 2 * exact[1], rel=1e-10)


def test_other_operations_make_no_tape():
    x = ca.SX.sym("x")
    assert recorded(ca.Function("f", [x], [ca.erfinv(x)])) is None
