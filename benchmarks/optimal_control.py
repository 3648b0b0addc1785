"""What does optimal control cost: of a pendulum and of three links, against programs written by hand?

Mid-point rule, effort, from rest at the start (document 001, sections 6.2 and 8.1). By hand: Lagrange's equations of these two
machines in CasADi, the rows, Jacobian and Hessian of one interval compiled and mapped, and IPOPT with the same options. Ours is
there twice: as it comes, where programs that are solved sooner than compiled are interpreted, and with machine code always.
Where it is installed, Crocoddyl with the explicit Euler step that it has, its own solver FDDP, and a penalty in the place of
the end conditions, so that its cost is another one. Set-up is everything before the first iteration, with machine code from no
cache. Times are processor times of this process and of the compiler; rows take turns.

Peer: pip install crocoddyl. Without it, its rows are left out.

    python benchmarks/optimal_control.py [INTERVALS ...]
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from math import pi
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from kingpost import PluginSet, RunSettings, open_model, prepare_optimisation
from kingpost.kernel.kernel import Backend

Array = np.ndarray[Any, np.dtype[np.float64]]
ROUNDS = 3
OPTIONS = {
    "ipopt.print_level": 0,
    "print_time": False,
    "ipopt.sb": "yes",
    "ipopt.tol": 1e-9,
    "ipopt.constr_viol_tol": 1e-9,
    "ipopt.mumps_permuting_scaling": 0,
}


def processor() -> float:
    """Return the processor time of this process and of those that it has waited for."""
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


@dataclasses.dataclass(frozen=True)
class Machine:
    """T and V by hand, and the ends of the motion."""

    model: str
    n: int
    mass: Callable[[ca.SX], ca.SX]
    potential: Callable[[ca.SX], ca.SX]
    start: Array
    end: Array
    time: float
    #: About how large inputs are.
    size: float


def pendulum() -> Machine:
    """Return the mathematical pendulum."""
    return Machine(
        "mathematical-pendulum",
        1,
        lambda q: ca.SX.eye(1),
        lambda q: -9.81 * ca.sin(q[0]),
        np.zeros(1),
        np.array([pi / 2]),
        3.0,
        5.0,
    )


def three_links() -> Machine:
    """Return the three-link manipulator of table 6.1."""
    masses, lengths = (30.0, 25.0, 10.0), (7.0, 6.0, 8.0)
    inertias = (1.225 + 143.3027, 1.0208 + 88.0208, 0.4083 + 60.2083)

    def places(q: ca.SX) -> list[tuple[ca.SX, ca.SX, ca.SX]]:
        found, corner, angle = [], ca.SX.zeros(2), ca.SX(0)
        for i, length in enumerate(lengths):
            angle = angle + q[i]
            along = ca.vertcat(ca.cos(angle), ca.sin(angle))
            found.append((corner + length / 2 * along, angle, along))
            corner = corner + length * along
        return found

    def mass(q: ca.SX) -> ca.SX:
        total = ca.SX.zeros(3, 3)
        for (centre, angle, _), m, inertia in zip(places(q), masses, inertias, strict=True):
            J, turned = ca.jacobian(centre, q), ca.jacobian(angle, q)
            total += m * J.T @ J + inertia * turned.T @ turned
        return total

    def potential(q: ca.SX) -> ca.SX:
        return sum(9.81 * m * centre[1] for (centre, _, _), m in zip(places(q), masses, strict=True))

    start, end = np.array([pi / 2, -pi / 2, pi / 2]), np.array([pi / 2, 0.0, 0.0])
    return Machine("three-link-manipulator", 3, mass, potential, start, end, 3.0, 2000.0)


def by_hand(machine: Machine, N: int) -> tuple[float, float, int, float]:
    """Return set-up, seconds, iterations and cost of a program written for the mid-point rule alone."""
    began = processor()
    n, h = machine.n, machine.time / N
    q, v, a = (ca.SX.sym(name, n) for name in "qva")
    M, V = machine.mass(q), machine.potential(q)
    T = ca.dot(v, M @ v) / 2
    forces = ca.gradient(T - V, q) - ca.jtimes(M @ v, q, v)
    inertia = np.diag(np.asarray(ca.Function("M", [q], [M])(machine.start)))
    motion = ca.Function("motion", [q, v, a], [(M @ a - h * forces) / ca.DM(inertia)])
    w, lam = ca.SX.sym("w", 5 * n), ca.SX.sym("lam", 2 * n)
    q0, v0, u, q1, v1 = (w[i * n : (i + 1) * n] for i in range(5))
    rows = ca.vertcat(
        q1 - q0 - h * (v0 + v1) / 2,
        motion((q0 + q1) / 2, (v0 + v1) / 2, v1 - v0) - h * machine.size * u / ca.DM(inertia),
    )
    J = ca.jacobian(rows, w)
    H = ca.triu(ca.hessian(ca.dot(lam, rows), w)[0])
    functions = [
        ca.Function("hand_r", [w], ca.cse([ca.densify(rows)])),
        ca.Function("hand_J", [w], ca.cse([J.nz[:]])),
        ca.Function("hand_H", [w, lam], ca.cse([H.nz[:]])),
    ]
    r_all, J_all, H_all = (function.map(N) for function in _compiled(functions))
    size = 3 * n * N + 2 * n
    x, p, all_lam, s = ca.MX.sym("x", size), ca.MX.sym("p", 0), ca.MX.sym("lam", 2 * n * N), ca.MX.sym("s")
    index = np.arange(N)[:, None] * 3 * n + np.arange(5 * n)[None, :]
    local = ca.reshape(x[index.ravel().tolist()], 5 * n, N)
    torques = (np.arange(N)[:, None] * 3 * n + 2 * n + np.arange(n)).ravel()
    us = x[torques.tolist()]
    cost, g = h / 2 * ca.dot(us, us), ca.vec(r_all(local))
    gradient = ca.MX(ca.Sparsity.triplet(size, 1, torques.tolist(), [0] * len(torques)), h * us)
    i, j = (np.array(item) for item in J.sparsity().get_triplet())
    shift = np.arange(N)[:, None]
    rows_J, columns_J = (shift * 2 * n + i).ravel(), (shift * 3 * n + j).ravel()
    order = np.lexsort((rows_J, columns_J))
    pattern = ca.Sparsity.triplet(2 * n * N, size, rows_J.tolist(), columns_J.tolist())
    whole_J = ca.MX(pattern, ca.vec(J_all(local))[order.tolist()])
    i, j = (np.array(item) for item in H.sparsity().get_triplet())
    rows_H = np.concatenate([(shift * 3 * n + i).ravel(), torques])
    columns_H = np.concatenate([(shift * 3 * n + j).ravel(), torques])
    keys, where = np.unique(columns_H * size + rows_H, return_inverse=True)
    starts = np.concatenate([[0], np.cumsum(np.bincount(keys // size, minlength=size))])
    sums = ca.DM(ca.Sparsity.triplet(len(keys), len(where), where.tolist(), list(range(len(where)))), 1.0)
    parts = ca.vertcat(ca.vec(H_all(local, ca.reshape(all_lam, 2 * n, N))), s * h * ca.DM.ones(len(torques)))
    whole_H = ca.MX(ca.Sparsity(size, size, starts.tolist(), (keys % size).tolist()), sums @ parts)
    options: dict[str, Any] = {
        **OPTIONS,
        "grad_f": ca.Function("nlp_grad_f", [x, p], [cost, ca.densify(gradient)], ["x", "p"], ["f", "grad_f_x"]),
        "jac_g": ca.Function("nlp_jac_g", [x, p], [g, whole_J], ["x", "p"], ["g", "jac_g_x"]),
        "hess_lag": ca.Function(
            "nlp_hess_l", [x, p, s, all_lam], [whole_H], ["x", "p", "lam_f", "lam_g"], ["triu_hess_gamma_x_x"]
        ),
        "no_nlp_grad": True,
        **{f"calc_{name}": False for name in ("f", "g", "lam_x", "lam_p")},
    }
    solver = ca.nlpsol("hand", "ipopt", {"x": x, "p": p, "f": cost, "g": g}, options)
    low = np.full(size, -np.inf)
    low[: 2 * n] = np.concatenate([machine.start, np.zeros(n)])
    low[-2 * n :] = np.concatenate([machine.end, np.zeros(n)])
    guess = np.zeros(size)
    for k in range(N + 1):
        guess[3 * n * k : 3 * n * k + n] = machine.start
    prepared = processor()
    found = solver(x0=guess, lbx=low, ubx=np.where(np.isinf(low), np.inf, low), lbg=0.0, ubg=0.0)
    ended = processor()
    return prepared - began, ended - prepared, int(solver.stats()["iter_count"]), float(found["f"]) * machine.size**2


def _compiled(functions: list[ca.Function]) -> list[ca.Function]:
    folder = Path(tempfile.mkdtemp())
    generator = ca.CodeGenerator("hand")
    for function in functions:
        generator.add(function)
    here = Path.cwd()
    os.chdir(folder)
    try:
        generator.generate()
        subprocess.run(["cc", "-O1", "-march=native", "-fPIC", "-shared", "hand.c", "-o", "hand.so", "-lm"], check=True)
    finally:
        os.chdir(here)
    return [ca.external(function.name(), str(folder / "hand.so")) for function in functions]


def ours(machine: Machine, N: int, backend: Backend = "auto") -> tuple[float, float, int, float]:
    """Return the same of Kingpost, with a cache that is empty."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["KINGPOST_CACHE_DIR"] = cache
        began = processor()
        plugins = PluginSet()
        opened = open_model(machine.model, plugins)
        task, how = opened.optimal_task("001"), RunSettings(backend=backend)
        prepared = prepare_optimisation(opened.mechanism, task, intervals=N, starts=["constant"], how=how, plugins=plugins)
        first: list[float] = []
        found = prepared.run(lambda step: first.append(processor()))
        ended = processor()
    return first[0] - began, ended - first[0], found.solution.iterations, found.cost


