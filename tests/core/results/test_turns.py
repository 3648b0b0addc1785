"""Roll and yaw of free joints go on through full turns in histories."""

import numpy as np
import pytest

from kingpost.base.channels import Channel
from kingpost.results.turns import turning_names, with_turns

NAMES = [f"hull.{word}" for word in ("surge", "sway", "heave", "roll", "pitch", "yaw")]


def channels(names=tuple(NAMES)):
    return [Channel(name, "m" if name.split(".")[1] in ("surge", "sway", "heave") else "rad") for name in names]


def test_only_where_all_six_stand_side_by_side():
    assert turning_names([*NAMES, "slew.angle"]) == {"hull.roll", "hull.yaw"}
    assert turning_names(NAMES[:-1]) == frozenset()
    assert turning_names(["hull.roll", "hull.pitch", "hull.yaw"]) == frozenset()  # coordinates of a gimbal joint


def test_the_shorter_way_from_sample_to_sample():
    turn = np.linspace(0.0, 20.0, 101)
    values = np.zeros((101, 6))
    values[:, 3], values[:, 5] = -(np.mod(turn + np.pi, 2 * np.pi) - np.pi), np.mod(turn + np.pi, 2 * np.pi) - np.pi
    found = with_turns(channels(), values)
    assert np.abs(found[:, 5] - turn).max() < 1e-13 and np.abs(found[:, 3] + turn).max() < 1e-13
    assert (found[:, [0, 1, 2, 4]] == 0.0).all()
    assert values[:, 5].max() <= np.pi  # what was given stays


def test_a_part_of_what_is_known_and_nothing_to_do():
    values = np.array([[3.0], [-3.0]])
    assert with_turns(channels(["hull.yaw"]), values, NAMES)[1, 0] == 2 * np.pi - 3.0
    assert with_turns(channels(["hull.yaw"]), values) is values
    assert with_turns(channels(), np.zeros((1, 6))).shape == (1, 6)
    missing = np.full((3, 6), np.nan)
    assert with_turns(channels(), missing) is missing


def test_a_gap_is_bridged():
    values = np.zeros((4, 6))
    values[:, 5] = [3.0, np.nan, -3.0, -2.5]
    assert with_turns(channels(), values)[2:, 5] == pytest.approx([2 * np.pi - 3.0, 2 * np.pi - 2.5])
