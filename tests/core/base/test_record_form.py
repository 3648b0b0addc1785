"""The form of records: what is wrong is said with its place; what a run writes is well."""

import pytest

from kingpost import simulate
from kingpost.base.record_form import fault_of, fault_of_record
from kingpost.testing.problems import pendulum

FRAME = {"position": [0, 0, 0], "rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}
TIE = {"kind": "revolute", "parent": "world", "child": "boom", "parent_frame": FRAME, "child_frame": FRAME}


def test_what_a_run_records_is_well():
    history = simulate(pendulum(), 0.1, loads="all")
    assert fault_of_record(history.provenance) == ""


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        ({"warnings": "no list"}, "its 'warnings' is 'no list', expected a list"),
        ({"warnings": ["a", 3]}, "its 'warnings[1]' is 3, expected a text"),
        ({"time": {"step_s": "x"}}, "its 'time.step_s' is 'x', expected a finite number"),
        ({"time": 3}, "its 'time' is 3, expected a table"),
        ({"loads": {"joints": []}}, "its 'loads.joints' is [], expected a table"),
        ({"loads": {"joints": {"slew": {"at": [0, 0]}}}}, "its 'loads.joints.slew.at' is [0, 0], expected a list of 3"),
        ({"loads": {"joints": {"slew": {"side": "left"}}}}, "its 'loads.joints.slew.side' is 'left', expected child, parent"),
        ({"loads": {"not_unique": 3}}, "its 'loads.not_unique' is 3, expected a table"),
        ({"loads": {"not_unique": {"loops": [5]}}}, "its 'loads.not_unique.loops[0]' is 5, expected a table"),
        (
            {"loads": {"not_unique": {"loops": [{"joints": "A"}]}}},
            "its 'loads.not_unique.loops[0].joints' is 'A', expected a list",
        ),
        ({"geometry": {"joints": {"slew": {}}}}, "its 'geometry.joints.slew' lacks 'kind'"),
        ({"geometry": {"joints": {"slew": {**TIE, "parent": 3}}}}, "its 'geometry.joints.slew.parent' is 3, expected a text"),
        (
            {"geometry": {"joints": {"slew": {**TIE, "axis": [0, 0, float("nan")]}}}},
            "its 'geometry.joints.slew.axis[2]' is nan, expected a number up to 1e+30",
        ),
        (
            {"geometry": {"bodies": {"boom": {"mass": 1, "com": [0, 0, 0], "shapes": [{"kind": "cone"}]}}}},
            "its 'geometry.bodies.boom.shapes[0]' is of kind 'cone', expected box, cylinder, sphere, mesh",
        ),
    ],
)
def test_what_is_not_of_its_form_is_said_with_its_place(record, fault):
    assert fault_of_record(record) == fault


def test_true_is_no_number_and_null_is_left_out():
    assert fault_of({"a": True}, {"a": int}) == "its 'a' is True, expected a whole number"
    assert fault_of({"a": True}, {"a": float}) == "its 'a' is True, expected a finite number"
    assert fault_of({"a": None}, {"a?": str}) == ""
    assert fault_of({}, {"a": str}) == "it lacks 'a'"
    assert fault_of(3, {"a": str}) == "it is 3, expected a table"
