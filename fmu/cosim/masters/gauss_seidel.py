"""One after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kingpost.fmu.cosim.masters.extrapolation import EXTRAPOLATED, Samples, check_order
from kingpost.fmu.cosim.masters.interface import Advance, Coupling, Master, Resumable
from kingpost.fmu.cosim.masters.jacobi import part_places


@dataclass(frozen=True)
class GaussSeidelOptions:
    """``extrapolation``: degree of the polynomial through samples that inputs follow, 0 (they hold) to 2.

    From a component that has stepped already the sample at the end of the step is known and takes part.
    """

    extrapolation: int = 0

    def __post_init__(self) -> None:
        check_order(self.extrapolation)


class GaussSeidel(Master):
    """Components step in turn, each with the newest outputs of the others.

    The order is the system's, or found from the connections: components that feed others step first. First order in the
    communication step, with smaller errors than 'jacobi'.
    """

    name = "gauss-seidel"
    Options = GaussSeidelOptions

    @property
    def moves_inputs(self) -> bool:
        return self.options.extrapolation > 0

    def begin(self, coupling: Coupling) -> Advance:
        places = dict(zip(coupling.partners, part_places(coupling), strict=True))
        turns = [(partner, coupling.transfer_to(places[partner])) for partner in coupling.order]

        def advance(t: float, h: float) -> float:
            for partner, transfer in turns:
                transfer()
                partner.send(t, h)
                partner.receive()
            return h

        if self.options.extrapolation == 0:
            return Resumable(advance, turns=[(places[partner], partner) for partner in coupling.order])
        samples = Samples(self.options.extrapolation, coupling.holds)
        ready = _known_early(coupling)

        def follow(t: float, h: float) -> float:
            present = coupling.transferred()
            samples.add(t, present)
            slopes = samples.slopes(t)
            for partner in coupling.order:
                place = places[partner]
                early = ready[place]
                own = slopes[:, place]
                if early.any():
                    known = samples.slopes(t, (t + h, coupling.transferred()))[:, place]
                    own = np.where(early, known, own)
                partner.inputs[:] = present[place]
                partner.step(t, h, np.ascontiguousarray(own))
            return h

        return Resumable(follow, samples.save, samples.restore, EXTRAPOLATED)


def _known_early(coupling: Coupling) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Say for each input whether all components that feed it step before the one that takes it."""
    turn = {partner: i for i, partner in enumerate(coupling.order)}
    giver = [partner for partner in coupling.partners for _ in range(len(partner.outputs))]
    taker = [partner for partner in coupling.partners for _ in range(len(partner.inputs))]
    early = [turn[giver[source]] < turn[who] for source, who in zip(coupling.sources, taker, strict=True)]
    for i, source, _ in coupling.further:
        early[i] = early[i] and turn[giver[source]] < turn[taker[i]]
    return np.array(early, dtype=bool)
