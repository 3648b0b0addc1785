"""Statics and small motions: equilibria, and the linear system around a state."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kingpost.equations import Equations, FloatArray
from kingpost.errors import SolverError

#: A step of Newton's method moves no coordinate by more than this (rad or m).
LONGEST_MOVE = 0.2
#: An eigenvalue with a real part above this (1/s) is called unstable; cubic springs at rest are neutral to rounding.
UNSTABLE = 1e-6
#: Growth of an error in one step that is taken for instability: far above the errors of finite differences, and a factor of
#: 10^4 in a thousand steps.
AMPLIFICATION = 1.01


@dataclass(frozen=True, eq=False)
class Mode:
    """One eigenvalue and its shape: the complex amplitudes of the generalized speeds' displacements, the largest being 1."""

    eigenvalue: complex
    shape: NDArray[np.complex128]

    @property
    def frequency(self) -> float:
        """Undamped frequency in Hz, |eigenvalue| / 2 pi."""
        return abs(self.eigenvalue) / (2 * math.pi)

    @property
    def damping(self) -> float:
        """Damping ratio: 1 is critical, negative grows."""
        return -self.eigenvalue.real / abs(self.eigenvalue) if self.eigenvalue else 0.0


@dataclass(frozen=True, eq=False)
class Linearisation:
    """xi' = A xi + B du, dy = C xi + D du around a state; xi = small displacements along the speeds, and speeds.

    A displacement is what a speed integrates to: the change of a coordinate for most joints, a small rotation about the
    child's joint axes where the coordinates are a quaternion. So A has two rows for each degree of freedom.
    """

    A: FloatArray
    B: FloatArray
    C: FloatArray
    D: FloatArray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def modes(self) -> list[Mode]:
        """The eigenvalues with non-negative imaginary part, the least stable first."""
        values, vectors = np.linalg.eig(self.A)
        n = len(self.A) // 2
        modes = []
        for value, vector in zip(values, vectors.T, strict=True):
            if value.imag < 0:
                continue
            shape = vector[:n] if np.abs(vector[:n]).max(initial=0.0) > 0 else vector[n:]
            modes.append(Mode(complex(value), shape / shape[np.argmax(np.abs(shape))]))
        return sorted(modes, key=lambda mode: (-mode.eigenvalue.real, abs(mode.eigenvalue.imag)))


def _refuse_closed_loops(equations: Equations, what: str) -> None:
    """Say that statics knows trees in joint coordinates only, before a wrong answer is given."""
    if equations.lam.numel() or not equations.joint_coordinates:
        raise SolverError(
            f"{what} of '{equations.mechanism.name}' with closed loops or redundant coordinates cannot be found yet; simulate "
            "it with damping until it rests, or take formulation 'kane' for a machine without closures"
        )


def linearize(equations: Equations, t: float, x: FloatArray, u: FloatArray, p: FloatArray) -> Linearisation:
    """Return the linear system around the state ``x`` = [q; v], by automatic differentiation."""
    _refuse_closed_loops(equations, "a linear system")
    mechanism = equations.mechanism
    q, v = equations.split(x)
    parts = {name: _matrix(result) for name, result in zip(_PARTS, _derivatives(equations)(t, q, v, u, p), strict=True)}
    n = equations.nv
    N = parts["N"]
    # q moves by N theta, so N theta' = N dv + (d(N v)/dq N - Ndot) theta; the bracket vanishes where N is constant.
    turning = np.linalg.pinv(N) @ (parts["qdot_q"] @ N - parts["Ndot"]) if n else np.zeros((0, 0))
    top = np.hstack([turning, np.eye(n)])
    bottom = np.hstack([parts["vdot_q"] @ N, parts["vdot_v"]])
    return Linearisation(
        A=np.vstack([top, bottom]),
        B=np.vstack([np.zeros((n, equations.nu)), parts["vdot_u"]]),
        C=np.hstack([parts["y_q"] @ N, parts["y_v"]]),
        D=parts["y_u"],
        states=(
            *(f"displacement of {speed.name.removesuffix('.rate')}" for speed in mechanism.speeds),
            *(speed.name for speed in mechanism.speeds),
        ),
        inputs=tuple(signal.name for signal in mechanism.inputs),
        outputs=tuple(channel.name for channel in equations.output_channels),
    )


_PARTS = ("N", "qdot_q", "Ndot", "vdot_q", "vdot_v", "vdot_u", "y_q", "y_v", "y_u")


