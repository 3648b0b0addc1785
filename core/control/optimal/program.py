"""The nonlinear program of an optimal control problem: one compiled interval, mapped over all of them.

Variables are scaled: w = scales * x. The rows, the costs and their first and second derivatives of one interval are a few
functions in machine code, whatever the number of intervals is; their nonzeros are gathered into the sparse matrices of the
whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.optimal.blocks import Blocks
from kingpost.control.optimal.layout import Layout


@dataclass(frozen=True, eq=False)
class NonlinearProgram:
    """Variables, bounds, rows with their names, and a start; everything in scaled variables but what says otherwise."""

    layout: Layout
    blocks: Blocks
    #: Scales of all variables, and by what the cost is divided.
    scales: FloatArray
    cost_scale: float
    #: Limits of variables, unscaled, and of rows.
    low: FloatArray
    high: FloatArray
    row_low: FloatArray
    row_high: FloatArray
    #: Numbers that the blocks take: time of the start, horizon, number of intervals, parameters, given inputs.
    numbers: FloatArray
    #: By what the last rows of an interval, which are bounds, are divided.
    bound_sizes: FloatArray
    names: Mapping[str, tuple[str, ...]]

    @cached_property
    def _local_scales(self) -> FloatArray:
        return self.scales[: self.layout.local]

    @property
    def theta(self) -> FloatArray:
        """All numbers that the blocks take, the scales of an interval and that of the cost among them."""
        return np.concatenate([self.numbers, self._local_scales, [self.cost_scale]])

    @cached_property
    def functions(self) -> ProgramFunctions:
        """The functions of the whole program."""
        return ProgramFunctions(self.layout, self.blocks)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.functions.rows

    def row_name(self, i: int) -> tuple[str, int | None]:
        """Return what a row says, and of which interval; None for rows of the start and the end."""
        own, N = self.blocks.rows, self.layout.intervals
        if i < own * N:
            return self.names["interval"][i % own], i // own
        i -= own * N
        if i < self.blocks.first_rows:
            return self.names["first"][i], 0
        return self.names["last"][i - self.blocks.first_rows], None

    @property
    def row_sizes(self) -> FloatArray:
        """By what every row is divided, bounds of channels by the size of their limits."""
        own = np.ones(self.blocks.rows)
        own[len(own) - len(self.bound_sizes) :] = self.bound_sizes
        edges = np.ones(self.blocks.first_rows + self.blocks.last_rows)
        return np.concatenate([np.tile(own, self.layout.intervals), edges])

    def interval_rows(self, values: FloatArray) -> FloatArray:
        """Return the part of something with one entry for each row that belongs to intervals, one of them in each row."""
        return values[: self.blocks.rows * self.layout.intervals].reshape(self.layout.intervals, self.blocks.rows)


class Functions(ABC):
    """Cost, rows and their exact derivatives as functions of all variables x and the numbers theta."""

    x: ca.MX
    theta: ca.MX
    #: The number of rows.
    rows: int

    @property
    @abstractmethod
    def values(self) -> tuple[ca.MX, ca.MX]:
        """Cost and rows."""

    @property
    @abstractmethod
    def gradient(self) -> ca.Function:
        """(x, p) -> cost, its gradient."""

    @property
    @abstractmethod
    def jacobian(self) -> ca.Function:
        """(x, p) -> rows, their sparse Jacobian."""

    @property
    @abstractmethod
    def hessian(self) -> ca.Function:
        """(x, p, lam_f, lam_g) -> upper triangle of the Hessian of lam_f f + lam_g . g."""

    def nlp(self) -> dict[str, ca.MX]:
        """Return the program as CasADi takes it."""
        f, g = self.values
        return {"x": self.x, "p": self.theta, "f": f, "g": g}

    def options(self) -> dict[str, ca.Function]:
        """Return the derivatives as options of CasADi's solvers."""
        return {"grad_f": self.gradient, "jac_g": self.jacobian, "hess_lag": self.hessian}

    def gradient_of(self, cost: ca.MX, slope: ca.MX) -> ca.Function:
        """Return the gradient of a cost as CasADi's solvers name it."""
        return ca.Function("nlp_grad_f", [self.x, self.theta], [cost, ca.densify(slope)], ["x", "p"], ["f", "grad_f_x"])

    def jacobian_of(self, rows: ca.MX, slopes: ca.MX) -> ca.Function:
        """Return the Jacobian of rows as CasADi's solvers name it."""
        return ca.Function("nlp_jac_g", [self.x, self.theta], [rows, slopes], ["x", "p"], ["g", "jac_g_x"])

    def hessian_of(self, sigma: ca.MX, lam: ca.MX, triangle: ca.MX) -> ca.Function:
        """Return the upper triangle of a Hessian as CasADi's solvers name it."""
        given = [self.x, self.theta, sigma, lam]
        return ca.Function("nlp_hess_l", given, [triangle], ["x", "p", "lam_f", "lam_g"], ["triu_hess_gamma_x_x"])


