"""Bodies in redundant coordinates as what they are, rigid: their motions, and the order in which a step is solved for them.

A rigid body has six motions, in a plane three, whatever its coordinates are. With B the matrix of these motions, q' = B nu,
the rows that keep a body's directors orthonormal vanish identically, and so do their multipliers in B' (...) = 0: at a place,
and at the mean of two places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

#: Numbers of coordinates: centre of mass and three directors, those in a plane, a point, and a scalar.
SPATIAL, PLANE, POINT, SCALAR = 12, 6, 3, 1
#: How many motions there are with so many coordinates.
MOTIONS = {SPATIAL: 6, PLANE: 3, POINT: 3, SCALAR: 1}


@dataclass(frozen=True)
class RigidBody:
    """A body (or a scalar coordinate), and the constraints that belong to it."""

    #: The first of its coordinates, of which there are 12, 6, 3 or 1.
    first: int
    size: int
    #: Owner of the rows that keep it rigid.
    inner: str = ""
    #: Owners of the rows of its joint: of full rank in its own motions.
    follows: tuple[str, ...] = ()
    #: Whether it has no inertia along one of its motions.
    bare: bool = False

    @property
    def motions(self) -> int:
        """The number of its motions: first along, then about the axes."""
        return MOTIONS[self.size]

    def directors(self, q: Any) -> list[Any]:
        """Return its directors."""
        width = 3 if self.size == SPATIAL else 2
        count = {SPATIAL: 3, PLANE: 2}.get(self.size, 0)
        firsts = [self.first + width * (1 + k) for k in range(count)]
        return [q[row : row + width] for row in firsts]

    def place(self, q: Any) -> Any:
        """Return what only moves along: its centre of mass, or the scalar."""
        return q[self.first : self.first + {SPATIAL: 3, PLANE: 2, POINT: 3, SCALAR: 1}[self.size]]


@dataclass(frozen=True, eq=False)
class RigidMotions:
    """The bodies of a machine in the order in which they are eliminated: from the tips of the tree to its base."""

    bodies: tuple[RigidBody, ...]

    @property
    def count(self) -> int:
        """The number of all motions."""
        return sum(body.motions for body in self.bodies)

    @property
    def coordinates(self) -> int:
        """The number of coordinates of all bodies."""
        return sum(body.size for body in self.bodies)

    @property
    def inner(self) -> frozenset[str]:
        """Owners of rows that rigid motions keep."""
        return frozenset(body.inner for body in self.bodies if body.inner)

    @property
    def bare(self) -> list[int]:
        """Motions of bodies that have no inertia along one of theirs."""
        return [column for body, first in self._columns() if body.bare for column in range(first, first + body.motions)]

    def order(self, owners: Sequence[str], further: int = 0) -> list[int]:
        """Return motions, rows with these owners and ``further`` unknowns, numbered in this order, as they are eliminated.

        A body's motions come before the rows of its joint, which have full rank in them: so every pivot is there before it is
        needed, and elimination from the tips fills nothing but the blocks of the next body. Rows of closed loops come last.
        """
        found: list[int] = []
        followed: set[str] = set()
        for body, first in self._columns():
            found += range(first, first + body.motions)
            found += [self.count + i for i, owner in enumerate(owners) if owner in body.follows]
            followed |= set(body.follows)
        found += [self.count + i for i, owner in enumerate(owners) if owner not in followed]
        return [*found, *range(self.count + len(owners), self.count + len(owners) + further)]

    def names(self) -> list[tuple[str, int]]:
        """Return names and numbers of motions of all bodies."""
        return [
            (f"'{body.inner.removesuffix('.directors')}'" if body.inner else f"coordinate {body.first + 1}", body.motions)
            for body in self.bodies
        ]

    def _columns(self) -> list[tuple[RigidBody, int]]:
        """Return all bodies with the first of their motions."""
        found, first = [], 0
        for body in self.bodies:
            found.append((body, first))
            first += body.motions
        return found

    @cached_property
    def matrix(self) -> ca.Function:
        """The function q -> B with q' = B nu, for the coordinates of all bodies."""
        q, nu = ca.SX.sym("q", self.coordinates), ca.SX.sym("nu", self.count)
        rates = ca.SX.zeros(self.coordinates)
        for body, first in self._columns():
            place, directors = body.place(q), body.directors(q)
            width = place.numel()
            rates[body.first : body.first + width] = nu[first : first + width]
            for k, d in enumerate(directors):
                row = body.first + width * (1 + k)
                rates[row : row + width] = _turning(nu[first + width : first + body.motions], d)
        return ca.Function("kp_rigid", [q], [ca.sparsify(ca.jacobian(rates, nu))])

    @cached_property
    def changes(self) -> ca.Function:
        """The function (q, increments) -> change of q: a displacement, and a turn by Cayley's map.

        d1 - d0 = (theta x d0 + theta x (theta x d0) / 2) / (1 + theta^2 / 4) keeps all products of directors, without a
        trigonometric function, and without taking a difference of large numbers. It is singular at half a turn.
        """
        q, along = ca.SX.sym("q", self.coordinates), ca.SX.sym("along", self.count)
        change = ca.SX.zeros(self.coordinates)
        for body, first in self._columns():
            place, directors = body.place(q), body.directors(q)
            width = place.numel()
            change[body.first : body.first + width] = along[first : first + width]
            theta = along[first + width : first + body.motions]
            for k, d in enumerate(directors):
                row = body.first + width * (1 + k)
                once = _turning(theta, d)
                change[row : row + width] = (once + _turning(theta, once) / 2) / (1 + ca.sumsqr(theta) / 4)
        return ca.Function("kp_changes", [q, along], [change])

    @cached_property
    def speeds(self) -> ca.Function:
        """The function (q, v) -> motions nearest to rates v that need not be rigid: the mean turn of the directors."""
        q, v = ca.SX.sym("q", self.coordinates), ca.SX.sym("v", self.coordinates)
        found = [ca.SX(0, 1)]
        for body in self.bodies:
            found.append(body.place(v))
            pairs = list(zip(body.directors(q), body.directors(v), strict=True))
            if body.size == SPATIAL:
                found.append(sum((ca.cross(d, rate) for d, rate in pairs), ca.SX(3, 1)) / 2)
            elif body.size == PLANE:
                found.append(sum((d[0] * rate[1] - d[1] * rate[0] for d, rate in pairs), ca.SX(0)) / 2)
        return ca.Function("kp_rigid_speeds", [q, v], [ca.densify(ca.vertcat(*found))])


def _turning(spin: ca.SX, d: ca.SX) -> ca.SX:
    """Return spin x d; in a plane the spin is a number."""
    return ca.cross(spin, d) if d.numel() == 3 else spin * ca.vertcat(-d[1], d[0])
