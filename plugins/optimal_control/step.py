"""All steps of an integrator at once."""

from __future__ import annotations

import casadi as ca
import numpy as np

from kingpost.control.optimal.problem import OptimalProblem
from kingpost.control.optimal.transcription import Grid, IntervalRule, Transcription
from kingpost.equations.equations import Equations
from kingpost.equations.integrator import StepMap
from kingpost.equations.newton import ImplicitStepMap, StatedStep, StepProblem, Unscaled

#: Intervals for which scales are found: they are near enough for any other number, and one rule does for all of them.
USUAL = 20


class Step(Transcription):
    """One step of any fixed-step integrator per interval, all of them solved at once, without Newton's method inside.

    Document 001, eq. (2.12). Implicit steps enter by their own equations: ``kane`` with ``midpoint`` is GC (eq. 3.40),
    ``directors`` with ``energy-momentum`` BEM (eq. 3.21), ``nullspace`` with ``energy-momentum`` REM (eq. 3.31).
    """

    name = "step"

    def refusal(self, problem: OptimalProblem) -> str:
        return step_refusal(self.name, problem)

    def rule(self, problem: OptimalProblem, grid: Grid) -> IntervalRule:
        equations, integrator = problem.equations, problem.posed.integrator
        assert isinstance(integrator, StepMap)
        if not isinstance(integrator, ImplicitStepMap):
            return explicit_rule(equations, integrator)
        step = integrator.problem(equations)
        if step.unscaled is not None and step.unscaled.taken is not None:
            return _direct_rule(problem, integrator, step, step.unscaled)
        if step.unscaled is not None and step.unscaled.stated is not None:
            return _stated_rule(problem, integrator, step, step.unscaled, step.unscaled.stated())
        return _general_rule(problem, integrator, step)


def step_refusal(name: str, problem: OptimalProblem) -> str:
    """Return why there are no steps to be solved at once."""
    integrator = problem.posed.integrator
    if not isinstance(integrator, StepMap):
        return f"transcription '{name}' needs a fixed-step integrator, and '{integrator.name}' chooses its own steps"
    return ""


def interval_symbols(equations: Equations, remembered: int, inner: int) -> list[ca.MX]:
    """Return symbols t, h, x0, y, u, x1 and p of an interval."""
    n = equations.nx + remembered
    sizes = {"t": 1, "h": 1, "x0": n, "y": inner, "u": equations.nu, "x1": n, "p": equations.np}
    return [ca.MX.sym(name, size) for name, size in sizes.items()]


def beginning(equations: Equations, integrator: StepMap) -> ca.Function | None:
    """Return the function (t, h, x, u, p) -> what an integrator remembers at the start."""
    if not integrator.memory(equations):
        return None
    sizes = {"t": 1, "h": 1, "x": equations.nx, "u": equations.nu, "p": equations.np}
    t, h, x, u, p = (ca.MX.sym(name, size) for name, size in sizes.items())
    memory = ca.densify(integrator.start_memory(equations, t, x, u, p, h))
    return ca.Function("kp_begin", [t, h, x, u, p], [memory])


def state_rows(equations: Equations, remembered: int) -> list[str]:
    """Return what rows that compare states say."""
    names = [f"the step of '{item.name}'" for item in equations.state_quantities]
    return names + [f"what is remembered, number {i + 1}" for i in range(remembered)]


def explicit_rule(equations: Equations, integrator: StepMap) -> IntervalRule:
    """Return the rule x1 = step(x0)."""
    extra = integrator.memory(equations)
    t, h, x0, _, u, x1, p = symbols = interval_symbols(equations, extra, 0)
    after = integrator.step(equations, t, x0, u, p, h)
    return IntervalRule(
        rows=ca.Function("kp_interval", symbols, [ca.densify(x1 - after)]),
        names=tuple(state_rows(equations, extra)),
        inner=(),
        inner_sizes=np.ones(0),
        guess=ca.Function("kp_inner", [t, h, x0, u, x1, p], [ca.MX(0, 1)]),
        begin=beginning(equations, integrator),
    )


def _sizes(problem: OptimalProblem, integrator: StepMap, step: StepProblem) -> np.ndarray:
    """Return the factors of a step at the start of the motion, as numbers, the same for every number of intervals."""
    posed = problem.posed
    h = problem.task.horizon.low / USUAL
    begin = beginning(problem.equations, integrator)
    memory = np.zeros(0) if begin is None else np.asarray(begin(posed.t_start, h, posed.x0, posed.u0, posed.p)).ravel()
    return np.asarray(step.guess(posed.t_start, np.concatenate([posed.x0, memory]), posed.u0, posed.p, h)[1]).ravel()


def _rows(unscaled: Unscaled, numbers: np.ndarray, h: ca.MX, factors: ca.MX) -> tuple[ca.MX, np.ndarray]:
    """Return what makes rows of the size of positions and speeds of the scaled ones, and the inertia in balances."""
    inertia = np.asarray(unscaled.inertia(1.0, numbers)).ravel()
    first, last = unscaled.balances
    weights = unscaled.weights(h, factors)
    divisors = np.ones(weights.numel())
    divisors[first:last] = inertia
    return 1 / (weights * divisors), inertia


def _factors(step: StepProblem, unscaled: Unscaled, numbers: np.ndarray, known: list[ca.MX]) -> ca.MX:
    """Return the factors of a step: scales as numbers, the others as they depend on its start."""
    scales = ca.MX(ca.DM(numbers[: unscaled.scales]))
    if unscaled.scales == len(numbers):
        return scales
    return ca.vertcat(scales, step.guess.call(known)[1][unscaled.scales :, :])


