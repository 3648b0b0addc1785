"""The vessel-crane in the numbers of its paper, and its equations as the paper has them: what peers are built from."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from measuring import Array

STEP, T_END = 0.001, 20.0
#: Where times are taken and rows are compared: on the way, off the set-points. Roll, pitch, yaw, slew, luff, knuckle.
T = 4.0
Q = np.array([0.03, -0.02, 0.05, 0.1, 0.2, -2.0])
V = np.array([0.1, -0.2, 0.05, 0.1, 0.2, 0.3])
START = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -3 * math.pi / 4])
COMPARED_STEPS = 100


# The machine in the paper's numbers.

SPRING, KP, KD = 8e7, 5e4, 5e3
GRAVITY = np.array([0.0, 0.0, -9.81])
MASSES = {"vessel": 1200.0, "king": 30.0, "inner-boom": 30.0, "outer-boom": 30.0}
#: Moments of inertia about the centre of mass, by those of a slender rod, m l^2 / 12, and l.
INERTIAS = {
    "vessel": ((1, 1, 1), 5.0),
    "king": ((1, 1, 0.1), 2.0),
    "inner-boom": ((0, 1, 1), 2.0),
    "outer-boom": ((0, 1, 1), 2.0),
}
UNIT = dict(zip("xyz", np.eye(3), strict=True))
CENTRES = {"vessel": 2.5 * UNIT["z"], "king": 1.0 * UNIT["z"], "inner-boom": 1.0 * UNIT["x"], "outer-boom": 1.0 * UNIT["x"]}
#: Origin and axes of each frame in the one before, with all angles zero. Every joint of the crane turns about its own z.
ORIGINS = {"vessel": np.zeros(3), "king": 5.0 * UNIT["z"], "inner-boom": 2.0 * UNIT["z"], "outer-boom": 2.0 * UNIT["x"]}
BOOM_AXES = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
AXES = {"vessel": np.eye(3), "king": np.eye(3), "inner-boom": BOOM_AXES, "outer-boom": np.eye(3)}
TURNS = {"vessel": "zyx", "king": "z", "inner-boom": "z", "outer-boom": "z"}
#: The peers turn about yaw, pitch, roll in this order; there and back.
PEER_ORDER = [2, 1, 0, 3, 4, 5]
#: Slew, luff and knuckle at 0, 10 and 20 s.
SET_POINTS = np.array(
    [[0.0, 0.0, -3 * math.pi / 4], [0.0, math.pi / 4, -math.pi / 4], [math.pi / 2, math.pi / 4, -math.pi / 4]]
)
MOVES = np.diff(SET_POINTS, axis=0)


def inertia(body: str, mass: float) -> Array:
    """Return the inertia matrix of a body about its centre of mass."""
    shape, length = INERTIAS[body]
    return mass * length**2 / 12 * np.diag(shape)


def rest_to_rest(s: Any) -> Any:
    """Return the way covered, from 0 to 1 as s goes from 0 to 1."""
    return s * s * s * s * s * (126.0 + s * (-420.0 + s * (540.0 + s * (-315.0 + s * 70.0))))


def rest_to_rest_rate(s: Any) -> Any:
    """Return its derivative."""
    a = s * (1.0 - s)
    return 630.0 * a * a * a * a


def set_point(t: float) -> tuple[Array, Array]:
    """Return where the crane's joints should be, and how fast they should move."""
    leg = 0 if t < 10.0 else 1
    s = min(t / 10.0 - leg, 1.0)
    return SET_POINTS[leg] + MOVES[leg] * rest_to_rest(s), MOVES[leg] * (rest_to_rest_rate(s) / 10.0)


def torques(t: float, q: Array, v: Array) -> Array:
    """Return springs and PD control, as a NumPy user writes them; good for both orders of roll, pitch and yaw."""
    target, rate = set_point(t)
    tau = np.empty(6)
    tau[:3] = -SPRING * q[:3] * q[:3] * q[:3]
    tau[3:] = KP * (target - q[3:]) + KD * (rate - v[3:])
    return tau


