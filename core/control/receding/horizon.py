"""The optimal control problem of one horizon: what an interval does, what it costs, and which rows bound it.

Everything is a function of [state; inputs before, where something asks for them], of the inputs in parts of their sizes, of
the number of the interval, and of the numbers theta, which a sample fills in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.transcribing import input_sizes
from kingpost.control.optimal.transcription import Moments
from kingpost.control.receding.options import RecedingOptions
from kingpost.control.receding.quadratic import HorizonProgram
from kingpost.symbols.straightline import fused

#: What keeps the Hessian of inputs positive where no cost knows them, in parts of the cost.
LEAST_CURVATURE = 1e-9


@dataclass(frozen=True)
class Row:
    """A row sign * value <= sign * limit, in parts of a size: of an input, of its change, or of a channel that is seen."""

    kind: str
    name: str
    place: int
    sign: int
    limit: float
    size: float

    @property
    def soft(self) -> bool:
        """Whether it may be violated, at a price."""
        return self.kind == "seen"

    @property
    def parameter(self) -> str:
        """What the limit is called as a parameter."""
        side = "high" if self.sign > 0 else "low"
        rate = "_rate" if self.kind == "rate" else ""
        return f"{side}{rate}_{''.join(letter if letter.isalnum() else '_' for letter in self.name)}"


class Horizon:
    """One horizon of a problem, in ``intervals`` of the sample time."""

    def __init__(self, problem: OptimalProblem, options: RecedingOptions, intervals: int, substeps: int) -> None:
        self.problem, self.options = problem, options
        self.intervals, self.substeps = intervals, substeps
        e, task = problem.equations, problem.task
        self.h = options.sample_time
        self.nx, self.nu = e.nx, len(task.inputs)
        self.sizes = input_sizes(problem)
        self.targets = tuple(task.end)
        self.before = bool(task.rates) or any(term.needs_before for _, term in problem.terms)
        self.ns = self.nx + (self.nu if self.before else 0)
        self.rows = self._rows()
        self.parts = {
            "t": 1, "p": e.np, "given": e.nu, "d": self.nu, "hold": self.nu, "target": len(self.targets),
            "arrival": 1, "target_weight": 1, "terminal_weight": 1, "bound_weight": 1, "limits": len(self.rows),
        }  # fmt: skip
        self.program = HorizonProgram(intervals, self.ns, self.nu, len(self.rows), options.iterations)

    def _rows(self) -> tuple[Row, ...]:
        task = self.problem.task
        own: list[tuple[str, str, int, Any, float]] = []
        for k, name in enumerate(task.inputs):
            if name in task.bounds:
                own.append(("input", name, k, task.bounds[name], float(self.sizes[k])))
            if name in task.rates:
                own.append(("rate", name, k, task.rates[name], float(self.sizes[k])))
        for k, name in enumerate(self.seen):
            limits = task.bounds[name]
            own.append(("seen", name, k, limits, float(self.options.sizes.get(name, limits.size or 1.0))))
        return tuple(
            Row(kind, name, place, sign, limit, size)
            for kind, name, place, limits, size in own
            for sign, limit in ((-1, limits.low), (1, limits.high))
            if np.isfinite(limit)
        )

    @property
    def seen(self) -> tuple[str, ...]:
        """The bounded channels beside inputs."""
        task = self.problem.task
        return tuple(name for name in task.bounds if name not in task.inputs)

    @cached_property
    def target_values(self) -> FloatArray:
        """Where the task ends."""
        return np.array([self.problem.task.end[name].low for name in self.targets])

    @cached_property
    def target_sizes(self) -> FloatArray:
        """How far from the target is far, by name: what was said, the way from the start, or one."""
        problem = self.problem
        seen = problem.observer(self.targets)(problem.posed.t_start, problem.x0, problem.posed.u0, problem.p)
        ways = np.abs(self.target_values - np.asarray(seen).ravel())
        own = [way if way > 1e-3 else 1.0 for way in ways]
        return np.array([float(self.options.sizes.get(name, size)) for name, size in zip(self.targets, own, strict=True)])

    @cached_property
    def cost_scale(self) -> float:
        """What the task's cost is divided by: what inputs of full size cost over the horizon."""
        problem, e = self.problem, self.problem.equations
        t, x, u, p = ca.MX.sym("t"), ca.MX.sym("x", e.nx), ca.MX.sym("u", self.nu), ca.MX.sym("p", e.np)
        inputs = problem.inputs(u, ca.MX(ca.DM(problem.posed.u0)))
        moments = Moments(problem, t, ca.MX(self.h), x, x, u, ca.MX.zeros(self.nu), inputs, p)
        cost = ca.Function("kp_scale", [t, x, u, p], [self._terms(moments)])
        found = self.intervals * float(cost(problem.posed.t_start, problem.x0, self.sizes, problem.p))
        return found if np.isfinite(found) and found > 0 else 1.0

    def _terms(self, moments: Moments) -> Any:
        return sum((weight * term.cost(moments) for weight, term in self.problem.terms), ca.MX(0))

    def theta(self, **numbers: Any) -> Any:
        """Return all numbers in one column."""
        return ca.vertcat(*(numbers[name] for name in self.parts))

    def numbers(self, theta: Any) -> dict[str, Any]:
        """Return all numbers by name."""
        rows = [0, *accumulate(self.parts.values())]
        return {name: theta[a:b, :] for name, (a, b) in zip(self.parts, pairwise(rows), strict=True)}

    def _symbols(self) -> tuple[ca.MX, ca.MX, ca.MX, ca.MX]:
        return (
            ca.MX.sym("s", self.ns),
            ca.MX.sym("u", self.nu),
            ca.MX.sym("k"),
            ca.MX.sym("theta", sum(self.parts.values())),
        )

    @cached_property
    def step(self) -> ca.Function:
        """(s, u, k, theta) -> s after the interval."""
        s, u, k, theta = self._symbols()
        n = self.numbers(theta)
        inputs = self.problem.inputs(u * self.sizes + n["d"], n["given"])
        x, part = s[: self.nx, :], self.h / self.substeps
        for j in range(self.substeps):
            x = self.problem.posed.stepper.step(n["t"] + k * self.h + j * part, x, inputs, n["p"], part)
        return fused(ca.Function("kp_interval", [s, u, k, theta], [ca.vertcat(x, u) if self.before else x]))

    @cached_property
    def _apart(self) -> ca.Function:
        """(s, u, s after, k, theta) -> cost, rows that must not be positive; the state after as if it were free."""
        s, u, k, theta = self._symbols()
        s1 = ca.MX.sym("s1", self.ns)
        n, problem, e = self.numbers(theta), self.problem, self.problem.equations
        x0, x1, t = s[: self.nx, :], s1[: self.nx, :], n["t"] + k * self.h
        inputs = problem.inputs(u * self.sizes + n["d"], n["given"])
        # From the arrival on, it is what goes beyond holding the machine that costs.
        holding = (t >= n["arrival"] - self.h / 2) * (n["hold"] - n["d"])
        before = s[self.nx :, :] * self.sizes if self.before else ca.MX.zeros(self.nu)
        moments = Moments(problem, t, ca.MX(self.h), x0, x1, u * self.sizes - holding, before - holding, inputs, n["p"])
        cost = self._terms(moments) / self.cost_scale
        weight = self.h * n["target_weight"] * (t + self.h >= n["arrival"] - self.h / 2)
        weight = weight + n["terminal_weight"] * (k >= self.intervals - 1)
        cost = cost + weight / 2 * ca.sumsqr(self.away(x1, inputs, t + self.h, n))
        seen = problem.observer(self.seen)(t + self.h, x1, inputs, n["p"]) if self.seen else ca.MX(0, 1)
        rows = []
        for i, row in enumerate(self.rows):
            limit = n["limits"][i] / row.size
            if row.kind == "input":
                value = u[row.place]
            elif row.kind == "rate":
                value, limit = u[row.place] - s[self.nx + row.place], limit * self.h
            else:
                value = seen[row.place] / row.size
            rows.append(row.sign * (value - limit))
        assert e.nx == self.nx
        results = [ca.densify(cost), ca.densify(ca.vertcat(ca.MX(0, 1), *rows))]
        return fused(ca.Function("kp_apart", [s, u, s1, k, theta], results))

    def away(self, x: Any, inputs: Any, t: Any, numbers: dict[str, Any]) -> Any:
        """Return how far a state is from the target, in parts of the sizes."""
        if not self.targets:
            return ca.MX(0, 1)
        seen = self.problem.observer(self.targets)(t, x, inputs, numbers["p"])
        return (seen - numbers["target"]) / self.target_sizes

    def softness(self, theta: Any) -> Any:
        """Return the softness of rows."""
        weight = self.numbers(theta)["bound_weight"]
        return ca.vertcat(ca.MX(0, 1), *(1 / weight if row.soft else ca.MX(0) for row in self.rows))

    def penalties(self, rows: Any, theta: Any) -> Any:
        """Return the multipliers of soft rows: how far they are violated, times their weight."""
        weight = self.numbers(theta)["bound_weight"]
        kind = type(rows)
        return ca.vertcat(
            kind(0, 1), *(weight * ca.fmax(rows[i], 0) if row.soft else kind(0) for i, row in enumerate(self.rows))
        )

    @cached_property
    def value(self) -> ca.Function:
        """(s, u, k, theta) -> s after, cost with what soft rows add to it, rows."""
        s, u, k, theta = self._symbols()
        s1 = self.step(s, u, k, theta)
        cost, rows = self._apart(s, u, s1, k, theta)
        cost = cost + ca.dot(self.penalties(rows, theta), rows) / 2
        return fused(ca.Function("kp_interval_value", [s, u, k, theta], [s1, cost, rows]))

    @cached_property
    def linear(self) -> ca.Function:
        """(s, u, k, theta) -> A, B, convex Hessian, slope, rows' slopes, room of rows, slope along s after, multipliers, s1.

        The Hessian is that of the cost in the motion as far as it is linear; what the motion bends adds :attr:`bend`.
        """
        step, apart = self.step, self._apart
        kind: Any = ca.SX if step.is_a("SXFunction") and apart.is_a("SXFunction") else ca.MX
        s, u, k, theta = (kind.sym(f"i{i}", item.numel()) for i, item in enumerate(self._symbols()))
        s1 = kind.sym("s1", self.ns)
        z, every = ca.vertcat(s, u), ca.vertcat(s, u, s1)
        after = step(s, u, k, theta)
        AB = ca.densify(ca.jacobian(after, z))
        cost, rows = apart(s, u, s1, k, theta)
        hessian, slope = ca.hessian(cost, every)
        raw = [ca.densify(item) for item in (slope, hessian, ca.jacobian(rows, every), rows)]
        inner = ca.Function("kp_apart_slopes", [s, u, s1, k, theta], raw)
        g, H, R, r = inner(s, u, after, k, theta)
        J = ca.vertcat(kind.eye(z.numel()), AB)
        nz = z.numel()
        lam = self.penalties(r, theta)
        whole = J.T @ H @ J + ca.diag(ca.DM([0.0] * self.ns + [LEAST_CURVATURE] * self.nu))
        results = [AB[:, : self.ns], AB[:, self.ns :], whole, J.T @ g, R @ J, -r, g[nz:, :] + R[:, nz:].T @ lam, lam, after]
        return fused(ca.Function("kp_linear", [s, u, k, theta], [ca.densify(item) for item in results]))

    @cached_property
    def bend(self) -> ca.Function:
        """(s, u, k, theta, mu) -> Hessian of mu . s after."""
        step = self.step
        kind: Any = ca.SX if step.is_a("SXFunction") else ca.MX
        s, u, k, theta = (kind.sym(f"i{i}", item.numel()) for i, item in enumerate(self._symbols()))
        mu = kind.sym("mu", self.ns)
        z = ca.vertcat(s, u)
        inner = ca.Function("kp_inner", [z, k, theta, mu], [ca.dot(mu, step(z[: self.ns, :], z[self.ns :, :], k, theta))])
        z1 = kind.sym("z", z.numel())
        hessian = ca.hessian(inner(z1, k, theta, mu), z1)[0]
        found = ca.Function("kp_bend_z", [z1, k, theta, mu], [ca.densify(hessian)])
        return fused(ca.Function("kp_bend", [s, u, k, theta, mu], [found(z, k, theta, mu)]))

    def clipped(self, s: Any, u: Any, theta: Any) -> Any:
        """Return inputs within their bounds and rates; the motion must have seen them like this."""
        n = self.numbers(theta)
        parts = [u[i] for i in range(self.nu)]
        for kind in ("rate", "input"):
            for i, row in enumerate(self.rows):
                if row.kind == kind:
                    limit = n["limits"][i] / row.size
                    limit = s[self.nx + row.place] + limit * self.h if kind == "rate" else limit
                    parts[row.place] = (ca.fmin if row.sign > 0 else ca.fmax)(parts[row.place], limit)
        return ca.vertcat(*parts)
