"""What the monitors of a run say, in sentences: energy balance, errors, rank and condition of the constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.results.history import History
from kingpost.results.monitor_channels import ERRORS

#: Beyond these a sentence asks for a look: energy error over the greatest kinetic energy, error of closed loops in m or rad,
#: condition of the constraint Jacobian.
ENERGY_LIMIT, OPEN_LIMIT, CONDITION_LIMIT = 1e-3, 1e-6, 1e6


def describe_monitors(history: History, monitors: Sequence[str]) -> list[dict[str, str]]:
    """Return sentences with a verdict each: ``kept``, ``regular``, or ``check``."""
    found = []
    if "energy.error" in monitors:
        found.append(_energy(history))
    if ERRORS[0].name in monitors:
        found += [_errors(history), _quality(history)]
    servo = history.provenance.get("inverse")
    return found + (_servo(servo) if isinstance(servo, Mapping) else [])


def _servo(record: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return how well a path is followed, what that costs, and where ropes would have to push."""
    errors, work = record["residuals"], record["work"]
    words = ", ".join(f"{size:.2g} at {level} level" for level, size in errors.items())
    verdict = "kept" if errors["position"] <= OPEN_LIMIT else "check"
    found = [{"what": "Servo-constraints", "text": f"errors of at most {words}", "verdict": verdict}]
    text = (
        f"the inputs do {work['inputs_J']:.6g} J, the energy of the machine changes by {work['energy_change_J']:.6g} J; "
        f"{work['everything_else_J']:.3g} J is by everything else"
    )
    found.append({"what": "Work", "text": text, "verdict": "kept"})
    for rope, intervals in record["slack"].items():
        where = ", ".join(f"{item['from_s']:.4g} s to {item['until_s']:.4g} s ({item['lowest_N']:.4g} N)" for item in intervals)
        found.append({"what": f"Rope {rope}", "text": f"would have to push from {where}", "verdict": "check"})
    return found


def _greatest(values: FloatArray) -> int:
    """Return where the size of ``values`` is greatest; gaps count as nothing."""
    return int(np.argmax(np.where(np.isfinite(values), np.abs(values), -1.0)))


def _energy(history: History) -> dict[str, str]:
    error, kinetic = history["energy.error"], history["energy.kinetic"]
    at = _greatest(error)
    size, scale = abs(error[at]), float(np.nanmax(kinetic))
    share = f", {size / scale:.2g} of the greatest kinetic energy ({scale:.3g} J)" if scale > 0 else ""
    text = f"at most {size:.2g} J (at {history.time[at]:g} s) are not explained by the work done{share}"
    return {"what": "Energy", "text": text, "verdict": "kept" if size <= ENERGY_LIMIT * scale or size == 0 else "check"}


def _errors(history: History) -> dict[str, str]:
    words = []
    worst = 0.0
    for channel, unit in zip(ERRORS, ("m or rad", "per s", "per s²"), strict=True):
        at = _greatest(history[channel.name])
        size = float(history[channel.name][at])
        worst = size if channel is ERRORS[0] else worst
        words.append(f"{size:.2g} {unit} in {channel.name.partition('.')[2]} (at {history.time[at]:g} s)")
    verdict = "kept" if worst <= OPEN_LIMIT else "check"
    return {"what": "Constraints", "text": f"errors of at most {', '.join(words)}", "verdict": verdict}


def _quality(history: History) -> dict[str, str]:
    rank, condition = history["constraints.rank"], history["constraints.condition"]
    most, least = np.nanmax(rank), np.nanmin(rank)
    at = _greatest(condition)
    lost = int(np.argmin(np.where(np.isfinite(rank), rank, np.inf)))
    rank_words = f"rank {most:g} throughout" if most == least else f"rank {most:g}, but {least:g} at {history.time[lost]:g} s"
    good = most == least and condition[at] <= CONDITION_LIMIT
    hint = "" if good else ": near a dead centre loads and motion may be wrong"
    text = f"{rank_words}, condition number at most {condition[at]:.3g} (at {history.time[at]:g} s){hint}"
    return {"what": "Jacobian of the constraints", "text": text, "verdict": "regular" if good else "check"}
