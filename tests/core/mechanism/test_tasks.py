"""Servo tasks: paths of one and of several measures, how smooth they are, and names that are not there."""

from dataclasses import replace

import pytest

from kingpost import Body, Input, Joint, Measure, Mechanism, MechanismError, Output, Parameter
from kingpost.mechanism.paths import Chain, Line, Turn
from kingpost.mechanism.tasks import ServoTask, check_task, measures_of
from kingpost.mechanism.trajectories import Constant, RestToRest, Sampled, Sequence

CRANE = Mechanism(
    name="small-crane",
    bodies=(Body("trolley", mass=10.0), Body("load", mass="mass")),
    joints=(
        Joint("travel", "prismatic", "world", "trolley", axis=(1, 0, 0)),
        Joint("swing", "revolute", "trolley", "load", axis=(0, 1, 0)),
    ),
    parameters=(Parameter("mass", 100.0, "kg"), Parameter("way", 5.0, "m"), Parameter("delay", 10.0, "ms")),
    inputs=(Input("trolley_force", "N"), Input("winch_torque", "N.m")),
    outputs=(Output("hook", "load"), Output("hook-speed", "load", quantity="velocity")),
)


def task(**changed):
    given = {"path": {"hook.x": RestToRest(0, 5, 0, 3)}, "inputs": ("trolley_force",), "t_end": 3.0, **changed}
    return ServoTask(**given)


def test_several_measures_follow_one_path():
    line = Line((0, 4), (5, 1), 0, 3, "smooth:6")
    found = ServoTask(path={"swing.angle": 0.1, ("hook.x", "hook.z"): line}, inputs=("a", "b", "c"), t_end=3)
    assert found.measures == ("swing.angle", "hook.x", "hook.z")
    assert dict(found.path) == {
        "swing.angle": Constant(0.1),
        "hook.x": RestToRest(0, 5, 0, 3, "smooth:6"),
        "hook.z": RestToRest(4, 1, 0, 3, "smooth:6"),
    }
    assert found.together == ((("hook.x", "hook.z"), line),)
    assert found.smoothness == 6
    plain = {"kind": "line", "start": [0, 4], "end": [5, 1], "t_start": 0, "t_end": 3, "profile": "smooth:6"}
    assert ServoTask(path={("hook.x", "hook.z"): plain}, inputs="a", t_end=3).path["hook.z"] == found.path["hook.z"]


def test_smoothness_counts_from_start_to_end():
    path = Sequence((0, 1, 2, 4), (0, 1, 2, 0))
    assert task(path={"hook.x": path}).smoothness == 4
    assert task(path={"hook.x": path}, t_start=2.5, t_end=3.5).smoothness == 8
    samples = Sampled((0, 1, 2, 3, 4), (0, 1, 3, 4, 4), "cubic")
    assert samples.smoothness == 2
    assert task(path={"hook.x": samples}, t_start=0.5, t_end=3.5).smoothness == 2
    assert task(path={"hook.x": samples}).smoothness == 0  # it leaves the first sample with a speed
    assert task(path={"hook.x": Constant("sin(t)")}).smoothness == 8
    assert task(path={"hook.x": RestToRest(0, "way", 0, 3)}).smoothness == 4
    chain = Chain((Line([0], [2], 0, 2), Line([3], [4], 2, 3)))
    assert task(path={("hook.x",): chain}).smoothness == -1


def test_breaks_are_told_by_measure():
    found = task(path={"hook.x": RestToRest(0, "way", 0, 3), "hook.z": 1.0}).breaks({"way": 2.0})
    assert [(item.time, item.order) for item in found["hook.x"]] == [(0.0, 5), (3.0, 5)]
    assert found["hook.z"] == ()


