"""Small motions: the linear system around a state, on the constraints of closed loops if there are any."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.equations.consistency import OPEN
from kingpost.equations.equations import Equations
from kingpost.equations.redundancy import without_redundant_rows
from kingpost.symbols.externals import python_forces_named

#: A coordinate is taken as an independent one if it shares in the motions that are left by at least this part of the one that
#: shares most: so the first coordinates of a model describe it wherever they can.
SHARE = 0.1
#: A share below this part of the largest is none: what rounding leaves of motions that are described already is some 1e-15.
NO_SHARE = 1e-8
#: Growth of an error in one step that is taken for instability: far above the errors of finite differences, and a factor of
#: 10^4 in a thousand steps.
AMPLIFICATION = 1.01


@dataclass(frozen=True, eq=False)
class Mode:
    """One eigenvalue and its shape: the complex amplitudes of the generalized speeds' displacements, the largest being 1.

    Of closed loops the shape has the displacements of all joints, not of the independent ones alone. States of forces can
    settle without any motion; the shape is then zero.
    """

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
    child's joint axes where the coordinates are a quaternion. So A has two rows for each degree of freedom. Closed loops leave
    only some displacements and speeds independent of each other: xi holds those, and the others follow from them by
    ``displacement_map`` and ``speed_map``. Rolling holds speeds but not displacements, of which there are then more. At the end
    of xi are the states of forces, but for those that nothing depends on, such as an energy that has passed a port.
    """

    A: FloatArray
    B: FloatArray
    C: FloatArray
    D: FloatArray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    #: What the displacements of ``shape_names``, of all joints, are by those in xi; and the speeds by the speeds in xi.
    displacement_map: FloatArray
    speed_map: FloatArray
    shape_names: tuple[str, ...]

    @property
    def modes(self) -> list[Mode]:
        """The eigenvalues with non-negative imaginary part, the least stable first."""
        values, vectors = np.linalg.eig(self.A)
        n = self.displacement_map.shape[1]
        modes = []
        for value, vector in zip(values, vectors.T, strict=True):
            if value.imag < 0:
                continue
            moving = np.abs(vector[:n]).max(initial=0.0) > 0
            speeds = vector[n : n + self.speed_map.shape[1]]
            shape = self.displacement_map @ vector[:n] if moving else self.speed_map @ speeds
            largest = shape[np.argmax(np.abs(shape))] if shape.size else 0.0
            modes.append(Mode(complex(value), shape / largest if largest else shape))
        return sorted(modes, key=lambda mode: (-mode.eigenvalue.real, abs(mode.eigenvalue.imag)))


def refuse_other_coordinates(equations: Equations, what: str) -> None:
    """Say that statics is done in joint coordinates, before a wrong answer is given."""
    if not equations.joint_coordinates:
        raise SolverError(
            f"{what} of '{equations.mechanism.name}' is found in joint coordinates, and formulation '{equations.formulation}' "
            "has others; take formulation 'kane' or 'recursive', which give the same motion"
        )


def linearize(equations: Equations, t: float, x: FloatArray, u: FloatArray, p: FloatArray) -> Linearisation:
    """Return the linear system around the state ``x`` = [q; v], by automatic differentiation.

    The state must satisfy the constraints. Displacements and speeds are those of joint coordinates that the constraints leave
    independent, so A is that of the equations of motion in these coordinates; around an equilibrium its eigenvalues are the
    same for any choice of them.
    """
    return Linearizer(equations)(t, x, u, p)


def linearize_along(
    equations: Equations, times: FloatArray, x: FloatArray, u: FloatArray, p: FloatArray
) -> list[Linearisation]:
    """Return the linear systems around the states ``x`` (a row for each time) of a motion with the inputs ``u``.

    They are in the same coordinates, or refused where that cannot be.
    """
    linear = Linearizer(equations)
    found: list[Linearisation] = []
    for t, state, acting in zip(times, x, u, strict=True):
        found.append(linear(float(t), state, acting, p))
        if found[-1].states != found[0].states:
            raise SolverError(
                f"'{equations.mechanism.name}' cannot be linearised along a motion in one set of coordinates: at {t:g} s "
                f"{', '.join(found[-1].states)} describe it, and {', '.join(found[0].states)} at t = {times[0]:g} s"
            )
    return found


