"""Closed loops in the accelerations of the modular formulation: on the complement of their constraints, without multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import listed
from kingpost.equations.equations import Equations
from kingpost.multibody.assembly import Assembly
from kingpost.plugins.formulations.modular.loops import Loop, tied_loops
from kingpost.plugins.formulations.modular.nodes import Node
from kingpost.plugins.formulations.modular.recursion import DEPENDENT, NodePasses
from kingpost.symbols.projection import solve_on_complement


@dataclass(frozen=True, eq=False)
class StraightClosing:
    """All loops at once, in straight-line code."""

    def accelerations(self, equations: Equations, rate: float) -> ca.Function:
        """Return the function (t, q, v, u, p) -> vdot that keeps the constraints; NaN where they depend on each other."""
        held = equations.constraints
        if not held.count:
            return without_road(equations).accelerations
        found = solve_on_complement(equations.M, equations.f, held.A, equations.drift(rate))
        vdot = ca.if_else(found.margin > DEPENDENT, found.y, np.nan)
        return equations.function("kp_accelerations", [ca.densify(vdot)])

    def multipliers(self, equations: Equations) -> None:
        """There are none on this road; where they are wanted, the usual ones do."""

    def corrections(self, equations: Equations) -> None:
        """Return none: the usual ones do."""

    def explain(self, equations: Equations, t: float, states: Sequence[FloatArray], p: FloatArray) -> str:
        """Return which closures depend on each other at one of ``states``, the first that shows it; or nothing."""
        held = equations.constraints
        if not held.count:
            return ""
        jacobian = ca.Function("A", [equations.t, equations.q, equations.p], [ca.densify(held.A)])
        for x in states:
            if not np.isfinite(x).all():
                continue
            A = np.asarray(jacobian(t, equations.split(x)[0], p))
            margins = row_margins(A)
            worst = int(np.argmin(margins))
            if margins[worst] > DEPENDENT:
                continue
            rank = int((margins > DEPENDENT).sum())
            return (
                f"the closures {listed(dict.fromkeys(held.owners))} hold {rank} motions near t = {t:.6g} s instead of "
                f"{len(A)}: a row of '{held.owners[worst]}' follows from those before it there (ratio of pivots "
                f"{margins[worst]:.1e}, {DEPENDENT:.0e} is the least). The machine is at a dead centre, where its "
                "accelerations are not determined"
            )
        return ""


@dataclass(frozen=True, eq=False)
class RecursiveClosing(StraightClosing):
    """Each loop in the node where its sides meet, inside the recursion."""

    assembly: Assembly
    root: Node

    def accelerations(self, equations: Equations, rate: float) -> ca.Function:
        held = equations.constraints
        if not held.count:
            return without_road(equations).accelerations
        closing = equations.function("kp_closing", [held.A, ca.densify(equations.drift(rate))])
        passes = NodePasses(self.assembly, self.root, loops_of(self.assembly, held.A), closing)
        symbols = [passes.space.symbols[name] for name in "tqvup"]
        return ca.Function("kp_accelerations", symbols, [passes.accelerations()])


def without_road(equations: Equations) -> Equations:
    """Return the same equations, solved as they are without closures: all of their rows turned out to follow from others."""
    return replace(equations, structure=replace(equations.structure, road=None))


def loops_of(assembly: Assembly, A: ca.SX | ca.MX | None = None) -> list[Loop]:
    """Return what has to be solved in one piece: bodies whose joints are in one row of A, or turn with one rotor."""
    mechanism = assembly.mechanism
    body_of = [joint.child for joint in mechanism.joints for _ in joint.speeds]
    row = {speed.name: i for i, speed in enumerate(mechanism.speeds)}
    tied = [
        {body_of[row[name if name in row else f"{name}.rate"]] for name in rotor.ratios}
        for applied in assembly.applied
        for rotor in applied.loads.rotors
    ]
    if A is not None:
        rows, columns = A.sparsity().get_triplet()
        by_row: dict[int, set[str]] = {}
        for i, k in zip(rows, columns, strict=True):
            by_row.setdefault(i, set()).add(body_of[k])
        tied += by_row.values()
    return tied_loops(mechanism, tied)


def row_margins(A: FloatArray) -> FloatArray:
    """Return what each row is beyond all rows before it, over the longest row."""
    if len(A) > A.shape[1]:
        return np.zeros(len(A))
    margins: FloatArray = np.abs(np.diag(np.linalg.qr(A.T, mode="r"))) / np.linalg.norm(A, axis=1).max()
    return margins
