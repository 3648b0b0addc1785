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

from kingpost.base.errors import MechanismError
from kingpost.equations.equations import Equations
from kingpost.equations.integrator import StepMap
from kingpost.kernel.codegen import MATRIX, ORDERED, RESIDUAL, SELDOM, WATCHED
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
    #: Equations with the same solution by which a step is solved where these find nothing, if there are others.
    otherwise: StepProblem | None = None
    #: What the unknowns are, in a few words.
    unknowns: str = "unknowns of the method"


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
        told = self.told_step(equations, t, x, u, p, h)
        return told[: x.numel(), :] if self.tells(equations) else told

    def told_step(self, equations: Equations, t: ca.MX, x: ca.MX, u: ca.MX, p: ca.MX, h: ca.MX) -> ca.MX:
        """Return what :meth:`step` does; behind it, where :meth:`tells`, how many steps and halves the other ones solved."""
        if equations.nv + equations.nz == 0:
            return x
        newton = newton_of(self, equations)
        known = [t, x, u, p, h]
        if not self.options.halvings:
            return newton.told(known)
        symbols = [ca.MX.sym(f"i{k}", item.numel()) for k, item in enumerate(known)]
        whole = ca.Function("kp_whole", symbols, [newton.told(symbols)])
        return _halved(whole, newton.restart, self.options.halvings)(*known)

    def tells(self, equations: Equations) -> bool:
        """Say whether there are equations for steps that the first ones do not solve."""
        return equations.nv + equations.nz > 0 and newton_of(self, equations).otherwise is not None


class NewtonLoop:
    """Newton's method for the equations of a step, as part of a compiled function."""

    def __init__(self, problem: StepProblem, iterations: int, flush: bool = False) -> None:
        self.problem, self.iterations = problem, iterations
        #: What is tried where these equations are not solved.
        self.otherwise = None if problem.otherwise is None else NewtonLoop(problem.otherwise, iterations, flush)
        names, result = problem.residual.name_in(), problem.residual.name_out(0)
        #: (y, t, x, u, p, h, factors) -> matrix of the iteration, residual.
        self.matrix = problem.matrix or problem.residual.factory(MATRIX, names, [f"jac:{result}:{names[0]}", result])
        if flush:
            self.matrix = _flushed(self.matrix)

    def solved(self, known: list[ca.MX]) -> ca.MX:
        """Return the state after a step, or NaN."""
        told = self.told(known)
        return told if self.otherwise is None else told[: self.problem.following.numel_out(0), :]

    def told(self, known: list[ca.MX]) -> ca.MX:
        """Return the state after a step, or NaN; behind it, if there are other equations, 1 where these solved it, else 0."""
        problem = self.problem
        guess, factors = problem.guess.call(known)
        if self.otherwise is None and not self.ordered:
            return problem.following(self._accepted(guess, known, factors), *known, factors)
        (y,) = self._solver(self.iterations, f"{ORDERED}_newton" if self.ordered else WATCHED).call([guess, *known, factors])
        left = _mean(problem.residual(y, *known, factors))
        found = problem.following(y, *known, factors)
        given = [ca.MX.sym(f"i{k}", item.numel()) for k, item in enumerate([found, *known])]
        kept, repeated = given[0], self._repeated(given[1:])
        if self.otherwise is not None:
            kept, repeated = ca.vertcat(kept, 0), ca.vertcat(repeated, 1)
        keep, repeat = ca.Function("kp_kept", given, [kept]), ca.Function(SELDOM, given, [repeated])
        (told,) = ca.Function.if_else("kp_either", keep, repeat).call([left <= ACCEPTED, found, *known])
        return told

    def _repeated(self, known: list[ca.MX]) -> ca.MX:
        """Return the state where the order was not good enough, or the iteration went astray, or there is no solution."""
        if self.otherwise is not None:
            return self.otherwise.solved(known)
        guess, factors = self.problem.guess.call(known)
        return self.problem.following(self._accepted(guess, known, factors), *known, factors)

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


class StepNewton(NewtonLoop):
    """The iteration for the steps of one integrator and some equations."""

    def __init__(self, integrator: ImplicitStepMap, equations: Equations) -> None:
        super().__init__(integrator.solving(equations), integrator.options.iterations)
        self.restart = _restart(integrator, equations)


#: What has been derived, for as long as somebody uses the equations.
_DERIVED: WeakKeyDictionary[Equations, WeakKeyDictionary[ImplicitStepMap, StepNewton]] = WeakKeyDictionary()


def newton_of(integrator: ImplicitStepMap, equations: Equations) -> StepNewton:
    """Return the iteration for the steps of an integrator and some equations, derived once."""
    known = _DERIVED.setdefault(equations, WeakKeyDictionary())
    if integrator not in known:
        known[integrator] = StepNewton(integrator, equations)
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
    What a step tells behind its state is added up.
    A method that remembers something begins anew with the first half, and again after the second.
    """
    t, x, u, p, h = symbols = [ca.MX.sym(f"i{k}", whole.numel_in(k)) for k in range(whole.n_in())]
    size = x.numel()
    result = ca.MX.sym("result", whole.numel_out(0))
    keep = ca.Function("kp_done", [result, *symbols], [result])
    step = whole
    for depth in range(halvings):
        middle = step(t, restart(t, x, u, p, h / 2), u, p, h / 2)
        end = step(t + h / 2, middle[:size, :], u, p, h / 2)
        told = ca.vertcat(restart(t + h, end[:size, :], u, p, h), middle[size:, :] + end[size:, :])
        halves = ca.Function(f"kp_halves_{depth}", [result, *symbols], [told])
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
