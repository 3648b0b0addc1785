"""Programs solved, and watched: progress as iterations go, a time limit, and the best iterate where it is stopped."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.optimal.program import NonlinearProgram
from kingpost.control.optimal.solver import NlpSolver, SolverOptions, Stated, plainly_stated

#: IPOPT's own words for an optimum.
OPTIMAL = ("Solve_Succeeded",)
#: Violations of rows, in their own units, below which an iterate is a motion that can be carried out.
FEASIBLE = 1e-6


@dataclass(frozen=True)
class Iteration:
    """One iteration as it is told: its number, the cost, the largest violation of a row, and the seconds since the start."""

    number: int
    cost: float
    violation: float
    seconds: float


Watch = Callable[[Iteration], None]


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found: unscaled variables, multipliers of the rows as they are (for the unscaled cost), and how."""

    w: FloatArray
    multipliers: FloatArray
    cost: float
    violation: float
    #: optimal, infeasible, time limit, interrupted, iteration limit, or what IPOPT says.
    status: str
    words: str
    iterations: int
    seconds: float
    setup_seconds: float
    course: tuple[Iteration, ...] = ()
    solver: str = "ipopt"
    #: Multipliers of the limits of the variables as they are, for the unscaled cost: positive at upper limits. Empty where a
    #: solver tells none.
    limit_multipliers: FloatArray = field(default_factory=lambda: np.zeros(0))

    @property
    def optimal(self) -> bool:
        """Whether the conditions of an optimum hold."""
        return self.status == "optimal"


class _Watcher(ca.Callback):
    """Called by the solver after every iteration: tells, keeps the best iterate, and stops it where it must."""

    def __init__(self, program: NonlinearProgram, watch: Watch, limit: float | None) -> None:
        ca.Callback.__init__(self)
        self.program, self.watch, self.limit = program, watch, limit
        self.began = time.perf_counter()
        self.course: list[Iteration] = []
        # Arrays of CasADi, for these are seen in every iteration, and to turn them into others takes longer than all the rest.
        self.violation = _violation(program)
        self.best: tuple[float, float, Any] | None = None
        self.stopped = ""
        self.interrupted = False
        self.error: BaseException | None = None
        names = [ca.nlpsol_out(i) for i in range(ca.nlpsol_n_out())]
        self.places = [names.index(name) for name in ("x", "f", "g")]
        self.construct("kp_watch", {})

    def get_n_in(self) -> int:
        return int(ca.nlpsol_n_out())

    def get_n_out(self) -> int:
        return 1

    def get_name_in(self, i: int) -> str:
        return str(ca.nlpsol_out(i))

    def get_name_out(self, i: int) -> str:
        return "ret"

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        sizes = {"x": len(self.program.scales), "f": 1, "g": self.program.rows}
        name = ca.nlpsol_out(i)
        # What is not asked for is not handed over, either.
        return ca.Sparsity.dense(sizes[name]) if name in sizes else ca.Sparsity(0, 0)

    def eval(self, arguments: Sequence[ca.DM]) -> list[float]:
        x, f, g = (arguments[i] for i in self.places)
        return [1.0 if self.told(x, float(f), g) else 0.0]

    def told(self, x: Any, f: float, g: Any, further: float = 0.0) -> bool:
        """Hear of an iterate: scaled variables, cost and rows, and a further violation; say whether to stop."""
        cost = f * self.program.cost_scale
        violation = max(float(self.violation(x, g)), further)
        step = Iteration(len(self.course), cost, violation, time.perf_counter() - self.began)
        self.course.append(step)
        rank = (max(violation - FEASIBLE, 0.0), cost)
        if np.isfinite(cost) and (self.best is None or rank < self.best[:2]):
            self.best = (*rank, x)
        self.watch(step)
        if self.interrupted:
            self.stopped = "interrupted"
        elif self.limit is not None and step.seconds > self.limit:
            self.stopped = "time limit"
        return bool(self.stopped)

    def heard(self, x: FloatArray, f: float, g: FloatArray, further: float) -> bool:
        """Hear of an iterate from machine code, through which no error passes: it is kept."""
        try:
            return self.told(x, f, g, further)
        except BaseException as error:
            self.error = error
            return True


def violations(program: NonlinearProgram, g: FloatArray) -> FloatArray:
    """Return by how much each row is outside of its limits."""
    return np.asarray(np.maximum(0.0, np.maximum(program.row_low - g, g - program.row_high)))


def _violation(program: NonlinearProgram) -> ca.Function:
    """Return the function of scaled variables and rows that :func:`largest_violation` is of unscaled ones."""
    x, g = ca.MX.sym("x", len(program.scales)), ca.MX.sym("g", program.rows)
    scales, low, high = (ca.DM(item) for item in (program.scales, program.low, program.high))
    row_low, row_high = ca.DM(program.row_low), ca.DM(program.row_high)
    parts = [low - x * scales, x * scales - high, row_low - g, g - row_high]
    return ca.Function("kp_violation", [x, g], [ca.fmax(0.0, ca.mmax(ca.vertcat(*parts)))])


def largest_violation(program: NonlinearProgram, w: FloatArray, g: FloatArray) -> float:
    """Return the largest violation of a row or of a limit of a variable."""
    outside = np.maximum(0.0, np.maximum(program.low - w, w - program.high))
    return float(max(violations(program, g).max(initial=0.0), outside.max(initial=0.0)))


