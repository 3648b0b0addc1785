"""TOML model files: the same words as Python, and errors with file and line."""

import pytest

from kingpost import Body, FileError, ForceElement, Joint, Mechanism, MechanismError, Parameter, read_model
from kingpost.modelfiles.toml_model import read_model_file
from tests.core.modelfiles.files import GOOD


def write(tmp_path, text):
    path = tmp_path / "model.toml"
    path.write_text(text)
    return path


def test_a_file_and_python_say_the_same(tmp_path, plugins):
    length = Parameter("length", 1.0, "m")
    in_python = Mechanism(
        name="pendulum",
        parameters=[length],
        bodies=[Body("bob", mass=2.0, com=(0, 0, -length), inertia=(0.1, 0.1, 0.1))],
        joints=[Joint("pivot", "revolute", parent="world", child="bob", axis=(0, 1, 0), start=0.3)],
        forces=[ForceElement("gravity", acceleration=(0, 0, -9.81))],
    )
    assert read_model(write(tmp_path, GOOD), plugins) == in_python


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("mass = 2.0", "mas = 2.0", 8, "body 'bob' has no 'mas'; did you mean 'mass'?"),
        ("mass = 2.0", "mass = -2.0", 8, "body 'bob': mass is -2 kg; it cannot be negative"),
        ("mass = 2.0", 'mass = "m1"', 8, "uses 'm1', which is not declared"),
        ("mass = 2.0\n", "", 6, "body 'bob' lacks 'mass'"),
        ("    0.1,  # Ixx", "    0.9,", 10, "triangle inequality"),
        ('child = "bob"', 'child = "bib"', 20, "its child 'bib' is not a body; did you mean 'bob'?"),
        ('parent = "world"', 'parent = "bob"', 19, "the bodies bob -> bob carry each other in a loop"),
        ('kind = "revolute"', 'kind = "revolving"', 18, "unknown kind 'revolving'; did you mean 'revolute'?"),
        ("[[bodies]]", "[[bodys]]", 6, "a model file has no 'bodys'; did you mean 'bodies'?"),
        ("[0, 0, -9.81]", '[0, 0, "-g"]', 26, "uses 'g', which is not declared"),
        ("acceleration =", "accel =", 26, "force 'gravity' (gravity) has no 'accel'"),
        ("t_end = 2", "tend = 2", 29, "[run] has no 'tend'; did you mean 't_end'?"),
        ("t_end = 2", 't_end = "soon"', 29, "[run]: t_end: expected a number"),
        ('unit = "m"', 'units = "m"', 4, "parameter 'length' has no 'units'; did you mean 'unit'?"),
        (', unit = "m"', "", 4, "parameter 'length' lacks 'unit'"),
        (
            'unit = "m"',
            'unit = "meters"',
            4,
            "parameter 'length' is in 'meters', which is no unit that is known here; did you mean 'm'?",
        ),
        (
            'unit = "m"',
            'unit = "mm"',
            9,
            "com = '-length' would take a number in mm for one in SI units; write '-(length * 0.001)'",
        ),
        ("start = 0.3", 'start = "0.3 +"', 22, "'0.3 +' is not a formula"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(tmp_path, plugins, old, new, line, message):
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(MechanismError) as error:
        read_model(path, plugins)
    assert str(error.value).startswith(f"{path}:{line}: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("name = ", FileError, "is not valid TOML: Invalid value (at end of document)"),
        ('name = "x"\n', MechanismError, "the mechanism lacks 'bodies'"),
        ('name = "x"\nbodies = 3\njoints = []\n', MechanismError, ":2: 'bodies' must be a list of tables"),
        (
            'model = "double-pendulum"\n[[bodies]]\nname = "b"\n',
            MechanismError,
            ":2: the file takes its mechanism from model =",
        ),
        ('model = "double-pendulum"\n[set]\nmass1 = "two"\n', MechanismError, ":3: set: mass1 = 'two' is not a finite number"),
        ('model = "double-pendulum"\nplugins = ["gone.py"]\n', MechanismError, "gone.py' does not exist"),
        ('name = "x"\nparameters = { a = 3 }\nbodies = []\njoints = []\n', MechanismError, "must be written a = { default = 3"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path, plugins, text, kind, message):
    with pytest.raises(kind) as error:
        read_model_file(write(tmp_path, text), plugins)
    assert message in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileError, match="there is no file"):
        read_model(tmp_path / "gone.toml")
