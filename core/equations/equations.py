"""The equations of motion of a mechanism in one descriptor form, symbols only.

    qdot = N(q) v
    M(q) vdot = f(t, q, v, u, p) - G(q)^T lam
    0 = phi(t, q)
    0 = A(t, q) v + b(t, q),     G = A

A formulation fills this in; Jacobians, machine code, step maps and exports are derived from it without more mechanics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel, Quantity
from kingpost.base.errors import MechanismError
from kingpost.base.formulas import evaluate
from kingpost.equations.augmentation import Augmentation, check_motions, corrections, first_of
from kingpost.equations.discrete_null_space import DiscreteNullSpace
from kingpost.mechanism.mechanism import Mechanism, quaternion_rows
from kingpost.symbols.externals import External, with_externals
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.symbols.straightline import FUSED, fused, solve_symmetric

if TYPE_CHECKING:
    from kingpost.loads.ports import PortExpressions

ENERGIES = ("energy.kinetic", "energy.potential", "energy.total")
#: A joint whose regularity (1 at its best, 0 where its coordinates are singular) falls below this stops the run.
SINGULAR = 0.01
#: Newton steps that take constraint errors away after a step: each squares what the step left, some 1e-8 at most.
PROJECTIONS = 2


@dataclass(frozen=True, eq=False)
class LoadExpressions:
    """Joint loads and the motion of the bodies, as one function (t, q, v, vdot, lam, u, p) -> values of ``channels``."""

    function: ca.Function
    channels: tuple[Channel, ...]
    traced: tuple[External, ...]
    #: Method, joints, frames, sides and points, for the provenance of a result.
    record: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Equations:
    """Symbols t, q, v, u, p and lam, and the expressions of the descriptor form in them (all SX, or all MX).

    ``vdot`` holds the accelerations where a formulation finds them more cheaply than by factorising ``M``. ``externals`` are
    values in the expressions that some function outside them gives.
    """

    mechanism: Mechanism
    formulation: str
    t: Any
    q: Any
    v: Any
    u: Any
    p: Any
    N: Any
    M: Any
    f: Any
    kinetic: Any
    potential: Any
    outputs: Any
    output_channels: tuple[Channel, ...]
    vdot: Any = None
    externals: tuple[External, ...] = ()
    #: Externals that the (MX) expressions already call.
    traced: tuple[External, ...] = ()
    lam: Any = field(default_factory=lambda: ca.SX(0, 1))
    phi: Any = field(default_factory=lambda: ca.SX(0, 1))
    A: Any = field(default_factory=lambda: ca.SX(0, 0))
    b: Any = field(default_factory=lambda: ca.SX(0, 1))
    #: Names and units of q and v where they are not the joint coordinates and speeds of the mechanism.
    coordinates: tuple[Quantity, ...] | None = None
    speeds: tuple[Quantity, ...] | None = None
    #: The function (joint coordinates, joint speeds, p) -> [q; v], where they are not.
    initial: ca.Function | None = None
    #: The function (q, v, vdot, p) -> joint coordinates, joint speeds and their rates, where they are not.
    joint_state: ca.Function | None = None
    #: The function (t, q0, q1, v, u, p) -> generalized forces that have no potential, between the places q0 and q1 at the mean
    #: velocity v, such that they keep the momenta that they should; for integrators that take the others from the potential.
    midpoint_forces: ca.Function | None = None
    #: Linear and angular momentum about the origin, in world axes, where the coordinates tell them better than the joints do.
    momentum: Any = None
    #: The joint or closure that each row of A belongs to.
    owners: tuple[str, ...] = ()
    #: The wrench that the multipliers amount to in each joint or closure, about the origin of the child's frame M, in it.
    reactions: Mapping[str, Any] = field(default_factory=dict)
    #: Rate (1/s) at which Baumgarte's terms pull constraint errors back in the accelerations; never in reactions.
    baumgarte: float = 0.0
    #: Rows of constraints that follow from others, by owner, left out of phi and A.
    redundant: tuple[str, ...] = ()
    #: What is observed beyond coordinates, speeds, outputs and energies.
    loads: LoadExpressions | None = None
    ports: PortExpressions | None = None
    #: The same equations for schemes that hold constraints between places, where q is redundant and v is not.
    discrete: DiscreteNullSpace | None = None
    #: The function (q, p) -> coordinates at the end of q that only say which of the angles that fit the others is meant, as the
    #: others give them nearest to what they are: nothing else changes with them.
    follow: ca.Function | None = None
    #: How to solve with a mass matrix that is singular, where constraints make up for it.
    augmentation: Augmentation | None = None

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

    @property
    def nu(self) -> int:
        return int(self.u.numel())

    @property
    def followers(self) -> int:
        """The number of coordinates that :attr:`follow` gives."""
        return 0 if self.follow is None else int(self.follow.numel_out(0))

    @property
    def np(self) -> int:
        return int(self.p.numel())

    @property
    def python_forces(self) -> tuple[str, ...]:
        """The forces that are plain Python, so that no C code can be made of these equations."""
        used = self.all_externals
        return tuple(dict.fromkeys(external.owner for external in used if not external.traceable))

    @property
    def all_externals(self) -> tuple[External, ...]:
        """Every function outside the expressions that some part of them calls."""
        further = [part.traced for part in (self.loads, self.ports) if part is not None]
        return (*self.externals, *self.traced, *(external for traced in further for external in traced))

    def split(self, x: Any) -> tuple[Any, Any]:
        """Return the parts q and v of a state x = [q; v]."""
        if isinstance(x, np.ndarray):
            return x[: self.nq], x[self.nq :]
        # With one index CasADi makes an empty slice of a 1 x 1 matrix a row.
        return x[: self.nq, :], x[self.nq :, :]

    def _function(self, name: str, results: list[Any]) -> ca.Function:
        return with_externals(name, [self.t, self.q, self.v, self.u, self.p], results, self.externals)

    @cached_property
    def accelerations(self) -> ca.Function:
        """The function (t, q, v, u, p) -> vdot; of a DAE, the one that keeps the constraints at acceleration level."""
        if self.augmentation is not None:
            return first_of(self._augmented("kp_accelerations", self.baumgarte), 0)
        if self.lam.numel():
            return self._function("kp_accelerations", [self._with_multipliers(self.baumgarte)[0]])
        vdot = self.vdot
        if vdot is None:
            vdot = solve_symmetric(self.M, self.f) if self.nv else ca.SX(0, 1)
        return self._function("kp_accelerations", [vdot])

    @cached_property
    def multipliers(self) -> ca.Function:
        """The function (t, q, v, u, p) -> lam, from the accelerations that keep the constraints, without stabilisation."""
        if self.augmentation is not None:
            return first_of(self._augmented("kp_multipliers", 0.0), 1)
        lam = self._with_multipliers(0.0)[1] if self.lam.numel() else type(self.q)(0, 1)
        return self._function("kp_multipliers", [lam])

    def constrained_accelerations(self) -> tuple[Any, Any]:
        """Return vdot and lam of a DAE as expressions, without stabilisation."""
        return self._with_multipliers(0.0)

    def _with_multipliers(self, rate: float) -> tuple[Any, Any]:
        """Return vdot and lam from M vdot = f - A' lam and the second derivative of the constraints."""
        drift = self._drift(rate)
        solved = solve_symmetric(self.M, ca.horzcat(self.A.T, self.f))
        M_inverse_A, free = solved[:, :-1], solved[:, -1]
        lam = solve_symmetric(self.A @ M_inverse_A, self.A @ free + drift)
        return free - M_inverse_A @ lam, lam

    def _augmented(self, name: str, rate: float) -> ca.Function:
        """Return the function (t, q, v, u, p) -> vdot, lam of equations whose mass matrix is singular."""
        assert self.augmentation is not None
        system = self.augmentation.system(self.M, self.A, self.owners, self.f, -self._drift(rate))
        return self.augmentation.solved(self._function(name, list(system)), self.nv, self.owners)

    def _drift(self, rate: float) -> Any:
        """Return what the second derivative of the constraints is without accelerations, with Baumgarte's terms."""
        speed = self.A @ self.v + self.b
        drift = ca.jtimes(speed, self.q, self.N @ self.v) + ca.jacobian(speed, self.t)
        if rate:
            errors = ca.vertcat(self.phi, type(self.q)(speed.numel() - self.phi.numel(), 1))
            drift = drift + 2 * rate * speed + rate**2 * errors
        return drift

    @property
    def regular_mass(self) -> Any:
        """The mass matrix, with A' W A added where it is singular: a metric in which motions that A forbids are heavy, too."""
        return self.M if self.augmentation is None else self.augmentation.mass(self.M, self.A)

    @cached_property
    def constraint_residuals(self) -> ca.Function:
        """The function (t, q, v, p) -> phi, A v + b."""
        return with_externals("kp_constraints", [self.t, self.q, self.v, self.p], [self.phi, self.A @ self.v + self.b], ())

    @cached_property
    def corrections(self) -> ca.Function:
        """The function (t, q, v, p) -> smallest changes, in the mass metric, of q along N and of v that mend constraints."""
        rows = self.phi.numel()
        G = self.A[:rows, :]
        if self.augmentation is not None:
            return corrections(self, self.augmentation)
        solved = solve_symmetric(self.M, self.A.T)
        moved = solve_symmetric(G @ solved[:, :rows], self.phi) if rows else type(self.q)(0, 1)
        dv = -solved @ solve_symmetric(self.A @ solved, self.A @ self.v + self.b)
        dq = -self.N @ (solved[:, :rows] @ moved)
        return with_externals("kp_corrections", [self.t, self.q, self.v, self.p], [dq, dv], ())

    def projected(self, t: Any, x: Any, p: Any, iterations: int = PROJECTIONS) -> Any:
        """Return the state with its constraint errors taken away: positions by Newton's method, then speeds."""
        if not self.lam.numel():
            return x
        q, v = self.split(x)
        for _ in range(iterations):
            q = q + self.corrections(t, q, v, p)[0]
        v = v + self.corrections(t, q, v, p)[1]
        return ca.vertcat(q, v)

    @cached_property
    def kinematics(self) -> ca.Function:
        """The function (q, v, p) -> qdot."""
        return with_externals("kp_kinematics", [self.q, self.v, self.p], [self.N @ self.v], ())

    @cached_property
    def rhs(self) -> ca.Function:
        """The function (t, x, u, p) -> xdot with the state x = [q; v]."""
        t, x, u, p = self._state_symbols()
        q, v = self.split(x)
        xdot = ca.vertcat(self.kinematics(q, v, p), self.accelerations(t, q, v, u, p))
        return ca.Function("kp_rhs", [t, x, u, p], [ca.densify(xdot)], ["t", "x", "u", "p"], ["xdot"])

    @cached_property
    def rhs_jacobian(self) -> ca.Function:
        """The function (t, x, u, p) -> d xdot / d x, by automatic differentiation."""
        t, x, u, p = self._state_symbols()
        jacobian = ca.jacobian(self.rhs(t, x, u, p), x)
        return ca.Function("kp_jacobian", [t, x, u, p], [ca.densify(jacobian)])

    @cached_property
    def observe(self) -> ca.Function:
        """The function (t, x, u, p) -> values of :attr:`channels`."""
        t, x, u, p = self._state_symbols()
        unit = self.normalised(x)
        q, v = self.split(unit)
        values = [unit, self.observations(t, q, v, u, p)]
        if self.loads is not None:
            # Reactions belong to accelerations without stabilisation.
            exact = self if not self.baumgarte else replace(self, baumgarte=0.0)
            vdot = exact.accelerations(t, q, v, u, p)
            lam = self.multipliers(t, q, v, u, p) if self.lam.numel() else ca.MX(0, 1)
            values.append(self.loads.function(t, q, v, vdot, lam, u, p))
        if self.ports is not None:
            values.append(self.ports.values(self, t, q, v, u, p))
        observe = ca.Function("kp_observe", [t, x, u, p], [ca.densify(ca.vertcat(*values))])
        plain = self.loads is None and self.ports is None
        return observe if plain or self.all_externals or self.nv > FUSED else fused(observe)

    @cached_property
    def observations(self) -> ca.Function:
        """The function (t, q, v, u, p) -> outputs and energies."""
        energies = ca.vertcat(self.kinetic, self.potential, self.kinetic + self.potential)
        return self._function("kp_observations", [ca.vertcat(self.outputs, energies)])

    @cached_property
    def descriptor(self) -> ca.Function:
        """The function (t, q, v, u, p) -> M, f, vdot, for a look at one state."""
        parts = self._function("kp_parts", [self.M, self.f])
        symbols = [ca.MX.sym(name, item.numel()) for name, item in zip("tqvup", self._symbols, strict=True)]
        return ca.Function("kp_descriptor", symbols, [*parts.call(symbols), self.accelerations(*symbols)])

    @cached_property
    def guard(self) -> ca.Function | None:
        """The function x -> regularity of each joint in :attr:`guarded_joints`, or None if none can be singular."""
        if not self.joint_coordinates:
            return None
        space = ca.SX.sym("q", self.nq)
        measures = []
        row = 0
        for joint in self.mechanism.joints:
            kind = JOINT_KINDS[joint.kind]
            q = space[row : row + len(joint.positions), :]
            row += len(joint.positions)
            measure = kind.regularity(q, joint.sequence or "")
            if measure is not None:
                measures.append(measure)
        if not measures:
            return None
        x = ca.vertcat(space, ca.SX.sym("v", self.nv))
        return ca.Function("kp_guard", [x], [ca.densify(ca.vertcat(*measures) - SINGULAR)])

    @property
    def guarded_joints(self) -> tuple[str, ...]:
        """The joints whose coordinates can become singular."""
        symbol = ca.SX.sym("q", 7)
        return tuple(
            joint.name
            for joint in self.mechanism.joints
            if JOINT_KINDS[joint.kind].regularity(symbol, joint.sequence or "") is not None
        )

    @cached_property
    def quaternions(self) -> tuple[int, ...]:
        """The rows in q at which unit quaternions of joints begin."""
        return quaternion_rows(self.mechanism) if self.joint_coordinates else ()

    def normalised(self, x: Any) -> Any:
        """Return the state ``x`` with its quaternions scaled to unit length.

        Poses depend on a quaternion's direction alone, and its rate keeps its length, so this takes away nothing but the
        rounding and truncation errors of an integrator.
        """
        if not self.quaternions:
            return x
        pieces, row = [], 0
        for first in self.quaternions:
            e = x[first : first + 4]
            pieces += [x[row:first], e / ca.sqrt(ca.dot(e, e))]
            row = first + 4
        return ca.vertcat(*pieces, x[row:])

    @property
    def position_quantities(self) -> tuple[Quantity, ...]:
        """Names and units of q."""
        return self.mechanism.coordinates if self.coordinates is None else self.coordinates

    @property
    def speed_quantities(self) -> tuple[Quantity, ...]:
        """Names and units of v."""
        return self.mechanism.speeds if self.speeds is None else self.speeds

    @property
    def joint_coordinates(self) -> bool:
        """Whether q and v are the joint coordinates and speeds of the mechanism."""
        return self.coordinates is None

    @property
    def channels(self) -> tuple[Channel, ...]:
        """What :attr:`observe` returns: coordinates, generalized speeds, outputs and energies."""
        return (
            *(Channel(quantity.name, quantity.unit) for quantity in (*self.position_quantities, *self.speed_quantities)),
            *self.output_channels,
            *(Channel(name, "J") for name in ENERGIES),
            *(self.loads.channels if self.loads else ()),
            *(self.ports.channels if self.ports else ()),
        )

    def start(self, parameters: Mapping[str, float]) -> FloatArray:
        """Return the initial joint coordinates and speeds that the mechanism declares, at the given parameters."""
        q: list[float] = []
        v: list[float] = []
        for joint in self.mechanism.joints:
            values = [float(evaluate(value, parameters)) for value in joint.start_values]
            q += values[: len(joint.positions)]
            v += values[len(joint.positions) :]
        return np.array(q + v)

    def check_mass_matrix(self, x: FloatArray, p: FloatArray) -> None:
        """Refuse a mass matrix that is not positive definite at the state ``x``, naming the speed to blame."""
        if self.nv == 0:
            return
        if self.augmentation is not None:
            check_motions(self, self.augmentation, x, p)
            return
        # Of M alone: forces need not make sense at the time 0 and without inputs.
        M = np.asarray(self._function("kp_mass", [self.M])(0.0, *self.split(x), np.zeros(self.nu), p))
        scale = np.sqrt(np.diag(M).clip(min=np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
        # A scaled eigenvalue below n * eps is zero to round-off: the accelerations would be noise.
        if np.diag(M).min() <= 0.0 or values[0] < len(M) * np.finfo(float).eps:
            worst = int(np.argmax(np.abs(vectors[:, 0]))) if np.diag(M).min() > 0.0 else int(np.argmin(np.diag(M)))
            name = self.speed_quantities[worst].name.removesuffix(".rate")
            raise MechanismError(
                f"the mass matrix is singular at the start: nothing resists an acceleration of '{name}' "
                f"(M[{worst}, {worst}] = {M[worst, worst]:g}). Give the bodies beyond that joint mass or inertia, "
                "or weld it"
            )

    @property
    def _symbols(self) -> list[Any]:
        return [self.t, self.q, self.v, self.u, self.p]

    def _state_symbols(self) -> tuple[ca.MX, ca.MX, ca.MX, ca.MX]:
        sizes = {"t": 1, "x": self.nq + self.nv, "u": self.nu, "p": self.np}
        t, x, u, p = (ca.MX.sym(name, size) for name, size in sizes.items())
        return t, x, u, p


def output_channels(mechanism: Mechanism, signals: Mapping[str, tuple[Any, str]]) -> tuple[Channel, ...]:
    """Return the channels of a mechanism's outputs and of what its forces show."""
    shown = [Channel(name, unit) for name, (_, unit) in signals.items()]
    return (*(Channel(f"{output.name}.{axis}", output.unit, "world") for output in mechanism.outputs for axis in "xyz"), *shown)
