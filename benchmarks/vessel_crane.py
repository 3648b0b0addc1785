"""What do accelerations, an RK4 step and a whole run of the vessel-crane cost, against Pinocchio, MuJoCo, Exudyn and NumPy?

Every row is the same machine: a vessel on cubic springs in roll, pitch and yaw, and a crane whose three joints follow their
set-points by PD control, under gravity. The peers get it from the paper's numbers, not from Kingpost. How far each row's
accelerations, and its state after 0.1 s, are from Kingpost's is printed beside its times.

Peers: pip install pin mujoco exudyn. One that is missing is left out.
"""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Literal

import casadi as ca
import numpy as np
from crane_peers import MUJOCO_STEP, exudyn_rows, mujoco_rows, numpy_row, pinocchio_rows
from measuring import Array, Row, measure, peer
from paper_crane import COMPARED_STEPS, STEP, T_END, Q, T, V, paper_accelerations, rk4

from kingpost import PluginSet, prepare
from kingpost.kernel.kernel import Kernel

# Kingpost.


def kingpost_rows(formulation: str, backend: Literal["c", "vm"]) -> list[Row]:
    """Return Kingpost in its own loops, and called from Python for each evaluation and each step.

    The plain call is handed its arguments each time, as Pinocchio is, and copies them; with arrays bound once there are none.
    """
    mechanism = PluginSet().models.get("vessel-crane")().build()
    simulation = prepare(mechanism, T_END, step=STEP, formulation=formulation, backend=backend)
    equations, kernel, p = simulation.equations, simulation.kernel, simulation.p
    u, x = np.zeros(equations.nu), np.append(Q, V)

    def march(steps: int, substeps: int | None = None) -> Array:
        substeps = substeps or steps
        y = np.empty((steps // substeps, len(equations.channels)))
        kernel.march(y, substeps, T, STEP, x, np.zeros((len(y) + 1, u.size)), p, at_once=True)
        return y[:, : x.size]

    evaluator = Kernel([equations.accelerations], backend).evaluator("kp_accelerations")
    step = kernel.evaluator("kp_step")
    vdot, after = evaluator(T, Q, V, u, p), march(COMPARED_STEPS)[-1]

    def steps_from_python(steps: int) -> Array:
        state = x
        for i in range(steps):
            state = step(T + i * STEP, state, u, p, STEP)
        return state

    called = Row(
        f"kingpost, {formulation}, {'compiled' if backend == 'c' else 'interpreter'}, called from Python",
        evaluate=lambda: evaluator(T, Q, V, u, p), vdot=vdot, advance=steps_from_python, steps=500,
        after=steps_from_python(COMPARED_STEPS),
    )  # fmt: skip
    if backend == "vm":
        called.run = simulation.run
        return [called]
    evaluate, result = evaluator.bind(np.array([T]), Q, V, u, p)
    evaluate()
    bound = Row(f"kingpost, {formulation}, compiled, called from Python, arrays bound", evaluate=evaluate, vdot=result.copy())
    # Accelerations in a compiled loop over the states of a motion: sampled as if they were the outputs.
    t, s, w, m = (ca.MX.sym(name, size) for name, size in (("t", 1), ("x", x.size), ("u", u.size), ("p", p.size)))
    bare = Kernel([ca.Function("kp_observe", [t, s, w, m], [equations.accelerations(t, *equations.split(s), w, m)])], "c")
    states = march(1000, substeps=1)
    samples = T + STEP * np.arange(1.0, len(states) + 1), np.ascontiguousarray(states), np.zeros((len(states), u.size)), p
    looped = Row(
        f"kingpost, {formulation}, compiled, in its own loop",
        evaluate=lambda: bare.sample(*samples), evaluations=len(states),
        vdot=bare.sample(np.array([T]), x[None, :], u[None, :], p)[0],
        advance=march, steps=1000, after=after, run=simulation.run,
    )  # fmt: skip
    return [looped, bound, called]


def held_reference() -> Array:
    """Return the state after COMPARED_STEPS in each of which the set-point stays where it was at its start."""
    x = np.append(Q, V)
    for i in range(COMPARED_STEPS):
        t = T + i * STEP
        x = rk4(lambda _, y, t=t: np.concatenate([y[6:], paper_accelerations(t, y[:6], y[6:])]), t, x, 1)
    return x


# The table.


def print_table(rows: list[Row]) -> None:
    """Print times, their ratios to those of the first row, and differences from it."""
    first = rows[0]
    print(f"vessel-crane, 6 degrees of freedom; x: time over that of the first row; run: {T_END:g} s at {STEP:g} s")
    print(f"{'':<65}{'accelerations':>18}{'RK4 step':>20}{'run':>20}{'accelerations':>16}{'state, 0.1 s':>14}")
    print(f"{'':<65}{'us':>10}{'x':>8}{'us':>12}{'x':>8}{'ms':>12}{'x':>8}{'differ by':>16}{'differs by':>14}")
    for row in rows:
        cells = f"{row.name:<65}"
        for name, unit, digits in (("evaluate", 1e6, 3), ("step", 1e6, 2), ("run", 1e3, 1)):
            seconds = row.times.get(name)
            width = 10 if name == "evaluate" else 12
            cells += f"{'-':>{width}}{'-':>8}" if seconds is None else (
                f"{seconds * unit:>{width}.{digits}f}{seconds / first.times[name]:>8.1f}"
            )  # fmt: skip
        differences = [(row.vdot, first.vdot, 16), (row.after, first.after, 14)]
        for own, reference, width in differences:
            cells += f"{'-':>{width}}" if own is None else f"{np.abs(own - reference).max():>{width}.0e}"
        print(cells)


def print_demands(rows: list[Row]) -> None:
    """Print the ratios that are asked for."""
    times = {row.name: row.times for row in rows}
    looped = times["kingpost, kane, compiled, in its own loop"]
    called = times["kingpost, kane, compiled, called from Python"]
    bound = times["kingpost, kane, compiled, called from Python, arrays bound"]
    aba = times.get("Pinocchio aba, torques given", {})
    user = times.get("Pinocchio aba, springs, PD and RK4 in NumPy", {})
    stepped = times.get(MUJOCO_STEP, {})
    rolled = times.get("MuJoCo rollout (its own loop), table of set-points", {})
    demands = [
        ("accelerations: pin.aba from Python / kingpost from Python", aba, "evaluate", called, 6.0),
        ("accelerations: pin.aba from Python / kingpost from Python, arrays bound", aba, "evaluate", bound, 6.0),
        ("accelerations: pin.aba from Python / kingpost in its own loop", aba, "evaluate", looped, 6.0),
        ("RK4 step: written on pin.aba / kingpost in its own loop", user, "step", looped, 25.0),
        ("RK4 step: mj_step / kingpost in its own loop", stepped, "step", looped, 6.0),
        ("RK4 step: MuJoCo's own loop / kingpost in its own loop", rolled, "step", looped, 6.0),
    ]
    print()
    for text, peer_times, name, own, least in demands:
        if name in peer_times:
            ratio = peer_times[name] / own[name]
            print(f"{text:<74}{ratio:8.2f}   at least {least:g}: {'met' if ratio >= least else 'missed'}")
    ratio = looped["step"] / (4.0 * looped["evaluate"])
    print(
        f"{'RK4 step / four bare evaluations of the accelerations, kingpost':<74}{ratio:8.2f}   at most 1.5: "
        f"{'met' if ratio <= 1.5 else 'missed'}"
    )


def main() -> None:
    """Print one table."""
    rows = [*kingpost_rows("kane", "c"), *kingpost_rows("recursive", "c"), *kingpost_rows("kane", "vm")]
    pinocchio, mujoco = peer("pinocchio", "pin"), peer("mujoco")
    rows += pinocchio_rows(pinocchio) if pinocchio else []
    rows += mujoco_rows(mujoco) if mujoco else []
    sys.exudynFast = True  # type: ignore[attr-defined]  # Exudyn without range checks, if asked for before it is imported
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exudyn = peer("exudyn")
    if exudyn:
        rows += exudyn_rows(exudyn)
    else:
        print(said.getvalue().strip())
    rows.append(numpy_row())
    measure(rows)
    print_table(rows)
    stepped = next((row for row in rows if row.name == MUJOCO_STEP), None)
    if stepped and stepped.after is not None:
        difference = np.abs(stepped.after - held_reference()).max()
        print(f"MuJoCo holds the set-point over a step; the paper's equations, stepped like that, differ by {difference:.0e}")
    print_demands(rows)


if __name__ == "__main__":
    main()
