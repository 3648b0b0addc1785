"""The functions of one link of a tree, for recursive formulations."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kingpost.mechanism.elements import Joint
from kingpost.multibody.cut import CutKinematics
from kingpost.multibody.tree import joint_motion
from kingpost.symbols.screws import Matrix, Pose, hat, pack_pose, twist_cross, twist_to, unpack_pose


@dataclass(frozen=True, eq=False)
class LinkFunctions:
    """The functions of one link.

    ``x`` holds the entries of the pose X_PB that change with q; the others are known from the parameters. Symmetric matrices
    are packed by their upper triangle.
    """

    joint: Joint
    rows: slice
    #: (q, v, p, t_P) -> x, t_B, c_B, bias wrench t x* I t
    move: ca.Function
    #: (X_WP, x, p) -> X_WB
    place: ca.Function
    #: (x, q, p, c, IA, pA, tau) -> IA and pA for the parent, U, inverse of D, u
    gather: ca.Function
    #: (x, q, p, c, a_P, U, Dinv, u) -> vdot, a_B
    accelerate: ca.Function
    #: (x, q, p, a_P, vdot) -> a_B, without velocity terms
    carry: ca.Function
    #: (a_B, p) -> I a
    resist: ca.Function
    #: (x, q, p, f_B) -> tau, f for the parent
    pass_on: ca.Function
    #: (t_B, p) -> kinetic energy
    energy: ca.Function
    #: p -> I, packed
    inertia: ca.Function


def pack_symmetric(matrix: Matrix) -> Matrix:
    """Return the upper triangle of a symmetric 6 x 6 matrix, row by row."""
    return ca.vertcat(*(matrix[i, j] for i in range(6) for j in range(i, 6)))


def unpack_symmetric(entries: Matrix) -> Matrix:
    """Return the symmetric 6 x 6 matrix with this upper triangle."""
    place = {pair: k for k, pair in enumerate((i, j) for i in range(6) for j in range(i, 6))}
    return ca.reshape(entries[[place[min(i, j), max(i, j)] for j in range(6) for i in range(6)]], 6, 6)


def _named_entries(X: Pose, q: ca.SX) -> tuple[ca.SX, ca.SX, Pose]:
    """Return the distinct entries of a pose that depend on q, symbols for them, and the pose with the symbols in their place.

    Zeros, ones and fixed offsets stay what they are, so the code that uses the pose stays as sparse as the pose.
    """
    names: dict[str, ca.SX] = {}
    values: list[ca.SX] = []

    def renamed(matrix: Matrix) -> ca.SX:
        result = ca.SX(matrix.sparsity())
        for k in range(matrix.nnz()):
            entry = ca.SX(matrix.nz[k])
            if not q.numel() or not ca.depends_on(entry, q):
                result.nz[k] = entry
                continue
            text, negative = str(entry), str(-entry)
            if text not in names and negative not in names:
                names[text] = ca.SX.sym("x")
                values.append(entry)
            result.nz[k] = names[text] if text in names else -names[negative]
        return result

    pose = Pose(renamed(ca.sparsify(X.R)), renamed(ca.sparsify(X.p)))
    return ca.vertcat(ca.SX(0, 1), *values), ca.vertcat(ca.SX(0, 1), *names.values()), pose


def make_link(space: CutKinematics, joint: Joint) -> LinkFunctions:
    """Return the functions of the link that ``joint`` carries."""
    q_rows, v_rows = space.rows(joint)
    q, v, p = ca.SX.sym("q", len(joint.positions)), ca.SX.sym("v", len(joint.speeds)), space.sx["p"]
    own = joint_motion(space, joint)

    def localised(expression: ca.SX) -> ca.SX:
        """Put this joint's own symbols in the place of its rows of q and v."""
        given = ca.vertcat(space.q[q_rows, :], space.v[v_rows, :])
        return ca.sparsify(ca.substitute(expression, given, ca.vertcat(q, v))) if given.numel() else expression

    X_PB = Pose(localised(own.X_PB.R), localised(own.X_PB.p))
    S, relative, relative_rate = localised(own.S_B), localised(own.relative), localised(own.relative_rate)
    n = v.numel()
    body = space.mechanism.body(joint.child)
    com, mass = space.vector(body.com), space.value(body.mass)
    com_hat = hat(com)
    # Spatial inertia about the body origin.
    inertia = ca.sparsify(
        ca.blockcat(space.inertia(joint.child) - mass * com_hat @ com_hat, mass * com_hat, -mass * com_hat, mass * ca.SX.eye(3))
    )

    t_P, t_B, a_P, a_B, f_B, c = (ca.SX.sym(name, 6) for name in ("t_P", "t_B", "a_P", "a_B", "f_B", "c"))
    entries, x, X = _named_entries(X_PB, q)
    V_BP = twist_to(X.inverse())
    moving = twist_to(X_PB.inverse()) @ t_P + relative
    bias = twist_cross(moving) @ relative + relative_rate
    gyroscopic = -twist_cross(moving).T @ (inertia @ moving)

    IA_entries, pA, tau = ca.SX.sym("IA", 21), ca.SX.sym("pA", 6), ca.SX.sym("tau", n)
    U_symbols, Dinv_symbols, u_symbols = ca.SX.sym("U", 6 * n), ca.SX.sym("Dinv", n * n), ca.SX.sym("rest", n)
    IA = unpack_symmetric(IA_entries)
    U = IA @ S
    D = S.T @ U
    Dinv = ca.inv(ca.densify(D)) if n > 1 else 1 / D if n else ca.SX(0, 0)
    u = tau - S.T @ pA
    Ia = IA - U @ Dinv @ U.T if n else IA
    pa = pA + Ia @ c + (U @ Dinv @ u if n else 0)

    U_known, Dinv_known = ca.reshape(U_symbols, 6, n), ca.reshape(Dinv_symbols, n, n)
    arriving = V_BP @ a_P + c
    vdot = Dinv_known @ (u_symbols - U_known.T @ arriving) if n else ca.SX(0, 1)
    vdot_symbols = ca.SX.sym("vdot", n)
    X_WP = ca.SX.sym("X_WP", 12)
    return LinkFunctions(
        joint,
        v_rows,
        move=space.share("move", [q, v, p, t_P], [entries, moving, bias, gyroscopic]),
        place=space.share("place", [X_WP, x, p], [pack_pose(unpack_pose(X_WP) @ X)]),
        gather=space.share(
            "gather",
            [x, q, p, c, IA_entries, pA, tau],
            [pack_symmetric(V_BP.T @ Ia @ V_BP), V_BP.T @ pa, ca.vec(ca.densify(U)), ca.vec(ca.densify(Dinv)), u],
        ),
        accelerate=space.share(
            "accelerate", [x, q, p, c, a_P, U_symbols, Dinv_symbols, u_symbols], [vdot, arriving + S @ vdot]
        ),
        carry=space.share("carry", [x, q, p, a_P, vdot_symbols], [V_BP @ a_P + S @ vdot_symbols]),
        resist=space.share("resist", [a_B, p], [inertia @ a_B]),
        pass_on=space.share("pass_on", [x, q, p, f_B], [S.T @ f_B, V_BP.T @ f_B]),
        energy=space.share("energy", [t_B, p], [ca.dot(t_B, inertia @ t_B) / 2]),
        inertia=space.share("inertia", [p], [pack_symmetric(ca.densify(inertia))]),
    )
