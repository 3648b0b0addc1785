"""The equations of motion of a mechanism in one descriptor form, symbols only.

    qdot = N(q) v
    M(q) vdot = f(t, q, v, z, u, p) - G(q)^T lam
    0 = phi(t, q)
    0 = A(t, q) v + b(t, q),     G = A
    zdot = g(t, q, v, vdot, lam, z, u, p)

A formulation fills this in; Jacobians, machine code, step maps and exports are derived from it without more mechanics.

The states z of forces act on the mechanics as inputs do: from outside. So there is one symbol ``u`` for both, the inputs first,
and every function with the arguments (t, q, v, u, p) takes z behind the inputs; :meth:`Equations.acting` puts them together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel, Quantity
from kingpost.equations.augmentation import corrections, first_of
from kingpost.equations.guard import joint_guard
from kingpost.equations.parts import Coordinates, LoadDependence, Observed, States, Structure
from kingpost.equations.treatment import PROJECTIONS, Treatment
from kingpost.mechanism.free_motion import free_motion_channels
from kingpost.mechanism.measures import measure_channels
from kingpost.mechanism.mechanism import Mechanism, quaternion_rows
from kingpost.multibody.constraints import Constraints
from kingpost.symbols.externals import External, with_externals
from kingpost.symbols.straightline import FUSED, fused, solve_symmetric
from kingpost.symbols.types import Symbolic

ENERGIES = ("energy.kinetic", "energy.potential", "energy.total")


@dataclass(frozen=True, eq=False)
class Equations:
    """Symbols t, q, v, u and p, and the expressions of the descriptor form in them (all SX, or all MX).

    ``vdot`` holds the accelerations where a formulation finds them more cheaply than by factorising ``M``. ``externals`` are
    values in the expressions that some function outside them gives.
    """

    mechanism: Mechanism
    formulation: str
    t: Symbolic
    q: Symbolic
    v: Symbolic
    #: Inputs, and then the states of forces.
    u: Symbolic
    p: Symbolic
    N: Symbolic
    M: Symbolic
    f: Symbolic
    #: Energies; None where there is nothing that has any.
    kinetic: Symbolic
    potential: Symbolic
    outputs: Symbolic
    output_channels: tuple[Channel, ...]
    vdot: Symbolic | None = None
    externals: tuple[External, ...] = ()
    #: Externals that the (MX) expressions already call.
    traced: tuple[External, ...] = ()
    constraints: Constraints = field(default_factory=Constraints)
    treatment: Treatment = field(default_factory=Treatment)
    coordinates: Coordinates = field(default_factory=Coordinates)
    states: States = field(default_factory=States)
    observed: Observed = field(default_factory=Observed)
    structure: Structure = field(default_factory=Structure)
    #: How efforts that depend on joint loads were found, if there are some.
    loaded: LoadDependence | None = None

    @property
    def problem(self) -> Literal["ode", "index-3 dae"]:
        """What an integrator must be able to advance."""
        return "index-3 dae" if self.constraints.count else "ode"

    @property
    def nq(self) -> int:
        return int(self.q.numel())

    @property
    def nv(self) -> int:
        return int(self.v.numel())

    @property
    def nz(self) -> int:
        return len(self.states.quantities)

    @property
    def nx(self) -> int:
        """The number of entries of a state [q; v; z]."""
        return self.nq + self.nv + self.nz

    @property
    def nu(self) -> int:
        """The number of inputs."""
        return int(self.u.numel()) - self.nz

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
        observed = [external for observer in self.observed.observers for external in observer.traced]
        return (*self.externals, *self.traced, *self.states.traced, *observed)

    def split(self, x: Any) -> tuple[Any, Any]:
        """Return the parts q and v of a state x = [q; v; z]."""
        end = self.nq + self.nv
        if isinstance(x, np.ndarray):
            return x[: self.nq], x[self.nq : end]
        # With one index CasADi makes an empty slice of a 1 x 1 matrix a row.
        return x[: self.nq, :], x[self.nq : end, :]

    def states_of(self, x: Any) -> Any:
        """Return the part z of a state x = [q; v; z]."""
        first = self.nq + self.nv
        return x[first : self.nx] if isinstance(x, np.ndarray) else x[first : self.nx, :]

    def acting(self, u: Any, x: Any) -> Any:
        """Return the inputs followed by the states z of a state x: what functions of (t, q, v, u, p) take for u."""
        if not self.nz:
            return u
        z = self.states_of(x)
        return np.concatenate([u, z]) if isinstance(x, np.ndarray) else ca.vertcat(u, z)

    def function(self, name: str, results: list[Any]) -> ca.Function:
        """Return the function (t, q, v, u, p) -> some expressions in the symbols of these equations."""
        symbols: Any = self._symbols
        return with_externals(name, symbols, results, self.externals)

    @cached_property
    def plain(self) -> Equations:
        """The same equations without a treatment that solves for some coordinates first."""
        return replace(self, treatment=Treatment(self.treatment.baumgarte)) if self.treatment.solves else self

    @cached_property
    def exact(self) -> Equations:
        """The same equations without stabilisation: what reactions belong to."""
        return replace(self, treatment=replace(self.treatment, baumgarte=0.0)) if self.treatment.baumgarte else self

    @cached_property
    def accelerations(self) -> ca.Function:
        """The function (t, q, v, u, p) -> vdot; of a DAE, the one that keeps the constraints at acceleration level."""
        rate = self.treatment.baumgarte
        if self.treatment.solves:
            t, q, v, u, p = symbols = self._arguments()
            whole = ca.vertcat(q, v, ca.MX(self.nz, 1))
            inner = self.split(self.treatment.projected(self, t, whole, p, PROJECTIONS))
            return ca.Function("kp_accelerations", symbols, [self.plain.accelerations(t, *inner, u, p)])
        if self.structure.road is not None:
            return self.structure.road.accelerations(self, rate)
        if self.structure.augmentation is not None:
            return first_of(self._augmented("kp_accelerations", rate), 0)
        if self.constraints.count:
            return self.function("kp_accelerations", [self._with_multipliers(rate)[0]])
        vdot = self.vdot
        if vdot is None:
            vdot = solve_symmetric(self.M, self.f) if self.nv else ca.SX(0, 1)
        return self.function("kp_accelerations", [vdot])

    @cached_property
    def multipliers(self) -> ca.Function:
        """The function (t, q, v, u, p) -> lam, from the accelerations that keep the constraints, without stabilisation."""
        own = None if self.structure.road is None else self.structure.road.multipliers(self)
        if own is not None:
            return own
        if self.structure.augmentation is not None:
            return first_of(self._augmented("kp_multipliers", 0.0), 1)
        lam = self._with_multipliers(0.0)[1] if self.constraints.count else type(self.q)(0, 1)
        return self.function("kp_multipliers", [lam])

    def _with_multipliers(self, rate: float) -> tuple[Any, Any]:
        """Return vdot and lam from M vdot = f - A' lam and the second derivative of the constraints."""
        A = self.constraints.A
        drift = self.drift(rate)
        solved = solve_symmetric(self.M, ca.horzcat(A.T, self.f))
        M_inverse_A, free = solved[:, :-1], solved[:, -1]
        lam = solve_symmetric(A @ M_inverse_A, A @ free + drift)
        return free - M_inverse_A @ lam, lam

    def _augmented(self, name: str, rate: float) -> ca.Function:
        """Return the function (t, q, v, u, p) -> vdot, lam of equations whose mass matrix is singular."""
        augmentation, held = self.structure.augmentation, self.constraints
        assert augmentation is not None
        system = augmentation.system(self.M, held.A, held.owners, self.f, -self.drift(rate))
        return augmentation.solved(self.function(name, list(system)), self.nv, held.owners)

    def drift(self, rate: float) -> Any:
        """Return what the second derivative of the constraints is without accelerations, with Baumgarte's terms."""
        t, q, v, N, held = self.t, self.q, self.v, self.N, self.constraints
        speed = held.A @ v + held.b
        drift = ca.jtimes(speed, q, N @ v) + ca.jacobian(speed, t)
        if rate:
            errors = ca.vertcat(held.phi, type(q)(speed.numel() - held.holonomic, 1))
            drift = drift + 2 * rate * speed + rate**2 * errors
        return drift

    @property
    def solves_sparsely(self) -> bool:
        """Whether accelerations and corrections contain a factorisation that is no straight-line code."""
        return self.structure.augmentation is not None and not self.structure.augmentation.straight

    @property
    def regular_mass(self) -> Any:
        """The mass matrix, with A' W A added where it is singular: a metric in which motions that A forbids are heavy, too."""
        augmentation = self.structure.augmentation
        return self.M if augmentation is None else augmentation.mass(self.M, self.constraints.A)

    def mass_at(self, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return the mass matrix at a state."""
        return np.asarray(self._mass(0.0, *self.split(x), np.zeros(self.u.numel()), p))

    def masses_at(self, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return the mass matrices at states and parameters in the rows of ``x`` and ``p``."""
        q, v = self.split(x.T)
        side_by_side = np.asarray(self._mass(0.0, q, v, np.zeros(self.u.numel()), p.T))
        return side_by_side.reshape(self.nv, len(x), self.nv).transpose(1, 0, 2)

    @cached_property
    def _mass(self) -> ca.Function:
        # Of M alone: forces need not make sense at the time 0 and without inputs.
        return self.function("kp_mass", [ca.densify(self.M)])

    @cached_property
    def constraint_residuals(self) -> ca.Function:
        """The function (t, q, v, p) -> phi, A v + b."""
        v, held = self.v, self.constraints
        return with_externals(
            "kp_constraints", [self.t, self.q, self.v, self.p], [held.phi, held.A @ v + held.b], self.externals
        )

    @cached_property
    def corrections(self) -> ca.Function:
        """The function (t, q, v, p) -> smallest changes, in the mass metric, of q along N and of v that mend constraints."""
        if self._own_corrections is not None:
            symbols = [symbol for symbol, name in zip(self._arguments(), "tqvup", strict=True) if name != "u"]
            changes = [function(*symbols) for function in self._own_corrections]
            return ca.Function("kp_corrections", symbols, changes)
        if self.structure.augmentation is not None:
            return corrections(self, self.structure.augmentation)
        q, v, N, held = self.q, self.v, self.N, self.constraints
        rows = held.holonomic
        solved = solve_symmetric(self.M, held.A.T)
        moved = solve_symmetric(held.A[:rows, :] @ solved[:, :rows], held.phi) if rows else type(q)(0, 1)
        dv = -solved @ solve_symmetric(held.A @ solved, held.A @ v + held.b)
        dq = -N @ (solved[:, :rows] @ moved)
        return with_externals("kp_corrections", [self.t, self.q, self.v, self.p], [dq, dv], self.externals)

    @cached_property
    def _own_corrections(self) -> tuple[ca.Function, ca.Function] | None:
        return None if self.structure.road is None else self.structure.road.corrections(self)

    def corrected_positions(self, t: Any, q: Any, v: Any, p: Any) -> Any:
        """Return q with the first of :attr:`corrections`."""
        own = self._own_corrections
        return q + (self.corrections(t, q, v, p)[0] if own is None else own[0](t, q, v, p))

    def corrected_speeds(self, t: Any, q: Any, v: Any, p: Any) -> Any:
        """Return v with the second of :attr:`corrections`."""
        own = self._own_corrections
        return v + (self.corrections(t, q, v, p)[1] if own is None else own[1](t, q, v, p))

    def projected(self, t: Any, x: Any, u: Any, p: Any, iterations: int = PROJECTIONS) -> Any:
        """Return the state with errors of constraints, and of its states z, treated as :attr:`treatment` says."""
        return self.with_mended_states(t, self.treatment.projected(self, t, x, p, iterations), u, p, iterations)

    def with_mended_states(self, t: Any, x: Any, u: Any, p: Any, iterations: int = PROJECTIONS) -> Any:
        """Return the state with errors in what must hold between its states z taken away, unless they are to drift."""
        corrections = self.states.corrections
        if corrections is None or not self.treatment.projects:
            return x
        q, v = self.split(x)
        for _ in range(iterations):
            x = ca.vertcat(q, v, self.states_of(x) + corrections(t, q, v, self.acting(u, x), p))
        return x

    @cached_property
    def solution(self) -> ca.Function:
        """The function by which a treatment that solves for some coordinates finds them."""
        return self.treatment.solution(self)

    @cached_property
    def kinematics(self) -> ca.Function:
        """The function (q, v, p) -> qdot."""
        N, v = self.N, self.v
        return with_externals("kp_kinematics", [self.q, self.v, self.p], [N @ v], ())

    @cached_property
    def state_rates(self) -> ca.Function:
        """The function (t, q, v, u, p) -> zdot."""
        t, q, v, u, p = symbols = self._arguments()
        rates = self.states.rates
        if rates is None:
            return ca.Function("kp_state_rates", symbols, [ca.MX(0, 1)])
        vdot, lam = ca.MX.zeros(self.nv), ca.MX.zeros(self.constraints.count)
        if self.states.need_accelerations:
            vdot = self.exact.accelerations(t, q, v, u, p)
            lam = self.multipliers(t, q, v, u, p) if self.constraints.count else lam
        return ca.Function("kp_state_rates", symbols, [ca.densify(rates(t, q, v, vdot, lam, u, p))])

    @cached_property
    def rhs(self) -> ca.Function:
        """The function (t, x, u, p) -> xdot with the state x = [q; v; z]."""
        t, x, u, p = self._state_symbols()
        names = ["t", "x", "u", "p"], ["xdot"]
        if self.treatment.solves:
            # Solved for once, for all parts.
            xdot = self.plain.rhs(t, self.projected(t, x, u, p), u, p)
            return ca.Function("kp_rhs", [t, x, u, p], [ca.densify(xdot)], *names)
        q, v = self.split(x)
        acting = self.acting(u, x)
        parts = [self.kinematics(q, v, p), self.accelerations(t, q, v, acting, p)]
        parts += [self.state_rates(t, q, v, acting, p)] if self.nz else []
        rhs = ca.Function("kp_rhs", [t, x, u, p], [ca.densify(ca.vertcat(*parts))], *names)
        return self._shared(rhs) if self.nz else rhs

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
        observers = self.observed.observers
        # Reactions belong to accelerations without stabilisation.
        vdot, lam = self.reactions(t, unit, u, p) if observers else self.no_reactions
        observe = ca.Function("kp_observe", [t, x, u, p], [ca.densify(self.observed_with(vdot, lam, t, unit, u, p))])
        return self._shared(observe) if observers else observe

    def reactions(self, t: Any, x: Any, u: Any, p: Any) -> tuple[Any, Any]:
        """Return accelerations and multipliers, without stabilisation, at a state of which quaternions have unit length."""
        arguments = (t, *self.split(x), self.acting(u, x), p)
        return self.exact.accelerations(*arguments), self.multipliers(*arguments) if self.constraints.count else ca.MX(0, 1)

    @property
    def no_reactions(self) -> tuple[ca.MX, ca.MX]:
        """What stands for accelerations and multipliers where nothing needs them."""
        return ca.MX.zeros(self.nv), ca.MX.zeros(self.constraints.count)

    def observed_with(self, vdot: Any, lam: Any, t: Any, x: Any, u: Any, p: Any) -> Any:
        """Return the values of :attr:`channels` at a state with quaternions of unit length, and with its :meth:`reactions`."""
        q, v = self.split(x)
        acting = self.acting(u, x)
        values = [x, self.observations(t, q, v, acting, p)]
        values += [observer.values(self, t, q, v, vdot, lam, acting, p) for observer in self.observed.observers]
        return ca.vertcat(*values)

    def _shared(self, function: ca.Function) -> ca.Function:
        """Return a function in which the parts that several of its results need are found once, where that can be done."""
        return function if self.all_externals or self.nv > FUSED else fused(function)

    @cached_property
    def observations(self) -> ca.Function:
        """The function (t, q, v, u, p) -> outputs and energies."""
        kinetic, potential = self.kinetic, self.potential
        energies = [] if kinetic is None else [kinetic, potential, kinetic + potential]
        return self.function("kp_observations", [ca.vertcat(self.outputs, *energies)])

    @cached_property
    def descriptor(self) -> ca.Function:
        """The function (t, q, v, u, p) -> M, f, vdot, for a look at one state."""
        parts = self.function("kp_parts", [self.M, self.f])
        symbols = self._arguments()
        return ca.Function("kp_descriptor", symbols, [*parts.call(symbols), self.accelerations(*symbols)])

    @cached_property
    def guard(self) -> ca.Function | None:
        """The function x -> regularity of each joint that can be singular, or None if none can be singular."""
        return joint_guard(self.mechanism, self.nq, self.nx) if self.joint_coordinates else None

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
        return self.mechanism.coordinates if self.coordinates.positions is None else self.coordinates.positions

    @property
    def speed_quantities(self) -> tuple[Quantity, ...]:
        """Names and units of v."""
        return self.mechanism.speeds if self.coordinates.speeds is None else self.coordinates.speeds

    @property
    def state_quantities(self) -> tuple[Quantity, ...]:
        """Names and units of a state [q; v; z]."""
        return (*self.position_quantities, *self.speed_quantities, *self.states.quantities)

    @property
    def joint_coordinates(self) -> bool:
        """Whether q and v are the joint coordinates and speeds of the mechanism."""
        return self.coordinates.positions is None

    @property
    def channels(self) -> tuple[Channel, ...]:
        """What :attr:`observe` returns: the state, outputs, energies, and what is observed beyond them."""
        return (
            *(Channel(quantity.name, quantity.unit) for quantity in self.state_quantities),
            *self.output_channels,
            *(Channel(name, "J") for name in (() if self.kinetic is None else ENERGIES)),
            *(channel for observer in self.observed.observers for channel in observer.channels),
        )

    @property
    def _symbols(self) -> list[Symbolic]:
        return [self.t, self.q, self.v, self.u, self.p]

    def _arguments(self) -> list[ca.MX]:
        """Return fresh symbols for t, q, v, u and p."""
        return [ca.MX.sym(name, item.numel()) for name, item in zip("tqvup", self._symbols, strict=True)]

    def _state_symbols(self) -> tuple[ca.MX, ca.MX, ca.MX, ca.MX]:
        sizes = {"t": 1, "x": self.nx, "u": self.nu, "p": self.np}
        t, x, u, p = (ca.MX.sym(name, size) for name, size in sizes.items())
        return t, x, u, p


def output_channels(mechanism: Mechanism, signals: Mapping[str, tuple[Any, str]]) -> tuple[Channel, ...]:
    """Return the channels of a mechanism's outputs and measures, of how its free joints move, and of what its forces show."""
    points = [Channel(f"{output.name}.{axis}", output.unit, "world") for output in mechanism.outputs for axis in "xyz"]
    shown = (Channel(name, unit) for name, (_, unit) in signals.items())
    return (*points, *measure_channels(mechanism), *free_motion_channels(mechanism), *shown)
