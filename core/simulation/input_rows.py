"""The inputs of a run as rows of numbers, each of which holds for a while: what a compiled loop and a solver are fed with.

A step map takes a new row every so many steps. Where a polynomial begins inside of a row, that has a further piece; so values
are exact at whatever time of a step a method asks for them. A solver looks its row up by the time, so that rows can begin
wherever a polynomial does.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.mechanism.elements import TIME
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.piecewise import Polynomials
from kingpost.mechanism.trajectories import Trajectory
from kingpost.mechanism.values import Values
from kingpost.multibody.input_layout import InputForm, InputLayout
from kingpost.registry.pluginset import PluginSet
from kingpost.simulation.grid import NUMBER, Grid
from kingpost.simulation.signals import Course, Signal, course_of

#: A break that is within this part of a step of one of its ends is there: what that leaves out is of the size of its square.
ON_STEP = 1e-6
#: A derivative that changes by less than this part of its largest terms does not jump: that is rounding.
NO_JUMP = 1e-9
#: Rows become shorter, and have fewer pieces then, as long as all of them take no more memory than this (bytes).
ROOM = 256 * 2**20


@dataclass(frozen=True, eq=False)
class InputRows:
    """Rows of numbers for the inputs of a run: row i holds from ``starts[i]`` on; the last one at the end of the run alone."""

    layout: InputLayout
    starts: FloatArray
    values: FloatArray
    #: The row that begins at each sample.
    first: npt.NDArray[np.int_]
    #: Rows in a sample of a run with fixed steps.
    per_sample: int = 1
    #: Times inside the run at which an input or its slope jumps.
    jumps: tuple[float, ...] = ()
    #: Where inputs come from that are not merely held at values for output times.
    sources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: What the user should know of them.
    notes: tuple[str, ...] = ()

    @property
    def at_samples(self) -> FloatArray:
        """The row that begins at each sample."""
        return self.values if len(self.first) == len(self.values) else self.values[self.first]

    @property
    def before_samples(self) -> FloatArray:
        """The row that ends at each sample but the first."""
        return self.values[self.first[1:] - 1]

    def in_step(self, steps: int, substeps: int) -> FloatArray:
        """Return the row of a step, given how many were finished before it."""
        return np.asarray(self.values[steps * self.per_sample // substeps])

    def column(self, name: str) -> FloatArray:
        """Return the value of an input at each sample."""
        return self.at_samples[:, self.layout.names.index(name)]

    def segments(self, grid: Grid) -> list[Segment]:
        """Return the stretches over which a solver can go on without a jump of an input or of its slope."""
        held = [i for i, name in enumerate(self.layout.names) if name not in self.layout.moving]
        changes = np.flatnonzero(np.any(np.diff(self.at_samples[:-1][:, held], axis=0) != 0, axis=1)) + 1
        times = grid.times
        edges = sorted({times[0], times[-1], *times[changes].tolist(), *self.jumps})
        found = []
        for begin, end in itertools.pairwise(edges):
            rows = np.searchsorted(self.starts, [begin, end])
            samples = np.searchsorted(times, [begin, end], side="right")
            found.append(Segment(self, begin, end, int(rows[0]), int(rows[1]), range(*samples)))
        return found


class HeldRows(InputRows):
    """The rows of a run whose inputs do not change: one row, of which all others are views."""

    def __init__(self, layout: InputLayout, row: FloatArray, grid: Grid) -> None:
        fields = {"layout": layout, "per_sample": 1, "jumps": (), "sources": {}, "notes": ()}
        self.__dict__.update(fields, grid=grid, values=np.broadcast_to(row, (grid.samples + 1, len(row))))

    @cached_property
    def starts(self) -> FloatArray:
        # Found when asked for, since it is as long as the run.
        return self.__dict__["grid"].times

    @cached_property
    def first(self) -> npt.NDArray[np.int_]:
        return np.arange(len(self.values))


@dataclass(frozen=True, eq=False)
class Segment:
    """A stretch of a run over which inputs and their slopes do not jump."""

    rows: InputRows
    begin: float
    end: float
    #: The first row in it, and the first after it.
    first: int
    beyond: int
    #: The samples after its begin, up to its end.
    samples: range

    def times(self, grid: Grid) -> FloatArray:
        """Return its begin, the times of its samples, and its end if no sample is there."""
        inside = grid.times[self.samples.start : self.samples.stop]
        end = [] if inside.size and inside[-1] == self.end else [self.end]
        return np.concatenate([[self.begin], inside, end])

    def finder(self) -> Any:
        """Return the function t -> row; at its end, and a little beyond, the row that leads there."""
        values, first, beyond = self.rows.values, self.first, self.beyond
        if beyond - first == 1 or (values[first:beyond] == values[first]).all():
            row = values[first]
            return lambda t: row
        starts = self.rows.starts[first:beyond].tolist()
        return lambda t: values[first + max(bisect_right(starts, t) - 1, 0)]


@dataclass(frozen=True)
class RowPlan:
    """How rows are made: so many for each sample, and of what their numbers are."""

    layout: InputLayout
    per_sample: int


def input_rows(
    mechanism: Mechanism,
    values: Values,
    signals: Mapping[str, Signal],
    grid: Grid,
    plugins: PluginSet,
    *,
    fixed: bool,
) -> InputRows:
    """Return the rows of a run; ``fixed``: for a step map, else for a solver."""
    if not signals:
        return held_rows(mechanism, values, grid)
    courses = input_courses(mechanism, values, signals, grid, plugins)
    return rows_by_plan(row_plan([courses], grid, fixed=fixed), courses, values, grid, fixed=fixed)


def held_rows(mechanism: Mechanism, values: Values, grid: Grid) -> InputRows:
    """Return the rows of a run whose inputs do not change."""
    names = tuple(signal.name for signal in mechanism.inputs)
    return HeldRows(InputLayout(names), np.array([values.inputs[name] for name in names], dtype=float), grid)


def input_courses(
    mechanism: Mechanism, values: Values, signals: Mapping[str, Signal], grid: Grid, plugins: PluginSet
) -> Mapping[str, Course]:
    """Return what each input is over a run."""
    return {
        signal.name: course_of(signal, signals.get(signal.name, values.inputs[signal.name]), values, grid, plugins)
        for signal in mechanism.inputs
    }


def row_plan(variants: Sequence[Mapping[str, Course]], grid: Grid, *, fixed: bool) -> RowPlan:
    """Return a plan that several variants of the same inputs fit into."""
    names = tuple(variants[0])
    driven: dict[str, Trajectory] = {name: course.formula for name, course in variants[0].items() if course.formula is not None}
    moving = [
        {name: course.polynomials for name, course in courses.items() if course.polynomials is not None} for courses in variants
    ]
    if not fixed:
        return RowPlan(InputLayout(names, _forms([_single(polynomials) for polynomials in moving]), driven), 1)
    places = [{name: places_of(item, grid) for name, item in polynomials.items()} for polynomials in moving]
    jumps = [jumps_on_steps(item, places[k][name]) for k, own in enumerate(moving) for name, item in own.items()]
    plans: list[tuple[RowPlan, int, int]] = []
    for every in _divisors(grid.substeps):
        if any((on % every != 0).any() for on in jumps):
            continue
        forms = _forms(
            [
                {name: InputForm(1 + most_inside(places[k][name], every), item.degree) for name, item in own.items()}
                for k, own in enumerate(moving)
            ]
        )
        layout, per_sample = InputLayout(names, forms, driven), grid.substeps // every
        room = NUMBER * (grid.samples * per_sample + 1) * layout.size
        plans.append((RowPlan(layout, per_sample), sum(form.pieces for form in forms.values()), room))
    # Few pieces make short code, and few rows little memory.
    fitting = [(pieces, plan.per_sample, k) for k, (plan, pieces, room) in enumerate(plans) if room <= ROOM]
    best = min(fitting)[2] if fitting else min((room, k) for k, (_, _, room) in enumerate(plans))[1]
    return plans[best][0]


def _forms(variants: Sequence[Mapping[str, InputForm]]) -> dict[str, InputForm]:
    """Return forms into which all variants fit, those left out that need but one value in a row."""
    found: dict[str, InputForm] = {}
    for forms in variants:
        for name, form in forms.items():
            found[name] = form.with_room_for(found.get(name, form))
    return {name: form for name, form in found.items() if form.extra}


def _single(polynomials: Mapping[str, Polynomials]) -> dict[str, InputForm]:
    return {name: InputForm(1, item.degree) for name, item in polynomials.items()}


def places_of(polynomials: Polynomials, grid: Grid) -> FloatArray:
    """Return where the breaks are, in steps since the start; those within rounding of a step's end are there."""
    places = (polynomials.breaks - grid.t_start) / grid.step
    whole = np.round(places)
    return np.where(np.abs(places - whole) <= ON_STEP, whole, places)


