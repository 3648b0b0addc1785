"""States that are kept: bounded in number, dense at the end."""

import numpy as np

from kingpost.fmu.live.kept import KeptStates


def test_the_number_is_bounded_the_last_are_all_there_and_the_first_stays():
    gone = []
    kept = KeptStates(40, gone.append)
    for frame in range(5000):
        kept.put(frame, f"state {frame}")
    assert len(kept) <= 40
    assert kept.frames[0] == 0
    assert kept.frames[-20:] == tuple(range(4980, 5000))
    assert len(gone) == 5000 - len(kept)
    assert len(set(gone)) == len(gone)


def test_older_ones_are_further_apart():
    kept = KeptStates(64, lambda state: None)
    for frame in range(20_000):
        kept.put(frame, frame)
    gaps = np.diff(kept.frames)
    assert gaps[-1] == 1
    assert gaps[0] > gaps[-20]
    assert all(kept[frame] == frame for frame in kept.frames)


def test_the_nearest_before_a_frame_is_found():
    kept = KeptStates(10, lambda state: None)
    for frame in (0, 5, 9):
        kept.put(frame, frame)
    assert [kept.before(frame) for frame in (0, 4, 5, 8, 100)] == [0, 0, 5, 5, 9]


def test_what_comes_later_is_given_up_and_a_frame_is_kept_once():
    gone = []
    kept = KeptStates(10, gone.append)
    for frame in range(6):
        kept.put(frame, frame)
    kept.cut(3)
    kept.put(3, "again")
    assert gone == [4, 5, 3]
    assert kept.frames == (0, 1, 2, 3)
    assert kept[3] == "again"
    assert 4 not in kept


def test_a_frame_between_others_that_comes_again_takes_its_place():
    kept = KeptStates(8, lambda state: None)
    for frame in (*range(20), 7, 8, 9):
        kept.put(frame, frame)
    assert list(kept.frames) == sorted(kept.frames)
    assert len(kept) <= 8
    assert kept[9] == 9
