"""Machines with controllers, integrated as one system or sample by sample, without any co-simulation."""

from __future__ import annotations

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

from kingpost.control.blocks import Block, DiscreteBlock
from kingpost.control.servo.feedback import ServoLoop
from kingpost.control.servo.posing import pose_servo
from kingpost.kernel.kernel import Evaluator, Kernel
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import select

_LOOPS: dict = {}


def servo_loop(name: str, task: str = "003", **settings: float) -> ServoLoop:
    """The servo loop of a model of ours with one of its tasks; the same object for the same arguments."""
    key = (name, task, *settings.items())
    if key not in _LOOPS:
        plugins = PluginSet()
        model = select(plugins.models, name)
        _LOOPS[key] = ServoLoop(pose_servo(model.build(), model.tasks()[task], values=settings, plugins=plugins))
    return _LOOPS[key]


def feedback(text: str):
    """A feedback plugin by name and options."""
    return select(PluginSet().of("feedback"), text)


def start_of(loop: ServoLoop) -> np.ndarray:
    """The state of the machine where the path begins."""
    at = loop.start.point
    return np.concatenate([at.q, at.v, at.z])


def errors(loop: ServoLoop, times, states) -> np.ndarray:
    """gamma - y at some times."""
    problem = loop.problem
    s = problem.symbols
    y = Evaluator(ca.Function("y", [s.t, s.q, s.p], [ca.densify(problem.y)]))
    found = np.array([y(t, x[: problem.equations.nq], problem.p) for t, x in zip(times, states, strict=True)])
    return problem.signals(times, 0)[:, 0, : problem.outputs] - found


def continuous(loop: ServoLoop, block: Block, x: np.ndarray, times, rtol=1e-11, memory=None) -> np.ndarray:
    """States of machine and controller at some times, as one differential equation."""
    problem = loop.problem
    e, p = problem.equations, np.array([entry.default for entry in block.parameters])
    further = np.array([entry.default for entry in block.inputs])[e.nx :]
    memory = np.array([state.start for state in block.states]) if memory is None else memory
    rhs = Evaluator(e.rhs)
    symbols = [ca.MX.sym(f"i{k}", block.function.numel_in(k)) for k in range(4)]
    body = Evaluator(ca.Function("body", symbols, [ca.vertcat(*block.function.call(symbols))]))
    u = problem.posed.u0.copy()

    def rate(t, state):
        found = body(t, state[e.nx :], np.concatenate([state[: e.nx], further]), p)
        u[list(problem.driven)] = found[len(memory) :]
        return np.concatenate([rhs(t, state[: e.nx], u, problem.p), found[: len(memory)]])

    solved = solve_ivp(
        rate, (times[0], times[-1]), np.concatenate([x, memory]), method="DOP853", rtol=rtol, atol=1e-13, t_eval=times
    )
    assert solved.success, solved.message
    return solved.y.T


def in_samples(loop: ServoLoop, block: DiscreteBlock, x: np.ndarray, count: int, late: int = 0, divisions: int = 5):
    """Times and states at all samples, inputs held in between; they act ``late`` samples after what they come from."""
    problem, h = loop.problem, block.sample_time
    e, p = problem.equations, np.array([entry.default for entry in block.parameters])
    further = np.array([entry.default for entry in block.inputs])[e.nx :]
    symbols = [ca.MX.sym(f"i{k}", block.step.numel_in(k)) for k in range(5)]
    sample = Kernel([ca.Function("kp_sample_of_test", symbols, [ca.vertcat(*block.step.call(symbols))])]).evaluator(
        "kp_sample_of_test"
    )
    rhs = Evaluator(e.rhs)
    memory, u = np.array([state.start for state in block.memory]), problem.posed.u0.copy()
    waiting = [np.array(block.held)] * late
    times, states, t, d = [problem.task.t_start], [x], problem.task.t_start, h / divisions
    for k in range(count):
        t = problem.task.t_start + k * h
        found = sample(t, memory, np.concatenate([x, further]), p, h)
        if not np.isfinite(found).all() or np.abs(x).max() > 1e6:
            break
        memory = found[: len(memory)]
        waiting.append(found[len(memory) :])
        u[list(problem.driven)] = waiting.pop(0)
        for j in range(divisions):
            now = t + j * d
            k1 = rhs(now, x, u, problem.p)
            k2 = rhs(now + d / 2, x + d / 2 * k1, u, problem.p)
            k3 = rhs(now + d / 2, x + d / 2 * k2, u, problem.p)
            k4 = rhs(now + d, x + d * k3, u, problem.p)
            x = x + d / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        times.append(t + h)
        states.append(x)
    return np.array(times), np.array(states)
