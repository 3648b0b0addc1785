"""Steps that are given by equations to be solved: Newton's method with exact Jacobians, inside the compiled step.

Unknowns and equations are scaled so that each is a displacement, relative to the size of the coordinates: speeds by h,
multipliers by h^2, balances of momentum by h over the inertia. The matrix of the iteration then stays well conditioned as h
goes to zero; without this, index-3 equations stall near 1e-10 at small steps.

CasADi's generated Newton loop returns its last iterate whether it converged or not, and takes NaN for converged. So the
residual is looked at once more. If it is not small, which with very stiff forces may be round-off, a further iteration must
not move the unknowns. A step that fails this, too, comes out as NaN, which ends a run, unless it may be halved: then it is
repeated as two half steps, each of which may be halved again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.equations.equations import Equations
from kingpost.equations.integrator import StepMap
from kingpost.kernel.codegen import MATRIX, ORDERED, RESIDUAL, WATCHED
from kingpost.symbols.straightline import expanded, fused

#: Iterations end when the scaled unknowns move by less: convergence is quadratic, so about the square of this is left.
SMALL_STEP = 1e-10
#: ... or when no scaled residual is larger: round-off of numbers of the size one.
ROUND_OFF = 1e-16
#: The mean scaled residual with which a step is accepted at once.
ACCEPTED = 1e-10
#: The mean movement of the scaled unknowns in a further iteration with which it is accepted, else.
SETTLED = 1e-9
#: Entries of a scaled matrix below this change no solution, and products of four of them are hardly numbers any more.
NEGLIGIBLE = 1e-70
#: Residuals of up to this many operations become straight-line code, the faster one; larger ones would take a C compiler too
#: long.
STRAIGHT = 20_000


#: More halvings than this would hang a run that cannot go on.
MOST_HALVINGS = 12


@dataclass(frozen=True)
class NewtonOptions:
    """How the equations of a step are solved.

    ``iterations``: Newton iterations after which a step has failed. ``halvings``: how often a step that failed, and then its
    halves, may be taken as two half steps.
    """

    iterations: int = 20
    halvings: int = 0

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise MechanismError(f"iterations = {self.iterations}: Newton's method needs at least one iteration")
        if not 0 <= self.halvings <= MOST_HALVINGS:
            raise MechanismError(
                f"halvings = {self.halvings}: a step can be halved 0 to {MOST_HALVINGS} times, down to 1/{2**MOST_HALVINGS}"
            )


@dataclass(frozen=True, eq=False)
class Unscaled:
    """What the equations of a step are without their scales, for those who solve all steps of a motion at once."""

    #: How many factors, the first ones, are scales alone: other positive numbers do as well.
    scales: int
    #: (h, factors) -> by what each row of the residual was multiplied.
    weights: ca.Function
    #: (h, factors) -> sizes of the inertia that the balances of momentum were divided by.
    inertia: ca.Function
    #: The first row that is a balance of momentum, and the one behind the last.
    balances: tuple[int, int]
    #: (state after the step, multipliers, x, h, factors) -> scaled unknowns y, where they are nothing else.
    taken: ca.Function | None = None
    #: The rows of the state after a step that are not among the unknowns, but follow from them; where :attr:`taken` is given.
    followed: tuple[int, ...] = ()
    #: The equations in the state after the step itself, for steps whose unknowns are others; made only when somebody asks.
    stated: Callable[[], StatedStep] | None = None


@dataclass(frozen=True, eq=False)
class StatedStep:
    """The equations of a step in the state after it and multipliers, whatever its own unknowns are."""

    #: (state after the step and what is remembered, multipliers, t, x, u, p, h, factors) -> residual as the step has it, and
    #: rows that say what else such a state is.
    rows: ca.Function
    #: What the rows behind the residual say.
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class StepProblem:
    """The equations of one step; x is the state before it, followed by what the integrator remembers."""

    #: (t, x, u, p, h) -> first guess of the scaled unknowns y, and factors that the residual needs.
    guess: ca.Function
    #: (y, t, x, u, p, h, factors) -> scaled residual.
    residual: ca.Function
    #: (y, t, x, u, p, h, factors) -> state after the step, and what is remembered.
    following: ca.Function
    #: What each row of the residual says.
    rows: tuple[str, ...]
    #: What scales there are in it; None where nobody says.
    unscaled: Unscaled | None = None
    #: (y, t, x, u, p, h, factors) -> Jacobian by y, residual; None where it is found by differentiating :attr:`residual`.
    matrix: ca.Function | None = None
    #: Whether unknowns and rows are in an order in which they can be eliminated without a search for pivots.
    ordered: bool = False


class ImplicitStepMap(StepMap):
    """A step map whose next state is found by Newton's method."""

    Options = NewtonOptions

    @abstractmethod
    def problem(self, equations: Equations) -> StepProblem:
        """Return the equations of a step."""

    def solving(self, equations: Equations) -> StepProblem:
        """Return the equations by which a step is solved: others with the same solution, where they are faster."""
        return self.problem(equations)

    def step(self, equations: Equations, t: ca.MX, x: ca.MX, u: ca.MX, p: ca.MX, h: ca.MX) -> ca.MX:
        """Return the solution of :meth:`problem`, or NaN where Newton's method finds none."""
        if equations.nv + equations.nz == 0:
            return x
        newton = _newton(self, equations)
        known = [t, x, u, p, h]
        if not self.options.halvings:
            return newton.solved(known)
        symbols = [ca.MX.sym(f"i{k}", item.numel()) for k, item in enumerate(known)]
        whole = ca.Function("kp_whole", symbols, [newton.solved(symbols)])
        return _halved(whole, newton.restart, self.options.halvings)(*known)


