"""What a step and a sample hand back of derivatives: their adjoints, as functions that a kernel compiles.

Everything is differentiated as it is computed: the stages of an explicit method, the projection on constraints after a step,
and of an implicit step its equations, by one linear system with the transposed Jacobian at the solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import casadi as ca

from kingpost.base.errors import SolverError, listed
from kingpost.equations.equations import Equations
from kingpost.equations.newton import STRAIGHT
from kingpost.simulation.stepper import Stepper
from kingpost.symbols.straightline import expanded

#: Of (t, x, u, p, h): nothing is asked for with respect to time and step.
_STATE_INPUTS_PARAMETERS = (False, True, True, True, False)


def adjoint_functions(stepper: Stepper, channels: Sequence[int]) -> list[ca.Function]:
    """Return the adjoints of a step and of some channels.

    ``kp_pull`` is (t, x, u, p, h, lam) -> lam' times the derivatives of the state after a step with respect to state, inputs
    and parameters, one after the other. ``kp_look`` is (t, x, u, p, weights) -> the same of the sum of weights times channels.
    """
    refuse_python(stepper.equations)
    quick = Stepper(quick_rates(stepper.equations), stepper.integrator)
    return [_adjoint("kp_pull", quick.step), _adjoint("kp_look", chosen(stepper.observe, channels))]


def refuse_python(equations: Equations) -> None:
    """Refuse forces in plain Python, whose derivatives could only be estimated."""
    if equations.python_forces:
        raise SolverError(
            f"these forces of '{equations.mechanism.name}' are plain Python: {listed(equations.python_forces)}; derivatives of "
            "their values could only be estimated. Write them with CasADi operations for gradients of a run"
        )


def chosen(observe: ca.Function, channels: Sequence[int]) -> ca.Function:
    """Return the function (t, x, u, p) -> some of the channels; what the others alone need is left out where that can be."""
    symbols = [ca.MX.sym(name, observe.numel_in(k)) for k, name in enumerate("txup")]
    some = ca.Function("kp_chosen", symbols, [observe(*symbols)[list(channels)]])
    straight = expanded(some)
    if straight is None or straight.n_nodes() > STRAIGHT:
        return some
    arguments = straight.sx_in()
    return ca.Function("kp_chosen", arguments, ca.cse(straight.call(arguments)))


def quick_rates(equations: Equations) -> Equations:
    """Return equations whose rates are straight-line code with an adjoint in which nothing is computed twice, if they can be.

    The stages of an explicit method call it, instead of each being written out, and no derivative with respect to the time is
    found; that halves what its adjoint costs.
    """
    if equations.all_externals or equations.treatment.solves:
        return equations
    straight = expanded(equations.rhs)
    if straight is None or straight.n_nodes() > STRAIGHT:
        return equations
    quick, symbols = replace(equations), straight.sx_in()
    options: Any = {
        "cse": True,
        "is_diff_in": list(_STATE_INPUTS_PARAMETERS[:4]),
        "reverse_options": {"cse": True},
        "forward_options": {"cse": True},
    }
    # The place in which the equations would keep what they derive.
    vars(quick)["rhs"] = ca.Function("kp_rhs", symbols, straight.call(symbols), ["t", "x", "u", "p"], ["xdot"], options)
    return quick


def _adjoint(name: str, function: ca.Function) -> ca.Function:
    """Return a function's arguments and weights of its result -> the derivatives with respect to x, u and p, in one vector."""
    count = function.n_in()
    symbols = [ca.MX.sym(word, function.numel_in(k)) for k, word in enumerate("txuph"[:count])]
    inner = ca.Function("kp_inner", symbols, function.call(symbols), {"is_diff_in": list(_STATE_INPUTS_PARAMETERS[:count])})
    weights = ca.MX.sym("weights", function.numel_out(0))
    value = ca.MX(function.numel_out(0), 1)  # what the function itself gives is not needed
    back = inner.reverse(1).call([*symbols, value, weights])
    return ca.Function(name, [*symbols, weights], [ca.densify(ca.vertcat(*(ca.densify(part) for part in back[1:4])))])
