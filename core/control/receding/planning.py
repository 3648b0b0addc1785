"""What a controller begins with: how the target is held, and the first plan, found by IPOPT."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError
from kingpost.control.receding.horizon import Horizon
from kingpost.symbols.straightline import fused, solve_symmetric

#: Gauss-Newton iterations for what holds the target: in a sample, and before there is one.
IN_A_SAMPLE, BEFOREHAND = 2, 30
#: What may be left of rates and distances, in parts of their sizes.
AT_REST = 1e-6
#: Of directions that neither rest nor target decide.
UNDECIDED = 1e-10


class Rest:
    """The state of rest at the target, and the inputs that hold it; found by Gauss-Newton iterations."""

    def __init__(self, horizon: Horizon) -> None:
        self.horizon = horizon

    @cached_property
    def residual(self) -> ca.Function:
        """([x; u in parts of sizes], theta) -> rates, distances from the target in parts of sizes."""
        horizon = self.horizon
        held, theta = ca.MX.sym("held", horizon.nx + horizon.nu), ca.MX.sym("theta", sum(horizon.parts.values()))
        n = horizon.numbers(theta)
        x = held[: horizon.nx, :]
        inputs = horizon.problem.inputs(held[horizon.nx :, :] * horizon.sizes, n["given"])
        rates = horizon.problem.equations.rhs(n["t"], x, inputs, n["p"])
        return fused(ca.Function("kp_rest", [held, theta], [ca.vertcat(rates, horizon.away(x, inputs, n["t"], n))]))

    @cached_property
    def nearer(self) -> ca.Function:
        """([x; u], theta) -> [x; u] after an iteration."""
        residual = self.residual
        kind: Any = ca.SX if residual.is_a("SXFunction") else ca.MX
        held, theta = (kind.sym(f"i{i}", residual.numel_in(i)) for i in range(2))
        r = residual(held, theta)
        J = ca.densify(ca.jacobian(r, held))
        normal = J.T @ J + UNDECIDED * kind.eye(held.numel())
        return fused(ca.Function("kp_nearer", [held, theta], [ca.densify(held - solve_symmetric(normal, J.T @ r))]))

    def found(self, theta: FloatArray) -> FloatArray:
        """Return the state and the inputs of rest, or say that there are none."""
        horizon, problem = self.horizon, self.horizon.problem
        start = problem.posed.u0[list(problem.driven)] / horizon.sizes
        held = np.concatenate([problem.x0, start])
        for _ in range(BEFOREHAND):
            held = np.asarray(self.nearer(held, theta)).ravel()
        left = np.asarray(self.residual(held, theta)).ravel()
        worst = int(np.argmax(np.abs(np.nan_to_num(left, nan=np.inf)))) if left.size else 0
        if left.size and not abs(left[worst]) <= AT_REST:
            names = [f"the rate of '{name}'" for name in problem.state_names]
            names += [f"the distance of '{name}' from the target" for name in horizon.targets]
            raise MechanismError(
                f"{problem.task.title}: the target is no state of rest that the inputs could hold: {names[worst]} stays "
                f"{left[worst]:.3g}; a receding-horizon controller brings the machine to rest at the end of its task",
                path=("end",),
            )
        return held


@dataclass(frozen=True)
class Plan:
    """States at the nodes and inputs in parts of their sizes, one column each, and what it costs."""

    states: FloatArray
    inputs: FloatArray
    cost: float


def planned(horizon: Horizon, s0: FloatArray, held: FloatArray, theta: FloatArray) -> Plan:
    """Return the optimal plan from a state: the whole program, with states as unknowns, solved by IPOPT."""
    N, ns, nu = horizon.intervals, horizon.ns, horizon.nu
    S, U = ca.MX.sym("S", ns, N + 1), ca.MX.sym("U", nu, N)
    number = ca.DM(list(range(N))).T
    after, costs, rows = horizon.value.map(N)(S[:, :N], U, number, ca.repmat(ca.DM(theta), 1, N))
    hard = [i for i, row in enumerate(horizon.rows) if not row.soft]
    g = ca.vertcat(ca.vec(S[:, 1:] - after), S[:, 0] - s0, ca.vec(rows[hard, :]) if hard else ca.MX(0, 1))
    high = np.zeros(g.numel())
    low = np.concatenate([np.zeros(ns * (N + 1)), np.full(len(hard) * N, -np.inf)])
    solver = ca.nlpsol(
        "kp_plan",
        "ipopt",
        {"x": ca.vertcat(ca.vec(S), ca.vec(U)), "f": ca.sum2(costs), "g": g},
        {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.tol": 1e-10, "ipopt.max_iter": 500},
    )
    rest = np.concatenate([held[: horizon.nx], held[horizon.nx :]])[:ns]
    line = s0[:, None] + np.linspace(0, 1, N + 1)[None, :] * (rest - s0)[:, None]
    guess = np.concatenate([line.T.ravel(), np.tile(held[horizon.nx :], N)])
    found: dict[str, Any] = solver(x0=guess, lbg=low, ubg=high)
    status = solver.stats()["return_status"]
    if not solver.stats()["success"]:
        raise MechanismError(
            f"{horizon.problem.task.title}: no first plan was found for a horizon of {N * horizon.h:g} s: IPOPT ended with "
            f"'{status}' after {solver.stats()['iter_count']} iterations. Wider bounds of inputs, a longer horizon or a "
            "smaller terminal_weight may help"
        )
    x = np.asarray(found["x"]).ravel()
    states = x[: ns * (N + 1)].reshape(N + 1, ns).T
    return Plan(states, x[ns * (N + 1) :].reshape(N, nu).T, float(found["f"]))