class NewtonLoop:
    """Newton's method for the equations of a step, as part of a compiled function."""

    def __init__(self, problem: StepProblem, iterations: int, flush: bool = False) -> None:
        self.problem, self.iterations = problem, iterations
        names, result = problem.residual.name_in(), problem.residual.name_out(0)
        #: (y, t, x, u, p, h, factors) -> matrix of the iteration, residual.
        self.matrix = problem.matrix or problem.residual.factory(MATRIX, names, [f"jac:{result}:{names[0]}", result])
        if flush:
            self.matrix = _flushed(self.matrix)

    def solved(self, known: list[ca.MX]) -> ca.MX:
        """Return the state after a step, or NaN."""
        problem = self.problem
        guess, factors = problem.guess.call(known)
        if not self.ordered:
            return problem.following(self._accepted(guess, known, factors), *known, factors)
        (y,) = self._solver(self.iterations, f"{ORDERED}_newton").call([guess, *known, factors])
        left = _mean(problem.residual(y, *known, factors))
        # With pivots, where the order was not good enough, or what it takes to see that there is no solution.
        given = [ca.MX.sym(f"i{k}", item.numel()) for k, item in enumerate([y, guess, *known, factors])]
        keep = ca.Function("kp_kept", given, [given[0]])
        repeat = ca.Function("kp_repeated", given, [self._accepted(given[1], given[2:-1], given[-1])])
        (y,) = ca.Function.if_else("kp_pivoted", keep, repeat).call([left <= ACCEPTED, y, guess, *known, factors])
        return problem.following(y, *known, factors)

    @property
    def ordered(self) -> bool:
        """Whether the equations can be eliminated in their order; the residual alone needs room where the matrix has it."""
        residual, matrix = self.problem.residual, self.matrix
        rooms = zip(*((f.sz_arg(), f.sz_res(), f.sz_iw(), f.sz_w()) for f in (residual, matrix)), strict=True)
        return self.problem.ordered and residual.name() == RESIDUAL and all(own <= other for own, other in rooms)

    def _accepted(self, guess: ca.MX, known: list[ca.MX], factors: ca.MX) -> ca.MX:
        """Return the solution of a step, or NaN, by iterations that look for pivots."""
        (y,) = self._solver(self.iterations).call([guess, *known, factors])
        left = _mean(self.problem.residual(y, *known, factors))
        (y,) = self._acceptance().call([left <= ACCEPTED, y, *known, factors])
        return y

    def _solver(self, iterations: int, name: str = WATCHED) -> ca.Function:
        options: dict[str, Any] = {
            "abstol": ROUND_OFF,
            "abstolStep": SMALL_STEP,
            "max_iter": iterations,
            "error_on_fail": False,
            "jacobian_function": self.matrix,
        }
        return ca.rootfinder(name, "fast_newton", self.problem.residual, options)

    def _acceptance(self) -> ca.Function:
        """Return the function (accepted, y, t, x, u, p, h, factors) -> y, or after a further iteration y or NaN."""
        residual = self.problem.residual
        given = [ca.MX.sym(f"i{k}", residual.numel_in(k)) for k in range(residual.n_in())]
        (further,) = self._solver(1).call(given)
        settled = _mean(further - given[0]) <= SETTLED
        checked = ca.if_else(settled, further, ca.MX.nan(further.numel()))
        return ca.Function.if_else(
            "kp_acceptance", ca.Function("kp_accepted", given, [given[0]]), ca.Function("kp_checked", given, [checked])
        )

    def iterated(
        self, t: float, x: FloatArray, u: FloatArray, p: FloatArray, h: float, halvings: int = 0
    ) -> tuple[NewtonRecord, FloatArray]:
        """Return how the iteration goes that :meth:`solved` describes, and the state after the step."""
        problem, most = self.problem, self.iterations
        known: list[Any] = [t, x, u, p, h]
        guess, factors = problem.guess.call(known)
        y = np.asarray(guess).ravel()
        history: list[float] = []
        worst, solves, moved = 0, 0, np.inf
        for iteration in range(most + 1):
            matrix, left = (np.asarray(part.full()) for part in self.matrix.call([y, *known, factors]))
            left = left.ravel()
            finite = np.isfinite(left).all()
            worst = int(np.abs(left).argmax() if finite else np.isfinite(left).argmin())
            history.append(float(np.abs(left).max()) if finite else float("nan"))
            if not finite or not np.isfinite(matrix).all():
                break
            try:
                change = np.linalg.solve(matrix, left)
            except np.linalg.LinAlgError:
                change = np.linalg.lstsq(matrix, left, rcond=None)[0]
            moved = float(np.abs(change).mean())
            if history[-1] <= ROUND_OFF or iteration == most:
                break
            y, solves = y - change, solves + 1
            if np.abs(change).max() <= SMALL_STEP:
                break
        converged = bool(np.isfinite(left).all() and (np.abs(left).mean() <= ACCEPTED or moved <= SETTLED))
        record = NewtonRecord(tuple(history), solves, converged, problem.rows[worst], t, h, halvings)
        return record, np.asarray(problem.following(y, *known, factors)).ravel()


