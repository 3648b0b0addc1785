"""What the implicit integrators share: the parts of the descriptor form as functions, and the scaled equations of a step."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from kingpost.equations.equations import Equations
from kingpost.equations.newton import ImplicitStepMap, StepProblem, Unscaled, straightened
from kingpost.symbols.externals import with_externals
from kingpost.symbols.straightline import solve_symmetric


class Parts:
    """The parts of some equations as functions of t, q, v, u and p that keep their sparsity."""

    #: Whether jumps and projections are solved for as sparse systems in their own order.
    ordered = False

    def __init__(self, equations: Equations, *, branches: bool = True) -> None:
        self.equations = equations
        #: Whether what follows from inputs that change may be left out where they do not.
        self.branches = branches
        self.nq, self.nv, self.m = equations.nq, equations.nv, equations.constraints.count
        #: Rows of constraints on positions; the others are on speeds alone.
        self.holonomic = equations.constraints.holonomic
        self.mass = self._function("mass", equations.M)
        self.force = self._function("force", equations.f)
        self.potential = self._function("potential", equations.potential)
        self._rate_map = self._function("rate_map", equations.N)
        self.positions, self.jacobian, self.drift = (
            self._function(name, item) if self.m else None
            for name, item in (
                ("positions", equations.constraints.phi),
                ("jacobian", equations.constraints.A),
                ("drift", equations.constraints.b),
            )
        )

    def _function(self, name: str, expression: Any) -> ca.Function:
        e = self.equations
        symbols = [e.t, e.q, e.v, e.u, e.p]
        if any(ca.depends_on(expression, external.symbols) for external in e.externals):
            return with_externals(f"kp_{name}", symbols, [expression], e.externals)
        return ca.Function(f"kp_{name}", symbols, [expression])

    @property
    def hidden(self) -> bool:
        """Whether the energies depend on the coordinates through functions that are no expressions."""
        e = self.equations
        return any(ca.depends_on(ca.vertcat(ca.vec(e.M), e.potential), external.symbols) for external in e.externals)

    @cached_property
    def rates(self) -> bool:
        """Whether the speeds are the rates of the coordinates, N = I, but for coordinates that nothing changes with."""
        if self.nq != self.nv + self.equations.coordinates.followers:
            return False
        rng = np.random.default_rng(0)
        samples = [rng.uniform(0.1, 1.0, self.nq) for _ in range(3)]
        v, u, p = np.zeros(self.nv), np.zeros(self.equations.u.numel()), np.ones(self.equations.np)
        maps = [np.asarray(self._rate_map(0.0, q, v, u, p))[: self.nv] for q in samples]
        return all(np.array_equal(N, np.eye(self.nv)) for N in maps)

    def M(self, s: Interval, q: ca.MX) -> ca.MX:
        """Return the mass matrix."""
        return self.mass(s.t, q, s.v, s.start.u, s.p)

    def inertial(self, s: Interval, q: ca.MX, w: ca.MX) -> ca.MX:
        """Return M(q) w."""
        return self.M(s, q) @ w

    def inertia(self, s: Interval) -> ca.MX:
        """Return the size of the inertia of every speed, positive also where M has none."""
        if self.equations.structure.augmentation is not None:
            return ca.MX(ca.DM(self.equations.structure.augmentation.inertia))
        diagonal = ca.densify(ca.diag(self.M(s, s.q)))
        return diagonal + (diagonal == 0)

    def size(self, s: Interval) -> ca.MX:
        """Return the size of the coordinates, those left out that only count turns: however many, steps are as accurate."""
        acting = s.q[: self.nq - self.equations.coordinates.followers, :]
        return 1 + ca.norm_inf(acting) if acting.numel() else ca.MX(1)

    def N(self, s: Interval, q: ca.MX) -> ca.MX:
        """Return the map from speeds to rates."""
        plain = self.rates and not self.equations.coordinates.followers
        return ca.MX.eye(self.nq) if plain else self._rate_map(s.t, q, s.v, s.start.u, s.p)

    def f(self, s: Interval, at: Moment, q: ca.MX, v: ca.MX) -> ca.MX:
        """Return the generalized forces, gyroscopic ones among them."""
        return self.force(at.t, q, v, at.u, s.p)

    def state_rates(self, s: Interval, at: Moment, q: ca.MX, v: ca.MX) -> ca.MX:
        """Return the rates of the states of forces."""
        return self._state_rates(at.t, q, v, at.u, s.p)

    @property
    def _state_rates(self) -> ca.Function:
        return self.equations.state_rates

    def V(self, s: Interval, at: Moment, q: ca.MX) -> ca.MX:
        """Return the potential energy."""
        return self.potential(at.t, q, s.v, at.u, s.p)

    def phi(self, s: Interval, at: Moment, q: ca.MX) -> ca.MX:
        """Return the constraints on positions."""
        return ca.MX(0, 1) if self.positions is None else self.positions(at.t, q, s.v, at.u, s.p)

    def A(self, s: Interval, at: Moment, q: ca.MX) -> ca.MX:
        """Return the matrix of the constraints on speeds."""
        return ca.MX(0, self.nv) if self.jacobian is None else self.jacobian(at.t, q, s.v, at.u, s.p)

    def b(self, s: Interval, at: Moment, q: ca.MX) -> ca.MX:
        """Return the part of the constraints on speeds that is free of them."""
        return ca.MX(0, 1) if self.drift is None else self.drift(at.t, q, s.v, at.u, s.p)

    def rolling(self, s: Interval, at: Moment, q: ca.MX, v: ca.MX) -> ca.MX:
        """Return the constraints on speeds that do not follow from positions."""
        rows = slice(self.holonomic, self.m)
        return self.A(s, at, q)[rows, :] @ v + self.b(s, at, q)[rows, :]

    def solve(self, s: Interval, q: ca.MX, right: ca.MX) -> ca.MX:
        """Return M(q)^-1 right; where M is singular, with the matrix that constraints make regular."""
        e = self.equations
        symbol = type(e.q).sym("right", self.nv)
        function = ca.Function("kp_solve", [e.t, e.q, e.v, e.u, e.p, symbol], [solve_symmetric(e.regular_mass, symbol)])
        return function(s.t, q, s.v, s.start.u, s.p, right)

    def jump(self, s: Interval, before: ca.MX) -> ca.MX:
        """Return by how much the accelerations at the start of a step change with inputs that were ``before`` until then."""
        if not self.equations.nu:
            return ca.MX.zeros(self.nv)
        return self._where_changed("kp_jump", s, before, self.equations.accelerations)

    def state_jump(self, s: Interval, before: ca.MX) -> ca.MX:
        """Return the same of the rates of states."""
        if not (self.equations.nu and self.equations.nz):
            return ca.MX.zeros(self.equations.nz)
        return self._where_changed("kp_state_jump", s, before, self._state_rates)

    def _where_changed(self, name: str, s: Interval, before: ca.MX, function: ca.Function) -> ca.MX:
        """Return by how much a function of (t, q, v, u, p) changes with the inputs; it is evaluated only where they do."""
        if not self.branches:
            with_now, with_then = (function(s.t, s.q, s.v, ca.vertcat(u, s.z), s.p) for u in (s.inputs, before))
            return with_now - with_then
        given = [s.t, s.q, s.v, s.z, s.inputs, before, s.p]
        edges = [int(edge) for edge in np.cumsum([0, *(item.numel() for item in given)])]
        # One argument: CasADi loses the slopes of custom_jacobian where one of several is empty.
        whole = ca.MX.sym("whole", edges[-1])
        t, q, v, z, now, then, p = ca.vertsplit(whole, edges)
        with_now, with_then = (function(t, q, v, ca.vertcat(u, z), p) for u in (now, then))
        return self._if_any(ca.Function(name, [whole], [ca.densify(with_now - with_then)]), function, given, edges)

    def _if_any(self, jump: ca.Function, function: ca.Function, given: list[ca.MX], edges: list[int]) -> ca.MX:
        """Return a jump as it is where inputs have changed, and zero where they have not."""
        jump = jump if self.equations.solves_sparsely or self.ordered else straightened(jump, self.equations)
        size, nu = jump.numel_out(0), self.equations.nu
        # Inputs that have not changed make no jump, but each of them would make one if it alone changed: these are its slopes.
        whole, result = ca.MX.sym("i0", edges[-1]), ca.MX.sym("out_o0", ca.Sparsity(size, 1))
        t, q, v, z, now, _, p = ca.vertsplit(whole, edges)
        symbols = [ca.MX.sym(f"s{k}", item.numel()) for k, item in enumerate([t, q, v, ca.vertcat(now, z), p])]
        slope = ca.Function("kp_slopes", symbols, [ca.jacobian(function(*symbols), symbols[3])[:, :nu]])
        slopes = slope(t, q, v, ca.vertcat(now, z), p)
        blocks = ca.horzcat(ca.MX(size, edges[4]), slopes, -slopes, ca.MX(size, edges[-1] - edges[4] - 2 * nu))
        jacobian = ca.Function(f"jac_{jump.name()}", [whole, result], [blocks], ["i0", "out_o0"], ["jac_o0_i0"])
        options: dict[str, Any] = {
            "custom_jacobian": jacobian,
            "enable_forward": False,
            "enable_reverse": False,
            "never_inline": True,
        }
        no_jump = ca.Function(jump.name(), [ca.MX.sym("i0", edges[-1])], [ca.MX.zeros(size)], options)
        same = ca.sum1(ca.fabs(given[4] - given[5])) == 0
        return ca.Function.if_else(f"{jump.name()}_if_any", no_jump, jump)(same, ca.vertcat(*given))

    def fitted(self, at: Moment, q: ca.MX, v: ca.MX, p: ca.MX) -> ca.MX:
        """Return speeds projected onto the constraints in the mass metric."""
        return v + self.equations.corrections(at.t, q, v, p)[1] if self.m else v

    def unconservative(self, s: Interval, at: Moment, q: ca.MX, v: ca.MX) -> ca.MX:
        """Return the forces without potential, where N = I: f + dM/dt v - dT/dq + dV/dq."""
        place, speed = ca.MX.sym("q", self.nq), ca.MX.sym("v", self.nv)
        known = [s.t, s.start.u, s.p]
        symbols = [ca.MX.sym("i", item.numel()) for item in known]
        momentum = self.mass(symbols[0], place, speed, *symbols[1:]) @ speed
        moved = ca.vertcat(speed, ca.MX(self.equations.coordinates.followers, 1))
        change = ca.Function("kp_change", [place, speed, *symbols], [ca.jtimes(momentum, place, moved)])(q, v, *known)
        return self.f(s, at, q, v) + change - self.kinetic_slope(s, q, v, v) + self.potential_slope(s, at, q)

    def kinetic_slope(self, s: Interval, q: ca.MX, left: ca.MX, right: ca.MX) -> ca.MX:
        """Return the derivative of left . M(q) right / 2 with respect to q, but for those that nothing changes with."""
        return self._kinetic_slope(q, left, right, s.t, s.start.u, s.p)[: self.nq - self.equations.coordinates.followers, :]

    def potential_slope(self, s: Interval, at: Moment, q: ca.MX) -> ca.MX:
        """Return dV/dq, but for coordinates that nothing changes with."""
        return self._potential_slope(q, at.t, at.u, s.p)[: self.nq - self.equations.coordinates.followers, :]

    @cached_property
    def _kinetic_slope(self) -> ca.Function:
        q, left, right, t, u, p = self._symbols(2)
        energy = ca.dot(left, self.mass(t, q, left, u, p) @ right) / 2
        return ca.Function("kp_kinetic_slope", [q, left, right, t, u, p], [ca.gradient(energy, q)])

    @cached_property
    def _potential_slope(self) -> ca.Function:
        q, v, t, u, p = self._symbols(1)
        # The potential does not depend on speeds; zeros in their place leave nothing free.
        energy = self.potential(t, q, ca.MX.zeros(v.numel()), u, p)
        return ca.Function("kp_potential_slope", [q, t, u, p], [ca.gradient(energy, q)])

    def _symbols(self, speeds: int) -> list[ca.MX]:
        e = self.equations
        sizes = [self.nq, *([self.nv] * speeds), 1, e.u.numel(), e.np]
        return [ca.MX.sym(f"i{k}", size) for k, size in enumerate(sizes)]


@dataclass(frozen=True, eq=False)
class Moment:
    """A time, and what acts at it: inputs, and states of forces."""

    t: ca.MX
    u: ca.MX


@dataclass(frozen=True, eq=False)
class Interval:
    """One step: its start, its length, and what stays the same over it."""

    t: ca.MX
    h: ca.MX
    q: ca.MX
    v: ca.MX
    #: The states of forces at both ends.
    z: ca.MX
    z1: ca.MX
    inputs: ca.MX
    p: ca.MX
    memory: ca.MX

    def at(self, part: float) -> Moment:
        """Return the moment after a part of the step."""
        acting = self.inputs
        if self.z.numel():
            acting = ca.vertcat(self.inputs, (1 - part) * self.z + part * self.z1)
        return Moment(self.t + part * self.h, acting)

    @property
    def start(self) -> Moment:
        return Moment(self.t, ca.vertcat(self.inputs, self.z) if self.z.numel() else self.inputs)

    @property
    def middle(self) -> Moment:
        acting = ca.vertcat(self.inputs, (self.z + self.z1) / 2) if self.z.numel() else self.inputs
        return Moment(self.t + self.h / 2, acting)

    @property
    def end(self) -> Moment:
        return Moment(self.t + self.h, ca.vertcat(self.inputs, self.z1) if self.z.numel() else self.inputs)


class DescriptorStep(ImplicitStepMap):
    """Base of methods whose unknowns are coordinates, speeds and multipliers.

    Where N = I the coordinates are eliminated: they are known with the speeds.
    """

    problems = ("ode", "index-3 dae")
    #: Whether steps in directors are solved for the motions of bodies where that goes: not near half a turn of a body in one
    #: step, which is left to the equations for all coordinates.
    by_bodies: ClassVar[bool] = True
    #: Whether :meth:`displacement`, as this very class has it, takes N at the mean of the coordinates before and after.
    about_mean: ClassVar[bool] = False
    #: Whether the speeds are projected onto the constraints after a step.
    fits: ClassVar[bool] = False

    @abstractmethod
    def displacement(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        """Return the change of the coordinates; where N = I, ``q1`` must not be used but through N."""

    @abstractmethod
    def balance(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX, lam: ca.MX) -> ca.MX:
        """Return the change of momentum less the impulses of all forces: what must vanish."""

    def rolling(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        """Return the constraints that are on speeds alone, as the method imposes them."""
        return parts.rolling(s, s.end, q1, v1)

    def carried(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX) -> ca.MX:
        """Return the change of the states of forces less what their rates make it: what must vanish; here at the middle."""
        return s.z1 - s.z - s.h * parts.state_rates(s, s.middle, (s.q + q1) / 2, (s.v + v1) / 2)

    def speeds_after(self, parts: Parts, s: Interval, change: ca.MX) -> ca.MX | None:
        """Return the speeds after a step in which the coordinates change by this, where N = I: :meth:`displacement`, inverted.

        None, as here, if nobody says: then the step is not solved for the motions of bodies.
        """
        return None

    def expected(self, parts: Parts, s: Interval) -> ca.MX:
        """Return what the change of the coordinates may be, where N = I: a first guess of an iteration."""
        return s.h * s.v

    def held_at(self, s: Interval, q1: ca.MX) -> ca.MX:
        """Return the coordinates at which :meth:`balance` takes the directions of forces of constraints."""
        return q1

    def after(self, parts: Parts, s: Interval, q1: ca.MX, v1: ca.MX, lam: ca.MX) -> tuple[ca.MX, ca.MX, ca.MX]:
        """Return coordinates and speeds after the step, and what is remembered."""
        return q1, v1, ca.MX(0, 1)

    def refreshed(self, parts: Parts, s: Interval) -> ca.MX:
        """Return what is remembered as the step needs it; found once for each step."""
        return s.memory

    def check(self, parts: Parts) -> None:
        """Refuse equations that the method is not made for."""

    def solving(self, equations: Equations) -> StepProblem:
        from kingpost.plugins.integrators.rigid import rigid_step  # they are built on this
        from kingpost.plugins.integrators.rigid_joints import jointed_step

        rigid = rigid_step(self, equations) or jointed_step(self, equations) if self.by_bodies else None
        return rigid or self.problem(equations, branches=True)

    def problem(self, equations: Equations, *, branches: bool = False) -> StepProblem:
        # Steps that are solved all at once are differentiated twice, and their inputs change at every one: no branches there.
        return self.stated(Parts(equations, branches=branches))

    def stated(self, parts: Parts) -> StepProblem:
        """Return the equations of a step for all coordinates, speeds and multipliers."""
        equations = parts.equations
        self.check(parts)
        sizes = {
            "t": 1,
            "x": equations.nx + self.memory(equations),
            "u": equations.nu,
            "p": equations.np,
            "h": 1,
        }
        t, x, u, p, h = known = [ca.MX.sym(name, size) for name, size in sizes.items()]
        nq, nv, nz, m = parts.nq, parts.nv, equations.nz, parts.m
        q, v = equations.split(x)
        z = equations.states_of(x)
        s = Interval(t, h, q, v, z, z, u, p, x[equations.nx :, :])
        guess = self._guess(parts, s, known)
        factors = ca.MX.sym("factors", guess.numel_out(1))
        edges = [0, 1, 1 + nv, 1 + nv + m, 1 + nv + m + nz, factors.numel()]
        size, inertia, share, load, memory = ca.vertsplit(factors, edges)
        extra = 0 if parts.rates else nq
        unknowns = ca.MX.sym("unknowns", extra + nv + m + nz)
        place, speed, held, led = ca.vertsplit(unknowns, [0, extra, extra + nv, extra + nv + m, unknowns.numel()])
        s = replace(s, memory=memory, z1=s.z + led * load)
        v1 = speed * size / h
        lam = held * share * size / h**2
        q1 = s.q + (place * size if extra else self.displacement(parts, s, s.q, v1))
        if equations.coordinates.followers and not extra:
            # Their rates depend on the other coordinates, which are known now.
            q1 = s.q + self.displacement(parts, s, q1, v1)
        rows = [
            h * self.balance(parts, s, q1, v1, lam) / inertia,
            parts.phi(s, s.end, q1),
            h * self.rolling(parts, s, q1, v1) if m > parts.holonomic else ca.MX(0, 1),
        ]
        if extra:
            rows.insert(0, q1 - s.q - self.displacement(parts, s, q1, v1))
        scaled = [ca.vertcat(*rows) / size, *([self.carried(parts, s, q1, v1) / load] if nz else [])]
        residual = ca.Function("kp_equations", [unknowns, *known, factors], [ca.densify(ca.vertcat(*scaled))])
        # A turn in a step is not h times a mean rate.
        q1 = equations.coordinates.followed(q1, p)
        q1, v1, remembered = self.after(parts, s, q1, v1, lam)
        v1 = parts.fitted(s.end, q1, v1, p) if self.fits else v1
        result = ca.densify(ca.vertcat(q1, v1, s.z1, remembered))
        following = ca.Function("kp_following", [unknowns, *known, factors], [result])
        names = [f"the rate of '{item.name}'" for item in equations.position_quantities] if extra else []
        names += [f"the balance of '{item.name}'" for item in equations.speed_quantities]
        names += [f"closure '{owner}'" for owner in equations.constraints.owners]
        names += [f"the rate of '{item.name}'" for item in equations.states.quantities]
        return StepProblem(
            guess,
            straightened(residual, equations),
            following if equations.solves_sparsely or parts.ordered else straightened(following, equations),
            tuple(names),
            self._unscaled(parts, factors.numel()),
        )

    def _unscaled(self, parts: Parts, count: int) -> Unscaled:
        """Return the scales in :meth:`problem`: factors are size, inertia, share and load, and then what is remembered."""
        e = parts.equations
        nq, nv, m, nz, nx = parts.nq, parts.nv, parts.m, e.nz, e.nx
        extra, scales = 0 if parts.rates else nq, 1 + nv + m + nz
        h, factors = ca.MX.sym("h"), ca.MX.sym("factors", count)
        size, inertia, share, load, _ = ca.vertsplit(factors, [0, 1, 1 + nv, 1 + nv + m, scales, count])
        ones = [ca.MX.ones(n) for n in (extra, parts.holonomic, m - parts.holonomic)]
        weights = ca.vertcat(ca.vertcat(ones[0], h / inertia, ones[1], h * ones[2]) / size, 1 / load)
        taken: ca.Function | None = None
        followed: tuple[int, ...] = ()
        if type(self).after is DescriptorStep.after and not self.fits:
            after, lam, x = ca.MX.sym("after", nx), ca.MX.sym("lam", m), ca.MX.sym("x", nx + self.memory(e))
            parts_of = [(after - x[:nx, :])[:extra, :] / size, after[nq : nq + nv, :] * h / size]
            parts_of += [lam * h**2 / (share * size), (after[nq + nv :, :] - x[nq + nv : nx, :]) / load]
            taken = ca.Function("kp_taken", [after, lam, x, h, factors], [ca.densify(ca.vertcat(*parts_of))])
            followed = tuple(range(nq)) if not extra else tuple(range(nq - e.coordinates.followers, nq))
        return Unscaled(
            scales,
            ca.Function("kp_weights", [h, factors], [ca.densify(weights)]),
            ca.Function("kp_inertia", [h, factors], [ca.densify(inertia)]),
            (extra, extra + nv),
            taken,
            followed,
        )

    def _guess(self, parts: Parts, s: Interval, known: list[ca.MX]) -> ca.Function:
        """Return the function that gives the first guess, constant speeds without multipliers, and the factors."""
        size = parts.size(s)
        inertia = parts.inertia(s)
        A = ca.densify(parts.A(s, s.start, s.q))
        share = 1 / (ca.sum2(A**2 / ca.repmat(inertia.T, parts.m, 1)) + 1e-300) if parts.m else ca.MX(0, 1)
        guess = s.h * s.v / size
        if not parts.rates:
            guess = ca.vertcat(s.h * parts.N(s, s.q) @ s.v / size, guess)
        change = s.h * parts.state_rates(s, s.start, s.q, s.v)
        load = 1 + ca.fabs(s.z) + ca.fabs(change)
        guess = ca.vertcat(guess, ca.MX.zeros(parts.m), change / load)
        scales = ca.vertcat(size, inertia, share, load)
        first = ca.Function("kp_first", known, [ca.densify(guess), ca.densify(scales)])
        if not (parts.equations.solves_sparsely and parts.equations.states.need_accelerations):
            first = straightened(first, parts.equations)
        guess, scales = first.call(known)
        # What is found only where an input has changed is no straight-line code.
        factors = ca.vertcat(scales, self.refreshed(parts, s))
        return ca.Function("kp_guess", known, [guess, ca.densify(factors)])
