"""Joints whose loads rigid bodies leave open, from any record."""

import pytest

from kingpost.base.open_loads import measure, open_joints, open_loops
from kingpost.base.record_form import fault_of_record

SIZE = {"joints": ["A", "B"], "ways": 3, "metric": "size", "length_m": 1.5}
LENGTH = {"joints": ["C"], "ways": 1, "metric": "length", "length_m": 0.25}
STIFF = {"joints": ["D", "E"], "ways": 1, "metric": "stiffness", "stiffness_of": ["D"]}


def test_joints_whose_stiffness_decides_are_not_among_them():
    record = {"loads": {"not_unique": {"joints": ["A", "B", "C", "D", "E"], "loops": [SIZE, LENGTH, STIFF]}}}
    assert fault_of_record(record) == ""
    assert open_loops(record) == [SIZE, LENGTH, STIFF]
    assert open_joints(record) == {"A", "B", "C"}


@pytest.mark.parametrize(
    "record", [{}, {"loads": None}, {"loads": {"not_unique": None}}, {"loads": {"not_unique": {"loops": None}}}]
)
def test_what_a_record_may_leave_out_is_nothing(record):
    assert fault_of_record(record) == "" and open_loops(record) == [] and open_joints(record) == set()


def test_measures_in_words():
    bare = {"joints": ["D"], "ways": 1, "metric": "stiffness"}
    assert [measure(loop) for loop in (SIZE, LENGTH, STIFF, bare, {**LENGTH, "length_m": None})] == [
        "by the size of their loops", "with moments over 0.25 m", "by the stiffness of D", "by the stiffness of D",
        "by the size of their loops",
    ]  # fmt: skip