def _symbols(equations: Equations) -> list[ca.MX]:
    sizes = (1, equations.nq, equations.nv, equations.nu, equations.np)
    return [ca.MX.sym(name, size) for name, size in zip("tqvup", sizes, strict=True)]


def _derivatives(equations: Equations) -> ca.Function:
    symbols = t, q, v, u, p = _symbols(equations)
    qdot = equations.kinematics(q, v, p)
    vdot = equations.accelerations(t, q, v, u, p)
    outputs = equations.observations(t, q, v, u, p)[: len(equations.output_channels), :]
    N = ca.jacobian(qdot, v)
    columns = [ca.jtimes(N[:, i], q, qdot) for i in range(equations.nv)]
    results = [
        N,
        ca.jacobian(qdot, q),
        ca.horzcat(ca.MX(equations.nq, 0), *columns),
        *(ca.jacobian(vdot, item) for item in (q, v, u)),
        *(ca.jacobian(outputs, item) for item in (q, v, u)),
    ]
    return ca.Function("derivatives", symbols, [ca.densify(result) for result in results])


def _matrix(result: Any) -> FloatArray:
    return np.asarray(ca.DM(result).full())


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A state at rest: the coordinates, the largest generalized force left over, and how small motions around it behave."""

    x: FloatArray
    #: Largest entry of the generalized force that is left, in N m or N, and the coordinate it acts along.
    residual: float
    residual_at: str
    iterations: int
    linearisation: Linearisation
    #: Unstable equilibria that the search came past, as coordinates.
    passed: tuple[FloatArray, ...]

    @property
    def stable(self) -> bool:
        """Whether no small motion grows."""
        modes = self.linearisation.modes
        return not modes or modes[0].eigenvalue.real <= UNSTABLE


def find_equilibrium(
    equations: Equations, x: FloatArray, u: FloatArray, p: FloatArray, t: float = 0.0, *, stable: bool = True
) -> Equilibrium:
    """Return an equilibrium near ``x``, by Newton's method with the exact Jacobian of the generalized forces.

    With ``stable`` the search goes downhill: along directions in which the forces push away it moves with them, as a motion
    would, and it leaves an unstable equilibrium that it meets (a symmetric position, say). Without, the nearest one is taken.
    Set-points and other functions of time are frozen at ``t``.
    """
    _refuse_closed_loops(equations, "an equilibrium")
    search = _Search(equations, t, u, p)
    q = equations.split(x)[0].copy()
    passed: list[FloatArray] = []
    for _ in range(20):
        q, iterations = search.descend(q, downhill=stable)
        state = np.concatenate([q, np.zeros(equations.nv)])
        linearisation = linearize(equations, t, state, u, p)
        force, _, _, _ = search.evaluate(q)
        worst = int(np.argmax(np.abs(force))) if force.size else 0
        name = equations.mechanism.speeds[worst].name.removesuffix(".rate") if force.size else ""
        found = Equilibrium(state, float(np.abs(force).max(initial=0.0)), name, iterations, linearisation, tuple(passed))
        if found.stable or not stable:
            return found
        shape = linearisation.modes[0].shape.real
        passed.append(q)
        # Far enough to leave the saddle, in the direction in which the first entry of the mode is positive.
        q = search.moved(q, 0.01 * shape * (1 if shape[np.argmax(np.abs(shape))] > 0 else -1))
    raise SolverError(
        f"'{equations.mechanism.name}': {len(passed)} unstable equilibria were found and none that is stable; the last is at "
        f"{_coordinates(equations, q)}. Ask for any equilibrium (stable=False, --any), or start elsewhere"
    )


class _Search:
    def __init__(self, equations: Equations, t: float, u: FloatArray, p: FloatArray) -> None:
        self.equations, self.t, self.u, self.p = equations, t, u, p
        symbols = _, q, v, _, p_ = _symbols(equations)
        M, f, _ = equations.descriptor(*symbols)
        N = ca.jacobian(equations.kinematics(q, v, p_), v)
        stiffness = -ca.jacobian(f, q) @ N
        self._function = ca.Function("statics", symbols, [f, ca.densify(stiffness), ca.densify(M), ca.densify(N)])

    def evaluate(self, q: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return generalized force, stiffness, mass matrix and N at rest."""
        f, K, M, N = (_matrix(item) for item in self._function(self.t, q, np.zeros(self.equations.nv), self.u, self.p))
        return f.ravel(), K, M, N

    def moved(self, q: FloatArray, theta: FloatArray) -> FloatArray:
        """Return the coordinates after a small displacement along the speeds."""
        state = np.concatenate([q + self.evaluate(q)[3] @ theta, np.zeros(self.equations.nv)])
        return np.asarray(ca.DM(self.equations.normalised(ca.DM(state)))).ravel()[: self.equations.nq]

    def descend(self, q: FloatArray, *, downhill: bool) -> tuple[FloatArray, int]:
        """Return where the forces vanish, and the number of iterations."""
        if self.equations.nv == 0:
            return q, 0
        history: list[float] = []
        for iteration in range(200):
            f, K, M, _ = self.evaluate(q)
            if not np.isfinite(f).all():
                break
            history.append(float(np.abs(f).max()))
            step = _newton_step(f, K, M, downhill)
            longest = float(np.abs(step).max())
            # Newton's method has converged when its next step is lost in the rounding of the coordinates.
            if longest < 1e-13 * max(1.0, float(np.abs(q).max())):
                return q, iteration
            if longest > LONGEST_MOVE:
                step *= LONGEST_MOVE / longest
            q = self.moved(q, step)
        names = [speed.name.removesuffix(".rate") for speed in self.equations.mechanism.speeds]
        f = self.evaluate(q)[0]
        worst = int(np.argmax(np.abs(f)))
        raise SolverError(
            f"'{self.equations.mechanism.name}': no equilibrium was found in {len(history)} steps of Newton's method; a force "
            f"of {f[worst]:.3g} is left along '{names[worst]}', after {history[0]:.3g} at the start. Nothing may hold it there "
            "(add a spring or weld it), or start closer"
        )


