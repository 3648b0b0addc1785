"""Questions to a machine at one state: what it is there, where it stays at rest, how it moves around it; and exports.

Each takes the arguments of :func:`kingpost.simulate`, and ``at``, a state: ``{"t": 0, "q": [...], "v": [...], "u": [...]}``,
from which what is left out keeps the machine's own start value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError, closest, listed
from kingpost.base.numbers import finite, shown
from kingpost.equations.consistency import OPEN, consistent_start
from kingpost.equations.equations import Equations
from kingpost.loads.sharing import closure_loads
from kingpost.mechanism.mechanism import Mechanism
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.simulation.answers import evaluation
from kingpost.simulation.export_model import prepare_export
from kingpost.simulation.exporter import Exported, Exporter, ExportSelection
from kingpost.simulation.problem import Problem, check_mass_matrix, check_singularity, draft, observed, with_closed_loops
from kingpost.simulation.settings import RunChoices, RunSettings
from kingpost.simulation.signals import Signals
from kingpost.statics.equilibrium import Equilibrium, find_equilibrium
from kingpost.statics.linearize import Linearisation
from kingpost.statics.linearize import linearize as linear_system

if TYPE_CHECKING:
    from typing_extensions import Unpack

STATE_KEYS = ("t", "q", "v", "z", "u", "parameters")


@dataclass(frozen=True, eq=False)
class Situation:
    """A problem with numbers for everything in it; ``given`` are the keys of the state that was asked for."""

    problem: Problem
    given: frozenset[str] = frozenset()

    @property
    def equations(self) -> Equations:
        return self.problem.equations

    @property
    def t(self) -> float:
        return self.problem.t_start

    @property
    def x(self) -> FloatArray:
        return self.problem.x0

    @property
    def u(self) -> FloatArray:
        return self.problem.u0

    @property
    def p(self) -> FloatArray:
        return self.problem.p

    def closed(self) -> Situation:
        """Return the situation with its loops closed, as a run would begin."""
        how = self.problem.how
        begin = consistent_start(self.equations, self.t, self.x, self.p, bool(how.close_loops))
        return replace(self, problem=replace(self.problem, x0=begin.x, fitted=begin.changes))

    def fitted(self) -> Situation:
        """Return the situation with what was not given fitted to the loops, all of it if close_loops says so; or at rest."""
        equations, far = self.equations, bool(self.problem.how.close_loops)
        if self.problem.how.start == "equilibrium" and "q" not in self.given:
            x = find_equilibrium(equations, self.x, self.u, self.p, self.t).x
            return replace(self, problem=replace(self.problem, x0=x))
        if not equations.constraints.count or ("v" in self.given and not far):
            return self
        if "q" in self.given and not far:
            position = equations.constraint_residuals(self.t, *equations.split(self.x), self.p)[0]
            if not np.abs(np.asarray(position)).max(initial=0.0) <= OPEN:
                return self
        return self.closed()


def situation(
    mechanism: Mechanism,
    at: Mapping[str, Any] | None = None,
    *,
    settings: Mapping[str, float] | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
    **choices: Unpack[RunChoices],
) -> Situation:
    """Return a machine at a state; loops that the state leaves open stay so."""
    how = RunSettings.of(choices).over(how or RunSettings())
    state = checked_state(at or {})
    problem = draft(mechanism, how, values={**(settings or {}), **state.get("parameters", {})}, plugins=plugins)
    equations = problem.equations
    q, v = equations.split(problem.x0)
    names = {
        "q": [item.name for item in equations.position_quantities],
        "v": [item.name for item in equations.speed_quantities],
        "z": [item.name for item in equations.states.quantities],
        "u": [signal.name for signal in problem.mechanism.inputs],
    }
    own = {"q": q, "v": v, "z": equations.states_of(problem.x0), "u": problem.u0}
    numbers = {key: _vector(state, key, start, names[key]) for key, start in own.items()}
    x = np.concatenate([numbers[key] for key in "qvz"])
    t = float(state.get("t", problem.t_start))
    check_singularity(equations, x, t)
    check_mass_matrix(equations, x, problem.p)
    equations = with_closed_loops(problem, t, x)
    return Situation(replace(problem, equations=equations, t_start=t, x0=x, u0=numbers["u"]), frozenset(state))


def evaluate(
    mechanism: Mechanism,
    at: Mapping[str, Any] | None = None,
    *,
    settings: Mapping[str, float] | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
    **choices: Unpack[RunChoices],
) -> dict[str, Any]:
    """Return mass matrix, accelerations, joint loads, energies, outputs and constraints of a machine at one state.

    Of closed loops a state that is given is taken as it is; what is left out is fitted as in a run.
    """
    place = situation(mechanism, at, settings=settings, how=how, plugins=plugins, **choices).fitted()
    return evaluation(observed_with_all_loads(place.problem))


def observed_with_all_loads(problem: Problem) -> Problem:
    """Return a problem with the loads of all joints, unless it says which are wanted."""
    how = problem.how if problem.how.loads is not None else replace(problem.how, loads=("all",))
    return observed(replace(problem, how=how))


def equilibrium(
    mechanism: Mechanism,
    at: Mapping[str, Any] | None = None,
    *,
    stable: bool = True,
    settings: Mapping[str, float] | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
    **choices: Unpack[RunChoices],
) -> Equilibrium:
    """Return a state at rest near the start, or near ``at``; with ``stable``, one around which no small motion grows."""
    return at_rest(situation(mechanism, at, settings=settings, how=how, plugins=plugins, **choices), stable=stable)


def at_rest(place: Situation, *, stable: bool = True) -> Equilibrium:
    """Return a state at rest near a situation; what its closures carry there is shared as in a run."""
    equations, u, p, t = place.equations, place.u, place.p, place.t
    found = find_equilibrium(equations, place.x, u, p, t, stable=stable)
    if not found.redundant:
        return found
    problem = place.problem
    shared = closure_loads(problem.assembly, equations, t, found.x, u, p, problem.how.load_metric)
    return replace(found, closures=shared)


def linearize(
    mechanism: Mechanism,
    at: Mapping[str, Any] | None = None,
    *,
    settings: Mapping[str, float] | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
    **choices: Unpack[RunChoices],
) -> Linearisation:
    """Return the linear system around the start, or around ``at``; with ``start="equilibrium"``, around rest near it."""
    return linearised(situation(mechanism, at, settings=settings, how=how, plugins=plugins, **choices))[1]


def linearised(place: Situation) -> tuple[Situation, Linearisation]:
    """Return the situation that is linearised around, and the linear system there."""
    if place.problem.how.start == "equilibrium":
        x = find_equilibrium(place.equations, place.x, place.u, place.p, place.t).x
        place = replace(place, problem=replace(place.problem, x0=x))
    elif place.equations.joint_coordinates:
        place = place.closed()
    return place, linear_system(place.equations, place.t, place.x, place.u, place.p)


def export(
    mechanism: Mechanism,
    path: str | Path,
    *,
    to: Selection[Exporter] = "native-fmu",
    outputs: Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    parameters: Sequence[str] | None = None,
    communication_step: float | None = None,
    drive: Signals | None = None,
    settings: Mapping[str, float] | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
    **choices: Unpack[RunChoices],
) -> Exported:
    """Write a mechanism as an FMU, or in another form that an exporter makes.

    ``to`` may carry options, e.g. ``"native-fmu:fmi=3"``; ``outputs``, ``inputs`` and ``parameters`` are patterns of what it
    shows. Inputs in ``drive`` follow a trajectory, history or file inside of it.
    """
    plugins = plugins or PluginSet()
    exporter = select(plugins.of("exporters"), to)
    model = prepare_export(
        mechanism, settings=settings, communication_step=communication_step, drive=drive, how=how, plugins=plugins, **choices
    )
    return exporter.export(model, ExportSelection(outputs, inputs, parameters), Path(path))


def checked_state(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse keys that no state has, and numbers that are none."""
    for key in state:
        if key not in STATE_KEYS:
            raise KingpostError(f"a state has no '{key}'{closest(key, STATE_KEYS)} It takes: {listed(STATE_KEYS)}.")
    if finite(state.get("t", 0.0)) is None:
        raise KingpostError(f"t = {shown(state['t'])} is not a finite number")
    if not isinstance(state.get("parameters", {}), Mapping):
        raise KingpostError('parameters must be an object, e.g. {"mass1": 2.0}')
    return state


def _vector(state: Mapping[str, Any], key: str, start: FloatArray, names: list[str]) -> FloatArray:
    given = state.get(key)
    if given is None:
        return start
    several = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
    if not several or len(given) != len(start):
        size = len(given) if several else given
        raise KingpostError(f"{key} must be a list of {len(start)} numbers ({listed(names)}), got {size!r}")
    for i, value in enumerate(given):
        if finite(value) is None:
            raise KingpostError(f"{key}[{i}] = {shown(value)} is not a finite number")
    return np.array(given, dtype=float)
