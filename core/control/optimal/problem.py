"""From a mechanism and a task to an optimal control problem, with the names in the task looked up and checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.control.optimal.transcription import CostTerm
from kingpost.equations.equations import Equations
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.optimal_parts import channels_of
from kingpost.mechanism.optimal_tasks import OptimalTask, check_optimal_task
from kingpost.mechanism.values import Values, resolve_values
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.input_layout import InputForm, InputLayout
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import select
from kingpost.simulation.problem import Drive, Problem, input_row, parameter_row, pose, start_state
from kingpost.simulation.settings import RunSettings

#: The integrator of which steps are made where nobody says: with kane, the GC scheme of document 001.
DEFAULT_INTEGRATOR = "midpoint"


@dataclass(frozen=True, eq=False)
class OptimalProblem:
    """A machine ready to be moved at the least cost."""

    posed: Problem
    task: OptimalTask
    #: The terms of the cost with their weights; where there are phases, those of the whole motion.
    terms: tuple[tuple[float, CostTerm], ...]
    #: Its phases as problems of their own.
    phases: tuple[OptimalProblem, ...] = ()
    #: Which phase it is, from 0; None for a whole.
    phase: int | None = None
    #: Whether the time of its start is found, since a phase before is of free length.
    moves: bool = False
    #: What was built for it, by transcription: the same for every number of intervals.
    built: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def parts(self) -> tuple[OptimalProblem, ...]:
        """Its phases, or itself."""
        return self.phases or (self,)

    @property
    def later(self) -> bool:
        """Whether it begins where another phase ends."""
        return bool(self.phase)

    @property
    def equations(self) -> Equations:
        """The equations of motion."""
        return self.posed.equations

    @property
    def x0(self) -> FloatArray:
        """The state at the start."""
        return self.posed.x0

    @property
    def p(self) -> FloatArray:
        """All parameters."""
        return self.posed.p

    @cached_property
    def driven(self) -> tuple[int, ...]:
        """The rows of the inputs that are found."""
        names = [signal.name for signal in self.posed.mechanism.inputs]
        return tuple(names.index(name) for name in self.task.inputs)

    @cached_property
    def freed(self) -> tuple[int, ...]:
        """The rows of the parameters that are found."""
        names = [parameter.name for parameter in self.posed.mechanism.parameters]
        return tuple(names.index(name) for name in self.task.free)

    @property
    def linear(self) -> bool:
        """Whether inputs are linear within an interval, and continuous."""
        return self.task.control == "linear"

    def inputs(self, u: Any, given: Any, ahead: Any = None, t: Any = None, h: Any = None) -> Any:
        """Return the row of all inputs of an interval: those that are found put among ``given`` ones.

        Linear inputs are ``u`` at its start, the time ``t``, and ``ahead`` after ``h``; the row has their rates, too.
        """
        rows = [given[i] for i in range(self.equations.nu)]
        for k, i in enumerate(self.driven):
            rows[i] = u[k]
        if ahead is not None:
            layout = self.posed.assembly.layout
            assert layout is not None
            rows[len(layout.names)] = t
            for k, name in enumerate(self.task.inputs):
                place = layout.rate_place(name)
                assert place is not None
                rows[place] = (ahead[k] - u[k]) / h
        return ca.vertcat(type(u)(0, 1), *rows)

    def parameters(self, free: Any, p: Any) -> Any:
        """Return all parameters: those that are found put among ``p``."""
        if not self.freed:
            return p
        rows = [p[i] for i in range(self.equations.np)]
        for k, i in enumerate(self.freed):
            rows[i] = free[k]
        return ca.vertcat(type(free)(0, 1), *rows)

    @cached_property
    def state_names(self) -> tuple[str, ...]:
        """The names of the state."""
        return tuple(item.name for item in self.equations.state_quantities)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """The names of joint coordinates and speeds, which every formulation tells."""
        mechanism = self.posed.mechanism
        return tuple(item.name for item in (*mechanism.coordinates, *mechanism.speeds))

    @cached_property
    def units(self) -> dict[str, str]:
        """The unit of every channel and joint coordinate."""
        mechanism = self.posed.mechanism
        own = {item.name: item.unit for item in (*mechanism.coordinates, *mechanism.speeds)}
        own |= {signal.name: signal.unit for signal in mechanism.inputs}
        return own | {channel.name: channel.unit for channel in self.equations.channels}

    @cached_property
    def known(self) -> tuple[str, ...]:
        """All that a task can name."""
        channels = [channel.name for channel in self.equations.channels]
        return tuple(dict.fromkeys((*self.joint_names, *channels)))

    @cached_property
    def joint_state(self) -> ca.Function:
        """The function (x, p) -> joint coordinates and speeds."""
        e = self.equations
        x, p = ca.MX.sym("x", e.nx), ca.MX.sym("p", e.np)
        q, v = e.split(x)
        way = e.coordinates.joint_state
        values = [q, v] if way is None else way.call([q, v, ca.MX.zeros(e.nv), p])[:2]
        return ca.Function("kp_joints", [x, p], [ca.densify(ca.vertcat(*values))])

    def observer(self, names: tuple[str, ...]) -> ca.Function:
        """Return the function (t, x, u, p) -> some channels or joint coordinates; x may be followed by what is remembered."""
        e = self.equations
        t, x, u, p = (ca.MX.sym(name, size) for name, size in (("t", 1), ("x", e.nx), ("u", e.nu), ("p", e.np)))
        channels = [channel.name for channel in e.channels]
        joints = dict(zip(self.joint_names, range(len(self.joint_names)), strict=True))
        rows = []
        plain = all(name in self.state_names for name in names)
        seen = None if plain else e.observe(t, x, u, p)
        for name in names:
            if name in self.state_names:
                rows.append(x[self.state_names.index(name)])
            elif name in joints:
                rows.append(self.joint_state(x, p)[joints[name]])
            else:
                assert seen is not None
                rows.append(seen[channels.index(name)])
        return ca.Function("kp_seen", [t, x, u, p], [ca.densify(ca.vertcat(ca.MX(0, 1), *rows))])


def pose_optimal(
    mechanism: Mechanism,
    task: OptimalTask,
    how: RunSettings | None = None,
    *,
    values: Mapping[str, float] | None = None,
    plugins: PluginSet | None = None,
) -> OptimalProblem:
    """Derive the equations of a machine and look up in them what a task names; ``values`` come before its settings."""
    plugins = plugins or PluginSet()
    check_optimal_task(task, mechanism)
    how = replace(how or RunSettings(), t_start=task.t_start)
    if how.integrator is None:
        how = replace(how, integrator=DEFAULT_INTEGRATOR)
    tasks = task.phase_tasks() or (task,)
    all_terms = [_terms(each, plugins) for each in tasks]
    own = all_terms[0] if not task.phases else tuple(item for item in _terms(task, plugins) if item[1].whole)
    for each, terms in zip((task, *tasks), (own, *all_terms), strict=True):
        how = _with_loads(mechanism, each, terms, how)
    drive = _ramps(task) if task.control == "linear" else None
    posed = pose(mechanism, how, values={**task.settings, **(values or {})}, plugins=plugins, drive=drive)
    problem = OptimalProblem(posed, task, own)
    if task.phases:
        problem = replace(problem, phases=tuple(_phases(problem, tasks, all_terms, values or {})))
        _check_costs(problem)
    _check_symbolic(problem)
    for part in problem.parts:
        _check_names(part)
        if not part.later:
            _check_start(part, {**part.task.settings, **(values or {})})
        _check_costs(part)
    return problem


def _terms(task: OptimalTask, plugins: PluginSet) -> tuple[tuple[float, CostTerm], ...]:
    """Return the terms of the cost of a task with their weights."""
    registry = plugins.of("cost_terms")
    return tuple((part.weight, select(registry, part.term, dict(part.options))) for part in task.costs)


def _phases(
    problem: OptimalProblem,
    tasks: tuple[OptimalTask, ...],
    terms: list[tuple[tuple[float, CostTerm], ...]],
    values: Mapping[str, float],
) -> Iterator[OptimalProblem]:
    """Return the phases of a problem, each with its own parameters."""
    posed, moves = problem.posed, False
    names = [state.name for state in posed.assembly.states]
    for i, (task, phase) in enumerate(zip(tasks, problem.task.phases, strict=True)):
        given = {**problem.task.settings, **values, **phase.settings}
        p = parameter_row(posed.mechanism, resolve_values(posed.mechanism, given, names))
        own = replace(posed, p=p, t_start=task.t_start)
        # What the task says of the whole motion stays with that; what a phase says of itself is refused.
        kept = terms[i] if phase.costs else tuple(item for item in terms[i] if not item[1].whole)
        yield OptimalProblem(own, task, kept, phase=i, moves=moves)
        moves = moves or not task.horizon.prescribed


def _ramps(task: OptimalTask) -> Drive:
    """Return of what a row of inputs consists where those that are found have rates in it."""

    def drive(assembly: Assembly, values: Values) -> tuple[InputLayout, FloatArray]:
        names = tuple(signal.name for signal in assembly.mechanism.inputs)
        layout = InputLayout(names, {name: InputForm(1, 1) for name in task.inputs})
        row = input_row(assembly.mechanism, values)
        return layout, np.concatenate([row, np.zeros(layout.size - len(row))])

    return drive


def seen_otherwise(problem: OptimalProblem, how: RunSettings) -> OptimalProblem:
    """Return the same problem in other coordinates, or for another integrator."""
    return pose_optimal(problem.posed.mechanism, problem.task, how, values=problem.posed.given, plugins=problem.posed.plugins)


def _with_loads(
    mechanism: Mechanism, task: OptimalTask, terms: tuple[tuple[float, CostTerm], ...], how: RunSettings
) -> RunSettings:
    """Return the settings with the loads of all joints that a task names among those wanted."""
    named = [channel for name in (*task.bounds, *task.end) for channel in channels_of(name)]
    for _, term in terms:
        named += term.names(mechanism, task.inputs)
    known = {item.name for item in (*mechanism.coordinates, *mechanism.speeds)}
    joints = [joint.name for joint in mechanism.joints]
    asked = [joint for joint in joints if any(name.rpartition(".")[0] == joint and name not in known for name in named)]
    if not asked:
        return how
    if how.loads and "all" in how.loads:
        return how
    before = tuple(item for item in how.loads or () if item != "none")
    there = {str(item).partition(":")[0] for item in before}
    return replace(how, loads=(*before, *(joint for joint in asked if joint not in there)))


def _check_names(problem: OptimalProblem) -> None:
    task, known, where = problem.task, problem.known, _where(problem)
    bounds = [channel for name in task.bounds for channel in channels_of(name)]
    for key, names, extra in (("end", task.end, ()), ("bounds", bounds, task.inputs)):
        for name in names:
            if name not in known and name not in extra:
                every = (*extra, *known)
                raise MechanismError(
                    f"{task.title}: {key}: {where} shows nothing called '{name}'{closest(name, every)} "
                    f"It shows: {listed(every)}.",
                    path=(key, name),
                )


def _check_costs(problem: OptimalProblem) -> None:
    """Refuse terms that name what nothing shows, or that cannot be taken for a problem."""
    task, known, where = problem.task, problem.known, _where(problem)
    for _, term in problem.terms:
        for name in term.names(problem.posed.mechanism, task.inputs):
            if name not in known:
                raise MechanismError(
                    f"{task.title}: cost '{term.name}': {where} shows nothing called '{name}'{closest(name, known)} "
                    f"It shows: {listed(known)}.",
                    path=("costs",),
                )
        refusal = term.refusal(problem)
        if refusal:
            raise MechanismError(f"{task.title}: cost '{term.name}': {refusal}", path=("costs",))


def _where(problem: OptimalProblem) -> str:
    return f"'{problem.posed.mechanism.name}' with formulation '{problem.equations.formulation}'"


def _check_symbolic(problem: OptimalProblem) -> None:
    e = problem.equations
    if e.all_externals:
        owners = dict.fromkeys(external.owner for external in e.all_externals)
        raise MechanismError(
            f"'{e.mechanism.name}' has forces that call functions outside expressions ({listed(owners)}), which cannot be "
            "differentiated twice as optimal control asks; write them with CasADi operations, or leave them out"
        )


def _check_start(problem: OptimalProblem, values: Mapping[str, float]) -> None:
    """Refuse free parameters that the start depends on, and a start outside of the bounds."""
    posed, task = problem.posed, problem.task
    for name, limits in task.free.items():
        moved = resolve_values(posed.mechanism, {**values, name: (limits.low + limits.high) / 2 + 1e-3}, ())
        with np.errstate(all="ignore"):
            other = start_state(posed.assembly, posed.equations, moved)
        if parameter_row(posed.mechanism, moved).shape and not np.allclose(other[: len(problem.x0)], problem.x0, atol=1e-6):
            raise MechanismError(
                f"{task.title}: the start of '{posed.mechanism.name}' depends on the parameter '{name}', so that it cannot be "
                "free; give its start values as numbers, or keep the parameter",
                path=("free", name),
            )
    names = tuple(name for name in task.bounds if name in problem.state_names)
    if not names:
        return
    seen = np.asarray(problem.observer(names)(posed.t_start, problem.x0, posed.u0, problem.p)).ravel()
    for name, value in zip(names, seen, strict=True):
        limits = task.bounds[name]
        slack = 1e-6 * (1 + limits.size)
        if not limits.low - slack <= value <= limits.high + slack:
            raise MechanismError(
                f"{task.title}: '{name}' starts at {value:g}, outside of its bounds from {limits.low:g} to {limits.high:g}",
                path=("bounds", name),
            )