def _flushed(matrix: ca.Function) -> ca.Function:
    """Return the function of a matrix and a residual with zeros for entries whose products vanish.

    The reflections of CasADi's sparse QR divide by the length of a column, which is zero if these are all that it has: where
    roundings of a plane motion in space are multiplied with each other. Columns that were reflected before hold products.
    """
    names, results = matrix.name_in(), matrix.name_out()
    symbols = [ca.MX.sym(name, matrix.sparsity_in(k)) for k, name in enumerate(names)]
    J, r = matrix.call(symbols)
    entries = J.nz[:]
    flushed = ca.MX(J.sparsity(), entries * (ca.fabs(entries) > NEGLIGIBLE))
    return ca.Function(matrix.name(), symbols, [flushed, r], names, results)


class _Newton(NewtonLoop):
    """The iteration for the steps of one integrator and some equations."""

    def __init__(self, integrator: ImplicitStepMap, equations: Equations) -> None:
        super().__init__(integrator.solving(equations), integrator.options.iterations)
        self.restart = _restart(integrator, equations)


#: What has been derived, for as long as somebody uses the equations.
_DERIVED: WeakKeyDictionary[Equations, WeakKeyDictionary[ImplicitStepMap, _Newton]] = WeakKeyDictionary()


def _newton(integrator: ImplicitStepMap, equations: Equations) -> _Newton:
    known = _DERIVED.setdefault(equations, WeakKeyDictionary())
    if integrator not in known:
        known[integrator] = _Newton(integrator, equations)
    return known[integrator]


