"""What physics says about a run, found from its samples afterwards: energy, momentum, and how well constraints are kept.

Rank and condition need singular values, of which no C code can be made; so all of it is computed after the run.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channels import Channel
from kingpost.base.errors import Interrupted, SolverError
from kingpost.equations.consistency import RANK
from kingpost.equations.equations import Equations
from kingpost.multibody.tree import TreeKinematics
from kingpost.results.history import History
from kingpost.results.monitor_channels import ENERGY, ERRORS, MOMENTUM, QUALITY
from kingpost.simulation.run import Progress, Simulation


def monitored_run(simulation: Simulation, progress: Progress = lambda fraction: None) -> History:
    """Carry a run out and return its history with monitors; what a run leaves that fails or is interrupted has them, too."""
    try:
        return with_monitors(simulation, simulation.run(progress))
    except (SolverError, Interrupted) as error:
        # The run's own error is what the user must see, even if the last samples are such that nothing can be said of them.
        if error.history is not None:
            with contextlib.suppress(RuntimeError, np.linalg.LinAlgError):
                error.history = with_monitors(simulation, error.history)
        raise


def with_monitors(simulation: Simulation, history: History) -> History:
    """Return the history of a run with further channels: energy balance, momentum and how well constraints are kept.

    Momentum is left out where a formulation does not say how its coordinates give those of the joints.
    """
    equations = simulation.equations
    q, v, z = np.split(history.values[:, : simulation.states], [equations.nq, equations.nq + equations.nv], axis=1)
    acting = np.hstack([simulation.inputs[: len(history)], z])
    given = [history.time[None, :], q.T, v.T, acting.T, simulation.p]
    channels: list[Channel] = [*ENERGY]
    before = simulation.rows.before_samples[: len(history) - 1]
    columns: list[FloatArray] = [_energy_balance(equations, given, before)]
    if equations.joint_coordinates or equations.coordinates.joint_state is not None:
        channels += MOMENTUM
        columns.append(_sampled(_momentum(simulation), given))
    if equations.constraints.count:
        channels += [*ERRORS, *QUALITY]
        columns += [_sampled(_errors(equations), given), _quality(equations, given)]
    everything = (*history.channels, *channels)
    provenance = {**history.provenance, "channels": [vars(channel) for channel in everything]}
    return replace(history, channels=everything, values=np.hstack([history.values, *columns]), provenance=provenance)


def _sampled(function: ca.Function, given: list[FloatArray]) -> FloatArray:
    """Return the values of a function (t, q, v, u, p) of all samples, one row each."""
    *changing, p = given
    count = changing[0].shape[1]
    values = function.map(count)(*changing, np.repeat(p[:, None], count, axis=1))
    return np.asarray(values).T.reshape(count, -1)


def _energy_balance(equations: Equations, given: list[FloatArray], before: FloatArray) -> FloatArray:
    """Return the work done since the first sample, and the energy beyond it, of each sample.

    ``before`` are the inputs that lead to each sample but the first; they may be others than those from there on.

    The power is the rate of the total energy along the equations of motion. From sample to sample it is integrated by Hermite's
    rule, h/2 (P0 + P1) + h^2/12 (P0' - P1'), with the inputs as they are there: an error of fourth order. Where a force is
    plain Python it is the trapezoidal rule, since rates of its values could only be estimated.
    """
    time, q, v, inputs, p = given
    if time.size < 2:
        return np.zeros((time.size, 2))
    exact = equations.exact
    symbols = _symbols(equations)
    energy = ca.Function("energy", symbols, [equations.observations(*symbols)[-1]])
    power = _power(exact, energy)
    change = _rate(exact, power) if not equations.python_forces else None
    # Inputs may jump at samples; states behind them do not.
    t, nu = time[0], equations.nu
    parts = (slice(None, -1), slice(1, None))
    inside = [np.vstack([rows, inputs[nu:, part]]) for rows, part in zip((inputs[:nu, :-1], before.T), parts, strict=True)]
    ends = [[time[:, part], q[:, part], v[:, part], acting, p] for part, acting in zip(parts, inside, strict=True)]
    h = np.diff(t)
    P0, P1 = (_sampled(power, end)[:, 0] for end in ends)
    done = h / 2 * (P0 + P1)
    if change is not None:
        rate0, rate1 = (_sampled(change, end)[:, 0] for end in ends)
        done += h**2 / 12 * (rate0 - rate1)
    total = _sampled(energy, given)[:, 0]
    # Where an input changes a potential, that takes work at once.
    done += total[1:] - _sampled(energy, ends[1])[:, 0]
    work = np.concatenate([[0.0], np.cumsum(done)])
    return np.column_stack([work, total - total[0] - work])


def _power(equations: Equations, energy: ca.Function) -> ca.Function:
    """Return the power (t, q, v, u, p) -> P of all that has no potential.

    Multipliers do work where speeds do not satisfy the constraints, as those of some integrators do in the mean of a step only;
    that is no power of the machine's, and left out.
    """
    power = _rate(equations, energy)
    if not equations.constraints.count:
        return power
    symbols = _symbols(equations)
    t, q, v, _, p = symbols
    error = equations.constraint_residuals(t, q, v, p)[1]
    return ca.Function("power", symbols, [power(*symbols) + ca.dot(equations.multipliers(*symbols), error)])


def _rate(equations: Equations, function: ca.Function) -> ca.Function:
    """Return the rate of a function (t, q, v, u, p) along the motion, at constant inputs."""
    symbols = _symbols(equations)
    t, q, v, acting, p = symbols
    value = function(*symbols)
    led = ca.vertcat(ca.MX(equations.nu, 1), equations.state_rates(*symbols))
    flow = (
        (t, ca.MX(1)),
        (q, equations.kinematics(q, v, p)),
        (v, equations.accelerations(*symbols)),
        *([(acting, led)] if equations.nz else []),
    )
    rates = [ca.jtimes(value, item, rate) for item, rate in flow if item.numel()]
    return ca.Function("rate", symbols, [ca.densify(sum(rates, ca.MX(1, 1)))])


def _momentum(simulation: Simulation) -> ca.Function:
    """Return the function (t, q, v, u, p) -> linear and angular momentum about the origin, in world axes."""
    equations = simulation.equations
    if equations.observed.momentum is not None:
        symbols = [equations.t, equations.q, equations.v, equations.u, equations.p]
        return ca.Function("momentum", symbols, [equations.observed.momentum])
    assembly = simulation.problem.assembly
    kinematics = TreeKinematics(assembly)
    linear, angular = ca.SX(3, 1), ca.SX(3, 1)
    for body in simulation.mechanism.bodies:
        X, twist, com = kinematics.pose(body.name), kinematics.twist(body.name), assembly.vector(body.com)
        momentum = assembly.value(body.mass) * (X.R @ (twist[3:] + ca.cross(twist[:3], com)))
        linear += momentum
        angular += X.R @ (kinematics.inertia(body.name) @ twist[:3]) + ca.cross(X.p + X.R @ com, momentum)
    given = [assembly.t, kinematics.q, kinematics.v, assembly.u, assembly.p]
    of_joints = ca.Function("of_joints", given, [ca.densify(ca.vertcat(linear, angular))])
    t, q, v, u, p = _symbols(equations)
    joint_q, joint_v = q, v
    if equations.coordinates.joint_state is not None:
        joint_q, joint_v, _ = equations.coordinates.joint_state(q, v, ca.MX.zeros(equations.nv), p)
    return ca.Function("momentum", [t, q, v, u, p], [of_joints(t, joint_q, joint_v, u, p)])


def _symbols(equations: Equations) -> list[ca.MX]:
    sizes = (1, equations.nq, equations.nv, equations.u.numel(), equations.np)
    return [ca.MX.sym(name, size) for name, size in zip("tqvup", sizes, strict=True)]


def _errors(equations: Equations) -> ca.Function:
    """Return the function (t, q, v, u, p) -> largest error of the constraints at each level."""
    held = equations.constraints
    speed = held.A @ equations.v + held.b
    vdot = type(equations.q).sym("vdot", equations.nv)
    rate = ca.jtimes(speed, equations.q, equations.N @ equations.v) + ca.jacobian(speed, equations.t)
    rate = rate + held.A @ vdot
    symbols = [equations.t, equations.q, equations.v, vdot, equations.p]
    levels = ca.Function("levels", symbols, [ca.densify(level) for level in (held.phi, speed, rate)])
    t, q, v, u, p = _symbols(equations)
    found = levels(t, q, v, equations.accelerations(t, q, v, u, p), p)
    largest = [ca.mmax(ca.fabs(level)) if level.numel() else ca.MX(0) for level in found]
    return ca.Function("errors", [t, q, v, u, p], [ca.vertcat(*largest)])


def _quality(equations: Equations, given: list[FloatArray]) -> FloatArray:
    """Return rank and condition of the constraint Jacobian of each sample."""
    symbols = [equations.t, equations.q, equations.v, equations.u, equations.p]
    rows = _sampled(ca.Function("A", symbols, [ca.densify(ca.vec(equations.constraints.A))]), given)
    jacobians = rows.reshape(len(rows), equations.nv, -1).transpose(0, 2, 1)
    # What cannot be told of a run that has exploded is a gap.
    lost = ~np.isfinite(rows).all(axis=1)
    jacobians[lost] = 0.0
    values = np.linalg.svd(jacobians, compute_uv=False)
    largest, smallest = values[:, 0], values[:, -1]
    rank = (values > RANK * largest[:, None]).sum(axis=1)
    condition = np.divide(largest, smallest, out=np.full(len(values), np.inf), where=smallest > 0)
    quality = np.column_stack([rank.astype(float), condition])
    quality[lost] = np.nan
    return quality