def controls(t: float) -> Array:
    """Return set-points for a PD law that knows no rates: where the joints should be, plus kD / kP of how fast."""
    target, rate = set_point(t)
    return target + KD / KP * rate


def rk4(rhs: Callable[[float, Array], Array], t: float, x: Array, steps: int) -> Array:
    """Take steps of the classical method."""
    for i in range(steps):
        s = t + i * STEP
        k1 = rhs(s, x)
        k2 = rhs(s + STEP / 2, x + STEP / 2 * k1)
        k3 = rhs(s + STEP / 2, x + STEP / 2 * k2)
        k4 = rhs(s + STEP, x + STEP * k3)
        x = x + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


def in_own_order(x: Array) -> Array:
    """Return a peer's state in Kingpost's order."""
    return np.append(x[:6][PEER_ORDER], x[6:][PEER_ORDER])


# The paper in NumPy.


def hat(w: Array) -> Array:
    """Return the matrix of the cross product with w."""
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def rotation(letter: str, angle: float) -> Array:
    """Return a rotation about an axis."""
    K = hat(UNIT[letter])
    return np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K


def moved(p: Array) -> Array:
    """Return the screw transformation of a twist to another point, eq. (20); p leads from there to here."""
    U = np.eye(6)
    U[3:, :3] = hat(p)
    return U


def turned(R: Array) -> Array:
    """Return the change of axes of a twist, eq. (21)."""
    V = np.zeros((6, 6))
    V[:3, :3] = V[3:, 3:] = R
    return V


#: Eq. (35), and the screw transformations that do not change.
D = {body: np.block([[inertia(body, m), np.zeros((3, 3))], [np.zeros((3, 3)), m * np.eye(3)]]) for body, m in MASSES.items()}
TO_CENTRE = {body: moved(-centre) for body, centre in CENTRES.items()}
TO_JOINT = {body: moved(-origin) for body, origin in ORIGINS.items()}


def paper_accelerations(t: float, q: Array, u: Array) -> Array:
    """Solve eqs. (29)-(38) as they stand, with gravity, springs and PD control in tau."""
    sr, cr, sp, cp = math.sin(q[0]), math.cos(q[0]), math.sin(q[1]), math.cos(q[1])
    R_0k = rotation("z", q[2]) @ rotation("y", q[1]) @ rotation("x", q[0])
    # Twist of the body frame at its origin: Q u, and its derivative Q udot + Qdot u.
    Q_k, Qdot_k = np.zeros((6, 6)), np.zeros((6, 6))
    Q_k[:3, :3] = [[1.0, 0.0, -sp], [0.0, cr, sr * cp], [0.0, -sr, cr * cp]]
    Qdot_k[:3, :3] = [
        [0.0, 0.0, -cp * u[1]],
        [0.0, -sr * u[0], cr * cp * u[0] - sr * sp * u[1]],
        [0.0, -cr * u[0], -sr * cp * u[0] - cr * sp * u[1]],
    ]
    M, C, tau = np.zeros((6, 6)), np.zeros((6, 6)), torques(t, q, u)
    for k, (body, mass) in enumerate(MASSES.items()):
        if k:
            R = AXES[body] @ rotation("z", q[2 + k])
            Rdot_T = -hat(UNIT["z"] * u[2 + k]) @ R.T
            V, Vdot = turned(R.T) @ TO_JOINT[body], turned(Rdot_T) @ TO_JOINT[body]  # eq. (23)
            Q_k, Qdot_k = V @ Q_k, V @ Qdot_k + Vdot @ Q_k
            Q_k[2, 2 + k] += 1.0  # eq. (28)
            R_0k = R_0k @ R
        P, Pdot = TO_CENTRE[body] @ Q_k, TO_CENTRE[body] @ Qdot_k  # eq. (30)
        W = turned(hat((P @ u)[:3]))
        M += P.T @ D[body] @ P
        C += P.T @ D[body] @ Pdot + P.T @ W @ D[body] @ P
        tau += P[3:].T @ (R_0k.T @ (mass * GRAVITY))  # eq. (32)
    return np.linalg.solve(M, tau - C @ u)  # eq. (37)
