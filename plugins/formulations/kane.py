"""Kane's method with screw theory, after the vessel-crane paper (document 004); equation numbers are the paper's."""

from __future__ import annotations

import casadi as ca

from kingpost.assembly import Assembly
from kingpost.equations import Channel, Equations
from kingpost.interfaces.formulation import Formulation
from kingpost.kinematics import TreeKinematics
from kingpost.screws import shift_twist, shift_wrench


class Kane(Formulation):
    """Kane's equations from projection matrices P_k and screw transformations."""

    name = "kane"

    def derive(self, assembly: Assembly) -> Equations:
        kinematics = TreeKinematics(assembly)
        n = kinematics.v.numel()
        wrenches: dict[str, ca.SX] = {name: ca.SX(6, 1) for name in kinematics.links}
        M, f = ca.SX(n, n), ca.SX(n, 1)
        kinetic, potential = ca.SX(0), ca.SX(0)
        for loads in kinematics.loads():
            for name, wrench in loads.wrenches.items():
                wrenches[name] += wrench
            for coordinate, effort in loads.efforts.items():
                f[kinematics.effort_row(coordinate)] += effort
            potential += loads.potential

        projections: dict[str, ca.SX] = {}
        for name, link in kinematics.links.items():
            # Twist of the body origin as a linear map of the generalized speeds: eqs. (28)-(30) about the origin.
            P_B = ca.SX(6, n) if link.joint.parent not in projections else link.V_BP @ projections[link.joint.parent]
            P_B[:, link.rows] += link.S_B
            projections[name] = P_B = ca.sparsify(P_B)
            body = assembly.mechanism.body(name)
            com = assembly.vector(body.com)
            U = shift_twist(com)
            P, t, bias = U @ P_B, U @ link.t_WB_B, U @ link.bias_B
            mass = assembly.value(body.mass)
            D = ca.diagcat(kinematics.inertia(name), mass * ca.SX.eye(3))  # eq. (35)
            M += _symmetric_product(P, D @ P)  # eq. (38)
            momentum = D @ t
            kinetic += ca.dot(t, momentum) / 2
            # D tdot + W D t without its accelerations, eqs. (34)-(36), with Pdot u found by recursion.
            inertial = D @ bias + ca.vertcat(ca.cross(t[:3], momentum[:3]), ca.cross(t[:3], momentum[3:]))
            # Applied less inertial wrench, both about the body origin, projected: eqs. (32), (37).
            f += P_B.T @ (wrenches[name] - shift_wrench(com) @ inertial)

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


def _symmetric_product(A: ca.SX, B: ca.SX) -> ca.SX:
    """Return A' B where it is known to be symmetric: half of the products are enough."""
    result = ca.SX(A.shape[1], B.shape[1])
    for i in range(A.shape[1]):
        for j in range(i, B.shape[1]):
            entry = A[:, i].T @ B[:, j]
            if entry.nnz():
                result[i, j] = entry
                result[j, i] = entry
    return result