def crocoddyl_peer(machine: Machine, N: int) -> tuple[float, float, int, float] | None:
    """Return the same of Crocoddyl: Euler's step, derivatives by CasADi, a penalty at the end."""
    try:
        crocoddyl = importlib.import_module("crocoddyl")
    except ImportError:
        return None
    began = processor()
    n, h = machine.n, machine.time / N
    q, v, u = (ca.SX.sym(name, n) for name in "qvu")
    M, V = machine.mass(q), machine.potential(q)
    T = ca.dot(v, M @ v) / 2
    acceleration = ca.solve(ca.densify(M), u + ca.gradient(T - V, q) - ca.jtimes(M @ v, q, v))
    x = ca.vertcat(q, v)
    rates = ca.Function(
        "rates", [x, u], [acceleration, ca.jacobian(acceleration, x), ca.jacobian(acceleration, u)], {"cse": True}
    )
    state = crocoddyl.StateVector(2 * n)
    end = np.concatenate([machine.end, np.zeros(n)])

    class Model(crocoddyl.DifferentialActionModelAbstract):  # type: ignore[misc, name-defined]
        """Equations of motion, effort, and a penalty at the end."""

        def __init__(self, penalty: float) -> None:
            crocoddyl.DifferentialActionModelAbstract.__init__(self, state, n, 1)
            self.penalty = penalty

        def calc(self, data: Any, x: Array, u: Array | None = None) -> None:
            torque = np.zeros(n) if u is None else machine.size * u
            data.xout = np.asarray(rates(x, torque)[0]).ravel()
            data.cost = (0.0 if u is None else u @ u / 2) + self.penalty * ((x - end) @ (x - end)) / 2

        def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:  # Crocoddyl's name
            torque = np.zeros(n) if u is None else machine.size * u
            _, by_x, by_u = rates(x, torque)
            data.Fx, data.Fu = np.asarray(by_x), np.asarray(by_u) * machine.size
            data.Lx, data.Lxx = self.penalty * (x - end), self.penalty * np.eye(2 * n)
            data.Lu, data.Luu = (np.zeros(n) if u is None else u), np.eye(n)

    running = crocoddyl.IntegratedActionModelEuler(Model(0.0), h)
    terminal = crocoddyl.IntegratedActionModelEuler(Model(1e6), 0.0)
    start = np.concatenate([machine.start, np.zeros(n)])
    problem = crocoddyl.ShootingProblem(start, [running] * N, terminal)
    solver = crocoddyl.SolverFDDP(problem)
    solver.th_stop = 1e-9
    prepared = processor()
    solver.solve([start] * (N + 1), [np.zeros(n)] * N, 500, False)
    ended = processor()
    cost = sum(h * float(u @ u) / 2 for u in solver.us) * machine.size**2
    return prepared - began, ended - prepared, int(solver.iter), cost


