"""Peers of `optimal_control.py`: a program by hand in CasADi, IPOPT alone, and Crocoddyl with a model in Python and in C++."""

from __future__ import annotations

import importlib
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from optimal_machines import Array, Machine, Measured, processor

OPTIONS = {
    "ipopt.print_level": 0,
    "print_time": False,
    "ipopt.sb": "yes",
    "ipopt.tol": 1e-9,
    "ipopt.constr_viol_tol": 1e-9,
    "ipopt.mumps_permuting_scaling": 0,
    "ipopt.mumps_pivot_order": 0,
}
#: Weight of half the square of how far away Crocoddyl's motion ends, in the place of the end conditions.
PENALTY = 1e6


def motion_of(machine: Machine, q: ca.SX, v: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return M and f of Lagrange's equations M v' = f + u."""
    T, V = machine.energies([q[i] for i in range(machine.n)], [v[i] for i in range(machine.n)], ca.cos, ca.sin)
    M = ca.hessian(T, v)[0]
    return M, ca.gradient(T - V, q) - ca.jtimes(M @ v, q, v)


def by_hand(machine: Machine, N: int) -> Measured:
    """Return what a program written for the mid-point rule alone takes."""
    return _by_hand(machine, N)[0]


def ipopt_alone(machine: Machine, N: int) -> Measured:
    """Return what IPOPT takes for the program by hand once everything exists, and was used before: nobody is faster with it."""
    return _by_hand(machine, N)[1]


def _by_hand(machine: Machine, N: int) -> tuple[Measured, Measured]:
    began = processor()
    n, h = machine.n, machine.time / N
    q, v, a = (ca.SX.sym(name, n) for name in "qva")
    M, forces = motion_of(machine, q, v)
    inertia = np.diag(np.asarray(ca.Function("M", [q], [ca.densify(M)])(machine.start)))
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
    given = {"x0": np.zeros(size), "lbx": low, "ubx": np.where(np.isinf(low), np.inf, low), "lbg": 0.0, "ubg": 0.0}
    for k in range(N + 1):
        given["x0"][3 * n * k : 3 * n * k + n] = machine.start
    prepared = processor()
    found = solver(**given)
    ended = processor()
    solver(**given)
    again = processor()
    its, reached = int(solver.stats()["iter_count"]), float(found["f"]) * machine.size**2
    away = float(np.abs(np.asarray(found["x"]).ravel()[-2 * n :] - low[-2 * n :]).max())
    first = Measured(prepared - began, ended - prepared, its, reached, away)
    return first, Measured(0.0, again - ended, its, reached, away)


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


def crocoddyl_in_python(machine: Machine, N: int) -> Measured | None:
    """Return what Crocoddyl takes with a model in Python that calls CasADi: the way for equations that are one's own."""
    crocoddyl = _crocoddyl()
    if crocoddyl is None:
        return None
    began = processor()
    n = machine.n
    q, v, u = (ca.SX.sym(name, n) for name in "qvu")
    M, forces = motion_of(machine, q, v)
    acceleration = ca.solve(ca.densify(M), u + forces)
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

    return _solved(crocoddyl, machine, N, Model(0.0), Model(PENALTY), began, machine.size)


def crocoddyl_in_cpp(machine: Machine, N: int) -> Measured | None:
    """Return what Crocoddyl takes with a model of Pinocchio, all in C++: the way for machines that Pinocchio knows."""
    crocoddyl = _crocoddyl()
    if crocoddyl is None:
        return None
    pin = importlib.import_module("pinocchio")
    began = processor()
    n = machine.n
    model = pin.Model()
    model.gravity = pin.Motion(np.array([0.0, machine.gravity, 0.0]), np.zeros(3))
    joint, place = 0, pin.SE3.Identity()
    for i, link in enumerate(machine.links):
        joint = model.addJoint(joint, pin.JointModelRZ(), place, f"joint{i}")
        about = np.diag([0.0, 0.0, link.inertia])
        model.appendBodyToJoint(joint, pin.Inertia(link.mass, np.array([link.centre, 0.0, 0.0]), about), pin.SE3.Identity())
        place = pin.SE3(np.eye(3), np.array([link.length, 0.0, 0.0]))
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)
    effort, ending = crocoddyl.CostModelSum(state), crocoddyl.CostModelSum(state)
    effort.addCost("effort", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state)), machine.size**-2)
    end = np.concatenate([machine.end, np.zeros(n)])
    miss = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelState(state, end, actuation.nu))
    ending.addCost("end", miss, PENALTY)
    models = [crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs) for costs in (effort, ending)]
    for each in models:
        # By default some wheels (Crocoddyl 3.2.1 with Pinocchio 4.1.0) leave gravity out of the accelerations; so they do not.
        each.armature = np.zeros(n)
    _check_motion(machine, models[0])
    return _solved(crocoddyl, machine, N, *models, began, 1.0)


def _check_motion(machine: Machine, model: Any) -> None:
    """Compare the accelerations of a model in C++ with those of Lagrange's equations, so that the same machine is moved."""
    n = machine.n
    q, v = (ca.SX.sym(name, n) for name in "qv")
    M, forces = motion_of(machine, q, v)
    mass, f = (np.asarray(item) for item in ca.Function("motion", [q, v], [ca.densify(M), forces])(0.3, 0.2))
    data, torque = model.createData(), np.full(n, 0.1)
    model.calc(data, np.concatenate([np.full(n, 0.3), np.full(n, 0.2)]), torque)
    assert np.allclose(data.xout, np.linalg.solve(mass, torque + f.ravel())), "Crocoddyl moves another machine"


def _crocoddyl() -> Any:
    try:
        return importlib.import_module("crocoddyl")
    except ImportError:
        return None


def _solved(crocoddyl: Any, machine: Machine, N: int, running: Any, last: Any, began: float, unit: float) -> Measured:
    """Return what FDDP takes from rest, with Euler's step; ``unit`` is that of inputs."""
    n, h = machine.n, machine.time / N
    steps = crocoddyl.IntegratedActionModelEuler(running, h)
    start = np.concatenate([machine.start, np.zeros(n)])
    problem = crocoddyl.ShootingProblem(start, [steps] * N, crocoddyl.IntegratedActionModelEuler(last, 0.0))
    solver = crocoddyl.SolverFDDP(problem)
    solver.th_stop = 1e-9
    prepared = processor()
    solver.solve([start] * (N + 1), [np.zeros(n)] * N, 500, False)
    ended = processor()
    cost = sum(h * float(u @ u) / 2 for u in solver.us) * unit**2
    away = float(np.abs(np.asarray(solver.xs[-1]) - np.concatenate([machine.end, np.zeros(n)])).max())
    return Measured(prepared - began, ended - prepared, int(solver.iter), cost, away)
