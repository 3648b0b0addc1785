"""Recursive equations of motion: articulated bodies and recursive Newton-Euler, both O(n), also with closed loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from kingpost.base.arrays import FloatArray
from kingpost.equations.equations import Equations, output_channels
from kingpost.equations.formulation import Formulation
from kingpost.multibody.assembly import Assembly
from kingpost.plugins.formulations.loops import LoopOptions, constraints_in, loop_treatment
from kingpost.plugins.formulations.passes import TreePasses, in_straight_line
from kingpost.symbols.externals import with_externals
from kingpost.symbols.straightline import FUSED, fused


class Recursive(Formulation):
    """Articulated-body algorithm: accelerations in O(n), for machines with many links; closed loops one by one inside of it."""

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
        treated = loop_treatment(self.options, equations)
        # What has no inertia but by its closures is none of an articulated body's.
        if not assembly.mechanism.closures or tree.rotors is not None or treated.structure.augmentation is not None:
            return treated
        return replace(treated, structure=replace(treated.structure, road=LoopByLoop(tree)))


@dataclass(frozen=True, eq=False)
class LoopByLoop:
    """The accelerations and corrections of closed loops, found in the passes over the tree that they close."""

    tree: TreePasses

    def accelerations(self, equations: Equations, rate: float) -> ca.Function:
        """Return the function (t, q, v, u, p) -> vdot that keeps the constraints, with Baumgarte's terms of this rate."""
        if not equations.constraints.count:  # all of them followed from each other
            return ca.Function("kp_accelerations", self._symbols, [self.tree.accelerations()])
        return self._made("kp_accelerations", self._symbols, [self._solved(equations, rate)[0]])

    def multipliers(self, equations: Equations) -> ca.Function | None:
        """Return the function (t, q, v, u, p) -> lam."""
        if not equations.constraints.count:
            return None
        return self._made("kp_multipliers", self._symbols, [self._solved(equations, 0.0)[1]])

    def corrections(self, equations: Equations) -> tuple[ca.Function, ca.Function] | None:
        """Return the functions (t, q, v, p) -> changes of q, and of v, that mend the constraints."""
        from kingpost.plugins.formulations.closed_passes import ClosedPasses, loop_rows

        held = equations.constraints
        if not held.count:
            return None
        t, q, v, _, p = self._symbols
        symbols: Any = [equations.t, equations.q, equations.v, equations.p]
        errors = {"positions": (held.holonomic, held.phi), "speeds": (held.count, held.A @ equations.v + held.b)}
        changes = []
        for name, (count, error) in errors.items():
            wanted: Any = [ca.vec(held.A[:count, :].nz[:]), error, ca.vec(equations.N.nz[:])]
            entries, rest, N = with_externals(name, symbols, wanted, equations.externals).call([t, q, v, p])
            A = ca.MX(held.A[:count, :].sparsity(), entries)
            rows = loop_rows(equations.mechanism, A, rest, held.owners[:count])
            change = ClosedPasses(self.tree, rows, still=True).solution()[0] if count else ca.MX.zeros(equations.nv)
            changes.append(ca.MX(equations.N.sparsity(), N) @ change if name == "positions" else change)
        position, speed = changes
        return (
            self._made("kp_position_corrections", [t, q, v, p], [position]),
            self._made("kp_speed_corrections", [t, q, v, p], [speed]),
        )

    def explain(self, equations: Equations, t: float, states: Sequence[FloatArray], p: FloatArray) -> str:
        """Return nothing: there are accelerations wherever multipliers are."""
        return ""

    @property
    def _symbols(self) -> list[ca.MX]:
        return [self.tree.space.symbols[name] for name in "tqvup"]

    def _solved(self, equations: Equations, rate: float) -> tuple[ca.MX, ca.MX]:
        from kingpost.plugins.formulations.closed_passes import ClosedPasses, loop_rows  # most machines have no loops

        held = equations.constraints
        entries, rest = equations.function("closing", [ca.vec(held.A.nz[:]), equations.drift(rate)]).call(self._symbols)
        A = ca.MX(held.A.sparsity(), entries)  # as sparse as it is; functions give full matrices
        return ClosedPasses(self.tree, loop_rows(equations.mechanism, A, rest, held.owners)).solution()

    def _made(self, name: str, symbols: list[ca.MX], results: list[ca.MX]) -> ca.Function:
        """Return a function, of a small machine as straight-line code."""
        function = ca.Function(name, symbols, results)
        space = self.tree.space
        return function if space.traced or space.v.numel() > FUSED else fused(function)
