"""Accelerations of trees with closed loops, loop by loop, inside the articulated-body algorithm.

Closures add A' lam to the efforts and ask for A vdot = r. On its way to the base the algorithm carries what the multipliers do
along: with the wrench pA + K lam on a body, where the twist rate of the body is a,

    L lam = K' a + l,    L += w' D^-1 w,    l += w' D^-1 u + (K - U D^-1 w)' c,    w = S' K + A',    l = -r at first.

The multipliers of a loop are eliminated in the body from which its sides branch off, where they have met all of its joints:
that changes inertia and wrench of the body, and the multipliers of loops that share bodies with it and go on. Popov,
Vereshchagin and Zenkevich, Manipulyatsionnye roboty (1978); Sathya and Carpentier, Constrained articulated body dynamics
algorithms (2024).

L has entries only between loops that share bodies. As long as no body is in more than some loops, all of this is O(n).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from kingpost.mechanism.elements import WORLD
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.links import LinkFunctions, pack_symmetric
from kingpost.plugins.formulations.outlining import Outline, Part
from kingpost.plugins.formulations.passes import BLOCK, TreePasses, freedom, taken
from kingpost.symbols.straightline import solve_symmetric


@dataclass(frozen=True, eq=False)
class LoopRows:
    """Rows of constraints that belong together: A of the joints that they know, by body, and what is on the other side, -r."""

    rows: list[int]
    A: Mapping[str, ca.MX]
    rest: ca.MX
    #: The body from which the sides of the loop branch off.
    apex: str


def loop_rows(mechanism: Mechanism, A: ca.MX, rest: ca.MX, owners: Sequence[str]) -> dict[str, LoopRows]:
    """Return the rows of all closures by name."""
    first, speeds_of = 0, {}
    for joint in mechanism.joints:
        speeds_of[joint.child] = range(first, first + len(joint.speeds))
        first += len(joint.speeds)
    parents = {joint.child: joint.parent for joint in mechanism.joints}
    columns_in: dict[str, set[int]] = {}
    for i, k in zip(*A.sparsity().get_triplet(), strict=True):
        columns_in.setdefault(owners[i], set()).add(k)
    found = {}
    for name in dict.fromkeys(owners):
        rows = [i for i, owner in enumerate(owners) if owner == name]
        known = columns_in.get(name, set())
        bodies = [body for body, columns in speeds_of.items() if not known.isdisjoint(columns)]
        blocks = {body: ca.densify(A[rows, list(speeds_of[body])]) for body in bodies}
        found[name] = LoopRows(rows, blocks, rest[rows], _apex(parents, bodies))
    return found


def _apex(parents: Mapping[str, str], bodies: Iterable[str]) -> str:
    """Return the last body that is further in than all of some bodies, on the way out to each of them."""
    shared: list[str] | None = None
    for body in bodies:
        way = [body]
        while way[-1] != WORLD:
            way.append(parents[way[-1]])
        inner = way[:0:-1]
        shared = inner if shared is None else [a for a, b in zip(shared, inner, strict=False) if a == b]
    return shared[-1] if shared else WORLD


class ClosedPasses:
    """The passes over a tree and its loops, in functions that each take a few links."""

    def __init__(self, tree: TreePasses, loops: Mapping[str, LoopRows], still: bool = False) -> None:
        """``still``: at rest, and without loads."""
        self._tree, self._loops, self._still = tree, loops, still
        self._number = {name: k for k, name in enumerate(loops)}
        self._out = _depth_first(tree.links)
        self._outline = Outline(self._given(), BLOCK)
        #: Loops in the order in which they are eliminated, by the body where that is done; and those that each is tied to then.
        self._order: dict[str, list[str]] = {}
        self._tied: dict[str, list[str]] = {}
        #: Loops whose multipliers act in the joint of a body, or further out; and loops that have an entry of L with each.
        self._active: dict[str, set[str]] = {body: set() for body in (WORLD, *tree.links)}
        for name, loop in loops.items():
            for body in loop.A:
                self._active[body].add(name)
        self._beside: dict[str, set[str]] = {name: set() for name in loops}

    def solution(self) -> tuple[ca.MX, ca.MX]:
        """Return vdot and lam."""
        for body in reversed(self._out):
            self._eliminate_all(body)
            self._gather(self._tree.links[body])
        self._eliminate_all(WORLD)
        self._find_all(WORLD)
        for body in self._out:
            self._accelerate(self._tree.links[body])
            self._find_all(body)
        moving = [body for body in self._out if freedom(self._tree.links[body])]
        names = [*(f"vdot {body}" for body in moving), *(f"lam {name}" for name in self._loops)]
        found = self._outline.results(names, "loops", self._tree.space)
        vdot = {body: found.get(f"vdot {body}", ca.MX(0, 1)) for body in self._out}
        lam = ca.vertcat(ca.MX(0, 1), *(found[f"lam {name}"] for name in self._loops))
        place = {row: k for k, row in enumerate(row for loop in self._loops.values() for row in loop.rows)}
        return self._tree.in_order(vdot), taken(lam, [place[row] for row in range(len(place))])

    def _given(self) -> dict[str, ca.MX]:
        """Return what is known of the links and loops before."""
        tree = self._tree
        given = {"p": tree.space.mx["p"]}
        motions = {} if self._still else tree.motions()
        for body, link in tree.links.items():
            q_rows, v_rows = tree.space.rows(link.joint)
            given[f"q {body}"] = tree.space.mx["q"][q_rows, :]
            if not self._still:
                given[f"x {body}"], given[f"c {body}"], given[f"wrench {body}"] = motions[body]
                given[f"tau {body}"] = tree.efforts[v_rows, :]
            if body in tree.added:
                given[f"added {body}"] = tree.still_added[body] if self._still else tree.added[body]
        for name, loop in self._loops.items():
            given[f"l {name}"] = loop.rest
            given |= {f"A {name} {body}": A for body, A in loop.A.items()}
        return given

    def _gather(self, link: LinkFunctions) -> None:
        """Pass inertia, wrench and what multipliers do on to the parent of a link."""
        body, parent, n = link.joint.child, link.joint.parent, freedom(link)
        active = sorted(self._active[body], key=self._number.__getitem__)
        rows = sum(len(self._loops[name].rows) for name in active)
        part = self._outline.part(1 + rows / 6)
        p, q = part["p"], part[f"q {body}"]
        if self._still:
            part[f"x {body}"] = link.move(q, ca.SX.zeros(n), p, ca.SX.zeros(6))[0]
        x, c = part[f"x {body}"], ca.SX.zeros(6) if self._still else part[f"c {body}"]
        inertia = link.inertia(p)
        inertia += part.get(f"inertia {body}", ca.SX(21, 1))
        inertia += pack_symmetric(part[f"added {body}"]) if f"added {body}" in part else 0
        wrench = part.get(f"wrench {body}", ca.SX.zeros(6))
        tau = ca.SX.zeros(n) if self._still else part[f"tau {body}"]
        up_IA, up_pA, U, Dinv, u = link.gather(x, q, p, c, inertia, wrench, tau)
        part[f"U {body}"], part[f"Dinv {body}"], part[f"u {body}"] = U, Dinv, u
        if parent != WORLD:
            part.add(f"inertia {parent}", up_IA)
            part.add(f"wrench {parent}", up_pA)
        weights: dict[str, tuple[ca.SX, ca.SX]] = {}
        for name in active:
            K = part.get(f"K {name} {body}", ca.SX(6, len(self._loops[name].rows)))
            along, onward = ca.SX(n, K.shape[1]), K
            if n:
                along = ca.horzcat(*(link.pass_on(x, q, p, column)[0] for column in ca.horzsplit(K)))
                along += part[f"A {name} {body}"].T if body in self._loops[name].A else 0
                weighted = ca.reshape(Dinv, n, n) @ along
                onward = K - ca.reshape(U, 6, n) @ weighted
                part[f"w {name} {body}"] = along
                weights[name] = along, weighted
                part.add(f"l {name}", weighted.T @ u)
            part.add(f"l {name}", onward.T @ c)
            if parent != WORLD:
                up = ca.horzcat(*(link.pass_on(x, q, p, column)[1] for column in ca.horzsplit(ca.densify(onward))))
                part.add(f"K {name} {parent}", up)
                self._active[parent].add(name)
        for name, (along, _) in weights.items():
            for other, (_, weighted) in weights.items():
                if self._number[other] >= self._number[name]:
                    self._add_to_L(part, name, other, along.T @ weighted)

    def _eliminate_all(self, body: str) -> None:
        """Eliminate the multipliers of the loops that branch off from a body, first those tied to the fewest others."""
        left = [name for name, loop in self._loops.items() if loop.apex == body]
        self._order[body] = []
        while left:
            name = min(left, key=lambda item: sum(len(self._loops[other].rows) for other in self._beside[item]))
            left.remove(name)
            self._eliminate(name, body)
            self._order[body].append(name)

    def _eliminate(self, name: str, body: str) -> None:
        """Put what the multipliers of a loop are in the place of them, which meanwhile know all of its joints."""
        m = len(self._loops[name].rows)
        others = self._tied[name] = sorted(self._beside.pop(name), key=self._number.__getitem__)
        for other in others:
            self._beside[other] = (self._beside[other] | set(others)) - {name, other}
        part = self._outline.part((m + sum(len(self._loops[other].rows) for other in others)) / 6)
        own = part.pop(_entry(self._number, name, name))
        rest = part[f"l {name}"]
        beside = {other: self._taken_from_L(part, name, other) for other in others}
        self._active[body].discard(name)
        K = part.pop(f"K {name} {body}") if f"K {name} {body}" in part else None
        columns = [rest, *beside.values(), *([] if K is None else [K.T])]
        solved = solve_symmetric(ca.densify(own), ca.densify(ca.horzcat(*columns)))
        at_rest, *tied = ca.horzsplit(solved, _ends(columns))
        part[f"rest {name}"] = at_rest
        along = tied.pop() if K is not None else None
        if K is not None and along is not None:
            part[f"along {name}"] = along
            part.add(f"inertia {body}", pack_symmetric(K @ along))
            part.add(f"wrench {body}", K @ at_rest)
        for k, (other, entry) in enumerate(beside.items()):
            part[f"tied {name} {other}"] = tied[k]
            part.add(f"l {other}", -entry.T @ at_rest)
            if K is not None:
                part.add(f"K {other} {body}", -K @ tied[k])
                self._active[body].add(other)
            for further, weighted in zip(others[k:], tied[k:], strict=True):
                self._add_to_L(part, other, further, -entry.T @ weighted)

    def _add_to_L(self, part: Part, name: str, other: str, value: ca.SX) -> None:
        """Add to the entry of two loops, of which the first is not after the second."""
        part.add(_entry(self._number, name, other), value)
        if name != other:
            self._beside[name].add(other)
            self._beside[other].add(name)

    def _taken_from_L(self, part: Part, name: str, other: str) -> ca.SX:
        """Return the entry of two loops, rows of the first, and forget it."""
        entry = part.pop(_entry(self._number, name, other))
        return entry if self._number[name] < self._number[other] else entry.T

    def _find_all(self, body: str) -> None:
        """Find the multipliers of the loops that branch off from a body, whose acceleration is known."""
        for name in reversed(self._order[body]):
            part = self._outline.part((1 + len(self._tied[name])) / 6)
            lam = part[f"rest {name}"]
            if f"along {name}" in part:
                lam = lam + part[f"along {name}"] @ part[f"a {body}"]
            for other in self._tied[name]:
                lam = lam - part[f"tied {name} {other}"] @ part[f"lam {other}"]
            part[f"lam {name}"] = lam

    def _accelerate(self, link: LinkFunctions) -> None:
        """Find the accelerations of a link from those of its parent and the multipliers."""
        body, parent, n = link.joint.child, link.joint.parent, freedom(link)
        felt = sorted(self._active[body], key=self._number.__getitem__) if n else []
        part = self._outline.part((2 + len(felt)) / 6)
        u = part[f"u {body}"]
        for name in felt:
            u = u - part[f"w {name} {body}"] @ part[f"lam {name}"]
        c = ca.SX.zeros(6) if self._still else part[f"c {body}"]
        a = ca.SX.zeros(6) if parent == WORLD else part[f"a {parent}"]
        known = part[f"x {body}"], part[f"q {body}"], part["p"], c, a
        vdot, part[f"a {body}"] = link.accelerate(*known, part[f"U {body}"], part[f"Dinv {body}"], u)
        if n:
            part[f"vdot {body}"] = vdot


def _entry(number: Mapping[str, int], name: str, other: str) -> str:
    first, second = sorted((name, other), key=number.__getitem__)
    return f"L {first} {second}"


def _ends(columns: Sequence[ca.SX]) -> list[int]:
    ends = [0]
    for matrix in columns:
        ends.append(ends[-1] + matrix.shape[1])
    return ends


def _depth_first(links: Mapping[str, LinkFunctions]) -> list[str]:
    """Return all bodies, each after its parent and beside its branch, so that little is handed from function to function."""
    children: dict[str, list[str]] = {}
    for body, link in links.items():
        children.setdefault(link.joint.parent, []).append(body)
    order, left = [], list(reversed(children.get(WORLD, [])))
    while left:
        order.append(left.pop())
        left += reversed(children.get(order[-1], []))
    return order