class ProgramFunctions(Functions):
    """Those of a program of intervals."""

    def __init__(self, layout: Layout, blocks: Blocks) -> None:
        self.layout, self.blocks = layout, blocks
        N = layout.intervals
        self.rows = blocks.rows * N + blocks.first_rows + blocks.last_rows
        self.x, self.theta = ca.MX.sym("x", layout.size), ca.MX.sym("p", blocks.numbers + layout.local + 1)
        index = layout.locals()
        self._local = ca.reshape(self.x[index.ravel().tolist()], layout.local, N)
        self._steps = ca.DM(np.arange(N, dtype=float)).T
        self._begin = self.x[: layout.local]
        self._end = self.x[layout.size - layout.node :]
        self._index = index

    def _mapped(self, function: ca.Function, shared: list[int]) -> ca.Function:
        N = self.layout.intervals
        return function.map(f"{function.name()}_all", "serial", N, shared, [])

    @cached_property
    def values(self) -> tuple[ca.MX, ca.MX]:
        rows = self._mapped(self.blocks.value, [2])(self._local, self._steps, self.theta)
        costs = self._mapped(self.blocks.cost, [2])(self._local, self._steps, self.theta)
        first = self.blocks.first(self._begin, self.theta)
        last = self.blocks.last(self._end, self.theta)
        return ca.sum2(costs), ca.vertcat(ca.vec(rows), first, last)

    @cached_property
    def gradient(self) -> ca.Function:
        costs, gradients = self._mapped(self.blocks.cost_slope, [2])(self._local, self._steps, self.theta)
        places = self._index[:, self.blocks.cost_pattern.row()].ravel()
        return self.gradient_of(ca.sum2(costs), _added(ca.vec(gradients), places, self.layout.size))

    @cached_property
    def jacobian(self) -> ca.Function:
        b, N = self.blocks, self.layout.intervals
        entries, own = self._mapped(b.slope, [2])(self._local, self._steps, self.theta)
        edges = [b.first(self._begin, self.theta), b.last(self._end, self.theta)]
        first = b.first_slope(self._begin, self.theta)
        last = b.last_slope(self._end, self.theta)
        nonzeros = ca.vertcat(ca.vec(entries), first, last)
        rows, columns = _places(b.slope_pattern)
        all_rows = (np.arange(N)[:, None] * b.rows + rows[None, :]).ravel()
        all_columns = (np.arange(N)[:, None] * self.layout.stride + columns[None, :]).ravel()
        first_rows, first_columns = _places(b.first_pattern)
        last_rows, last_columns = _places(b.last_pattern)
        offset = b.rows * N
        i = np.concatenate([all_rows, offset + first_rows, offset + b.first_rows + last_rows])
        j = np.concatenate([all_columns, first_columns, self.layout.size - self.layout.node + last_columns])
        matrix, order = _sparse(i, j, (self.rows, self.layout.size))
        J = ca.MX(matrix, nonzeros[order])
        g = ca.vertcat(ca.vec(own), *edges)
        return self.jacobian_of(g, J)

    @cached_property
    def hessian(self) -> ca.Function:
        b, N = self.blocks, self.layout.intervals
        sigma, lam = ca.MX.sym("lam_f"), ca.MX.sym("lam_g", self.rows)
        own = ca.reshape(lam[: b.rows * N], b.rows, N)
        curved = self._mapped(b.curvature, [2, 4])(self._local, self._steps, self.theta, own, sigma)
        at = b.rows * N
        first = b.first_curvature(self._begin, self.theta, lam[at : at + b.first_rows])
        last = b.last_curvature(self._end, self.theta, lam[at + b.first_rows :])
        contributions = ca.vertcat(ca.vec(curved), first, last)
        rows, columns = _places(b.curvature_pattern)
        shift = np.arange(N)[:, None] * self.layout.stride
        fi, fj = _places(b.first_curvature_pattern)
        li, lj = _places(b.last_curvature_pattern)
        end = self.layout.size - self.layout.node
        i = np.concatenate([(shift + rows[None, :]).ravel(), fi, end + li])
        j = np.concatenate([(shift + columns[None, :]).ravel(), fj, end + lj])
        return self.hessian_of(sigma, lam, _summed(contributions, i, j, self.layout.size))

    @cached_property
    def hamiltonian(self) -> ca.Function:
        """(x, p, lam_g) -> the discrete Hamiltonian of every interval, and the slopes of rows and of costs by inputs."""
        lam = ca.MX.sym("lam_g", self.rows)
        own = ca.reshape(lam[: self.blocks.rows * self.layout.intervals], self.blocks.rows, self.layout.intervals)
        results = self._mapped(self.blocks.hamiltonian, [2])(self._local, self._steps, self.theta, own)
        return ca.Function("kp_hamiltonians", [self.x, self.theta, lam], list(results))


