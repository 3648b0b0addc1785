"""The parts of a fit, each by itself: basis, poles, constrained least squares, passivity, blocks, states."""

import numpy as np
import pytest

from kingpost import SolverError
from kingpost.marine.hydro.fitting.basis import as_pairs, partial_fractions, relocation_matrix, residues_of, starting_poles
from kingpost.marine.hydro.fitting.least_squares import ConstrainedLeastSquares
from kingpost.marine.hydro.fitting.memory import Memory, MemoryBlock
from kingpost.marine.hydro.fitting.passivity import passivity_rows, shape, violations
from kingpost.marine.hydro.fitting.poles import relocated
from kingpost.marine.hydro.fitting.residues import BlockRows, passive_residues
from kingpost.marine.hydro.fitting.rows import block_rows, motions_of, pole_weights
from kingpost.marine.hydro.fitting.target import fit_target
from tests.core.marine.hydro.fitting.hulls import hull, ringing_hull, ringing_memory, ringing_poles, shipped

POLES = np.array([-0.5 + 0j, -0.3 + 0.8j, -0.1 + 2.0j])
S = 1j * np.linspace(0.1, 4.0, 30)


def random_block(seed=0):
    rng = np.random.default_rng(seed)
    residues = rng.normal(size=(3, 2, 2)) + 1j * rng.normal(size=(3, 2, 2))
    residues[0] = residues[0].real
    return MemoryBlock((1, 3), POLES, residues + residues.transpose(0, 2, 1))


# Basis and poles


def test_coefficients_in_the_real_basis_are_residues():
    block = random_block()
    rows = [block.residues[0].real]
    for r in block.residues[1:]:
        rows += [r.real, r.imag]
    coefficients = np.array(rows)
    assert residues_of(POLES, coefficients) == pytest.approx(block.residues)
    assert np.einsum("kn,nij->kij", partial_fractions(POLES, S), coefficients) == pytest.approx(block.transfer(S))


def test_zeros_of_sigma_are_eigenvalues():
    A, b = relocation_matrix(POLES)
    d = np.array([0.3, -0.2, 0.5, 0.1, 0.4])
    zeros = np.linalg.eigvals(A - np.outer(b, d))
    assert 1 + partial_fractions(POLES, zeros) @ d == pytest.approx(np.zeros(5), abs=1e-12)


def test_unstable_poles_are_flipped_and_ringing_ones_damped():
    found = as_pairs(np.array([0.2 + 1j, 0.2 - 1j, -1e-9 + 2j, -1e-9 - 2j, 0.7 + 0j]))
    assert found == pytest.approx([-0.7, -0.2 + 1j, -0.06 + 2j])
    assert len(starting_poles(0.1, 2.0, 5)) == 3 and starting_poles(0.1, 2.0, 5)[-1].imag == 0


def test_poles_of_exact_data_are_found_from_anywhere():
    w = np.linspace(0.1, 3.0, 40)
    K = ringing_memory(1j * w)
    functions = np.array([K[:, 1, 1], K[:, 1, 3], K[:, 3, 3]])
    found = relocated(starting_poles(0.1, 3.0, 6), w, functions, np.ones((3, 40)))
    assert np.sort_complex(found) == pytest.approx(np.sort_complex(ringing_poles()), rel=1e-7)


# Least squares


def test_with_inequalities_the_conditions_of_optimality_hold():
    rng = np.random.default_rng(1)
    A, b, G = rng.normal(size=(30, 6)), rng.normal(size=30), rng.normal(size=(9, 6))
    problem = ConstrainedLeastSquares(A, b)
    assert problem.free() == pytest.approx(np.linalg.lstsq(A, b, rcond=None)[0])
    h = G @ problem.free() + 0.5 * np.abs(rng.normal(size=9)) * rng.choice([-1, 1], 9)
    x = problem.within(G, h)
    slack, slope = G @ x - h, A.T @ (A @ x - b)
    assert slack.min() > -1e-9
    # The slope is a combination of active conditions with multipliers that are not negative (Karush, Kuhn, Tucker).
    active = slack < 1e-9
    multipliers, *_ = np.linalg.lstsq(G[active].T, slope, rcond=None)
    assert active.any() and multipliers.min() > 0
    assert G[active].T @ multipliers == pytest.approx(slope, abs=1e-8)


def test_conditions_that_contradict_each_other_are_told():
    problem = ConstrainedLeastSquares(np.eye(2), np.zeros(2))
    with pytest.raises(SolverError, match="2 conditions of passivity contradict each other"):
        problem.within(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, 1.0]))


# Passivity


