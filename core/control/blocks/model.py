"""Blocks as models that exporters and masters take: machines without bodies, whose states are those of the block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import casadi as ca

from kingpost.base.channels import Quantity
from kingpost.base.errors import ExportError, listed
from kingpost.control.blocks.description import Block, DiscreteBlock, check_block
from kingpost.control.blocks.sampling import SampledBlock, Sampling
from kingpost.control.blocks.written import write_block
from kingpost.equations.equations import Equations
from kingpost.equations.integrator import Integrator
from kingpost.equations.parts import States
from kingpost.mechanism.elements import TIME
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.values import resolve_values
from kingpost.multibody.assembly import Assembly, assembled
from kingpost.multibody.force import ForceState
from kingpost.multibody.input_layout import InputLayout
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection
from kingpost.simulation.export_model import ExportModel, SampleRows, driven_layout, export_model
from kingpost.simulation.problem import Problem, parameter_row, start_state
from kingpost.simulation.settings import DEFAULT_STEP, RunSettings
from kingpost.simulation.signals import Signals, signals_by_name

#: What is said of a block that has something to do at a bad sample.
FOLLOWED = "the last good plan is followed"


def block_model(
    block: Block | DiscreteBlock,
    step: float | None = None,
    integrator: Selection[Integrator] | None = None,
    plugins: PluginSet | None = None,
    settings: Mapping[str, float] | None = None,
    *,
    t_start: float = 0.0,
    t_end: float | None = None,
    drive: Signals | None = None,
) -> ExportModel:
    """Return a block as a model that exporters take.

    ``step`` (default 0.001 s) and ``integrator`` (default rk4) are for states with rates; a block with memory has its sample
    time. Inputs in ``drive`` follow a trajectory, history or file inside of it.
    """
    plugins = plugins or PluginSet()
    check_block(block)
    sampled = SampledBlock(block) if isinstance(block, DiscreteBlock) else None
    if isinstance(block, DiscreteBlock):
        if integrator is not None or (step is not None and step != block.sample_time):
            raise ExportError(
                f"block '{block.name}' works at sample times, {block.sample_time:g} s apart; it takes no integrator and no "
                "other step"
            )
        step = block.sample_time
    step = DEFAULT_STEP if step is None else step
    states = block.states if isinstance(block, Block) else SampledBlock(block).states
    mechanism = Mechanism(block.name, (), (), parameters=block.parameters, inputs=block.inputs, description=block.description)
    own = tuple(ForceState(state.name, state.unit, state.start) for state in states)
    assembly = assembled(mechanism, {}, own)
    values = resolve_values(mechanism, settings or {}, [state.name for state in states if state.shown])
    layout, u0 = driven_layout(mechanism, values, signals_by_name(mechanism, drive, plugins), t_start, plugins)
    assembly = assembly.with_moving_inputs(layout) if layout.moving else assembly
    if sampled is not None and layout.driven:
        raise ExportError(
            f"block '{block.name}' takes samples of its inputs, so that {listed(layout.driven)} cannot follow a path inside of "
            "it; feed them from a component of their own"
        )
    deriving = partial(_continuous, block, mechanism) if isinstance(block, Block) else None
    equations = _sampled(sampled, mechanism) if deriving is None else deriving(assembly)
    chosen = Sampling(sampled) if sampled is not None else "rk4" if integrator is None else integrator
    how = RunSettings(step=step, integrator=chosen, t_start=t_start, t_end=t_end).selected(plugins)
    assert isinstance(how.integrator, Integrator)
    problem = Problem(
        mechanism=mechanism,
        assembly=assembly,
        equations=equations,
        integrator=how.integrator,
        step=step,
        t_start=t_start,
        values=values,
        x0=start_state(assembly, equations, values),
        u0=u0,
        p=parameter_row(mechanism, values),
        how=how,
        plugins=plugins,
        given=dict(settings or {}),
        deriving=deriving,
    )
    rows = None
    if sampled is not None:
        hidden = frozenset(state.name for state in states if not state.shown)
        rows = SampleRows(sampled.refused, sampled.failed, sampled.bad, sampled.origin, hidden)
        if sampled.block.fallback is not None:
            rows = replace(rows, otherwise=FOLLOWED)
        problem.x0[sampled.origin] = t_start
    return export_model(problem, step if sampled is not None else None, rows=rows, written=lambda: write_block(block))


def _continuous(block: Block, mechanism: Mechanism, assembly: Assembly) -> Equations:
    """Return the equations of a machine without coordinates that has the states of the block."""
    body, layout = block.function, assembly.layout or InputLayout(tuple(signal.name for signal in mechanism.inputs))
    # Long tables of samples need functions that search.
    kind = ca.MX if layout.driven else _kind(body)
    t, z, p = (kind.sym(name, body.numel_in(k)) for k, name in ((0, "t"), (1, "x"), (3, "p")))
    u = kind.sym("u", layout.size)
    scope = {TIME: t, **{parameter.name: p[i] for i, parameter in enumerate(mechanism.parameters)}}
    given = [
        layout.driven[name].value(t, scope) if name in layout.driven else layout.value(name, t, u, scope)
        for name in layout.names
    ]
    rates, values = body.call([t, z, ca.vertcat(kind(0, 1), *given), p])
    return _equations(mechanism, t, z, u, p, rates, values, block.states, block.outputs)


def _sampled(block: SampledBlock | None, mechanism: Mechanism) -> Equations:
    """Return the equations of a machine whose states have no rates; its integrator takes the samples."""
    assert block is not None
    outputs = block.outputs()
    t, z, u, p = (ca.MX.sym(name, outputs.numel_in(k)) for k, name in enumerate("txup"))
    values = outputs(t, z, u, p)
    return _equations(mechanism, t, z, u, p, ca.MX.zeros(z.numel()), values, block.states, block.block.outputs)


def _equations(
    mechanism: Mechanism, t: Any, z: Any, u: Any, p: Any, rates: Any, values: Any, states: Any, outputs: Any
) -> Equations:
    kind = type(t)
    none, empty = kind(0, 1), kind(0, 0)
    # One symbol for both, as everywhere: what acts from outside.
    acting = kind.sym("acting", u.numel() + z.numel())
    inner = [t, acting[u.numel() :, :], acting[: u.numel(), :], p]
    function = ca.Function("kp_block_parts", [t, z, u, p], [ca.densify(rates), ca.densify(values)])
    rates, values = function.call(inner)
    return Equations(
        mechanism=mechanism,
        formulation="block",
        t=t,
        q=none,
        v=none,
        u=acting,
        p=p,
        N=empty,
        M=empty,
        f=none,
        kinetic=None,
        potential=None,
        outputs=values,
        output_channels=tuple(outputs),
        vdot=none,
        states=States(
            tuple(Quantity(state.name, state.unit) for state in states),
            ca.Function("kp_rates_of_states", [t, none, none, none, none, acting, p], [rates]),
        ),
    )


def _kind(function: ca.Function) -> Any:
    return ca.SX if function.is_a("SXFunction") else ca.MX
