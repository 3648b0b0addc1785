"""Inverse dynamics: the motion and the inputs by which a machine follows the path of a servo task."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.base.version import __version__
from kingpost.control.servo.posing import pose_servo
from kingpost.control.servo.problem import ServoProblem
from kingpost.control.servo.solution import ServoSolution, observer, solution_channels
from kingpost.control.servo.start import ServoStart, consistent_start
from kingpost.control.servo.stepping import ServoMarch, ServoStepper
from kingpost.control.servo.system import DirectInverse, InverseDynamics, Progress, SteppedInverse
from kingpost.kernel.kernel import Backend, Kernel, Status
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
    backend = problem.posed.how.backend or "auto"
    grid = fixed_step_grid(task.t_start, task.t_end, step, step)
    start = consistent_start(problem, None if index is None else index - 1)
    statistics: dict[str, Any] = {}
    if isinstance(method, SteppedInverse):
        solution = march(problem, method, stepper, start, grid.times, step, backend, statistics, progress)
    else:
        assert isinstance(method, DirectInverse)
        solution = ServoSolution(grid.times, method.solve(problem, start, grid.times, progress))
    return history_of(problem, solution, method, stepper, statistics, time.perf_counter() - began)


def march(
    problem: ServoProblem,
    method: SteppedInverse,
    stepper: ServoStepper,
    start: ServoStart,
    times: FloatArray,
    h: float,
    backend: Backend,
    statistics: dict[str, Any],
    progress: Progress,
) -> ServoSolution:
    """Step the system of a method from the start through all times, as compiled code."""
    system = method.reduce(problem, start.point)
    moving = ServoMarch(system, stepper)
    state, given, p = beginning(moving, start, times, h)
    solved = moving.solution()
    symbols = [ca.MX.sym(f"i{k}", solved.numel_in(k)) for k in range(4)]
    observe = ca.Function("kp_observe", symbols, [ca.densify(ca.vertcat(*solved.call(symbols)))])
    kernel = Kernel([moving.step, observe], backend)
    values = np.empty((len(times), observe.numel_out(0)))
    values[:1] = kernel.sample(times[:1], state[None, :], given[:1], p)
    total = len(times) - 1
    stop = kernel.march(values[1:], 1, float(times[0]), h, state, given, p, progress=lambda done: progress(done / total))
    statistics |= {"steps": stop.steps, "backend": kernel.backend, "note": kernel.note}
    if stop.status != Status.OK:
        record, _ = moving.loop.iterated(stop.t, stop.x, given[stop.steps], p, h)
        raise SolverError(
            f"inverse dynamics stopped at t = {stop.t:.9g} s of {times[-1]:g} s (method '{method.name}', stepper "
            f"'{stepper.name}' with {h:g} s): {record.explain()}. A shorter step, another stepper or method, or a path that "
            "keeps away from this place may help; an index analysis says where ranks change"
        )
    return ServoSolution(times, values)


def beginning(moving: ServoMarch, start: ServoStart, times: FloatArray, h: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the first state, what the march is given at each sample, and the parameters with scales."""
    system, problem, stepper = moving.system, start.problem, moving.stepper

    def entries(t: float) -> list[FloatArray]:
        at = start.at(t)
        found = system.started(at.t, at.q, at.v, at.a, at.z, at.zdot, at.lam, at.u, at.signals.ravel(), problem.p)
        return [np.asarray(part).ravel() for part in found]

    x, xdot, w = entries(start.t)
    earlier = [entries(start.t - (k + 1) * h)[0] for k in range(stepper.earlier)]
    state = np.concatenate([x, w, xdot, *earlier])
    offsets = (0.0, *stepper.stages)
    given = np.hstack([problem.signals(times + c * h, system.orders).reshape(len(times), -1) for c in offsets])
    scales = moving.scales(start.t, state, given[0], problem.p, h)
    return state, np.ascontiguousarray(given), np.concatenate([problem.p, scales])


def history_of(
    problem: ServoProblem,
    solution: ServoSolution,
    method: InverseDynamics,
    stepper: ServoStepper,
    statistics: Mapping[str, Any],
    seconds: float,
) -> History:
    """Return a solution as a history with all that is seen of it, and how it was found."""
    posed = observed(problem.posed)
    equations = posed.equations
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
        "warnings": [],
    }
    return History(solution.times, channels, values, provenance)