PROGRAMS: dict[str, Callable[[Machine, int], tuple[float, float, int, float] | None]] = {
    "hand": by_hand,
    "kingpost": ours,
    "kingpost c": lambda machine, N: ours(machine, N, "c"),
    "crocoddyl": crocoddyl_peer,
}


def main() -> None:
    """Print the table."""
    sizes = [int(word) for word in sys.argv[1:]] or [20, 200, 2000]
    print(f"{'machine':24}{'N':>6}  {'by':12}{'set-up s':>9}{'total s':>9}{'its':>5}{'ms/it':>8}  cost")
    for machine in (pendulum(), three_links()):
        for N in sizes:
            rows: dict[str, list[tuple[float, float, int, float]]] = {}
            for _ in range(ROUNDS if N < 1000 else 1):
                for name, function in PROGRAMS.items():
                    found = function(machine, N)
                    if found is not None:
                        rows.setdefault(name, []).append(found)
            for name, measured in rows.items():
                setup, seconds = (min(row[i] for row in measured) for i in (0, 1))
                its, cost = measured[0][2:]
                per = f"{1e3 * seconds / max(its, 1):8.2f}"
                print(
                    f"{machine.model:24}{N:6}  {name:12}{setup:9.2f}{setup + seconds:9.2f}{its:5}{per}  {cost:.9g}", flush=True
                )


if __name__ == "__main__":
    started = time.perf_counter()
    main()
    print(f"{time.perf_counter() - started:.0f} s")