def _restart(integrator: StepMap, equations: Equations) -> ca.Function:
    """Return the function (t, x, u, p, h) -> the same state, followed by what the integrator remembers when it begins there."""
    size, extra = equations.nx, integrator.memory(equations)
    t, x, u, p, h = symbols = [ca.MX.sym(f"i{k}", n) for k, n in enumerate([1, size + extra, equations.nu, equations.np, 1])]
    if not extra:
        return ca.Function("kp_restarted", symbols, [x])
    # Its own symbols: an integrator may differentiate with respect to them.
    state = [t, ca.MX.sym("x", size), u, p, h]
    begin = ca.Function("kp_begin", state, [ca.densify(integrator.start_memory(equations, *state))])
    return ca.Function("kp_restarted", symbols, [ca.vertcat(x[:size, :], begin(t, x[:size, :], u, p, h))])


def _halved(whole: ca.Function, restart: ca.Function, halvings: int) -> ca.Function:
    """Return the step ``whole`` as one that is taken as two half steps where it fails, and so on.

    Every depth is a function of its own that calls the next one, so code grows with the number of halvings, not of half steps.
    A method that remembers something begins anew with the first half, and again after the second.
    """
    t, x, u, p, h = symbols = [ca.MX.sym(f"i{k}", whole.numel_in(k)) for k in range(whole.n_in())]
    result = ca.MX.sym("result", whole.numel_out(0))
    keep = ca.Function("kp_done", [result, *symbols], [result])
    step = whole
    for depth in range(halvings):
        middle = step(t, restart(t, x, u, p, h / 2), u, p, h / 2)
        end = restart(t + h, step(t + h / 2, middle, u, p, h / 2), u, p, h)
        halves = ca.Function(f"kp_halves_{depth}", [result, *symbols], [end])
        choice = ca.Function.if_else(f"kp_choice_{depth}", keep, halves)
        (done,) = whole.call(symbols)
        # From a state that is not there no shorter step helps.
        good = ca.logic_or(_finite(done), ca.logic_not(_finite(x)))
        step = ca.Function(f"kp_halved_{depth}", symbols, choice.call([good, done, *symbols]))
    return step


def _finite(vector: ca.MX) -> ca.MX:
    # CasADi would take 0 * vector for zero whatever the vector holds.
    return ca.sum1(ca.fabs(vector) <= np.finfo(float).max) == vector.numel()


def _mean(vector: ca.MX) -> ca.MX:
    """Return the mean size of the entries; unlike the largest one that C code finds, it is NaN if one of them is."""
    return ca.sum1(ca.fabs(vector)) / vector.numel()


def straightened(function: ca.Function, equations: Equations) -> ca.Function:
    """Return a function as straight-line code where that is possible and small enough."""
    if equations.all_externals or isinstance(equations.q, ca.MX):
        return function
    straight = expanded(function)
    return fused(function) if straight is not None and straight.n_nodes() <= STRAIGHT else function


