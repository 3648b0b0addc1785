"""Servo tasks from files: the same as in Python, errors with file and line, and where a task may come from."""

import dataclasses
import json
import math

import jsonschema
import pytest

from kingpost import FileError, Mechanism, MechanismError, PluginError, open_model
from kingpost.base.toml import tomllib
from kingpost.mechanism.model import Model
from kingpost.mechanism.paths import Line, Turn
from kingpost.mechanism.tasks import ServoTask
from kingpost.mechanism.trajectories import Joined, RestToRest, Sampled, Sequence, ThreePhase
from kingpost.modelfiles.schema import model_schema
from kingpost.modelfiles.task_file import read_task, read_task_file
from tests.core.modelfiles.files import GOOD
from tests.core.modelfiles.validating import validate

CRANE = """\
[servo]
model = "rotary-crane"
description = "document 000, section 4.4.2"
inputs = ["slew_torque", "trolley_force", "winch_torque"]
t_end = 20

[servo.path]
"load.y" = { kind = "three-phase", start = 0, end = 2, t_start = 0, t_end = 20, t_blend = 5 }

[[servo.lines]]
measures = ["load.x", "load.z"]
start = [5, -5]
end = [-2, -2]
t_start = 0
t_end = 20
profile = "three-phase:blend=5"

[servo.settings]
load_mass = 10.0
"travel.displacement" = 5.0
"""


@pytest.fixture(scope="module")
def crane():
    return open_model("rotary-crane")


@pytest.fixture
def write(tmp_path):
    def write(text, name="task.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_file_and_python_say_the_same(write, crane):
    in_python = ServoTask(
        path={
            "load.y": ThreePhase(0, 2, 0, 20, 5),
            ("load.x", "load.z"): Line((5, -5), (-2, -2), 0, 20, "three-phase:blend=5"),
        },
        inputs=("slew_torque", "trolley_force", "winch_torque"),
        t_end=20.0,
        settings={"load_mass": 10.0, "travel.displacement": 5.0},
        description="document 000, section 4.4.2",
    )
    path = write(CRANE)
    for source in (path, str(path), in_python, tomllib.loads(CRANE)["servo"]):
        assert read_task(source, crane) == in_python
        assert read_task(source, crane.mechanism) == in_python
        assert read_task(source) == in_python
    assert in_python.measures == ("load.y", "load.x", "load.z")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("t_end = 20\n\n", "tend = 20\n\n", 5, "the servo task has no 'tend'; did you mean 't_end'?"),
        ("t_end = 20\n\n", "\n", 1, "the servo task lacks 't_end'"),
        ("t_end = 20\n\n", "t_end = -20\n\n", 5, "goes from 0.0 s to -20.0 s; the end must come after the start"),
        ("t_end = 20\n\n", 't_end = "T"\n\n', 5, "t_end: expected a number, got the formula 'T'"),
        ('"rotary-crane"', '"overhead-crane"', 2, "is for the model 'overhead-crane', and the machine is 'rotary-crane'"),
        ('"winch_torque"', '"winch_torqe"', 4, "has no input 'winch_torqe'; did you mean 'winch_torque'?"),
        ('["slew_torque", ', '"slew_torque" #', 4, "the servo task: inputs: expected a list, got 'slew_torque'"),
        ('"load.y" =', '"lod.y" =', 8, "nothing called 'lod.y' that could follow a path; did you mean 'load.y'?"),
        ("t_blend = 5", "t_blend = 15", 8, "path of 'load.y': three-phase trajectory: t_blend is 15.0 s, more than half"),
        ('kind = "three-phase"', 'kind = "three"', 8, "there is no trajectory of kind 'three'; did you mean 'three-phase'?"),
        ("start = 0,", 'start = "way",', 8, "start = 'way' uses 'way', which is not declared"),
        ('["load.x", "load.z"]', '["load.x", "lode.z"]', 11, "nothing called 'lode.z' that could follow"),
        ('["load.x", "load.z"]', '["load.x", "load.y"]', 11, "the servo task gives 'load.y' two paths"),
        ('["load.x", "load.z"]', '["load.x", "load.x"]', 11, "line 1 names a measure twice: load.x, load.x"),
        ('["load.x", "load.z"]', '["load.x"]', 10, "line 1: a line of 2 component(s) is given for 1 measure(s)"),
        ('measures = ["load.x", "load.z"]', "", 10, "the servo task: line 1 lacks 'measures', e.g."),
        ("start = [5, -5]", "strat = [5, -5]", 12, "the servo task: line 1 has no 'strat'; did you mean 'start'?"),
        ("end = [-2, -2]", "end = [-2]", 13, "the servo task: line 1: it starts at 2 component(s) and ends at 1"),
        ("end = [-2, -2]", 'end = [-2, "reach"]', 13, "uses 'reach', which is not declared"),
        (
            '"three-phase:blend=5"',
            '"smooth:9"',
            16,
            "profile: 'smooth:9' asks for '9' continuous derivatives; there are 1 to 8",
        ),
        (
            "load_mass = 10.0",
            "load_masss = 10.0",
            19,
            "nothing called 'load_masss' that could be set; did you mean 'load_mass'?",
        ),
        ("load_mass = 10.0", "load_mass = inf", 19, "settings: load_mass = inf is not a finite number"),
        ("[servo.settings]", "[servo.setting]", 18, "the servo task has no 'setting'; did you mean 'settings'?"),
        ("[servo.path]", "[servo.paths]", 7, "the servo task has no 'paths'; did you mean 'path'?"),
        ("[servo]", "[extra]\n[servo]", 1, "a task file has no 'extra'"),
    ],
)
def test_errors_name_file_and_line(write, crane, old, new, line, message):
    assert old in CRANE
    path = write(CRANE.replace(old, new, 1))
    with pytest.raises(MechanismError) as error:
        read_task(path, crane)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{path}:{line}: ")


