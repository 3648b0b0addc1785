"""Functions to compile."""

import casadi as ca


def observe_function(factor: float = 2.0) -> ca.Function:
    t, x, u, p = ca.SX.sym("t"), ca.SX.sym("x", 3), ca.SX.sym("u", 1), ca.SX.sym("p", 2)
    return ca.Function("kp_observe", [t, x, u, p], [ca.vertcat(factor * x + t, u * p)])
