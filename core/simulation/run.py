"""A run that is ready to go, and how it goes: the marching, what stops it, and the record it leaves."""

from __future__ import annotations

import itertools
import math
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import Interrupted, PluginError, SolverError
from kingpost.base.version import __version__
from kingpost.equations.equations import Equations
from kingpost.equations.guard import SINGULAR_JOINT
from kingpost.equations.integrator import InitialValueProblem, Integrator, Solver, StepMap
from kingpost.equations.newton import ImplicitStepMap, iteration_statistics, repeat_newton
from kingpost.equations.partition import PartitionedEquations, explain_partition
from kingpost.kernel.kernel import NOT_FINITE, OK, OUTPUT_NOT_FINITE, Evaluator, Kernel, Stop
from kingpost.kernel.kernel import SINGULAR as SINGULAR_JOINT
from kingpost.mechanism.geometry import geometry_record
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.values import Values
from kingpost.registry.pluginset import PluginSet
from kingpost.results.history import History
from kingpost.simulation.grid import Grid
from kingpost.simulation.stepper import solver_functions
from kingpost.statics.linearize import longest_stable_step
from kingpost.symbols.externals import python_error

Progress: TypeAlias = Callable[[float], None]
#: Above this many degrees of freedom the stability of the step is not estimated.
MANY = 50
#: States along a run at which it is.
STABILITY_LOOKS = 11


def check_singularity(equations: Equations, x: FloatArray, t: float) -> None:
    """Refuse a state at which the coordinates of a joint are, or nearly are, singular."""
    if equations.guard is None:
        return
    measures = np.asarray(equations.guard(x)).ravel()
    for name, measure in zip(equations.guarded_joints, measures, strict=True):
        if not measure > 0:
            joint = next(joint for joint in equations.mechanism.joints if joint.name == name)
            rows = [i for i, channel in enumerate(equations.channels) if channel.name.startswith(f"{name}.")]
            angles = ", ".join(f"{equations.channels[i].name} = {x[i]:.4f}" for i in rows[:3])
            raise SolverError(
                f"joint '{name}' ({joint.kind}) is about to lock at t = {t:.6g} s: two of its axes are within "
                f"{math.degrees(math.asin(SINGULAR)):.1f} degrees of each other ({angles} rad). Use a spherical or free joint, "
                "whose quaternion has no such place, or another sequence of axes"
            )


