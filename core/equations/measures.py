"""Measures of a machine in the symbols of its equations, by name."""

from __future__ import annotations

from kingpost.base.errors import MechanismError, closest, listed
from kingpost.equations.equations import Equations
from kingpost.symbols.types import Symbolic


def measure_expression(equations: Equations, name: str) -> Symbolic:
    """Return a measure, the component of an output, or a joint coordinate, as an expression in t, q and p."""
    shown = {channel.name: i for i, channel in enumerate(equations.output_channels)}
    if name in shown:
        return equations.outputs[shown[name]]
    coordinates = [item.name for item in equations.position_quantities] if equations.joint_coordinates else []
    if name in coordinates:
        return equations.q[coordinates.index(name)]
    known = [*shown, *coordinates]
    raise MechanismError(
        f"'{equations.mechanism.name}' has no measure '{name}'{closest(name, known)} Measures: {listed(known)}."
    )
