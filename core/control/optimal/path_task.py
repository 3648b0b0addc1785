"""The way that measures take in an optimum, or in any result, as a servo task: for inverse dynamics and for set-points."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.control.optimal.optimum import Optimum
from kingpost.control.optimal.record import history_of
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.sampled import Sampled
from kingpost.mechanism.tasks import ServoTask, measures_of
from kingpost.results.history import History
from kingpost.simulation.signals import plain_path

#: A spline of this kind has four continuous derivatives, as many as most methods of inverse dynamics differentiate.
SPLINE: Literal["quintic"] = "quintic"
#: Samples that such a spline takes at least.
FEWEST = 6


def check_path(mechanism: Mechanism, names: Sequence[str] | None) -> None:
    """Refuse measures of which no path could be written, before a long search."""
    known = measures_of(mechanism)
    for name in names or ():
        if name not in known:
            raise MechanismError(
                f"path: '{mechanism.name}' has nothing called '{name}' that could follow a path{closest(name, known)} It has: "
                f"{listed(known)}."
            )
    if names and len(set(names)) != len(names):
        raise MechanismError(f"path: {listed(names)}: every measure can be named once")


def path_task(found: History | Optimum, measures: Sequence[str], inputs: Sequence[str] | None = None) -> ServoTask:
    """Return the way that measures take in a history or an optimum as a servo task, by default for the inputs that were found.

    Of an optimum the equations of the machine say how measures begin and end to move, which samples do not; its history knows
    it, too, where its path was asked for.
    """
    history = found if isinstance(found, History) else history_of(found, 0.0, path=measures)
    optimal = history.provenance.get("optimal")
    record: Mapping[str, Any] = optimal if isinstance(optimal, Mapping) else {}
    task = record.get("task") or {}
    if inputs is None:
        inputs = task.get("inputs")
    if not inputs:
        raise MechanismError(
            "the history is no optimum, so it names no inputs that were found; say which are to drive the path"
        )
    missing = [name for name in measures if name not in history]
    if missing:
        raise MechanismError(f"the history shows no '{missing[0]}'{closest(missing[0], history.names)}")
    ends = record.get("path_ends") or {}
    name = str(task.get("name") or "")
    return ServoTask(
        path={name: _sampled(history.time, history[name], ends.get(name)) for name in measures},
        inputs=tuple(inputs),
        t_start=float(history.time[0]),
        t_end=float(history.time[-1]),
        settings={**(task.get("settings") or {}), **(record.get("parameters_found") or {})},
        description=f"the path of an optimum{f' of task {name}' if name else ''}",
    )


def _sampled(times: FloatArray, values: FloatArray, ends: Mapping[str, Sequence[float]] | None) -> Sampled:
    """Return samples with a spline through them that goes on beyond both ends, where it would meet a constant otherwise.

    ``ends`` are its first derivatives at both ends; without them its ends know no more than the samples do. A spline of degree
    five is known by samples at its knots, of which all but three at each end are knots again, and by any three there.
    """
    if len(times) < FEWEST:
        return Sampled(tuple(times.tolist()), tuple(values.tolist()), "linear")
    from scipy.interpolate import make_interp_spline  # slow to import

    if ends is None:
        spline = make_interp_spline(times, values, k=5)
        knots = times[3:-3]
    else:
        begin, end = (list(enumerate(ends[side], 1)) for side in ("begin", "end"))
        knots = times[1:-1]
        if len(begin) > 2:
            # One knot more at each end for one derivative more.
            knots = np.concatenate([[times[:2].mean()], knots, [times[-2:].mean()]])
        whole = np.concatenate([np.full(6, times[0]), knots, np.full(6, times[-1])])
        spline = make_interp_spline(times, values, k=5, t=whole, bc_type=(begin, end))
    first, last = (knots[0] - times[0]) / 2, (times[-1] - knots[-1]) / 2
    early = [times[0] - first, times[0], times[0] + first]
    late = [times[-1] - last, times[-1], times[-1] + last]
    if ends is None:
        early[2:], late[:1] = times[1:3].tolist(), times[-3:-1].tolist()
    places = np.array([*early, *knots, *late])
    return Sampled(tuple(places.tolist()), tuple(spline(places, extrapolate=True).tolist()), SPLINE)


def task_text(task: ServoTask) -> str:
    """Return a servo task as the text of a TOML file; JSON's texts and lists are TOML's, too."""
    lines = [
        "# A path as sampled trajectories: a task for kingpost inverse, and each of them a target of a drive.",
        "[servo]",
        f"description = {json.dumps(task.description)}",
        f"inputs = {json.dumps(list(task.inputs))}",
        f"t_start = {task.t_start!r}",
        f"t_end = {task.t_end!r}",
    ]
    if task.settings:
        lines += ["", "[servo.settings]", *(f"{json.dumps(name)} = {float(value)!r}" for name, value in task.settings.items())]
    lines += ["", "[servo.path]"]
    for name, trajectory in task.path.items():
        entries = ", ".join(f"{key} = {json.dumps(value)}" for key, value in plain_path(trajectory).items())
        lines.append(f"{json.dumps(name)} = {{ {entries} }}")
    return "\n".join(lines) + "\n"
