"""Inverse dynamics: the motion and the inputs by which a machine follows the path of a servo task."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, SolverError, listed
from kingpost.control.servo.index.analysis import analyse
from kingpost.control.servo.index.refusals import Demands, refuse_if_impossible
from kingpost.control.servo.index.report import IndexReport
from kingpost.control.servo.marching import march_system
from kingpost.control.servo.posing import pose_servo
from kingpost.control.servo.problem import ServoProblem
from kingpost.control.servo.record import InverseRecord, history_of
from kingpost.control.servo.rubbing import Rubbing, forces_of_motion
from kingpost.control.servo.solution import ServoSolution
from kingpost.control.servo.start import ServoStart, consistent_start
from kingpost.control.servo.stepping import ServoStepper
from kingpost.control.servo.system import DirectInverse, InverseDynamics, Progress, SteppedInverse
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.tasks import ServoTask
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.results.history import History
from kingpost.simulation.grid import fixed_step_grid
from kingpost.simulation.settings import RunSettings

#: Where nobody says: machines whose measures take as many inputs as they have ways to move are solved at once.
FULLY_ACTUATED, DEFAULT_METHOD, DEFAULT_STEPPER = "computed-torque", "minimal-extension", "bdf2"


def inverse(
    mechanism: Mechanism,
    task: ServoTask,
    *,
    method: Selection[InverseDynamics] | None = None,
    stepper: Selection[ServoStepper] | None = None,
    settings: Mapping[str, float] | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
    progress: Progress = lambda fraction: None,
) -> History:
    """Find the inputs that drive the measures of a task along their path, and everything that moves with them.

    Parameters
    ----------
    mechanism, task
        The machine and what it is to do.
    method
        How the index is reduced: a name with options (``"projection"``, ``"minimal-extension:twice=true"``), a class or an
        instance; by default ``computed-torque`` where every motion is prescribed, else ``minimal-extension``.
    stepper
        How time is advanced by methods that step, e.g. ``"backward-euler:step=0.005"``; by default ``bdf2`` with 0.01 s. Other
        methods take its step for the times of their samples.
    settings
        Parameters, inputs that stay what they are, and start values by name; before those of the task.
    how
        Formulation, joint loads and backend, as for :func:`kingpost.simulate`.
    plugins
        The plugins to choose from; by default all built-in and installed ones.
    progress
        Called now and then with the fraction done.

    Returns
    -------
    History
        Coordinates, speeds, outputs, energies, tensions and joint loads as of a run; the inputs under their own names; the path
        (``desired.NAME``); errors of the servo-constraints (``servo.position.NAME``, ...), power and work of the inputs.

    Raises
    ------
    MechanismError
        When the task cannot work, before anything is computed, with the numbers that decide.
    SolverError
        When the computation cannot go on; its ``history`` holds what was found before.

    """
    return prepare_inverse(mechanism, task, method=method, stepper=stepper, settings=settings, how=how, plugins=plugins).run(
        progress
    )


@dataclass(frozen=True, eq=False)
class PreparedInverse:
    """Inverse dynamics that is ready to go: everything derived, analysed, chosen and checked."""

    problem: ServoProblem
    method: InverseDynamics
    stepper: ServoStepper
    report: IndexReport
    #: What else the record of a result says.
    notes: Mapping[str, Any] = field(default_factory=dict)

    def run(self, progress: Progress = lambda fraction: None) -> History:
        """Carry it out; see :func:`inverse`."""
        began = time.perf_counter()
        problem, method, stepper = self.problem, self.method, self.stepper
        task, step = problem.task, stepper.options.step
        grid = fixed_step_grid(task.t_start, task.t_end, step, step)
        index = self.report.index
        start = (
            consistent_start(problem, None if index is None else index - 1)
            if method.order is None
            else consistent_start(problem, method.order)
        )
        statistics: dict[str, Any] = {}

        def so_far(solution: ServoSolution, outcome: str) -> History:
            seconds = time.perf_counter() - began
            return history_of(
                problem, solution, InverseRecord(method, stepper, outcome, seconds, statistics, self.report, self.notes)
            )

        if isinstance(method, DirectInverse):
            times, values = method.solve(problem, start, grid.times, progress)
            return so_far(ServoSolution(times, values), "complete")
        assert isinstance(method, SteppedInverse)
        return march(problem, method, stepper, start, grid.times, statistics, progress, so_far)


def prepare_inverse(
    mechanism: Mechanism,
    task: ServoTask,
    *,
    method: Selection[InverseDynamics] | None = None,
    stepper: Selection[ServoStepper] | None = None,
    settings: Mapping[str, float] | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
) -> PreparedInverse:
    """Derive and check everything that inverse dynamics needs; the arguments are those of :func:`inverse`."""
    plugins = plugins or PluginSet()
    problem = pose_servo(mechanism, task, how, values=settings, plugins=plugins)
    steps = select(plugins.of("servo_steppers"), DEFAULT_STEPPER if stepper is None else stepper)
    known = plugins.of("inverse_dynamics")
    way = select(known, default_method(problem) if method is None else method).chosen()
    if problem.rubbing and not way.load_dependent:
        able = [cls.name for cls, _ in known.entries() if cls.load_dependent]
        raise MechanismError(
            f"method '{way.name}' takes no forces that depend on joint loads, and '{mechanism.name}' has "
            f"{listed(problem.rubbing)}. Methods that do: {listed(able)}"
        )
    refusal = way.refusal(problem)
    if refusal:
        raise MechanismError(f"{refusal}. Methods: {listed(cls.name for cls, _ in known.entries())}")
    report = analyse(problem)
    refuse_if_impossible(report, Demands(way.name, way.realisations, way.causal, way.internal_states, way.redundant_inputs))
    return PreparedInverse(problem, way, steps, report)


def default_method(problem: ServoProblem) -> str:
    """Return the method that is taken where nobody says."""
    freedom = problem.equations.nv - problem.equations.constraints.count
    return FULLY_ACTUATED if problem.outputs == freedom and not problem.equations.nz else DEFAULT_METHOD


def march(
    problem: ServoProblem,
    method: SteppedInverse,
    stepper: ServoStepper,
    start: ServoStart,
    times: FloatArray,
    statistics: dict[str, Any],
    progress: Progress,
    so_far: Callable[[ServoSolution, str], History],
) -> History:
    """Step the system of a method from the start through all times, as compiled code; what was found is never thrown away."""
    system = method.reduce(problem, start.point)

    def looked_at(solution: ServoSolution, outcome: str) -> History:
        """Return what was found; where friction is not unique, Newton's method finds anything, or nothing."""
        if problem.rubbing:
            try:
                Rubbing(problem, forces_of_motion(problem)).check(solution.times, solution.values)
            except SolverError as jammed:
                raise SolverError(str(jammed), history=so_far(solution, "failed")) from None
        return so_far(solution, outcome)

    solution = march_system(system, stepper, start, times, f"method '{method.name}'", statistics, progress, looked_at)
    return looked_at(solution, "complete")
