"""Dynamic extension: errors of flat problems have the poles that were asked for."""

import numpy as np
import pytest

from kingpost import MechanismError
from kingpost.control.blocks import sampled
from kingpost.plugins.feedback.poles import gains_of
from tests.plugins.feedback.loops import continuous, errors, feedback, in_samples, servo_loop, start_of


def test_the_overhead_crane_of_document_003_with_its_load_behind():
    loop = servo_loop("overhead-crane")
    block = feedback("dynamic-extension:poles=-3").controller(loop)
    assert [state.name for state in block.states] == ["load.z.d2", "load.z.d3"]
    x = start_of(loop)
    x[0] -= 0.1
    times = np.array([0.0, 0.5, 1.0, 2.0, 3.0])
    found = errors(loop, times, continuous(loop, block, x, times))
    exact = 0.1 * np.exp(-3 * times) * (1 + 3 * times + 4.5 * times**2 + 4.5 * times**3)
    np.testing.assert_allclose(exact[1:], [0.0934358, 0.0647232, 0.0151204, 0.0021226], atol=5e-8)
    np.testing.assert_allclose(found[:, 0], exact, atol=1e-11)
    np.testing.assert_allclose(found[:, 1], 0.0, atol=1e-11)


def test_different_poles_of_the_crane():
    loop = servo_loop("overhead-crane")
    poles = [-2.0, -5.0, -3 + 2j, -3 - 2j]
    block = feedback("dynamic-extension:poles=-2 -5 -3+2j -3-2j").controller(loop)
    x = start_of(loop)
    x[0] -= 0.1
    times = np.linspace(0.0, 2.0, 9)
    found = errors(loop, times, continuous(loop, block, x, times))[:, 0]
    # e = sum of c_k exp(p_k t) with e(0) = 0.1 and three vanishing derivatives.
    c = np.linalg.solve(np.vander(poles, 4, increasing=True).T, [0.1, 0, 0, 0])
    np.testing.assert_allclose(found, (np.exp(np.outer(times, poles)) @ c).real, atol=1e-11)


@pytest.mark.parametrize(
    ("name", "task", "states"),
    [
        ("mass-chain", "003", []),
        ("mass-chain:n=3", "003", []),
        ("overhead-crane:form=dependent", "003", ["load.z.d2", "load.z.d3"]),
        pytest.param("rotary-crane", "000-4.4.2", ["load.z.d2", "load.z.d3"], marks=pytest.mark.slow),
        pytest.param(
            "us-navy-crane-2d", None, ["load.z.d2", "load.z.d3", "pulley-centre.z.d2", "pulley-centre.z.d3"],
            marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_flat_machines_stay_on_their_path(name, task, states, plugins):
    from kingpost.registry.selection import select

    task = task or next(iter(select(plugins.models, name).tasks()))
    loop = servo_loop(name, task)
    block = feedback("dynamic-extension").controller(loop)
    assert [state.name for state in block.states] == states
    end = loop.problem.task.t_end
    times = np.linspace(0.0, end, 9)
    # The feed-forward is exact: what is left is the tolerance of the solver.
    assert np.abs(errors(loop, times, continuous(loop, block, start_of(loop), times, rtol=1e-9))).max() < 1e-8


def test_a_chain_with_its_last_mass_elsewhere():
    loop = servo_loop("mass-chain")
    block = feedback("dynamic-extension:poles=-2").controller(loop)
    x = start_of(loop)
    x[:2] -= 0.2  # both, so that the spring stays at rest
    times = np.linspace(0.0, 3.0, 7)
    found = errors(loop, times, continuous(loop, block, x, times))[:, 0]
    exact = 0.2 * np.exp(-2 * times) * (1 + 2 * times + 2 * times**2 + 4 / 3 * times**3)
    np.testing.assert_allclose(found, exact, atol=1e-11)


def test_sampled_errors_go_with_the_sample_time():
    loop = servo_loop("overhead-crane")
    block = feedback("dynamic-extension").controller(loop)
    largest = [
        np.abs(errors(loop, *in_samples(loop, sampled(block, h), start_of(loop), round(3.0 / h)))).max() for h in (0.01, 0.005)
    ]
    # 15 mm across and 18 mm along the rope at 10 ms; inputs that hold are half a sample late.
    assert largest[0] == pytest.approx(0.0176, abs=2e-4)
    assert 1.9 < largest[0] / largest[1] < 2.1


def test_roots_in_the_right_hand_plane_let_errors_grow():
    """Document 003 says after eq. (33) that the roots lie in the right-hand plane. They must lie in the left."""
    with pytest.raises(MechanismError, match=r"poles: 3 1/s is not in the left half-plane"):
        feedback("dynamic-extension:poles=3").controller(servo_loop("mass-chain"))
    # What the document asks for, with gains set by hand: the error grows by e^(3 t), about.
    loop = servo_loop("mass-chain")
    block = feedback("dynamic-extension:poles=-3").controller(loop)
    growing = np.poly([3.0] * 4)[:0:-1]
    names = [entry.name for entry in block.parameters]
    p = np.array([entry.default for entry in block.parameters])
    p[[names.index(f"gain{k}") for k in range(4)]] = growing
    x = start_of(loop)
    x[:2] -= 1e-3
    from kingpost.control.blocks import Block

    moved = Block(
        block.name, block.inputs, block.outputs, block.states,
        [type(entry)(entry.name, float(value), entry.unit) for entry, value in zip(block.parameters, p, strict=True)],
        body=block.function,
    )  # fmt: skip
    times = np.array([0.0, 2.0])
    found = errors(loop, times, continuous(loop, moved, x, times))[:, 0]
    exact = 1e-3 * np.exp(6.0) * (1 - 6 + 18 - 36)
    assert found[1] == pytest.approx(exact, rel=1e-6)


def test_problems_with_internal_states_are_refused():
    with pytest.raises(MechanismError, match=r"leaves 1 internal state free, and the method is for tasks that have none"):
        feedback("dynamic-extension").controller(servo_loop("mass-chain", damping=10.0))
    with pytest.raises(MechanismError, match=r"2 internal states"):
        feedback("dynamic-extension").controller(servo_loop("passive-joint-arm", damping=0.2))
    # Without the analysis before it, the count of states says the same.
    with pytest.raises(
        MechanismError, match=r"1 errors of order 2 are 2 numbers, and the machine has 4 states, the controller 0: 2"
    ):
        feedback("dynamic-extension").block(servo_loop("passive-joint-arm", damping=0.2))


@pytest.mark.parametrize(
    ("poles", "order", "sentence"),
    [
        ("-1 -2 -3", 4, "3 were given, and the errors have order 4; give one for all, or 4"),
        ("-1+1j -1+1j", 2, "complex ones come in pairs"),
        ("0", 2, "0 1/s is not in the left half-plane"),
        ("nan", 2, "are not finite"),
        ("fast", 2, "are no numbers"),
    ],
)
def test_poles_that_make_no_sense(poles, order, sentence):
    with pytest.raises(MechanismError, match=sentence):
        gains_of(poles, order)


def test_gains_belong_to_poles():
    np.testing.assert_allclose(gains_of(-3.0, 4), [81, 108, 54, 12])
    np.testing.assert_allclose(gains_of("-1+2j -1-2j", 2), [5, 2])
    np.testing.assert_allclose(gains_of((-1.0, -2.0), 2), [2, 3])
