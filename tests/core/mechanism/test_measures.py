"""Measures as data: their kinds, units and names, and what is refused."""

import dataclasses

import pytest

from kingpost import Closure, Input, Measure, MechanismError, Output, Parameter, Port, cut
from kingpost.base.channels import Channel
from kingpost.mechanism.measures import measure_channels
from kingpost.mechanism.values import check_values
from kingpost.modelfiles.toml_model import mechanism_from_dict
from tests.core.mechanism.small import BOB, PIVOT, machine

SWING = Measure("swing", "coordinate", coordinate="pivot.angle")
HEIGHT = Measure("height", "position", body="bob", at=(0, 0, -1), axis="z")


def test_units_and_frames_follow_from_the_kind():
    measures = (
        HEIGHT,
        SWING,
        Measure("span", "distance", body="bob"),
        Measure("heading", "azimuth", body="bob", at=(0, 0, -1), axis="y"),
        Measure("turn", "rotation", body="bob", axis="y"),
        Measure("both", "combination", terms={"later": 1.0, "height": -1.0, "tip.x": 2}),
        Measure("later", "combination", terms=(("span", 2.0),)),
    )
    mechanism = machine(measures=measures, outputs=[Output("tip", "bob")])
    assert mechanism.measure_units == {
        "height": "m", "swing": "rad", "span": "m", "heading": "rad", "turn": "rad", "both": "m", "later": "m",
    }  # fmt: skip
    assert measure_channels(mechanism)[:3] == (
        Channel("height", "m", "world"),
        Channel("swing", "rad"),
        Channel("span", "m"),
    )
    assert [channel.frame for channel in measure_channels(mechanism)] == ["world", "", "", "world", "bob", "", ""]


def test_what_is_not_given_is_filled_in_and_what_does_not_belong_is_none():
    assert HEIGHT.of == "world" and HEIGHT.origin == (0.0, 0.0, 0.0)
    assert HEIGHT.other == "" and HEIGHT.reference is None and HEIGHT.near is None and HEIGHT.terms == ()
    assert [Measure("a", "azimuth", body="bob", axis=axis).zero_direction.index(1.0) for axis in "xyz"] == [1, 2, 0]
    assert SWING.words == "coordinate pivot.angle"
    assert dataclasses.replace(HEIGHT, description="of the hook above the quay").words == "of the hook above the quay"


def test_plain_data_and_back_is_the_same_mechanism():
    length = Parameter("length", 1.0, "m")
    mechanism = machine(
        parameters=[length],
        measures=[
            dataclasses.replace(HEIGHT, at=(0, 0, -length)),
            Measure("aside", "position", body="bob", axis=(1, 0, length), origin=(length, 0, 0)),
            Measure("span", "distance", body="bob", other_at=(0, length, 0)),
            Measure("heading", "azimuth", body="bob", at=(1, 0, 0), axis=(0, 2, 0), zero=(1, 0, 0), near=length / 2),
            Measure("turn", "rotation", body="bob", axis="y", reference=(0, length, 0)),
            Measure("sum", "combination", terms={"height": length, "span": 2}, description="of two"),
            SWING,
        ],
    )
    assert mechanism_from_dict(mechanism.to_dict()) == mechanism
    assert mechanism.to_dict()["measures"][5] == {
        "name": "sum", "kind": "combination", "terms": {"height": "length", "span": 2.0}, "description": "of two",
    }  # fmt: skip
    assert mechanism.to_dict()["measures"][6] == {"name": "swing", "kind": "coordinate", "coordinate": "pivot.angle"}
    assert mechanism.digest() != machine(parameters=[length]).digest()
    assert hash(mechanism.measures) == hash(mechanism_from_dict(mechanism.to_dict()).measures)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ({"kind": "posiition"}, "measure 'm': unknown kind 'posiition'; did you mean 'position'?"),
        ({"kind": "position", "axis": "z"}, "measure 'm' is a position and lacks 'body'"),
        ({"kind": "position", "body": "bob"}, "measure 'm' is a position and lacks 'axis', e.g. \"z\" or [1, 1, 0]"),
        ({"kind": "position", "body": "bob", "axis": "q"}, "axis is 'q'; give x, y or z, or a direction"),
        ({"kind": "position", "body": "bob", "axis": (0, 1)}, "axis: expected 3 entries, got 2"),
        ({"kind": "position", "body": "bob", "axis": (0, 0, 0)}, "axis is [0, 0, 0]; give a direction"),
        ({"kind": "position", "body": "bob", "axis": "z", "at": 3}, "at: expected a list, got 3"),
        ({"kind": "distance", "body": "bob", "axis": "z"}, "is a distance and has no 'axis'; remove it. It takes: body"),
        ({"kind": "rotation", "body": "bob", "axis": "z", "at": (0, 0, 1)}, "is a rotation and has no 'at'"),
        ({"kind": "azimuth", "body": "bob", "axis": (0, 0, 1)}, "so it lacks 'zero'"),
        ({"kind": "combination"}, "measure 'm' is a combination and lacks 'terms'"),
        ({"kind": "combination", "terms": ["a", "b"]}, "terms: expected a list, got 'a'"),
        ({"kind": "combination", "terms": {"a": "1 +"}}, "terms: '1 +' is not a formula"),
        ({"kind": "combination", "terms": [("a", 1), ("a", 2)]}, "terms holds a twice"),
        ({"kind": "coordinate", "coordinate": 3}, "coordinate: expected a text, got 3"),
    ],
)  # fmt: skip
def test_a_measure_that_makes_no_sense_is_refused(measure, message):
    with pytest.raises(MechanismError, match=r"^measure") as error:
        Measure("m", **measure)
    assert message in str(error.value)


