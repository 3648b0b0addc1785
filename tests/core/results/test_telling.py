"""Samples are handed over while a run goes on: all of them, once, and as its history will have them."""

import numpy as np
import pytest

from kingpost import simulate
from kingpost.base.channels import Channel
from kingpost.results.telling import Telling, unwatched, watch_of
from kingpost.simulation.simulate import carry_out, prepare
from tests.core.results.watches import WatchedProgress


@pytest.fixture(scope="module")
def pendulum(plugins):
    return plugins.models.get("mathematical-pendulum")().build()


def test_nobody_is_told_who_does_not_watch():
    telling = Telling(lambda fraction: None, lambda: pytest.fail("nobody asks for channels"))
    assert not telling.due(5, last=True)
    telling.tell(np.zeros(1), np.zeros((1, 1)))
    assert telling.told == 0


def test_angles_go_on_through_full_turns():
    progress = WatchedProgress()
    names = [f"b.{word}" for word in ("surge", "sway", "heave", "roll", "pitch", "yaw")]
    telling = Telling(progress, lambda: [Channel(name, "rad" if name[2] in "rpy" else "m") for name in names])
    yaw = np.linspace(0.0, 20.0, 41)
    rows = np.zeros((41, 6))
    rows[:, 5] = np.arctan2(np.sin(yaw), np.cos(yaw))
    for begin in range(0, 41, 10):
        assert telling.due(begin + 10)
        telling.tell(np.arange(41.0)[begin : begin + 10], rows[begin : begin + 10])
    assert telling.told == 41
    np.testing.assert_allclose(progress.watch.values[:, 5], yaw, atol=1e-12)


@pytest.mark.parametrize("often", [1, 3, 10**9])
def test_a_run_hands_over_its_history(pendulum, often):
    progress = WatchedProgress(often)
    history = simulate(pendulum, 0.5, backend="vm", progress=progress)
    watch = progress.watch
    assert watch.channels == history.channels
    assert np.array_equal(watch.time, history.time)
    assert np.array_equal(watch.values, history.values)
    assert (len(watch.times) == 1) == (often == 10**9)


def test_the_run_that_checks_the_step_is_not_shown(pendulum):
    progress = WatchedProgress()
    simulation = prepare(pendulum, 0.5, backend="vm", loads="all", check_step=0.5)
    history = carry_out(simulation, progress)
    assert history.provenance["step_check"]
    assert progress.watch.begun == 1
    assert np.array_equal(progress.watch.time, history.time)
    assert watch_of(unwatched(progress)) is None
