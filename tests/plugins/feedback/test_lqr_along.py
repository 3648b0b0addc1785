"""Linear-quadratic feedback along the path."""

import numpy as np
import pytest
import scipy.linalg

from kingpost import KingpostError
from kingpost.control.servo.derivative_array import FirstOrder
from kingpost.control.servo.index.points import at_rest
from kingpost.statics.linearize import linearize
from tests.plugins.feedback.loops import continuous, errors, feedback, servo_loop, start_of


def test_on_the_path_the_inputs_are_those_of_inverse_dynamics():
    loop = servo_loop("mass-chain")
    block = feedback("lqr-along:step=0.005").controller(loop)
    s = loop.problem.signals
    for t in (1.0, 2.0, 4.2):
        # Eq. (32) of document 003 with m1 = 1, m2 = 2, k = 10, l0 = 0.5.
        g = s([t], 4)[0, :, 0]
        x = [0.2 * g[2] + g[0] - 0.5, g[0], 0.2 * g[3] + g[1], g[1]]
        force = float(block.function(t, [], x, [entry.default for entry in block.parameters])[1])
        assert force == pytest.approx(0.2 * g[4] + 3 * g[2], abs=2e-4)


def test_gains_at_the_end_are_those_of_the_algebraic_riccati_equation():
    loop = servo_loop("overhead-crane")
    block = feedback("lqr-along:effort=100,position=0.1,state=1").controller(loop)
    problem = loop.problem
    system = FirstOrder(problem)
    rest, _ = at_rest(system, 3.0, system.start)
    e = problem.equations
    linear = linearize(e, 3.0, rest[: e.nx], rest[system.unknowns.u], problem.p)
    # The load moves by (s + l theta, -l): H at the end, with l = 1.5.
    H = np.array([[1.0, 1.5, 0.0], [0.0, 0.0, -1.0]])
    weights = np.eye(6) + scipy.linalg.block_diag(H.T @ H, H.T @ H) / 0.1**2
    S = scipy.linalg.solve_continuous_are(linear.A, linear.B, weights, np.eye(2) / 100**2)
    K = 100**2 * linear.B.T @ S
    p = [entry.default for entry in block.parameters]
    at = np.asarray(block.function(3.0, [], rest[:6], p)[1]).ravel()
    found = np.column_stack([
        (np.asarray(block.function(3.0, [], rest[:6] + 1e-3 * unit, p)[1]).ravel() - at) / 1e-3 for unit in np.eye(6)
    ])  # fmt: skip
    # The reference comes from steps of 10 ms and is at rest there up to 1e-4 rad.
    np.testing.assert_allclose(found, -K, rtol=1e-4, atol=1e-4 * np.abs(K).max())


@pytest.mark.quick("mass-chain-*")
@pytest.mark.parametrize(
    ("name", "settings", "offset"),
    [
        ("overhead-crane", {}, [0.1]),
        ("mass-chain", {"damping": 10.0}, [0.1, 0.1]),
        ("passive-joint-arm", {"damping": 0.2}, [0.2]),
    ],
)
def test_errors_decay_where_there_are_internal_states_too(name, settings, offset):
    loop = servo_loop(name, **settings)
    block = feedback("lqr-along").controller(loop)
    x = start_of(loop)
    x[: len(offset)] -= offset
    end = loop.problem.task.t_end
    times = np.linspace(0.0, 2 * end, 21)
    found = np.abs(errors(loop, times, continuous(loop, block, x, times, rtol=1e-8)))
    assert found[0].max() == pytest.approx(offset[0])
    assert found[-1].max() < 0.01 * offset[0]


def test_what_inputs_do_not_reach_is_refused():
    # Two masses that nothing connects: the force does not reach the second one.
    with pytest.raises(KingpostError, match="no state of the machine was found that meets the path"):
        feedback("lqr-along").controller(servo_loop("mass-chain", stiffness=0.0))
    with pytest.raises(KingpostError, match=r"'lqr-along' knows the motion along its own path alone"):
        feedback("lqr-along:path=inputs")
