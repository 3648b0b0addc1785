"""A program in stages, as fatrop takes it: an interval takes a copy of the node behind it among its own variables.

So equations of any transcription belong to one stage, and the next node is that copy. Values that are prescribed are rows
instead of limits.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.optimal.program import NonlinearProgram


class Stages:
    """Stages [node; inner unknowns, inputs, copy of the next node], and the last node alone in the last.

    The rows of a stage are those of the gap between the copy and the next node, its own, those of the start in the first one,
    and variables that are held.
    """

    def __init__(self, program: NonlinearProgram) -> None:
        self.program, self.layout, self.count = program, program.layout, program.layout.intervals
        self.blocks = program.blocks
        layout = self.layout
        self.size = self.count * layout.local + layout.node
        low, high = program.low / program.scales, program.high / program.scales
        #: Variables of the program whose value is prescribed.
        self.fixed = np.flatnonzero(low == high)
        self._values, self._low, self._high = low, low.copy(), high.copy()
        self._low[self.fixed], self._high[self.fixed] = -np.inf, np.inf
        #: Where each variable of the program stands.
        self.places = np.array([self._place(i) for i in range(layout.size)])

    def _place(self, i: int) -> int:
        k, j = divmod(i, self.layout.stride)
        return k * self.layout.local + j

    @cached_property
    def held(self) -> list[np.ndarray]:
        """Variables of the program that are held, by stage."""
        stage = np.minimum(self.fixed // self.layout.stride, self.count)
        return [self.fixed[stage == k] for k in range(self.count + 1)]

    @cached_property
    def counts(self) -> list[int]:
        """How many rows each stage has, without those of its gap."""
        own = np.full(self.count + 1, self.blocks.rows)
        own[0] += self.blocks.first_rows
        own[-1] = self.blocks.last_rows
        return [int(count) + len(held) for count, held in zip(own, self.held, strict=True)]

    @cached_property
    def starts(self) -> np.ndarray:
        """The first row of each stage, and the number of all."""
        gaps = [self.layout.node] * self.count + [0]
        return np.concatenate([[0], np.cumsum(np.array(gaps) + self.counts)])

    @cached_property
    def origin(self) -> np.ndarray:
        """The row of the program that each row is; -1 for those of gaps, -2 for those of variables that are held."""
        own, N, b = self.blocks.rows, self.count, self.blocks
        found = []
        for k in range(N):
            found += [np.full(self.layout.node, -1), np.arange(k * own, (k + 1) * own)]
            if k == 0:
                found.append(np.arange(own * N, own * N + b.first_rows))
            found.append(np.full(len(self.held[k]), -2))
        found += [np.arange(own * N + b.first_rows, own * N + b.first_rows + b.last_rows), np.full(len(self.held[N]), -2)]
        return np.concatenate(found).astype(int)

    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Return the limits of the rows."""
        found = []
        for rows in (self.program.row_low, self.program.row_high):
            side = np.zeros(len(self.origin))
            own = self.origin >= 0
            side[own] = rows[self.origin[own]]
            side[self.origin == -2] = self._values[np.concatenate(self.held)]
            found.append(side)
        return found[0], found[1]

    def spread(self, x: FloatArray, copies: float | None = None) -> FloatArray:
        """Return variables of the program in the order of stages; copies are those of the next nodes, or a number."""
        layout = self.layout
        found = np.concatenate([x[layout.locals()].ravel(), x[layout.size - layout.node :]])
        if copies is not None:
            rows = found[: self.count * layout.local].reshape(self.count, layout.local)
            rows[:, layout.stride :] = copies
        return np.asarray(found)

    def structure(self) -> dict[str, Any]:
        """Return what CasADi is told about the stages."""
        low, high = self.limits()
        layout, N = self.layout, self.count
        return {
            "N": N,
            "nx": [layout.node] * (N + 1),
            "nu": [layout.local - layout.node] * N + [0],
            "ng": self.counts,
            "equality": (low == high).tolist(),
        }

    def start(self, w: FloatArray) -> dict[str, FloatArray]:
        """Return the start of a search, and the limits."""
        low, high = self.limits()
        return {
            "x0": self.spread(w / self.program.scales),
            "p": self.program.theta,
            "lbx": self.spread(self._low, -np.inf),
            "ubx": self.spread(self._high, np.inf),
            "lbg": low,
            "ubg": high,
        }

    def variables(self, found: FloatArray) -> FloatArray:
        """Return the variables of the program."""
        return np.asarray(found[self.places])

    def rows(self, found: FloatArray) -> FloatArray:
        """Return the part of something with one entry for each row that belongs to rows of the program."""
        own = self.origin >= 0
        back = np.zeros(len(self.program.row_low))
        back[self.origin[own]] = found[own]
        return back

    def differentiable(self) -> dict[str, ca.MX]:
        """Return the program as CasADi differentiates it."""
        layout, N, b, theta = self.layout, self.count, self.blocks, ca.MX.sym("p", len(self.program.theta))
        x = ca.MX.sym("x", self.size)
        stages = ca.reshape(x[: N * layout.local], layout.local, N)
        last_node = x[N * layout.local :]
        numbers = ca.DM(np.arange(N, dtype=float)).T
        rows = b.value.map("kp_stages", "serial", N, [2], [])(stages, numbers, theta)
        costs = b.cost.map("kp_stage_costs", "serial", N, [2], [])(stages, numbers, theta)
        gaps = ca.horzcat(stages[: layout.node, 1:], last_node) - stages[layout.stride :, :]
        held = [x[self.places[variables].tolist()] for variables in self.held]
        found = []
        for k in range(N):
            found += [gaps[:, k], rows[:, k]]
            found += [b.first(stages[:, 0], theta)] if k == 0 else []
            found.append(held[k])
        found += [b.last(last_node, theta), held[N]]
        return {"x": x, "p": theta, "f": ca.sum2(costs), "g": ca.vertcat(*found)}
