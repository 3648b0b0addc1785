"""Rotations of joints with quaternions, as integrators on the rotation group see them."""

from __future__ import annotations

from functools import cached_property

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.symbols.joints import ANGULAR, JOINT_KINDS


class Rotations:
    """Where the unit quaternions of joints are in a state [q; v], and their angular velocities in body axes."""

    def __init__(self, equations: Equations) -> None:
        self.nx = equations.nx
        #: Rows at which a quaternion and its angular velocity begin.
        self.rows: list[tuple[int, int]] = []
        row_q, row_v = 0, equations.nq
        for joint in equations.mechanism.joints if equations.quaternions else ():
            kind = JOINT_KINDS[joint.kind]
            if kind.quaternion is not None:
                names = [speed.name for speed in joint.speeds]
                self.rows.append((row_q + kind.quaternion, row_v + _first_angular(names)))
            row_q += len(joint.positions)
            row_v += len(joint.speeds)
        assert tuple(first for first, _ in self.rows) == equations.quaternions

    @property
    def size(self) -> int:
        """Three numbers for each rotation."""
        return 3 * len(self.rows)

    @cached_property
    def flat_rows(self) -> list[int]:
        """The rows of a state that are not in a quaternion."""
        curved = {first + i for first, _ in self.rows for i in range(4)}
        return [row for row in range(self.nx) if row not in curved]

    def flat(self, x: ca.MX) -> ca.MX:
        """Return what is not in a quaternion."""
        return x[self.flat_rows, :] if self.rows else x

    def angular(self, x: ca.MX) -> ca.MX:
        """Return the angular velocities, one after the other."""
        return ca.vertcat(ca.MX(0, 1), *(x[first : first + 3, :] for _, first in self.rows))

    def state(self, start: ca.MX, flat: ca.MX, turns: ca.MX) -> ca.MX:
        """Return the state with ``flat`` and with the rotations of ``start`` turned further, by quaternions in body axes."""
        if not self.rows:
            return flat
        turned = [product(start[first : first + 4, :], turns[4 * k : 4 * k + 4, :]) for k, (first, _) in enumerate(self.rows)]
        order = [*self.flat_rows, *(first + i for first, _ in self.rows for i in range(4))]
        return ca.vertcat(flat, *turned)[[order.index(row) for row in range(self.nx)], :]


def _first_angular(names: list[str]) -> int:
    return next(i for i, name in enumerate(names) if name.rpartition(".")[2] == ANGULAR[0].name)


def product(a: ca.MX, b: ca.MX) -> ca.MX:
    """Return the product of two quaternions (w, x, y, z)."""
    return ca.vertcat(a[0] * b[0] - ca.dot(a[1:], b[1:]), a[0] * b[1:] + b[0] * a[1:] + ca.cross(a[1:], b[1:]))


def _threes(vector: ca.MX) -> list[ca.MX]:
    return [vector[k : k + 3, :] for k in range(0, int(vector.numel()), 3)]


def exponential(theta: ca.MX) -> ca.MX:
    """Return the quaternions of rotations about ``theta``, three numbers for each, by its length."""
    quaternions = []
    for turn in _threes(theta):
        # The smallest number under the root keeps the quotient and its derivative finite at zero, and changes nothing else.
        angle = ca.sqrt(ca.dot(turn, turn) + 1e-300)
        quaternions += [ca.cos(angle / 2), ca.sin(angle / 2) / angle * turn]
    return ca.vertcat(ca.MX(0, 1), *quaternions)


def cayley(theta: ca.MX) -> ca.MX:
    """Return the quaternions of the rotations (I - T/2)^-1 (I + T/2), T being the cross product with ``theta``."""
    quaternions = []
    for turn in _threes(theta):
        length = ca.sqrt(1 + ca.dot(turn, turn) / 4)
        quaternions += [1 / length, turn / (2 * length)]
    return ca.vertcat(ca.MX(0, 1), *quaternions)


def half_cayley(theta: ca.MX) -> ca.MX:
    """Return the quaternions of half these rotations, about the same axes."""
    quaternions = []
    for turn in _threes(theta):
        length = ca.sqrt(1 + ca.dot(turn, turn) / 4)
        cosine = ca.sqrt((1 + 1 / length) / 2)
        quaternions += [cosine, turn / (4 * length * cosine)]
    return ca.vertcat(ca.MX(0, 1), *quaternions)


def dexpinv(theta: ca.MX, w: ca.MX) -> ca.MX:
    """Return the rates of theta, three numbers for each rotation, at which exp(theta) turns with ``w`` in body axes.

    theta' = w + theta x w / 2 + c theta x (theta x w) with c = (1 - a/2 cot(a/2)) / a^2, a = |theta|, by its series: the first
    term is all that a method of order four or less needs, the next two keep large turns in one step accurate.
    """
    rates = []
    for turn, spin in zip(_threes(theta), _threes(w), strict=True):
        square = ca.dot(turn, turn)
        c = 1 / 12 + square / 720 + square**2 / 30240
        across = ca.cross(turn, spin)
        rates.append(spin + across / 2 + c * ca.cross(turn, across))
    return ca.vertcat(ca.MX(0, 1), *rates)
