"""The recursion over subsystems in numbers: what each hands on is condensed to the body that it hangs from.

Of Mb and hb of a subsystem (see :mod:`.assembling`) the parts along its own speeds are eliminated as soon as all that it
carries is known. What is left is 6 x 6: the inertia and the bias wrench that its hub feels, in trees those of articulated
bodies. So each node costs its own size, and subsystems that are alike share their functions. Closed loops are solved where all
of their sides have met, on the complement of their constraints, and are handed on in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from kingpost.multibody.assembly import Assembly
from kingpost.multibody.links import LinkFunctions, pack_symmetric, unpack_symmetric
from kingpost.plugins.formulations.modular.loops import Loop
from kingpost.plugins.formulations.modular.nodes import Node
from kingpost.plugins.formulations.passes import BLOCK, Block, Carried, TreePasses, Vectors, freedom, motion_size, taken
from kingpost.symbols.projection import solve_on_complement

#: Loops of up to this many speeds become straight-line code; longer code takes a C compiler too long.
STRAIGHT = 24
#: Rows whose ratio of pivots (see :class:`.OnComplement`) is less than this depend on each other: half of all digits are lost.
DEPENDENT = 1e-8


class NodePasses(TreePasses):
    """Passes over the nodes of a tree of subsystems.

    ``A`` and ``drift`` are the constraints of all closures at the level of accelerations, A vdot + drift = 0, in the symbols t,
    q, v, u, p of :attr:`space`, as functions of these.
    """

    def __init__(self, assembly: Assembly, root: Node, loops: Sequence[Loop], closing: ca.Function | None = None) -> None:
        self._node_of = {body: node.name for node in root.walk() for body in node.bodies}
        self._loops = {body: k for k, loop in enumerate(loops) for body in loop.bodies}
        super().__init__(assembly)
        rows = [self.space.symbols[name] for name in "tqvup"]
        n = self.space.v.numel()
        self.A, self.drift = (ca.MX(0, n), ca.MX(0, 1)) if closing is None else closing.call(rows)
        self._rows = [set(ca.DM(self.A[i, :].sparsity(), 1).T.sparsity().row()) for i in range(self.A.shape[0])]

    def divided(self, links: list[LinkFunctions]) -> list[list[LinkFunctions]]:
        """Return loops, each in one piece, and what is left of each node, in connected pieces."""
        pieces: dict[object, list[LinkFunctions]] = {}
        key: dict[str, object] = {}
        for link in links:
            body, parent = link.joint.child, link.joint.parent
            if body in self._loops:
                key[body] = self._loops[body]
            else:
                together = parent in key and parent not in self._loops and self._node_of[parent] == self._node_of[body]
                key[body] = key[parent] if together else body
            pieces.setdefault(key[body], []).append(link)
        found = []
        for name, piece in pieces.items():
            size = len(piece) if isinstance(name, int) else BLOCK
            found += [piece[i : i + size] for i in range(0, len(piece), size)]
        return found

    def _in_loop(self, block: Block) -> bool:
        return next(iter(block.links)) in self._loops

    def _gather(self, block: Block, motion: ca.MX, further: Vectors) -> ca.MX:
        if not self._in_loop(block):
            return super()._gather(block, motion, further)
        inputs, read = self._carried(block, motion, further)
        n, count = len(block.v_rows), len(inputs)
        held = [i for i, columns in enumerate(self._rows) if columns & set(block.v_rows)]
        inputs += [self.A[held, block.v_rows], self.drift[held, :]] if held else [ca.MX(0, n), ca.MX(0, 1)]
        inputs += [] if self.rotors is None else [self.rotors[block.v_rows, block.v_rows]]

        def build(inputs: list[ca.MX]) -> list[ca.MX]:
            own, (B, d, *rotors) = read(inputs), inputs[count:]
            whole = _Condensed(block, own)
            M = whole.M if not rotors else whole.M + rotors[0]
            right = ca.horzcat(whole.h, -whole.M_hub) if block.outside else whole.h
            levels = ca.horzcat(d, ca.MX(d.shape[0], 6)) if block.outside else d
            solution, margin = _complement(n, right.shape[1], B.shape[0])(M, right, B, levels)
            solution = ca.if_else(margin > DEPENDENT, solution, ca.MX.nan(*solution.shape))
            if not block.outside:
                return [ca.vec(solution)]
            inertia = whole.I_hub + whole.M_hub.T @ solution[:, 1:]
            return [ca.vec(solution), ca.vertcat(pack_symmetric(inertia), whole.p_hub + whole.M_hub.T @ solution[:, 0])]

        solution, *onward = self._outlined("close", inputs, build, straight=n <= STRAIGHT)
        for parent, sums in zip(block.outside, onward, strict=True):
            further[parent] = further[parent] + sums if parent in further else sums
        return solution

    def _accelerate(self, block: Block, motion: ca.MX, gathered: ca.MX, a: Vectors, vdot: Vectors) -> None:
        if not self._in_loop(block):
            super()._accelerate(block, motion, gathered, a, vdot)
            return
        n, columns = len(block.v_rows), 7 if block.outside else 1

        def build(inputs: list[ca.MX]) -> list[ca.MX]:
            p, q_block, motions, solved = inputs[:4]
            solution = ca.reshape(solved, n, columns)
            rates = solution[:, 0] if not block.outside else solution[:, 0] + solution[:, 1:] @ inputs[4]
            q = block.per_link(q_block, lambda link: len(link.joint.positions))
            own, local = block.per_link(motions, motion_size), dict(zip(block.outside, inputs[4:], strict=True))
            for (body, link), rate in zip(block.links.items(), block.per_link(rates, freedom).values(), strict=True):
                x, c = own[body][:-12, :], own[body][-12:-6, :]
                local[body] = link.carry(x, q[body], p, local.get(link.joint.parent, ca.MX.zeros(6)), rate) + c
            return [rates, ca.vertcat(*(local[body] for body in block.links))]

        known = [self._p, taken(self.space.mx["q"], block.q_rows), motion, gathered, *(a[parent] for parent in block.outside)]
        rates, accelerations = self._outlined("follow", known, build)
        vdot |= block.per_link(rates, freedom)
        a |= block.per_link(accelerations, lambda link: 6)


class _Condensed:
    """A loop as a part of the machine: -M vdot - M_hub a_hub + h = 0, and the wrench that its hub feels."""

    def __init__(self, block: Block, own: Carried) -> None:
        self.block, links = block, block.links
        sizes = {body: freedom(link) for body, link in links.items()}
        n, first, rows = sum(sizes.values()), 0, {}
        for body, size in sizes.items():
            rows[body] = slice(first, first + size)
            first += size
        V, S = {}, {}
        for body, link in links.items():
            still, rest = ca.MX.zeros(6), ca.MX.zeros(sizes[body])
            place = own.x[body], own.q[body], own.p
            V[body] = ca.horzcat(*(link.carry(*place, unit, rest) for unit in ca.horzsplit(ca.MX(ca.DM.eye(6)))))
            along = ca.horzsplit(ca.MX(ca.DM.eye(sizes[body]))) if sizes[body] else []
            S[body] = ca.horzcat(ca.MX(6, 0), *(link.carry(*place, still, unit) for unit in along))
        inertia = {body: unpack_symmetric(own.inertia[body]) for body in links}
        wrench: Vectors = {}
        bias: Vectors = {}
        for body, link in links.items():
            bias[body] = own.c[body] + (V[body] @ bias[link.joint.parent] if link.joint.parent in bias else 0)
            wrench[body] = own.wrench[body] + inertia[body] @ bias[body]
        M, self.M_hub = ca.MX.zeros(n, n), ca.MX.zeros(n, 6)
        h = ca.MX.zeros(n)
        self.I_hub, self.p_hub = ca.MX.zeros(6, 6), ca.MX.zeros(6)
        for body, link in reversed(links.items()):
            parent = link.joint.parent
            if sizes[body]:
                h[rows[body]] = own.tau[body] - S[body].T @ wrench[body]
                felt, at = inertia[body] @ S[body], body
                M[rows[body], rows[body]] = S[body].T @ felt
                while links[at].joint.parent in links:
                    felt, at = V[at].T @ felt, links[at].joint.parent
                    if sizes[at]:
                        M[rows[at], rows[body]] = S[at].T @ felt
                        M[rows[body], rows[at]] = felt.T @ S[at]
                self.M_hub[rows[body], :] = felt.T @ V[at]
            onward = V[body].T @ inertia[body] @ V[body], V[body].T @ wrench[body]
            if parent in links:
                inertia[parent], wrench[parent] = inertia[parent] + onward[0], wrench[parent] + onward[1]
            else:
                self.I_hub, self.p_hub = self.I_hub + onward[0], self.p_hub + onward[1]
        self.M, self.h = M, h


def _complement(n: int, columns: int, rows: int) -> ca.Function:
    """Return the function (M, f, B, d) -> solution on the complement of B, and its margin."""
    kind: Any = ca.SX if n <= STRAIGHT else ca.MX
    M, f, B, d = kind.sym("M", n, n), kind.sym("f", n, columns), kind.sym("B", rows, n), kind.sym("d", rows, columns)
    found = solve_on_complement(M, f, B, d)
    return ca.Function("on_complement", [M, f, B, d], [ca.densify(found.y), found.margin])