class Linearizer:
    """Linear systems of some equations around many states: derived once, at the first of which redundant rows are found."""

    def __init__(self, equations: Equations) -> None:
        refuse_other_coordinates(equations, "a linear system")
        self.equations = equations
        self._derived: _Derived | None = None

    def __call__(self, t: float, x: FloatArray, u: FloatArray, p: FloatArray) -> Linearisation:
        """Return the linear system around a state."""
        with python_forces_named(self.equations.all_externals):
            if self._derived is None:
                self._derived = _derived(without_redundant_rows(self.equations, t, x, p))
            return _linearised(self._derived, t, x, u, p)


@dataclass(frozen=True, eq=False)
class _Derived:
    """Equations without redundant rows, their derivatives, and the function (t, q, v, p) -> A, d(A v + b)/dq, M, regular M."""

    equations: Equations
    derivatives: ca.Function
    constraints: ca.Function | None


def _derived(equations: Equations) -> _Derived:
    held, constraints = equations.constraints, None
    if held.count:
        residual = held.A @ equations.v + held.b
        constraints = ca.Function(
            "constraints",
            [equations.t, equations.q, equations.v, equations.p],
            [ca.densify(item) for item in (held.A, ca.jacobian(residual, equations.q), equations.M, equations.regular_mass)],
        )
    return _Derived(equations, _derivatives(equations), constraints)


def _linearised(derived: _Derived, t: float, x: FloatArray, u: FloatArray, p: FloatArray) -> Linearisation:
    """Return the linear system of equations without redundant rows."""
    equations = derived.equations
    _refuse_open_state(equations, t, x, p)
    q, v = equations.split(x)
    derivatives = derived.derivatives(t, q, v, equations.acting(u, x), p)
    parts = {name: _matrix(result) for name, result in zip(_PARTS, derivatives, strict=True)}
    n, nu = equations.nv, equations.nu
    N = parts["N"]
    # Of what acts, the inputs come first.
    led = [nu + i for i in range(equations.nz) if any(parts[key][:, nu + i].any() for key in ("vdot_u", "y_u", "zdot_u"))]
    states = [i - nu for i in led]
    # q moves by N theta, so N theta' = N dv + (d(N v)/dq N - Ndot) theta; the bracket vanishes where N is constant.
    turning = np.linalg.pinv(N) @ (parts["qdot_q"] @ N - parts["Ndot"]) if n else np.zeros((0, 0))
    free = _free_motions(derived, t, q, v, p, N)
    theta, follow, across = free.displacements, free.following_speeds, free.speeds
    top = np.hstack([turning @ theta + follow, across])[free.positions, :]
    bottom, beyond, outputs = (
        np.hstack(
            [parts[f"{key}_q"] @ N @ theta + parts[f"{key}_v"] @ follow, parts[f"{key}_v"] @ across, parts[f"{key}_u"][:, led]]
        )
        for key in ("vdot", "zdot", "y")
    )
    top = np.hstack([top, np.zeros((len(top), len(led)))])
    speeds = tuple(speed.name for speed in equations.mechanism.speeds)
    names = tuple(speed.removesuffix(".rate") for speed in speeds)
    return Linearisation(
        A=np.vstack([top, bottom[free.rates, :], beyond[states, :]]),
        B=np.vstack([np.zeros((len(free.positions), nu)), parts["vdot_u"][free.rates, :nu], parts["zdot_u"][states, :nu]]),
        C=outputs,
        D=parts["y_u"][:, :nu],
        states=(
            *(f"displacement of {names[i]}" for i in free.positions),
            *(speeds[i] for i in free.rates),
            *(equations.states.quantities[i].name for i in states),
        ),
        inputs=tuple(signal.name for signal in equations.mechanism.inputs),
        outputs=tuple(channel.name for channel in equations.output_channels),
        displacement_map=theta,
        speed_map=across,
        shape_names=names,
    )


def _refuse_open_state(equations: Equations, t: float, x: FloatArray, p: FloatArray) -> None:
    """Refuse a state in which loops are open or speeds do not fit, beyond rounding."""
    if not equations.constraints.count:
        return
    for level, errors, unit in zip(
        ("open by", "run apart by"), equations.constraint_residuals(t, *equations.split(x), p), ("m or rad", "m/s or rad/s"),
        strict=True,
    ):  # fmt: skip
        sizes = np.abs(_matrix(errors)).ravel()
        if not sizes.max(initial=0.0) <= OPEN * (1 + np.abs(x).max(initial=0.0)):
            worst = int(np.argmax(np.where(np.isfinite(sizes), sizes, np.inf)))
            raise SolverError(
                f"'{equations.mechanism.name}' cannot be linearised around a state in which closure "
                f"'{equations.constraints.owners[worst]}' is {level} {sizes[worst]:.4g} {unit}; close its loops first "
                "(close_loops)"
            )


