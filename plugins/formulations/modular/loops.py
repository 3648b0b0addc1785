"""Which bodies closed loops tie together: what has to be solved in one piece, and the body that it hangs from."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kingpost.mechanism.elements import WORLD
from kingpost.mechanism.mechanism import Mechanism


@dataclass(frozen=True)
class Loop:
    """Bodies, base first, whose joints depend on each other, and the hub that carries them all: a body, or the world."""

    bodies: tuple[str, ...]
    hub: str


def tied_loops(mechanism: Mechanism, tied: Iterable[Collection[str]]) -> list[Loop]:
    """Return the loops in which each of ``tied``, bodies whose joints depend on each other, is in one piece.

    A loop holds all bodies between its own and the nearest one that carries them all: relative motions end there. Loops that
    share a body are one.
    """
    carrier = {joint.child: joint.parent for joint in mechanism.joints}
    groups = [_filled(set(bodies), carrier) for bodies in tied if bodies]
    merged: list[set[str]] = []
    for group in groups:
        for other in [other for other in merged if other & group]:
            merged.remove(other)
            group |= other
        merged.append(group)
    order = [joint.child for joint in mechanism.tree]
    return [Loop(tuple(body for body in order if body in group), _hub(group, carrier)) for group in merged]


def _filled(bodies: set[str], carrier: dict[str, str]) -> set[str]:
    """Return the bodies with all that are between them and the nearest one that carries all of them."""
    hub = _hub(bodies, carrier)
    return {name for body in bodies for name in _carriers(body, carrier)[: _carriers(body, carrier).index(hub)]}


def _hub(bodies: Collection[str], carrier: dict[str, str]) -> str:
    """Return the nearest body that carries all of ``bodies``, or the world."""
    chains = [_carriers(body, carrier)[1:] for body in bodies]
    return next(name for name in chains[0] if all(name in chain for chain in chains[1:]))


def _carriers(body: str, carrier: dict[str, str]) -> list[str]:
    """Return a body and all that carry it, to the world."""
    names = [body]
    while names[-1] != WORLD:
        names.append(carrier[names[-1]])
    return names
