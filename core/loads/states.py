"""States beside the mechanics: those of forces, and the energies that metered ports have passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

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
    # All states of a force at once, since most of what their rates need is the same.
    forces = [
        _lowered(dynamics, "rate", [applied.loads.rates[state.name] for state in applied.force.states(mechanism)])
        for applied in assembly.applied
    ]
    rates = ca.vertcat(ca.MX(0, 1), *forces, port_powers(dynamics, meters))
    states = States(
        tuple(Quantity(state.name, state.unit) for state in assembly.states),
        ca.Function("kp_rates_of_states", dynamics.symbols, [ca.densify(rates)]),
        tuple(dynamics.externals),
        _corrections(dynamics),
    )
    return replace(equations, states=states)


def _lowered(dynamics: TreeDynamics, name: str, values: Sequence[Any]) -> ca.MX:
    """Return what a force gives for each of its states, in the symbols of ``dynamics``."""
    column = ca.densify(ca.vertcat(ca.SX(0, 1), *(ca.SX(value) for value in values)))
    return dynamics.space.lower(name, column, dynamics.space.mx) if column.numel() else ca.MX(0, 1)


def _corrections(dynamics: TreeDynamics) -> ca.Function | None:
    """Return the function (t, q, v, u, p) -> changes of all states that mend what forces say must hold between theirs."""
    assembly = dynamics.assembly
    if not any(applied.loads.corrections for applied in assembly.applied):
        return None
    changes = [
        _lowered(
            dynamics,
            "correction",
            [applied.loads.corrections.get(state.name, 0.0) for state in applied.force.states(assembly.mechanism)],
        )
        for applied in assembly.applied
    ]
    found = ca.vertcat(*changes)
    metered = ca.MX(len(assembly.states) - found.numel(), 1)
    given = [dynamics.t, dynamics.q, dynamics.v, dynamics.u, dynamics.p]
    return ca.Function("kp_corrections_of_states", given, [ca.densify(ca.vertcat(found, metered))])
