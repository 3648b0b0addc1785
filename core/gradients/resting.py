"""How a state at rest depends on what holds it there."""

from __future__ import annotations

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.gradients.closing import slopes
from kingpost.gradients.targets import Directions
from kingpost.simulation.problem import Problem

#: Motions with less stiffness than this part of the largest are neutral; a machine stays where it is along them.
NEUTRAL = 1e-12


def at_rest(problem: Problem, dx: FloatArray, along: Directions) -> FloatArray:
    """Return the derivatives of a state at rest, given those of the state from which it was looked for.

    Forces, rates of states and errors of loops stay zero: 0 = f - A' lam, 0 = g, 0 = phi. Along motions that nothing holds, the
    least change is taken, in the mass metric.
    """
    equations, t, p = problem.equations, problem.t_start, problem.p
    held = equations.constraints
    q, v = equations.split(problem.x0)
    acting = equations.acting(problem.u0, problem.x0)
    lam = np.asarray(equations.multipliers(t, q, v, acting, p)).ravel() if held.count else np.zeros(0)
    function = _balance(problem)
    given = [t, q, equations.states_of(problem.x0), lam, problem.u0, p]
    nq, nv, nz = equations.nq, equations.nv, equations.nz
    parts = {1: dx[:nq], 2: dx[nq + nv :], 4: along.inputs, 5: along.parameters}
    left = slopes(function, given, parts)
    M = np.asarray(equations.mass_at(problem.x0, p))
    N = np.asarray(ca.DM(ca.Function("N", [equations.q, equations.p], [ca.densify(equations.N)])(q, p)))
    along_mass = np.linalg.inv(np.linalg.cholesky(M)).T
    unknown = nv + nz + len(lam)
    moves = {
        1: np.hstack([N @ along_mass, np.zeros((nq, nz + len(lam)))]),
        2: np.hstack([np.zeros((nz, nv)), np.eye(nz), np.zeros((nz, len(lam)))]),
        3: np.hstack([np.zeros((len(lam), nv + nz)), np.eye(len(lam))]),
    }
    change = np.linalg.lstsq(slopes(function, given, moves), -left, rcond=NEUTRAL)[0] if unknown else left
    return np.vstack([dx[:nq] + moves[1] @ change, np.zeros((nv, dx.shape[1])), dx[nq + nv :] + moves[2] @ change])


def _balance(problem: Problem) -> ca.Function:
    """Return the function (t, q, z, lam, u, p) -> forces, rates of states and errors of loops at rest."""
    equations = problem.equations
    held = equations.constraints
    sizes = (1, equations.nq, equations.nz, held.count, equations.nu, equations.np)
    t, q, z, lam, u, p = symbols = [ca.MX.sym(name, size) for name, size in zip("tqzlup", sizes, strict=True)]
    v, acting = ca.MX.zeros(equations.nv), ca.vertcat(u, z) if equations.nz else u
    (f,) = equations.function("kp_forces", [equations.f]).call([t, q, v, acting, p])
    rows = [f]
    if held.count:
        A = ca.Function("A", [equations.t, equations.q, equations.p], [ca.densify(held.A)])
        rows[0] = f - A(t, q, p).T @ lam
    rows += [equations.state_rates(t, q, v, acting, p)] if equations.nz else []
    rows += [equations.constraint_residuals(t, q, v, p)[0]] if held.count else []
    return ca.Function("balance", symbols, [ca.densify(ca.vertcat(*rows))])
