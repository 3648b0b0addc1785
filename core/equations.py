"""The equations of motion of a mechanism in one descriptor form, symbols only.

    qdot = N(q) v
    M(q) vdot = f(t, q, v, u, p) - G(q)^T lam
    0 = phi(t, q)
    0 = A(t, q) v + b(t, q),     G = A

A formulation fills this in; Jacobians, machine code, step maps and exports are derived from it without more mechanics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kingpost.errors import MechanismError
from kingpost.expressions import evaluate
from kingpost.mechanism import Mechanism

FloatArray = NDArray[np.float64]
ENERGIES = ("energy.kinetic", "energy.potential", "energy.total")


@dataclass(frozen=True)
class Channel:
    """A named quantity in a result."""

    name: str
    unit: str
    #: Frame in which components are given; empty for scalars that have none.
    frame: str = ""


@dataclass(frozen=True, eq=False)
class Equations:
    """Symbols t, q, v, u, p and lam, and the expressions of the descriptor form in them.

    ``vdot`` holds the accelerations where a formulation finds them more cheaply than by factorising ``M``.
    """

    mechanism: Mechanism
    formulation: str
    t: ca.SX
    q: ca.SX
    v: ca.SX
    u: ca.SX
    p: ca.SX
    N: ca.SX
    M: ca.SX
    f: ca.SX
    kinetic: ca.SX
    potential: ca.SX
    outputs: ca.SX
    output_channels: tuple[Channel, ...]
    vdot: ca.SX | None = None
    lam: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    phi: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    A: ca.SX = field(default_factory=lambda: ca.SX(0, 0))
    b: ca.SX = field(default_factory=lambda: ca.SX(0, 1))

    @property
    def problem(self) -> Literal["ode", "index-3 dae"]:
        """What an integrator must be able to advance."""
        return "index-3 dae" if self.lam.numel() else "ode"

    @property
    def nq(self) -> int:
        return int(self.q.numel())

    @property
    def nv(self) -> int:
        return int(self.v.numel())

    def split(self, x: Any) -> tuple[Any, Any]:
        """Return the parts q and v of a state x = [q; v]."""
        return x[: self.nq], x[self.nq :]

    @cached_property
    def accelerations(self) -> ca.Function:
        """The function (t, q, v, u, p) -> vdot."""
        vdot = self.vdot
        if vdot is None:
            D, LT, permutation = ca.ldl(self.M)
            vdot = ca.ldl_solve(self.f, D, LT, permutation) if self.nv else ca.SX(0, 1)
        return _function("kp_accelerations", [self.t, self.q, self.v, self.u, self.p], [vdot])

    @cached_property
    def kinematics(self) -> ca.Function:
        """The function (q, v, p) -> qdot."""
        return _function("kp_kinematics", [self.q, self.v, self.p], [self.N @ self.v])

    @cached_property
    def rhs(self) -> ca.Function:
        """The function (t, x, u, p) -> xdot with the state x = [q; v]."""
        q, v = self.q, self.v
        qdot = self.kinematics(q, v, self.p)
        vdot = self.accelerations(self.t, q, v, self.u, self.p)
        return _function("kp_rhs", [self.t, ca.vertcat(q, v), self.u, self.p], [ca.vertcat(qdot, vdot)])

    @cached_property
    def rhs_jacobian(self) -> ca.Function:
        """The function (t, x, u, p) -> d xdot / d x, by automatic differentiation."""
        t, u, p = ca.SX.sym("t"), ca.SX.sym("u", self.u.numel()), ca.SX.sym("p", self.p.numel())
        x = ca.SX.sym("x", self.nq + self.nv)
        return _function("kp_jacobian", [t, x, u, p], [ca.densify(ca.jacobian(self.rhs(t, x, u, p), x))])

    @cached_property
    def observe(self) -> ca.Function:
        """The function (t, x, u, p) -> values of :attr:`channels`."""
        x = ca.vertcat(self.q, self.v)
        energies = ca.vertcat(self.kinetic, self.potential, self.kinetic + self.potential)
        return _function("kp_observe", [self.t, x, self.u, self.p], [ca.vertcat(x, self.outputs, energies)])

    @cached_property
    def descriptor(self) -> ca.Function:
        """The function (t, q, v, u, p) -> M, f, vdot, for a look at one state."""
        symbols = [self.t, self.q, self.v, self.u, self.p]
        return _function("kp_descriptor", symbols, [self.M, self.f, self.accelerations(*symbols)])

    @property
    def channels(self) -> tuple[Channel, ...]:
        """What :attr:`observe` returns: coordinates, their rates, outputs and energies."""
        coordinates = self.mechanism.coordinates
        return (
            *(Channel(coordinate.name, coordinate.unit) for coordinate in coordinates),
            *(Channel(f"{coordinate.name}.rate", coordinate.rate_unit) for coordinate in coordinates),
            *self.output_channels,
            *(Channel(name, "J") for name in ENERGIES),
        )

    def start(self, parameters: Mapping[str, float]) -> FloatArray:
        """Return the initial state x = [q; v] that the mechanism declares, at the given parameters."""
        halves: tuple[list[float], list[float]] = ([], [])
        for joint in self.mechanism.joints:
            values = [float(evaluate(value, parameters)) for value in joint.start_values]
            size = len(values) // 2
            halves[0].extend(values[:size])
            halves[1].extend(values[size:])
        return np.array(halves[0] + halves[1])

    def check_mass_matrix(self, x: FloatArray, p: FloatArray) -> None:
        """Refuse a mass matrix that is not positive definite at the state ``x``, naming the coordinate to blame."""
        if self.nv == 0:
            return
        zeros = np.zeros(self.u.numel())
        M = np.asarray(self.descriptor(0.0, x[: self.nq], x[self.nq :], zeros, p)[0])
        scale = np.sqrt(np.diag(M).clip(min=np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
        # A scaled eigenvalue below n * eps is zero to round-off: the accelerations would be noise.
        if np.diag(M).min() <= 0.0 or values[0] < len(M) * np.finfo(float).eps:
            worst = int(np.argmax(np.abs(vectors[:, 0]))) if np.diag(M).min() > 0.0 else int(np.argmin(np.diag(M)))
            name = self.mechanism.coordinates[worst].name
            raise MechanismError(
                f"the mass matrix is singular at the start: nothing resists an acceleration of '{name}' "
                f"(M[{worst}, {worst}] = {M[worst, worst]:g}). Give the bodies beyond that joint mass or inertia, "
                "or weld it"
            )


def _function(name: str, arguments: list[ca.SX], results: list[ca.SX]) -> ca.Function:
    return ca.Function(name, arguments, ca.cse([ca.densify(result) for result in results]))
