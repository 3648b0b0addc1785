"""Solvers of nonlinear programs: what they are told, and how a program is stated for them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from kingpost.base.arrays import FloatArray
from kingpost.registry.plugin import Plugin

if TYPE_CHECKING:
    from kingpost.control.optimal.problem import OptimalProblem
    from kingpost.control.optimal.program import NonlinearProgram

#: Of the conditions of an optimum, scaled, and of the rows.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class SolverOptions:
    """How a program is solved."""

    iterations: int = 1000
    tolerance: float = TOLERANCE
    #: Seconds after which the best iterate is returned.
    time_limit: float | None = None
    #: Options of IPOPT itself, by name.
    ipopt: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Stated:
    """A program as CasADi's solvers take it, and the way back from what they find."""

    #: Its symbols, or a function with derivatives of its own.
    nlp: Any
    #: Options that belong to the program, such as its derivatives or its structure.
    options: Mapping[str, Any]
    #: x0, p, and the limits lbx, ubx, lbg and ubg.
    start: Mapping[str, FloatArray]
    #: Variables and multipliers of rows that the solver found -> those of the program, scaled.
    variables: Callable[[FloatArray], FloatArray] = lambda x: x
    multipliers: Callable[[FloatArray], FloatArray] = lambda lam: lam
    #: Lets somebody hear of every iterate where the solver itself does not tell: of its variables, cost, rows, and a further
    #: violation. Where that says that it should stop, the solver fails.
    listen: Callable[[Callable[[FloatArray, float, FloatArray, float], bool]], None] | None = None


def plainly_stated(program: NonlinearProgram, w: FloatArray) -> Stated:
    """Return a program as it is, with its exact derivatives."""
    functions = program.functions
    start = {
        "x0": w / program.scales,
        "p": program.theta,
        "lbx": program.low / program.scales,
        "ubx": program.high / program.scales,
        "lbg": program.row_low,
        "ubg": program.row_high,
    }
    return Stated(functions.nlp(), functions.options(), start)


class NlpSolver(Plugin):
    """A solver of nonlinear programs that CasADi brings."""

    kind = "nonlinear solver"
    #: What CasADi calls it.
    casadi: ClassVar[str]
    #: Whether it tells about its iterations; without that, and where nobody can listen, there is no progress, no time limit,
    #: and no best iterate.
    tells: ClassVar[bool] = True
    #: Whether CasADi differentiates the program for it, which it cannot do with machine code.
    differentiates: ClassVar[bool] = False

    def refusal(self, problem: OptimalProblem, options: SolverOptions) -> str:
        """Return why it cannot solve a problem, or nothing."""
        if options.time_limit is not None and not self.tells:
            return f"solver '{self.name}' says nothing while it iterates, so that it keeps no time limit; take 'ipopt'"
        return ""

    def stated(self, program: NonlinearProgram, w: FloatArray) -> Stated:
        """Return a program as it takes it; ``w`` is the unscaled start."""
        return plainly_stated(program, w)

    def succeeded(self, record: Mapping[str, Any]) -> bool:
        """Say from what CasADi tells about a solution whether it is an optimum."""
        return record["return_status"] == "Solve_Succeeded"

    @abstractmethod
    def settings(self, options: SolverOptions) -> dict[str, Any]:
        """Return its own settings, by CasADi's names."""
