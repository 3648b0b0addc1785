"""Kane's method with screw theory, after the vessel-crane paper (document 004); equation numbers are the paper's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import casadi as ca

from kingpost.equations.equations import Equations
from kingpost.equations.formulation import Formulation
from kingpost.equations.tree_equations import tree_equations
from kingpost.multibody.assembly import Assembly
from kingpost.multibody.force import Loads
from kingpost.multibody.tree import TreeKinematics
from kingpost.plugins.formulations.loops import LoopOptions, loop_treatment
from kingpost.symbols.screws import hat, shift_twist, shift_wrench, twist_cross


class Kane(Formulation):
    """Kane's equations from projection matrices P_k and screw transformations."""

    name = "kane"
    Options = LoopOptions
    load_dependent = True

    def derive(self, assembly: Assembly) -> Equations:
        kinematics = TreeKinematics(assembly)
        equations = tree_equations(self.name, kinematics, *kane_equations(kinematics, kinematics.loads()))
        return loop_treatment(self.options, equations)


def kane_equations(kinematics: TreeKinematics, applied: Iterable[Loads]) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """Return M and f of a tree without closures, and its kinetic and potential energy."""
    assembly, n = kinematics.assembly, kinematics.v.numel()
    wrenches: dict[str, ca.SX] = {name: ca.SX(6, 1) for name in kinematics.links}
    inertias: dict[str, ca.SX] = {}
    M, f = ca.SX(n, n), ca.SX(n, 1)
    kinetic, potential = ca.SX(0), ca.SX(0)
    for loads in applied:
        for name, wrench in loads.wrenches.items():
            wrenches[name] += wrench
        for coordinate, effort in loads.efforts.items():
            f[kinematics.effort_row(coordinate)] += effort
        for name, added in loads.inertias.items():
            inertias[name] = inertias.get(name, 0) + added
        M += kinematics.rotor_matrix(loads.rotors)
        potential += loads.potential
        kinetic += loads.kinetic

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
        if name in inertias:
            M += _symmetric_product(P_B, inertias[name] @ P_B)
            f -= P_B.T @ (inertias[name] @ link.bias_B)
    return M, f, kinetic, potential


def _symmetric_product(A: ca.SX, B: ca.SX) -> ca.SX:
    """Return A' B where it is known to be symmetric: half of the products are enough, of columns that are not empty."""
    result = ca.SX(A.shape[1], B.shape[1])
    left, right = _columns(A), _columns(B)
    for i, row in left.items():
        for j, column in right.items():
            if j < i:
                continue
            entry = row.T @ column
            if entry.nnz():
                result[i, j] = entry
                result[j, i] = entry
    return result


def _columns(matrix: ca.SX) -> dict[int, ca.SX]:
    """Return the columns that have entries: those of the joints between the world and a body, few of all in a wide tree."""
    return {j: matrix[:, j] for j in dict.fromkeys(matrix.sparsity().get_col())}


@dataclass(frozen=True, eq=False)
class KaneMatrices:
    """The matrices of eqs. (29)-(38), one P, Pdot, D and W for each body, about its centre of mass in body axes.

    The paper says that dM/dt - 2 C is skew-symmetric. With W as eq. (35) prints it, hat(w) in both blocks, that holds only for
    bodies with equal principal moments. The block that acts on the angular momentum is written here as -hat(M w) M^-1, so that
    W D = diag(-hat(M w), m hat(w)): the same product W D t, and the skew symmetry.
    """

    q: ca.SX
    v: ca.SX
    p: ca.SX
    P: dict[str, ca.SX]
    Pdot: dict[str, ca.SX]
    D: dict[str, ca.SX]
    WD: dict[str, ca.SX]

    @property
    def M(self) -> ca.SX:
        """Mass matrix, eq. (38)."""
        return sum((self.P[body].T @ self.D[body] @ self.P[body] for body in self.P), ca.SX(self.v.numel(), self.v.numel()))

    @property
    def C(self) -> ca.SX:
        """Coriolis and gyroscopic matrix, eq. (38)."""
        total = ca.SX(self.v.numel(), self.v.numel())
        for body, P in self.P.items():
            total += P.T @ (self.D[body] @ self.Pdot[body] + self.WD[body] @ P)
        return total


def kane_matrices(assembly: Assembly) -> KaneMatrices:
    """Return the paper's matrices, built body by body with screw transformations."""
    kinematics = TreeKinematics(assembly)
    n = kinematics.v.numel()
    qdot = kinematics.velocity_map() @ kinematics.v
    P_B: dict[str, ca.SX] = {}
    Pdot_B: dict[str, ca.SX] = {}
    P, Pdot, D, WD = {}, {}, {}, {}
    for name, link in kinematics.links.items():
        parent = link.joint.parent
        P_B[name], Pdot_B[name] = ca.SX(6, n), ca.SX(6, n)
        if parent in P_B:
            # A screw transformation to a frame that moves with the relative twist r changes at the rate -[r x] V.
            V_rate = -twist_cross(link.S_B @ kinematics.v[link.rows, :]) @ link.V_BP
            P_B[name] = link.V_BP @ P_B[parent]
            Pdot_B[name] = link.V_BP @ Pdot_B[parent] + V_rate @ P_B[parent]
        P_B[name][:, link.rows] += link.S_B
        if link.S_B.numel():
            Sdot = ca.reshape(ca.jtimes(ca.vec(ca.densify(link.S_B)), kinematics.q, qdot), *link.S_B.shape)
            Pdot_B[name][:, link.rows] += Sdot
        body = assembly.mechanism.body(name)
        U = shift_twist(assembly.vector(body.com))
        inertia, mass = kinematics.inertia(name), assembly.value(body.mass)
        P[name], Pdot[name] = U @ P_B[name], U @ Pdot_B[name]
        w = (U @ link.t_WB_B)[:3]
        D[name] = ca.diagcat(inertia, mass * ca.SX.eye(3))  # eq. (35)
        WD[name] = ca.diagcat(-hat(inertia @ w), mass * hat(w))
    return KaneMatrices(kinematics.q, kinematics.v, assembly.p, P, Pdot, D, WD)
