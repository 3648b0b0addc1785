"""What a report says about an optimum: inputs and path with their bounds, which of these bite, costates, and the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kingpost.results.history import History
from kingpost.results.line_groups import by_size

HAMILTONIAN, SWITCHING, COSTATE = "optimal.hamiltonian", "optimal.switching.", "optimal.costate."
#: More lines than this in one plot cannot be told apart.
MANY_LINES = 8


def optimal_channels(history: History) -> tuple[str, ...]:
    """Return the channels with a place of their own in the section on optimal control; none where there is no optimum."""
    record = history.provenance.get("optimal")
    if not isinstance(record, Mapping):
        return ()
    own = [name for name in history.names if name.startswith("optimal.")]
    return tuple(dict.fromkeys([*(name for name in _inputs(record) if name in history), *own]))


def _inputs(record: Mapping[str, Any]) -> list[str]:
    return [str(name) for name in (record.get("task") or {}).get("inputs") or ()]


def describe_optimal(history: History) -> dict[str, Any] | None:
    """Return the section on optimal control as plain data; None where a history is no optimum."""
    record = history.provenance.get("optimal")
    if not isinstance(record, Mapping):
        return None
    task = record.get("task") or {}
    bounds = {name: _pair(limits) for name, limits in (task.get("bounds") or {}).items()}
    ends = {name: _pair(limits) for name, limits in (task.get("end") or {}).items()}
    biting = [_biting(history, item) for item in record.get("active_bounds") or ()]
    inputs = [name for name in _inputs(record) if name in history]
    path = [name for name in dict.fromkeys([*bounds, *ends]) if name in history and name not in inputs]
    starts = list(record.get("starts") or ())
    return {
        "status": str(record.get("status", "")),
        "facts": _facts(record, task),
        "inputs": [_bounded(history, name, bounds.get(name), None, biting) for name in inputs],
        "path": [_bounded(history, name, bounds.get(name), ends.get(name), biting) for name in path],
        "biting": biting,
        "hamiltonian": HAMILTONIAN if HAMILTONIAN in history else None,
        "hamiltonian_text": _hamiltonian(history, task),
        "switching": _grouped(history, SWITCHING),
        "costates": _grouped(history, COSTATE),
        "starts": [_start(start) for start in starts],
        "chosen": _chosen(starts, record.get("cost")),
    }


def _pair(limits: Any) -> list[float | None]:
    return [limits, limits] if isinstance(limits, int | float) else list(limits)


def _facts(record: Mapping[str, Any], task: Mapping[str, Any]) -> list[list[str]]:
    facts = [["Task", ": ".join(str(word) for word in (task.get("name"), task.get("description")) if word) or "of a file"]]
    facts.append(["Cost", f"{record['cost']:.9g} ({_costs(task)})"])
    asked = task.get("horizon_s")
    limits = f", free between {asked[0]:g} s and {asked[1]:g} s" if isinstance(asked, list) else ""
    facts.append(["Horizon", f"{record['horizon']:.9g} s in {record['intervals']} intervals{limits}"])
    way = record.get("transcription") or {}
    facts.append(["Transcription", str(way.get("name", ""))])
    seconds = record.get("seconds") or {}
    words = f"{record['iterations']} iterations in {seconds.get('solve', 0.0):.3g} s, violation {record['violation']:.2g}"
    facts.append(["Search", words])
    facts += [[f"Found {name}", f"{value:.9g}"] for name, value in (record.get("parameters_found") or {}).items()]
    return facts


def _costs(task: Mapping[str, Any]) -> str:
    words = []
    for cost in task.get("costs") or ():
        weight = cost.get("weight", 1.0)
        words.append(cost["term"] if weight == 1.0 else f"{weight:g} {cost['term']}")
    return " + ".join(words)


def _biting(history: History, item: Mapping[str, Any]) -> dict[str, Any]:
    name = str(item["name"])
    unit = "s" if name == "horizon" else history.unit(name) if name in history else ""
    plain = name.removesuffix(".rate")
    if not unit and plain in history:
        unit = f"{history.unit(plain)}/s"
    return {**item, "unit": unit}


def _bounded(
    history: History,
    name: str,
    limits: list[float | None] | None,
    end: list[float | None] | None,
    biting: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    own = [item for item in biting if item["name"] == name]
    return {
        "name": name,
        "limits": limits or [None, None],
        "end": end,
        "stretches": [{**stretch, "limit": item["limit"]} for item in own for stretch in item.get("stretches") or ()],
    }


def _grouped(history: History, prefix: str) -> list[list[str]]:
    """Return channels in groups that can share an axis: of like size, and not too many."""
    names = [name for name in history.names if name.startswith(prefix)]
    groups = by_size(names, lambda name: history[name])
    return [group[i : i + MANY_LINES] for group in groups for i in range(0, len(group), MANY_LINES)]


def _hamiltonian(history: History, task: Mapping[str, Any]) -> str:
    if HAMILTONIAN not in history:
        return ""
    values = history[HAMILTONIAN][:-1]
    mean, spread = float(np.mean(values)), float(np.ptp(values))
    free = isinstance(task.get("horizon_s"), list)
    words = f"Between {values.min():.6g} and {values.max():.6g}, a spread of {spread:.2g}"
    if free:
        return f"{words}; its mean, {mean:.2g}, vanishes where a free horizon is within its limits."
    share = f" ({spread / abs(mean):.2g} of its mean)" if mean else ""
    return f"{words}{share}. It would be the same in all intervals if time were not divided; direct methods come near it as h²."


def _start(start: Mapping[str, Any]) -> dict[str, Any]:
    course = start.get("course") or {}
    return {
        **{key: start.get(key) for key in ("start", "formulation", "intervals", "status", "iterations", "seconds")},
        "cost": _finite(start.get("cost")),
        "violation": _finite(start.get("violation")),
        "course": {key: [_finite(value) for value in course.get(key) or ()] for key in ("iteration", "cost", "violation")},
    }


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and np.isfinite(value) else None


def _chosen(starts: Sequence[Mapping[str, Any]], cost: Any) -> int | None:
    """Return which start gave the optimum: the last with its cost, since a lifted one comes behind that in joints."""
    return next((i for i in reversed(range(len(starts))) if starts[i].get("cost") == cost), None)
