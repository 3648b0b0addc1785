"""Kinematics cut at every body: forces see fresh symbols for poses and twists, which are filled in afterwards.

An expression that a force writes then depends on the few bodies it looks at, and not, through their poses, on every joint between
them and the world. That keeps the code of long chains short.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from kingpost.assembly import Assembly
from kingpost.elements import WORLD
from kingpost.externals import External, make_external
from kingpost.kinematics import JointSpace
from kingpost.screws import Pose


class CutKinematics(JointSpace):
    """What forces see of a tree, and the way from their SX expressions to an MX graph with one function for each."""

    def __init__(self, assembly: Assembly) -> None:
        super().__init__(assembly)
        #: Groups of SX symbols by name, and the MX expressions that stand for them.
        self.sx: dict[str, ca.SX] = {"t": assembly.t, "q": self.q, "v": self.v, "u": assembly.u, "p": assembly.p}
        self.mx: dict[str, ca.MX] = {name: ca.MX.sym(name, group.numel()) for name, group in self.sx.items()}
        self._group: dict[int, str] = {}
        for name in self.sx:
            self._register(name)
        for body in self.mechanism.bodies:
            for quantity, size in (("pose", 12), ("twist", 6)):
                self.sx[f"{quantity} {body.name}"] = ca.SX.sym(f"{quantity}_{body.name}", size)
                self._register(f"{quantity} {body.name}")
        self._compose = self._composition()
        self.traced: tuple[External, ...] = ()

    def _register(self, name: str) -> None:
        for symbol in ca.vertsplit(self.sx[name]) if self.sx[name].numel() else []:
            self._group[symbol.element_hash()] = name

    @staticmethod
    def _composition() -> ca.Function:
        outer, inner = ca.SX.sym("X_WP", 12), ca.SX.sym("X_PB", 12)
        X = Pose(ca.reshape(outer[:9], 3, 3), outer[9:]) @ Pose(ca.reshape(inner[:9], 3, 3), inner[9:])
        return ca.Function("compose", [outer, inner], [ca.vertcat(ca.vec(X.R), X.p)])

    def place(self, body: str, parent: str, X_PB: ca.MX, twist: ca.MX) -> None:
        """Say where a body is against its parent, and how it moves against the world."""
        outer = None if parent == WORLD else self.mx[f"pose {parent}"]
        self.mx[f"pose {body}"] = X_PB if outer is None else self._compose(outer, X_PB)
        self.mx[f"twist {body}"] = twist

    def _pose(self, body: str) -> Pose:
        X = self.sx[f"pose {body}"]
        return Pose(ca.reshape(X[:9], 3, 3), X[9:])

    def _twist(self, body: str) -> ca.SX:
        return self.sx[f"twist {body}"]

    def call(self, function: Any, *arguments: ca.SX, size: int) -> ca.SX:
        external = make_external(self._owner, function, arguments, size, len(self.traced))
        name = f"external {len(self.traced)}"
        self.sx[name] = external.symbols
        self._register(name)
        values = [self.lower(f"argument{len(self.traced)}_{i}", argument) for i, argument in enumerate(external.arguments)]
        self.mx[name] = external.function(*values)
        self.traced = (*self.traced, external)
        return external.symbols

    def lower(self, name: str, expression: ca.SX) -> ca.MX:
        """Return an SX expression as a call of one function with the groups of symbols that it uses."""
        used = list(dict.fromkeys(self._group[symbol.element_hash()] for symbol in ca.symvar(expression)))
        function = ca.Function(name, [self.sx[group] for group in used], ca.cse([ca.densify(expression)]))
        return ca.MX(function(*(self.mx[group] for group in used))) if used else ca.MX(ca.DM(ca.densify(expression)))