def test_names_are_checked_as_everywhere():
    with pytest.raises(MechanismError, match="measure name 'load.x': use a letter"):
        Measure("load.x", "coordinate", coordinate="a")


COMBINED = {"kind": "combination"}


@pytest.mark.parametrize(
    ("measures", "path", "message"),
    [
        ([{"kind": "position", "body": "bib", "axis": "z"}], (0, "body"), "body: 'bib' is not a body; did you mean 'bob'?"),
        (
            [{"kind": "position", "body": "bob", "axis": "z", "of": "wordl"}],
            (0, "of"),
            "of: 'wordl' is not a body, nor 'world'; did you mean 'world'? Known: world, bob.",
        ),
        ([{"kind": "distance", "body": "bob", "other": "bob"}], (0, "other"), "never changes: 'bob' is seen from itself"),
        ([{"kind": "rotation", "body": "bob", "axis": "x", "of": "bob"}], (0, "of"), "never changes"),
        (
            [{"kind": "coordinate", "coordinate": "pivot.angel"}],
            (0, "coordinate"),
            "'pivot.angel' is not a joint coordinate; did you mean 'pivot.angle'?",
        ),
        (
            [{**COMBINED, "terms": {"tip.X": 1}}],
            (0, "terms"),
            "'tip.X' is not a measure, a joint coordinate, or a component of an output that is a position; did you mean",
        ),
        ([{**COMBINED, "terms": {"speed.x": 1}}], (0, "terms"), "'speed.x' is not a measure"),
        ([{**COMBINED, "terms": {"m0": 1}}], (0, "terms"), "is a combination of itself: m0 -> m0"),
        (
            [{**COMBINED, "terms": {"m1": 1}}, {**COMBINED, "terms": {"m2": 1}}, {**COMBINED, "terms": {"tip.x": 1, "m1": 2}}],
            (1, "terms"),
            "measure 'm1' is a combination of itself: m1 -> m2 -> m1",
        ),
        ([{**COMBINED, "terms": {"tip.x": 1, "pivot.angle": 1}}], (0, "terms"), "adds 'tip.x' in m and 'pivot.angle' in rad"),
        ([{"kind": "position", "body": "bob", "axis": "z", "at": (0, 0, "len")}], (0, "at"), "uses 'len', which is not"),
        ([{**COMBINED, "terms": {"tip.x": "push"}}], (0, "terms"), "uses 'push', which is not declared"),
        ([{**COMBINED, "terms": {"tip.x": "share"}}], (0, "terms"), "would take a number in deg"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_machine_is_refused_with_its_place(measures, path, message):
    with pytest.raises(MechanismError) as error:
        machine(
            measures=[Measure(f"m{i}", **values) for i, values in enumerate(measures)],
            outputs=[Output("tip", "bob"), Output("speed", "bob", quantity="velocity")],
            inputs=[Input("push", "N")],
            parameters=[Parameter("share", 10.0, "deg")],
        )
    assert message in str(error.value)
    assert error.value.path == ("measures", *path)


@pytest.mark.parametrize("name", ["pivot", "tip", "mount", "gear", "push", "length", "energy", "time", "t", "loads"])
def test_a_name_that_something_else_has_is_refused(name):
    others = {
        "outputs": [Output("tip", "bob")],
        "ports": [Port("mount", body="bob")],
        "closures": [Closure("gear", "distance", "world", "bob", length=1.0)],
        "inputs": [Input("push", "N")],
        "parameters": [Parameter("length", 1.0, "m")],
    }
    with pytest.raises(MechanismError, match=f"'{name}'") as error:
        machine(measures=[dataclasses.replace(SWING, name=name)], **others)
    assert error.value.path[0] in ("measures", "ports")
    with pytest.raises(MechanismError, match="two outputs or ports or measures are called 'swing'"):
        machine(measures=[SWING, SWING])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "position", "axis": ("a", 0, 0)}, "axis is zero ('a' with a = 0); give a direction"),
        ({"kind": "azimuth", "axis": (0, 0, 1), "zero": (0, "a", 1)}, "is along the axis ('a' with a = 0); give one across it"),
        ({"kind": "azimuth", "axis": "z", "near": "1 / a"}, "'1 / a' divides by zero"),
        ({"kind": "position", "axis": "z", "at": (0, 0, "log(a)")}, "at is -inf ('log(a)' with a = 0); it must be a finite"),
        ({"kind": "rotation", "axis": "z", "reference": (0, 0, "sqrt(a - 1)")}, "reference is nan"),
    ],
)  # fmt: skip
def test_numbers_are_checked_where_parameters_have_values(values, message):
    mechanism = machine(parameters=[Parameter("a", 1.0, "1")], measures=[Measure("m", body="bob", **values)])
    check_values(mechanism, {"a": 1.5})
    with pytest.raises(MechanismError) as error:
        check_values(mechanism, {"a": 0.0})
    assert message in str(error.value)
    assert error.value.path[:2] == ("measures", 0)


def test_a_cut_leaves_measures_as_they_are():
    beam = dataclasses.replace(BOB, com=(0, 0, -1), inertia=(0.34, 0.34, 0.01))
    mechanism = machine(bodies=[beam], joints=[PIVOT], measures=[HEIGHT, SWING])
    assert cut(mechanism, "bob", 0.5).measures == mechanism.measures
