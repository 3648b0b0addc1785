"""Recursive equations of motion of trees: the articulated-body algorithm and recursive Newton-Euler, both O(n)."""

from __future__ import annotations

from typing import Any

from kingpost.equations.equations import Equations, output_channels
from kingpost.equations.formulation import Formulation
from kingpost.multibody.assembly import Assembly
from kingpost.plugins.formulations.loops import LoopOptions, constraints_in, loop_treatment
from kingpost.plugins.formulations.passes import TreePasses, in_straight_line
from kingpost.symbols.straightline import FUSED


class Recursive(Formulation):
    """Articulated-body algorithm: accelerations in O(n), for machines with many links; closed loops by multipliers."""

    name = "recursive"
    Options = LoopOptions
    load_dependent = True

    def derive(self, assembly: Assembly) -> Equations:
        tree = TreePasses(assembly)
        space = tree.space
        parts = tree.descriptor_parts()
        symbols: dict[str, Any] = dict(space.symbols)
        closed: dict[str, Any] = {}
        if not assembly.mechanism.closures and tree.rotors is None:
            closed = {"vdot": tree.accelerations()}
        else:
            # Rotors that turn with several coordinates couple joints that are no neighbours: their matrix is factorised.
            if not space.traced and len(assembly.mechanism.speeds) <= FUSED:
                symbols, parts = in_straight_line(symbols, parts)
            if assembly.mechanism.closures:
                closed = {"constraints": constraints_in(assembly, symbols)}
        equations = Equations(
            mechanism=assembly.mechanism,
            formulation=self.name,
            **symbols,
            **parts,
            **closed,
            output_channels=output_channels(assembly.mechanism, space.signals),
            traced=space.traced,
        )
        return loop_treatment(self.options, equations)
