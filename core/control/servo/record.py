"""The result of inverse dynamics as a history: what is seen, what inputs do, where ropes would be slack, how it was found."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.version import __version__
from kingpost.control.servo.index.report import IndexReport
from kingpost.control.servo.problem import EXPRESSED, ServoProblem
from kingpost.control.servo.solution import LEVELS, ServoSolution, observer, solution_channels
from kingpost.control.servo.stepping import ServoStepper
from kingpost.control.servo.system import InverseDynamics, SteppedInverse
from kingpost.kernel.kernel import Kernel
from kingpost.results.history import History
from kingpost.results.turns import with_turns
from kingpost.simulation.problem import observed
from kingpost.simulation.provenance import plain_options, problem_record

#: The name behind that of a rope in the channel of its tension.
TENSION = ".tension"
#: What the inputs have done, and what everything else has: the change of the energy less the work of the inputs.
WORK, OTHER_WORK = Channel("servo.work", "J"), Channel("servo.other_work", "J")


@dataclass(frozen=True, eq=False)
class InverseRecord:
    """How a solution was found."""

    method: InverseDynamics
    stepper: ServoStepper
    outcome: str
    seconds: float
    statistics: Mapping[str, Any]
    report: IndexReport
    notes: Mapping[str, Any] = field(default_factory=dict)


def history_of(problem: ServoProblem, solution: ServoSolution, record: InverseRecord) -> History:
    """Return a solution as a history with all that is seen of it, and how it was found."""
    posed = observed(problem.posed)
    equations = posed.equations
    times = solution.times
    kernel = Kernel([observer(problem, equations)], posed.how.backend or "auto", equations.python_forces)
    signals = problem.signals(times, EXPRESSED).reshape(len(times), -1)
    values = kernel.sample(times, solution.values, np.ascontiguousarray(signals), problem.p)
    channels = solution_channels(problem, equations)
    column = {channel.name: i for i, channel in enumerate(channels)}
    work = _integral(times, values[:, column["servo.power"]])
    energy = values[:, column["energy.total"]]
    values = np.column_stack([values, work, energy - energy[0] - work])
    channels = (*channels, WORK, OTHER_WORK)
    q, v, z = (solution.part(problem, name)[0] for name in ("q", "v", "z"))
    posed = replace(posed, x0=np.concatenate([q, v, z]))
    slack = slack_intervals(times, channels, values)
    statistics = dict(record.statistics)
    backend, note = statistics.pop("backend", kernel.backend), statistics.pop("note", kernel.note)
    provenance = {
        "kingpost": __version__,
        "outcome": record.outcome,
        "finished": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "wall_time_s": round(record.seconds, 6),
        **problem_record(posed),
        "integrator": _integrator(record),
        "inverse": {
            "method": {"name": record.method.name, "options": plain_options(record.method)},
            "stepper": {"name": record.stepper.name, "options": plain_options(record.stepper)},
            "task": {
                "name": problem.task.name,
                "description": problem.task.description,
                "inputs": list(problem.task.inputs),
                "measures": list(problem.task.measures),
            },
            "stepped": isinstance(record.method, SteppedInverse),
            "index": record.report.to_dict(),
            **record.notes,
            "corners": _corners(problem, record.report.index or 3),
            "residuals": _largest_errors(problem, column, values),
            "slack": slack,
            "work": {
                "inputs_J": float(work[-1]),
                "energy_change_J": float(energy[-1] - energy[0]),
                "everything_else_J": float(values[-1, -1]),
            },
        },
        "time": {
            "start_s": float(times[0]),
            "end_s": float(times[-1]),
            "step_s": record.stepper.options.step,
            "output_step_s": float(times[1] - times[0]) if len(times) > 1 else record.stepper.options.step,
        },
        "statistics": statistics,
        "backend": {"name": backend, "note": note, "loop": "compiled" if backend == "c" else "python"},
        "channels": [vars(channel) for channel in channels],
        "plugins": posed.plugins.sources(),
        "python": platform.python_version(),
        "casadi": ca.CasadiMeta.version(),
        "numpy": np.__version__,
        "platform": platform.platform(),
        "warnings": [
            *([advice] if (advice := record.method.warning(record.report.index or 0)) else []),
            *([record.stepper.warning] if isinstance(record.method, SteppedInverse) and record.stepper.warning else []),
            *(_slack_warning(rope, intervals) for rope, intervals in slack.items()),
        ],
        "diverges": False,
    }
    return History(times, channels, with_turns(channels, values), provenance)


def _corners(problem: ServoProblem, index: int) -> list[float]:
    """Return the times at which inputs or their slopes jump: those at which a derivative of the path up to ``index`` does."""
    scope = {**problem.posed.values.parameters, **problem.posed.values.inputs}
    breaks = problem.task.breaks(scope)
    return sorted({float(found.time) for every in breaks.values() for found in every if found.order <= index})


def _integrator(record: InverseRecord) -> dict[str, Any]:
    """Return what stands in the place of an integrator."""
    if not isinstance(record.method, SteppedInverse):
        return {"name": record.method.name, "options": plain_options(record.method)}
    return {"name": f"{record.method.name} with {record.stepper.name}", "options": plain_options(record.stepper)}


def _integral(times: FloatArray, values: FloatArray) -> FloatArray:
    """Return the integral from the first time on, of a cubic spline through the values."""
    if len(times) < 4:
        steps = np.diff(times, prepend=times[0])
        return np.asarray(np.cumsum(steps * (values + np.roll(values, 1)) / 2))
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(times, values).antiderivative()(times))


def _largest_errors(problem: ServoProblem, column: Mapping[str, int], values: FloatArray) -> dict[str, float]:
    """Return the largest error of the servo-constraints at each level."""
    return {
        level: max(float(np.abs(values[:, column[f"servo.{level}.{name}"]]).max()) for name in problem.task.measures)
        for level in LEVELS
    }


def slack_intervals(times: FloatArray, channels: Sequence[Channel], values: FloatArray) -> dict[str, list[dict[str, float]]]:
    """Return by rope where its tension is negative: from, until, and the lowest tension there.

    The motion is right all the same, for a rope that could push; nothing is clipped.
    """
    found: dict[str, list[dict[str, float]]] = {}
    for i, channel in enumerate(channels):
        if not channel.name.endswith(TENSION):
            continue
        tension = values[:, i]
        inside = np.flatnonzero(np.diff(np.concatenate([[0], (tension < 0).astype(int), [0]])))
        for first, last in inside.reshape(-1, 2):
            begin = _crossing(times, tension, first - 1) if first else times[0]
            end = _crossing(times, tension, last - 1) if last < len(times) else times[-1]
            lowest = {"from_s": float(begin), "until_s": float(end), "lowest_N": float(tension[first:last].min())}
            found.setdefault(channel.name.removesuffix(TENSION), []).append(lowest)
    return found


def _crossing(times: FloatArray, values: FloatArray, i: int) -> float:
    """Return where the line between the values i and i + 1 is zero."""
    part = values[i] / (values[i] - values[i + 1])
    return float(times[i] + part * (times[i + 1] - times[i]))


def _slack_warning(rope: str, intervals: Sequence[Mapping[str, float]]) -> str:
    where = ", ".join(f"{item['from_s']:.4g} s to {item['until_s']:.4g} s ({item['lowest_N']:.4g} N)" for item in intervals)
    return (
        f"rope '{rope}' would have to push: its tension is negative from {where}. A real rope is slack there and the load does "
        "not follow the path; move more slowly, or along a path that keeps it taut"
    )