def _newton_step(f: FloatArray, K: FloatArray, M: FloatArray, downhill: bool) -> FloatArray:
    """Return the solution of K step = f, or, going downhill, that with the negative stiffnesses turned positive.

    Stiffnesses are compared in the metric of the mass matrix, as squares of frequencies. Directions without stiffness and
    without force are left alone.
    """
    L = np.linalg.cholesky(M)
    scaled = np.linalg.solve(L, np.linalg.solve(L, K.T).T)
    force = np.linalg.solve(L, f)
    symmetric = (scaled + scaled.T) / 2
    values, vectors = np.linalg.eigh(symmetric)
    floor = max(1e-10 * float(np.abs(values).max()), 1e-12)
    if not downhill or (values > floor).all():
        step, *_ = np.linalg.lstsq(scaled, force, rcond=1e-12)
    else:
        amounts = vectors.T @ force
        step = vectors @ np.where(
            np.abs(values) > floor, amounts / np.maximum(np.abs(values), floor), amounts / max(floor, 1.0)
        )
    return np.linalg.solve(L.T, step)


def _coordinates(equations: Equations, q: FloatArray) -> str:
    names = [coordinate.name for coordinate in equations.mechanism.coordinates]
    return ", ".join(f"{name} = {value:.6g}" for name, value in zip(names, q, strict=True))


def longest_stable_step(
    step_of: Callable[[FloatArray, float], FloatArray],
    rate_of: Callable[[FloatArray], FloatArray],
    x: FloatArray,
    h: float,
) -> float | None:
    """Return the longest step at which errors do not outgrow the motion, if ``h`` is longer, else None.

    ``step_of(x, h)`` is one step, ``rate_of(x)`` is xdot; both are linearised at ``x``. A step may amplify an error by no more
    than AMPLIFICATION beyond what the fastest growing exact solution does.
    """
    growth = max(0.0, _largest(_jacobian(rate_of, x), np.real))

    def unstable(step: float) -> bool:
        amplification = _largest(_jacobian(lambda state: step_of(state, step), x), np.abs)
        return amplification > 0 and math.log(amplification) > math.log(AMPLIFICATION) + growth * step

    if not unstable(h):
        return None
    low = h
    while unstable(low):
        low /= 2
    high = 2 * low
    for _ in range(12):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if unstable(middle) else (middle, high)
    return low


def _largest(matrix: FloatArray, part: Callable[[Any], Any]) -> float:
    if not np.isfinite(matrix).all():
        return math.nan
    return float(part(np.linalg.eigvals(matrix)).max(initial=0.0))


def _jacobian(function: Callable[[FloatArray], FloatArray], x: FloatArray) -> FloatArray:
    columns = []
    for i in range(x.size):
        # Central differences: the optimum between truncation and rounding is the cube root of the machine precision.
        reach = 6e-6 * max(1.0, abs(float(x[i])))
        ahead, behind = x.copy(), x.copy()
        ahead[i] += reach
        behind[i] -= reach
        columns.append((function(ahead) - function(behind)) / (2 * reach))
    return np.array(columns).T.reshape(x.size, x.size)