@dataclass(frozen=True, eq=False)
class _FreeMotions:
    """Small motions that the constraints allow: displacements theta z and speeds follow z + across w.

    z are the displacements of the joint speeds number ``positions``, w the speeds number ``rates``.
    """

    positions: list[int]
    rates: list[int]
    displacements: FloatArray
    following_speeds: FloatArray
    speeds: FloatArray


def _free_motions(derived: _Derived, t: float, q: FloatArray, v: FloatArray, p: FloatArray, N: FloatArray) -> _FreeMotions:
    n, held = derived.equations.nv, derived.equations.constraints
    if derived.constraints is None:
        everything = list(range(n))
        return _FreeMotions(everything, everything, np.eye(n), np.zeros((n, n)), np.eye(n))
    A, changing, M, regular = (_matrix(item) for item in derived.constraints(t, q, v, p))
    positions, theta = independent_motions(A[: held.holonomic], M, regular)
    rates, across = independent_motions(A, M, regular)
    # 0 = A dv + d(A v + b)/dq N theta, with the independent speeds held: what a displacement asks of the others.
    fixed = np.vstack([A, np.eye(n)[rates]])
    asked = np.vstack([-changing @ N @ theta, np.zeros((len(rates), len(positions)))])
    return _FreeMotions(positions, rates, theta, np.asarray(np.linalg.solve(fixed, asked), dtype=float), across)


def tangent_basis(A: FloatArray, M: FloatArray) -> FloatArray:
    """Return motions T with A T = 0 and T' M T = 1, for rows A that do not depend on each other."""
    L = np.linalg.cholesky(M)
    Q, _ = np.linalg.qr(np.linalg.solve(L, A.T), mode="complete")
    return np.asarray(np.linalg.solve(L.T, Q[:, len(A) :]))


def independent_motions(A: FloatArray, M: FloatArray, regular: FloatArray | None = None) -> tuple[list[int], FloatArray]:
    """Return coordinates that the rows ``A`` leave independent, and all motions by those: A T = 0, T[chosen] = 1.

    ``regular`` is M, or what it is made regular by where some motions have no inertia: these are chosen only where the others
    do not tell where the machine is, because rolling holds their speeds and nothing their positions.
    """
    regular = M if regular is None else regular
    T = tangent_basis(A, regular)
    # What of the motions is left to describe. Shares are in their kinetic energy, so that angles and lengths can be compared.
    left = T.copy()
    chosen: list[int] = []
    for metric in (M, regular):
        weights = np.sqrt(np.diag(metric))
        nothing = NO_SHARE * float((weights * np.linalg.norm(T, axis=1)).max(initial=0.0))
        while len(chosen) < T.shape[1]:
            sizes = weights * np.linalg.norm(left, axis=1)
            if sizes.max() <= nothing:
                break
            best = int(np.argmax(sizes >= SHARE * sizes.max()))
            direction = left[best] / np.linalg.norm(left[best])
            left = left - np.outer(left @ direction, direction)
            left[best] = 0.0
            chosen.append(best)
    chosen.sort()
    return chosen, T @ np.linalg.inv(T[chosen])


_PARTS = ("N", "qdot_q", "Ndot", *(f"{what}_{by}" for what in ("vdot", "y", "zdot") for by in "qvu"))


def _symbols(equations: Equations) -> list[ca.MX]:
    sizes = (1, equations.nq, equations.nv, equations.u.numel(), equations.np)
    return [ca.MX.sym(name, size) for name, size in zip("tqvup", sizes, strict=True)]


def _derivatives(equations: Equations) -> ca.Function:
    symbols = t, q, v, u, p = _symbols(equations)
    qdot = equations.kinematics(q, v, p)
    vdot = equations.accelerations(t, q, v, u, p)
    outputs = equations.observations(t, q, v, u, p)[: len(equations.output_channels), :]
    rates = equations.state_rates(t, q, v, u, p)
    N = ca.jacobian(qdot, v)
    columns = [ca.jtimes(N[:, i], q, qdot) for i in range(equations.nv)]
    results = [
        N,
        ca.jacobian(qdot, q),
        ca.horzcat(ca.MX(equations.nq, 0), *columns),
        *(ca.jacobian(value, item) for value in (vdot, outputs, rates) for item in (q, v, u)),
    ]
    return ca.Function("derivatives", symbols, [ca.densify(result) for result in results])


def _matrix(result: Any) -> FloatArray:
    return np.asarray(ca.DM(result).full())


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
