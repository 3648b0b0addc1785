"""Rigid bodies in natural coordinates: the centre of mass and three directors along the body axes.

Twelve numbers q = (r, d1, d2, d3) for each body (document 000, eqs. 2.33-2.57; document 001, eqs. 4.1-4.36), held together by
six internal constraints. Between two orthonormal triads the mid-point triad is not orthonormal, so a body has up to three sets
of axes: its directors (covariant), their dual basis (contravariant) and an orthonormal triad.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kingpost.base.channels import Quantity
from kingpost.multibody.tree import JointSpace

#: Numbers for each body.
SIZE = 12


@dataclass(frozen=True, eq=False)
class DirectorBody:
    """A body at a place with a velocity; all vectors in world axes."""

    r: ca.SX
    #: Directors as columns.
    D: ca.SX
    r_rate: ca.SX
    D_rate: ca.SX
    #: The dual basis d^i with d^i . d_j = delta_ij, as columns; the directors themselves where they are orthonormal.
    dual: ca.SX
    #: An orthonormal triad; the directors themselves where they are orthonormal.
    axes: ca.SX

    @property
    def size(self) -> int:
        """The number of its coordinates."""
        return SIZE

    @property
    def spin(self) -> ca.SX:
        """The angular velocity: half the sum of d^i x d_i', the lower part of nu = B v (document 001, eqs. 4.14, 4.32)."""
        return sum((ca.cross(self.dual[:, i], self.D_rate[:, i]) for i in range(3)), ca.SX(3, 1)) / 2

    def generalized(self, wrench: ca.SX) -> ca.SX:
        """Return B' w of a wrench [moment; force] about the centre of mass: B' = P diag(I, I/2) (document 001, eq. 4.32)."""
        moment, force = wrench[:3], wrench[3:]
        return ca.vertcat(force, *(ca.cross(moment, self.dual[:, i]) / 2 for i in range(3)))

    @property
    def motions(self) -> ca.SX:
        """The 12 x 6 null-space matrix P of rigid motions, q' = P [w; r'] (document 001, eq. 4.9; columns: angular first)."""
        turning = ca.vertcat(ca.SX(3, 3), *(-ca.skew(self.D[:, i]) for i in range(3)))
        return ca.sparsify(ca.horzcat(turning, ca.vertcat(ca.SX.eye(3), ca.SX(9, 3))))

    @property
    def internal(self) -> ca.SX:
        """The six constraints that keep the directors orthonormal (document 001, eq. 4.2)."""
        d1, d2, d3 = ca.horzsplit(self.D)
        lengths = [(ca.dot(d, d) - 1) / 2 for d in (d1, d2, d3)]
        return ca.vertcat(*lengths, ca.dot(d1, d2), ca.dot(d1, d3), ca.dot(d2, d3))


class PointBody(DirectorBody):
    """A body that never turns: the place of its centre of mass alone."""

    @property
    def size(self) -> int:
        return 3

    def generalized(self, wrench: ca.SX) -> ca.SX:
        return wrench[3:]

    @property
    def motions(self) -> ca.SX:
        return ca.sparsify(ca.horzcat(ca.SX(3, 3), ca.SX.eye(3)))

    @property
    def internal(self) -> ca.SX:
        return ca.SX(0, 1)


def point_at(q: ca.SX, v: ca.SX, axes: ca.SX) -> PointBody:
    """Return the body with its centre of mass at q and axes that stay what they are."""
    return PointBody(q, axes, v, ca.SX(3, 3), axes, axes)


#: The world, as a body that rests at the origin.
GROUND = DirectorBody(ca.SX(3, 1), ca.SX.eye(3), ca.SX(3, 1), ca.SX(3, 3), ca.SX.eye(3), ca.SX.eye(3))


def body_at(q: ca.SX, v: ca.SX) -> DirectorBody:
    """Return the body with coordinates q, whose directors are taken to be orthonormal."""
    D = ca.reshape(q[3:], 3, 3)
    return DirectorBody(q[:3], D, v[:3], ca.reshape(v[3:], 3, 3), D, D)


def body_between(q: ca.SX, v: ca.SX) -> DirectorBody:
    """Return the body at the mean ``q`` of two places: its directors are shorter than one and not perpendicular.

    The dual basis is that of document 001, eqs. 4.28-4.31. It is singular only if the body turns by 180 degrees in between.
    """
    body = body_at(q, v)
    d1, d2, _ = ca.horzsplit(body.D)
    first = d1 / ca.norm_2(d1)
    third = ca.cross(first, d2)
    third = third / ca.norm_2(third)
    axes = ca.horzcat(first, ca.cross(third, first), third)
    return DirectorBody(body.r, body.D, body.r_rate, body.D_rate, dual_basis(body.D), axes)


def dual_basis(D: ca.SX) -> ca.SX:
    """Return the inverse transpose, column by column: d^1 = d2 x d3 / det and so on."""
    d1, d2, d3 = ca.horzsplit(D)
    volume = ca.dot(d1, ca.cross(d2, d3))
    return ca.horzcat(ca.cross(d2, d3), ca.cross(d3, d1), ca.cross(d1, d2)) / volume


def euler_tensor(space: JointSpace, body: str) -> ca.SX:
    """Return the Euler tensor about the centre of mass, E = tr(J)/2 I - J (document 001, eq. 4.5, solved for E)."""
    J = space.inertia(body)
    return ca.SX(ca.sparsify(ca.trace(J) / 2 * ca.SX.eye(3) - J))


def body_mass_matrix(space: JointSpace, body: str, size: int = SIZE) -> ca.SX:
    """Return the constant 12 x 12 mass matrix; of a body that never turns, the 3 x 3 one.

    diag(m I, E1 I, E2 I, E3 I) (document 001, eq. 4.4) for principal axes; with products of inertia the directors are coupled
    by the full tensor, T = (m r'.r' + E_ij d_i'.d_j') / 2.
    """
    mass = space.value(space.mechanism.body(body).mass)
    if size != SIZE:
        return ca.sparsify(mass * ca.SX.eye(size))
    return ca.sparsify(ca.diagcat(mass * ca.SX.eye(3), ca.kron(euler_tensor(space, body), ca.SX.eye(3))))


def coordinate_quantities(body: str, size: int = SIZE) -> tuple[Quantity, ...]:
    """Return names and units of a body's twelve coordinates, or three."""
    position = tuple(Quantity(f"{body}.r.{axis}", "m") for axis in "xyz")
    if size != SIZE:
        return position
    return position + tuple(Quantity(f"{body}.d{i}.{axis}", "1") for i in (1, 2, 3) for axis in "xyz")


def angular_momentum(q: ca.SX, v: ca.SX, M: ca.SX) -> ca.SX:
    """Return the angular momentum about the world's origin: the sum of q_i x (M v)_i over all vectors (document 001, 4.8)."""
    momentum = M @ v
    vectors = range(0, int(momentum.numel()), 3)
    return sum((ca.cross(q[i : i + 3], momentum[i : i + 3]) for i in vectors), ca.SX(3, 1))
