"""The modular formulation: a machine put together from its subsystems (document 002, theorem 2.10 and table 4.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from kingpost.equations.equations import Equations, output_channels
from kingpost.equations.formulation import Formulation
from kingpost.equations.parts import Structure
from kingpost.equations.tree_equations import tree_equations
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.tree import TreeKinematics
from kingpost.plugins.formulations.loops import LoopOptions, constraints_in, loop_treatment
from kingpost.plugins.formulations.modular.assembling import Part, assembled_part
from kingpost.plugins.formulations.modular.closing import RecursiveClosing, StraightClosing, loops_of
from kingpost.plugins.formulations.modular.leaves import leaves_of
from kingpost.plugins.formulations.modular.nodes import node_tree
from kingpost.plugins.formulations.modular.recursion import NodePasses
from kingpost.plugins.formulations.passes import in_straight_line
from kingpost.symbols.straightline import FUSED


@dataclass(frozen=True)
class ModularOptions(LoopOptions):
    """How subsystems are put together, and what becomes of errors of closed loops.

    ``mode``: ``symbolic`` writes out the matrices of every node as straight-line code; ``numeric`` recurs from node to node
    while the machine runs, with a build time that grows no faster than the number of bodies; ``auto`` takes the first for
    machines of up to 10 speeds. The rest is as in `kane`.
    """

    mode: Literal["auto", "symbolic", "numeric"] = "auto"


class Modular(Formulation):
    """Subsystems assembled level by level on the complements of what holds them together; closed loops without multipliers."""

    name = "modular"
    Options = ModularOptions
    load_dependent = True

    def derive(self, assembly: Assembly) -> Equations:
        mode = self.options.mode
        if mode == "auto":
            mode = "symbolic" if len(assembly.mechanism.speeds) <= FUSED else "numeric"
        equations = _written_out(assembly) if mode == "symbolic" else _recurring(assembly)
        return loop_treatment(self.options, equations)


def _written_out(assembly: Assembly) -> Equations:
    mechanism, kinematics = assembly.mechanism, TreeKinematics(assembly)
    leaves = leaves_of(kinematics)
    whole = assembled_part(node_tree(mechanism), leaves.bodies, kinematics.links)
    order = _in_order(whole, assembly)
    M, f = leaves.M + whole.M[order, order], leaves.f + whole.h[order, :]
    equations = tree_equations(Modular.name, kinematics, M, f, leaves.kinetic, leaves.potential)
    return replace(equations, structure=Structure(road=StraightClosing())) if mechanism.closures else equations


def _in_order(whole: Part, assembly: Assembly) -> list[int]:
    """Return the rows of z of the whole machine in the order of its speeds."""
    first, places = 0, {}
    for name, size in whole.z.items():
        places[name] = list(range(first, first + size))
        first += size
    return [row for joint in assembly.mechanism.joints if joint.speeds for row in places["joint", joint.name]]


def _recurring(assembly: Assembly) -> Equations:
    mechanism, root = assembly.mechanism, node_tree(assembly.mechanism)
    passes = NodePasses(assembly, root, loops_of(assembly))
    space, parts = passes.space, passes.descriptor_parts()
    symbols: dict[str, Any] = dict(space.symbols)
    closed: dict[str, Any] = {}
    if mechanism.closures:
        if not space.traced and len(mechanism.speeds) <= FUSED:
            symbols, parts = in_straight_line(symbols, parts)
        closed["constraints"] = constraints_in(assembly, symbols)
        closed["structure"] = Structure(road=RecursiveClosing(assembly, root))
    else:
        closed["vdot"] = passes.accelerations()
    return Equations(
        mechanism=mechanism,
        formulation=Modular.name,
        **symbols,
        **parts,
        **closed,
        output_channels=output_channels(mechanism, space.signals),
        traced=space.traced,
    )
