"""The equations of a step in redundant coordinates, solved for the motions of rigid bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.equations.equations import Equations
from kingpost.equations.newton import StepProblem, straightened
from kingpost.equations.rigid_motions import RigidMotions
from kingpost.kernel.codegen import MATRIX, ORDERED
from kingpost.multibody.constraints import Constraints
from kingpost.plugins.integrators.implicit import DescriptorStep, Interval, Moment, Parts
from kingpost.plugins.integrators.rigid_system import constrained
from kingpost.symbols.kinds import in_kinds
from kingpost.symbols.straightline import expanded, fused

#: Residuals of up to this many instructions are one function, the fastest; longer ones take a C compiler too long.
SHORT = 6000


def rigid_step(method: DescriptorStep, equations: Equations) -> StepProblem | None:
    """Return the equations of a step of a method for the motions of bodies, or None where it has to be solved otherwise.

    That is where coordinates are not those of rigid bodies, where states of forces follow accelerations or reactions, or where
    the method does not say which speeds belong to a displacement, or says something else of displacement or forces than the
    class that said so.
    """
    rigid = equations.structure.rigid
    if rigid is None or not rigid.count or equations.states.need_accelerations or not _consistent(type(method)):
        return None
    parts = RigidParts(equations, rigid)
    if not parts.rates or parts.nv != rigid.coordinates:
        return None
    method.check(parts)
    whole = method.stated(WholeParts(equations, parts))
    return replace(RigidStep(method, parts).problem(), otherwise=_in_kinds(whole, equations))


def _in_kinds(problem: StepProblem, equations: Equations) -> StepProblem:
    """Return the equations for all coordinates, of many bodies as one function for each kind of them."""
    if equations.all_externals or isinstance(equations.q, ca.MX):
        return problem
    straight = expanded(problem.residual)
    if straight is None or straight.n_instructions() <= SHORT:
        return problem
    rigid = equations.structure.rigid
    assert rigid is not None
    groups: list[Sequence[int]] = [range(body.first, body.first + body.size) for body in rigid.bodies]
    owners = equations.constraints.owners
    for owner in dict.fromkeys(owners):
        groups.append([equations.nv + row for row, name in enumerate(owners) if name == owner])
    groups += [[row] for row in range(equations.nv + len(owners), straight.numel_out(0))]
    residual, matrix = in_kinds(fused(straight), groups, MATRIX)
    return replace(problem, residual=residual, matrix=matrix)


def _consistent(kind: type[DescriptorStep]) -> bool:
    """Say whether one class says what the displacement is, what its inverse is, and where forces of constraints act."""

    def owner(name: str) -> type:
        return next(base for base in kind.__mro__ if name in vars(base))

    inverse = owner("speeds_after")
    return inverse is not DescriptorStep and inverse is owner("displacement") and inverse is owner("balance")


class RigidParts(Parts):
    """The parts of equations without the rows that keep bodies rigid, and what is solved for by their motions alone."""

    ordered = True

    def __init__(self, equations: Equations, rigid: RigidMotions) -> None:
        held = equations.constraints
        rows = [i for i, owner in enumerate(held.owners) if owner not in rigid.inner]
        kept = Constraints(
            held.phi[[i for i in rows if i < held.holonomic]],
            held.A[rows, :],
            held.b[rows],
            type(held.lam).sym("lam", len(rows)),
            tuple(held.owners[i] for i in rows),
        )
        super().__init__(replace(equations, constraints=kept))
        self.rigid, self._whole = rigid, equations

    @property
    def _state_rates(self) -> ca.Function:
        # They take the multipliers of all rows, though none of them looks at these.
        return self._whole.state_rates

    def B(self, q: ca.MX) -> ca.MX:
        """Return the matrix of the motions of all bodies."""
        return self.rigid.matrix(q[: self.nv, :])

    @cached_property
    def touched(self) -> FloatArray:
        """1 for rows of A that touch a body without inertia along one of its motions, else 0."""
        if self.jacobian is None or not self.rigid.bare:
            return np.zeros(self.m)
        A, B = (np.asarray(ca.DM(f.sparsity_out(0), 1).full()) for f in (self.jacobian, self.rigid.matrix))
        return np.asarray(((A @ B)[:, self.rigid.bare] > 0).any(axis=1).astype(float))

    @cached_property
    def _fit(self) -> ca.Function:
        """The function (t, q, v, u, p) -> B nu with A B nu = -b nearest to v in the mass metric."""
        t, q, v, u, p = symbols = self._five()
        speed = ca.MX(0, 1) if self.drift is None else self.drift(t, q, v, u, p)
        return constrained(self, f"{ORDERED}_fitted", symbols, self.mass(*symbols) @ v, -speed)

    @cached_property
    def _response(self) -> ca.Function:
        """The function (t, q, v, u, p) -> accelerations that the forces cause, without those that the constraints ask for."""
        symbols = self._five()
        return constrained(self, "kp_response", symbols, self.force(*symbols), ca.MX.zeros(self.m))

    @cached_property
    def _moved(self) -> ca.Function:
        """The function (t, q, v, u, p, other u) -> by how much the accelerations differ for the two u."""
        symbols = self._five()
        other = ca.MX.sym("other", symbols[3].numel())
        force, before_it = self.force(*symbols), self.force(*symbols[:3], other, symbols[4])
        return constrained(self, f"{ORDERED}_moved", [*symbols, other], force - before_it, ca.MX.zeros(self.m))

    def _five(self) -> list[ca.MX]:
        """Return fresh symbols for t, q, v, u and p."""
        e = self.equations
        return [ca.MX.sym(f"i{k}", item.numel()) for k, item in enumerate([e.t, e.q, e.v, e.u, e.p])]

    def motion_inertia(self, s: Interval, B: ca.MX) -> ca.MX:
        """Return the size of the inertia of every motion."""
        return ca.densify(ca.sum1(B**2 * ca.repmat(self.inertia(s), 1, B.shape[1]))).T

    def shares(self, along: ca.MX, inertia: ca.MX) -> ca.MX:
        """Return the inertia that each row moves; ``along`` is A B."""
        return 1 / (ca.sum2(ca.densify(along) ** 2 / ca.repmat(inertia.T, self.m, 1)) + 1e-300) if self.m else ca.MX(0, 1)

    def fitted(self, at: Moment, q: ca.MX, v: ca.MX, p: ca.MX) -> ca.MX:
        """Return B nu with A B nu = -b nearest to ``v`` in the mass metric."""
        return self._fit(at.t, q, v, at.u, p)

    def jump(self, s: Interval, before: ca.MX) -> ca.MX:
        if not self.equations.nu:
            return ca.MX.zeros(self.nv)
        given = [s.t, s.q, s.v, s.z, s.inputs, before, s.p]
        edges = [int(edge) for edge in np.cumsum([0, *(item.numel() for item in given)])]
        whole = ca.MX.sym("whole", edges[-1])
        t, q, v, z, now, then, p = ca.vertsplit(whole, edges)
        acting = [ca.vertcat(u, z) for u in (now, then)]
        jump = ca.Function("kp_jump", [whole], [self._moved(t, q, v, acting[0], p, acting[1])])
        return self._if_any(jump, self._response, given, edges)


class WholeParts(Parts):
    """The parts of equations for all coordinates, with the jumps and projections of those for the motions of bodies."""

    ordered = True

    def __init__(self, equations: Equations, rigid: RigidParts) -> None:
        super().__init__(equations)
        self.jump = rigid.jump  # type: ignore[method-assign]
        self.fitted = rigid.fitted  # type: ignore[method-assign]


@dataclass(frozen=True, eq=False)
class RigidStep:
    """A step whose unknowns are six increments of each body and the multipliers of joints and closures.

    With the method's own balance, projected onto the motions B of rigid bodies where it takes the directions of forces of
    constraints, and its own displacement, inverted,

        B(q*)' balance(q1, v1, lam) = 0,     q1 = F(q0, increments),     v1 = v1(q1 - q0),     phi(q1) = 0

    has the same solution as the method itself: F keeps the directors orthonormal, and their rows G have G(q*) B(q*) = 0, at q1
    and at the mean of q0 and q1. Half of the coordinates, and all multipliers of directors, are not there.

    A body without inertia along one of its motions would leave a pivot zero; rows of constraints that touch it get multipliers
    lam + W phi / h^2, which are the same where phi = 0, and give it the inertia of what it is held by.
    """

    method: DescriptorStep
    parts: RigidParts

    def problem(self) -> StepProblem:
        """Return the equations; unknowns and rows are in the order of elimination."""
        method, parts = self.method, self.parts
        e, rigid = parts.equations, parts.rigid
        n, m, nz = rigid.count, parts.m, e.nz
        sizes = {"t": 1, "x": e.nx + method.memory(e), "u": e.nu, "p": e.np, "h": 1}
        t, x, u, p, h = known = [ca.MX.sym(name, size) for name, size in sizes.items()]
        q, v = e.split(x)
        z = e.states_of(x)
        s = Interval(t, h, q, v, z, z, u, p, x[e.nx :, :])
        order = rigid.order(e.constraints.owners, nz)
        guess = self._guess(s, known, order)
        factors = ca.MX.sym("factors", guess.numel_out(1))
        edges = [0, 1, 1 + n, 1 + n + m, 1 + n + m + nz, factors.numel()]
        size, inertia, share, load, memory = ca.vertsplit(factors, edges)
        unknowns = ca.MX.sym("unknowns", len(order))
        back = [int(place) for place in np.argsort(order)]
        along, held, led = ca.vertsplit(unknowns[back], [0, n, n + m, n + m + nz])
        s = replace(s, memory=memory, z1=s.z + led * load)
        change = rigid.changes(s.q[: parts.nv, :], along * size)
        v1 = method.speeds_after(parts, s, change)
        assert v1 is not None
        q1 = s.q + ca.vertcat(change, ca.MX(parts.nq - parts.nv, 1))
        if e.coordinates.followers:
            counted = method.displacement(parts, s, q1, v1)[parts.nv :, :]
            q1 = s.q + ca.vertcat(change, counted)
        rows = [parts.phi(s, s.end, q1), h * method.rolling(parts, s, q1, v1) if m > parts.holonomic else ca.MX(0, 1)]
        rates = ca.densify(ca.vertcat(*rows) / size)
        lam = (held + parts.touched * rates if parts.touched.any() else held) * share * size / h**2
        balance = parts.B(method.held_at(s, q1)).T @ method.balance(parts, s, q1, v1, lam)
        scaled = [h * balance / inertia / size, rates, *([method.carried(parts, s, q1, v1) / load] if nz else [])]
        residual = ca.Function("kp_equations", [unknowns, *known, factors], [ca.densify(ca.vertcat(*scaled))[order]])
        residual, matrix = self._in_pieces(residual)
        q1 = e.coordinates.followed(q1, p)
        q1, v1, remembered = method.after(parts, s, q1, v1, lam)
        result = ca.densify(ca.vertcat(q1, v1, s.z1, remembered))
        reached = straightened(ca.Function("kp_reached", [unknowns, *known, factors], [result]), e)
        names = [f"the balance of motion {k} of {name}" for name, count in rigid.names() for k in range(1, count + 1)]
        names += [f"closure '{owner}'" for owner in e.constraints.owners]
        names += [f"the rate of '{item.name}'" for item in e.states.quantities]
        return StepProblem(
            guess,
            residual,
            self._following(reached),
            tuple(names[i] for i in order),
            matrix=matrix,
            ordered=True,
            unknowns="motions of bodies and multipliers",
        )

    def _in_pieces(self, residual: ca.Function) -> tuple[ca.Function, ca.Function | None]:
        """Return the residual, of many bodies as one function for each kind of them, then with its Jacobian."""
        e, rigid = self.parts.equations, self.parts.rigid
        straight = None if e.all_externals or isinstance(e.q, ca.MX) else expanded(residual)
        if straight is None or straight.n_instructions() <= SHORT:
            return straightened(residual, e), None
        groups, first = [], 0
        for body in rigid.bodies:
            count = body.motions + sum(owner in body.follows for owner in e.constraints.owners)
            groups.append(range(first, first + count))
            first += count
        groups += [range(row, row + 1) for row in range(first, residual.numel_out(0))]
        return in_kinds(fused(residual), groups, MATRIX)

    def _following(self, reached: ca.Function) -> ca.Function:
        """Return the state after a step, its speeds projected onto the constraints where the method asks for that."""
        parts, e = self.parts, self.parts.equations
        if not self.method.fits:
            return reached
        arguments = [ca.MX.sym(f"i{k}", reached.numel_in(k)) for k in range(reached.n_in())]
        _, t, _, u, p, h, _ = arguments
        after = reached.call(arguments)[0]
        q1, v1, z1, memory = ca.vertsplit(after, [0, e.nq, e.nq + e.nv, e.nx, after.numel()])
        v1 = parts.fitted(Moment(t + h, ca.vertcat(u, z1)), q1, v1, p)
        return ca.Function("kp_following", arguments, [ca.vertcat(q1, v1, z1, memory)])

    def _guess(self, s: Interval, known: list[ca.MX], order: list[int]) -> ca.Function:
        """Return the first guess, what the method expects without multipliers, and the factors."""
        parts, e = self.parts, self.parts.equations
        size = parts.size(s)
        B = parts.B(s.q)
        inertia = parts.motion_inertia(s, B)
        share = parts.shares(parts.A(s, s.start, s.q) @ B, inertia)
        moved = parts.rigid.speeds(s.q[: parts.nv, :], self.method.expected(parts, s)) / size
        change = s.h * parts.state_rates(s, s.start, s.q, s.v)
        load = 1 + ca.fabs(s.z) + ca.fabs(change)
        guess = ca.densify(ca.vertcat(moved, ca.MX.zeros(parts.m), change / load))[order]
        first = ca.Function("kp_first", known, [guess, ca.densify(ca.vertcat(size, inertia, share, load))])
        guess, scales = straightened(first, e).call(known)
        factors = ca.vertcat(scales, self.method.refreshed(parts, s))
        return ca.Function("kp_guess", known, [guess, ca.densify(factors)])
