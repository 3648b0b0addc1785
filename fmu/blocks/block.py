"""Signal blocks, such as controllers, as FMUs: states, inputs and outputs without a machine, exported like one.

controller = pi_controller()
export_block(controller, Path("controller.fmu"))
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import casadi as ca
import numpy as np

from kingpost.base.channels import Channel, Quantity
from kingpost.base.errors import ExportError
from kingpost.equations.integrator import StepMap
from kingpost.mechanism.elements import Input, Parameter
from kingpost.mechanism.values import Values
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.simulation.export_model import ExportModel
from kingpost.simulation.exporter import Exported, Exporter, ExportSelection

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


class _Equations:
    """A block in the place of equations of motion: what exporters ask of them."""

    formulation = "block"
    guard = None
    guarded_joints = ()
    quaternions = ()
    all_externals = ()
    python_forces = ()
    loads = None
    initial = None
    lam = ca.SX(0, 1)
    nv = 0

    def __init__(self, block: Block) -> None:
        self.block = block
        sizes = {"x": len(block.states), "u": len(block.inputs), "p": len(block.parameters)}
        self.t = ca.SX.sym("t")
        self.x, self.u, self.p = (ca.SX.sym(name, size) for name, size in sizes.items())
        self.nq, self.nu, self.np = sizes["x"], sizes["u"], sizes["p"]
        symbols = {"t": self.t}
        for group, entries in ((self.x, block.states), (self.u, block.inputs), (self.p, block.parameters)):
            symbols |= {entry.name: group[i] for i, entry in enumerate(cast("Sequence[Any]", entries))}
        self.symbols = symbols
        self.channels = (*(Channel(state.name, state.unit) for state in block.states), *block.outputs)

    def _column(self, what: str, given: Sequence[Any], size: int) -> ca.SX:
        if len(given) != size:
            raise ExportError(f"block '{self.block.name}': its {what} are {len(given)} expressions, expected {size}")
        return ca.densify(ca.vertcat(ca.SX(0, 1), *given))

    @cached_property
    def rhs(self) -> ca.Function:
        rates = self._column("rates", self.block.rates(self.symbols), self.nq)
        return ca.Function("kp_rhs", [self.t, self.x, self.u, self.p], [rates])

    @cached_property
    def observe(self) -> ca.Function:
        values = self._column("values", self.block.values(self.symbols), len(self.block.outputs))
        return ca.Function("kp_observe", [self.t, self.x, self.u, self.p], [ca.vertcat(self.x, values)])

    def normalised(self, x: Any) -> Any:
        return x

    def projected(self, t: Any, x: Any, p: Any) -> Any:
        return x


@dataclass(frozen=True, eq=False)
class _BlockModel(ExportModel):
    """A block as exporters see it."""

    @property
    def geometry(self) -> dict[str, object]:
        return {}


def block_model(
    block: Block, step: float = 0.001, integrator: Selection[StepMap] = "rk4", plugins: PluginSet | None = None
) -> ExportModel:
    """Return a block as a model that exporters take."""
    plugins = plugins or PluginSet()
    method = select(plugins.integrators, integrator)
    entries: list[Any] = [*block.parameters, *block.inputs, *block.states, *block.outputs]
    names = [entry.name for entry in entries]
    if len(set(names)) < len(names):
        raise ExportError(f"block '{block.name}': two of its variables have the same name: {', '.join(sorted(names))}")
    plain = {"name": block.name, "variables": names, "description": block.description}
    machine = SimpleNamespace(
        name=block.name,
        description=block.description,
        parameters=tuple(block.parameters),
        inputs=tuple(block.inputs),
        joints=(
            SimpleNamespace(
                positions=tuple(Quantity(state.name, state.unit) for state in block.states),
                start_values=tuple(state.start for state in block.states),
            ),
        ),
        to_dict=lambda: plain,
        digest=lambda: hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:16],
    )
    values = Values(
        {parameter.name: parameter.default for parameter in block.parameters},
        {signal.name: signal.default for signal in block.inputs},
        {},
    )
    return _BlockModel(
        cast("Any", machine), cast("Any", _Equations(block)), method, step, 10.0, 10 * step, values,
        np.array([state.start for state in block.states]), np.array([signal.default for signal in block.inputs]),
        np.array([parameter.default for parameter in block.parameters]), {}, plugins,
    )  # fmt: skip


def export_block(
    block: Block,
    path: Path,
    *,
    to: Selection[Exporter] = "native-fmu",
    step: float = 0.001,
    integrator: Selection[StepMap] = "rk4",
    plugins: PluginSet | None = None,
) -> Exported:
    """Write a block as an FMU; ``to`` may carry options, e.g. ``"native-fmu:fmi=3"``."""
    plugins = plugins or PluginSet()
    exporter = select(plugins.exporters, to)
    return exporter.export(block_model(block, step, integrator, plugins), ExportSelection(), path)
