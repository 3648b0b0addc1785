"""States beside the mechanics: those of forces, and the energies that metered ports have passed."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from kingpost.base.channels import Quantity
from kingpost.equations.equations import Equations
from kingpost.equations.parts import States
from kingpost.loads.metric import LoadMetric
from kingpost.loads.ports import port_powers
from kingpost.loads.sharing import close_loops
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.newton_euler import TreeDynamics


def with_states(assembly: Assembly, equations: Equations, metric: LoadMetric | None = None) -> Equations:
    """Return the equations with the rates of the states that stand behind the inputs in ``assembly.u``.

    The rates are found from where the bodies are and how they move, so that a formulation need not know of them.
    """
    if not assembly.states:
        return equations
    mechanism, count = assembly.mechanism, equations.constraints.count
    dynamics = TreeDynamics(assembly, count, equations.coordinates.joint_state)
    meters = [port.name for port in mechanism.ports if port.energy]
    if meters:
        close_loops(dynamics, equations, metric)
    forces = [
        dynamics.space.lower("rate", ca.densify(ca.SX(applied.loads.rates[state.name])), dynamics.space.mx)
        for applied in assembly.applied
        for state in applied.force.states(mechanism)
    ]
    rates = ca.vertcat(ca.MX(0, 1), *forces, port_powers(dynamics, meters))
    states = States(
        tuple(Quantity(state.name, state.unit) for state in assembly.states),
        ca.Function("kp_rates_of_states", dynamics.symbols, [ca.densify(rates)]),
        tuple(dynamics.externals),
    )
    return replace(equations, states=states)