def ipopt_settings(options: SolverOptions) -> dict[str, Any]:
    """Return the settings of IPOPT."""
    return {
        "ipopt.print_level": 0,
        "print_time": False,
        "ipopt.sb": "yes",
        "ipopt.tol": options.tolerance,
        "ipopt.constr_viol_tol": options.tolerance,
        "ipopt.max_iter": options.iterations,
        # Inputs within their limits exactly, not within 1e-8 of them.
        "ipopt.bound_relax_factor": 0.0,
        # MUMPS spends two thirds of its time on this, and gains nothing for banded matrices.
        "ipopt.mumps_permuting_scaling": 0,
        # Approximate minimum degree. By itself MUMPS takes METIS for large matrices: 1.4 times as long in all for banded ones.
        "ipopt.mumps_pivot_order": 0,
        "calc_lam_p": False,
        "calc_lam_x": False,
        "calc_f": False,
        "calc_g": False,
        "no_nlp_grad": True,
        "error_on_fail": False,
        # A trial where the motion is no number is cut back, and nothing to tell.
        "show_eval_warnings": False,
        **{f"ipopt.{name}": value for name, value in options.ipopt.items()},
    }


def solve(
    program: NonlinearProgram,
    w: FloatArray,
    options: SolverOptions,
    watch: Watch = lambda step: None,
    solver: NlpSolver | None = None,
) -> Solution:
    """Solve a program from a start by a solver, by default IPOPT; ``w`` is unscaled.

    The first interrupt, or a signal that asks this program to end, ends the search with the best iterate; a second one ends it
    at once.
    """
    began = time.perf_counter()
    watcher = _Watcher(program, watch, options.time_limit)
    stated = plainly_stated(program, w) if solver is None else solver.stated(program, w)
    settings = {**(ipopt_settings(options) if solver is None else solver.settings(options)), **stated.options}
    if stated.listen is not None:
        stated.listen(watcher.heard)
    elif solver is None or solver.tells:
        settings["iteration_callback"] = watcher
    machine = ca.nlpsol("kp_solver", "ipopt" if solver is None else solver.casadi, stated.nlp, settings)
    prepared = time.perf_counter()
    watcher.began = prepared
    with _listening(watcher):
        found = _carried_out(machine, stated, watcher)
    if watcher.interrupted:
        # Of a solver that is silent this is known when it has ended; it would go on with wrong numbers if it were disturbed.
        watcher.stopped = "interrupted"
    ended = time.perf_counter()
    record = machine.stats() if found else {"return_status": "stopped"}
    words = str(record["return_status"])
    status = _status(words, watcher)
    found = found or {name: np.zeros(0) for name in ("x", "lam_g", "lam_x")}
    x, lam = np.asarray(found["x"]).ravel(), np.asarray(found["lam_g"]).ravel()
    x = stated.variables(x) if x.size else x
    lam = stated.multipliers(lam) if lam.size else np.zeros(program.rows)
    if solver is not None and not watcher.stopped and solver.succeeded(record):
        status = "optimal"
    if status != "optimal" and watcher.best is not None:
        x = np.asarray(watcher.best[2]).ravel()
    f, g = (np.asarray(item).ravel() for item in _values(program)(x, program.theta))
    solution = Solution(
        w=x * program.scales,
        multipliers=lam * program.cost_scale,
        cost=float(f[0]) * program.cost_scale,
        violation=largest_violation(program, x * program.scales, g),
        status=status,
        words=words,
        iterations=int(record.get("iter_count", len(watcher.course))),
        seconds=ended - prepared,
        setup_seconds=prepared - began,
        course=tuple(watcher.course),
        solver="ipopt" if solver is None else solver.name,
        limit_multipliers=_limit_multipliers(program, np.asarray(found["lam_x"]).ravel()),
    )
    if status == "infeasible" and solution.violation <= FEASIBLE:
        solution = replace(solution, status="not converged")
    return solution


def _carried_out(machine: ca.Function, stated: Stated, watcher: _Watcher) -> dict[str, Any]:
    """Return what a solver finds; nothing where it was stopped in a way in which it fails."""
    try:
        return dict(machine(**stated.start))
    except RuntimeError:
        if watcher.error is not None:
            raise watcher.error from None
        if not watcher.stopped:
            raise
        return {}


def _limit_multipliers(program: NonlinearProgram, found: FloatArray) -> FloatArray:
    """Return multipliers of limits, unscaled; none where a solver has other variables than the program."""
    return found * program.cost_scale / program.scales if len(found) == len(program.scales) else np.zeros(0)


def _values(program: NonlinearProgram) -> ca.Function:
    f, g = program.functions.values
    return ca.Function("kp_program", [program.functions.x, program.functions.theta], [f, g])


def _status(words: str, watcher: _Watcher) -> str:
    if watcher.stopped:
        return watcher.stopped
    if words in OPTIMAL:
        return "optimal"
    return {
        "Solved_To_Acceptable_Level": "acceptable",
        "Infeasible_Problem_Detected": "infeasible",
        "Restoration_Failed": "infeasible",
        "Maximum_Iterations_Exceeded": "iteration limit",
        "Maximum_WallTime_Exceeded": "time limit",
        "Maximum_CpuTime_Exceeded": "time limit",
        "User_Requested_Stop": "interrupted",
    }.get(words, "not converged")


#: Signals that ask a search to end.
ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def _listening(watcher: _Watcher) -> Iterator[None]:
    """Let the first signal that would interrupt this program stop the search, and a second one be what it is.

    Signals for which nobody has a handler end the program as ever.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in ENDING}
    before = {number: handler for number, handler in handlers.items() if callable(handler)}

    def back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def stop(number: int, frame: FrameType | None) -> None:
        watcher.interrupted = True
        back()
        # Whoever is asked to end by this signal knows it then, though the search goes on to the end of its iteration.
        with suppress(KeyboardInterrupt):
            before[signal.Signals(number)](number, frame)

    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        back()
