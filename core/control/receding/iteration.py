"""One real-time iteration: a plan is prepared, corrected for what is measured, and tried on the machine as it is known.

Preparation linearises the motion along the states and inputs of the plan; feedback solves the quadratic program from the
measured state and lets the machine follow the corrected plan in parts 1, 1/2, ... of the correction, the last part being none
at all. The plan that costs least is kept, so that an iteration never makes a plan worse, and every plan is a motion of the
machine.
"""

from __future__ import annotations

from functools import cached_property

import casadi as ca

from kingpost.control.receding.horizon import Horizon

#: Parts of a correction that are tried.
PARTS = (1.0, 0.5, 0.25, 0.1, 0.0)
#: A cost that no plan has.
TOO_MUCH = 1e300


class RealTimeIteration:
    """The functions of an iteration; plans are inputs in parts of their sizes, one column for each interval."""

    def __init__(self, horizon: Horizon) -> None:
        self.horizon = horizon
        self.numbers = ca.DM(list(range(horizon.intervals))).T
        self.back = list(range(horizon.intervals))[::-1]

    def _symbols(self) -> tuple[ca.MX, ca.MX, ca.MX]:
        horizon = self.horizon
        return (
            ca.MX.sym("s0", horizon.ns),
            ca.MX.sym("plan", horizon.nu, horizon.intervals),
            ca.MX.sym("theta", sum(horizon.parts.values())),
        )

    def _repeated(self, theta: ca.MX) -> ca.MX:
        return ca.repmat(theta, 1, self.horizon.intervals)

    @cached_property
    def prepared(self) -> ca.Function:
        """(states, plan, theta) -> data of the quadratic program, whether its Hessian is exact.

        States need not be those to which the inputs lead: what is between them is part of the program.
        The Hessian holds what the motion bends where the program stays convex in the inputs with it, and else does without.
        """
        horizon, back, N = self.horizon, self.back, self.horizon.intervals
        program, ns, nu = horizon.program, horizon.ns, horizon.nu
        states = ca.MX.sym("states", ns, N + 1)
        _, plan, theta = self._symbols()
        along, given = states[:, :N], self._repeated(theta)
        A, B, H, g, G, b, ends, lam, after = _wide(horizon.linear, N).call([along, plan, self.numbers, given])
        gaps = after - states[:, 1:]
        # Costates: slopes of what remains of the cost, from the end back (the adjoint of the linearised motion).
        p, a = ca.SX.sym("p", ns), ca.SX.sym("A", ns * ns)
        slope, slopes, rows = ca.SX.sym("g", ns + nu), ca.SX.sym("G", program.rows * (ns + nu)), ca.SX.sym("l", program.rows)
        own = slope[:ns] + (ca.reshape(slopes, program.rows, ns + nu).T @ rows)[:ns]
        costate = ca.Function("kp_costate", [p, a, slope, slopes, rows], [own + ca.reshape(a, ns, ns).T @ p, p])
        _, costates = costate.mapaccum("kp_costates", N, 1)(ca.MX.zeros(ns), A[:, back], g[:, back], G[:, back], lam[:, back])
        bends = _wide(horizon.bend, N)(along, plan, self.numbers, given, ends + costates[:, back])
        exact = ca.vertcat(A, B, gaps, H + bends, g, G, b)
        pivot = program.factors(exact[:, back], ca.MX.zeros(program.rows, N))[2]
        data = ca.vertcat(A, B, gaps, H + ca.if_else(pivot > 0, bends, ca.MX.zeros(*bends.shape)), g, G, b)
        return ca.Function("kp_prepared", [states, plan, theta], [data, pivot > 0])

    @cached_property
    def tried(self) -> ca.Function:
        """(s0, states, plan, ds, du, gains, part, theta) -> states, plan, cost with a part of the correction."""
        horizon, N = self.horizon, self.horizon.intervals
        ns, nu = horizon.ns, horizon.nu
        s, s_bar, u_bar = ca.MX.sym("s", ns), ca.MX.sym("s_bar", ns), ca.MX.sym("u_bar", nu)
        ds, du, gain = ca.MX.sym("ds", ns), ca.MX.sym("du", nu), ca.MX.sym("gain", nu * ns)
        part, k, theta = ca.MX.sym("part"), ca.MX.sym("k"), ca.MX.sym("theta", sum(horizon.parts.values()))
        u = u_bar + part * du + ca.reshape(gain, nu, ns) @ (s - s_bar - part * ds)
        u = horizon.clipped(s, u, theta)
        after, cost, _ = horizon.value(s, u, k, theta)
        one = ca.Function("kp_try", [s, s_bar, u_bar, ds, du, gain, part, k, theta], [after, u, cost])
        s0, plan, theta = self._symbols()
        symbols = [ca.MX.sym("states", ns, N + 1), plan, ca.MX.sym("DS", ns, N + 1), ca.MX.sym("DU", nu, N)]
        gains, part = ca.MX.sym("gains", nu * ns, N), ca.MX.sym("part")
        states, _, changes, corrections = symbols
        found, inputs, costs = one.mapaccum("kp_tries", N, 1)(
            s0, states[:, :N], plan, changes[:, :N], corrections, gains, ca.repmat(part, 1, N), self.numbers,
            self._repeated(theta),
        )  # fmt: skip
        cost = ca.sum2(costs)
        cost = ca.if_else(cost <= TOO_MUCH, cost, TOO_MUCH)
        return ca.Function("kp_tried", [s0, *symbols, gains, part, theta], [ca.horzcat(s0, found), inputs, cost])

    @cached_property
    def feedback(self) -> ca.Function:
        """(s measured, states, plan, data, theta) -> states, plan, cost, change, whether it is one, iterations."""
        horizon, N = self.horizon, self.horizon.intervals
        measured, plan, theta = self._symbols()
        states, data = ca.MX.sym("states", horizon.ns, N + 1), ca.MX.sym("data", horizon.program.size, N)
        du, ds, _, _, gains, good, iterations = horizon.program.solution(data, horizon.softness(theta), measured - states[:, 0])
        best, kept, least = self.tried(measured, states, plan, ds, du, gains, PARTS[0], theta)
        for part in PARTS[1:]:
            found = self.tried(measured, states, plan, ds, du, gains, part, theta)
            better = found[2] < least
            best, kept = ca.if_else(better, found[0], best), ca.if_else(better, found[1], kept)
            least = ca.if_else(better, found[2], least)
        good = ca.logic_and(good, least < TOO_MUCH)
        change = ca.mmax(ca.fabs(ca.vec(kept - plan)))
        results = [best, kept, least, change, good, iterations]
        return ca.Function("kp_feedback", [measured, states, plan, data, theta], results)

    @cached_property
    def iteration(self) -> ca.Function:
        """(s measured, states, plan, theta) -> states, plan, cost, change, whether it is one, iterations, slopes B."""
        measured, plan, theta = self._symbols()
        states = ca.MX.sym("states", self.horizon.ns, self.horizon.intervals + 1)
        data, _ = self.prepared(states, plan, theta)
        results = self.feedback.call([measured, states, plan, data, theta])
        B = self.horizon.program.split(data[:, 0])["B"]
        return ca.Function("kp_iteration", [measured, states, plan, theta], [*results, B])


def _wide(function: ca.Function, times: int) -> ca.Function:
    """Return a function mapped over columns, each of its results as one column."""
    symbols = function.mx_in()
    results = [ca.vec(item) for item in function.call(symbols)]
    return ca.Function(f"{function.name()}_column", symbols, results).map(times)
