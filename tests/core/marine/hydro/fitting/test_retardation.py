"""Retardation functions and convolution against closed forms."""

import numpy as np
import pytest

from kingpost.marine.hydro.causality import added_mass_from_damping
from kingpost.marine.hydro.fitting.closed_loop import ClosedLoop
from kingpost.marine.hydro.fitting.memory import Memory, MemoryBlock
from kingpost.marine.hydro.fitting.retardation import decay_by_convolution, retardation
from tests.core.marine.hydro.fitting.hulls import hull, ringing_hull, shipped

W, D = 1.3, 0.3
TIMES = np.linspace(0.0, 20.0, 101)


def one_oscillator(w):
    return ringing_hull(((W, D, (0, 1, 0, 0, 0, 0)),), w=w)


def kernel(t):
    """The inverse of s / (s^2 + 2 d w s + w^2)."""
    b = W * np.sqrt(1 - D**2)
    return np.exp(-D * W * t) * (np.cos(b * t) - D * W / b * np.sin(b * t))


def test_the_retardation_function_of_an_oscillator_is_its_closed_form():
    # To 40 rad/s damping falls like w^-2, not w^-3 as the tail has it: what is beyond is 2/pi 2 d w / 40 at t = 0.
    K = retardation(one_oscillator(np.linspace(0.02, 40.0, 2000)), TIMES)[:, 1, 1]
    assert np.abs(K - kernel(TIMES)).max() < 2 / np.pi * 2 * D * W / 40
    assert np.abs(K - kernel(TIMES))[5:].max() < 1e-4


def test_the_tail_is_the_integral_that_it_stands_for():
    data = one_oscillator(np.linspace(0.1, 3.0, 40))
    times = np.array([0.0, 0.3, 2.0])
    found = (retardation(data, times) - retardation(data, times, tail=False))[:, 1, 1]
    w = np.linspace(3.0, 600.0, 300_001)
    B = data.damping[-1, 1, 1] * (3.0 / w) ** 3
    weights = np.full(len(w), w[1] - w[0])
    weights[[0, -1]] /= 2
    exact = [2 / np.pi * float((B * np.cos(w * t)) @ weights) for t in times]
    # Cut off at 600 rad/s: (3 / 600)^2 of the whole.
    assert found == pytest.approx(exact, abs=1e-4 * exact[0])


def loop(damping=0.0):
    p = W * (-D + 1j * np.sqrt(1 - D**2))
    block = MemoryBlock((2,), np.array([p]), np.array([[[p / (p - p.conjugate())]]]))
    memory = Memory(np.diag([0, 0, 1.0, 0, 0, 0]), (block,), np.zeros(3))
    return ClosedLoop(memory, np.eye(6), np.diag([1, 1, 4.0, 1, 1, 1]), damping * np.eye(6))


def test_motions_by_convolution_come_to_those_by_states_with_the_square_of_the_step():
    own = loop(damping=0.1)
    start = np.array([0, 0, 1.0, 0, 0, 0])
    errors = []
    for h in (0.1, 0.05):
        times = np.arange(0, 20.0, h)
        K = own.memory.kernel(times)
        found = decay_by_convolution(own.mass + own.memory.added_mass_inf, own.stiffness, own.damping, K, start, h, len(times))
        errors.append(np.abs(found - own.decay(start, times))[:, 2].max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    # (w h)^2 / 12 of the phase, 20 s times some 1.5 rad/s.
    assert errors[1] < (1.5 * 0.05) ** 2 / 12 * 30


def test_a_fitted_memory_obeys_kramers_and_kronig():
    memory = shipped()
    w = np.concatenate([np.linspace(0.05, 3.0, 60), np.geomspace(3.1, 60.0, 40)])
    K = memory.transfer(1j * w)
    for i in (2, 3):
        asked = added_mass_from_damping(w, K.real[:, i, i])
        own = K.imag[:, i, i] / w
        inside = (w > 0.2) & (w < 2.5)
        # Cubics through rows 0.05 rad/s apart, of curves as narrow as 0.2 rad/s: (1/4)^4 of them; beyond 60 rad/s a tail of
        # w^-3 for one of w^-2, some 1 / 60 of the damping there.
        assert np.abs(asked - own)[inside].max() < 5e-3 * np.abs(own).max()


def test_the_data_themselves_miss_it_by_their_cut_off():
    data = hull("barge_deep")
    asked = added_mass_from_damping(data.frequencies, data.damping[:, 2, 2]) + data.added_mass_inf[2, 2]
    assert np.abs(asked - data.added_mass[:, 2, 2]).max() < 0.01 * data.added_mass[:, 2, 2].max()