def test_rows_of_passivity_hold_in_the_limits():
    rows = passivity_rows(POLES, 0.9)
    rng = np.random.default_rng(2)
    at_zero = partial_fractions(POLES, np.zeros(1, complex)).real
    coefficients = rng.normal(size=5)
    coefficients -= at_zero[0] * (at_zero @ coefficients) / (at_zero @ at_zero.T)[0]  # K(0) = 0
    for end, w in ((0, 1e-5), (-1, 1e5)):
        near = (partial_fractions(POLES, np.array([1j * w])) @ coefficients).real[0] / shape(np.array([w]), 0.9)[0]
        assert rows.rows[end] @ coefficients == pytest.approx(near, rel=1e-4)


def test_violations_are_local_minima_below_the_margin():
    assert violations(np.array([-1.0, 2.0, -3.0, -4.0, -2.0, 5.0, 0.5]), 0.0).tolist() == [0, 3]


def test_a_memory_that_gives_energy_away_becomes_passive_with_the_least_change():
    w = np.linspace(0.1, 3.0, 60)
    s = 1j * w
    exact = partial_fractions(POLES[1:], s) @ np.array([1.0, -0.1, -0.3, 0.1])
    rows = BlockRows(np.ones((60, 1), complex), exact, w)
    free, passive = (passive_residues(POLES[1:], rows, 1, None, passive=which) for which in (False, True))
    K = [
        MemoryBlock((2,), each.poles, each.residues).transfer(1j * np.geomspace(1e-3, 1e3, 2000)).real
        for each in (free, passive)
    ]
    assert K[0].min() < -1e-3 and K[1].min() > -1e-9
    assert free.rounds == 0 < passive.rounds


# Blocks and rows


def test_blocks_are_motions_that_are_coupled():
    assert fit_target(hull("barge_deep")).blocks() == ((0, 4), (1, 3), (2,), (5,))
    assert fit_target(hull("hemisphere_r5")).blocks() == ((0, 4), (1, 3), (2,))
    assert fit_target(ringing_hull()).blocks() == ((1, 3),)


def test_a_change_of_the_memory_changes_motions_as_the_rows_say():
    data = hull("barge_deep")
    target, moving = fit_target(data), motions_of(data)
    rng = np.random.default_rng(3)
    change = rng.normal(size=(len(data.frequencies), 3)) * 0.05
    scale = target.scale[np.ix_((1, 3), (1, 3))]
    radiation = data.damping + 1j * data.frequencies[:, None, None] * data.added_mass
    for entry, (i, j) in enumerate(((0, 0), (0, 1), (1, 1))):
        for a, b in {(i, j), (j, i)}:
            radiation[:, (1, 3)[a], (1, 3)[b]] += change[:, entry] * scale[a, b]
    rows = block_rows((1, 3), target, moving, radiation)
    ours = slice(3 * len(data.frequencies), None)  # behind the rows of the memory itself
    place = np.searchsorted(data.frequencies, rows.frequency[ours])
    found = (rows.entries[ours] * change[place]).sum(axis=1)
    n, h = len(data.frequencies), len(data.headings)
    exact = moving.errors(radiation)[:, :, moving.largest > 0].reshape(-1) / np.sqrt(n * h)
    # Exactly, not to first order: the impedance is that of the changed hull.
    assert found == pytest.approx(-exact, abs=1e-12)
    assert (pole_weights((1, 3), target, moving) > 0).all()


# States


def test_states_answer_as_the_transfer_function_and_the_kernel():
    memory = Memory(np.eye(6), (random_block(), MemoryBlock((2,), POLES[1:], np.ones((2, 1, 1)) + 0.5j)), np.zeros(3))
    A, B, C = memory.state_space()
    assert memory.states == len(A) == 5 * 2 + 4
    for k, s in enumerate(S[:3]):
        found = C @ np.linalg.solve(s * np.eye(len(A)) - A, B)
        assert found == pytest.approx(memory.transfer(S)[k], abs=1e-12)
    from scipy.linalg import expm

    for t, K in zip((0.0, 0.7), memory.kernel(np.array([0.0, 0.7])), strict=True):
        assert C @ expm(A * t) @ B == pytest.approx(K, abs=1e-12)
    w = np.array([0.5, 1.0])
    assert memory.radiation(w) == pytest.approx(memory.transfer(1j * w) + 1j * w[:, None, None] * np.eye(6))


def test_the_options_of_a_force_are_the_same_memory():
    from kingpost.plugins.forces.radiation import RadiationOptions

    memory = shipped()
    options = memory.options()
    force = RadiationOptions(body="hull", **options)
    s = 1j * np.linspace(0.1, 3, 5)
    whole = sum(term.transfer(s) for term in force.terms())
    assert np.abs(whole - memory.transfer(s)).max() < 1e-12 * np.abs(whole).max()