def test_lines_one_after_another_make_a_chain(write, crane):
    second = CRANE[CRANE.index("[[servo.lines]]") : CRANE.index("[servo.settings]")]
    second = second.replace("[5, -5]", "[-2, -2]").replace("[-2, -2]\nt", "[0, -3]\nt").replace("t_end = 20", "t_end = 40")
    second = second.replace("t_start = 0", "t_start = 25")
    task = read_task(write(CRANE + second), crane)
    assert task.path["load.x"] == Joined((ThreePhase(5, -2, 0, 20, 5), ThreePhase(-2, 0, 25, 40, 5)), (25,))
    with pytest.raises(
        MechanismError, match=r"task.toml:10: the servo task: load.x, load.z: joined trajectory: times must rise"
    ):
        read_task(write(CRANE + second + second.replace("t_start = 25", "t_start = 21")), crane)


def test_turns_are_read(write):
    text = """
[servo]
inputs = ["a", "b", "c"]
t_end = 2

[[servo.turns]]
measures = ["rx", "ry", "rz"]
start = [0, 0, 0]
end = { bryant = [0.5, 0.2, 0.1] }
t_start = 0
t_end = 1

[[servo.turns]]
measures = ["qx", "qy", "qz"]
start = [1, 0, 0, 0]
end = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
t_start = 0
t_end = 1
profile = "smooth:6"
axis = [0, 0, -1]
reference = "middle"
"""
    task = read_task(write(text))
    first, second = (path for _, path in task.together)
    assert first == Turn((0, 0, 0), {"bryant": (0.5, 0.2, 0.1)}, 0, 1)
    assert second.angle == pytest.approx(1.5 * math.pi)
    validate(tomllib.loads(text), model_schema(open_model("double-pendulum").plugins))
    with pytest.raises(
        MechanismError, match=r"task.toml:8: the servo task: turn 1: start: rpy: expected 3 numbers, got \[0, 0\]"
    ):
        read_task(write(text.replace("start = [0, 0, 0]", "start = [0, 0]")))
    again = text[text.index("[[servo.turns]]") : text.index('measures = ["qx"') - len("[[servo.turns]]\n")]
    with pytest.raises(MechanismError, match=r"task.toml:22: the servo task: rx, ry, rz: chain: turn 2 starts"):
        read_task(write(text + again.replace("t_start = 0", "t_start = 1").replace("t_end = 1", "t_end = 2")))


def test_samples_lie_beside_the_file(write, tmp_path):
    (tmp_path / "x.csv").write_text("t,x\n0,1\n1,2\n", encoding="utf-8")
    text = '[servo]\ninputs = ["a"]\nt_end = 1\npath = { x = { kind = "sampled", file = "x.csv" } }\n'
    assert read_task(write(text)).path["x"] == Sampled((0, 1), (1, 2))
    with pytest.raises(FileError, match=r"the servo task: path of 'x': .*y.csv"):
        read_task(write(text.replace("x.csv", "y.csv")))


SEVERAL = """
[tasks.out]
inputs = ["a"]
t_end = 1
path.x = { kind = "sequence", times = [0, 1], values = [0, 1], profile = "smooth:6" }

[tasks."000-4.4"]
inputs = ["a"]
t_end = 1
path.x = 2.0
"""


def test_a_file_may_hold_several_tasks(write):
    path = write(SEVERAL)
    found = read_task(f"{path}:out")
    assert found.path["x"] == Sequence((0, 1), (0, 1), "smooth:6")
    assert (found.name, read_task_file(path, "000-4.4").name) == ("out", "000-4.4")
    with pytest.raises(MechanismError, match="the file has 2 tasks; say which: out, 000-4.4"):
        read_task(path)
    with pytest.raises(MechanismError, match="the file has no task 'uot'; did you mean 'out'"):
        read_task(f"{path}:uot")
    own = '[servo]\ninputs = ["a"]\nt_end = 1\npath.x = 3.0\n'
    assert read_task(write(own + SEVERAL)).path["x"].level == 3.0
    named = own.replace("[servo]", '[servo]\nname = "out"')
    with pytest.raises(MechanismError, match=r"task.toml:6: two tasks are called 'out'"):
        read_task(write(named + SEVERAL.lstrip()))


