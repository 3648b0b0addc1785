"""Inverse dynamics: the motion and the inputs by which a machine follows the path of a servo task."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import Interrupted, SolverError
from kingpost.control.servo.posing import pose_servo
from kingpost.control.servo.problem import ServoProblem
from kingpost.control.servo.record import InverseRecord, history_of
from kingpost.control.servo.solution import ServoSolution
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
    start = consistent_start(problem, find_index(problem) if index is None else index)
    statistics: dict[str, Any] = {}

    def so_far(solution: ServoSolution, outcome: str) -> History:
        seconds = time.perf_counter() - began
        return history_of(problem, solution, InverseRecord(method, stepper, outcome, seconds, statistics, start.order))

    if isinstance(method, DirectInverse):
        return so_far(ServoSolution(grid.times, method.solve(problem, start, grid.times, progress)), "complete")
    assert isinstance(method, SteppedInverse)
    return march(problem, method, stepper, start, grid.times, step, backend, statistics, progress, so_far)


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
    so_far: Callable[[ServoSolution, str], History],
) -> History:
    """Step the system of a method from the start through all times, as compiled code; what was found is never thrown away."""
    system = method.reduce(problem, start.point)
    moving = ServoMarch(system, stepper)
    state, given, p = beginning(moving, start, times, h)
    solved = moving.solution()
    symbols = [ca.MX.sym(f"i{k}", solved.numel_in(k)) for k in range(4)]
    observe = ca.Function("kp_observe", symbols, [ca.densify(ca.vertcat(*solved.call(symbols)))])
    kernel = Kernel([moving.step, observe], backend)
    statistics |= {"backend": kernel.backend, "note": kernel.note}
    values = np.empty((len(times), observe.numel_out(0)))
    values[:1] = kernel.sample(times[:1], state[None, :], given[:1], p)
    finished = 0

    def advanced(steps: int) -> None:
        nonlocal finished
        finished = steps
        progress(steps / (len(times) - 1))

    def part() -> ServoSolution:
        return ServoSolution(times[: finished + 1], values[: finished + 1])

    try:
        stop = kernel.march(values[1:], 1, float(times[0]), h, state, given, p, progress=advanced)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted at t = {times[finished]:g} s", history=so_far(part(), "interrupted")) from None
    statistics["steps"] = stop.steps
    if stop.status != Status.OK:
        record, _ = moving.loop.iterated(stop.t, stop.x, given[stop.steps], p, h)
        raise SolverError(
            f"inverse dynamics stopped at t = {stop.t:.9g} s of {times[-1]:g} s (method '{method.name}', stepper "
            f"'{stepper.name}' with {h:g} s): {record.explain()}. A shorter step, another stepper or method, or a path that "
            "keeps away from this place may help; an index analysis says where ranks change",
            history=so_far(part(), "failed"),
        )
    return so_far(ServoSolution(times, values), "complete")


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


def find_index(problem: ServoProblem) -> int:
    """TEMPORARY."""
    return 5
