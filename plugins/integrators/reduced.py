"""The equations of a step in redundant coordinates, reduced by a discrete null-space matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca

from kingpost.equations.discrete_null_space import DiscreteNullSpace
from kingpost.equations.equations import ENERGIES, Equations
from kingpost.equations.newton import StatedStep, StepProblem, Unscaled, straightened
from kingpost.plugins.integrators.implicit import DescriptorStep, Interval, Parts


@dataclass(frozen=True, eq=False)
class ReducedStep:
    """A step of a method with q1 - q0 = h (v0 + v1)/2 in natural coordinates, with as many unknowns as degrees of freedom.

    Documents 000 (eqs. 2.22-2.32, 2.119) and 001 (eqs. 3.24-3.34): with the method's own balance in natural coordinates,

        P(qm)' balance(q1, v1) = 0,     q1 = F(q0, increments),     v1 = 2 (q1 - q0)/h - v0,

    has the same solution as the method itself, since G(qm) P(qm) = 0 and F keeps all joints. Rows of closed loops, and threads
    of screws, keep their multipliers. Document 001, eq. 3.33, sums over all steps to find v1; the rates v are remembered here
    instead, beside the state of coordinates and generalized speeds.
    """

    method: DescriptorStep
    equations: Equations
    space: DiscreteNullSpace

    @property
    def unknowns(self) -> int:
        """The number of unknowns of a step: increments of the joints, multipliers of loops and threads, states of forces."""
        return self.equations.nv + self.space.natural.constraints.count + self.equations.nz

    def problem(self) -> StepProblem:
        e, space = self.equations, self.space
        parts = Parts(space.natural)
        sizes = {"t": 1, "x": e.nx + parts.nv, "u": e.nu, "p": e.np, "h": 1}
        t, x, u, p, h = known = [ca.MX.sym(name, size) for name, size in sizes.items()]
        q, nu, z, v = ca.vertsplit(x, [0, e.nq, e.nq + e.nv, e.nx, x.numel()])
        s = Interval(t, h, q, v, z, z, u, p, ca.MX(0, 1))
        guess = self._guess(parts, s, nu, known)
        factors = ca.MX.sym("factors", guess.numel_out(1))
        count = e.nv + space.kept
        edges = [0, 1, 1 + count, 1 + count + parts.m, 1 + count + parts.m + e.nz, factors.numel()]
        size, inertia, share, load, joints = ca.vertsplit(factors, edges)
        unknowns = ca.MX.sym("unknowns", self.unknowns)
        along, held, led = ca.vertsplit(unknowns, [0, e.nv, e.nv + parts.m, unknowns.numel()])
        s = replace(s, z1=z + led * load)
        lam = held * share * size / h**2
        q1 = space.moved(joints, along * size, p)
        v1 = 2 * (q1 - q)[: parts.nv, :] / h - v
        nu1 = space.speeds(q1, v1, p)
        scaled = self._scaled(parts, s, (q1, v1), (nu, nu1), lam, (size, inertia, load))
        residual = ca.Function("kp_equations", [unknowns, *known, factors], [ca.densify(scaled)])
        after = ca.vertcat(q1, nu1, s.z1, v1)
        following = ca.Function("kp_following", [unknowns, *known, factors], [ca.densify(after)])
        names = [f"the balance along motion {i} of the joints" for i in range(count)]
        names += [f"closure '{owner}'" for owner in e.constraints.owners]
        names += [f"the rate of '{item.name}'" for item in e.states.quantities]
        guess, residual, following = (straightened(function, space.natural) for function in (guess, residual, following))
        return StepProblem(guess, residual, following, tuple(names), self._unscaled(parts, known, factors.numel()))

    def _scaled(
        self,
        parts: Parts,
        s: Interval,
        after: tuple[ca.MX, ca.MX],
        speeds: tuple[ca.MX, ca.MX],
        lam: ca.MX,
        scales: tuple[ca.MX, ca.MX, ca.MX],
    ) -> ca.MX:
        """Return the residual, from coordinates and rates after the step, and generalized speeds at both ends."""
        q1, v1 = after
        size, inertia, load = scales
        P = self.space.motions((s.q + q1) / 2, s.p)
        rolling = s.h * self.method.rolling(parts, s, q1, v1) if parts.m > parts.holonomic else ca.MX(0, 1)
        rows = [
            s.h * (P.T @ self.method.balance(parts, s, q1, v1, lam)) / inertia,
            # What moves the joints keeps the last of these.
            parts.phi(s, s.end, q1)[: parts.holonomic - self.space.kept, :],
            rolling,
        ]
        scaled = [ca.vertcat(*rows) / size]
        if self.equations.nz:
            middle, mean = (s.q + q1) / 2, (speeds[0] + speeds[1]) / 2
            change = s.h * self.equations.state_rates(s.middle.t, middle, mean, s.middle.u, s.p)
            scaled.append((s.z1 - s.z - change) / load)
        return ca.vertcat(*scaled)

    def _stated(self, parts: Parts, known: list[ca.MX], factors: ca.MX) -> StatedStep:
        """Return the equations in the state after the step.

        Joints enter by their own rows on q1, of second degree in natural coordinates, in place of joint coordinates that are
        read off the place before and moved: that is for Newton's method in one step, which begins near its end. Where all
        steps are found at once, angles and quaternions make it diverge, or lead to other motions.
        """
        e, space = self.equations, self.space
        t, x, u, p, h = known
        count, m = e.nv + space.kept, parts.m
        edges = [0, 1, 1 + count, 1 + count + m, 1 + count + m + e.nz, factors.numel()]
        size, inertia, _, load, _ = ca.vertsplit(factors, edges)
        after, lam = ca.MX.sym("after", x.numel()), ca.MX.sym("lam", m)
        states = [0, e.nq, e.nq + e.nv, e.nx, x.numel()]
        (q, nu, z, v), (q1, nu1, z1, v1) = (ca.vertsplit(item, states) for item in (x, after))
        s = Interval(t, h, q, v, z, z1, u, p, ca.MX(0, 1))
        residual = self._scaled(parts, s, (q1, v1), (nu, nu1), lam, (size, inertia, load))
        moved = self.method.displacement(parts, s, q1, v1)
        kept, natural = e.coordinates.kept, space.natural
        assert kept is not None
        turned = ca.vertcat(q1[: parts.nv, :], (q + moved)[parts.nv :, :])
        rows = [
            (q1 - q - moved)[: parts.nv, :],
            kept(q1, p),
            # A turn in a step is not h times a mean rate.
            (q1 - natural.coordinates.followed(turned, p))[parts.nv :, :],
            nu1 - space.speeds(q1, v1, p),
        ]
        names = [f"the step of '{item.name}'" for item in e.position_quantities[: parts.nv]]
        names += ["what joints and directors keep"] * kept.numel_out(0)
        names += [f"the step of '{item.name}'" for item in (*e.position_quantities[parts.nv :], *e.speed_quantities)]
        function = ca.Function("kp_stated", [after, lam, *known, factors], [ca.densify(ca.vertcat(residual, *rows))])
        return StatedStep(straightened(function, natural), tuple(names))

    def _unscaled(self, parts: Parts, known: list[ca.MX], total: int) -> Unscaled:
        """Return the scales in :meth:`problem`; behind them are the joint coordinates, which are none."""
        count, m, nz = self.equations.nv + self.space.kept, parts.m, self.equations.nz
        h, factors = ca.MX.sym("h"), ca.MX.sym("factors", total)
        scales = 1 + count + m + nz
        size, inertia, _, load, _ = ca.vertsplit(factors, [0, 1, 1 + count, 1 + count + m, scales, total])
        held, rolling = parts.holonomic - self.space.kept, m - parts.holonomic
        rows = ca.vertcat(h / inertia, ca.MX.ones(held), h * ca.MX.ones(rolling))
        weights = ca.densify(ca.vertcat(rows / size, 1 / load))
        weighing = ca.Function("kp_weights", [h, factors], [weights])
        sizes = ca.Function("kp_inertia", [h, factors], [inertia])
        return Unscaled(scales, weighing, sizes, (0, count), stated=lambda: self._stated(parts, known, factors))

    def _guess(self, parts: Parts, s: Interval, nu: ca.MX, known: list[ca.MX]) -> ca.Function:
        """Return the first guess, constant generalized speeds, and the factors, joint coordinates among them."""
        size = parts.size(s)
        P = self.space.motions(s.q, s.p)
        inertia = ca.densify(ca.sum1(P**2 * ca.repmat(parts.inertia(s), 1, P.shape[1]))).T
        along = ca.densify(parts.A(s, s.start, s.q) @ P)
        share = 1 / (ca.sum2(along**2 / ca.repmat(inertia.T, parts.m, 1)) + 1e-300) if parts.m else ca.MX(0, 1)
        change = s.h * self.equations.state_rates(s.t, s.q, nu, s.start.u, s.p)
        load = 1 + ca.fabs(s.z) + ca.fabs(change)
        first = ca.vertcat(s.h * nu / size, ca.MX.zeros(parts.m), change / load)
        factors = ca.vertcat(size, inertia, share, load, self.space.joints(s.q, s.p))
        return ca.Function("kp_guess", known, [ca.densify(first), ca.densify(factors)])

    def observe(self) -> ca.Function:
        """Return the function (t, x, u, p) -> values of the channels, with the kinetic energy of the rates that are remembered.

        The energy that the method keeps is that of all rates. That of the generalized speeds differs from it by the share of
        the rates that the joints forbid at nodes, which is of second order.
        """
        e, natural = self.equations, self.space.natural
        sizes = {"t": 1, "x": e.nx + natural.nv, "u": e.nu, "p": e.np}
        t, x, u, p = (ca.MX.sym(name, size) for name, size in sizes.items())
        state, v = x[: e.nx, :], x[e.nx :, :]
        kinetic = ca.Function("kp_kinetic", [natural.q, natural.v, natural.p], [natural.kinetic])(state[: e.nq, :], v, p)
        values = e.observe(t, state, u, p)
        names = [channel.name for channel in e.channels]
        own, potential, total = (names.index(name) for name in ENERGIES)
        assert (potential, total) == (own + 1, own + 2)
        before, here, after = values[:own, :], values[potential, :], values[total + 1 :, :]
        mended = ca.vertcat(before, kinetic, here, kinetic + here, after)
        return ca.Function("kp_observe", [t, x, u, p], [ca.densify(mended)])
