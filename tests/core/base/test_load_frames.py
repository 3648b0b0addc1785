"""Axes, sides and reference points of loads."""

import pytest

from kingpost import KingpostError
from kingpost.base.load_frames import check_frame


def test_a_point_becomes_numbers():
    assert check_frame("load", "child", "parent", (0, 1, "2.5")) == (0.0, 1.0, 2.5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("chile", "child", (0, 0, 0)), "load: frame 'chile' does not exist; did you mean 'child'?"),
        (("child", "left", (0, 0, 0)), "load: side 'left' does not exist. Choose from: child, parent."),
        (("child", "child", (0, 0)), "load: the reference point is (0, 0); give three finite numbers"),
        (("child", "child", (0, 0, float("inf"))), "load: the reference point is (0, 0, inf)"),
        (("child", "child", "000"), "load: the reference point is '000'"),
    ],
)
def test_what_does_not_exist_is_refused(given, message):
    with pytest.raises(KingpostError) as error:
        check_frame("load", *given)
    assert str(error.value).startswith(message)