@dataclass(frozen=True)
class NewtonRecord:
    """How the iteration of one step went."""

    #: Largest scaled residual before each iteration, and after the last.
    residuals: tuple[float, ...]
    #: Linear equations solved.
    iterations: int
    converged: bool
    #: What the row with the largest residual says.
    worst: str
    #: Begin and length of the step in s, and how often it had been halved.
    t: float
    h: float
    halvings: int = 0

    def explain(self) -> str:
        """Return the course of the iteration in one sentence."""
        shown = [f"{value:.1e}" for value in self.residuals]
        if len(shown) > 8:
            shown = [*shown[:4], "...", *shown[-3:]]
        times = "once" if self.halvings == 1 else f"{self.halvings} times"
        halved = f", nor when it was halved {times}, to {self.h:g} s from t = {self.t:.9g} s" if self.halvings else ""
        return (
            f"Newton's method did not solve the equations of the step in {len(self.residuals) - 1} iterations{halved} (largest "
            f"scaled residual {', '.join(shown)}); the worst is {self.worst}"
        )


def repeat_newton(
    integrator: ImplicitStepMap, equations: Equations, t: float, x: FloatArray, u: FloatArray, p: FloatArray, h: float
) -> NewtonRecord:
    """Carry out the iteration of one step in Python, to see how it goes; of a step that is halved, that of its last part."""
    return repeat_step(integrator, equations, t, x, u, p, h)[-1]


def repeat_step(
    integrator: ImplicitStepMap, equations: Equations, t: float, x: FloatArray, u: FloatArray, p: FloatArray, h: float
) -> list[NewtonRecord]:
    """Carry out one step in Python, halved where it must be, and return all iterations in their order."""
    newton = _newton(integrator, equations)
    most: int = integrator.options.halvings
    records: list[NewtonRecord] = []

    def begin(t: float, x: FloatArray, h: float) -> FloatArray:
        return np.asarray(newton.restart(t, x, u, p, h)).ravel()

    def go(t: float, x: FloatArray, h: float, halvings: int) -> FloatArray | None:
        record, following = newton.iterated(t, x, u, p, h, halvings)
        records.append(record)
        if record.converged or halvings == most:
            return following if record.converged else None
        middle = go(t, begin(t, x, h / 2), h / 2, halvings + 1)
        end = None if middle is None else go(t + h / 2, middle, h / 2, halvings + 1)
        return None if end is None else begin(t + h, end, h)

    go(t, np.asarray(x, dtype=float), h, 0)
    return records


def solved_for(integrator: ImplicitStepMap, equations: Equations) -> str:
    """Return which equations a step is solved by, and how, in a few words."""
    newton = _newton(integrator, equations)
    count = newton.problem.residual.numel_out(0)
    if newton.ordered:
        return f"{count} motions of bodies and multipliers, in a fixed order"
    return f"{count} unknowns of the method, by sparse QR"


#: Steps that are repeated to see how many iterations they take.
REPEATED = 11


def iteration_statistics(
    integrator: ImplicitStepMap,
    equations: Equations,
    states: Callable[[int], tuple[float, FloatArray, FloatArray]],
    count: int,
    p: FloatArray,
    h: float,
) -> dict[str, float]:
    """Return mean and largest number of Newton iterations of at most 11 steps, spread evenly over ``count`` states.

    ``states(k)`` gives time, state [q; v] and inputs. A method that remembers something begins anew at each of them.
    """
    if equations.nv + equations.nz == 0 or count < 1:
        return {}
    restart = _newton(integrator, equations).restart
    extra = np.zeros(integrator.memory(equations))
    found: list[int] = []
    for k in np.unique(np.linspace(0, count - 1, min(count, REPEATED)).astype(int)):
        t, x, u = states(int(k))
        x = np.asarray(restart(t, np.concatenate([x, extra]), u, p, h)).ravel()
        found.append(sum(record.iterations for record in repeat_step(integrator, equations, t, x, u, p, h)))
    return {"mean": round(float(np.mean(found)), 2), "largest": max(found), "steps_looked_at": len(found)}
