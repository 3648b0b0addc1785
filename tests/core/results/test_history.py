"""Histories."""

import pytest

from kingpost import simulate
from kingpost.testing.problems import pendulum


def test_histories_are_read_only_and_name_their_channels():
    history = simulate(pendulum(), 0.1)
    with pytest.raises(ValueError, match="read-only"):
        history.values[0, 0] = 1.0
    with pytest.raises(Exception, match=r"no channel 'pivot.angel'; did you mean 'pivot.angle'\?"):
        history["pivot.angel"]
    assert history.unit("pivot.angle.rate") == "rad/s"
    assert history.select(["pivot.angle", "energy.total"]).shape == (11, 2)
