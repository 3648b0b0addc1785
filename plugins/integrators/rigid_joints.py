"""The equations of a step in joint speeds and redundant coordinates, where a rigid motion of each body stands for those."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.equations.newton import StepProblem, straightened
from kingpost.equations.rigid_motions import RigidMotions
from kingpost.kernel.codegen import MATRIX
from kingpost.plugins.integrators.implicit import DescriptorStep, Interval, Parts


def jointed_step(method: DescriptorStep, equations: Equations) -> StepProblem | None:
    """Return the equations of a step of a method for motions of bodies and speeds of joints, or None where that cannot be.

    That is where coordinates are not those of rigid bodies, where the method does not take the rates of coordinates at the mean
    of two places, where states of forces follow accelerations or reactions, and where the mass matrix may be singular.
    """
    e = equations
    if e.structure.discrete is None or e.structure.augmentation is not None or e.states.need_accelerations:
        return None
    if e.all_externals or not _about_the_mean(type(method)):
        return None
    parts = JointedParts(e)
    if not parts.rigid.count:
        return None
    method.check(parts)
    problem = JointedStep(method, parts).problem()
    # Machines that are too large for straight-line code would be differentiated as such.
    return None if problem.matrix is None else replace(problem, otherwise=method.stated(Parts(e)))


def _about_the_mean(kind: type[DescriptorStep]) -> bool:
    """Say whether the class that says what the displacement is says that it takes the rates at the mean of both places."""
    owner = next(base for base in kind.__mro__ if "displacement" in vars(base))
    return bool(vars(owner).get("about_mean", False))


class JointedParts(Parts):
    """The parts of equations in natural coordinates and joint speeds."""

    def __init__(self, equations: Equations) -> None:
        super().__init__(equations)
        assert equations.structure.discrete is not None
        natural = equations.structure.discrete.natural
        assert natural.structure.rigid is not None
        self.rigid: RigidMotions = natural.structure.rigid
        self._natural_mass = ca.Function("kp_natural_mass", [natural.q, natural.p], [natural.M])

    def inertial(self, s: Interval, q: ca.MX, w: ca.MX) -> ca.MX:
        """Return P' (M (P w)): a few products of vectors, where the matrix of the joints' motions takes many of columns."""
        P = self.N(s, q)[: self.rigid.coordinates, :]
        return P.T @ (self._natural_mass(q, s.p) @ (P @ w))


@dataclass(frozen=True, eq=False)
class JointedStep:
    """A step whose unknowns are six increments of each body, and the speeds and multipliers of the method.

    Where rates are taken at the mean of two places, q1 - q0 = h N((q0 + q1)/2) v turns each body by Cayley's map, which keeps
    its directors orthonormal. So q1 = F(q0, increments), and B' (q1 - q0 - h N v) = 0 says all that the rows of the coordinates
    say, B being the matrix of rigid motions at the mean place. Bodies are eliminated from the base to the tips, then speeds.
    """

    method: DescriptorStep
    parts: JointedParts

    def problem(self) -> StepProblem:
        """Return the equations; unknowns and rows are in the order of elimination."""
        method, parts = self.method, self.parts
        e, rigid = parts.equations, parts.rigid
        n, nv, m, nz, natural = rigid.count, parts.nv, parts.m, e.nz, rigid.coordinates
        sizes = {"t": 1, "x": e.nx + method.memory(e), "u": e.nu, "p": e.np, "h": 1}
        t, x, u, p, h = known = [ca.MX.sym(name, size) for name, size in sizes.items()]
        q, v = e.split(x)
        z = e.states_of(x)
        s = Interval(t, h, q, v, z, z, u, p, x[e.nx :, :])
        bodies = self._from_the_base()
        guess = self._guess(s, known, bodies)
        factors = ca.MX.sym("factors", guess.numel_out(1))
        edges = [0, 1, 1 + nv, 1 + nv + m, 1 + nv + m + nz, factors.numel()]
        size, inertia, share, load, memory = ca.vertsplit(factors, edges)
        unknowns = ca.MX.sym("unknowns", n + nv + m + nz)
        along, speed, held, led = ca.vertsplit(unknowns, [0, n, n + nv, n + nv + m, n + nv + m + nz])
        back = [bodies.index(k) for k in range(n)]
        s = replace(s, memory=memory, z1=s.z + led * load)
        v1, lam = speed * size / h, held * share * size / h**2
        moved = rigid.changes(s.q[:natural, :], along[back] * size)
        q1 = s.q + ca.vertcat(moved, ca.MX(parts.nq - natural, 1))
        change = method.displacement(parts, s, q1, v1)
        q1 = s.q + ca.vertcat(moved, change[natural:, :])
        rates = rigid.matrix((s.q + q1)[:natural, :] / 2).T @ (moved - change[:natural, :])
        rows = [rates[bodies], h * method.balance(parts, s, q1, v1, lam) / inertia, parts.phi(s, s.end, q1)]
        if m > parts.holonomic:
            rows.append(h * method.rolling(parts, s, q1, v1))
        scaled = [ca.vertcat(*rows) / size, *([method.carried(parts, s, q1, v1) / load] if nz else [])]
        given = [unknowns, *known, factors]
        residual = straightened(ca.Function("kp_equations", given, [ca.densify(ca.vertcat(*scaled))]), e)
        # A turn in a step is not h times a mean rate.
        q1 = e.coordinates.followed(q1, p)
        q1, v1, remembered = method.after(parts, s, q1, v1, lam)
        v1 = parts.fitted(s.end, q1, v1, p) if method.fits else v1
        following = ca.Function("kp_following", given, [ca.densify(ca.vertcat(q1, v1, s.z1, remembered))])
        names = [f"the rate of motion {k} of {name}" for name, count in rigid.names() for k in range(1, count + 1)]
        return StepProblem(
            guess,
            residual,
            following if e.solves_sparsely else straightened(following, e),
            (
                *(names[i] for i in bodies),
                *(f"the balance of '{item.name}'" for item in e.speed_quantities),
                *(f"closure '{owner}'" for owner in e.constraints.owners),
                *(f"the rate of '{item.name}'" for item in e.states.quantities),
            ),
            matrix=self._matrix(residual),
            ordered=True,
            unknowns="motions of bodies, speeds of joints and multipliers",
        )

    def _from_the_base(self) -> list[int]:
        """Return the motions of all bodies, numbered as the bodies are, those of the base first."""
        groups, first = [], 0
        for body in self.parts.rigid.bodies:
            groups.append(range(first, first + body.motions))
            first += body.motions
        return [place for group in reversed(groups) for place in group]

    def _matrix(self, residual: ca.Function) -> ca.Function | None:
        """Return the Jacobian and the residual; the rows of bodies are differentiated by themselves, since they are sparse."""
        if not residual.is_a("SXFunction"):
            return None
        symbols: list[Any] = residual.sx_in()
        left = residual.call(symbols)[0]
        n = self.parts.rigid.count
        slopes = ca.vertcat(*(ca.jacobian(rows, symbols[0]) for rows in (left[:n], left[n:])))
        names, result = residual.name_in(), residual.name_out(0)
        both = ca.cse([slopes, left])
        return ca.Function(MATRIX, symbols, both, names, [f"jac_{result}_{names[0]}", result])

    def _guess(self, s: Interval, known: list[ca.MX], bodies: list[int]) -> ca.Function:
        """Return the first guess, what the method expects without multipliers, and the factors."""
        parts, e, rigid = self.parts, self.parts.equations, self.parts.rigid
        size, inertia = parts.size(s), parts.inertia(s)
        A = ca.densify(parts.A(s, s.start, s.q))
        share = 1 / (ca.sum2(A**2 / ca.repmat(inertia.T, parts.m, 1)) + 1e-300) if parts.m else ca.MX(0, 1)
        expected = self.method.expected(parts, s)
        rates = (parts.N(s, s.q) @ expected)[: rigid.coordinates, :]
        moved = rigid.speeds(s.q[: rigid.coordinates, :], rates)[bodies]
        change = s.h * parts.state_rates(s, s.start, s.q, s.v)
        load = 1 + ca.fabs(s.z) + ca.fabs(change)
        guess = ca.vertcat(moved / size, (2 * expected - s.h * s.v) / size, ca.MX.zeros(parts.m), change / load)
        scales = ca.vertcat(size, inertia, share, load)
        first = ca.Function("kp_first", known, [ca.densify(guess), ca.densify(scales)])
        guess, scales = straightened(first, e).call(known)
        # What is found only where an input has changed is no straight-line code.
        factors = ca.vertcat(scales, self.method.refreshed(parts, s))
        return ca.Function("kp_guess", known, [guess, ca.densify(factors)])