def _places(pattern: ca.Sparsity) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of the nonzeros of a pattern, in its order."""
    return np.array(pattern.row(), dtype=int), np.array(pattern.get_col(), dtype=int)


def _sparse(i: np.ndarray, j: np.ndarray, shape: tuple[int, int]) -> tuple[ca.Sparsity, list[int]]:
    """Return the pattern of entries at different places, and their order in it."""
    order = np.argsort(j * shape[0] + i, kind="stable")
    counts = np.bincount(j, minlength=shape[1])
    starts = np.concatenate([[0], np.cumsum(counts)])
    pattern = ca.Sparsity(shape[0], shape[1], starts.tolist(), i[order].tolist())
    return pattern, order.tolist()


def _summed(entries: ca.MX, i: np.ndarray, j: np.ndarray, size: int) -> ca.MX:
    """Return the square matrix of entries of which some are at the same place."""
    keys = j * size + i
    order = np.argsort(keys, kind="stable")
    first = np.diff(keys[order], prepend=-1) > 0
    where = np.empty(len(keys), dtype=int)
    where[order] = np.cumsum(first) - 1
    found = keys[order][first]
    starts = np.concatenate([[0], np.cumsum(np.bincount(found // size, minlength=size))])
    pattern = ca.Sparsity(size, size, starts.tolist(), (found % size).tolist())
    return ca.MX(pattern, _added(entries, where, len(found)))


def _added(entries: ca.MX, places: np.ndarray, size: int) -> ca.MX:
    """Return a vector to which entry k of another one is added at the place ``places[k]``.

    It is the sum of few vectors, since few entries, those of intervals that meet, are at the same place.
    """
    order = np.argsort(places, kind="stable")
    counts = np.bincount(places, minlength=size)
    turn = np.empty(len(places), dtype=int)
    turn[order] = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    padded, total = ca.vertcat(entries, 0.0), ca.MX.zeros(size)
    for layer in range(int(counts.max(initial=0))):
        chosen = np.full(size, len(places))
        chosen[places[turn == layer]] = np.flatnonzero(turn == layer)
        taken = padded[chosen.tolist()]
        total = total + taken if layer else taken
    return total
