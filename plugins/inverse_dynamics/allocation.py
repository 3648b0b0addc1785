"""Efforts shared among more inputs than are needed: by cost, and within bounds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError

#: Efforts that miss the equations of motion by this part of the largest are no solution.
MISSED = 1e-8


def read_weights(data: Any) -> dict[str, float]:
    """Return costs by input from a table, or from a text such as ``left:2/right:1``."""
    found = {name: _numbers(name, values, 1)[0] for name, values in _entries(data).items()}
    for name, value in found.items():
        if not value > 0:
            raise MechanismError(f"the cost of '{name}' is {value:g}; it must be positive")
    return found


def read_bounds(data: Any) -> dict[str, tuple[float, float]]:
    """Return bounds by input from a table, or from a text such as ``left:0:500``."""
    found = {}
    for name, values in _entries(data).items():
        low, high = _numbers(name, values, 2)
        if not low < high:
            raise MechanismError(f"the bounds of '{name}' are {low:g} and {high:g}; the first must be the lower one")
        found[name] = (low, high)
    return found


def _entries(data: Any) -> dict[str, list[Any]]:
    if isinstance(data, Mapping):
        return {str(name): list(value) if isinstance(value, list | tuple) else [value] for name, value in data.items()}
    if isinstance(data, str):
        pieces = [piece.split(":") for piece in data.split("/") if piece]
        return {name.strip(): list(rest) for name, *rest in pieces}
    raise MechanismError(f"expected a table by input, or a text such as left:2/right:1, got {data!r}")


def _numbers(name: str, values: list[Any], count: int) -> list[float]:
    try:
        numbers = [float(value) for value in values]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != count or any(np.isnan(number) for number in numbers):
        raise MechanismError(f"'{name}' needs {count} number{'s' if count > 1 else ''}, got {values!r}")
    return numbers


def allocate(
    forces: FloatArray, needed: FloatArray, cost: FloatArray, lower: FloatArray, upper: FloatArray
) -> FloatArray | None:
    """Return the cheapest inputs within bounds, and multipliers, with forces @ (inputs, multipliers) = needed; or nothing.

    A quadratic programme; multipliers cost nothing and have no bounds.
    """
    n, m = forces.shape[1], len(cost)
    rows = np.abs(forces).max(axis=1)
    rows = np.where(rows > 0, rows, 1.0)
    size = max(1.0, float(np.abs(needed / rows).max(initial=0.0)))
    free = np.full(n - m, np.inf)
    weight = np.concatenate([cost / cost.max(), np.zeros(n - m)])
    result = _programme(n, len(needed))(
        h=np.diag(weight),
        a=forces / rows[:, None],
        lba=needed / rows / size,
        uba=needed / rows / size,
        lbx=np.concatenate([lower, -free]) / size,
        ubx=np.concatenate([upper, free]) / size,
    )
    found = np.asarray(result["x"]).ravel() * size
    missed = np.abs(forces @ found - needed) / rows
    inside = np.concatenate([np.maximum(lower - found[:m], 0.0), np.maximum(found[:m] - upper, 0.0)])
    if not np.isfinite(found).all() or max(missed.max(initial=0.0), inside.max(initial=0.0)) > MISSED * size:
        return None
    found[:m] = np.clip(found[:m], lower, upper)
    return found


@cache
def _programme(unknowns: int, rows: int) -> ca.Function:
    shapes = {"h": ca.Sparsity.dense(unknowns, unknowns), "a": ca.Sparsity.dense(rows, unknowns)}
    options = {"error_on_fail": False, "print_iter": False, "print_header": False, "print_info": False}
    return ca.conic("kp_allocation", "qrqp", shapes, options)
