"""Servo systems carried through time: compiled steps from a consistent start."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import Interrupted, SolverError
from kingpost.control.servo.near_singular import FurtherDerivatives
from kingpost.control.servo.prolonged import shifted
from kingpost.control.servo.solution import ServoSolution
from kingpost.control.servo.start import ServoStart
from kingpost.control.servo.stepping import ServoMarch, ServoStepper
from kingpost.control.servo.system import Progress, ServoSystem
from kingpost.equations.newton_records import iterated
from kingpost.kernel.kernel import Kernel, Status


def march_system(
    system: ServoSystem,
    stepper: ServoStepper,
    start: ServoStart,
    times: FloatArray,
    what: str,
    statistics: dict[str, Any],
    progress: Progress,
    so_far: Callable[[ServoSolution, str], Any] = lambda solution, outcome: None,
) -> ServoSolution:
    """Step a system from the start through all times, evenly spaced; ``what`` names the method in messages.

    ``so_far`` makes of a part and its outcome the history that an exception brings along.
    """
    return Compiled(system, stepper).march(start, times, what, statistics, progress, so_far)


class Compiled:
    """The compiled steps of a system, for any path of the same measures."""

    def __init__(self, system: ServoSystem, stepper: ServoStepper) -> None:
        self.system, self.stepper = system, stepper
        self.moving = ServoMarch(system, stepper)
        solved = self.moving.solution()
        symbols = [ca.MX.sym(f"i{k}", solved.numel_in(k)) for k in range(4)]
        observe = ca.Function("kp_observe", symbols, [ca.densify(ca.vertcat(*solved.call(symbols)))])
        self.width = int(observe.numel_out(0))
        self.kernel = Kernel([self.moving.step, observe], system.problem.posed.how.backend or "auto")

    def march(
        self,
        start: ServoStart,
        times: FloatArray,
        what: str,
        statistics: dict[str, Any],
        progress: Progress,
        so_far: Callable[[ServoSolution, str], Any] = lambda solution, outcome: None,
    ) -> ServoSolution:
        """Step from a start, which knows the path, through all times; see :func:`march_system`."""
        moving, kernel = self.moving, self.kernel
        h = float(times[-1] - times[0]) / (len(times) - 1)
        state, given, p = beginning(moving, start, times, h)
        statistics |= {"backend": kernel.backend, "note": kernel.note, "kernel": kernel.key}
        values = np.empty((len(times), self.width))
        values[:1] = kernel.sample(times[:1], state[None, :], given[:1], p)
        if start.singular:
            # Where the equations lose rank at the start, Newton's method must not begin there.
            state[moving.nx : moving.nx + moving.nw] = unknowns_at(self.system, start, float(times[1]))
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
            record, _ = iterated(moving.loop, stop.t, stop.x, given[stop.steps], p, h)
            raise SolverError(
                f"inverse dynamics stopped at t = {stop.t:.9g} s of {times[-1]:g} s ({what}, "
                f"stepper '{self.stepper.name}' with {h:g} s): {record.explain()}. A shorter step, another stepper or "
                "method, or a path that keeps away from this place may help; an index analysis says where ranks change",
                history=so_far(part(), "failed"),
            )
        return ServoSolution(times, values)


def unknowns_at(system: ServoSystem, start: ServoStart, t: float) -> FloatArray:
    """Return about what is found anew at each time, at a time near the start."""
    guess = shifted(start.series, np.array([(t - start.t) / start.tau]))[:, :, 0]
    series = FurtherDerivatives(start).solve(t, guess, enough=math.inf)
    return system.begun(replace(start, t=t, series=series), t)[2]


def beginning(moving: ServoMarch, start: ServoStart, times: FloatArray, h: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the first state, what the march is given at each sample, and the parameters with scales."""
    system, problem, stepper = moving.system, start.problem, moving.stepper

    x, xdot, w = system.begun(start, start.t)
    earlier = [system.begun(start, start.t - (k + 1) * h)[0] for k in range(stepper.earlier)]
    state = np.concatenate([x, w, xdot, *earlier])
    offsets = (0.0, *stepper.stages, *stepper.between)
    given = np.hstack([problem.signals(times + c * h, system.orders).reshape(len(times), -1) for c in offsets])
    scales = moving.scales(start.t, state, given[0], problem.p, h)
    return state, np.ascontiguousarray(given), np.concatenate([problem.p, scales])
