"""What physics says about a run, found from its samples afterwards: momentum, and how well the constraints are kept.

Rank and condition need singular values, of which no C code can be made; so all of it is computed after the run.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from kingpost.assembly import assemble
from kingpost.consistency import RANK
from kingpost.equations import Channel, Equations, FloatArray
from kingpost.history import History
from kingpost.kinematics import TreeKinematics
from kingpost.simulation import Simulation

#: In world axes; the angular momentum is about the origin of the world.
MOMENTUM = tuple(
    Channel(f"momentum.{kind}.{axis}", unit, "world")
    for kind, unit in (("linear", "kg.m/s"), ("angular", "kg.m2/s"))
    for axis in "xyz"
)
#: Largest absolute error of all rows at the level of positions, speeds and accelerations, in m or rad and their rates.
ERRORS = tuple(Channel(f"constraints.{level}", "1") for level in ("position", "speed", "acceleration"))
#: Of the constraint Jacobian A: rank, and the largest over the smallest singular value.
QUALITY = (Channel("constraints.rank", "1"), Channel("constraints.condition", "1"))


def with_monitors(simulation: Simulation, history: History) -> History:
    """Return the history of a run with further channels: momentum and, of closed loops, how well they are kept.

    Momentum is left out where a formulation does not say how its coordinates give those of the joints.
    """
    equations = simulation.equations
    q, v = history.values[:, : equations.nq].T, history.values[:, equations.nq : simulation.states].T
    given = [history.time[None, :], q, v, simulation.inputs[: len(history)].T, simulation.p]
    channels: list[Channel] = []
    columns: list[FloatArray] = []
    if equations.joint_coordinates or equations.joint_state is not None:
        channels += MOMENTUM
        columns.append(_sampled(_momentum(simulation), given))
    if equations.lam.numel():
        channels += [*ERRORS, *QUALITY]
        columns += [_sampled(_errors(equations), given), _quality(equations, given)]
    if not channels:
        return history
    everything = (*history.channels, *channels)
    provenance = {**history.provenance, "channels": [vars(channel) for channel in everything]}
    return replace(history, channels=everything, values=np.hstack([history.values, *columns]), provenance=provenance)


def _sampled(function: ca.Function, given: list[FloatArray]) -> FloatArray:
    """Return the values of a function (t, q, v, u, p) of all samples, one row each."""
    *changing, p = given
    count = changing[0].shape[1]
    values = function.map(count)(*changing, np.repeat(p[:, None], count, axis=1))
    return np.asarray(values).T.reshape(count, -1)


def _momentum(simulation: Simulation) -> ca.Function:
    """Return the function (t, q, v, u, p) -> linear and angular momentum about the origin, in world axes."""
    assembly = assemble(simulation.mechanism, simulation.plugins)
    kinematics = TreeKinematics(assembly)
    linear, angular = ca.SX(3, 1), ca.SX(3, 1)
    for body in simulation.mechanism.bodies:
        X, twist, com = kinematics.pose(body.name), kinematics.twist(body.name), assembly.vector(body.com)
        momentum = assembly.value(body.mass) * (X.R @ (twist[3:] + ca.cross(twist[:3], com)))
        linear += momentum
        angular += X.R @ (kinematics.inertia(body.name) @ twist[:3]) + ca.cross(X.p + X.R @ com, momentum)
    equations = simulation.equations
    of_joints = ca.Function("of_joints", [kinematics.q, kinematics.v, assembly.p], [ca.densify(ca.vertcat(linear, angular))])
    t, q, v, u, p = _symbols(equations)
    joint_q, joint_v = q, v
    if equations.joint_state is not None:
        joint_q, joint_v, _ = equations.joint_state(q, v, ca.MX.zeros(equations.nv), p)
    return ca.Function("momentum", [t, q, v, u, p], [of_joints(joint_q, joint_v, p)])


def _symbols(equations: Equations) -> list[ca.MX]:
    sizes = (1, equations.nq, equations.nv, equations.nu, equations.np)
    return [ca.MX.sym(name, size) for name, size in zip("tqvup", sizes, strict=True)]


def _errors(equations: Equations) -> ca.Function:
    """Return the function (t, q, v, u, p) -> largest error of the constraints at each level."""
    speed = equations.A @ equations.v + equations.b
    vdot = type(equations.q).sym("vdot", equations.nv)
    rate = ca.jtimes(speed, equations.q, equations.N @ equations.v) + ca.jacobian(speed, equations.t)
    rate = rate + equations.A @ vdot
    symbols = [equations.t, equations.q, equations.v, vdot, equations.p]
    levels = ca.Function("levels", symbols, [ca.densify(level) for level in (equations.phi, speed, rate)])
    t, q, v, u, p = _symbols(equations)
    found = levels(t, q, v, equations.accelerations(t, q, v, u, p), p)
    largest = [ca.mmax(ca.fabs(level)) if level.numel() else ca.MX(0) for level in found]
    return ca.Function("errors", [t, q, v, u, p], [ca.vertcat(*largest)])


def _quality(equations: Equations, given: list[FloatArray]) -> FloatArray:
    """Return rank and condition of the constraint Jacobian of each sample."""
    symbols = [equations.t, equations.q, equations.v, equations.u, equations.p]
    rows = _sampled(ca.Function("A", symbols, [ca.densify(ca.vec(equations.A))]), given)
    jacobians = rows.reshape(len(rows), equations.nv, -1).transpose(0, 2, 1)
    values = np.linalg.svd(jacobians, compute_uv=False)
    largest, smallest = values[:, 0], values[:, -1]
    rank = (values > RANK * largest[:, None]).sum(axis=1)
    condition = np.divide(largest, smallest, out=np.full(len(values), np.inf), where=smallest > 0)
    return np.column_stack([rank.astype(float), condition])
