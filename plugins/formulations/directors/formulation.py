"""Natural coordinates: every body by its centre of mass and three directors, after documents 000 and 001.

    q = (r, d1, d2, d3) for each body,   v = q',   M v' = f - G' lam,   0 = Phi(q)

The mass matrix is constant and the constraints are at most quadratic (but for screws, gears and ropes), which is what
energy-momentum integrators build on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import casadi as ca

from kingpost.base.channels import Quantity
from kingpost.base.errors import MechanismError
from kingpost.equations.augmentation import Augmentation
from kingpost.equations.equations import Equations
from kingpost.equations.formulation import Formulation
from kingpost.equations.parts import Coordinates, Observed, Structure
from kingpost.equations.treatment import Treatment
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.constraints import Constraints
from kingpost.plugins.formulations.body_coordinates import BodyModel, rates_of
from kingpost.plugins.formulations.directors.augmentation import augmentation, rigid_motions, volumes
from kingpost.plugins.formulations.directors.bodies import (
    SIZE,
    DirectorBody,
    angular_momentum,
    body_at,
    body_between,
    body_mass_matrix,
    coordinate_quantities,
    point_at,
)
from kingpost.plugins.formulations.directors.constraints import director_constraints
from kingpost.plugins.formulations.directors.driven import Driven, driven_coordinates, never_turns, rotor_inertia
from kingpost.plugins.formulations.directors.joints import NATURAL_JOINTS
from kingpost.plugins.formulations.directors.kinematics import Counters, DirectorKinematics
from kingpost.plugins.formulations.directors.plane import in_plane


@dataclass(frozen=True)
class DirectorOptions:
    """``baumgarte``: rate in 1/s at which constraint errors are pulled back; they are projected away at any rate.

    ``planar``: six coordinates for each body of a machine that moves in a plane, instead of twelve.

    ``follow``: whether the angles of joints are followed through full turns, each by one more coordinate, and quaternions
    through both signs. Without, angles are within half a turn of zero, and qdot = v for all coordinates.

    ``effort``: where that acts which forces and closures say about joint coordinates. ``body``: as wrenches on both bodies.
    ``angle``: on the joint coordinates themselves, which become coordinates without mass (document 000, eqs. 2.103-2.113), so
    that a torque u does exactly the work u dtheta in a step of ``energy-momentum``; rotors (``joint-inertia``) are taken, too.
    ``printed``: the same with the angle closure that document 000 prints, singular at 3 pi/4 + k pi; for study.

    ``points``: three coordinates for bodies that a translational joint to the world carries, since they never turn.

    ``covariant`` maps wrenches at mid-points with the mean directors instead of their dual basis: wrong, to show what that does
    to the angular momentum (document 001, section 4.3).
    """

    baumgarte: float = 0.0
    planar: bool = False
    follow: bool = True
    effort: Literal["body", "angle", "printed"] = "body"
    points: bool = False
    covariant: bool = False

    def __post_init__(self) -> None:
        if self.planar and (self.effort != "body" or self.points):
            other = f"effort={self.effort}" if self.effort != "body" else "points=true"
            raise MechanismError(f"directors: planar=true and {other} do not go together; leave one of them out")


class Directors(Formulation):
    """Natural coordinates with constant mass matrix: centre of mass and three directors of every body, and multipliers."""

    name = "directors"
    Options = DirectorOptions
    joint_kinds = NATURAL_JOINTS

    def derive(self, assembly: Assembly) -> Equations:
        options = self.options
        driven = None if options.effort == "body" else driven_coordinates(assembly, options.effort == "printed")
        model = DirectorModel(assembly, options.follow, options.covariant, driven, options.points)
        held = director_constraints(model.at, model.q, model.v, assembly.mechanism.closures)
        equations = natural_equations(model, self.name, held, augmentation(assembly, model.sizes, model.driven))
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
        structure=Structure(
            midpoint_forces=model.midpoint_forces(),
            augmentation=extra,
            rigid=rigid_motions(assembly, model.sizes, model.driven),
            volumes=volumes(assembly, model.sizes),
            scalars=model.scalars,
        ),
    )


class DirectorModel(BodyModel[DirectorKinematics]):
    """A mechanism in natural coordinates."""

    def __init__(
        self,
        assembly: Assembly,
        follow: bool = True,
        covariant: bool = False,
        driven: Driven | None = None,
        points: bool = False,
    ) -> None:
        mechanism = assembly.mechanism
        self.names = [body.name for body in mechanism.bodies]
        still = {joint.child for joint in mechanism.joints if points and never_turns(joint)}
        #: The number of coordinates of each body.
        self.sizes = {name: 3 if name in still else SIZE for name in self.names}
        wanted = Driven() if driven is None else driven
        of_bodies = [quantity for name in self.names for quantity in coordinate_quantities(name, self.sizes[name])]
        self.natural = (*of_bodies, *wanted.quantities)
        super().__init__(assembly, self.natural)
        #: Rows of joint coordinates that are coordinates of their own.
        self.scalars = tuple(range(len(of_bodies), len(self.natural)))
        self.driven = wanted.named(self.q[len(of_bodies) :], self.v[len(of_bodies) :])
        self.counters = Counters(mechanism, follow, self.driven.values)
        given = None if driven is None else self.driven
        self.at = DirectorKinematics(assembly, self._bodies(body_at), self.counters, given)
        between = self._bodies(body_at if covariant else body_between)
        self.between = DirectorKinematics(assembly, between, self.counters, given)
        masses = [body_mass_matrix(self.at, name, self.sizes[name]) for name in self.names]
        self.M = ca.diagcat(ca.SX(0, 0), *masses, rotor_inertia(assembly, self.driven.names))
        self.split = self.split_forces()

    def _bodies(self, make: Callable[[ca.SX, ca.SX], DirectorBody]) -> dict[str, DirectorBody]:
        found, first = {}, 0
        for name, size in self.sizes.items():
            own = slice(first, first + size)
            first += size
            q, v = self.q[own], self.v[own]
            found[name] = make(q, v) if size == SIZE else point_at(q, v, self.tree.pose(name).R)
        return found

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
        count = sum(self.sizes.values())
        q, v, M = self.q[:count], self.v[:count], self.M[:count, :count]
        momenta = M @ v
        firsts = itertools.accumulate([0, *list(self.sizes.values())[:-1]]) if self.sizes else ()
        linear = sum((momenta[i : i + 3] for i in firsts), ca.SX(3, 1))
        return ca.densify(ca.vertcat(linear, angular_momentum(q, v, M)))

    def initial(self) -> ca.Function:
        """Return (joint coordinates, joint speeds, p) -> [q; v]."""
        tree = self.tree
        q, v = [], []
        for name in self.names:
            X_WB, twist, com = tree.pose(name), tree.twist(name), self.at.com(name)
            q.append(X_WB.p + X_WB.R @ com)
            v.append(X_WB.R @ (twist[3:] + ca.cross(twist[:3], com)))
            if self.sizes[name] == SIZE:
                q.append(ca.vec(ca.densify(X_WB.R)))
                v.append(ca.vec(ca.densify(X_WB.R @ ca.skew(twist[:3]))))
        q += [tree.coordinate(name) for name in self.driven.names]
        v += [tree.rate(name) for name in self.driven.names]
        result = ca.densify(ca.vertcat(ca.SX(0, 1), *q, self.counters.begun(tree), *v))
        return ca.Function("kp_initial", [tree.q, tree.v, self.assembly.p], [ca.cse(result)])
