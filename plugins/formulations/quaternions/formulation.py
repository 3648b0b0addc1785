"""Unit quaternions with their rates as speeds, after document 001, chapter 5.

    q' = v,   M4(q) v' = f - q lam,   0 = (q.q - 1)/2

for every body, which hangs on the world by a spherical or free joint; a free one also has its centre of mass among the
coordinates. Unlike angular velocities, the rates of q are conjugate to momenta p = M4 q', in which document 001 writes its
energy-momentum scheme.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel, Quantity
from kingpost.equations.equations import Equations, output_channels
from kingpost.equations.formulation import Formulation
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.force import Loads
from kingpost.multibody.tree import TreeKinematics
from kingpost.plugins.formulations.directors.forces import SAMPLES, SplitForce, States
from kingpost.plugins.formulations.quaternions.bodies import (
    QuaternionBody,
    QuaternionKinematics,
    check_tree,
    convective,
    coordinate_quantities,
    pivot_inertia,
    quaternion_mass_matrix,
    unit_quaternion,
)
from kingpost.symbols.externals import with_externals


@dataclass(frozen=True)
class QuaternionOptions:
    """``baumgarte``: rate in 1/s at which errors of |q| = 1 are pulled back; they are projected away at any rate."""

    baumgarte: float = 0.0


@dataclass(frozen=True, eq=False)
class QuaternionEquations(Equations):
    """Equations in unit quaternions, with the rows at which they begin."""

    first_rows: tuple[int, ...] = ()


class Quaternions(Formulation):
    """Unit quaternions and their rates, with multipliers, for single bodies on spherical or free joints."""

    name = "quaternions"
    Options = QuaternionOptions

    def derive(self, assembly: Assembly) -> Equations:
        check_tree(assembly.mechanism)
        model = QuaternionModel(assembly)
        q, v, M = model.q, model.v, model.M
        kinetic = ca.dot(v, M @ v) / 2
        # Lagrange's equations: the rate of the momentum M v along v is on the other side.
        gyroscopic = ca.gradient(kinetic, q) - ca.jtimes(M @ v, q, v)
        forces, potential = model.forces()
        phi = ca.vertcat(ca.SX(0, 1), *((ca.dot(e, e) - 1) / 2 for e in model.quaternions))
        outputs, channels = model.outputs()
        return QuaternionEquations(
            mechanism=assembly.mechanism,
            formulation=self.name,
            t=assembly.t,
            q=q,
            v=v,
            u=assembly.u,
            p=assembly.p,
            N=ca.SX.eye(v.numel()),
            M=M,
            f=ca.densify(forces + gyroscopic),
            kinetic=kinetic,
            potential=potential,
            externals=tuple(model.at.externals),
            lam=ca.SX.sym("lam", phi.numel()),
            phi=ca.densify(phi),
            A=ca.sparsify(ca.jacobian(phi, q)),
            b=ca.SX.zeros(phi.numel()),
            # No joint: a multiplier is along q, which no motion of the body is.
            owners=tuple(f"{joint.child}.quaternion" for joint in assembly.mechanism.joints),
            baumgarte=self.options.baumgarte,
            outputs=outputs,
            output_channels=channels,
            coordinates=model.quantities,
            speeds=tuple(Quantity(f"{item.name}.rate", _rate_unit(item.unit)) for item in model.quantities),
            initial=model.initial(),
            joint_state=model.joint_state(),
            midpoint_forces=model.midpoint_forces(),
            first_rows=tuple(rows.stop - 4 for rows in model.rows),
        )


class QuaternionModel:
    """A mechanism in unit quaternions: its symbols, bodies, and everything derived from them but the constraints."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.joints = assembly.mechanism.joints
        self.tree = TreeKinematics(assembly)
        owned = [coordinate_quantities(joint) for joint in self.joints]
        ends = np.cumsum([0, *(len(quantities) for quantities in owned)]).tolist()
        self.rows = [slice(first, last) for first, last in pairwise(ends)]
        #: Names and units of the coordinates.
        self.quantities = tuple(quantity for quantities in owned for quantity in quantities)
        self.q, self.v = (_symbols([f"{item.name}{tail}" for item in self.quantities]) for tail in ("", ".rate"))
        self.quaternions = [self.q[rows][-4:] for rows in self.rows]
        #: Bodies at a place, where quaternions have the length one, and at the mean of two places.
        self.at = QuaternionKinematics(assembly, self._bodies(mean=False))
        self.between = QuaternionKinematics(assembly, self._bodies(mean=True))
        self.M = self._mass_matrix()
        self._states = self._random_states()
        self._split = [self._split_force(*pair) for pair in self._all_loads()]

    def _bodies(self, mean: bool) -> dict[str, QuaternionBody]:
        bodies = {}
        for joint, rows in zip(self.joints, self.rows, strict=True):
            q, v, free = self.q[rows], self.v[rows], joint.kind == "free"
            e, com = q[-4:], self.assembly.mechanism.body(joint.child).com
            bodies[joint.child] = QuaternionBody(
                e=e,
                e_rate=v[-4:],
                pivot=self.tree.vector(com if free else joint.child_position),
                x=q[:3] if free else self.tree.vector(joint.position),
                x_rate=v[:3] if free else ca.SX(3, 1),
                square=ca.dot(e, e) if mean else ca.SX(1),
                free=free,
            )
        return bodies

    def _mass_matrix(self) -> ca.SX:
        blocks = []
        for joint, e in zip(self.joints, self.quaternions, strict=True):
            if joint.kind == "free":
                blocks.append(self.tree.value(self.assembly.mechanism.body(joint.child).mass) * ca.SX.eye(3))
            blocks.append(quaternion_mass_matrix(e, pivot_inertia(self.tree, joint)))
        return ca.SX(ca.sparsify(ca.diagcat(ca.SX(0, 0), *blocks)))

    def _all_loads(self) -> list[tuple[Loads, Loads, bool]]:
        """Return what each force does at a place and between places, and whether it calls functions outside expressions."""
        found, called = [], 0
        for here, there in zip(self.at.loads(), self.between.loads(), strict=True):
            found.append((here, there, len(self.at.externals) > called))
            called = len(self.at.externals)
        return found

    def _split_force(self, here: Loads, there: Loads, outside: bool) -> SplitForce:
        """Split a force into what its potential gives and the rest, as for directors."""
        potential = ca.SX(here.potential)
        gradient = ca.gradient(potential, self.q)
        (wrenches, given), (wrenches_between, given_between) = (
            (space.wrenches(loads), -space.felt(gradient)) for space, loads in ((self.at, here), (self.between, there))
        )
        rest, rest_between = wrenches - given, wrenches_between - given_between
        if potential.is_constant():
            rest, rest_between = wrenches, wrenches_between
        elif not outside:
            at_rest, at_rest_between = (_at_rest(item, self.v) for item in (wrenches, wrenches_between))
            if self._states.vanishes(rest, wrenches):
                rest = rest_between = ca.SX(wrenches.numel(), 1)
            elif self._states.vanishes(at_rest - given, wrenches):
                rest, rest_between = wrenches - at_rest, wrenches_between - at_rest_between
        return SplitForce(potential, self.at.generalized(rest), self.between.generalized(rest_between))

    def forces(self) -> tuple[ca.SX, ca.SX]:
        """Return the generalized forces without gyroscopic ones, -dV/dq and the rest, and the potential V."""
        potential = sum((item.potential for item in self._split), ca.SX(0))
        rest = sum((item.rest for item in self._split), ca.SX(self.q.numel(), 1))
        return ca.densify(rest - ca.gradient(potential, self.q)), potential

    def midpoint_forces(self) -> ca.Function:
        """Return (t, q0, q1, v, u, p) -> the generalized forces without potential, between two places."""
        rest = sum((item.rest_between for item in self._split), ca.SX(self.q.numel(), 1))
        symbols = [self.assembly.t, self.q, self.v, self.assembly.u, self.assembly.p]
        function = with_externals("kp_between", symbols, [rest], self.between.externals)
        sizes = zip(("t", "q0", "q1", "v", "u", "p"), [symbols[0], *symbols[1:2] * 2, *symbols[2:]], strict=True)
        t, q0, q1, v, u, p = (ca.MX.sym(name, item.numel()) for name, item in sizes)
        return ca.Function("kp_midpoint_forces", [t, q0, q1, v, u, p], [function(t, (q0 + q1) / 2, v, u, p)])

    def outputs(self) -> tuple[ca.SX, tuple[Channel, ...]]:
        """Return the outputs of the mechanism, what its forces show, then all joint coordinates and speeds."""
        mechanism, signals = self.assembly.mechanism, self.at.signals
        values = [*(self.between.output(output) for output in mechanism.outputs), *(value for value, _ in signals.values())]
        joints = tuple(Channel(quantity.name, quantity.unit) for quantity in (*mechanism.coordinates, *mechanism.speeds))
        channels = output_channels(mechanism, signals) + joints
        return ca.densify(ca.vertcat(ca.SX(0, 1), *values, *self.joint_values)), channels

    @cached_property
    def joint_values(self) -> tuple[ca.SX, ca.SX]:
        """All joint coordinates and speeds, as functions of quaternions of any length."""
        positions = [self.between.joint_coordinates(joint) for joint in self.joints]
        speeds = [self.between.joint_speeds(joint) for joint in self.joints]
        return ca.vertcat(ca.SX(0, 1), *positions), ca.vertcat(ca.SX(0, 1), *speeds)

    def joint_state(self) -> ca.Function:
        """Return (q, v, vdot, p) -> joint coordinates, joint speeds and their rates."""
        positions, speeds = self.joint_values
        vdot = ca.SX.sym("vdot", self.v.numel())
        rates = ca.jtimes(speeds, self.v, vdot) + ca.jtimes(speeds, self.q, self.v)
        results = [ca.densify(item) for item in ca.cse([positions, speeds, rates])]
        return ca.Function("kp_joint_state", [self.q, self.v, vdot, self.assembly.p], results)

    def initial(self) -> ca.Function:
        """Return (joint coordinates, joint speeds, p) -> [q; v]."""
        tree, q, v = self.tree, [], []
        for joint in self.joints:
            X_WB, twist = tree.pose(joint.child), tree.twist(joint.child)
            if joint.kind == "free":
                com = tree.vector(self.assembly.mechanism.body(joint.child).com)
                q.append(X_WB.p + X_WB.R @ com)
                v.append(X_WB.R @ (twist[3:] + ca.cross(twist[:3], com)))
            e = unit_quaternion(tree, joint, tree.q[tree.rows(joint)[0]])
            q.append(e)
            v.append(convective(e).T @ twist[:3] / 2)
        result = ca.densify(ca.vertcat(ca.SX(0, 1), *q, *v))
        return ca.Function("kp_initial", [tree.q, tree.v, self.assembly.p], [ca.cse(result)])

    def _random_states(self) -> States:
        """Return random states, with parameters and inputs about as large as they are by default."""
        rng = np.random.default_rng(0)
        initial, assembly = self.initial(), self.assembly
        defaults = [parameter.default for parameter in assembly.mechanism.parameters]
        values: list[list[FloatArray]] = []
        for _ in range(SAMPLES):
            joints = [rng.uniform(0.3, 1.2, self.tree.q.numel()), rng.normal(size=self.tree.v.numel())]
            p = np.array([default * rng.uniform(0.8, 1.2) if default else rng.uniform(0.1, 1.0) for default in defaults])
            q, v = np.split(np.asarray(initial(*joints, p)).ravel(), 2)
            values.append([np.atleast_1d(rng.uniform(0.0, 10.0)), q, v, rng.normal(size=assembly.u.numel()), p])
        return States([assembly.t, self.q, self.v, assembly.u, assembly.p], values)


def _at_rest(expression: ca.SX, v: ca.SX) -> ca.SX:
    return ca.substitute(expression, v, ca.SX.zeros(v.numel()))


def _symbols(names: list[str]) -> ca.SX:
    return ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(name) for name in names))


def _rate_unit(unit: str) -> str:
    return "1/s" if unit == "1" else f"{unit}/s"
