"""Trajectories as polynomials with numbers in them."""

import numpy as np
import pytest

from kingpost import MechanismError
from kingpost.mechanism.piecewise import Polynomials, through
from kingpost.mechanism.trajectories import Constant, RestToRest, Sampled, Sequence, ThreePhase

RNG = np.random.default_rng(3)
TIMES = tuple(np.cumsum(RNG.uniform(0.1, 0.6, 12)).tolist())
VALUES = tuple(RNG.normal(size=12).tolist())
PATHS = (
    Constant("2 * a"),
    RestToRest("a", 5.0, "a / 10", 2.9),
    ThreePhase(-1.0, "a", 0.4, 3.3, 0.7),
    Sequence((0.3, 1.1, 2.4), (1.0, -2.0, "a")),
    Sequence((0.3, 1.1, 2.4), (1.0, -2.0, "a"), "linear"),
    Sequence((0.3, 1.1, 2.4), (1.0, -2.0, "a"), "hold"),
    *(Sampled(TIMES, VALUES, between) for between in ("hold", "linear", "cubic", "quintic")),
)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.kind}-{getattr(path, 'interpolation', '')}")
def test_the_polynomials_of_a_trajectory_are_the_trajectory(path):
    scope = {"a": 3.0}
    found = path.polynomials(scope)
    times = np.concatenate([np.linspace(-0.5, 5.0, 331), found.breaks])
    for order in range(4):
        wanted = np.array([path.value(t, scope, order) for t in times])
        np.testing.assert_allclose(found.value(times, order), wanted, rtol=0, atol=1e-11 * max(1.0, np.abs(wanted).max()))


def test_a_polynomial_around_other_times_is_the_same():
    rows = Polynomials(np.array([1.0]), np.array([0.0, 1.0]), np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 0.25]]))
    moved = rows.around(np.array([0, 1]), np.array([0.4, 1.7]))
    # 1 + 2 t + 3 t^2 and 0.5 - (t - 1) + (t - 1)^2 / 4, expanded by hand.
    np.testing.assert_allclose(moved, [[2.28, 4.4, 3.0], [-0.0775, -0.65, 0.25]], rtol=0, atol=1e-14)
    np.testing.assert_allclose(rows.jumps(0), [0.5 - 6.0])
    np.testing.assert_allclose(rows.jumps(1), [-1.0 - 8.0])


def test_samples_are_joined_as_sampled_trajectories_join_them():
    times, values = np.array(TIMES), np.array(VALUES)
    at = np.linspace(0.0, 6.0, 200)
    for between in ("hold", "linear", "cubic"):
        wanted = Sampled(TIMES, VALUES, between).polynomials().value(at)
        np.testing.assert_array_equal(through(times, values, between).value(at), wanted)


def test_pieces_out_of_order_and_numbers_that_are_none_are_refused():
    with pytest.raises(MechanismError, match="must follow each other in time"):
        Polynomials(np.array([1.0, 1.0]), np.zeros(3), np.zeros((3, 1)))
    with pytest.raises(MechanismError, match="not finite"):
        Polynomials(np.zeros(0), np.zeros(1), np.array([[np.nan]]))
