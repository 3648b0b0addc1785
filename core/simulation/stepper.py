"""The functions that advance a problem."""

from __future__ import annotations

import casadi as ca

from kingpost.equations.equations import Equations


def solver_functions(equations: Equations, with_jacobian: bool) -> list[ca.Function]:
    """Return what a solver needs: kp_rhs, kp_jacobian if asked for and, where there are constraints, kp_projected.

    The rates are those at the projected state, F(P(x)), so that accelerations never see an error of the constraints. This is as
    smooth as F: a solver keeps its order.
    """
    sizes = {"t": 1, "x": equations.nx, "u": equations.nu, "p": equations.np}
    t, x, u, p = symbols = [ca.MX.sym(name, size) for name, size in sizes.items()]
    state = equations.projected(t, x, p)
    if state is x:
        return [equations.rhs, *([equations.rhs_jacobian] if with_jacobian else [])]
    projected = ca.Function("kp_projected", [t, x, p], [ca.densify(equations.normalised(state))])
    # A treatment that solves takes them there by itself.
    rates = equations.rhs(t, x if equations.treatment.solves else state, u, p)
    functions = [ca.Function("kp_rhs", symbols, [rates])]
    if with_jacobian:
        functions.append(ca.Function("kp_jacobian", symbols, [ca.densify(ca.jacobian(rates, x))]))
    return [*functions, projected]
