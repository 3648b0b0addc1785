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


def converges(sheet: Sheet, coarse: Sequence[float], fine: Sequence[float], place: str) -> None:
    """Say whether the errors of all inputs fall to less than half with a smaller step; how far is a matter of the rows."""
    falls = all(small < large / 2 for large, small in zip(coarse, fine, strict=True))
    sheet.says("inputs converge to the reference when the step is reduced", falls, place)


def apart(one: History, other: History, names: Sequence[str]) -> float:
    """Return the largest difference of two runs after their start, as a part of the range of each channel."""
    return float(max(np.abs(one[name] - other[name])[1:].max() / np.ptp(one[name]) for name in names))


def snapshots(
    title: str,
    times: FloatArray,
    instants: Iterable[float],
    *lines: Any,
    labels: tuple[str, str] = ("x [m]", "z [m]"),
    paths: Any = (),
) -> Panel:
    """Return a panel with ropes, as sequences of points (x, z) over time, at some instants, and the paths of points.

    What is earlier is paler.
    """
    curves: list[Any] = []
    shown = tuple(instants)
    for shade, instant in zip(np.linspace(0.3, 1.0, len(shown)), shown, strict=True):
        k = int(np.argmin(np.abs(times - instant)))
        for line in lines:
            x, z = ([np.broadcast_to(point[axis], times.shape)[k] for point in line] for axis in (0, 1))
            curves.append(("", x, z, {"color": "C0", "marker": "o", "ms": 3, "alpha": shade}))
    for k, (label, (x, z)) in enumerate(paths, start=1):
        curves.append((label, x, z, {"ls": ":", "color": f"C{k}"}))
    return Panel(f"{title}, {labels[1]}", curves, xlabel=labels[0], equal=True)


def compare(sheet: Sheet, history: History, instants: Mapping[float, Mapping[str, float]], within: Any) -> None:
    """Compare channels with numbers of an independent computation: {time: {channel: number}}."""
    for instant, values in instants.items():
        k = int(np.argmin(np.abs(history.time - instant)))
        for name, value in values.items():
            unit = history.unit(name)
            sheet.row(f"{name}({instant:g} s)", history[name][k], value, within[unit], unit)