def most_inside(places: FloatArray, every: int) -> int:
    """Return how many breaks the row with most of them has inside."""
    inside = places[places % every != 0]
    return int(np.unique(np.floor(inside / every), return_counts=True)[1].max()) if inside.size else 0


def jumps_on_steps(polynomials: Polynomials, places: FloatArray) -> FloatArray:
    """Return the places at which the value itself jumps between two steps: there a row must begin."""
    return places[_jump(polynomials, 0) & (places == np.round(places))]


def _jump(polynomials: Polynomials, order: int) -> npt.NDArray[np.bool_]:
    """Return at which breaks a derivative jumps."""
    return np.abs(polynomials.jumps(order)) > NO_JUMP * polynomials.size(order)


def _divisors(number: int) -> list[int]:
    """Return all divisors of a number, the largest first."""
    small = [k for k in range(1, int(number**0.5) + 1) if number % k == 0]
    return sorted({*small, *(number // k for k in small)}, reverse=True)


def rows_by_plan(plan: RowPlan, courses: Mapping[str, Course], values: Values, grid: Grid, *, fixed: bool) -> InputRows:
    """Return the rows of a run by a plan that they fit into."""
    layout, times = plan.layout, grid.times
    moving = {name: course.polynomials for name, course in courses.items() if course.polynomials is not None}
    starts: FloatArray
    if fixed:
        every = grid.substeps // plan.per_sample
        places = np.arange(grid.samples * plan.per_sample + 1) * every
        starts = grid.t_start + places.astype(np.float64) * grid.step
        first = np.arange(grid.samples + 1) * plan.per_sample
    else:
        starts = _solver_starts(moving, times)
        first = np.searchsorted(starts, times)
    rows = np.zeros((len(starts), layout.size))
    for i, name in enumerate(layout.names):
        course = courses[name]
        if course.held is not None:
            rows[:, i] = course.held[np.searchsorted(first, np.arange(len(starts)), side="right") - 1]
        elif course.formula is not None:
            rows[:, i] = _formula_values(course.formula, values, starts)
    for name, item in moving.items():
        if fixed:
            _write_steps(layout, rows, name, item, places_of(item, grid), places, starts)
        else:
            piece = np.searchsorted(_on_samples(item.breaks, times), starts, side="right")
            _write(layout, rows, name, 0, starts, item.around(piece, starts))
    if not np.isfinite(rows).all():
        raise MechanismError("an input is not finite")
    return InputRows(
        layout,
        starts,
        rows,
        first,
        plan.per_sample,
        tuple(_solver_jumps(moving, times)) if not fixed else (),
        {name: course.source for name, course in courses.items() if course.held is None},
        tuple(_notes(courses, grid, fixed)),
    )


def _write_steps(
    layout: InputLayout,
    rows: FloatArray,
    name: str,
    item: Polynomials,
    breaks: FloatArray,
    places: npt.NDArray[np.int_],
    starts: FloatArray,
) -> None:
    """Write an input into the rows of a run with fixed steps; ``breaks`` and ``places`` of rows count steps."""
    begin = np.searchsorted(breaks, places, side="right")
    _write(layout, rows, name, 0, starts, item.around(begin, starts))
    if name not in layout.forms:
        return
    # The row at the end of the run is looked at there alone.
    end = np.append(np.searchsorted(breaks, places[1:], side="left"), begin[-1])
    ends = np.append(starts[1:], 2 * starts[-1] - starts[-2])
    for piece in range(1, layout.forms[name].pieces):
        there = begin + piece <= end
        index = np.minimum(begin + piece, end)
        # What is left over goes on as the last piece does.
        when = np.where(there, item.breaks[np.maximum(index - 1, 0)], ends) if item.breaks.size else ends
        _write(layout, rows, name, piece, when, item.around(index, when))


def _write(layout: InputLayout, rows: FloatArray, name: str, piece: int, begins: FloatArray, series: FloatArray) -> None:
    if name in layout.forms:
        layout.write(rows, name, piece, begins, series)
    else:
        rows[:, layout.names.index(name)] = series[:, 0]


def _on_samples(breaks: FloatArray, times: FloatArray) -> FloatArray:
    """Return breaks, those within rounding of a sample exactly there."""
    nearest = np.clip(np.searchsorted(times, breaks), 1, len(times) - 1)
    nearest -= breaks - times[nearest - 1] < times[nearest] - breaks
    close = np.abs(breaks - times[nearest]) <= ON_STEP * (times[1] - times[0])
    return np.where(close, times[nearest], breaks)


def _solver_starts(moving: Mapping[str, Polynomials], times: FloatArray) -> FloatArray:
    breaks = [_on_samples(item.breaks, times) for item in moving.values()]
    every = np.unique(np.concatenate([times, *breaks]))
    return every[(every >= times[0]) & (every <= times[-1])]


def _solver_jumps(moving: Mapping[str, Polynomials], times: FloatArray) -> list[float]:
    """Return the times inside a run at which an input or its slope jumps."""
    found: set[float] = set()
    for item in moving.values():
        at = _on_samples(item.breaks, times)[_jump(item, 0) | _jump(item, 1)]
        found.update(at[(at > times[0]) & (at < times[-1])].tolist())
    return sorted(found)


def _formula_values(formula: Trajectory, values: Values, times: FloatArray) -> FloatArray:
    t = ca.SX.sym(TIME)
    value = ca.Function("value", [t], [ca.SX(formula.value(t, {**values.parameters, TIME: t}))])
    return np.asarray(value(ca.DM(times).T)).ravel()


def _notes(courses: Mapping[str, Course], grid: Grid, fixed: bool) -> list[str]:
    """Return sentences on samples that do not cover the run, and on jumps inside of steps."""
    found = []
    begin, end = grid.t_start, float(grid.times[-1])
    for name, course in courses.items():
        if course.span is not None:
            early, late = course.span[0] > begin + ON_STEP * grid.step, course.span[1] < end - ON_STEP * grid.step
            if early or late:
                which = " and ".join(["the first before"] * early + ["the last after"] * late)
                found.append(
                    f"input '{name}' has samples from {course.span[0]:g} s to {course.span[1]:g} s, and the run goes from "
                    f"{begin:g} s to {end:g} s; it stays at {which}"
                )
        if fixed and course.polynomials is not None:
            places = places_of(course.polynomials, grid)
            inside = places[_jump(course.polynomials, 0) & (places != np.round(places))]
            inside = inside[(inside > 0) & (inside < grid.samples * grid.substeps)]
            if inside.size:
                at = grid.t_start + inside[0] * grid.step
                more = f" and {inside.size - 1} more times" if inside.size > 1 else ""
                found.append(
                    f"input '{name}' jumps at t = {at:.9g} s{more}, inside a step of {grid.step:g} s: the error there "
                    "is of first order. Let it jump where a step ends, or take a solver such as dop853, which stops at jumps"
                )
    return found
