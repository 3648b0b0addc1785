"""What is refused before a receding-horizon controller is made."""

from __future__ import annotations

import math

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, listed
from kingpost.control.optimal.checks import check_intervals
from kingpost.control.optimal.counted import CountedTerm
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.transcription import Grid
from kingpost.control.receding.horizon import Horizon
from kingpost.control.receding.options import RecedingOptions, whole
from kingpost.equations.integrator import StepMap
from kingpost.equations.newton import ImplicitStepMap

#: Intervals without which there is nothing to plan.
FEWEST = 2


def checked_horizon(problem: OptimalProblem, options: RecedingOptions) -> Horizon:
    """Return the horizon of a problem, or say what is against it."""
    _check_machine(problem)
    _check_task(problem)
    task = problem.task
    if options.horizon is None and not task.horizon.prescribed:
        raise MechanismError(
            f"{task.title}: its horizon is free, from {task.horizon.low:g} to {task.horizon.high:g} s, and a plan needs one; "
            "give the controller a 'horizon'",
            path=("horizon",),
        )
    length = task.horizon.high if options.horizon is None else options.horizon
    intervals = whole(length, options.sample_time, "the horizon", "the sample time")
    step = options.sample_time if options.step is None else options.step
    substeps = whole(options.sample_time, step, "the sample time", "the step")
    if intervals < FEWEST:
        raise MechanismError(
            f"a horizon of {length:g} s is too short: with a sample time of {options.sample_time:g} s it is {intervals} "
            f"interval; take at least {FEWEST * options.sample_time:g} s",
            path=("horizon",),
        )
    try:
        check_intervals(problem, Grid(intervals))
    except MechanismError as error:
        raise MechanismError(f"a horizon of {length:g} s is too short: {error}", path=("horizon",)) from None
    for name in options.sizes:
        if name not in task.end and name not in task.bounds:
            raise MechanismError(
                f"sizes: '{name}' is neither a target nor bounded; there are {listed((*task.end, *task.bounds))}",
                path=("sizes", name),
            )
    return Horizon(problem, options, intervals, substeps)


def _check_machine(problem: OptimalProblem) -> None:
    e, integrator = problem.equations, problem.posed.integrator
    name = e.mechanism.name
    if e.constraints.count:
        owners = [closure.name for closure in e.mechanism.closures] or ["constraints"]
        raise MechanismError(
            f"a receding-horizon controller measures coordinates that are free, and '{name}' is tied by {listed(owners)} "
            f"(formulation '{e.formulation}'); describe the machine by joint coordinates without closed loops"
        )
    if not e.joint_coordinates:
        raise MechanismError(
            f"formulation '{e.formulation}' has coordinates of its own, and a controller measures those of joints; take 'kane'"
        )
    if not isinstance(integrator, StepMap) or isinstance(integrator, ImplicitStepMap) or problem.posed.stepper.remembered:
        raise MechanismError(
            f"integrator '{integrator.name}' is no explicit step from state to state; predictions take one such as 'rk4'"
        )


def _check_task(problem: OptimalProblem) -> None:
    task = problem.task
    if task.phases:
        raise MechanismError(
            f"{task.title} has phases ({listed(phase.name for phase in task.phases)}), and a receding-horizon controller has "
            "one target; make a task of each",
            path=("phases",),
        )
    if task.control != "constant":
        raise MechanismError(
            f"{task.title}: its inputs are {task.control} over an interval, and a controller holds them from sample to sample; "
            "take control = 'constant'",
            path=("control",),
        )
    if not task.end:
        raise MechanismError(f"{task.title} names nothing at its end; a controller needs a target", path=("end",))
    speeds = {item.name for item in problem.posed.mechanism.speeds}
    for name, limits in task.end.items():
        if not limits.prescribed:
            raise MechanismError(
                f"{task.title}: '{name}' may end from {limits.low:g} to {limits.high:g}; a controller needs one value to aim "
                "at",
                path=("end", name),
            )
        if name in speeds and limits.low != 0.0:
            raise MechanismError(
                f"{task.title}: '{name}' ends at {limits.low:g}, and a receding-horizon controller brings machines to rest",
                path=("end", name),
            )
    for key in ("bounds", "rates"):
        for name, limits in getattr(task, key).items():
            if limits.prescribed:
                raise MechanismError(
                    f"{task.title}: {key} of '{name}' leave it no room: both are {limits.low:g}; give it a lower and a larger "
                    "upper limit",
                    path=(key, name),
                )
    for name, limits in task.rates.items():
        if not limits.low <= 0.0 <= limits.high:
            raise MechanismError(
                f"{task.title}: the rate of '{name}' is bounded from {limits.low:g} to {limits.high:g}, so that it can never "
                "stay what it is",
                path=("rates", name),
            )
    counted = [term.name for _, term in problem.terms if isinstance(term, CountedTerm)]
    if counted:
        raise MechanismError(
            f"{task.title}: the cost '{counted[0]}' counts ranges over a whole motion, which no sample sees; leave it out",
            path=("costs",),
        )
    if any(term.name == "time" for _, term in problem.terms):
        raise MechanismError(
            f"{task.title}: the cost 'time' asks for a free horizon, and that of a controller always is as long",
            path=("costs",),
        )


def check_holding(horizon: Horizon, inputs: FloatArray) -> None:
    """Refuse bounds within which the target cannot be held."""
    task = horizon.problem.task
    for name, value in zip(task.inputs, np.asarray(inputs), strict=True):
        limits = task.bounds.get(name)
        if limits is None:
            continue
        slack = 1e-9 * (1 + (limits.size if math.isfinite(limits.size) else 0.0))
        if not limits.low - slack <= value <= limits.high + slack:
            raise MechanismError(
                f"{task.title}: to hold the target takes '{name}' = {value:g}, outside of its bounds from {limits.low:g} to "
                f"{limits.high:g}",
                path=("bounds", name),
            )
