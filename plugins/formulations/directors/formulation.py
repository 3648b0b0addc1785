"""Natural coordinates: every body by its centre of mass and three directors, after documents 000 and 001.

    q = (r, d1, d2, d3) for each body,   v = q',   M v' = f - G' lam,   0 = Phi(q)

The mass matrix is constant and the constraints are at most quadratic (but for screws, gears and ropes), which is what
energy-momentum integrators build on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel, Quantity
from kingpost.equations.structure.augmentation import Augmentation
from kingpost.equations.equations import Equations, output_channels
from kingpost.equations.formulation import Formulation
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.constraints import Constraints
from kingpost.multibody.force import Loads
from kingpost.multibody.tree import TreeKinematics
from kingpost.plugins.formulations.directors.augmentation import augmentation
from kingpost.plugins.formulations.directors.bodies import (
    SIZE,
    DirectorBody,
    angular_momentum,
    body_at,
    body_between,
    body_mass_matrix,
    coordinate_quantities,
)
from kingpost.plugins.formulations.directors.constraints import director_constraints
from kingpost.plugins.formulations.directors.forces import SAMPLES, States, split
from kingpost.plugins.formulations.directors.kinematics import Counters, DirectorKinematics
from kingpost.plugins.formulations.directors.plane import in_plane
from kingpost.symbols.externals import with_externals


@dataclass(frozen=True)
class DirectorOptions:
    """``baumgarte``: rate in 1/s at which constraint errors are pulled back; they are projected away at any rate.

    ``planar``: six coordinates for each body of a machine that moves in a plane, instead of twelve.

    ``follow``: whether angles that springs, set-points, gears and screws ask for are followed through full turns, each by one
    more coordinate. Without, they are within half a turn of zero, and qdot = v for all coordinates.

    ``covariant`` maps wrenches at mid-points with the mean directors instead of their dual basis: wrong, to show what that does
    to the angular momentum (document 001, section 4.3).
    """

    baumgarte: float = 0.0
    planar: bool = False
    follow: bool = True
    covariant: bool = False


class Directors(Formulation):
    """Natural coordinates with constant mass matrix: centre of mass and three directors of every body, and multipliers."""

    name = "directors"
    Options = DirectorOptions

    def derive(self, assembly: Assembly) -> Equations:
        model = DirectorModel(assembly, self.options.follow, self.options.covariant)
        held = director_constraints(model.at, model.q, model.v, assembly.mechanism.closures)
        equations = natural_equations(model, self.name, held, augmentation(assembly))
        if self.options.planar:
            equations = in_plane(assembly, equations)
        return replace(equations, baumgarte=self.options.baumgarte)


def natural_equations(model: DirectorModel, formulation: str, held: Constraints, extra: Augmentation | None) -> Equations:
    """Return the equations of motion in natural coordinates with the given constraints."""
    assembly = model.assembly
    outputs, channels = model.outputs()
    f, potential = model.forces()
    return Equations(
        mechanism=assembly.mechanism,
        formulation=formulation,
        t=assembly.t,
        q=model.state,
        v=model.v,
        u=assembly.u,
        p=assembly.p,
        N=model.velocity_map(),
        M=model.M,
        f=f,
        kinetic=ca.dot(model.v, model.M @ model.v) / 2,
        potential=potential,
        externals=tuple(model.at.externals),
        lam=held.lam,
        phi=held.phi,
        A=held.A,
        b=held.b,
        owners=held.owners,
        reactions=held.reactions,
        outputs=outputs,
        output_channels=channels,
        coordinates=model.quantities,
        speeds=tuple(Quantity(f"{item.name}.rate", _rate_unit(item.unit)) for item in model.quantities[: model.v.numel()]),
        initial=model.initial(),
        joint_state=model.joint_state(),
        midpoint_forces=model.midpoint_forces(),
        momentum=model.momentum(),
        follow=model.follow(),
        augmentation=extra,
    )


class DirectorModel:
    """A mechanism in natural coordinates: its symbols, bodies, and everything derived from them but constraints."""

    def __init__(self, assembly: Assembly, follow: bool = True, covariant: bool = False) -> None:
        self.assembly = assembly
        self.names = [body.name for body in assembly.mechanism.bodies]
        #: Natural coordinates and their rates.
        self.q = _symbols([quantity.name for name in self.names for quantity in coordinate_quantities(name)])
        self.v = _symbols([f"{quantity.name}.rate" for name in self.names for quantity in coordinate_quantities(name)])
        self.counters = Counters(follow)
        #: Bodies at a place, and at the mean of two places.
        self.at = DirectorKinematics(assembly, self._bodies(body_at), self.counters)
        self.between = DirectorKinematics(assembly, self._bodies(body_at if covariant else body_between), self.counters)
        self.M = ca.diagcat(ca.SX(0, 0), *(body_mass_matrix(self.at, name) for name in self.names))
        self.tree = TreeKinematics(assembly)
        self._follow()
        self._split = [
            split(self.at, self.between, loads, self.q, self.v, self._states(), outside) for loads, outside in self._all_loads()
        ]

    def _bodies(self, make: Callable[[ca.SX, ca.SX], DirectorBody]) -> dict[str, DirectorBody]:
        rows = {name: slice(SIZE * i, SIZE * (i + 1)) for i, name in enumerate(self.names)}
        return {name: make(self.q[own], self.v[own]) for name, own in rows.items()}

    def _follow(self) -> None:
        """Follow the angles that constraints ask for; those that forces ask for join them when the forces are asked."""
        mechanism = self.assembly.mechanism
        for joint in mechanism.joints:
            if joint.kind == "screw":
                self.counters.of(joint)
        for closure in mechanism.closures:
            for name in closure.coordinates:
                self.at.coordinate(name)

    def _all_loads(self) -> list[tuple[tuple[Loads, Loads], bool]]:
        """Return what each force does at a place and between places, and whether it calls functions outside expressions."""
        found, called = [], 0
        for here, there in zip(self.at.loads(), self.between.loads(), strict=True):
            found.append(((here, there), len(self.at.externals) > called))
            called = len(self.at.externals)
        return found

    @property
    def followed(self) -> ca.SX:
        """The counters of angles."""
        return ca.vertcat(ca.SX(0, 1), *self.counters.symbols.values())

    @property
    def state(self) -> ca.SX:
        """All coordinates: natural ones, then counters."""
        return ca.vertcat(self.q, self.followed)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Names and units of :attr:`state`."""
        natural = tuple(quantity for name in self.names for quantity in coordinate_quantities(name))
        return natural + tuple(Quantity(f"{name}.followed", "rad") for name in self.counters.symbols)

    def velocity_map(self) -> ca.SX:
        """Return N with qdot = N v: the identity, and the rates of the angles that are followed."""
        rates = ca.vertcat(ca.SX(0, 1), *(self.at.rate(name) for name in self.counters.symbols))
        return ca.sparsify(ca.vertcat(ca.SX.eye(self.v.numel()), ca.jacobian(rates, self.v)))

    def follow(self) -> ca.Function | None:
        """Return the function (q, p) -> the angles that are followed, exactly as the directors tell them; or None."""
        if not self.counters.symbols:
            return None
        angles = ca.vertcat(*(self.at.coordinate(name) for name in self.counters.symbols))
        return ca.Function("kp_follow", [self.state, self.assembly.p], [ca.densify(ca.cse(angles))])

    def forces(self) -> tuple[ca.SX, ca.SX]:
        """Return the generalized forces, -dV/dq and the rest, and the potential V."""
        potential = sum((item.potential for item in self._split), ca.SX(0))
        rest = sum((item.rest for item in self._split), ca.SX(self.q.numel(), 1))
        return ca.densify(rest - ca.gradient(potential, self.q)), potential

    def midpoint_forces(self) -> ca.Function:
        """Return (t, q0, q1, v, u, p) -> the generalized forces without potential, between two places."""
        rest = sum((item.rest_between for item in self._split), ca.SX(self.q.numel(), 1))
        symbols = [self.assembly.t, self.state, self.v, self.assembly.u, self.assembly.p]
        function = with_externals("kp_between", symbols, [rest], self.between.externals)
        sizes = zip(("t", "q0", "q1", "v", "u", "p"), [symbols[0], *symbols[1:2] * 2, *symbols[2:]], strict=True)
        t, q0, q1, v, u, p = (ca.MX.sym(name, item.numel()) for name, item in sizes)
        return ca.Function("kp_midpoint_forces", [t, q0, q1, v, u, p], [function(t, (q0 + q1) / 2, v, u, p)])

    def outputs(self) -> tuple[ca.SX, tuple[Channel, ...]]:
        """Return the outputs of the mechanism, what its forces show, then all joint coordinates and speeds."""
        mechanism, signals = self.assembly.mechanism, self.at.signals
        values = [*(self.at.output(output) for output in mechanism.outputs), *(value for value, _ in signals.values())]
        joints = tuple(Channel(quantity.name, quantity.unit) for quantity in (*mechanism.coordinates, *mechanism.speeds))
        channels = output_channels(mechanism, signals) + joints
        return ca.densify(ca.vertcat(ca.SX(0, 1), *values, *self.joint_values())), channels

    def momentum(self) -> ca.SX:
        """Return linear and angular momentum; speeds between the nodes of some integrators satisfy no joint at them."""
        momenta = self.M @ self.v
        linear = sum((momenta[i : i + 3] for i in range(0, int(momenta.numel()), SIZE)), ca.SX(3, 1))
        return ca.densify(ca.vertcat(linear, angular_momentum(self.q, self.v, self.M)))

    def joint_values(self) -> tuple[ca.SX, ca.SX]:
        """Return all joint coordinates and speeds as functions of the natural ones."""
        joints = self.assembly.mechanism.joints
        positions = [self.at.joint_coordinates(joint) for joint in joints]
        speeds = [self.at.joint_speeds(joint) for joint in joints if joint.speeds]
        return ca.vertcat(ca.SX(0, 1), *positions), ca.vertcat(ca.SX(0, 1), *speeds)

    def joint_state(self) -> ca.Function:
        """Return (q, v, vdot, p) -> joint coordinates, joint speeds and their rates."""
        positions, speeds = self.joint_values()
        vdot = ca.SX.sym("vdot", self.v.numel())
        rates = ca.jtimes(speeds, self.v, vdot) + ca.jtimes(speeds, self.q, self.v) if speeds.numel() else ca.SX(0, 1)
        results = [ca.densify(item) for item in ca.cse([positions, speeds, rates])]
        return ca.Function("kp_joint_state", [self.state, self.v, vdot, self.assembly.p], results)

    def initial(self) -> ca.Function:
        """Return (joint coordinates, joint speeds, p) -> [q; v]."""
        tree = self.tree
        q, v = [], []
        for name in self.names:
            X_WB, twist, com = tree.pose(name), tree.twist(name), self.at.com(name)
            q += [X_WB.p + X_WB.R @ com, ca.vec(ca.densify(X_WB.R))]
            v += [X_WB.R @ (twist[3:] + ca.cross(twist[:3], com)), ca.vec(ca.densify(X_WB.R @ ca.skew(twist[:3])))]
        counters = [tree.coordinate(name) for name in self.counters.symbols]
        result = ca.densify(ca.vertcat(ca.SX(0, 1), *q, *counters, *v))
        return ca.Function("kp_initial", [tree.q, tree.v, self.assembly.p], [ca.cse(result)])

    def _states(self) -> States:
        """Return random states that satisfy all joints, with parameters and inputs about as large as they are by default."""
        rng = np.random.default_rng(0)
        initial, assembly = self.initial(), self.assembly
        defaults = [parameter.default for parameter in assembly.mechanism.parameters]
        symbols = [assembly.t, self.state, self.v, assembly.u, assembly.p]
        values: list[list[FloatArray]] = []
        for _ in range(SAMPLES):
            # Coordinates between 0.3 and 1.2 are away from gimbal lock.
            joints = [rng.uniform(0.3, 1.2, self.tree.q.numel()), rng.normal(size=self.tree.v.numel())]
            p = np.array([default * rng.uniform(0.8, 1.2) if default else rng.uniform(0.1, 1.0) for default in defaults])
            x = np.asarray(initial(*joints, p)).ravel()
            time = np.atleast_1d(rng.uniform(0.0, 10.0))
            size = self.state.numel()
            values.append([time, x[:size], x[size:], rng.normal(size=assembly.u.numel()), p])
        return States(symbols, values)


def _symbols(names: list[str]) -> ca.SX:
    return ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(name) for name in names))


def _rate_unit(unit: str) -> str:
    return "1/s" if unit == "1" else f"{unit}/s"
