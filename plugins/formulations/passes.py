"""Passes over the links of a tree, block by block, each in O(n): what recursive formulations are made of.

Featherstone, Rigid Body Dynamics Algorithms (2008), tables 5.1 and 7.1, with twists and wrenches in the order of this package.
Each link is a few small functions that call no other link's, and links that are alike share theirs, so generated code and build
time grow no faster than the number of links.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import casadi as ca

from kingpost.mechanism.elements import WORLD
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.cut import CutKinematics
from kingpost.multibody.force import Rotor
from kingpost.multibody.links import LinkFunctions, make_link, pack_symmetric
from kingpost.multibody.measures import outputs_and_measures
from kingpost.symbols.screws import Pose, pack_pose

#: Links that are put into one function: longer ones save copying, but a C compiler's time grows faster than their length.
BLOCK = 4
Vectors: TypeAlias = dict[str, ca.MX]


class Block:
    """A few successive links, and where their parts are in vectors."""

    def __init__(self, space: CutKinematics, links: Sequence[LinkFunctions]) -> None:
        self.links = {link.joint.child: link for link in links}
        self.q_rows, self.v_rows = ([row for link in links for row in _range(space.rows(link.joint)[k])] for k in (0, 1))
        parents = dict.fromkeys(link.joint.parent for link in links)
        #: Parents that are neither in the block nor the world.
        self.outside = [parent for parent in parents if parent != WORLD and parent not in self.links]

    def per_link(self, vector: ca.MX, size: Callable[[LinkFunctions], int]) -> Vectors:
        """Split a vector that holds ``size(link)`` numbers for each link."""
        parts, row = {}, 0
        for body, link in self.links.items():
            parts[body] = vector[row : row + size(link), :]
            row += size(link)
        return parts


def _range(rows: slice) -> range:
    return range(rows.start, rows.stop)


def taken(vector: ca.MX, rows: list[int]) -> ca.MX:
    """Return some rows of a vector; one slice, where they are one."""
    if not rows:
        return ca.MX(0, 1)
    in_a_row = rows[-1] - rows[0] + 1 == len(rows) and rows == sorted(rows)
    return vector[rows[0] : rows[-1] + 1, :] if in_a_row else vector[rows, :]


def freedom(link: LinkFunctions) -> int:
    """The number of speeds of a link."""
    return len(link.joint.speeds)


def motion_size(link: LinkFunctions) -> int:
    """Numbers of a link that the first pass leaves for the others: x, c and the bias wrench."""
    return int(link.move.numel_out(0)) + 12


def _gathered_size(link: LinkFunctions) -> int:
    """Numbers of a link that the second pass leaves for the third: U, the inverse of D, and u."""
    n = freedom(link)
    return 6 * n + n * n + n


@dataclass(frozen=True, eq=False)
class Carried:
    """What the second pass knows of a block: parameters, and by body what :class:`.LinkFunctions` ask for."""

    p: ca.MX
    q: Vectors
    x: Vectors
    c: Vectors
    tau: Vectors
    inertia: Vectors
    wrench: Vectors


def in_straight_line(symbols: Mapping[str, Any], parts: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return symbols and expressions in them as SX: small systems of equations are then solved in straight-line code."""
    functions = ca.Function("parts", list(symbols.values()), list(parts.values())).expand()
    scalars = {name: ca.SX.sym(name, symbol.numel()) for name, symbol in symbols.items()}
    return scalars, dict(zip(parts, functions.call(list(scalars.values())), strict=True))


