"""An optimum as a history: what is seen at the nodes, the inputs, costates, the Hamiltonian, and how it was found."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.version import __version__
from kingpost.control.optimal.optimum import Optimum
from kingpost.control.optimal.path_ends import path_ends
from kingpost.control.optimal.problem import seen_otherwise
from kingpost.control.optimal.solving import Iteration
from kingpost.kernel.kernel import Kernel
from kingpost.mechanism.load_request import LoadRequest
from kingpost.results.history import History
from kingpost.results.turns import with_turns
from kingpost.simulation.problem import Problem
from kingpost.simulation.provenance import plain_options, problem_record

#: Iterations of which the course is kept in a record.
KEPT = 200


def history_of(
    optimum: Optimum, seconds: float, loads: Sequence[str | LoadRequest] | None = None, path: Sequence[str] = ()
) -> History:
    """Return an optimum as a history, one sample at every node.

    Inputs, costates and the Hamiltonian belong to intervals: each stands at the start of its interval, the last one at the end,
    too. Inputs are to be held from sample to sample; linear ones are what they are at the nodes. ``loads`` are joints whose
    loads are shown, as of a run, in place of those that the search derived; ``path`` are measures of which the record says how
    they begin and end to move (:mod:`kingpost.control.optimal.path_ends`).
    """
    problem = optimum.problem
    if loads is not None and tuple(loads) != tuple(problem.posed.how.loads or ()):
        problem = seen_otherwise(problem, replace(problem.posed.how, loads=tuple(loads)))
    posed, equations = problem.posed, problem.equations
    kernel = Kernel([equations.observe], posed.how.backend or "auto", equations.python_forces)
    inputs = optimum.all_inputs if problem.linear else _at_nodes(optimum.all_inputs)
    states = optimum.states
    seen = []
    for part in optimum.parts:
        # Where phases meet, what the later one begins with.
        count = len(part.times) - (part is not optimum.parts[-1])
        nodes, rows = (np.ascontiguousarray(item[:count]) for item in (part.states, part.input_rows))
        seen.append(kernel.sample(part.times[:count], nodes, rows, part.p))
    values = [np.vstack(seen)]
    channels = list(equations.channels)
    units = {signal.name: signal.unit for signal in posed.mechanism.inputs}
    channels += [Channel(name, units[name]) for name in units]
    values.append(inputs)
    shown = {channel.name for channel in channels}
    if not equations.joint_coordinates:
        names = [(i, name) for i, name in enumerate(problem.joint_names) if name not in shown]
        joints = np.array([np.asarray(problem.joint_state(state, optimum.p)).ravel() for state in states])
        channels += [Channel(name, problem.units[name]) for _, name in names]
        values.append(joints[:, [i for i, _ in names]])
    channels += [Channel("optimal.hamiltonian", "1")]
    values.append(_at_nodes(optimum.hamiltonian[:, None]))
    channels += [Channel(f"optimal.switching.{name}", "1") for name in problem.task.inputs]
    values.append(_at_nodes(optimum.switching))
    if optimum.costates is not None:
        costates = optimum.costates
        names_of = [item.name.removesuffix(".rate") for item in equations.speed_quantities]
        if costates.shape[1] != len(names_of):
            names_of = [str(i + 1) for i in range(costates.shape[1])]
        channels += [Channel(f"optimal.costate.{name}", "1") for name in names_of]
        values.append(_at_nodes(costates))
    record = _provenance(optimum, posed, channels, seconds)
    if path:
        record["optimal"]["path_ends"] = path_ends(optimum, path)
    return History(optimum.times, tuple(channels), with_turns(channels, np.hstack(values)), record)


def _at_nodes(rows: FloatArray) -> FloatArray:
    """Return what belongs to intervals at their starts, and the last once more."""
    return np.vstack([rows, rows[-1:]])


def result(optimum: Optimum) -> dict[str, Any]:
    """Return what was found as plain data."""
    solution, H = optimum.solution, optimum.hamiltonian
    return {
        "status": optimum.status,
        "cost": optimum.cost,
        "horizon": optimum.horizon,
        "hamiltonian": {"min": float(H.min()), "max": float(H.max())},
        "iterations": solution.iterations,
        "intervals": optimum.intervals,
        "violation": solution.violation,
        "transcription": {"name": optimum.transcription.name, "options": plain_options(optimum.transcription)},
        **({"parameters_found": optimum.free} if optimum.free else {}),
        **({"phases": [_phase(part) for part in optimum.parts]} if optimum.problem.phases else {}),
        "active_bounds": optimum.active,
        "starts": [{**attempt.data(), "course": _course(attempt.course)} for attempt in optimum.attempts],
        "course": _course(solution.course),
        "seconds": {"setup": round(solution.setup_seconds, 6), "solve": round(solution.seconds, 6)},
        "solver": {"name": solution.solver, "words": solution.words},
        "task": optimum.problem.task.data(),
    }


def _phase(part: Optimum) -> dict[str, Any]:
    """Return what was found about a phase as plain data."""
    return {
        "name": part.problem.task.name.rpartition("/")[2],
        "from_s": float(part.times[0]),
        "horizon": part.horizon,
        "intervals": part.intervals,
        "cost": part.cost,
    }


def _outcome(status: str) -> str:
    return {"optimal": "complete", "interrupted": "interrupted"}.get(status, "stopped")


def _course(steps: Sequence[Iteration]) -> dict[str, list[float]]:
    """Return iterations as columns; of many, some that are spread over all of them."""
    rows = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), KEPT)).round().astype(int)).tolist()
    kept = [steps[i] for i in rows]
    return {
        "iteration": [step.number for step in kept],
        "cost": [step.cost for step in kept],
        "violation": [step.violation for step in kept],
        "seconds": [round(step.seconds, 6) for step in kept],
    }


def _provenance(optimum: Optimum, posed: Problem, channels: list[Channel], seconds: float) -> dict[str, Any]:
    found = result(optimum)
    blocks = optimum.program.blocks
    warnings = list(optimum.notes)
    if not optimum.solution.optimal:
        warnings.append(
            f"the search ended before an optimum was found ({optimum.status}); what is written is the best motion met, "
            "and its cost is not the least"
        )
    return {
        "kingpost": __version__,
        "outcome": _outcome(optimum.status),
        "finished": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "wall_time_s": round(seconds, 6),
        **problem_record(posed),
        # The least that others rely on stands at the top, too.
        **{key: found[key] for key in ("status", "cost", "horizon", "hamiltonian", "iterations")},
        "optimal": found,
        "time": {
            "start_s": float(optimum.times[0]),
            "end_s": float(optimum.times[-1]),
            "step_s": optimum.h,
            "output_step_s": optimum.h,
        },
        "statistics": {"iterations": optimum.solution.iterations},
        "backend": {"name": blocks.backend, "note": blocks.note, "loop": "compiled" if blocks.backend == "c" else "python"},
        "channels": [vars(channel) for channel in channels],
        # What these channels are between samples, for whoever takes them as inputs.
        "between": {signal.name: "linear" if optimum.problem.linear else "hold" for signal in posed.mechanism.inputs},
        "plugins": posed.plugins.sources(),
        "python": platform.python_version(),
        "casadi": ca.CasadiMeta.version(),
        "numpy": np.__version__,
        "platform": platform.platform(),
        "warnings": warnings,
        "diverges": False,
    }
