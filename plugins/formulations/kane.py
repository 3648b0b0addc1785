"""Kane's method with screw theory, after the vessel-crane paper (document 004); equation numbers are the paper's."""

from __future__ import annotations

import casadi as ca

from kingpost.assembly import Assembly
from kingpost.equations import Channel, Equations
from kingpost.interfaces.formulation import Formulation
from kingpost.kinematics import TreeKinematics
from kingpost.screws import hat, shift_twist


class Kane(Formulation):
    """Kane's equations from projection matrices P_k and screw transformations."""

    name = "kane"

    def derive(self, assembly: Assembly) -> Equations:
        kinematics = TreeKinematics(assembly)
        n = kinematics.v.numel()
        projections: dict[str, ca.SX] = {}
        M = ca.SX(n, n)
        f = ca.SX(n, 1)
        kinetic = ca.SX(0)
        for name, link in kinematics.links.items():
            # Twist of the body origin as a linear map of the generalized speeds: eqs. (28)-(30) about the origin.
            P_B = ca.SX(6, n) if link.joint.parent not in projections else link.V_BP @ projections[link.joint.parent]
            P_B[:, link.rows] += link.S_B
            projections[name] = P_B
            body = assembly.mechanism.body(name)
            U = shift_twist(assembly.vector(body.com))
            P, t, bias = U @ P_B, U @ link.t_WB_B, U @ link.bias_B
            mass = assembly.value(body.mass)
            D = ca.diagcat(kinematics.inertia(name), mass * ca.SX.eye(3))  # eq. (35)
            W = ca.diagcat(hat(t[:3]), hat(t[:3]))
            M += P.T @ D @ P  # eq. (38)
            f -= P.T @ (D @ bias + W @ (D @ t))  # C u of eqs. (37), (38), with Pdot u found by recursion
            kinetic += ca.dot(t, D @ t) / 2

        potential = ca.SX(0)
        for loads in kinematics.loads():
            for name, wrench in loads.wrenches.items():
                f += projections[name].T @ wrench  # eq. (32), wrench and projection about the body origin
            for coordinate, effort in loads.efforts.items():
                f[kinematics.effort_row(coordinate)] += effort
            potential += loads.potential

        outputs = assembly.mechanism.outputs
        return Equations(
            mechanism=assembly.mechanism,
            formulation=self.name,
            t=assembly.t,
            q=kinematics.q,
            v=kinematics.v,
            u=assembly.u,
            p=assembly.p,
            N=kinematics.velocity_map(),
            M=M,
            f=f,
            kinetic=kinetic,
            potential=potential,
            externals=tuple(kinematics.externals),
            outputs=ca.vertcat(ca.SX(0, 1), *(kinematics.output(output) for output in outputs)),
            output_channels=tuple(
                Channel(f"{output.name}.{axis}", output.unit, "world") for output in outputs for axis in "xyz"
            ),
        )
