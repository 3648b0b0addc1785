"""Bounds that bite: what reaches which limit, when, for how long, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.optimal.bounds import is_vector

if TYPE_CHECKING:
    from kingpost.control.optimal.optimum import Optimum

#: Distance from a limit, as a part of the size of what is limited, within which it counts as reached.
NEAR = 1e-6
#: Part of the largest multiplier of a limit from which on a value is held back by it, though it is not quite as near.
FELT = 1e-3
#: The words with which names of rows begin that are bounds.
ROWS = ("the bounds of", "the rate of")


@dataclass(frozen=True, eq=False)
class _Bounded:
    """Something with limits: its values, the multipliers of its limits, and from which node to which each value holds."""

    name: str
    values: FloatArray
    low: float
    high: float
    #: Of the cost as it is, positive where the upper limit holds something back; None where the solver tells none.
    multipliers: FloatArray | None
    spans: Sequence[tuple[int, int]]

    @property
    def gap(self) -> int:
        """How many intervals may lie between values that belong together: one where they are of nodes."""
        return 1 if all(first == last for first, last in self.spans) else 0


def biting_bounds(optimum: Optimum, near: float = NEAR) -> list[dict[str, Any]]:
    """Return the bounds that bite, each limit once; ``near`` is the part of a size within which a limit is reached.

    ``stretches`` say from when until when; a limit that is touched at one node has a stretch without length. ``multiplier`` is
    by how much the cost would fall, to first order, if the limit were wider by one unit all the time.
    """
    found = []
    for item in _joined(_all(optimum)):
        found += _touched(item, optimum.times, near)
    return found


def _all(optimum: Optimum) -> Iterator[_Bounded]:
    task, N = optimum.problem.task, optimum.intervals
    layout, program = optimum.program.layout, optimum.program
    limits = optimum.solution.limit_multipliers
    known = limits.size == layout.size
    nodes, inputs = (way(limits) if known else None for way in (layout.nodes, layout.inputs_of))
    intervals = [(k, k + 1) for k in range(N)]
    for i, name in enumerate(task.inputs):
        if name in task.bounds:
            own = None if inputs is None else inputs[:, i]
            low, high = task.bounds[name].low, task.bounds[name].high
            spans = [(k, k) for k in range(N + 1)] if layout.linear else intervals
            yield _Bounded(name, optimum.inputs[:, i], low, high, own, spans)
    lows, highs = layout.nodes(program.low), layout.nodes(program.high)
    for name, bound in task.bounds.items():
        if name in optimum.problem.state_names and name not in task.inputs:
            column = optimum.problem.state_names.index(name)
            # At the start, and at an end that is prescribed, nothing is held back by the bound.
            free = [k for k in range(1, N + 1) if lows[k, column] < highs[k, column]]
            own = None if nodes is None else nodes[free, column]
            spans = [(k, k) for k in free]
            yield _Bounded(name, optimum.states[free, column], bound.low, bound.high, own, spans)
    yield from _rows(optimum)
    at = layout.state + layout.before
    if layout.horizon:
        own = None if nodes is None else np.array([nodes[:, at].sum()])
        yield _Bounded("horizon", np.array([optimum.horizon]), task.horizon.low, task.horizon.high, own, [(0, N)])
    for i, (name, bound) in enumerate(task.free.items()):
        own = None if nodes is None else np.array([nodes[:, at + layout.horizon + layout.begin + i].sum()])
        yield _Bounded(name, np.array([optimum.free[name]]), bound.low, bound.high, own, [(0, N)])


def _rows(optimum: Optimum) -> Iterator[_Bounded]:
    """Yield the bounds that are rows: of rates, and of what is seen at ends of intervals, and at starts where it jumps."""
    program, N = optimum.program, optimum.intervals
    values = optimum.row_values
    multipliers = program.interval_rows(optimum.solution.multipliers)
    for row, name in enumerate(program.names["interval"]):
        if not name.startswith(ROWS):
            continue
        if name.startswith("the rate of"):
            spans = [(k, k + 1) for k in range(N)]
        else:
            late = not name.endswith("at the start of the interval")
            spans = [(k + late, k + late) for k in range(N)]
        shown = name.split("'")[1]
        shown = f"{shown}.rate" if name.startswith("the rate of") else shown
        size, low, high = program.row_sizes[row], program.row_low[row], program.row_high[row]
        if is_vector(shown):
            # The row is the square of a length, divided by the square of its limit: both are one at the limit.
            lengths = size * np.sqrt(values[:, row])
            yield _Bounded(shown, lengths, -np.inf, size, 2 / size * multipliers[:, row], spans)
        else:
            yield _Bounded(shown, size * values[:, row], size * low, size * high, multipliers[:, row] / size, spans)


def _joined(items: Iterator[_Bounded]) -> list[_Bounded]:
    """Return everything once: a channel that jumps has two rows in each interval."""
    found: dict[str, _Bounded] = {}
    for item in items:
        before = found.get(item.name)
        if before is not None:
            values = np.concatenate([before.values, item.values])
            multipliers = (
                None
                if before.multipliers is None or item.multipliers is None
                else np.concatenate([before.multipliers, item.multipliers])
            )
            spans = [*before.spans, *item.spans]
            item = _Bounded(item.name, values, item.low, item.high, multipliers, spans)
        found[item.name] = item
    return list(found.values())


def _touched(item: _Bounded, times: FloatArray, within: float) -> list[dict[str, Any]]:
    found = []
    for limit, side, sign in ((item.low, "lower", -1.0), (item.high, "upper", 1.0)):
        if not np.isfinite(limit) or item.low == item.high:
            continue
        scale = max(abs(limit), np.abs(item.values).max(initial=0.0), 1e-12)
        reached = np.abs(item.values - limit) <= within * scale
        felt = np.zeros(0) if item.multipliers is None else np.maximum(sign * item.multipliers, 0.0)
        if felt.size and reached.any() and felt.max() > 0:
            reached |= felt > FELT * felt.max()
        near = np.flatnonzero(reached).tolist()
        if not near:
            continue
        stretches = _stretches(sorted(item.spans[i] for i in near), item.gap)
        told = [{"from_s": float(times[first]), "until_s": float(times[last])} for first, last in stretches]
        found.append(
            {
                "name": item.name,
                "limit": side,
                "value": float(limit),
                "from_s": told[0]["from_s"],
                "until_s": told[-1]["until_s"],
                "duration_s": sum(stretch["until_s"] - stretch["from_s"] for stretch in told),
                "share": round(len(near) / len(item.values), 4),
                "multiplier": None if item.multipliers is None else float(felt.sum()),
                "stretches": told,
            }
        )
    return found


def _stretches(spans: Sequence[tuple[int, int]], gap: int) -> list[tuple[int, int]]:
    """Return spans of nodes with those put together that follow each other."""
    found: list[tuple[int, int]] = []
    for first, last in spans:
        if found and first - found[-1][1] <= gap:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found
