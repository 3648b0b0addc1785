"""How formulations in joint coordinates treat closed loops: what `kane` and `recursive` share."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kingpost.base.errors import MechanismError
from kingpost.equations.equations import Equations
from kingpost.equations.partition import AUTO, Partition, wanted_names
from kingpost.equations.treatment import Drift, Treatment


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


def loop_treatment(options: LoopOptions, equations: Equations) -> Equations:
    """Return the equations with the treatment of constraint errors that the options ask for."""
    if not options.independent:
        treatment = Treatment if options.projection else Drift
        return replace(equations, treatment=treatment(options.baumgarte))
    if equations.mechanism.closures:
        return replace(equations, treatment=Partition(wanted=wanted_names(equations, options.independent)))
    if options.independent == AUTO:
        return equations
    raise MechanismError(
        f"independent={options.independent}: '{equations.mechanism.name}' has no closures, so that all of its coordinates "
        "are independent"
    )
