"""The functions of one interval, in machine code where a compiler is at hand, and those of the start and of the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from kingpost.base.errors import SolverError
from kingpost.kernel.codegen import generated
from kingpost.kernel.compiler import QUICK_LEVEL, CompilerError, build_cached, find_compiler
from kingpost.kernel.kernel import Backend
from kingpost.symbols.straightline import expanded

#: Straight-line code of more operations is left as it is: nested functions.
LONGEST_BLOCK = 400_000
#: The functions of :class:`Blocks` that are called for every interval in every iteration.
COMPILED = ("value", "cost", "cost_slope", "slope", "curvature")
#: Straight-line code of more operations is interpreted, unless machine code is demanded. It is that of directors and null
#: spaces, which begin near their optimum: few iterations save less than the 1 to 10 s that a C compiler takes for it.
LONGEST_COMPILED = 8_000
#: Seconds that a C compiler takes at least, and for each operation; seconds that machine code saves in each operation; and
#: iterations that most programs take at most. Measured; a factor of two in them hardly matters.
STARTING, COMPILING, SAVED, ITERATIONS = 0.09, 6.5e-5, 4e-9, 30


@dataclass(frozen=True, eq=False)
class Blocks:
    """An interval, the start and the end; theta are the numbers that all of them share."""

    #: (local, k, theta) -> rows.
    value: ca.Function
    #: (local, k, theta) -> cost; -> cost, and nonzeros of its gradient. Apart from the rows, for most costs are simple.
    cost: ca.Function
    cost_slope: ca.Function
    cost_pattern: ca.Sparsity
    #: (local, k, theta) -> nonzeros of the Jacobian of the rows, and the rows.
    slope: ca.Function
    slope_pattern: ca.Sparsity
    #: (local, k, theta, lam, sigma) -> nonzeros of the upper triangle of the Hessian of sigma cost + lam . rows.
    curvature: ca.Function
    curvature_pattern: ca.Sparsity
    #: (local, k, theta, lam) -> Hamiltonian, slopes by the inputs of lam . rows / h, and of the cost / h.
    hamiltonian: ca.Function
    #: (local of the first interval, theta) -> rows of the start, and its derivatives; (last node, theta) -> rows of the end.
    first: ca.Function
    first_slope: ca.Function
    first_pattern: ca.Sparsity
    first_curvature: ca.Function
    first_curvature_pattern: ca.Sparsity
    last: ca.Function
    last_slope: ca.Function
    last_pattern: ca.Sparsity
    last_curvature: ca.Function
    last_curvature_pattern: ca.Sparsity
    #: How many numbers there are in theta before the scales.
    numbers: int
    backend: str
    note: str
    #: Where the machine code is, if all that are called for every interval are in it; and what was compiled.
    library: str = ""
    source: Blocks | None = None

    @property
    def rows(self) -> int:
        """The number of rows of an interval."""
        return int(self.value.numel_out(0))

    @property
    def first_rows(self) -> int:
        """The number of rows of the start."""
        return int(self.first.numel_out(0))

    @property
    def last_rows(self) -> int:
        """The number of rows of the end."""
        return int(self.last.numel_out(0))


def build_blocks(interval: ca.Function, first: ca.Function, last: ca.Function, numbers: int) -> Blocks:
    """Differentiate the functions of a program.

    ``interval`` is (local, k, theta, h as a number beside that in theta, all inputs once more) -> rows, cost; see
    :mod:`kingpost.control.optimal.transcribing`. Its local variables, and those of the start and of the end, are unscaled.
    """
    edges = {**_edge(_straight(first), "first", numbers), **_edge(_straight(last), "last", numbers)}
    made = {**_interval_functions(_straight(interval), numbers), **edges}
    return Blocks(**made, numbers=numbers, backend="vm", note="interpreter, as asked")


def compiled_blocks(blocks: Blocks, backend: Backend) -> Blocks:
    """Return blocks whose functions of an interval are machine code, as far as that is to be had."""
    functions = {name: getattr(blocks, name) for name in COMPILED}
    compiled, where, note, library = _compiled(list(functions.values()), backend)
    changed: dict[str, Any] = dict(zip(functions, compiled, strict=True))
    return replace(blocks, backend=where, note=note, library=library, source=blocks, **changed)


def worth_compiling(blocks: Blocks, intervals: int) -> bool:
    """Say whether a compiler takes less time than machine code saves in a program with so many intervals."""
    functions = [getattr(blocks, name) for name in COMPILED]
    if not all(function.is_a("SXFunction") for function in functions):
        return True
    operations = sum(size for size in map(_operations, functions) if size <= LONGEST_COMPILED)
    return SAVED * operations * intervals * ITERATIONS > STARTING + COMPILING * operations


def _straight(function: ca.Function) -> ca.Function:
    straight = expanded(function)
    return function if straight is None or straight.n_nodes() > LONGEST_BLOCK else straight


def _symbols(function: ca.Function) -> list[Any]:
    if function.is_a("SXFunction"):
        return [ca.SX.sym(function.name_in(i), function.sparsity_in(i)) for i in range(function.n_in())]
    return [ca.MX.sym(function.name_in(i), function.sparsity_in(i)) for i in range(function.n_in())]


def _shared(function: ca.Function) -> ca.Function:
    """Return straight-line code in which nothing is computed twice; long code as it is, for little of it is, and it is slow."""
    if not function.is_a("SXFunction") or function.n_nodes() > LONGEST_COMPILED:
        return function
    symbols = function.sx_in()
    return ca.Function(function.name(), symbols, ca.cse(function.call(symbols)))


def _nonzeros(matrix: Any) -> Any:
    # Those of a matrix with one row are a row, too.
    return ca.vec(matrix.nz[:]) if matrix.nnz() else type(matrix)(0, 1)


class _Scaling:
    """Functions of unscaled variables, of which theta has the scales behind its numbers, as functions of scaled ones.

    Derivatives are taken by the unscaled ones, and multiplied by scales afterwards: so those by states at both ends of an
    interval are the same expressions in many places, and computed once.
    """

    def __init__(self, w: Any, theta: Any, numbers: int) -> None:
        self.w, self.theta = w, theta
        self.scales = theta[numbers : numbers + w.numel()]

    def slopes(self, matrix: Any) -> Any:
        """Return the nonzeros of a Jacobian as derivatives by scaled variables."""
        return _nonzeros(matrix) * self.scales[matrix.sparsity().get_col()]

    def curvatures(self, matrix: Any) -> Any:
        """Return the nonzeros of a Hessian in the same way."""
        pattern = matrix.sparsity()
        return _nonzeros(matrix) * (self.scales[pattern.row()] * self.scales[pattern.get_col()])

    def function(self, name: str, others: Sequence[Any], results: Sequence[Any]) -> ca.Function:
        """Return the function (scaled variables, others, theta among them) -> results."""
        plain = ca.Function("kp_unscaled", [self.w, *others], list(results))
        return _shared(ca.Function(name, [self.w, *others], plain.call([self.w * self.scales, *others])))


def _interval_functions(interval: ca.Function, numbers: int) -> dict[str, Any]:
    w, k, theta, stretch, more = _symbols(interval)
    kind = type(w)
    rows, cost = interval(w, k, theta, stretch, more)
    given, scaling = [k, theta], _Scaling(w, theta, numbers)
    plain = [1.0, kind.zeros(more.numel())]
    lam, sigma = kind.sym("lam", rows.numel()), kind.sym("sigma")
    r, c = interval(w, k, theta, *plain)
    J, steepness = ca.jacobian(r, w), ca.jacobian(c, w)
    H = _curvature(ca.vertcat(r, c), ca.vertcat(lam, sigma), w, given)
    # The derivative by the length of the interval, at fixed states: -H^d h, since h is stretched.
    whole = ca.dot(lam, rows)
    slopes = [ca.jacobian(cost + whole, stretch), ca.jacobian(whole, more).T, ca.jacobian(cost, more).T]
    at = ca.Function("kp_slopes", [w, *given, lam, stretch, more], [ca.densify(item) for item in slopes])
    return {
        "value": scaling.function("kp_value", given, [ca.densify(r)]),
        "cost": scaling.function("kp_cost", given, [c]),
        "cost_slope": scaling.function("kp_cost_slope", given, [c, scaling.slopes(steepness)]),
        "cost_pattern": steepness.sparsity().T,
        "slope": scaling.function("kp_slope", given, [scaling.slopes(J), ca.densify(r)]),
        "slope_pattern": J.sparsity(),
        "curvature": scaling.function("kp_curvature", [*given, lam, sigma], [scaling.curvatures(H)]),
        "curvature_pattern": H.sparsity(),
        "hamiltonian": scaling.function("kp_hamiltonian", [*given, lam], at(w, *given, lam, *plain)),
    }


def _curvature(results: Any, weights: Any, w: Any, others: list[Any]) -> Any:
    """Return the upper triangle of the Hessian of weights . results, in as few operations as can be had."""
    from kingpost.symbols.affine import affine_parts  # not before a program is built

    parts = affine_parts(results, w, others) if isinstance(results, ca.SX) else None
    found = ca.hessian(ca.dot(weights, results), w)[0] if parts is None else parts.hessian(weights, w)
    return ca.triu(found)


def _edge(function: ca.Function, name: str, numbers: int) -> dict[str, Any]:
    w, theta = _symbols(function)
    kind, scaling = type(w), _Scaling(w, theta, numbers)
    r = ca.densify(function(w, theta))
    J = ca.jacobian(r, w)
    lam = kind.sym("lam", r.numel())
    H: Any = ca.triu(ca.hessian(ca.dot(lam, r), w)[0]) if r.numel() else kind(w.numel(), w.numel())
    return {
        name: scaling.function(f"kp_{name}", [theta], [r]),
        f"{name}_slope": scaling.function(f"kp_{name}_slope", [theta], [scaling.slopes(J)]),
        f"{name}_pattern": J.sparsity(),
        f"{name}_curvature": scaling.function(f"kp_{name}_curvature", [theta, lam], [scaling.curvatures(H)]),
        f"{name}_curvature_pattern": H.sparsity(),
    }


def _compiled(functions: Sequence[ca.Function], backend: Backend) -> tuple[list[ca.Function], str, str, str]:
    """Return functions as machine code, or as they are; where they run, why, and the library if all of them are in it."""
    compiler = find_compiler()
    if compiler is None:
        if backend == "c":
            raise SolverError("backend 'c' was asked for, but no C compiler was found")
        return list(functions), "vm", "interpreter: no C compiler was found", ""
    short = [function for function in functions if backend == "c" or _operations(function) <= LONGEST_COMPILED]
    try:
        built = build_cached(generated("kp_optimal", short), compiler, level=QUICK_LEVEL)
    except CompilerError as error:
        if backend == "c":
            raise SolverError(f"backend 'c' was asked for, but {error}") from None
        return list(functions), "vm", f"interpreter: {error}", ""
    made = {function.name(): ca.external(function.name(), str(built.library)) for function in short}
    note, library = "from the cache" if built.cached else "compiled", str(built.library)
    if len(short) < len(functions):
        library = ""
        note += f"; {len(functions) - len(short)} of {len(functions)} functions are interpreted, for they are long"
    return [made.get(function.name(), function) for function in functions], "c", note, library


def _operations(function: ca.Function) -> int:
    return int(function.n_nodes()) if function.is_a("SXFunction") else 0
