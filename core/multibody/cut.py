"""Kinematics cut at every body: forces see fresh symbols for poses and twists, which are filled in afterwards.

An expression that a force writes then depends on the few bodies it looks at, and not, through their poses, on every joint
between them and the world. That keeps the code of long chains short.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from kingpost.mechanism.elements import Joint
from kingpost.multibody.applied import AppliedForce
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.tree import TreePlaces
from kingpost.symbols.externals import External, stretch, with_externals
from kingpost.symbols.joints import GivenMotion
from kingpost.symbols.screws import Pose, pack_pose, unpack_pose


class CutKinematics(TreePlaces):
    """What forces see of a tree, and the way from their SX expressions to an MX graph with one function for each."""

    def __init__(self, assembly: Assembly) -> None:
        super().__init__(assembly)
        symbols = assembly.seen.symbols
        self.q = ca.vertcat(ca.SX(0, 1), *(symbols[("coordinate", name)] for name in self._q_row))
        self.v = ca.vertcat(ca.SX(0, 1), *(symbols[("speed", name)] for name in self._v_row))
        #: Groups of SX symbols by name, and the MX expressions that stand for them.
        self.sx: dict[str, ca.SX] = {"t": assembly.t, "q": self.q, "v": self.v, "u": assembly.u, "p": assembly.p}
        #: The symbols of the equations of motion.
        self.symbols: dict[str, ca.MX] = {name: ca.MX.sym(name, group.numel()) for name, group in self.sx.items()}
        self.mx: dict[str, ca.MX] = dict(self.symbols)
        self._given: dict[str, GivenMotion] = {}
        self._give_motions()
        self._group: dict[int, str] = {}
        for name in self.sx:
            self._register(name)
        for body in self.mechanism.bodies:
            for quantity in ("pose", "twist"):
                self.sx[f"{quantity} {body.name}"] = assembly.seen.symbols[(quantity, body.name)]
                self._register(f"{quantity} {body.name}")
        for joint, load in assembly.seen.loads.items():
            if load[0].element_hash() not in self._group:  # where it is no unknown in u
                self.sx[f"load {joint}"] = load
                self._register(f"load {joint}")
        self.traced: tuple[External, ...] = ()
        self._shared: dict[str, ca.Function] = {}

    def _give_motions(self) -> None:
        """Make the given motions of joints further parameters, known once for all links."""
        values, plain = [], dict(self.sx)
        for joint in self.mechanism.joints:
            if joint.pose is not None:
                motion = super().given_motion(joint)
                values.append(ca.vertcat(pack_pose(motion.pose), ca.densify(motion.quaternion), motion.twist, motion.rate))
                symbols = ca.SX.sym("given", 28)
                self._given[joint.name] = GivenMotion(unpack_pose(symbols), symbols[12:16], symbols[16:22], symbols[22:])
                self.sx["p"] = ca.vertcat(self.sx["p"], symbols)
        if values:
            every = ca.vertcat(*values)
            moving = self.assembly.moving_externals
            # What moves by the clock does not depend on inputs.
            known = [name for name in "tup" if plain[name].numel() and (moving or ca.depends_on(every, plain[name]))]
            motions = with_externals("given", [plain[name] for name in known], [every], moving)
            self.mx["p"] = ca.vertcat(self.symbols["p"], *motions.call([self.symbols[name] for name in known]))

    def disturb(self) -> dict[str, ca.MX]:
        """Add symbols to the rates of all given twists, to see what depends on them, and return them by joint."""
        added = {name: ca.MX.sym("added", 6) for name in self._given}
        entries = [ca.vertcat(ca.MX.zeros(22), symbol) for symbol in added.values()]
        self.mx["p"] = self.mx["p"] + ca.vertcat(ca.MX.zeros(self.symbols["p"].numel()), *entries)
        return added

    def given_motion(self, joint: Joint) -> GivenMotion:
        return self._given[joint.name]

    def _register(self, name: str) -> None:
        for symbol in ca.vertsplit(self.sx[name]) if self.sx[name].numel() else []:
            self._group[symbol.element_hash()] = name

    def share(self, name: str, inputs: list[ca.SX], results: list[ca.SX]) -> ca.Function:
        """Return a function of SX expressions; one that was made before, if it does the same, so that code is not repeated."""
        function = ca.Function(name, inputs, ca.cse([ca.densify(result) for result in results]))
        return self._shared.setdefault(function.serialize(), function)

    def place(self, body: str, X_WB: ca.MX, twist: ca.MX) -> None:
        """Say where a body is, as a packed pose, and how it moves."""
        self.mx[f"pose {body}"] = X_WB
        self.mx[f"twist {body}"] = twist

    def _pose(self, body: str) -> Pose:
        return unpack_pose(self.sx[f"pose {body}"])

    def _twist(self, body: str) -> ca.SX:
        return self.sx[f"twist {body}"]

    def bring(self, applied: AppliedForce) -> AppliedForce:
        """Return a force as it is: its symbols are those of this space."""
        for external in applied.externals:
            self.sx[f"external {len(self.traced)}"] = external.symbols
            self._register(f"external {len(self.traced)}")
            self.traced = (*self.traced, external)
        return applied

    def resolve_externals(self) -> None:
        """Compute what the externals give, once all bodies are placed."""
        for k, external in enumerate(self.traced):
            values = [self._argument(argument) for argument in external.arguments]
            self.mx[f"external {k}"] = external.function(*values)

    def _argument(self, argument: ca.SX) -> ca.MX:
        place = stretch(argument, [self.sx["p"]])
        return self.lower("argument", argument, self.mx) if place is None else place.of([self.mx["p"]])

    def groups(self, expression: ca.SX) -> list[str]:
        """Return the groups of symbols that an expression uses."""
        return list(dict.fromkeys(self._group[symbol.element_hash()] for symbol in ca.symvar(expression)))

    def lower(self, name: str, expression: ca.SX, mx: Mapping[str, ca.MX]) -> ca.MX:
        """Return an SX expression as a call of one function with the groups of symbols that it uses, as found in ``mx``."""
        used = self.groups(expression)
        if not used:
            return ca.MX(ca.DM(ca.densify(expression)))
        return ca.MX(self.share(name, [self.sx[group] for group in used], [expression])(*(mx[group] for group in used)))
