"""A run that is ready to go, and how it goes: the marching, what stops it, and the record it leaves."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.errors import Interrupted, PluginError, SolverError
from kingpost.equations.equations import Equations
from kingpost.equations.integrator import InitialValueProblem, Integrator, Solver
from kingpost.equations.newton import ImplicitStepMap
from kingpost.equations.newton_records import iteration_statistics, solved_for
from kingpost.kernel.kernel import Evaluator, Kernel, Status, Stop, Trail
from kingpost.mechanism.mechanism import Mechanism
from kingpost.registry.failures import plugin_failure
from kingpost.registry.pluginset import PluginSet
from kingpost.results.history import History, given_away
from kingpost.results.turns import with_turns
from kingpost.simulation.blocks import BLOCK, Block, kept_run, run_in_blocks
from kingpost.simulation.failures import Failures
from kingpost.simulation.grid import Grid, check_memory
from kingpost.simulation.input_rows import InputRows, Segment
from kingpost.simulation.other_numbers import Feed, with_numbers
from kingpost.simulation.otherwise import counted, slow_warnings
from kingpost.simulation.problem import Problem, check_singularity
from kingpost.simulation.provenance import run_record
from kingpost.simulation.stability import MANY, step_warnings

if TYPE_CHECKING:
    from kingpost.results.telling import Telling

Progress: TypeAlias = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Simulation:
    """A run that is ready to go: a problem, its times, rows of numbers for its inputs, and its functions compiled."""

    problem: Problem
    kernel: Kernel
    grid: Grid
    rows: InputRows
    #: Where states go while fixed steps are taken, for those who want to go the way back.
    trail: Trail | None = None
    #: What makes rows for its inputs with other numbers; None if they only hold.
    feed: Feed | None = None

    def at(self, settings: Mapping[str, float]) -> Simulation:
        """Return the same run with other numbers: what :func:`prepare` gives for ``settings``, to the last bit.

        Nothing is derived, and nothing compiled. Parameters, constant inputs and start values that are not named are those of
        the mechanism, not those of this run. Numbers that no machine can have, that leave loops open or make other constraints
        redundant, a singular joint or mass matrix are refused as in a new run; a start in equilibrium is found anew.
        """
        return with_numbers(self, settings)

    def blocks(self, samples: int = BLOCK) -> Iterator[Block]:
        """Carry the run out and give so many samples at a time, the start among the first, to the bits of :meth:`run`.

        For what is to be had of a run without keeping it: memory does not grow with its length, unless inputs move. The arrays
        of a block are filled anew for the next. A run that cannot go on raises :class:`SolverError` after its last good
        samples.
        """
        return run_in_blocks(self, samples)

    @property
    def mechanism(self) -> Mechanism:
        return self.problem.mechanism

    @property
    def equations(self) -> Equations:
        return self.problem.equations

    @property
    def integrator(self) -> Integrator:
        return self.problem.integrator

    @property
    def plugins(self) -> PluginSet:
        return self.problem.plugins

    @property
    def inputs(self) -> FloatArray:
        """The row of numbers for the inputs that begins at each sample: their values there, and what those that move need."""
        return self.rows.at_samples

    @property
    def channels(self) -> tuple[Channel, ...]:
        """What the history of the run has: the channels of the equations, and the inputs that move."""
        return (*self.equations.channels, *self.moving_inputs)

    @cached_property
    def moving_inputs(self) -> tuple[Channel, ...]:
        """The inputs that move, but for those that a channel of the equations is called like."""
        names = {channel.name for channel in self.equations.channels}
        units = {signal.name: signal.unit for signal in self.mechanism.inputs}
        return tuple(Channel(name, units[name]) for name in self.rows.sources if name not in names)

    @property
    def fitted(self) -> Mapping[str, float]:
        return self.problem.fitted

    @property
    def p(self) -> FloatArray:
        return self.problem.p

    @cached_property
    def x0(self) -> FloatArray:
        """The state at the start, followed by what the integrator remembers there."""
        return self.problem.stepper.begin(
            self.grid.t_start, self.problem.x0, self.rows.values[0], self.problem.p, self.grid.step
        )

    @property
    def states(self) -> int:
        """The number of entries of the state [q; v; z]."""
        return self.equations.nx

    @cached_property
    def failures(self) -> Failures:
        """What says why the run cannot go on."""
        return Failures(self.problem, self.grid.step)

    def run(self, progress: Progress = lambda fraction: None, keep: Sequence[str] | None = None) -> History:
        """Carry the run out; see :func:`simulate`. ``keep`` names the channels that its history is to have, by default all."""
        if keep is not None:
            return kept_run(self, keep, progress)
        from kingpost.simulation.small_angles import TiltWatch

        started = time.perf_counter()
        statistics: dict[str, Any] = {}
        y = self._room()
        first = self.grid.times[:1], self.x0[None, :], self.rows.values[:1]
        try:
            y[:1] = self.kernel.sample(*first, self.p)
        except SolverError as error:
            raise self.failures.explained(error) from None
        self.failures.check_outputs(self.grid.t_start, y[0])
        finished = 0
        telling = self._telling(progress)

        def advanced(steps: int) -> None:
            nonlocal finished
            finished = steps // self.grid.substeps
            if telling is not None and telling.due(finished + 1, last=finished == self.grid.samples):
                rows = slice(telling.told, finished + 1)
                telling.tell(self.grid.times[rows], self._shown(y, rows))
            progress(steps / (self.grid.samples * self.grid.substeps))

        def so_far(outcome: str) -> History:
            seconds = time.perf_counter() - started
            rows = slice(0, finished + 1)
            if outcome == "complete" and self.states <= 2 * MANY:
                statistics.update(self._newton_iterations(y))
            provenance = run_record(self, outcome, seconds, statistics)
            if outcome != "interrupted":
                warnings = self.step_warnings(self.grid.times[rows], y[rows, : self.states])
                tilts = TiltWatch(self)
                tilts.look(self.grid.times[rows], y[rows])
                provenance |= tilts.record()
                slow = slow_warnings(statistics, self.grid.step)
                provenance["warnings"] = [*warnings, *slow, *tilts.warnings(), *self.rows.notes]
                provenance["diverges"] = bool(warnings)
            # The samples may take most of the memory that there is: they are handed on, not copied.
            shown = [self.rows.column(channel.name)[rows] for channel in self.moving_inputs]
            values = with_turns(self.channels, np.column_stack([y[rows], *shown]) if shown else y[rows], in_place=True)
            given_away(y if values.base is y else values)
            return History(self.grid.times[rows], self.channels, given_away(values), provenance)

        try:
            try:
                if self.problem.stepper.fixed:
                    self._march(y[1:], advanced, statistics)
                else:
                    self._solve(y[1:], advanced, statistics)
            except SolverError as error:
                raise self.failures.explained(error) from None
        except KeyboardInterrupt:
            reached = self.grid.times[finished]
            raise Interrupted(f"interrupted at t = {reached:g} s", history=so_far("interrupted")) from None
        except SolverError as error:
            explanation = str(error)
            history = so_far("failed")
            message = " ".join([explanation, *(f"Note: {note}." for note in history.provenance["warnings"])])
            raise type(error)(message, history=history) from None
        return so_far("complete")

    def _telling(self, progress: Progress) -> Telling | None:
        """Return what hands samples over, if somebody watches."""
        if getattr(progress, "watch", None) is None:
            return None
        from kingpost.results.telling import Telling

        return Telling(progress, lambda: self.channels)

    def _shown(self, y: FloatArray, rows: slice) -> FloatArray:
        """Return the samples of all channels: outputs, and the inputs that move."""
        return np.column_stack([y[rows], *(self.rows.column(channel.name)[rows] for channel in self.moving_inputs)])

    def _room(self) -> FloatArray:
        """Return room for all samples."""
        samples, channels = self.grid.samples + 1, len(self.equations.channels)
        check_memory(self.grid, 1 + self.rows.per_sample * self.rows.layout.size + channels)
        try:
            return np.empty((samples, channels))
        except MemoryError:
            raise SolverError(
                f"there is no memory for {samples} samples of {channels} channels ({8 * samples * channels:.3g} bytes); keep "
                "samples less often, or end earlier"
            ) from None

    def _newton_iterations(self, y: FloatArray) -> dict[str, Any]:
        """Return how many Newton iterations the steps take, from some that are repeated."""
        # A force in Python may count its calls, or write them down.
        if not isinstance(self.integrator, ImplicitStepMap) or self.equations.all_externals:
            return {}
        times, size, inputs = self.grid.times, self.states, self.inputs
        found = iteration_statistics(
            self.integrator,
            self.equations,
            lambda k: (float(times[k]), y[k, :size], inputs[k]),
            self.grid.samples,
            self.p,
            self.grid.step,
        )
        if not found:
            return {}
        return {"newton_iterations": found, "newton_unknowns": solved_for(self.integrator, self.equations)}

    def step_warnings(self, times: FloatArray, states: FloatArray, inputs: FloatArray | None = None) -> list[str]:
        """Return what is to be said of the step, judged at some samples."""
        return step_warnings(
            self.problem,
            partial(self.kernel.evaluator, "kp_step"),
            self.grid.step,
            times,
            states,
            self.inputs if inputs is None else inputs,
            self.failures.python_error,
        )

    def _march(self, y: FloatArray, advanced: Callable[[int], None], statistics: dict[str, Any]) -> None:
        grid = self.grid
        stop = self.kernel.march(
            *(y, grid.substeps, grid.t_start, grid.step, self.x0, self.rows.values, self.p),
            progress=advanced,
            every=grid.substeps // self.rows.per_sample,
            trail=self.trail,
        )
        statistics |= {"steps": stop.steps, **counted(self.problem.stepper, stop)}
        row = stop.steps // grid.substeps
        self.refuse_stop(stop, y[row] if stop.status == Status.OUTPUT_NOT_FINITE else None)

    def refuse_stop(self, stop: Stop, outputs: FloatArray | None = None) -> None:
        """Say why a march could not go on, if it could not; ``outputs`` are those that are not finite."""
        grid, failures = self.grid, self.failures
        if stop.status == Status.OK:
            return
        u = self.rows.in_step(stop.steps, grid.substeps)
        if stop.status == Status.SINGULAR:
            # The state before it may still be just outside.
            following = self.kernel.evaluator("kp_step")(stop.t, stop.x, u, self.p, grid.step)
            check_singularity(self.equations, following, stop.t + grid.step)
        failures.refuse_jam(stop.t, stop.x, u)
        if outputs is not None:
            failures.check_outputs(stop.t, outputs)
        failures.refuse_dead_centre_ahead(stop.t, stop.x[: self.states], u)
        failures.refuse_unsolved(stop.t, stop.x, u)
        lost = stop.status == Status.NOT_FINITE
        failures.refuse(stop.t, stop.x, "not finite" if lost else "not found by the step's own solver")

    def _solve(self, y: FloatArray, advanced: Callable[[int], None], statistics: dict[str, Any]) -> None:
        for k, row in self.solved(statistics):
            y[k - 1] = row
            advanced(k)

    def solved(self, statistics: dict[str, Any]) -> Iterator[tuple[int, FloatArray]]:
        """Let a solver go, and give the number and the outputs of every sample but the first."""
        last, inputs, grid = self.x0, self.inputs, self.grid
        for segment in self.rows.segments(self.grid):
            samples = itertools.chain(segment.samples, itertools.repeat(None))
            for k, x in zip(samples, self._states(segment, last, statistics), strict=False):
                last = x
                if k is None:  # the end of a segment between two samples
                    continue
                time = grid.times[k : k + 1]
                row = self.kernel.sample(time, x[None, :], inputs[k : k + 1], self.p)[0]
                self.failures.check_outputs(time[0], row)
                check_singularity(self.equations, row[: self.states], time[0])
                yield k, row

    def _states(self, segment: Segment, x0: FloatArray, statistics: dict[str, Any]) -> Iterator[FloatArray]:
        times = segment.times(self.grid)
        if x0.size == 0:
            yield from (x0 for _ in times[1:])
            return
        assert isinstance(self.integrator, Solver)
        row, p, failures = segment.finder(), self.p, self.failures
        evaluate = self.kernel.evaluator("kp_rhs")
        needed = self.integrator.needs_jacobian
        jacobians: list[Evaluator] = [self.kernel.evaluator("kp_jacobian")] if needed else []
        if not np.isfinite(evaluate(times[0], x0, row(times[0]), p)).all():
            failures.refuse_dead_centre(float(times[0]), [x0])
            failures.refuse(float(times[0]), x0, "such that its rate is not finite", "at")

        def finite_jacobian(t: float, x: FloatArray) -> FloatArray:
            if not jacobians:  # of a solver that said it would not ask
                jacobians.append(Evaluator(self.problem.stepper.jacobian))
            matrix = jacobians[0].matrix(t, x, row(t), p)
            if not np.isfinite(matrix).all():
                failures.refuse(t, x, "such that the Jacobian of its rate is not finite", "at")
            return matrix

        projected = self._projection(row)
        lost: list[tuple[float, FloatArray, FloatArray]] = []

        def rhs(t: float, x: FloatArray) -> FloatArray:
            rates = evaluate(t, x, row(t), p)
            if not np.isfinite(rates).all() and np.isfinite(x).all():
                lost[:] = [(t, x.copy(), row(t))]
            return rates

        problem = InitialValueProblem(times, x0.copy(), rhs, finite_jacobian, projected=projected)
        last, count = x0, 0
        for x in self._marched(problem, lost):
            if count == len(times) - 1:
                raise PluginError(f"integrator '{self.integrator.name}' gave more states than the {count} it was asked for")
            count += 1
            if np.shape(x) != x0.shape or not np.isfinite(x).all():
                failures.refuse(float(times[count - 1]), last, "not finite")
            last = np.array(x, dtype=float) if projected is None else projected(float(times[count]), x)
            if not np.isfinite(last).all():
                failures.refuse(float(times[count]), x, "such that its loops cannot be closed", "at")
            yield last
        if count < len(times) - 1:
            raise PluginError(
                f"integrator '{self.integrator.name}' stopped after {count} of {len(times) - 1} output times without saying why"
            )
        for name, number in problem.statistics.items():
            statistics[name] = statistics.get(name, 0) + int(number)

    def _marched(self, problem: InitialValueProblem, lost: list[tuple[float, FloatArray, FloatArray]]) -> Iterator[FloatArray]:
        """Let a solver go; if it cannot go on from where rates are ``lost`` at a dead centre, or in a jam, say so."""
        assert isinstance(self.integrator, Solver)
        try:
            yield from self.integrator.march(problem)
        except SolverError:
            for t, x, u in lost:
                self.failures.refuse_jam(t, x, u)
                self.failures.refuse_dead_centre(t, [x])
            raise
        except Exception as error:
            raise plugin_failure(error) or error from error

    def _projection(self, row: Callable[[float], FloatArray]) -> Callable[[float, FloatArray], FloatArray] | None:
        """Return the function (t, x) -> x without errors of the constraints, if the equations have one; row(t) are inputs."""
        if self.problem.stepper.projected is None:
            return None
        evaluate = self.kernel.evaluator("kp_projected")

        def projected(t: float, x: FloatArray) -> FloatArray:
            # Two Newton steps leave the fourth power of an error; loose tolerances may need a third and fourth.
            for _ in range(3):
                before, x = x, evaluate(t, x, row(t), self.p)
                if not np.abs(x - before).max() > 1e-6:
                    break
            return x

        return projected
