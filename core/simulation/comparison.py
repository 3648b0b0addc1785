"""One machine by all formalisms: how far their accelerations are apart, and what an evaluation costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, SolverError
from kingpost.equations.equations import Equations
from kingpost.kernel.kernel import Evaluator, Kernel
from kingpost.mechanism.mechanism import Mechanism
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import make
from kingpost.simulation.problem import Problem, derive, with_closed_loops
from kingpost.simulation.run import Simulation
from kingpost.simulation.settings import RunSettings
from kingpost.simulation.signals import Signals
from kingpost.simulation.simulate import prepare
from kingpost.simulation.verification import free_accelerations, largest_difference
from kingpost.symbols.operations import operations

#: The formulation that states come from and that the others are compared with.
REFERENCE = "kane"
#: States along a run, its start and its end among them.
STATES = 5
#: Evaluations in one call from Python, so that the call itself does not count, and CPU time (s) that is spent on measuring.
TOGETHER, MEASURED = 64, 0.1


@dataclass(frozen=True)
class Compared:
    """What one formalism does on a machine; a ``refusal`` in the place of numbers where it does not take it."""

    name: str
    summary: str
    refusal: str = ""
    #: The error that it says it leaves, in words.
    leaves: str = ""
    #: Largest difference of accelerations from the reference, as a part of the largest acceleration, with or without
    #: constraints.
    difference: float = float("nan")
    #: The time (s) of that state, and the coordinate.
    at_s: float = float("nan")
    coordinate: str = ""
    #: Largest error of the constraints in its accelerations, as a part of what they hold.
    constraint_error: float = 0.0
    #: CPU time of an evaluation of all accelerations, in microseconds, and its operations.
    microseconds: float = float("nan")
    operations: int = 0
    #: Time to derive the equations, and to compile their accelerations, in s.
    derived_s: float = float("nan")
    compiled_s: float = float("nan")


@dataclass(frozen=True, eq=False)
class Comparison:
    """One machine by all formalisms."""

    mechanism: Mechanism
    #: The times (s) of the states, and the condition number of the scaled mass matrix at the first.
    times: tuple[float, ...]
    condition: float
    speeds: int
    constraints: int
    backend: str
    compared: tuple[Compared, ...]
    #: Why the run that states come from ended before its time.
    note: str = ""


def compare(
    mechanism: Mechanism,
    *,
    settings: Mapping[str, float] | None = None,
    inputs: Signals | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Comparison:
    """Derive a machine by every formalism and compare accelerations at its start and at states along a run of it.

    The reference is :data:`REFERENCE`, which also makes the run.
    """
    plugins = plugins or PluginSet()
    how = replace(how or RunSettings(), formulation=REFERENCE, loads=("none",), load_method=None)
    simulation = prepare(mechanism, settings=settings, inputs=inputs, how=how, plugins=plugins)
    states = _states(simulation)
    names = list(plugins.of("formalisms"))
    compared = []
    for i, name in enumerate(names):
        compared.append(_compared(simulation, name, states))
        progress((i + 1) / len(names))
    return Comparison(
        mechanism=mechanism,
        times=tuple(float(t) for t in states.times),
        condition=_condition(simulation.problem),
        speeds=simulation.equations.nv,
        constraints=simulation.equations.constraints.count,
        backend=simulation.kernel.backend,
        compared=tuple(compared),
        note=states.note,
    )


@dataclass(frozen=True, eq=False)
class _States:
    """States along a run, and what the reference says of them."""

    simulation: Simulation
    times: FloatArray
    x: FloatArray
    u: FloatArray
    note: str

    @cached_property
    def rows(self) -> list[tuple[Any, ...]]:
        """The arguments t, q, v, u, p of accelerations."""
        equations, p = self.simulation.equations, self.simulation.p
        return [(t, *equations.split(x), equations.acting(u, x), p) for t, x, u in zip(self.times, self.x, self.u, strict=True)]

    @cached_property
    def reference(self) -> FloatArray:
        """The accelerations of the reference, one row for each state."""
        return evaluated(self.simulation.equations.exact.accelerations, self.rows)

    @cached_property
    def free(self) -> FloatArray:
        """What the accelerations would be without constraints."""
        e = self.simulation.equations.exact
        return evaluated(e.function("free", [free_accelerations(e)]), self.rows)

    @cached_property
    def rows_of_constraints(self) -> list[tuple[FloatArray, FloatArray]]:
        """A and drift at each state."""
        e = self.simulation.equations.exact
        parts = e.function("parts", [ca.densify(e.constraints.A), ca.densify(e.drift(0.0))])
        return [(np.asarray(A), np.asarray(drift).ravel()) for A, drift in (parts(*row) for row in self.rows)]


def evaluated(function: ca.Function, rows: Sequence[tuple[Any, ...]]) -> FloatArray:
    """Return the first result of a function at several places, one row each."""
    evaluate = Evaluator(function)
    return np.array([evaluate(*row) for row in rows])


def _states(simulation: Simulation) -> _States:
    """Return states at regular times of a run, or of what there is of it."""
    note = ""
    try:
        history = simulation.run()
    except SolverError as error:
        if error.history is None:
            raise
        history, note = error.history, str(error)
    chosen = np.unique(np.linspace(0, len(history) - 1, STATES).round().astype(int))
    x = history.values[chosen, : simulation.equations.nx]
    return _States(simulation, history.time[chosen], x, simulation.inputs[chosen], note)


def _condition(problem: Problem) -> float:
    """Return the condition number of the mass matrix at the start, its speeds scaled by their own inertias."""
    equations = problem.equations
    if not equations.nv:
        return 1.0
    mass = equations.function("mass", [ca.densify(equations.regular_mass)])
    M = np.asarray(mass(problem.t_start, *equations.split(problem.x0), equations.acting(problem.u0, problem.x0), problem.p))
    scale = np.sqrt(np.diag(M))
    return float(np.linalg.cond(M / np.outer(scale, scale)))


def _compared(simulation: Simulation, name: str, states: _States) -> Compared:
    problem, plugins = simulation.problem, simulation.plugins
    cls = plugins.of("formalisms").get(name)
    started = time.perf_counter()
    try:
        derived = derive(problem.assembly, name, plugins)
        equations = with_closed_loops(replace(problem, equations=derived), problem.t_start, problem.x0)
        function = equations.accelerations
        found = evaluated(function, states.rows)
    except KingpostError as error:
        return Compared(name, cls.summary(), refusal=str(error))
    seconds = time.perf_counter() - started
    names = [item.name.removesuffix(".rate") for item in equations.speed_quantities]
    sizes = np.hstack([states.reference, states.free])
    largest = largest_difference(found - states.reference, sizes, states.times, names)
    compiled, microseconds = _cost(function, problem, states.rows[0], simulation.equations)
    return Compared(
        name=name,
        summary=cls.summary(),
        leaves=make(cls, {}).leaves() if equations.constraints.count else "",
        difference=largest.part,
        at_s=largest.at_s,
        coordinate=largest.coordinate,
        constraint_error=_constraint_error(found, states) if equations.constraints.count else 0.0,
        microseconds=microseconds,
        operations=operations(function),
        derived_s=seconds,
        compiled_s=compiled,
    )


def _constraint_error(found: FloatArray, states: _States) -> float:
    """Return the largest A vdot + drift, as a part of the sizes of its terms."""
    worst = 0.0
    for vdot, (A, drift) in zip(found, states.rows_of_constraints, strict=True):
        size = float((np.abs(A) @ np.abs(vdot) + np.abs(drift)).max()) or 1.0
        worst = max(worst, float(np.abs(A @ vdot + drift).max()) / size)
    return worst


def _cost(function: ca.Function, problem: Problem, row: tuple[Any, ...], reference: Equations) -> tuple[float, float]:
    """Return the seconds of compiling a function, and the microseconds of CPU time of an evaluation."""
    if not function.numel_out(0):
        return 0.0, 0.0
    together = function.map(TOGETHER)
    symbols = [ca.MX.sym(f"i{k}", function.sparsity_in(k)) for k in range(function.n_in())]
    # All the same arguments, one after the other.
    repeated = ca.Function("kp_repeated", symbols, [together(*(ca.repmat(item, 1, TOGETHER) for item in symbols))])
    started = time.perf_counter()
    kernel = Kernel([repeated], problem.how.backend or "auto", reference.python_forces)
    seconds = time.perf_counter() - started
    evaluate = kernel.evaluator("kp_repeated")
    run, _ = evaluate.bind(*(np.ascontiguousarray(np.atleast_1d(np.asarray(item, float)).ravel()) for item in row))
    run()
    calls, spent, best = 1, 0.0, float("inf")
    while spent < MEASURED:
        before = time.process_time()
        for _ in range(calls):
            run()
        took = time.process_time() - before
        spent += took
        if took > MEASURED / 20:
            best = min(best, took / calls)
        else:
            calls *= 2
    return seconds, 1e6 * best / TOGETHER
