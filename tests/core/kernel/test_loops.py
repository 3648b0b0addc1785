"""A march in parts is the march at once."""

import casadi as ca
import numpy as np
import pytest

from kingpost.kernel.kernel import Kernel
from kingpost.kernel.loops import Status


def machine(limit=1e300):
    """Return a step and outputs of something that grows, and is not finite above a limit."""
    t, x, u, p, h = (ca.MX.sym(name, size) for name, size in {"t": 1, "x": 2, "u": 1, "p": 1, "h": 1}.items())
    following = x + h * ca.vertcat(x[1], -p * ca.sin(x[0]) + u + ca.cos(t))
    shown = ca.if_else(x[0] > limit, ca.inf, x[0])
    return [
        ca.Function("kp_step", [t, x, u, p, h], [following]),
        ca.Function("kp_observe", [t, x, u, p], [ca.vertcat(x, shown, u, t)]),
    ]


X0, P = np.array([0.1, 0.2]), np.array([3.0])


@pytest.mark.parametrize("backend", ["c", "vm"])
@pytest.mark.parametrize("size", [1, 3, 10, 50])
@pytest.mark.parametrize("every", [None, 2])
def test_parts_are_the_whole(backend, size, every):
    kernel = Kernel(machine(), backend)
    samples, substeps = 10, 4
    inputs = np.random.default_rng(1).normal(size=(samples * (substeps // every if every else 1) + 1, 1))
    whole = np.empty((samples, 5))
    end = kernel.march(whole, substeps, 1.0, 0.01, X0, inputs, P, every=every)
    room = np.empty((min(size, samples), 5))
    found, done = [], 0
    for stop in kernel.march_in_parts(room, samples, substeps, 1.0, 0.01, X0, inputs, P, every=every):
        assert stop.status == Status.OK
        found.append(room[: stop.steps // substeps - done].copy())
        done = stop.steps // substeps
    assert np.array_equal(np.vstack(found), whole)
    assert np.array_equal(stop.x, end.x) and stop.steps == end.steps


@pytest.mark.parametrize("backend", ["c", "vm"])
def test_a_failure_ends_the_parts(backend):
    kernel = Kernel(machine(0.15), backend)
    room = np.empty((4, 5))
    whole = np.empty((100, 5))
    end = kernel.march(whole, 2, 0.0, 0.01, X0, np.zeros((1, 1)), P)
    *before, last = kernel.march_in_parts(room, 100, 2, 0.0, 0.01, X0, np.zeros((1, 1)), P)
    assert end.status == last.status == Status.OUTPUT_NOT_FINITE
    assert (last.steps, last.t) == (end.steps, end.t)
    assert np.array_equal(last.x, end.x)
    assert all(stop.status == Status.OK for stop in before)
    assert np.isinf(room[last.steps // 2 - 4 * len(before), 2])


@pytest.mark.parametrize("backend", ["c", "vm"])
def test_what_steps_tell_beside_their_states_is_added_up(backend):
    """Here that the speed has fallen below zero."""
    step, observe = machine()
    given = [ca.MX.sym(f"i{k}", step.numel_in(k)) for k in range(step.n_in())]
    following = step(*given)
    telling = ca.Function("kp_step", given, [following, following[1] < 0])
    states = np.empty((40, 5))
    plain = Kernel([step, observe], backend).march(states, 5, 0.0, 0.02, X0, np.zeros((1, 1)), P)
    assert plain.told == 0
    every = np.empty((200, 5))
    kernel = Kernel([telling, observe], backend)
    stop = kernel.march(every, 1, 0.0, 0.02, X0, np.zeros((1, 1)), P)
    assert np.array_equal(stop.x, plain.x)
    assert stop.told == (every[:, 1] < 0).sum() > 10
    *_, last = kernel.march_in_parts(np.empty((7, 5)), 40, 5, 0.0, 0.02, X0, np.zeros((1, 1)), P)
    assert last.told == stop.told
