"""A tree of subsystems put together at a state: independent variables chosen, every node complemented, accelerations found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, listed
from kingpost.modular.closing import closed, residuals, values_of
from kingpost.modular.efforts import Efforts, efforts
from kingpost.modular.labelled import Labelled
from kingpost.modular.mending import corrections
from kingpost.modular.partitions import Partition, choose, unit_rows
from kingpost.modular.recursion import Given, Node, accelerations, everyone, recursion
from kingpost.modular.subsystem import Subsystem
from kingpost.modular.system import System, build

#: How far dropped constraints may be from what the others say, for rows of unit length, in units of their right sides.
COMPATIBLE = 1e-7
#: Displacements to places near the start at which ranks are judged again.
NEARBY = 1e-3


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes in symbols (``root``) and in numbers at the start (``start``), and the functions that follow."""

    system: System
    root: Node
    start: Node
    t: float
    x: FloatArray
    u: FloatArray
    p: FloatArray

    @property
    def degrees_of_freedom(self) -> int:
        """The number of independent variables of the highest order (Def. 2.5), those that are no mechanics included."""
        return self.root.degrees_of_freedom

    @property
    def redundant(self) -> tuple[str, ...]:
        """Invariants that follow from others, and were left out."""
        return tuple(row for node in everyone(self.start) for row in node.partition.redundant)

    @property
    def margin(self) -> float:
        """The smallest margin of all nodes at the start."""
        return min(node.partition.margin for node in everyone(self.start))

    def node(self, name: str) -> Node:
        """Return a node, in symbols, by its name or path."""
        return _named(self.root, name)

    @cached_property
    def accelerations(self) -> ca.Function:
        """The function (t, x, u, p) -> variables of the highest order."""
        found = accelerations(self.root).part(self.system.q).matrix
        return ca.Function("kp_accelerations", self.system.arguments, [ca.densify(found)], ["t", "x", "u", "p"], ["q"])

    @cached_property
    def rates(self) -> ca.SX:
        """The rates of all states, in symbols (4.13)."""
        own = self.system.symbols
        found = accelerations(self.root).part(self.system.q).matrix
        rates = ca.vertcat(*(own.rates[label] for label in self.system.states))
        return ca.substitute(rates, own.column(self.system.q), ca.densify(found))

    @cached_property
    def rhs(self) -> ca.Function:
        """The function (t, x, u, p) -> xdot."""
        return ca.Function("kp_rhs", self.system.arguments, [ca.densify(self.rates)], ["t", "x", "u", "p"], ["xdot"])

    @cached_property
    def corrections(self) -> ca.Function | None:
        """The function (t, x, u, p) -> changes of x that mend errors of invariants to first order, if there are any to mend."""
        return corrections(self)

    @cached_property
    def unpulled(self) -> Tree:
        """The same tree without stabilisation: what constraint forces belong to."""
        if not self.system.pull:
            return self
        system, chosen = build(self.system.subsystem), {node.path: node.partition for node in everyone(self.start)}
        return replace(self, system=system, root=recursion(system.given, lambda given, B: chosen[given.path]))

    @cached_property
    def efforts(self) -> Efforts:
        """What each invariant exerts to be kept."""
        return efforts(self)

    def invariants(self, order: int) -> ca.Function:
        """Return the function (t, x, u, p) -> all invariants up to an order below the highest, taken at it."""
        return residuals(self.system, order)

    def start_with(self, values: Mapping[str, float]) -> FloatArray:
        """Return start values for other parameters, inputs and given states, fitted to the invariants.

        Refused where they do not close, or where the independent variables that were chosen do not determine the others.
        """
        x, u, p, held = values_of(self.system, values)
        x = closed(self.system, self.t, x, u, p, held)
        chosen = {node.path: node.partition.independent for node in everyone(self.start)}
        recursion(given_at(self.system, self.t, x, u, p), lambda given, B: choose(B, chosen[given.path], where=given.path))
        return x

    def numbers(
        self, t: float, x: FloatArray, u: FloatArray, p: FloatArray, singular: Literal["refuse", "pivot", "keep"] = "keep"
    ) -> Node:
        """Return the recursion in numbers at a state: with the independent variables of the start, or chosen again."""
        if singular == "keep":
            chosen = {node.path: node.partition for node in everyone(self.start)}
            return recursion(given_at(self.system, t, x, u, p), lambda given, B: chosen[given.path])
        return recursion(given_at(self.system, t, x, u, p), lambda given, B: _chosen(given, B, singular))


