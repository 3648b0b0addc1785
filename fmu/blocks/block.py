"""Signal blocks, such as controllers, as FMUs: states, inputs and outputs without a machine, exported like one.

controller = pi_controller()
export_block(controller, Path("controller.fmu"))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import casadi as ca

from kingpost.base.channels import Channel, Quantity
from kingpost.base.errors import ExportError
from kingpost.base.units import check_unit
from kingpost.equations.equations import Equations
from kingpost.equations.integrator import Integrator
from kingpost.equations.parts import States
from kingpost.mechanism.elements import Input, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.values import resolve_values
from kingpost.multibody.assembly import Assembly, assembled
from kingpost.multibody.force import ForceState
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.simulation.export_model import ExportModel, driven_layout, export_model
from kingpost.simulation.exporter import Exported, Exporter, ExportSelection
from kingpost.simulation.problem import Problem, parameter_row, start_state
from kingpost.simulation.settings import RunSettings
from kingpost.simulation.signals import Signals, signals_by_name

#: Symbols of a block by name: parameters, inputs, states, and the time ``t``.
Symbols = Mapping[str, ca.SX]


@dataclass(frozen=True)
class State:
    """A state of a block and its start value."""

    name: str
    unit: str
    start: float = 0.0


@dataclass(frozen=True, eq=False)
class Block:
    """x' = rates(symbols), y = values(symbols), in CasADi operations; each returns one expression for each state or output.

    >>> integrator = Block("integrator", (Input("u", "1"),), (Channel("y", "1"),), (State("x", "1"),),
    ...                    rates=lambda s: [s["u"]], values=lambda s: [s["x"]])
    """

    name: str
    inputs: Sequence[Input]
    outputs: Sequence[Channel]
    states: Sequence[State] = ()
    parameters: Sequence[Parameter] = ()
    rates: Callable[[Symbols], Sequence[Any]] = lambda symbols: []
    values: Callable[[Symbols], Sequence[Any]] = lambda symbols: []
    description: str = ""


def pi_controller(name: str = "pi-controller", unit: str = "rad/s", effort: str = "N.m") -> Block:
    """Return a speed controller: effort = kp e + ki (integral of e), e = target - measured, limited, without wind-up.

    ``unit`` is that of the speed, rad/s or m/s.
    """
    moved = unit.removesuffix("/s")
    kp = Parameter("kp", 1000.0, f"{effort}.s/{moved}", "proportional gain", minimum=0.0)
    ki = Parameter("ki", 500.0, f"{effort}/{moved}", "integral gain", minimum=0.0)
    limit = Parameter("limit", 1e4, effort, "largest effort", minimum=0.0)

    def wanted(s: Symbols) -> tuple[Any, Any]:
        error = s["target"] - s["measured"]
        free = s["kp"] * error + s["ki"] * s["integral"]
        return error, ca.fmax(-s["limit"], ca.fmin(s["limit"], free))

    def rates(s: Symbols) -> list[Any]:
        error, _ = wanted(s)
        free = s["kp"] * error + s["ki"] * s["integral"]
        # The integral stops where it would push further into the limit.
        return [ca.if_else(ca.logic_and(ca.fabs(free) >= s["limit"], free * error > 0), 0.0, error)]

    return Block(
        name,
        inputs=(Input("target", unit, 0.0, "speed that is wanted"), Input("measured", unit, 0.0, "speed that is there")),
        outputs=(Channel("effort", effort),),
        states=(State("integral", moved),),
        parameters=(kp, ki, limit),
        rates=rates,
        values=lambda s: [wanted(s)[1]],
        description="PI speed controller with a limit",
    )


def block_model(
    block: Block,
    step: float = 0.001,
    integrator: Selection[Integrator] | None = None,
    plugins: PluginSet | None = None,
    settings: Mapping[str, float] | None = None,
    drive: Signals | None = None,
) -> ExportModel:
    """Return a block as a model that exporters take: a machine without bodies, whose states are those of the block.

    Inputs in ``drive`` follow a trajectory, history or file inside of it.
    """
    plugins = plugins or PluginSet()
    entries: list[Any] = [*block.parameters, *block.inputs, *block.states, *block.outputs]
    names = [entry.name for entry in entries]
    if len(set(names)) < len(names):
        raise ExportError(f"block '{block.name}': two of its variables have the same name: {', '.join(sorted(names))}")
    shown: tuple[State | Channel, ...] = (*block.states, *block.outputs)
    for variable in shown:
        check_unit(f"block '{block.name}': '{variable.name}'", variable.unit)
    mechanism = Mechanism(block.name, (), (), parameters=block.parameters, inputs=block.inputs, description=block.description)
    states = tuple(ForceState(state.name, state.unit, state.start) for state in block.states)
    assembly = assembled(mechanism, {}, states)
    values = resolve_values(mechanism, settings or {}, [state.name for state in states])
    layout, u0 = driven_layout(mechanism, values, signals_by_name(mechanism, drive, plugins), 0.0, plugins)
    assembly = assembly.with_moving_inputs(layout) if layout.moving else assembly
    equations = _equations(block, assembly)
    how = RunSettings(step=step, integrator="rk4" if integrator is None else integrator).selected(plugins)
    assert isinstance(how.integrator, Integrator)
    problem = Problem(
        mechanism=mechanism,
        assembly=assembly,
        equations=equations,
        integrator=how.integrator,
        step=step,
        t_start=0.0,
        values=values,
        x0=start_state(assembly, equations, values),
        u0=u0,
        p=parameter_row(mechanism, values),
        how=how,
        plugins=plugins,
        given=dict(settings or {}),
        deriving=partial(_equations, block),
    )
    return export_model(problem)


def _equations(block: Block, assembly: Assembly) -> Equations:
    """Return the equations of a machine without coordinates that has the states of the block."""
    symbols = {**assembly.scope, **assembly.state_symbols}
    none, empty = ca.SX(0, 1), ca.SX(0, 0)
    rates = _column(block, "rates", block.rates(symbols), len(block.states))
    values = _column(block, "values", block.values(symbols), len(block.outputs))
    t, u, p = assembly.t, assembly.u, assembly.p
    return Equations(
        mechanism=assembly.mechanism,
        formulation="block",
        t=t,
        q=none,
        v=none,
        u=u,
        p=p,
        N=empty,
        M=empty,
        f=none,
        kinetic=None,
        potential=None,
        outputs=values,
        output_channels=tuple(block.outputs),
        states=States(
            tuple(Quantity(state.name, state.unit) for state in block.states),
            ca.Function("kp_rates_of_states", [t, none, none, none, none, u, p], [rates]),
        ),
    )


def _column(block: Block, what: str, given: Sequence[Any], size: int) -> ca.SX:
    if len(given) != size:
        raise ExportError(f"block '{block.name}': its {what} are {len(given)} expressions, expected {size}")
    return ca.densify(ca.vertcat(ca.SX(0, 1), *given))


def export_block(
    block: Block,
    path: Path,
    *,
    to: Selection[Exporter] = "native-fmu",
    step: float = 0.001,
    integrator: Selection[Integrator] | None = None,
    plugins: PluginSet | None = None,
) -> Exported:
    """Write a block as an FMU; ``to`` may carry options, e.g. ``"native-fmu:fmi=3"``."""
    plugins = plugins or PluginSet()
    exporter = select(plugins.of("exporters"), to)
    return exporter.export(block_model(block, step, integrator, plugins), ExportSelection(), path)
