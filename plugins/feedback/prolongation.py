"""Dynamic extension: which outputs are led directly, which through others, and what a controller has to remember for that.

With y'' = f_y + Y u and rank Y = p < m, inputs act at once on p combinations of the m measures only. As many measures, chosen
by pivots, become *leading*: the controller takes their accelerations c_2, and rates of these, as states of its own, and p
inputs follow from y_i'' = c_2. The accelerations of the other measures are then functions of (q, v, c_2), which no input
reaches, and are differentiated: y''' of (q, v, c_2, c_3), and so on, until the inputs that are left appear. Where only some
appear, further measures become leading at that order. At the last order r all inputs are determined by

    y^(r) = gamma^(r) + sum of k_j (gamma^(j) - y^(j)),  j = 0 ... r - 1,

eq. (33) of document 003, and the chains of the leading measures end there: c_j' = c_(j+1), c_r = y_i^(r). For a crane the one
leading measure is the height of the load, whose acceleration and jerk stand for tension and its rate.

Errors obey linear equations of order r in all measures: m r numbers. If that is as many as the machine and the controller have
states, nothing is left over: the problem is flat. Ranks are found with numbers, at the start and at points around it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np
import scipy.linalg

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, listed
from kingpost.control.servo.feedback import ServoLoop
from kingpost.plugins.feedback.measured import MeasuredMotion

#: What an input does to a derivative of a measure (in s and SI units) is nothing if it is below this part of the largest
#: acceleration that it causes: far above rounding, and far below what a machine does in a second.
NOTHING = 1e-11
#: Pivots below this part of the largest are zero.
RANK = 1e-7
#: Points at which ranks are looked at, and how far from the start in its coordinates.
POINTS, AROUND = 5, 0.05
#: Derivatives beyond which nothing is looked for.
HIGHEST = 8


@dataclass
class Prolongation:
    """The measures in the order in which they were decided on, and all their derivatives as expressions."""

    #: The common order of the errors.
    order: int = 0
    #: For each leading measure, the order from which on the controller remembers its derivatives.
    leading: dict[int, int] = field(default_factory=dict)
    #: c: for each leading measure, symbols of derivatives from that order to ``order`` - 1, and the one that is commanded.
    memory: dict[int, list[ca.SX]] = field(default_factory=dict)
    #: For each measure, its derivatives 0 ... order - 1 in the measured state and the memory.
    derivatives: list[list[ca.SX]] = field(default_factory=list)
    #: y^(order) commanded, and the inputs that follow.
    commanded: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    inputs: ca.SX = field(default_factory=lambda: ca.SX(0, 1))

    @property
    def remembered(self) -> int:
        """The number of states of the controller."""
        return sum(self.order - first for first in self.leading.values())


def prolong(loop: ServoLoop) -> Prolongation:
    """Carry the structure algorithm out, or refuse a problem that is not flat."""
    return _Algorithm(loop).run()


class _Algorithm:
    def __init__(self, loop: ServoLoop) -> None:
        self.loop, self.problem = loop, loop.problem
        self.motion = MeasuredMotion(loop)
        s = self.problem.symbols
        self.m = self.problem.outputs
        self.result = Prolongation()
        #: Chains of derivatives of the leading measures, as long as any order may ask for.
        self.chains = [[ca.SX.sym(f"c{i}_{k}") for k in range(HIGHEST + 2)] for i in range(self.m)]
        self.derivatives: list[list[ca.SX]] = [[self.problem.y[i], self.motion.y_rate[i]] for i in range(self.m)]
        #: The inputs by those that are not determined yet, and these.
        self.u: ca.SX = s.u
        self.open = list(range(s.u.numel()))

    def run(self) -> Prolongation:
        result, waiting = self.result, list(range(self.m))
        for order in range(2, HIGHEST + 1):
            rows = ca.vertcat(*(self._rate(self.derivatives[i][-1]) for i in waiting))
            determined, chosen = self._determined(rows, order)
            if len(chosen) == len(self.open):
                result.order = order
                break
            leading = [waiting[k] for k in determined]
            rows = self._lead(rows, determined, chosen, leading, order)
            for k, i in enumerate(waiting):
                if i not in leading:
                    # No input that is left reaches it: their terms cancel, and are left out with all that they would grow to.
                    self.derivatives[i].append(self._without_open(rows[k]))
            waiting = [i for i in waiting if i not in leading]
        else:
            raise MechanismError(
                f"inputs {listed(self.problem.input_names)} do not reach {listed(self._names(waiting))} with up to {HIGHEST} "
                "derivatives"
            )
        self._check_flat()
        return self._finish(rows, waiting)

    def _names(self, rows: list[int]) -> list[str]:
        return [self.problem.task.measures[i] for i in rows]

    def _rate(self, expression: ca.SX) -> ca.SX:
        """Return the time derivative, with the chains of leading measures."""
        result = self.motion.rate(expression, self.u)
        for i, first in self.result.leading.items():
            for k in range(first, HIGHEST + 1):
                result += ca.jacobian(expression, self.chains[i][k]) * self.chains[i][k + 1]
        return ca.densify(result)

    def _without_open(self, expression: ca.SX) -> ca.SX:
        s = self.problem.symbols
        zeros = ca.SX.zeros(len(self.open))
        return ca.substitute(expression, ca.vertcat(*(s.u[k] for k in self.open)), zeros)

    def _determined(self, rows: ca.SX, order: int) -> tuple[list[int], list[int]]:
        """Return rows and open inputs, as many as the rank of what the inputs do to the rows, chosen by pivots."""
        s = self.problem.symbols
        unknown = ca.vertcat(*(s.u[k] for k in self.open))
        matrix = ca.jacobian(rows, unknown)
        chains = ca.vertcat(*(symbol for chain in self.chains for symbol in chain))
        size = ca.fabs(self.motion.a_u @ ca.jacobian(self.u, unknown))
        function = ca.Function("D", [*self.motion.symbols, chains], [ca.densify(matrix), ca.densify(size)])
        best: tuple[list[int], list[int]] = ([], [])
        smallest = np.inf
        for k, point in enumerate(self._points(chains.numel())):
            found, moved = (np.asarray(part.full()) for part in function(*point))
            found = np.where(np.abs(found) <= NOTHING * moved.max(axis=0, initial=0.0), 0.0, found)
            picked = _pivots(found)
            if k == 0:
                smallest = len(picked[0])
            if len(picked[0]) > len(best[0]):
                best = picked
        if smallest < len(best[0]):
            raise MechanismError(
                f"derivative {order} of {listed(self.problem.task.measures)} loses rank where the path begins: inputs "
                f"determine {int(smallest)} of them there and {len(best[0])} beside it. Begin elsewhere, or take 'lqr-along'"
            )
        return best

    def _points(self, count: int) -> list[list[FloatArray]]:
        """Return the start and points around it, the same every time."""
        at, rng = self.loop.start.point, np.random.default_rng(7)
        given = self.problem.other_inputs
        zeros = np.zeros(count)
        points = [[np.array([at.t]), at.q, at.v, at.z, given, self.problem.p, zeros]]
        for _ in range(POINTS):
            moved = [part + AROUND * rng.standard_normal(part.shape) * (1 + np.abs(part)) for part in (at.q, at.v, at.z)]
            points.append([np.array([at.t]), *moved, given, self.problem.p, AROUND * rng.standard_normal(count)])
        return points

    def _lead(self, rows: ca.SX, determined: list[int], chosen: list[int], leading: list[int], order: int) -> ca.SX:
        """Let some measures lead: their derivatives from this order on are remembered, and determine some inputs.

        Return the rows without these inputs.
        """
        s = self.problem.symbols
        for i in leading:
            self.result.leading[i] = order
        if not leading:
            return rows
        symbols = [s.u[self.open[k]] for k in chosen]
        unknown = ca.vertcat(*symbols)
        wanted = ca.vertcat(*(self.chains[i][order] for i in leading))
        own = ca.vertcat(*(rows[k] for k in determined))
        matrix = ca.jacobian(own, unknown)
        rest = ca.substitute(own, unknown, ca.SX.zeros(len(symbols)))
        solved = ca.solve(ca.densify(matrix), wanted - rest)
        self.u = ca.substitute(self.u, unknown, solved)
        for i in leading:
            self.derivatives[i].append(self.chains[i][order])
        self.open = [row for k, row in enumerate(self.open) if k not in chosen]
        return ca.substitute(rows, unknown, solved)

    def _check_flat(self) -> None:
        result = self.result
        orders, states = self.m * result.order, self.loop.states
        if orders != states + result.remembered:
            raise MechanismError(
                f"'dynamic-extension' is for flat problems: {self.m} errors of order {result.order} are {orders} numbers, and "
                f"the machine has {states} states, the controller {result.remembered}: "
                f"{states + result.remembered - orders} internal states would be left to themselves. 'lqr-along' looks after "
                "all states"
            )

    def _finish(self, rows: ca.SX, waiting: list[int]) -> Prolongation:
        """Return everything by the commanded derivatives of the last order."""
        result, s, order = self.result, self.problem.symbols, self.result.order
        for i, first in result.leading.items():
            # Chains go on to the last order.
            self.derivatives[i] = [*self.derivatives[i][:first], *self.chains[i][first:order]]
            result.memory[i] = self.chains[i][first:order]
        result.derivatives = self.derivatives
        result.commanded = ca.SX.sym("commanded", self.m)
        ends = [self.chains[i][order] for i in result.leading]
        commands = [result.commanded[i] for i in result.leading]
        unknown = ca.vertcat(*(s.u[k] for k in self.open))
        matrix = ca.jacobian(rows, unknown)
        rest = ca.substitute(rows, unknown, ca.SX.zeros(unknown.numel()))
        solved = ca.solve(ca.densify(matrix), ca.vertcat(*(result.commanded[i] for i in waiting)) - rest)
        inputs = ca.substitute(self.u, unknown, solved)
        if ends:
            inputs = ca.substitute(inputs, ca.vertcat(*ends), ca.vertcat(*commands))
        result.inputs = ca.densify(inputs)
        return result


def _pivots(matrix: FloatArray) -> tuple[list[int], list[int]]:
    """Return rows and columns, as many as the rank, whose submatrix is regular; first the rows, then columns for these."""
    if not matrix.size or not np.abs(matrix).max() > 0:
        return [], []
    columns = np.abs(matrix).max(axis=0, keepdims=True)
    scaled = matrix / np.where(columns > 0, columns, 1.0)
    _, R, order = scipy.linalg.qr(scaled.T, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(R))
    rank = int(np.sum(pivots > RANK * pivots[0]))
    chosen = sorted(int(k) for k in order[:rank])
    _, _, order = scipy.linalg.qr(scaled[chosen], mode="economic", pivoting=True)
    return chosen, sorted(int(k) for k in order[:rank])
