"""The way that measures take in an optimum, or in any result, as a servo task: for inverse dynamics and for set-points."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, closest, listed
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


def path_task(history: History, measures: Sequence[str], inputs: Sequence[str] | None = None) -> ServoTask:
    """Return the way that measures take in a history as a servo task, for the inputs that were found if none are named."""
    record = history.provenance.get("optimal")
    found = dict(record).get("task") or {} if isinstance(record, Mapping) else {}
    if inputs is None:
        inputs = found.get("inputs")
    if not inputs:
        raise MechanismError(
            "the history is no optimum, so it names no inputs that were found; say which are to drive the path"
        )
    missing = [name for name in measures if name not in history]
    if missing:
        raise MechanismError(f"the history shows no '{missing[0]}'{closest(missing[0], history.names)}")
    times = tuple(history.time.tolist())
    path = {name: _sampled(history.time, history[name]) for name in measures}
    name = str(found.get("name") or "")
    return ServoTask(
        path=path,
        inputs=tuple(inputs),
        t_start=times[0],
        t_end=times[-1],
        settings=_settings(history, found),
        description=f"the path of an optimum{f' of task {name}' if name else ''}",
    )


def _sampled(times: FloatArray, values: FloatArray) -> Sampled:
    """Return samples with a spline through them that goes on beyond both ends, where it would meet a constant otherwise.

    A sample more on the polynomial at an end does not change the spline, whose knots are all kept.
    """
    if len(times) < FEWEST:
        return Sampled(tuple(times.tolist()), tuple(values.tolist()), "linear")
    from scipy.interpolate import make_interp_spline  # slow to import

    spline = make_interp_spline(times, values, k=5)
    outside = np.array([2 * times[0] - times[1], 2 * times[-1] - times[-2]])
    early, late = spline(outside, extrapolate=True)
    longer = [outside[0], *times, outside[1]], [early, *values, late]
    return Sampled(tuple(map(float, longer[0])), tuple(map(float, longer[1])), SPLINE)


def _settings(history: History, found: Mapping[str, Any]) -> dict[str, float]:
    """Return what the optimum was found with: settings of its task and parameters that were found."""
    record = history.provenance.get("optimal") or {}
    return {**(found.get("settings") or {}), **(record.get("parameters_found") or {})}


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
