"""The same run with other numbers: nothing is derived and nothing compiled, but everything that depends on them is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError, listed
from kingpost.equations.consistency import consistent_start
from kingpost.equations.redundancy import without_redundant_rows
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.values import Values, resolve_values
from kingpost.multibody.input_layout import InputForm
from kingpost.registry.pluginset import PluginSet
from kingpost.simulation.grid import Grid
from kingpost.simulation.input_rows import (
    InputRows,
    RowPlan,
    held_rows,
    input_courses,
    jumps_on_steps,
    most_inside,
    places_of,
    rows_by_plan,
)
from kingpost.simulation.problem import (
    Problem,
    check_mass_matrix,
    check_singularity,
    jammed,
    parameter_row,
    start_state,
)
from kingpost.simulation.signals import Course, Signal
from kingpost.statics.equilibrium import find_equilibrium

if TYPE_CHECKING:
    from kingpost.simulation.run import Simulation

#: What makes rows for the inputs of a run with other numbers.
Feed: TypeAlias = Callable[[Values, Grid], InputRows]


def with_numbers(simulation: Simulation, settings: Mapping[str, float]) -> Simulation:
    """Return the run that ``prepare`` would make with other settings; see :meth:`kingpost.Simulation.at`."""
    problem, grid = simulation.problem, simulation.grid
    names = [state.name for state in problem.assembly.states]
    values = resolve_values(problem.mechanism, settings, names)
    rows = _rows(simulation, values)
    x, fitted, p = _start(problem, values, rows.values[0], grid.t_start)
    same = {"values": values, "x0": x, "u0": rows.values[0], "p": p, "given": dict(settings), "fitted": fitted}
    other = replace(problem, **same)
    # Its functions have parameters, not their numbers.
    other.__dict__.update(stepper=problem.stepper, every_row=problem.every_row)
    return replace(simulation, problem=other, rows=rows)


def _rows(simulation: Simulation, values: Values) -> InputRows:
    if simulation.feed is not None:
        return simulation.feed(values, simulation.grid)
    if simulation.rows.sources or simulation.rows.layout.moving:
        raise SolverError("this run does not know where its inputs come from, so that it cannot be had with other numbers")
    return held_rows(simulation.mechanism, values, simulation.grid)


def _start(problem: Problem, values: Values, u: FloatArray, t: float) -> tuple[FloatArray, Mapping[str, float], FloatArray]:
    """Return a state to start from that was looked at as that of a new run is, what was fitted in it, and the parameters."""
    equations = problem.equations
    x, p = start_state(problem.assembly, equations, values), parameter_row(problem.mechanism, values)
    check_singularity(equations, x, t)
    _check_redundancy(problem, t, x, p)
    begin = consistent_start(equations, t, x, p, bool(problem.how.close_loops))
    check_mass_matrix(equations, begin.x, p)
    x = begin.x
    if problem.how.start == "equilibrium":
        x = find_equilibrium(equations, x, u, p, t).x
    jam = jammed(equations, t, x, u, p)
    if jam:
        raise SolverError(f"'{problem.mechanism.name}' cannot start: {jam}")
    return x, begin.changes, p


def _check_redundancy(problem: Problem, t: float, x: FloatArray, p: FloatArray) -> None:
    """Refuse numbers at which other rows are redundant than with those for which the equations were made.

    Rows that were left out must still follow from those that stay, and those must not depend on each other.
    """
    equations = problem.equations
    count = equations.constraints.count
    if not count:
        return
    kept = without_redundant_rows(equations, t, x, p).constraints
    here = without_redundant_rows(problem.every_row, t, x, p).constraints if equations.constraints.redundant else kept
    if not here.count == kept.count == count:
        raise SolverError(
            f"the equations were made for other numbers, with {count} rows of constraints that do not follow from others; "
            f"here there are {here.count} (redundant: {listed(here.redundant)}). Run it on its own"
        )


def feeding(like: InputRows, mechanism: Mechanism, signals: Mapping[str, Signal], plugins: PluginSet, *, fixed: bool) -> Feed:
    """Return what makes rows for other numbers, of the same make as those ``like`` them."""

    def feed(values: Values, grid: Grid) -> InputRows:
        return other_rows(like, mechanism, values, signals, grid, plugins, fixed=fixed)

    return feed


def other_rows(
    like: InputRows,
    mechanism: Mechanism,
    values: Values,
    signals: Mapping[str, Signal],
    grid: Grid,
    plugins: PluginSet,
    *,
    fixed: bool,
) -> InputRows:
    """Return the rows of a run with other numbers, made as those ``like`` it are, for which there is code already."""
    if not signals:
        return held_rows(mechanism, values, grid)
    courses = input_courses(mechanism, values, signals, grid, plugins)
    plan = RowPlan(like.layout, like.per_sample)
    obstacle = _misfit(plan, courses, grid, fixed)
    if obstacle:
        raise SolverError(
            f"input '{obstacle}' moves in more pieces with these numbers, or jumps elsewhere, than the run was prepared for; "
            "prepare a run of its own"
        )
    return rows_by_plan(plan, courses, values, grid, fixed=fixed)


def _misfit(plan: RowPlan, courses: Mapping[str, Course], grid: Grid, fixed: bool) -> str:
    """Return the first input that does not fit into a plan, or nothing."""
    every = grid.substeps // plan.per_sample
    for name, course in courses.items():
        item, form = course.polynomials, plan.layout.forms.get(name, InputForm(1, 0))
        if (course.formula is None) != (name not in plan.layout.driven):
            return name
        if item is None:
            continue
        places = places_of(item, grid)
        pieces = 1 + most_inside(places, every) if fixed else 1
        if pieces > form.pieces or item.degree > form.degree:
            return name
        if fixed and (jumps_on_steps(item, places) % every != 0).any():
            return name
    return ""
