"""How formulations in joint coordinates treat closed loops: what `kane` and `recursive` share."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from kingpost.base.errors import MechanismError
from kingpost.equations.consistency import DriftingEquations
from kingpost.equations.equations import Equations
from kingpost.equations.partition import PartitionedEquations, wanted_names


@dataclass(frozen=True)
class LoopOptions:
    """Of closed loops.

    ``baumgarte``: rate in 1/s at which constraint errors are pulled back in the accelerations. ``projection``: whether they are
    taken away, after every step of a fixed-step integrator and at every evaluation of a solver. ``independent``: coordinates
    that alone are advanced, all others being found from them at every evaluation (coordinate partitioning); names with a /
    between two, or ``auto``.
    """

    baumgarte: float = 0.0
    projection: bool = True
    independent: str = ""

    def __post_init__(self) -> None:
        if self.independent and (self.baumgarte or not self.projection):
            raise MechanismError(
                f"independent={self.independent} leaves no constraint errors, so that "
                f"{'baumgarte' if self.baumgarte else 'projection=false'} means nothing with it; choose one of them"
            )


def loop_equations(options: LoopOptions, **parts: Any) -> Equations:
    """Return the equations that ``parts`` make, of the kind that the options ask for."""
    if not options.projection:
        return DriftingEquations(**parts)
    equations = Equations(**parts)
    if not options.independent:
        return equations
    if not equations.mechanism.closures:
        if options.independent == "auto":
            return equations
        raise MechanismError(
            f"independent={options.independent}: '{equations.mechanism.name}' has no closures, so that all of its coordinates "
            "are independent"
        )
    given = {item.name: getattr(equations, item.name) for item in fields(equations)}
    return replace(PartitionedEquations(**given), wanted=wanted_names(equations, options.independent))