def _direct_rule(problem: OptimalProblem, integrator: ImplicitStepMap, step: StepProblem, unscaled: Unscaled) -> IntervalRule:
    """Return the rule of a step whose unknowns are the next state and multipliers alone."""
    equations, numbers = problem.equations, _sizes(problem, integrator, step)
    assert unscaled.taken is not None
    m, extra = equations.constraints.count, integrator.memory(equations)
    t, h, x0, y, u, x1, p = symbols = interval_symbols(equations, extra, m)
    known = [t, x0, u, p, h]
    factors = _factors(step, unscaled, numbers, known)
    # Multipliers as accelerations: of a size near one for every machine.
    size, first = numbers[0], 1 + equations.nv
    share = numbers[first : first + m]
    unknowns = unscaled.taken(x1[: equations.nx, :], y * ca.DM(share * size), x0, h, factors)
    weights, inertia = _rows(unscaled, numbers, h, factors)
    rows = step.residual(unknowns, *known, factors) * weights
    names = list(step.rows)
    if unscaled.followed:
        after = step.following(unknowns, *known, factors)
        kept = list(unscaled.followed)
        rows = ca.vertcat((x1 - after)[kept], rows)
        names = [state_rows(equations, 0)[i] for i in kept] + names
    begin, last = (len(unscaled.followed) + row for row in unscaled.balances)
    lam = ca.MX(0, 1)
    if m:
        q, v = equations.split(x0)
        lam = equations.multipliers(t, q, v, equations.acting(u, x0), p) / ca.DM(share * size)
    return IntervalRule(
        rows=ca.Function("kp_interval", symbols, [ca.densify(rows)]),
        names=tuple(names),
        inner=tuple(f"the multiplier of '{owner}'" for owner in equations.constraints.owners),
        inner_sizes=np.full(m, 10.0),
        guess=ca.Function("kp_inner", [t, h, x0, u, x1, p], [ca.densify(lam)]),
        begin=beginning(equations, integrator),
        momentum=(begin, last),
        momentum_scales=inertia,
    )


def _stated_rule(
    problem: OptimalProblem, integrator: ImplicitStepMap, step: StepProblem, unscaled: Unscaled, stated: StatedStep
) -> IntervalRule:
    """Return the rule of a step that says in the next state itself what it is, whatever its own unknowns are."""
    equations, numbers = problem.equations, _sizes(problem, integrator, step)
    m, extra = stated.rows.numel_in(1), integrator.memory(equations)
    t, h, x0, y, u, x1, p = symbols = interval_symbols(equations, extra, m)
    known = [t, x0, u, p, h]
    factors = _factors(step, unscaled, numbers, known)
    weights, inertia = _rows(unscaled, numbers, h, factors)
    first, last = unscaled.balances
    # Multipliers as accelerations: of a size near one for every machine.
    sizes = numbers[0] * numbers[1 + last - first : 1 + last - first + m]
    rows = stated.rows(x1, y * ca.DM(sizes), *known, factors)
    count = weights.numel()
    lam = ca.MX.zeros(m)
    if m and m == equations.constraints.count:
        q, v = equations.split(x0[: equations.nx, :])
        lam = equations.multipliers(t, q, v, equations.acting(u, x0[: equations.nx, :]), p) / ca.DM(sizes)
    return IntervalRule(
        rows=ca.Function("kp_interval", symbols, [ca.densify(ca.vertcat(rows[count:, :], rows[:count, :] * weights))]),
        names=(*stated.names, *step.rows),
        inner=tuple(f"multiplier {i + 1}" for i in range(m)),
        inner_sizes=np.full(m, 10.0),
        guess=ca.Function("kp_inner", [t, h, x0, u, x1, p], [ca.densify(lam)]),
        begin=beginning(equations, integrator),
        momentum=(len(stated.names) + first, len(stated.names) + last),
        momentum_scales=inertia,
    )


def _general_rule(problem: OptimalProblem, integrator: ImplicitStepMap, step: StepProblem) -> IntervalRule:
    """Return the rule of a step with unknowns of its own."""
    equations, extra = problem.equations, integrator.memory(problem.equations)
    t, h, x0, y, u, x1, p = symbols = interval_symbols(equations, extra, step.residual.numel_in(0))
    known = [t, x0, u, p, h]
    unscaled = step.unscaled
    momentum, inertia = None, None
    if unscaled is None:
        factors = step.guess.call(known)[1]
        rows = step.residual(y, *known, factors)
    else:
        numbers = _sizes(problem, integrator, step)
        factors = _factors(step, unscaled, numbers, known)
        weights, inertia = _rows(unscaled, numbers, h, factors)
        rows = step.residual(y, *known, factors) * weights
        first, last = unscaled.balances
        momentum = (equations.nx + extra + first, equations.nx + extra + last)
    after = step.following(y, *known, factors)
    return IntervalRule(
        rows=ca.Function("kp_interval", symbols, [ca.densify(ca.vertcat(x1 - after, rows))]),
        names=(*state_rows(equations, extra), *step.rows),
        inner=tuple(f"unknown {i + 1} of the step" for i in range(y.numel())),
        inner_sizes=np.ones(y.numel()),
        guess=ca.Function("kp_inner", [t, h, x0, u, x1, p], [step.guess.call(known)[0]]),
        begin=beginning(equations, integrator),
        momentum=momentum,
        momentum_scales=inertia,
    )
