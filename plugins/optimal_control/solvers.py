"""Solvers of nonlinear programs: IPOPT, and fatrop for programs in stages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.optimal.counted import CountedTerm
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.program import NonlinearProgram
from kingpost.control.optimal.solver import NlpSolver, SolverOptions, Stated
from kingpost.control.optimal.solving import ipopt_settings


class Ipopt(NlpSolver):
    """IPOPT, an interior-point method for sparse programs of any structure."""

    name = "ipopt"
    casadi = "ipopt"

    def settings(self, options: SolverOptions) -> dict[str, Any]:
        return ipopt_settings(options)


class Fatrop(NlpSolver):
    """fatrop, an interior-point method with a Riccati recursion through the intervals, for tasks without phases.

    An interval takes a copy of the node behind it among its own variables, so that equations of any transcription belong to one
    stage, and the next node is that copy. Values that are prescribed are rows instead of limits.
    """

    name = "fatrop"
    casadi = "fatrop"
    tells = False
    differentiates = True

    def refusal(self, problem: OptimalProblem, options: SolverOptions) -> str:
        if not ca.has_nlpsol("fatrop"):
            return "this CasADi comes without fatrop; take 'ipopt'"
        if problem.phases:
            return (
                f"solver 'fatrop' goes through stages of one size, and {problem.task.title} has {len(problem.phases)} phases, "
                "each with its own; take 'ipopt'"
            )
        if any(isinstance(term, CountedTerm) for _, term in problem.terms):
            return "solver 'fatrop' goes through stages one by one, and counted ranges join distant ones; take 'ipopt'"
        return super().refusal(problem, options)

    def succeeded(self, record: Mapping[str, Any]) -> bool:
        return bool(record["success"])

    def settings(self, options: SolverOptions) -> dict[str, Any]:
        return {
            "print_time": False,
            "error_on_fail": False,
            "structure_detection": "manual",
            "fatrop.print_level": 0,
            "fatrop.tol": options.tolerance,
            "fatrop.max_iter": options.iterations,
        }

    def stated(self, program: NonlinearProgram, w: FloatArray) -> Stated:
        return _Stages(program).stated(w)


class _Stages:
    """A program in stages: [node; inner unknowns, inputs, copy of the next node] in each, the last node alone in the last."""

    def __init__(self, program: NonlinearProgram) -> None:
        self.program, self.layout = program, program.layout
        layout = self.layout
        self.count = layout.intervals
        #: What an interval sees is a stage, one behind the other.
        self.places = np.arange(self.count)[:, None] * layout.local + np.arange(layout.local)[None, :]
        self.size = self.count * layout.local + layout.node
        low, high = program.low / program.scales, program.high / program.scales
        self.fixed = [int(i) for i in np.flatnonzero(low == high)]
        self.values, self.low, self.high = low, low.copy(), high.copy()
        self.low[self.fixed], self.high[self.fixed] = -np.inf, np.inf

    def _spread(self, x: FloatArray, copies: float | None = None) -> FloatArray:
        """Return variables of the program in the order of stages; copies are those of the next nodes, or a number."""
        layout = self.layout
        found = np.concatenate([x[layout.locals()].ravel(), x[self.size_of_program - layout.node :]])
        if copies is not None:
            rows = found[: self.count * layout.local].reshape(self.count, layout.local)
            rows[:, layout.stride :] = copies
        return np.asarray(found)

    @property
    def size_of_program(self) -> int:
        return self.layout.size

    def _place(self, i: int) -> int:
        """Return where a variable of the program stands."""
        k, j = divmod(i, self.layout.stride)
        return k * self.layout.local + j

    def stated(self, w: FloatArray) -> Stated:
        """Return the program for the solver."""
        program, layout, N = self.program, self.layout, self.count
        blocks = program.blocks
        x, theta = ca.MX.sym("x", self.size), ca.MX.sym("p", len(program.theta))
        stages = ca.reshape(x[: N * layout.local], layout.local, N)
        last_node = x[N * layout.local :]
        numbers = ca.DM(np.arange(N, dtype=float)).T
        rows = blocks.value.map("kp_stages", "serial", N, [2], [])(stages, numbers, theta)
        costs = blocks.cost.map("kp_stage_costs", "serial", N, [2], [])(stages, numbers, theta)
        first, last = blocks.first(stages[:, 0], theta), blocks.last(last_node, theta)
        following = ca.horzcat(stages[: layout.node, 1:], last_node)
        gaps = following - stages[layout.stride :, :]
        own = blocks.rows
        found, low, high, counts, backward = [], [], [], [], []
        for k in range(N):
            pieces = [gaps[:, k], rows[:, k]]
            low += [np.zeros(layout.node), program.row_low[k * own : (k + 1) * own]]
            high += [np.zeros(layout.node), program.row_high[k * own : (k + 1) * own]]
            backward += [np.full(layout.node, -1), np.arange(k * own, (k + 1) * own)]
            if k == 0:
                pieces.append(first)
                at = slice(own * N, own * N + blocks.first_rows)
                low.append(program.row_low[at])
                high.append(program.row_high[at])
                backward.append(np.arange(at.start, at.stop))
            held = [i for i in self.fixed if k * layout.stride <= i < (k + 1) * layout.stride]
            counts.append(own + (blocks.first_rows if k == 0 else 0) + len(held))
            self._hold(held, x, pieces, low, high, backward)
            found += pieces
        pieces = [last]
        at = slice(own * N + blocks.first_rows, None)
        low.append(program.row_low[at])
        high.append(program.row_high[at])
        backward.append(np.arange(own * N + blocks.first_rows, len(program.row_low)))
        held = [i for i in self.fixed if i >= N * layout.stride]
        counts.append(blocks.last_rows + len(held))
        self._hold(held, x, pieces, low, high, backward)
        found += pieces
        g = ca.vertcat(*found)
        lows, highs, origin = np.concatenate(low), np.concatenate(high), np.concatenate(backward).astype(int)
        options = {
            "N": N,
            "nx": [layout.node] * (N + 1),
            "nu": [layout.local - layout.node] * N + [0],
            "ng": counts,
            "equality": (lows == highs).tolist(),
        }
        start = {
            "x0": self._spread(w / program.scales),
            "p": program.theta,
            "lbx": self._spread(self.low, -np.inf),
            "ubx": self._spread(self.high, np.inf),
            "lbg": lows,
            "ubg": highs,
        }
        kept = np.flatnonzero(origin >= 0)

        def multipliers(lam: FloatArray) -> FloatArray:
            back = np.zeros(len(program.row_low))
            back[origin[kept]] = lam[kept]
            return back

        places = np.array([self._place(i) for i in range(layout.size)])
        nlp = {"x": x, "p": theta, "f": ca.sum2(costs), "g": g}
        return Stated(nlp, options, start, lambda found: np.asarray(found[places]), multipliers)

    def _hold(self, held: list[int], x: ca.MX, pieces: list[Any], low: list[Any], high: list[Any], backward: list[Any]) -> None:
        """Add rows for variables whose value is prescribed."""
        if held:
            pieces.append(x[[self._place(i) for i in held]])
            low.append(self.values[held])
            high.append(self.values[held])
            backward.append(np.full(len(held), -1))
