"""Natural coordinates: every body by its centre of mass and three directors, after documents 000 and 001.

    q = (r, d1, d2, d3) for each body,   v = q',   M v' = f - G' lam,   0 = Phi(q)

The mass matrix is constant and the constraints are at most quadratic (but for screws, gears and ropes), which is what
energy-momentum integrators build on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca

from kingpost.base.channels import Quantity
from kingpost.equations.augmentation import Augmentation
from kingpost.equations.equations import Equations
from kingpost.equations.formulation import Formulation
from kingpost.equations.parts import Coordinates, Observed, Structure
from kingpost.equations.treatment import Treatment
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.constraints import Constraints
from kingpost.plugins.formulations.body_coordinates import BodyModel, rates_of
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
from kingpost.plugins.formulations.directors.joints import NATURAL_JOINTS
from kingpost.plugins.formulations.directors.kinematics import Counters, DirectorKinematics
from kingpost.plugins.formulations.directors.plane import in_plane


@dataclass(frozen=True)
class DirectorOptions:
    """``baumgarte``: rate in 1/s at which constraint errors are pulled back; they are projected away at any rate.

    ``planar``: six coordinates for each body of a machine that moves in a plane, instead of twelve.

    ``follow``: whether the angles of joints are followed through full turns, each by one more coordinate, and quaternions
    through both signs. Without, angles are within half a turn of zero, and qdot = v for all coordinates.

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
    joint_kinds = NATURAL_JOINTS

    def derive(self, assembly: Assembly) -> Equations:
        model = DirectorModel(assembly, self.options.follow, self.options.covariant)
        held = director_constraints(model.at, model.q, model.v, assembly.mechanism.closures)
        equations = natural_equations(model, self.name, held, augmentation(assembly))
        if self.options.planar:
            equations = in_plane(assembly, equations)
        return replace(equations, treatment=Treatment(self.options.baumgarte))


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
        constraints=held,
        outputs=outputs,
        output_channels=channels,
        coordinates=Coordinates(
            positions=model.quantities,
            speeds=rates_of(model.natural),
            initial=model.initial(),
            joint_state=model.joint_state(),
            follow=model.follow(),
        ),
        observed=Observed(momentum=model.momentum()),
        structure=Structure(midpoint_forces=model.midpoint_forces(), augmentation=extra),
    )


class DirectorModel(BodyModel[DirectorKinematics]):
    """A mechanism in natural coordinates."""

    def __init__(self, assembly: Assembly, follow: bool = True, covariant: bool = False) -> None:
        self.names = [body.name for body in assembly.mechanism.bodies]
        self.natural = tuple(quantity for name in self.names for quantity in coordinate_quantities(name))
        super().__init__(assembly, self.natural)
        self.counters = Counters(assembly.mechanism, follow)
        self.at = DirectorKinematics(assembly, self._bodies(body_at), self.counters)
        self.between = DirectorKinematics(assembly, self._bodies(body_at if covariant else body_between), self.counters)
        self.M = ca.diagcat(ca.SX(0, 0), *(body_mass_matrix(self.at, name) for name in self.names))
        self.split = self.split_forces()

    def _bodies(self, make: Callable[[ca.SX, ca.SX], DirectorBody]) -> dict[str, DirectorBody]:
        rows = {name: slice(SIZE * i, SIZE * (i + 1)) for i, name in enumerate(self.names)}
        return {name: make(self.q[own], self.v[own]) for name, own in rows.items()}

    @property
    def followed(self) -> ca.SX:
        """The counters of angles and quaternions."""
        return ca.vertcat(ca.SX(0, 1), *self.counters.symbols.values())

    @property
    def state(self) -> ca.SX:
        """All coordinates: natural ones, then counters."""
        return ca.vertcat(self.q, self.followed)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Names and units of :attr:`state`."""
        return self.natural + tuple(
            Quantity(f"{name}.followed", quantity.unit) for name, quantity in self.counters.quantities.items()
        )

    def velocity_map(self) -> ca.SX:
        """Return N with qdot = N v: the identity, and the rates of what is followed."""
        rates = ca.vertcat(ca.SX(0, 1), *(N @ self.at.joint_speeds(joint) for joint, N in self.at.followed_rates()))
        return ca.sparsify(ca.vertcat(ca.SX.eye(self.v.numel()), ca.jacobian(rates, self.v)))

    def follow(self) -> ca.Function | None:
        """Return the function (q, p) -> what is followed, exactly as the directors tell it; or None."""
        if not self.counters.symbols:
            return None
        angles = ca.vertcat(*(self.at.coordinate(name) for name in self.counters.symbols))
        return ca.Function("kp_follow", [self.state, self.assembly.p], [ca.densify(ca.cse(angles))])

    def momentum(self) -> ca.SX:
        """Return linear and angular momentum; speeds between the nodes of some integrators satisfy no joint at them."""
        momenta = self.M @ self.v
        linear = sum((momenta[i : i + 3] for i in range(0, int(momenta.numel()), SIZE)), ca.SX(3, 1))
        return ca.densify(ca.vertcat(linear, angular_momentum(self.q, self.v, self.M)))

    def initial(self) -> ca.Function:
        """Return (joint coordinates, joint speeds, p) -> [q; v]."""
        tree = self.tree
        q, v = [], []
        for name in self.names:
            X_WB, twist, com = tree.pose(name), tree.twist(name), self.at.com(name)
            q += [X_WB.p + X_WB.R @ com, ca.vec(ca.densify(X_WB.R))]
            v += [X_WB.R @ (twist[3:] + ca.cross(twist[:3], com)), ca.vec(ca.densify(X_WB.R @ ca.skew(twist[:3])))]
        result = ca.densify(ca.vertcat(ca.SX(0, 1), *q, self.counters.begun(tree), *v))
        return ca.Function("kp_initial", [tree.q, tree.v, self.assembly.p], [ca.cse(result)])