@dataclass(frozen=True, eq=False)
class Simulation:
    """A run that is ready to go: everything derived, compiled and checked."""

    mechanism: Mechanism
    equations: Equations
    integrator: Integrator
    kernel: Kernel
    grid: Grid
    values: Values
    x0: FloatArray
    inputs: FloatArray
    p: FloatArray
    plugins: PluginSet
    #: What was changed in the start values so that closed loops fit.
    fitted: Mapping[str, float] = field(default_factory=dict)

    @property
    def states(self) -> int:
        """The number of entries of the state [q; v]."""
        return self.equations.nx

    def run(self, progress: Progress = lambda fraction: None) -> History:
        """Carry the run out; see :func:`simulate`."""
        started = time.perf_counter()
        statistics: dict[str, Any] = {}
        y = np.empty((self.grid.samples + 1, len(self.equations.channels)))
        first = self.grid.times[:1], self.x0[None, :], self.inputs[:1]
        try:
            y[:1] = self.kernel.sample(*first, self.p)
        except SolverError as error:
            raise SolverError(self._explain(error)) from None
        self._check_outputs(self.grid.t_start, y[0])
        finished = 0

        def advanced(steps: int) -> None:
            nonlocal finished
            finished = steps // self.grid.substeps
            progress(steps / (self.grid.samples * self.grid.substeps))

        def so_far(outcome: str) -> History:
            seconds = time.perf_counter() - started
            rows = slice(0, finished + 1)
            if outcome == "complete" and self.states <= 2 * MANY:
                statistics.update(self._newton_iterations(y))
            provenance = self.provenance(outcome, seconds, statistics)
            if outcome != "interrupted":
                provenance["warnings"] = self._step_warnings(self.grid.times[rows], y[rows, : self.states])
            return History(self.grid.times[rows], self.equations.channels, y[rows], provenance)

        try:
            try:
                if isinstance(self.integrator, StepMap):
                    self._march(y[1:], advanced, statistics)
                else:
                    self._solve(y[1:], advanced, statistics)
            except SolverError as error:
                raise SolverError(self._explain(error)) from None
        except KeyboardInterrupt:
            reached = self.grid.times[finished]
            raise Interrupted(f"interrupted at t = {reached:g} s", history=so_far("interrupted")) from None
        except SolverError as error:
            explanation = str(error)
            history = so_far("failed")
            message = " ".join([explanation, *(f"Note: {note}." for note in history.provenance["warnings"])])
            raise SolverError(message, history=history) from None
        return so_far("complete")

    def _newton_iterations(self, y: FloatArray) -> dict[str, Any]:
        """Return how many Newton iterations the steps take, from some that are repeated."""
        # A force in Python may count its calls, or write them down.
        if not isinstance(self.integrator, ImplicitStepMap) or self.equations.all_externals:
            return {}
        times, size = self.grid.times, self.states
        found = iteration_statistics(
            self.integrator,
            self.equations,
            lambda k: (float(times[k]), y[k, :size], self.inputs[k]),
            self.grid.samples,
            self.p,
            self.grid.step,
        )
        return {"newton_iterations": found} if found else {}

    def _step_warnings(self, times: FloatArray, states: FloatArray) -> list[str]:
        """Return a warning if the step is too long for the fastest small motions anywhere along the run."""
        size = self.states
        if not isinstance(self.integrator, StepMap) or not 0 < size <= 2 * MANY or len(times) < 2:
            return []
        if self.equations.constraints.count or size < self.x0.size:
            return []  # a step map with constraints or a memory is not a map of small motions alone
        step, rate, h = self.kernel.evaluator("kp_step"), Evaluator(self.equations.rhs), self.grid.step
        # Evenly over the run, and closely before its end: a step that is too long may have ended it.
        last = len(times) - 1
        looks = np.unique(np.concatenate([np.linspace(0, last, STABILITY_LOOKS), last - np.array([1, 2, 5, 10, 20, 50])]))
        # What comes out of an explosion says nothing about the motion before it.
        usual = 10 * (1 + np.abs(states[: len(states) // 2 + 1]).max(axis=0))
        limits: dict[float, float] = {}
        for k in looks[looks >= 0].astype(int):
            if (np.abs(states[k]) > usual).any():
                continue
            t, u = float(times[k]), self.inputs[k]
            try:
                limit = longest_stable_step(
                    partial(_step_at, step, t, u, self.p), partial(_rate_at, rate, t, u, self.p), states[k], h
                )
            except SolverError:  # a force in Python may know nothing beyond the run
                self._python_error()
                continue
            if limit is not None:
                limits[t] = limit
        if not limits:
            return []
        shortest = min(limits.values())
        return [
            f"a step of {h:g} s is too long for {self.integrator.name}: from t = {min(limits):g} s on errors outgrow the "
            f"motion, whose fastest parts need {shortest:.2g} s or less. Use a step of {_round_down(shortest):g} s"
        ]

    def _march(self, y: FloatArray, advanced: Callable[[int], None], statistics: dict[str, Any]) -> None:
        grid = self.grid
        stop = self.kernel.march(y, grid.substeps, grid.t_start, grid.step, self.x0, self.inputs, self.p, progress=advanced)
        statistics["steps"] = stop.steps
        if stop.status == SINGULAR_JOINT:
            self._refuse_singular(stop.t, stop.x)
        if stop.status == OUTPUT_NOT_FINITE:
            self._check_outputs(stop.t, y[stop.steps // grid.substeps])
        if stop.status != OK:
            if isinstance(self.equations, PartitionedEquations):
                x, u = stop.x[: self.states], self.inputs[stop.steps // grid.substeps]
                rate = np.asarray(self.equations.plain.rhs(stop.t, x, u, self.p)).ravel()
                self._refuse_dead_centre(stop.t, [x, x + grid.step / 2 * rate, x + grid.step * rate])
            self._refuse_unsolved(stop)
            self._refuse(stop.t, stop.x, "not finite" if stop.status == NOT_FINITE else "not found by the step's own solver")

    def _solve(self, y: FloatArray, advanced: Callable[[int], None], statistics: dict[str, Any]) -> None:
        times, last = self.grid.times, self.x0
        for rows in self._held_segments():
            # Row k of u holds from sample k to k + 1, as in a march.
            for k, x in enumerate(self._states(rows, last, statistics), start=rows.start + 1):
                last = x
                y[k - 1 : k] = self.kernel.sample(times[k : k + 1], x[None, :], self.inputs[k : k + 1], self.p)
                self._check_outputs(times[k], y[k - 1])
                check_singularity(self.equations, y[k - 1, : self.states], times[k])
                advanced(k)

    def _states(self, rows: range, x0: FloatArray, statistics: dict[str, Any]) -> Iterator[FloatArray]:
        times = self.grid.times[rows.start : rows.stop + 1]
        if x0.size == 0:
            yield from (x0 for _ in times[1:])
            return
        assert isinstance(self.integrator, Solver)
        u, p = self.inputs[rows.start], self.p
        evaluate = self.kernel.evaluator("kp_rhs")
        needed = self.integrator.needs_jacobian
        jacobians: list[Evaluator] = [self.kernel.evaluator("kp_jacobian")] if needed else []
        if not np.isfinite(evaluate(times[0], x0, u, p)).all():
            self._refuse(float(times[0]), x0, "such that its rate is not finite", "at")

        def finite_jacobian(t: float, x: FloatArray) -> FloatArray:
            if not jacobians:  # of a solver that said it would not ask
                functions = {function.name(): function for function in solver_functions(self.equations, with_jacobian=True)}
                jacobians.append(Evaluator(functions["kp_jacobian"]))
            matrix = jacobians[0].matrix(t, x, u, p)
            if not np.isfinite(matrix).all():
                self._refuse(t, x, "such that the Jacobian of its rate is not finite", "at")
            return matrix

        projected = self._projection()
        lost: list[tuple[float, FloatArray]] = []

        def rhs(t: float, x: FloatArray) -> FloatArray:
            rates = evaluate(t, x, u, p)
            if not np.isfinite(rates).all() and np.isfinite(x).all():
                lost[:] = [(t, x.copy())]
            return rates

        problem = InitialValueProblem(times, x0.copy(), rhs, finite_jacobian, projected=projected)
        last, count = x0, 0
        for x in self._marched(problem, lost):
            if count == len(times) - 1:
                raise PluginError(f"integrator '{self.integrator.name}' gave more states than the {count} it was asked for")
            count += 1
            if np.shape(x) != x0.shape or not np.isfinite(x).all():
                self._refuse(float(times[count - 1]), last, "not finite")
            last = np.array(x, dtype=float) if projected is None else projected(float(times[count]), x)
            if not np.isfinite(last).all():
                self._refuse(float(times[count]), x, "such that its loops cannot be closed", "at")
            yield last
        if count < len(times) - 1:
            raise PluginError(
                f"integrator '{self.integrator.name}' stopped after {count} of {len(times) - 1} output times without saying why"
            )
        for name, number in problem.statistics.items():
            statistics[name] = statistics.get(name, 0) + int(number)

    def _marched(self, problem: InitialValueProblem, lost: list[tuple[float, FloatArray]]) -> Iterator[FloatArray]:
        """Let a solver go; if it cannot go on from where rates are ``lost`` at a dead centre, say so."""
        assert isinstance(self.integrator, Solver)
        try:
            yield from self.integrator.march(problem)
        except SolverError:
            for t, x in lost:
                self._refuse_dead_centre(t, [x])
            raise

    def _projection(self) -> Callable[[float, FloatArray], FloatArray] | None:
        """Return the function (t, x) -> x without errors of the constraints, if the equations have one."""
        try:
            evaluate = self.kernel.evaluator("kp_projected")
        except KeyError:  # no constraints, or none that are to be kept
            return None

        def projected(t: float, x: FloatArray) -> FloatArray:
            # Two Newton steps leave the fourth power of an error; loose tolerances may need a third and fourth.
            for _ in range(3):
                before, x = x, evaluate(t, x, self.p)
                if not np.abs(x - before).max() > 1e-6:
                    break
            return x

        return projected

    def _held_segments(self) -> Iterator[range]:
        """Yield the stretches of samples over which the inputs stay the same."""
        changes = np.flatnonzero(np.any(np.diff(self.inputs[:-1], axis=0) != 0, axis=1)) + 1
        edges = [0, *changes.tolist(), self.grid.samples]
        return (range(a, b) for a, b in itertools.pairwise(edges))

    def _explain(self, error: SolverError) -> str:
        """Return the message, or, if a force written in Python raised, what it raised; pass an interrupt on."""
        raised = self._python_error()
        if raised is None:
            return str(error)
        if isinstance(raised[1], KeyboardInterrupt):
            raise raised[1]
        return f"force '{raised[0]}' raised {type(raised[1]).__name__}: {raised[1]}"

    def _python_error(self) -> tuple[str, BaseException] | None:
        return python_error(self.equations.all_externals)

    def _refuse_singular(self, t: float, x: FloatArray) -> None:
        """Say which joint locks in the step from ``x``; the state before it may still be just outside."""
        following = self.kernel.evaluator("kp_step")(t, x, self.inputs[0], self.p, self.grid.step)
        check_singularity(self.equations, following, t + self.grid.step)

    def _refuse_dead_centre(self, t: float, states: list[FloatArray]) -> None:
        """Say which independent coordinate of a closed loop has lost the others at one of ``states``, if that is so."""
        why = explain_partition(self.equations, t, states, self.p)
        if why:
            raise SolverError(f"'{self.mechanism.name}' with {self.integrator.name}: {why}")

    def _refuse_unsolved(self, stop: Stop) -> None:
        """Say how Newton's method went in an implicit step that failed, if that is why it failed."""
        if not isinstance(self.integrator, ImplicitStepMap):
            return
        u = self.inputs[stop.steps // self.grid.substeps]
        record = repeat_newton(self.integrator, self.equations, stop.t, stop.x, u, self.p, self.grid.step)
        if record.converged:
            return
        name, iterations = self.integrator.name, self.integrator.options.iterations
        advice = f"try a step smaller than {self.grid.step:g} s, or more iterations ({name}:iterations={2 * iterations})"
        if not self.integrator.options.halvings:
            advice += f", or let such steps be halved ({name}:halvings=4)"
        if self.equations.constraints.owners:
            advice += "; at a dead centre of a closed loop no step helps"
        self._refuse(stop.t, stop.x, f"not found: {record.explain()}", advice=advice)

    def _check_outputs(self, t: float, y: FloatArray) -> None:
        if not np.isfinite(y).all():
            worst = int(np.argmin(np.isfinite(y)))
            self._refuse(t, y[: self.states], f"such that '{self.equations.channels[worst].name}' is {y[worst]}", "at")

    def _refuse(self, t: float, x: FloatArray, what: str, where: str = "after", advice: str = "") -> None:
        names = [channel.name for channel in self.equations.channels[: self.states]]
        state = ", ".join(f"{name} = {value:.6g}" for name, value in zip(names, x, strict=False))
        if len(state) > 600:
            state = state[:600] + " ..."
        if not advice:
            fixed = isinstance(self.integrator, StepMap)
            advice = f"try a step smaller than {self.grid.step:g} s" if fixed else "check the model there"
        raise SolverError(
            f"'{self.mechanism.name}' with {self.integrator.name}: the state {where} t = {t:.9g} s is {what}; {advice}. Last "
            f"good state: {state}"
        )

    def provenance(self, outcome: str, seconds: float, statistics: Mapping[str, Any]) -> dict[str, Any]:
        """Return everything needed to know, and to repeat, what was computed."""
        fixed = isinstance(self.integrator, StepMap)
        return {
            "kingpost": __version__,
            "outcome": outcome,
            "finished": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "wall_time_s": round(seconds, 6),
            "model": {
                "name": self.mechanism.name,
                "digest": self.mechanism.digest(),
                "description": self.mechanism.description,
            },
            "parameters": {
                parameter.name: {"value": self.values.parameters[parameter.name], "unit": parameter.unit}
                for parameter in self.mechanism.parameters
            },
            "inputs": {
                signal.name: {"first": _number(self.inputs[0, j]), "unit": signal.unit}
                for j, signal in enumerate(self.mechanism.inputs)
            },
            "geometry": geometry_record(self.mechanism, self.values.parameters),
            "start": dict(
                zip((channel.name for channel in self.equations.channels), self.x0[: self.states].tolist(), strict=False)
            ),
            **({"fitted_start": dict(self.fitted)} if self.fitted else {}),
            **(
                {"redundant_closures": list(self.equations.constraints.redundant)}
                if self.equations.constraints.redundant
                else {}
            ),
            "formulation": self.equations.formulation,
            **({"independent": list(self.equations.independent)} if isinstance(self.equations, PartitionedEquations) else {}),
            "integrator": {"name": self.integrator.name, "options": _plain_options(self.integrator.options)},
            "time": {
                "start_s": self.grid.t_start,
                "end_s": float(self.grid.times[-1]),
                "step_s": self.grid.step if fixed else None,
                "output_step_s": self.grid.output_step,
            },
            **({} if self.equations.observed.loads is None else {"loads": dict(self.equations.observed.loads.record)}),
            "statistics": dict(statistics),
            "backend": {
                "name": self.kernel.backend,
                "note": self.kernel.note,
                "loop": "compiled" if fixed and self.kernel.backend == "c" else "python",
            },
            "channels": [vars(channel) for channel in self.equations.channels],
            "plugins": self.plugins.sources(),
            "python": platform.python_version(),
            "casadi": ca.CasadiMeta.version(),
            "numpy": np.__version__,
            "platform": platform.platform(),
        }


def _step_at(step: Evaluator, t: float, u: FloatArray, p: FloatArray, x: FloatArray, h: float) -> FloatArray:
    return step(t, x, u, p, h)


def _rate_at(rate: Evaluator, t: float, u: FloatArray, p: FloatArray, x: FloatArray) -> FloatArray:
    return rate(t, x, u, p)


def _round_down(step: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten that is not above ``step``."""
    power = 10.0 ** math.floor(math.log10(step))
    return max(factor * power for factor in (1.0, 2.0, 5.0) if factor * power <= step * (1 + 1e-9))


def _plain_options(options: Any) -> dict[str, Any]:
    return {key: value for key, value in vars(options).items() if not key.startswith("_")}


def _number(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None
