"""Unit quaternions with their rates as speeds, after document 001, chapter 5.

    q' = v,   M4(q) v' = f - q lam,   0 = (q.q - 1)/2

for every body, which hangs on the world by a spherical or free joint; a free one also has its centre of mass among the
coordinates. Unlike angular velocities, the rates of q are conjugate to momenta p = M4 q', in which document 001 writes its
energy-momentum scheme.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import casadi as ca
import numpy as np

from kingpost.base.errors import MechanismError, listed
from kingpost.equations.equations import Equations
from kingpost.equations.formulation import Formulation
from kingpost.equations.parts import Coordinates, Structure
from kingpost.equations.treatment import Treatment
from kingpost.mechanism.elements import WORLD
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.constraints import Constraints
from kingpost.plugins.formulations.body_coordinates import BodyModel, rates_of
from kingpost.plugins.formulations.quaternions.bodies import (
    CARRYING_JOINTS,
    QuaternionBody,
    QuaternionKinematics,
    convective,
    coordinate_quantities,
    pivot_inertia,
    quaternion_mass_matrix,
    unit_quaternion,
)


@dataclass(frozen=True)
class QuaternionOptions:
    """``baumgarte``: rate in 1/s at which errors of |q| = 1 are pulled back; they are projected away at any rate."""

    baumgarte: float = 0.0


class Quaternions(Formulation):
    """Unit quaternions and their rates, with multipliers, for single bodies on spherical or free joints."""

    name = "quaternions"
    Options = QuaternionOptions
    joint_kinds = CARRYING_JOINTS
    closure_kinds = ()

    def refusal(self, mechanism: Mechanism) -> str:
        others = [f"'{joint.child}' hangs on '{joint.parent}'" for joint in mechanism.joints if joint.parent != WORLD]
        where = f"formulation '{self.name}' is for bodies that hang on the world; {listed(others, 4)}" if others else ""
        return super().refusal(mechanism) or where

    def derive(self, assembly: Assembly) -> Equations:
        refusal = self.refusal(assembly.mechanism)
        if refusal:
            raise MechanismError(refusal)
        model = QuaternionModel(assembly)
        q, v, M = model.q, model.v, model.M
        kinetic = ca.dot(v, M @ v) / 2
        # Lagrange's equations: the rate of the momentum M v along v is on the other side.
        gyroscopic = ca.gradient(kinetic, q) - ca.jtimes(M @ v, q, v)
        forces, potential = model.forces()
        phi = ca.vertcat(ca.SX(0, 1), *((ca.dot(e, e) - 1) / 2 for e in model.quaternions))
        outputs, channels = model.outputs()
        return Equations(
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
            constraints=Constraints(
                ca.densify(phi),
                ca.sparsify(ca.jacobian(phi, q)),
                ca.SX.zeros(phi.numel()),
                ca.SX.sym("lam", phi.numel()),
                # No joint: a multiplier is along q, which no motion of the body is.
                tuple(f"{joint.child}.quaternion" for joint in assembly.mechanism.joints),
            ),
            treatment=Treatment(self.options.baumgarte),
            outputs=outputs,
            output_channels=channels,
            coordinates=Coordinates(
                positions=model.quantities,
                speeds=rates_of(model.quantities),
                initial=model.initial(),
                joint_state=model.joint_state(),
            ),
            structure=Structure(
                midpoint_forces=model.midpoint_forces(),
                unit_quaternions=tuple(rows.stop - 4 for rows in model.rows),
            ),
        )


class QuaternionModel(BodyModel[QuaternionKinematics]):
    """A mechanism in unit quaternions."""

    def __init__(self, assembly: Assembly) -> None:
        self.joints = assembly.mechanism.joints
        owned = [coordinate_quantities(joint) for joint in self.joints]
        ends = np.cumsum([0, *(len(quantities) for quantities in owned)]).tolist()
        self.rows = [slice(first, last) for first, last in pairwise(ends)]
        #: Names and units of the coordinates.
        self.quantities = tuple(quantity for quantities in owned for quantity in quantities)
        super().__init__(assembly, self.quantities)
        self.quaternions = [self.q[rows][-4:] for rows in self.rows]
        # At a place, quaternions have the length one.
        self.at = QuaternionKinematics(assembly, self._bodies(mean=False))
        self.between = QuaternionKinematics(assembly, self._bodies(mean=True))
        self.M = self._mass_matrix()
        self.split = self.split_forces()

    @property
    def shown(self) -> QuaternionKinematics:
        """Bodies with quaternions of any length."""
        return self.between

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
