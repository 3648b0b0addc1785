"""Which mass belongs to the hull: taken off and put on again, and where it comes to rest."""

import numpy as np
import pytest

from kingpost import MechanismError
from kingpost.vessels.hull import Floating, RigidHull, rigid_hull
from kingpost.vessels.loading import Weight, hull_without, loading, together
from tests.core.marine.hydro.fitting.hulls import hull

CRANE = [Weight(1e4, (8.0, -3.0, 6.0), ((2e4, 0, 0), (0, 3e4, 0), (0, 0, 1e4))), Weight(4e3, (8.0, -12.0, 9.0))]


def test_a_hull_without_its_crane_and_with_it_again_is_the_same():
    total = rigid_hull(hull("barge_deep"))
    alone = hull_without(total, CRANE)
    assert alone.mass == pytest.approx(total.mass - 1.4e4)
    again = together([Weight(alone.mass, tuple(alone.centre_of_gravity), tuple(map(tuple, alone.inertia))), *CRANE])
    assert again.mass == pytest.approx(total.mass, rel=1e-12)
    assert again.centre_of_gravity == pytest.approx(total.centre_of_gravity, abs=1e-12)
    assert again.inertia == pytest.approx(total.inertia, rel=1e-12, abs=1e-6)


BOX = Floating(1000.0, np.array([0.0, 0.0, -0.5]), np.diag([0, 0, 5e4, 2e4, 8e4, 0]))


def test_a_weight_on_deck_sinks_heels_and_trims_the_hull_by_the_closed_form():
    parts = {"hull": (1000.0, np.array([0, 0, 0.2])), "box": (50.0, np.array([1.0, 2.0, 1.0]))}
    found = loading(parts, BOX, 10.0)
    lever = 10.0 * (1000 * -0.5 - (1000 * 0.2 + 50 * 1.0))
    assert found.sinkage == pytest.approx(500 / 5e4)
    assert found.heel == pytest.approx(-50 * 10 * 2.0 / (2e4 + lever))  # to port is negative roll
    assert found.trim == pytest.approx(50 * 10 * 1.0 / (8e4 + lever))  # bow down is positive pitch
    assert "weight less buoyancy +50 kg; at rest +0.0100 m deeper than the data" in found.text()
    assert found.text().splitlines()[2].split() == ["box", "50", "1.000", "2.000", "1.000"]


def test_upright_and_even_is_said_so():
    found = loading({"hull": (1000.0, np.array([0, 0, 0.2]))}, BOX, 10.0)
    assert (found.sinkage, found.heel, found.trim) == pytest.approx((0, 0, 0))


def test_impossible_loadings_are_refused():
    total = RigidHull(1e4, np.zeros(3), np.eye(3) * 1e4)
    with pytest.raises(MechanismError, match="14000 kg, as much as hull and all together, 10000 kg"):
        hull_without(total, CRANE)
    with pytest.raises(MechanismError, match="inertia of the hull alone would not be positive"):
        hull_without(total, [Weight(100.0, (0, 30.0, 0))])
    with pytest.raises(MechanismError, match="capsizes: with 1000 kg at a height of 5 m"):
        loading({"hull": (1000.0, np.array([0, 0, 5.0]))}, BOX, 10.0)
    with pytest.raises(MechanismError, match="is 0 kg; it must be positive"):
        together([])
