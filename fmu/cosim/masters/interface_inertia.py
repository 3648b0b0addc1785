"""A machine that gives its interface inertia, and what carries it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kingpost.fmu.cosim.masters.gauss_seidel import GaussSeidel, GaussSeidelOptions
from kingpost.fmu.cosim.masters.interface import Advance, Coupling, Partner


@dataclass(frozen=True)
class InterfaceInertiaOptions(GaussSeidelOptions):
    """``extrapolation``: degree of the polynomial that wrench and inertia follow over a step, 0 (they hold) to 2."""

    extrapolation: int = 1


class InterfaceInertia(GaussSeidel):
    """Components that give an interface inertia step first; what carries them follows their wrench and inertia over the step.

    With the wrench without acceleration, w0, and the interface inertia A the carrier solves (M + A) a = f + w0: there is no
    loop of acceleration and wrench that could diverge, however heavy a machine stands on however light a carrier. Second order
    in the communication step, if the machine carries its base on by itself ('since' of a given joint).
    """

    name = "interface-inertia"
    Options = InterfaceInertiaOptions
    # Motion reaches the machine, its wrench the carrier, and the acceleration that follows the machine again.
    further_rounds = 2

    def fault_of(self, coupling: Coupling) -> str:
        if any(_gives_inertia(coupling, partner) for partner in coupling.partners):
            return ""
        return (
            "no connection carries an interface inertia, the outputs A11 ... A66 of a port on a given joint; take another "
            "master, or connect one"
        )

    def begin(self, coupling: Coupling) -> Advance:
        order = sorted(coupling.order, key=lambda partner: not _gives_inertia(coupling, partner))
        return super().begin(replace(coupling, order=tuple(order)))


def _gives_inertia(coupling: Coupling, partner: Partner) -> bool:
    return any(name.startswith(f"{partner.name}.") and name.endswith("A11") for name in coupling.output_names)
