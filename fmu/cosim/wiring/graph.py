"""Who feeds whom: the order in which components can take turns, layers for a picture, and outputs that wait for each other."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kingpost.fmu.cosim.components.described import Described
from kingpost.fmu.cosim.wiring.wires import Wire

N = TypeVar("N", bound=Hashable)


@dataclass(frozen=True)
class Loop:
    """Outputs that depend on each other at once, as a chain of names; whether all its members say so themselves."""

    chain: tuple[str, ...]
    certain: bool
    #: Components that do not say what their outputs depend on.
    silent: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = " -> ".join(self.chain)
        if not self.certain:
            text += f" (possible: {', '.join(self.silent)} does not say what its outputs depend on)"
        return text


def strong_components(nodes: Iterable[N], following: Mapping[N, Sequence[N]]) -> list[list[N]]:
    """Return the strongly connected components of a graph (Tarjan), those that feed others first."""
    index: dict[N, int] = {}
    low: dict[N, int] = {}
    stack: list[N] = []
    found: list[list[N]] = []
    for root in nodes:
        if root in index:
            continue
        work: list[tuple[N, int]] = [(root, 0)]
        while work:
            node, place = work.pop()
            if place == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
            successors = following.get(node, ())
            for i in range(place, len(successors)):
                successor = successors[i]
                if successor not in index:
                    work += [(node, i + 1), (successor, 0)]
                    break
                if successor in stack:
                    low[node] = min(low[node], index[successor])
            else:
                if low[node] == index[node]:
                    members = stack[stack.index(node) :]
                    del stack[len(stack) - len(members) :]
                    found.append(members)
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
    return found[::-1]


def stepping_order(names: Sequence[str], wires: Sequence[Wire]) -> tuple[str, ...]:
    """Return an order in which components that feed others step first; within a circle, the order of the description."""
    feeds = {name: sorted({wire.target for wire in wires if wire.source == name}, key=names.index) for name in names}
    groups = strong_components(names, feeds)
    return tuple(name for group in groups for name in sorted(group, key=names.index))


def layers(names: Sequence[str], wires: Sequence[Wire]) -> list[list[str]]:
    """Return components in layers: as far from the left as the longest way that leads to them, circles broken by the order."""
    order = stepping_order(names, wires)
    depth = dict.fromkeys(names, 0)
    for name in order:
        sources = {wire.source for wire in wires if wire.target == name and order.index(wire.source) < order.index(name)}
        depth[name] = max((depth[source] + 1 for source in sources), default=0)
    return [[name for name in names if depth[name] == level] for level in range(max(depth.values()) + 1)]


def algebraic_loops(components: Mapping[str, Described], wires: Sequence[Wire]) -> list[Loop]:
    """Return the circles of outputs that depend on each other without any time passing, one for each set of them."""
    following: dict[str, list[str]] = {}
    silent: set[tuple[str, str]] = set()
    for wire in wires:
        output, entry = f"{wire.source}.{wire.output}", f"{wire.target}.{wire.input}"
        following.setdefault(output, []).append(entry)
    fed = {(wire.target, wire.input) for wire in wires}
    for name, output in dict.fromkeys((wire.source, wire.output) for wire in wires):
        said = components[name].feedthrough(output)
        inputs = [entry for target, entry in fed if target == name and (said is None or entry in said)]
        for entry in sorted(inputs):
            following.setdefault(f"{name}.{entry}", []).append(f"{name}.{output}")
            if said is None:
                silent.add((f"{name}.{entry}", f"{name}.{output}"))
    loops = []
    for group in strong_components(following, following):
        if len(group) < 2:
            continue
        chain = _circle(group, following)
        quiet = [pair for pair in itertools.pairwise(chain) if pair in silent]
        loops.append(Loop(chain, not quiet, tuple(dict.fromkeys(f"'{pair[0].partition('.')[0]}'" for pair in quiet))))
    return loops


def _circle(group: Sequence[str], following: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return a shortest closed way through the first member of a strongly connected group."""
    members, first = set(group), min(group)
    ways: list[tuple[str, ...]] = [(first,)]
    seen: set[str] = set()
    while ways:
        longer = []
        for way in ways:
            for successor in following.get(way[-1], ()):
                if successor == first:
                    return (*way, first)
                if successor in members and successor not in seen:
                    seen.add(successor)
                    longer.append((*way, successor))
        ways = longer
    return tuple(group)