def test_a_model_file_brings_its_tasks(write):
    task = '\n[inputs]\ntorque = { unit = "N.m" }\n\n[servo]\ninputs = ["torque"]\nt_end = 1\npath = { "pivot.angle" = 0.5 }\n'
    path = write(GOOD + task + SEVERAL.replace('"a"', '"torque"').replace("path.x", 'path."pivot.angle"'), "model.toml")
    opened = open_model(path)
    assert set(opened.tasks) == {"servo", "out", "000-4.4"}
    assert opened.task().path["pivot.angle"].level == 0.5
    assert opened.task("out").t_end == 1.0
    assert read_task(path, opened) == opened.task()
    run = write(
        'model = "model.toml"\n[tasks.slow]\ninputs = ["torque"]\nt_end = 9\npath = { "pivot.angle" = 0.5 }\n', "run.toml"
    )
    assert set(open_model(run).tasks) == {"servo", "out", "000-4.4", "slow"}
    wrong = write(GOOD + task.replace('"pivot.angle"', '"pivot.angel"'), "wrong.toml")
    with pytest.raises(MechanismError, match=r"wrong.toml:37: .* nothing called 'pivot.angel' .* did you mean 'pivot.angle'"):
        open_model(wrong)
    wrong = write(
        'model = "model.toml"\n[servo]\ninputs = ["torqe"]\nt_end = 1\npath = { "pivot.angle" = 0.5 }\n', "wrong.toml"
    )
    with pytest.raises(MechanismError, match=r"wrong.toml:3: .* has no input 'torqe'; did you mean 'torque'"):
        open_model(wrong)
    with pytest.raises(MechanismError, match=r"the file holds servo tasks and no machine; give it as a task, or add model"):
        open_model(write(CRANE))


class Swing(Model):
    """A pendulum with tasks."""

    name = "swing"

    def build(self) -> Mechanism:
        return dataclasses.replace(open_model("rotary-crane").mechanism, name="swing")

    def tasks(self):
        line = Line((1, 0), (2, 1), 0, 1)
        return {"001": ServoTask({("load.x", "load.y"): line}, ("slew_torque", "trolley_force"), 1.0)}


class Broken(Swing):
    """A pendulum whose tasks are none."""

    name = "broken"

    def tasks(self):
        return {"001": "later"}


def test_models_bring_tasks_by_name(plugins, write):
    file = write(
        "import kingpost\nfrom tests.core.modelfiles.test_task_file import Broken, Swing\n\n"
        "@kingpost.hookimpl\ndef kingpost_register_models():\n    return [Swing, Broken]\n",
        "swing.py",
    )
    plugins = plugins.with_files([file])
    opened = open_model("swing", plugins)
    task = opened.task("001")
    assert task.name == "001"
    assert task.path["load.y"] == RestToRest(0, 1, 0, 1)
    assert opened.task() == task
    assert len(task.together) == 1
    with pytest.raises(MechanismError, match=r"model 'swing' has no task '002'; did you mean '001'\? Tasks: 001."):
        opened.task("002")
    with pytest.raises(FileError, match="nowhere.toml"):
        opened.task("nowhere.toml")
    with pytest.raises(MechanismError, match=r"3 is no servo task; give its name, a TOML file, or a ServoTask"):
        opened.task(3)
    with pytest.raises(PluginError, match=r"model 'broken': tasks\(\) returned .*, expected servo tasks by name"):
        open_model("broken", plugins)


def test_a_machine_without_tasks_says_so(crane):
    if not crane.tasks:
        with pytest.raises(MechanismError, match="model 'rotary-crane' brings no task; give a file"):
            crane.task()
    with pytest.raises(MechanismError, match="no machine has no task '003'. Tasks: none."):
        read_task("003")


def test_a_file_without_a_task_is_refused(write):
    with pytest.raises(MechanismError, match=r"task.toml: the file holds no task; write \[servo\], or \[tasks.NAME\]"):
        read_task(write('model = "rotary-crane"\n'))
    with pytest.raises(MechanismError, match=r"task.toml:1: \[servo\] must be a table, got 3"):
        read_task(write("servo = 3\n"))
    with pytest.raises(MechanismError, match=r"task.toml:2: \[tasks.a\] must be a table, got 3"):
        read_task(write("[tasks]\na = 3\n"))


def test_the_schema_knows_tasks(plugins):
    schema = model_schema(plugins)
    validate(tomllib.loads(CRANE), schema)
    validate(tomllib.loads(SEVERAL), schema)
    validate(tomllib.loads('model = "rotary-crane"\n' + SEVERAL), schema)
    for old, new in [("t_end = 20\n\n", "tend = 20\n\n"), ("measures", "measure"), ("[5, -5]", "5"), ("= 10.0", '= "a"')]:
        with pytest.raises(jsonschema.ValidationError):
            validate(tomllib.loads(CRANE.replace(old, new, 1)), schema)
    assert json.dumps(schema)


def test_a_file_that_is_not_there_is_called_so(tmp_path):
    with pytest.raises(FileError, match=r"^there is no servo task file '.*missing\.toml'$"):
        read_task_file(tmp_path / "missing.toml")
