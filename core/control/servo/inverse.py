"""Inverse dynamics: the motion and the inputs by which a machine follows the path of a servo task."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone

import casadi as ca
import numpy as np

from kingpost.base.errors import SolverError
from kingpost.base.version import __version__
from kingpost.control.servo.marching import march
from kingpost.control.servo.posing import pose_servo
from kingpost.control.servo.problem import ServoProblem
from kingpost.control.servo.solution import ServoSolution, observer, solution_channels
from kingpost.control.servo.start import consistent_start
from kingpost.control.servo.stepping import ServoStepper
from kingpost.control.servo.system import DirectInverse, InverseDynamics, Progress, SteppedInverse
from kingpost.kernel.kernel import Kernel
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.tasks import ServoTask
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.results.history import History
from kingpost.simulation.grid import fixed_step_grid
from kingpost.simulation.problem import observed
from kingpost.simulation.provenance import plain_options, problem_record
from kingpost.simulation.settings import RunSettings

DEFAULT_METHOD, DEFAULT_STEPPER = "minimal-extension", "bdf2"


def inverse(
    mechanism: Mechanism,
    task: ServoTask,
    *,
    method: Selection[InverseDynamics] = DEFAULT_METHOD,
    stepper: Selection[ServoStepper] = DEFAULT_STEPPER,
    settings: Mapping[str, float] | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
    progress: Progress = lambda fraction: None,
) -> History:
    """Find the inputs that drive the measures of a task along their path, and everything that moves with them."""
    plugins = plugins or PluginSet()
    way = select(plugins.of("inverse_dynamics"), method)
    steps = select(plugins.of("servo_steppers"), stepper)
    problem = pose_servo(mechanism, task, how, values=settings, plugins=plugins)
    return solve_inverse(problem, way, steps, progress)


def solve_inverse(
    problem: ServoProblem,
    method: InverseDynamics,
    stepper: ServoStepper,
    progress: Progress = lambda fraction: None,
    index: int | None = None,
) -> History:
    """Carry a posed servo problem out."""
    began = time.perf_counter()
    refusal = method.refusal(problem)
    if refusal:
        raise SolverError(refusal)
    task, step = problem.task, stepper.options.step
    grid = fixed_step_grid(task.t_start, task.t_end, step, step)
    start = consistent_start(problem, None if index is None else index - 1)
    if isinstance(method, SteppedInverse):
        system = method.reduce(problem, start.point)
        solution = march(system, stepper, start, grid.times, f"method '{method.name}'", progress)
    else:
        assert isinstance(method, DirectInverse)
        solution = method.solve(problem, start, grid.times, progress)
    warnings = [text for text in (method.warning(start.order + 1), stepper.warning) if text]
    return history_of(problem, solution, method, stepper, time.perf_counter() - began, warnings)


def history_of(
    problem: ServoProblem,
    solution: ServoSolution,
    method: InverseDynamics,
    stepper: ServoStepper,
    seconds: float,
    warnings: Sequence[str] = (),
) -> History:
    """Return a solution as a history with all that is seen of it, and how it was found."""
    posed = observed(problem.posed)
    equations, statistics = posed.equations, solution.statistics
    observe = observer(problem, equations)
    kernel = Kernel([observe], posed.how.backend or "auto", equations.python_forces)
    signals = problem.signals(solution.times, 2).reshape(len(solution.times), -1)
    values = kernel.sample(solution.times, solution.values, np.ascontiguousarray(signals), problem.p)
    channels = solution_channels(problem, equations)
    q, v, z = (solution.part(problem, name)[0] for name in ("q", "v", "z"))
    posed = replace(posed, x0=np.concatenate([q, v, z]))
    provenance = {
        "kingpost": __version__,
        "outcome": "complete",
        "finished": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "wall_time_s": round(seconds, 6),
        **problem_record(posed),
        "inverse": {
            "method": {"name": method.name, "options": plain_options(method)},
            "stepper": {"name": stepper.name, "options": plain_options(stepper)},
            "task": {
                "name": problem.task.name,
                "description": problem.task.description,
                "inputs": list(problem.task.inputs),
                "measures": list(problem.task.measures),
            },
        },
        "time": {
            "start_s": float(solution.times[0]),
            "end_s": float(solution.times[-1]),
            "step_s": stepper.options.step,
            "output_step_s": float(solution.times[1] - solution.times[0]),
        },
        "statistics": {key: value for key, value in statistics.items() if key not in ("backend", "note")},
        "backend": {
            "name": statistics.get("backend", kernel.backend),
            "note": statistics.get("note", kernel.note),
            "loop": "compiled" if kernel.backend == "c" else "python",
        },
        "channels": [vars(channel) for channel in channels],
        "plugins": posed.plugins.sources(),
        "python": platform.python_version(),
        "casadi": ca.CasadiMeta.version(),
        "numpy": np.__version__,
        "platform": platform.platform(),
        "warnings": list(warnings),
    }
    return History(solution.times, channels, values, provenance)

