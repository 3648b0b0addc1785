"""What the figures of all cranes are made with: the inverse dynamics of a task, closed forms, snapshots."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from kingpost import inverse, open_model
from kingpost.base.arrays import FloatArray
from kingpost.gallery.entry import Panel, Sheet
from kingpost.results.history import History

G = 9.81


@functools.cache
def follow(model: str, task: str, method: str, stepper: str, settings: Any = ()) -> History:
    """Return the inverse dynamics of a task."""
    machine = open_model(model)
    return inverse(machine.mechanism, machine.task(task), method=method, stepper=stepper, settings=dict(settings))


def rate(expression: Any, t: Any, order: int = 1) -> Any:
    """Return a derivative by the time."""
    return expression if order == 0 else rate(ca.jacobian(expression, t), t, order - 1)


def sampled(t: Any, expressions: Any, times: FloatArray) -> FloatArray:
    """Return the values of expressions in the time, a row for each."""
    return np.asarray(ca.Function("at", [t], [ca.vertcat(*expressions)]).map(len(times))(times))


def largest(history: History, names: Sequence[str], wanted: Any) -> list[float]:
    """Return the largest error of each channel after the start, where inputs are not found by steps."""
    return [np.abs(history[name] - other)[1:].max() for name, other in zip(names, wanted, strict=True)]


def snapshots(
    title: str,
    times: FloatArray,
    instants: Iterable[float],
    *lines: Any,
    labels: tuple[str, str] = ("x [m]", "z [m]"),
    paths: Any = (),
) -> Panel:
    """Return a panel with ropes, as sequences of points (x, z) over time, at some instants, and the paths of points."""
    curves = []
    for instant in instants:
        k = int(np.argmin(np.abs(times - instant)))
        for line in lines:
            x, z = ([np.broadcast_to(point[axis], times.shape)[k] for point in line] for axis in (0, 1))
            curves.append(("", x, z, {"color": "tab:blue", "marker": "o", "ms": 3}))
    for label, (x, z) in paths:
        curves.append((label, x, z, {"ls": ":"}))
    return Panel(f"{title}, {labels[1]}", curves, xlabel=labels[0], equal=True)


def compare(sheet: Sheet, history: History, instants: Mapping[float, Mapping[str, float]], within: Any) -> None:
    """Compare channels with numbers of an independent computation: {time: {channel: number}}."""
    for instant, values in instants.items():
        k = int(np.argmin(np.abs(history.time - instant)))
        for name, value in values.items():
            unit = history.unit(name)
            sheet.row(f"{name}({instant:g} s)", history[name][k], value, within[unit], unit)
