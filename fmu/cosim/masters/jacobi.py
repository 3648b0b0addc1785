"""Everybody steps at once."""

from __future__ import annotations

from dataclasses import dataclass

from kingpost.fmu.cosim.masters.extrapolation import EXTRAPOLATED, Samples, check_order
from kingpost.fmu.cosim.masters.interface import Advance, Coupling, Master, Resumable


@dataclass(frozen=True)
class JacobiOptions:
    """``extrapolation``: degree of the polynomial through past samples that inputs follow, 0 (they hold) to 2."""

    extrapolation: int = 0

    def __post_init__(self) -> None:
        check_order(self.extrapolation)


class Jacobi(Master):
    """All components step at once, with the outputs of the last communication point as inputs.

    First order in the communication step (second with extrapolation, third if components can follow inputs that change). An
    output that depends at once on an input is one step late. With extrapolation 0 it is the fixed-step algorithm of libcosim.
    """

    name = "jacobi"
    Options = JacobiOptions

    @property
    def moves_inputs(self) -> bool:
        return self.options.extrapolation > 0

    def begin(self, coupling: Coupling) -> Advance:
        partners, transfer = coupling.partners, coupling.transfer
        # Each step is sent to all before the first answer is waited for: components in processes of their own run side by side.
        senders, receivers = [partner.send for partner in partners], [partner.receive for partner in partners]

        def advance(t: float, h: float) -> float:
            transfer()
            for send in senders:
                send(t, h)
            for receive in receivers:
                receive()
            return h

        if self.options.extrapolation == 0:
            every, none = slice(0, len(coupling.inputs)), slice(0, 0)
            return Resumable(advance, turns=[(none if k else every, partner) for k, partner in enumerate(partners)])
        samples = Samples(self.options.extrapolation, coupling.holds)
        places = part_places(coupling)

        def follow(t: float, h: float) -> float:
            transfer()
            samples.add(t, coupling.inputs)
            slopes = samples.slopes(t)
            for partner, place in zip(partners, places, strict=True):
                partner.send(t, h, slopes[:, place])
            for receive in receivers:
                receive()
            return h

        return Resumable(follow, samples.save, samples.restore, EXTRAPOLATED)


def part_places(coupling: Coupling) -> list[slice]:
    """Return where the inputs of each partner are in the vector of all inputs."""
    places, first = [], 0
    for partner in coupling.partners:
        places.append(slice(first, first + len(partner.inputs)))
        first += len(partner.inputs)
    return places
