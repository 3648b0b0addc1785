"""Signal blocks, such as controllers, as FMUs: states, inputs and outputs without a machine, exported like one.

controller = pi_controller()
export_block(controller, Path("controller.fmu"))
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca

from kingpost.base.channels import Channel
from kingpost.control.blocks import Block, DiscreteBlock, State, Symbols, block_model
from kingpost.equations.integrator import Integrator
from kingpost.mechanism.elements import Input, Parameter
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.simulation.exporter import Exported, Exporter, ExportSelection

__all__ = ["Block", "DiscreteBlock", "State", "block_model", "export_block", "pi_controller"]


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


def export_block(
    block: Block | DiscreteBlock,
    path: Path,
    *,
    to: Selection[Exporter] = "native-fmu",
    step: float | None = None,
    integrator: Selection[Integrator] | None = None,
    plugins: PluginSet | None = None,
) -> Exported:
    """Write a block as an FMU; ``to`` may carry options, e.g. ``"native-fmu:fmi=3"``."""
    plugins = plugins or PluginSet()
    exporter = select(plugins.of("exporters"), to)
    return exporter.export(block_model(block, step, integrator, plugins), ExportSelection(), path)
