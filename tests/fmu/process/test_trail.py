"""The trail that a process leaves: what it was doing, and how far it had come."""

import os

from kingpost.fmu.process.trail import LENGTH, Trail, read_trail


def test_the_last_call_and_the_last_time_are_what_is_read(tmp_path):
    path = tmp_path / "trail"
    assert read_trail(path) == ("starting", None)
    trail = Trail(path)
    trail("loading a library with a long name")
    assert read_trail(path) == ("loading a library with a long name", None)
    trail("stepping")
    trail.reach(0.1)
    trail.reach(0.3)
    assert read_trail(path) == ("stepping", 0.3)


def test_a_trail_that_was_closed_by_others_goes_on(tmp_path):
    trail = Trail(tmp_path / "trail")
    trail("stepping")
    os.close(trail._file)
    trail.reach(0.5)
    trail("terminating")
    assert read_trail(tmp_path / "trail") == ("terminating", 0.5)


def test_a_call_that_is_longer_than_its_place_is_cut(tmp_path):
    trail = Trail(tmp_path / "trail")
    trail("x" * 1000)
    trail.reach(1.5)
    assert read_trail(tmp_path / "trail") == ("x" * LENGTH, 1.5)
