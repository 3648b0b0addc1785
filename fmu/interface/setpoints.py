"""Set-points as inputs: somebody else's controller says where drives go, instead of the model's own paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import get_type_hints

from kingpost.base.errors import ExportError
from kingpost.base.fields import fill
from kingpost.base.formulas import Expression, evaluate
from kingpost.mechanism.elements import ForceElement, Input
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.trajectories import Constant, Trajectory
from kingpost.registry.pluginset import PluginSet


def with_setpoint_inputs(mechanism: Mechanism, plugins: PluginSet, settings: Mapping[str, float] | None = None) -> Mechanism:
    """Return the mechanism with two inputs for each set-point: its value and its rate.

    They are called like the force, with ``_target`` and ``_target_rate`` added, and start at what the path of the model says
    at t = 0 with the values in ``settings``. A set-point that is an input already stays what it is.
    """
    signals = {signal.name for signal in mechanism.inputs}
    scope = {parameter.name: parameter.default for parameter in mechanism.parameters}
    scope |= {signal.name: signal.default for signal in mechanism.inputs} | {"t": 0.0}
    scope |= {name: value for name, value in (settings or {}).items() if name in scope}
    units = {coordinate.name: coordinate.unit for coordinate in mechanism.coordinates}
    inputs, forces = list(mechanism.inputs), []
    for force in mechanism.forces:
        cls = plugins.forces.get(force.kind)
        options, changed = fill(cls.Options, force.options, f"force '{force.name}'"), dict(force.options)
        hints = get_type_hints(cls.Options)
        for field in [name for name, hint in hints.items() if hint is Trajectory]:
            name = f"{force.name.replace('-', '_')}_{field}"
            unit = units.get(str(getattr(options, "coordinate", "")), "1")
            path: Trajectory = getattr(options, field)
            if isinstance(path, Constant) and isinstance(path.level, Expression) and path.level.names & signals:
                continue
            if isinstance(path, Constant):
                value, rate = float(evaluate(path.level, scope)), 0.0
            else:
                value, rate = (float(path.value(0.0, scope, order)) for order in (0, 1))
            inputs.append(Input(name, unit, value, f"set-point of {force.name}"))
            inputs.append(Input(f"{name}_rate", f"{unit}/s", rate, f"rate of the set-point of {force.name}"))
            changed[field] = Constant(Expression(name), Expression(f"{name}_rate"))
        forces.append(ForceElement(force.kind, force.name, **changed))
    if len(inputs) == len(mechanism.inputs):
        raise ExportError(
            f"'{mechanism.name}' has no force with a set-point that is not an input already; there is nothing to make inputs of"
        )
    return replace(mechanism, inputs=tuple(inputs), forces=tuple(forces))
