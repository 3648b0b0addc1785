"""What does an RK4 step of a double pendulum cost, against plain NumPy and against SciPy?

All variants integrate the same motion of the same machine for the same time in one process and one thread. NumPy and SciPy
get the equations of motion in closed form, written out by hand for this one machine: the best case for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import scipy.integrate

from kingpost import PluginSet, prepare

STEP, STEPS = 0.001, 10_000
T_END = STEP * STEPS
REPEATS = 3


def rhs(t: float, x: np.ndarray) -> np.ndarray:
    """Two uniform rods of 1 kg and 1 m, as a NumPy user writes them."""
    a, b, da, db = x[0], x[0] + x[1], x[2], x[2] + x[3]
    c, s, g = np.cos(a - b), np.sin(a - b), 9.81
    M = np.array([[4 / 3, c / 2], [c / 2, 1 / 3]])
    f = np.array([-s * db**2 / 2 - 1.5 * g * np.sin(a), s * da**2 / 2 - g / 2 * np.sin(b)])
    dda, ddb = np.linalg.solve(M, f)
    return np.array([x[2], x[3], dda, ddb - dda])


def numpy_rk4(x: np.ndarray) -> np.ndarray:
    """The classical method, step by step."""
    t = 0.0
    for _ in range(STEPS):
        k1 = rhs(t, x)
        k2 = rhs(t + STEP / 2, x + STEP / 2 * k1)
        k3 = rhs(t + STEP / 2, x + STEP / 2 * k2)
        k4 = rhs(t + STEP, x + STEP * k3)
        x = x + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += STEP
    return x


def scipy_rk45(x: np.ndarray) -> np.ndarray:
    """SciPy's explicit Runge-Kutta solver, held to the same step."""
    solution = scipy.integrate.solve_ivp(rhs, (0.0, T_END), x, max_step=STEP, first_step=STEP, rtol=1.0, atol=1.0)
    return solution.y[:, -1]


def best(function: Callable[[], object]) -> float:
    """Return the shortest of several times on the processor, in s; the others were disturbed."""
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        function()
        times.append(time.process_time() - started)
    return min(times)


def main() -> None:
    """Print one table."""
    mechanism = PluginSet().models.get("double-pendulum")().build()
    x0 = np.array([2.0, 0.5, 0.0, 0.0])
    compiled, interpreted = (
        prepare(mechanism, T_END, step=STEP, output_step=T_END, backend=backend) for backend in ("c", "vm")
    )
    solver = prepare(mechanism, T_END, output_step=T_END, integrator=f"dop853:rtol=1,atol=1,max_step={STEP}")
    variants: dict[str, Callable[[], np.ndarray]] = {
        f"kingpost, rk4, {compiled.kernel.backend}": lambda: compiled.run().values[-1, :4],
        f"kingpost, rk4, {interpreted.kernel.backend}": lambda: interpreted.run().values[-1, :4],
        "kingpost, dop853 (SciPy) on a compiled right-hand side": lambda: solver.run().values[-1, :4],
        "NumPy, rk4 written by hand": lambda: numpy_rk4(x0),
        "SciPy, RK45 with the same step, NumPy right-hand side": lambda: scipy_rk45(x0),
    }
    times = {name: best(run) for name, run in variants.items()}
    reference = next(iter(times.values()))
    exact = next(iter(variants.values()))()
    print(f"double pendulum, {STEPS} steps of {STEP} s; time over that of the first row")
    for name, run in variants.items():
        difference = np.abs(run() - exact).max()
        per_step = times[name] / STEPS * 1e6
        print(f"{name:<56} {times[name] / reference:9.1f} x  {per_step:9.3f} us/step  differs by {difference:.0e}")


if __name__ == "__main__":
    main()
