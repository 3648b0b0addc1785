"""How rounds of an iterated step lead to agreement."""

import numpy as np
import pytest

from kingpost.fmu.cosim.masters.iterated import Mixing


def by_definition(guesses, residuals, relaxation):
    """Return Anderson's next guess from all earlier ones: the one whose linearly combined, weighted residual is smallest."""
    result = guesses[-1] + relaxation * residuals[-1]
    if len(guesses) == 1:
        return result
    steps, changes = np.diff(guesses, axis=0), np.diff(residuals, axis=0)
    size = np.maximum(np.abs(guesses[-1] + residuals[-1]), np.abs(changes).max(axis=0))
    weighted, wanted = (changes / size).T, residuals[-1] / size
    share = np.linalg.pinv(weighted, rcond=1e-12) @ wanted
    return result - share @ (steps + relaxation * changes)


@pytest.mark.parametrize(("memory", "relaxation"), [(5, 1.0), (2, 1.0), (1, 0.5), (0, 0.7)])
def test_the_next_guess_is_that_of_andersons_method(memory, relaxation):
    rng = np.random.default_rng(4)
    # Inputs of sizes 1 to 1e6, as forces and positions are; each feels all others.
    scale = np.array([1.0, 1e-2, 1e3, 1e6])
    matrix = 0.4 * rng.standard_normal((4, 4)) * scale[:, None] / scale
    constant = scale * rng.standard_normal(4)
    mixing = Mixing(memory, relaxation, 4)
    for _ in range(2):  # the second time all of the first is forgotten
        mixing.begin()
        guess, guesses, residuals = np.zeros(4), [], []
        for _ in range(4):
            given = matrix @ guess + constant
            guesses.append(guess)
            residuals.append(given - guess)
            kept = slice(-memory - 1, None)
            wanted = by_definition(guesses[kept], residuals[kept], relaxation)
            guess = mixing.next(guess, given)
            # Rounding of the least squares, some 1e-16 of the guesses, times the condition of the changes, at most 1e4 here.
            assert np.abs(guess - wanted).max() <= 1e-12 * np.abs(wanted).max()


def test_a_linear_loop_is_closed_after_as_many_rounds_as_it_has_inputs():
    # With all differences kept Anderson's method is that of conjugate residuals, which ends after n + 1 rounds.
    matrix, constant = np.array([[0.0, -3.0], [2.0, 0.5]]), np.array([1.0, 2.0])
    solution = np.linalg.solve(np.eye(2) - matrix, constant)
    mixing, guess = Mixing(5, 1.0, 2), np.zeros(2)
    for _ in range(3):
        guess = mixing.next(guess, matrix @ guess + constant)
    assert np.abs(guess - solution).max() <= 1e-13


def test_rounds_that_change_nothing_any_more_lead_nowhere_else():
    mixing = Mixing(3, 1.0, 2)
    for _ in range(4):
        assert np.array_equal(mixing.next(np.array([1.0, 0.0]), np.array([1.0, 0.0])), [1.0, 0.0])