@pytest.mark.parametrize(
    ("changed", "message", "path"),
    [
        ({"path": {}}, "the servo task has no path; give a trajectory for at least one measure", ("path",)),
        ({"path": {"hook.x": {"kind": "line"}}, "name": "up"}, "servo task 'up': path of 'hook.x': there is no", None),
        ({"path": {("hook.x", "hook.z"): 1.0}}, "path of 'hook.x', 'hook.z': a path of several measures is a table", None),
        (
            {"path": {("hook.x",): Line((0, 1), (1, 2), 0, 1)}},
            "path of 'hook.x': a line of 2 component(s) is given for 1 measure(s): hook.x",
            None,
        ),
        ({"path": {"a": 1, ("a", "b"): Line((0, 1), (1, 2), 0, 1)}}, "the servo task gives 'a' two paths", ("path", "a")),
        ({"path": {("a", "a"): Line((0, 1), (1, 2), 0, 1)}}, "the servo task gives 'a' two paths", ("path", "a")),
        ({"inputs": ()}, "names no input that is to be found", ("inputs",)),
        ({"inputs": 3}, "the servo task: inputs: expected a list, got 3", ("inputs",)),
        ({"inputs": ("a", "b", "a")}, "names the input a twice", ("inputs",)),
        ({"t_end": -1}, "goes from 0.0 s to -1.0 s; the end must come after the start", ("t_end",)),
        ({"t_end": "T"}, "the servo task: t_end: expected a number, got the formula 'T'", ("t_end",)),
        ({"settings": {"mass": float("nan")}}, "settings: mass = nan is not a finite number", ("settings", "mass")),
    ],
)
def test_what_is_no_task_is_refused(changed, message, path):
    with pytest.raises(MechanismError) as error:
        task(**changed)
    assert message in str(error.value)
    assert path is None or error.value.path == path


def test_measures_are_positions_and_coordinates():
    assert measures_of(CRANE) == ("hook.x", "hook.y", "hook.z", "travel.displacement", "swing.angle")
    check_task(task(path={"hook.x": RestToRest(0, "way", 0, 3), "swing.angle": "sin(t)"}, settings={"mass": 50.0}), CRANE)


@pytest.mark.parametrize(
    ("changed", "message", "path"),
    [
        (
            {"inputs": ("winch_torqe",)},
            "'small-crane' has no input 'winch_torqe'; did you mean 'winch_torque'? Inputs: trolley_force, winch_torque.",
            ("inputs", 0),
        ),
        (
            {"path": {"hok.x": 1.0}},
            "has nothing called 'hok.x' that could follow a path; did you mean 'hook.x'?",
            ("path", "hok.x"),
        ),
        ({"path": {"hook-speed.x": 1.0}}, "has nothing called 'hook-speed.x' that could follow", ("path", "hook-speed.x")),
        (
            {"settings": {"masss": 1.0}},
            "settings: 'small-crane' has nothing called 'masss' that could be",
            ("settings", "masss"),
        ),
        (
            {"path": {"hook.x": RestToRest(0, "wya", 0, 3)}},
            "path of 'hook.x': end = 'wya' uses 'wya', which is not declared; did you mean 'way'?",
            ("path", "hook.x", "end"),
        ),
        ({"path": {"hook.x": "trolley_force"}}, "uses 'trolley_force', which is not declared", ("path", "hook.x", "level")),
        ({"path": {"hook.x": "delay"}}, "would take a number in ms for one in SI units", ("path", "hook.x", "level")),
    ],
)
def test_names_that_a_machine_does_not_have_are_refused(changed, message, path):
    with pytest.raises(MechanismError) as error:
        check_task(task(**changed), CRANE)
    assert message in str(error.value)
    assert error.value.path == path


def turning(reference=(0.0, 0.0, 0.0), axes=((1, 0, 0), (0, 1, 0), (0, 0, 1)), kind="rotation"):
    """A machine with measures of a rotation vector, or of another kind about the same axes."""
    own = {"reference": reference} if kind == "rotation" else {}
    measures = [Measure(f"r{i}", kind, body="load", axis=axis, **own) for i, axis in enumerate(axes)]
    return replace(CRANE, measures=measures)


def test_a_turn_takes_the_rotation_vector_that_it_is_written_in():
    turn = Turn((0.1, 0.2, 0.3), (0.1, 0.2, 1.0), 0, 3)
    found = task(path={("r0", "r1", "r2"): turn})
    check_task(found, turning((0.1, 0.2, 0.3)))
    with pytest.raises(
        MechanismError, match=r"'r0' counts from reference = \[0.0, 0.0, 0.0\], 0.366 rad from the start of the turn"
    ):
        check_task(found, turning())
    with pytest.raises(
        MechanismError, match=r"'r1' measures along \[0.0, 0.0, 1.0\]; its place is that of the component along"
    ):
        check_task(found, turning((0.1, 0.2, 0.3), ((1, 0, 0), (0, 0, 1), (0, 1, 0))))
    with pytest.raises(MechanismError, match="'r0' is a measure of kind 'position'; it takes three of kind 'rotation'"):
        check_task(found, turning(kind="position"))
    with pytest.raises(MechanismError, match="'hook.x' is no measure; it takes three of kind 'rotation'"):
        check_task(task(path={("hook.x", "hook.y", "hook.z"): turn}), CRANE)