class TreePasses:
    """The links of a mechanism, from base to tips, and the passes over them, block by block."""

    def __init__(self, assembly: Assembly) -> None:
        self.space = space = CutKinematics(assembly)
        self.links = {joint.child: make_link(space, joint) for joint in assembly.mechanism.tree}
        self.blocks = [Block(space, links) for links in self.divided(list(self.links.values()))]
        self._shared: dict[str, ca.Function] = {}
        self.potential = ca.SX(0)
        wrenches: dict[str, ca.SX] = {}
        inertias: dict[str, ca.SX] = {}
        rotors: list[Rotor] = []
        self.kinetic = ca.SX(0)
        efforts = ca.SX(space.v.numel(), 1)
        for loads in space.loads():
            for body, wrench in loads.wrenches.items():
                wrenches[body] = wrenches.get(body, 0) + wrench
            for name, effort in loads.efforts.items():
                efforts[space.effort_row(name)] += effort
            for body, added in loads.inertias.items():
                inertias[body] = inertias.get(body, 0) + added
            rotors += loads.rotors
            self.potential += loads.potential
            self.kinetic += loads.kinetic
        #: x, c and bias wrench (inertial less applied, at zero acceleration) of the links of each block, packed.
        self.motion: list[ca.MX] = [self._move(block, wrenches) for block in self.blocks]
        space.resolve_externals()
        #: Wrenches that depend on more than the block of their body shows.
        self.wrenches = {body: space.lower("wrench", wrench, space.mx) for body, wrench in wrenches.items()}
        self.efforts = space.lower("efforts", ca.densify(efforts), space.mx)
        #: What rotors add to the mass matrix, if there are any.
        self.rotors = space.lower("rotors", ca.densify(space.rotor_matrix(rotors)), space.mx) if rotors else None
        #: Inertias that forces add to bodies.
        self.added = {body: space.lower("added", ca.densify(added), space.mx) for body, added in inertias.items()}
        #: The same as functions of q and p alone, unless a joint is moved: for what knows no speeds and no inputs.
        self.still_added = self._at_rest(self.added)

    def _at_rest(self, added: Vectors) -> Vectors:
        """Return inertias, which depend on poses, such that neither time nor speeds nor inputs occur in them."""
        if not added or any(joint.pose is not None for joint in self.space.mechanism.joints):
            return added
        symbols = self.space.symbols
        function = ca.Function("added", [symbols[name] for name in "tqvup"], list(added.values()))
        known = [symbols[name] if name in "qp" else ca.MX.zeros(*symbols[name].shape) for name in "tqvup"]
        return dict(zip(added, function.call(known), strict=True))

    def divided(self, links: list[LinkFunctions]) -> list[list[LinkFunctions]]:
        """Return the links, base first, in blocks; the parents of a block are in it, or in one before."""
        return [links[i : i + BLOCK] for i in range(0, len(links), BLOCK)]

    @property
    def _p(self) -> ca.MX:
        return self.space.mx["p"]

    def _q(self, body: str, q: ca.MX) -> ca.MX:
        return q[self.space.rows(self.links[body].joint)[0], :]

    def _outlined(
        self, name: str, inputs: Sequence[ca.MX], build: Callable[[list[ca.MX]], list[ca.MX]], straight: bool = True
    ) -> list[ca.MX]:
        """Return the results of ``build`` for ``inputs``, computed in a (straight-line) function that like blocks share."""
        symbols = [ca.MX.sym(f"i{k}", *item.shape) for k, item in enumerate(inputs)]
        function = ca.Function(name, symbols, build(symbols))
        function = function.expand() if straight else function
        function = self._shared.setdefault(function.serialize(), function)
        return list(function.call(list(inputs)))

    def _move(self, block: Block, wrenches: dict[str, ca.SX]) -> ca.MX:
        """Find poses, twists and bias wrenches of a block; take those applied wrenches out of ``wrenches`` that it can find."""
        space = self.space
        known = {"t", "u", "p", *(f"{quantity} {body}" for body in block.links for quantity in ("pose", "twist"))}
        applied = {
            body: wrenches.pop(body)
            for body in block.links
            if body in wrenches and known.issuperset(space.groups(wrenches[body]))
        }

        def build(inputs: list[ca.MX]) -> list[ca.MX]:
            mx = dict(zip(("t", "u", "p"), inputs, strict=False))
            q = block.per_link(inputs[3], lambda link: len(link.joint.positions))
            v = block.per_link(inputs[4], freedom)
            for k, parent in enumerate(block.outside):
                mx[f"pose {parent}"], mx[f"twist {parent}"] = inputs[5 + 2 * k : 7 + 2 * k]
            mx[f"pose {WORLD}"], mx[f"twist {WORLD}"] = ca.MX(ca.DM(pack_pose(Pose.identity()))), ca.MX.zeros(6)
            left: list[list[ca.MX]] = []
            for body, link in block.links.items():
                parent = link.joint.parent
                x, mx[f"twist {body}"], c, bias = link.move(q[body], v[body], mx["p"], mx[f"twist {parent}"])
                mx[f"pose {body}"] = link.place(mx[f"pose {parent}"], x, mx["p"])
                left.append([x, c, bias])
            for body, parts in zip(block.links, left, strict=True):
                if body in applied:
                    parts[2] = parts[2] - space.lower("wrench", applied[body], mx)
            poses, twists = ([mx[f"{quantity} {body}"] for body in block.links] for quantity in ("pose", "twist"))
            return [ca.vertcat(*(item for parts in left for item in parts)), ca.vertcat(*poses), ca.vertcat(*twists)]

        shared = [space.mx[name] for name in ("t", "u", "p")]
        own = [taken(space.mx["q"], block.q_rows), taken(space.mx["v"], block.v_rows)]
        parents = [space.mx[f"{quantity} {parent}"] for parent in block.outside for quantity in ("pose", "twist")]
        motion, poses, twists = self._outlined("move", [*shared, *own, *parents], build)
        for k, body in enumerate(block.links):
            space.place(body, poses[12 * k : 12 * k + 12], twists[6 * k : 6 * k + 6])
        return motion

    def descriptor_parts(self) -> dict[str, Any]:
        """Return the parts of the descriptor form by name."""
        space = self.space
        return {
            "N": self._velocity_map(),
            "M": self.mass_matrix(),
            "f": -self.inverse_dynamics(),
            "kinetic": self.kinetic_energy(),
            "potential": space.lower("potential", self.potential, space.mx),
            "outputs": ca.vertcat(
                ca.MX(0, 1),
                *(space.lower("output", value, space.mx) for value in outputs_and_measures(space)),
                *(space.lower("signal", value, space.mx) for value, _ in space.signals.values()),
            ),
        }

    def _velocity_map(self) -> ca.MX:
        """Return N, as sparse as it is."""
        N = ca.sparsify(self.space.velocity_map())
        entries = ca.vertcat(ca.SX(0, 1), *(N.nz[k] for k in range(N.nnz())))
        return ca.MX(N.sparsity(), self.space.lower("velocity_map", entries, self.space.mx)) if N.nnz() else ca.MX(*N.shape)

    def accelerations(self) -> ca.MX:
        """Articulated-body algorithm."""
        further: Vectors = {}
        gathered = [self._gather(block, motion, further) for block, motion in self._backwards()][::-1]
        a: Vectors = {}
        vdot: Vectors = {}
        for block, motion, rest in zip(self.blocks, self.motion, gathered, strict=True):
            self._accelerate(block, motion, rest, a, vdot)
        return self.in_order(vdot)

    def _backwards(self) -> list[tuple[Block, ca.MX]]:
        return list(zip(self.blocks, self.motion, strict=True))[::-1]

    def _carried(self, block: Block, motion: ca.MX, further: Vectors) -> tuple[list[ca.MX], Callable[[list[ca.MX]], Carried]]:
        """Return what the second pass needs to know of a block, and how to read that; ``further`` came from further out."""
        from_further = [body for body in block.links if body in further]
        extra = [body for body in block.links if body in self.wrenches]
        heavier = [body for body in block.links if body in self.added]

        def read(inputs: list[ca.MX]) -> Carried:
            p, q_block, motions, efforts = inputs[:4]
            q = block.per_link(q_block, lambda link: len(link.joint.positions))
            tau, own = block.per_link(efforts, freedom), block.per_link(motions, motion_size)
            wrench = {body: own[body][-6:, :] for body in block.links}
            inertia = {body: link.inertia(p) for body, link in block.links.items()}
            for body, sums in zip(from_further, inputs[4:], strict=False):
                inertia[body] = inertia[body] + sums[:21]
                wrench[body] = wrench[body] + sums[21:]
            others = inputs[4 + len(from_further) :]
            for body, applied in zip(extra, others, strict=False):
                wrench[body] = wrench[body] - applied
            for body, added in zip(heavier, others[len(extra) :], strict=False):
                inertia[body] = inertia[body] + pack_symmetric(added)
            x, c = ({body: part[rows, :] for body, part in own.items()} for rows in (slice(None, -12), slice(-12, -6)))
            return Carried(p, q, x, c, tau, inertia, wrench)

        own = [self._p, taken(self.space.mx["q"], block.q_rows), motion, taken(self.efforts, block.v_rows)]
        others = [*(further[body] for body in from_further), *(self.wrenches[body] for body in extra)]
        return [*own, *others, *(self.added[body] for body in heavier)], read

    def _gather(self, block: Block, motion: ca.MX, further: Vectors) -> ca.MX:
        """Pass articulated inertias and wrenches of a block on to its parents; ``further`` holds what came from further out."""
        inputs, read = self._carried(block, motion, further)

        def build(inputs: list[ca.MX]) -> list[ca.MX]:
            own = read(inputs)
            left: dict[str, ca.MX] = {}
            onward: dict[str, ca.MX] = {}
            for body, link in reversed(block.links.items()):
                loads = own.inertia[body], own.wrench[body], own.tau[body]
                up_IA, up_pA, *rest = link.gather(own.x[body], own.q[body], own.p, own.c[body], *loads)
                left[body] = ca.vertcat(*rest)
                parent = link.joint.parent
                if parent in own.wrench:
                    own.inertia[parent], own.wrench[parent] = own.inertia[parent] + up_IA, own.wrench[parent] + up_pA
                elif parent != WORLD:
                    onward[parent] = onward.get(parent, 0) + ca.vertcat(up_IA, up_pA)
            return [ca.vertcat(*(left[body] for body in block.links)), *(onward[parent] for parent in block.outside)]

        gathered, *onward = self._outlined("gather", inputs, build)
        for parent, sums in zip(block.outside, onward, strict=True):
            further[parent] = further[parent] + sums if parent in further else sums
        return gathered

    def _accelerate(self, block: Block, motion: ca.MX, gathered: ca.MX, a: Vectors, vdot: Vectors) -> None:
        """Find the accelerations of a block from those of its parents."""

        def build(inputs: list[ca.MX]) -> list[ca.MX]:
            p, q_block, motions, rests = inputs[:4]
            q = block.per_link(q_block, lambda link: len(link.joint.positions))
            own, kept = block.per_link(motions, motion_size), block.per_link(rests, _gathered_size)
            local: Vectors = {WORLD: ca.MX.zeros(6), **dict(zip(block.outside, inputs[4:], strict=True))}
            rates = []
            for body, link in block.links.items():
                n = freedom(link)
                x, c = own[body][:-12, :], own[body][-12:-6, :]
                U, Dinv, u = (kept[body][a:b, :] for a, b in ((0, 6 * n), (6 * n, 6 * n + n * n), (6 * n + n * n, None)))
                rate, local[body] = link.accelerate(x, q[body], p, c, local[link.joint.parent], U, Dinv, u)
                rates.append(rate)
            return [ca.vertcat(*rates), ca.vertcat(*(local[body] for body in block.links))]

        own = [self._p, taken(self.space.mx["q"], block.q_rows), motion, gathered]
        rates, accelerations = self._outlined("accelerate", [*own, *(a[parent] for parent in block.outside)], build)
        vdot |= block.per_link(rates, freedom)
        a |= block.per_link(accelerations, lambda link: 6)

    def motions(self) -> dict[str, tuple[ca.MX, ca.MX, ca.MX]]:
        """Return x, c and bias wrench of each body, link by link."""
        parts = {}
        for block, motion in zip(self.blocks, self.motion, strict=True):
            for body, own in block.per_link(motion, motion_size).items():
                bias = own[-6:, :] - self.wrenches[body] if body in self.wrenches else own[-6:, :]
                parts[body] = own[:-12, :], own[-12:-6, :], bias
        return parts

    def inverse_dynamics(self) -> ca.MX:
        """Recursive Newton-Euler at zero accelerations: the effort that would be needed, less the applied one."""
        q, p = self.space.mx["q"], self._p
        motions = self.motions()
        accelerations = {WORLD: ca.MX.zeros(6)}
        wrenches: Vectors = {}
        for body, link in self.links.items():
            x, c, bias = motions[body]
            carried = link.carry(x, self._q(body, q), p, accelerations[link.joint.parent], ca.MX.zeros(freedom(link)))
            accelerations[body] = carried + c
            wrenches[body] = bias + link.resist(accelerations[body], p)
            if body in self.added:
                wrenches[body] = wrenches[body] + self.added[body] @ accelerations[body]
        return self._passed_on(wrenches, {body: x for body, (x, _, _) in motions.items()}, q, p) - self.efforts

    def mass_matrix(self) -> ca.MX:
        """Recursive Newton-Euler for one unit acceleration after the other, at rest and without loads."""
        n = self.space.v.numel()
        if n == 0:
            return ca.MX(0, 0)
        q, p, vdot = ca.MX.sym("q", self.space.q.numel()), ca.MX.sym("p", self._p.numel()), ca.MX.sym("vdot", n)
        added = {body: ca.MX.sym("added", 6, 6) for body in self.added}
        x: Vectors = {}
        accelerations, wrenches = {WORLD: ca.MX.zeros(6)}, {}
        for body, link in self.links.items():
            own_q, still = self._q(body, q), ca.MX.zeros(len(link.joint.speeds))
            x[body] = link.move(own_q, still, p, ca.MX.zeros(6))[0]
            accelerations[body] = link.carry(x[body], own_q, p, accelerations[link.joint.parent], vdot[link.rows, :])
            wrenches[body] = link.resist(accelerations[body], p)
            if body in added:
                wrenches[body] = wrenches[body] + added[body] @ accelerations[body]
        column = ca.Function("mass_times", [q, p, vdot, *added.values()], [self._passed_on(wrenches, x, q, p)])
        # One loop over the columns in generated code, not n copies of it.
        same = [ca.repmat(item, 1, n) for item in self.still_added.values()]
        M = column.map(n)(ca.repmat(self.space.mx["q"], 1, n), ca.repmat(self._p, 1, n), ca.DM.eye(n), *same)
        return ca.MX(M if self.rotors is None else M + self.rotors)

    def _passed_on(self, wrenches: Vectors, x: Vectors, q: ca.MX, p: ca.MX) -> ca.MX:
        """Return the efforts along the joints of wrenches that are passed on from the tips to the base."""
        efforts: Vectors = {}
        for body, link in reversed(self.links.items()):
            efforts[body], passed = link.pass_on(x[body], self._q(body, q), p, wrenches[body])
            if link.joint.parent != WORLD:
                wrenches[link.joint.parent] = wrenches[link.joint.parent] + passed
        return self.in_order(efforts)

    def in_order(self, results: Vectors) -> ca.MX:
        """Return the parts of a vector like v, found link by link, in the order of the joints."""
        return ca.vertcat(ca.MX(0, 1), *(results[joint.child] for joint in self.space.mechanism.joints))

    def kinetic_energy(self) -> ca.MX:
        """Sum over the bodies."""
        energies = [link.energy(self.space.mx[f"twist {body}"], self._p) for body, link in self.links.items()]
        return ca.sum1(ca.vertcat(*energies)) + self.space.lower("kinetic", self.kinetic, self.space.mx)
