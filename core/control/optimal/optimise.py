"""Optimal control from a machine and a task to an optimum: what can be chosen, what is checked, and which starts are tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypedDict

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.control.optimal.checks import check_intervals, failure
from kingpost.control.optimal.continuation import automatic, stages
from kingpost.control.optimal.optimum import Optimum
from kingpost.control.optimal.problem import OptimalProblem, pose_optimal
from kingpost.control.optimal.search import DEFAULT_TRANSCRIPTION, ENDED, Search, Start, better
from kingpost.control.optimal.solver import NlpSolver, SolverOptions
from kingpost.control.optimal.solving import FEASIBLE, Watch
from kingpost.control.optimal.transcription import Grid, Transcription
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.optimal_tasks import OptimalTask
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.simulation.settings import RunSettings

if TYPE_CHECKING:
    from typing_extensions import Unpack

DEFAULT_SOLVER = "ipopt"
#: Starts that are tried one after the other where nobody says and the task's own fails; random ones after continuations.
GUESSES, RANDOM = ("line", "constant"), ("random:1", "random:2")


@dataclass(frozen=True, eq=False)
class PreparedOptimisation:
    """Optimal control that is ready to go: everything derived, chosen and checked."""

    problem: OptimalProblem
    transcription: Transcription
    grid: Grid
    options: SolverOptions
    #: The starts that are tried; of several the best optimum counts. Without any, the task's own, and others if it fails.
    starts: tuple[Start, ...] = ()
    #: Lists of values that lead to the problem; see :class:`~kingpost.mechanism.optimal_tasks.OptimalTask`.
    continuation: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    solver: NlpSolver | None = None

    def run(self, watch: Watch = lambda step: None) -> Optimum:
        """Carry it out; see :func:`optimise`."""
        search = Search(self.problem, self.transcription, self.grid, self.options, watch, self.solver)
        best: Optimum | None = None
        for start, continuation in self._tries():
            try:
                found = search.tried(start, continuation, patient=continuation is self.continuation)
            except KeyboardInterrupt:
                if best is None or best.solution.violation > FEASIBLE:
                    raise
                # What earlier starts gave is kept.
                best = replace(best, solution=replace(best.solution, status="interrupted"))
                break
            if found is None:
                continue
            if best is None or better(found, best):
                best = found
            if found.status in ENDED or (not self.starts and found.solution.optimal):
                break
        assert best is not None
        best = replace(best, attempts=tuple(search.attempts), notes=tuple(dict.fromkeys(search.notes)))
        if best.solution.violation > FEASIBLE:
            if best.status == "interrupted":
                raise KeyboardInterrupt(str(failure(best)))
            raise failure(best)
        if best.solution.optimal:
            best = self.transcription.finished(self.problem, self.grid, best)
        return best

    def _tries(self) -> Iterator[tuple[Start, Mapping[str, tuple[float, ...]]]]:
        """Return starts and continuations, of which the later ones are for when the earlier ones fail."""
        if self.starts:
            yield from ((start, self.continuation) for start in self.starts)
            return
        own = self.problem.task.guess
        guesses = (own, *(name for name in GUESSES if name != own))
        yield from ((name, self.continuation) for name in guesses)
        if not self.continuation:
            yield from ((own, lists) for lists in automatic(self.problem, self.grid))
        yield from ((name, self.continuation) for name in RANDOM)


class OptimisationChoices(TypedDict, total=False):
    """What may be chosen about optimal control; everything may be left out."""

    #: How the motion in an interval enters the program, e.g. ``"step"`` (the default) or ``"collocation:degree=3"``.
    transcription: Selection[Transcription] | None
    #: In place of what the task says.
    intervals: int | None
    horizon: float | None
    #: From which motions the search begins: names of guesses, motions, histories of the machine, or how many; the best optimum
    #: counts, and all are listed in ``attempts``. By default the task's own guess, and others only if the search from it fails.
    starts: Sequence[Start] | int | None
    #: What inputs are within an interval, in place of what the task says: ``"constant"`` or ``"linear"``.
    control: Literal["constant", "linear"] | None
    #: Lists of values that lead to the problem through easier ones, in place of those of the task.
    continuation: Mapping[str, Sequence[float]] | None
    #: Parameters, inputs that stay what they are, and start values by name; before those of the task.
    settings: Mapping[str, float] | None
    #: Formulation, integrator, joint loads and backend, as for :func:`kingpost.simulate`; by default ``kane`` with
    #: ``midpoint``. Other coordinates are solved in joint coordinates first, and lifted.
    how: RunSettings | None
    #: Tolerance, iterations, time limit.
    options: SolverOptions | None
    #: What solves the program: ``"ipopt"`` (the default) or ``"fatrop"``.
    solver: Selection[NlpSolver] | None
    #: The plugins to choose from; by default all built-in and installed ones.
    plugins: PluginSet | None


def prepare_optimisation(
    mechanism: Mechanism, task: OptimalTask, **choices: Unpack[OptimisationChoices]
) -> PreparedOptimisation:
    """Derive and check everything that optimal control needs; what can be chosen is in :class:`OptimisationChoices`."""
    for name in choices:
        if name not in OptimisationChoices.__annotations__:
            raise TypeError(f"optimal control has no choice '{name}'{closest(name, OptimisationChoices.__annotations__)}")
    plugins = choices.get("plugins") or PluginSet()
    intervals, horizon, transcription = choices.get("intervals"), choices.get("horizon"), choices.get("transcription")
    continuation = choices.get("continuation")
    if horizon is not None:
        task = task.lasting(horizon)
    control = choices.get("control")
    if control is not None:
        task = replace(task, control=control)
    if continuation is not None:
        task = replace(task, continuation={name: tuple(values) for name, values in continuation.items()})
    if intervals is not None and intervals < 1:
        raise MechanismError(f"{intervals} intervals: at least one is needed")
    counts = tuple(each.intervals for each in task.phase_tasks())
    grid = Grid(sum(counts) or task.intervals, counts)
    if intervals is not None:
        grid = grid.with_intervals(intervals)
    registry = plugins.of("optimal_control")
    way = select(registry, DEFAULT_TRANSCRIPTION if transcription is None else transcription)
    solver = select(plugins.of("nlp_solvers"), choices.get("solver") or DEFAULT_SOLVER)
    how = choices.get("how") or RunSettings()
    if solver.differentiates:
        how = replace(how, backend="vm")
    problem = pose_optimal(mechanism, task, how, values=choices.get("settings"), plugins=plugins)
    refusal = next(filter(None, map(way.refusal, problem.parts)), "")
    if refusal:
        raise MechanismError(f"{refusal}. Transcriptions: {listed(cls.name for cls, _ in registry.entries())}")
    options = choices.get("options") or SolverOptions()
    refusal = solver.refusal(problem, options)
    if refusal:
        raise MechanismError(f"{task.title}: {refusal}")
    check_intervals(problem, grid)
    stages(problem, grid, task.continuation)
    starts = _starts(task, choices.get("starts"))
    return PreparedOptimisation(problem, way, grid, options, starts, task.continuation, solver)


def _starts(task: OptimalTask, given: Sequence[Start] | int | None) -> tuple[Start, ...]:
    if given is None:
        return ()
    if isinstance(given, int):
        if given < 1:
            raise MechanismError(f"{given} starts: at least one is needed")
        names = dict.fromkeys((task.guess, "line", "constant", *(f"random:{i}" for i in range(1, given + 1))))
        return tuple(names)[:given]
    known = ("constant", "line")
    for name in given:
        if isinstance(name, str) and name not in known and not name.startswith("random"):
            raise MechanismError(f"there is no start '{name}'; take one of {listed(known)}, or random:1, random:2, ...")
    return tuple(given)


def optimise(
    mechanism: Mechanism,
    task: OptimalTask,
    *,
    watch: Watch = lambda step: None,
    **choices: Unpack[OptimisationChoices],
) -> Optimum:
    """Find the inputs that bring a machine to the end of a task within its bounds at the least cost.

    Parameters
    ----------
    mechanism, task
        The machine and what it is to do.
    watch
        Called after every iteration with its number, cost and violation.
    choices
        ``transcription``, ``intervals``, ``horizon``, ``control``, ``starts``, ``continuation``, ``settings``, ``how``,
        ``options``, ``solver`` and ``plugins``: see :class:`OptimisationChoices`.

    Raises
    ------
    MechanismError
        When the task cannot work, before anything is solved.
    SolverError
        When no motion was found that keeps all constraints; the message says which one is worst, and when.
    KeyboardInterrupt
        When the search is interrupted before any motion keeps all constraints. Later, the best motion is returned.

    """
    return prepare_optimisation(mechanism, task, **choices).run(watch)