def assembled(
    subsystem: Subsystem,
    values: Mapping[str, float] | None = None,
    *,
    t: float = 0.0,
    singular: Literal["refuse", "pivot"] = "refuse",
    pull: float = 0.0,
) -> Tree:
    """Return a tree of subsystems put together.

    Start values that are not given are fitted to the invariants; there the independent variables of every node are chosen or
    judged, and invariants that follow from others are left out. ``values`` are parameters, inputs and start values by name;
    ``singular`` says whether a choice that cannot be is refused or changed; ``pull`` is Baumgarte's rate (1/s).
    """
    system = build(subsystem, pull)
    x, u, p, held = values_of(system, values)
    x = closed(system, t, x, u, p, held)
    start = recursion(given_at(system, t, x, u, p), lambda given, B: _chosen(given, B, singular))
    _refuse_incompatible(start)
    if any(node.partition.redundant for node in everyone(start)):
        _refuse_dead_centre(system, start, t, x, u, p)
    accelerations(start)  # refuses variables that nothing determines
    chosen = {node.path: node.partition for node in everyone(start)}
    root = recursion(system.given, lambda given, B: chosen[given.path])
    return Tree(system, root, start, t, x, u, p)


def _chosen(given: Given, B: Labelled, singular: Literal["refuse", "pivot"]) -> Partition:
    return choose(B, given.independent, singular=singular, where=given.path)


class _Evaluated:
    """What all nodes bring, as numbers at a state."""

    def __init__(self, system: System) -> None:
        self.given = system.given
        parts = [item.matrix for given in _all(system.given) for item in (given.A, given.b, given.M, given.g)]
        self.function = ca.Function("kp_given", system.arguments, [ca.densify(part) for part in parts])

    def __call__(self, t: float, x: FloatArray, u: FloatArray, p: FloatArray) -> Given:
        results = self.function(t, x, u, p)
        matrices = iter(results if isinstance(results, tuple | list) else [results])
        return self._filled(self.given, matrices)

    def _filled(self, given: Given, matrices: Iterator[Any]) -> Given:
        own = [Labelled(next(matrices), item.rows, item.columns) for item in (given.A, given.b, given.M, given.g)]
        children = tuple(self._filled(child, matrices) for child in given.children)
        return replace(given, A=own[0], b=own[1], M=own[2], g=own[3], children=children)


def given_at(system: System, t: float, x: FloatArray, u: FloatArray, p: FloatArray) -> Given:
    """Return what all nodes of a system bring, in numbers at a state, whether it is closed or not."""
    found = system.__dict__.get("_numbers")
    if found is None:
        found = _Evaluated(system)
        object.__setattr__(system, "_numbers", found)  # made once
    assert isinstance(found, _Evaluated)
    return found(t, x, u, p)


def _all(given: Given) -> Iterator[Given]:
    yield given
    for child in given.children:
        yield from _all(child)


def _named(root: Node, name: str) -> Node:
    nodes = everyone(root)
    found = [node for node in nodes if name in (node.path, node.given.name)]
    if len(found) != 1:
        what = "are several nodes called" if found else "is no node"
        raise MechanismError(f"there {what} '{name}'; nodes: {listed(node.path for node in nodes)}")
    return found[0]


def _refuse_incompatible(start: Node) -> None:
    """Refuse constraints that follow from others in their directions, but ask for something else."""
    for node in everyone(start):
        redundant = node.partition.redundant
        if not redundant:
            continue
        A, b = node.given.A, node.given.b
        lengths = np.linalg.norm(A.matrix, axis=1)
        lengths[lengths == 0.0] = 1.0  # of what variables keep by themselves, whatever moves
        errors = (A @ node.e + b).matrix.ravel() / lengths
        size = COMPATIBLE * (1 + np.abs(b.matrix.ravel() / lengths).max(initial=0.0) + np.abs(node.e.matrix).max(initial=0.0))
        wrong = [(row, error) for row, error in zip(A.rows, errors, strict=True) if row in redundant and not abs(error) <= size]
        if wrong:
            raise MechanismError(
                f"'{node.path}' is over-constrained: invariant '{wrong[0][0]}' holds nothing that the others do not hold, "
                f"but asks for something else (by {wrong[0][1]:.4g}). {len(A.rows)} invariants have rank {node.partition.rank} "
                f"(margin {node.partition.margin:.3g}); leave it out, or spread the misfit by least squares"
            )


def _refuse_dead_centre(system: System, start: Node, t: float, x: FloatArray, u: FloatArray, p: FloatArray) -> None:
    """Refuse a start at which constraints depend on each other for a moment only."""
    rng = np.random.default_rng(0)
    before = {node.path: node.partition.rank for node in everyone(start)}
    for _ in range(3):
        try:
            near = closed(system, t, x + NEARBY * rng.standard_normal(x.size), u, p)
        except MechanismError:
            continue
        there = recursion(given_at(system, t, near, u, p), lambda given, B: choose(B, where=given.path))
        for node in everyone(there):
            if node.partition.rank > before[node.path]:
                margin = _all_rows_margin(start, node.path)
                raise MechanismError(
                    f"'{node.path}' is at a singular configuration: its {len(node.B.rows)} invariants have rank "
                    f"{before[node.path]} there (margin {margin:.3g}) and {node.partition.rank} nearby. Start elsewhere, or in "
                    "other variables"
                )


def _all_rows_margin(start: Node, path: str) -> float:
    values = np.linalg.svd(unit_rows(_named(start, path).B).matrix, compute_uv=False)
    return float(values[-1] / values[0]) if values.size and values[0] > 0 else 0.0
