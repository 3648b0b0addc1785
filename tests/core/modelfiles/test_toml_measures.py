"""Measures in TOML: the words of Python, errors with file and line, and a schema as strict as the reader."""

import jsonschema
import pytest

from kingpost import Measure, MechanismError, open_model, read_model, simulate
from kingpost.base.toml import tomllib
from kingpost.modelfiles.schema import model_schema
from kingpost.modelfiles.toml_model import mechanism_from_dict
from tests.core.modelfiles.files import GOOD
from tests.core.modelfiles.validating import validate

MEASURES = """
[[measures]]
name = "height"
kind = "position"
body = "bob"
at = [0, 0, "-length"]
axis = "z"

[[measures]]
name = "swing"
kind = "azimuth"
body = "bob"
at = [0, 0, "-length"]
axis = [0, -1, 0]
zero = [0, 0, -1]
near = "pi / 8"

[[measures]]
name = "mean"
kind = "combination"
description = "of two ways to say the same"
terms = { "pivot.angle" = 0.5, swing = "-length / 2" }

[[measures]]
name = "turn"
kind = "rotation"
body = "bob"
axis = "y"
reference = [0, 0.1, 0]

[[measures]]
name = "angle"
kind = "coordinate"
coordinate = "pivot.angle"

[[measures]]
name = "chord"
kind = "distance"
body = "bob"
at = [0, 0, "-length"]
other_at = [0, 0, "-length"]
"""
FILE = GOOD + MEASURES
#: Lines of the file before the measures.
BEFORE = GOOD.count("\n")
TWO = "of two ways to say the same"
POINT = {"body": "bob", "at": (0, 0, "-length")}


def write(tmp_path, text):
    path = tmp_path / "model.toml"
    path.write_text(text)
    return path


def test_a_file_and_python_say_the_same_and_a_run_shows_it(tmp_path, plugins):
    mechanism = read_model(write(tmp_path, FILE), plugins)
    assert mechanism.measures == (
        Measure("height", "position", axis="z", **POINT),
        Measure("swing", "azimuth", axis=(0, -1, 0), zero=(0, 0, -1), near="pi / 8", **POINT),
        Measure("mean", "combination", terms=(("pivot.angle", 0.5), ("swing", "-length / 2")), description=TWO),
        Measure("turn", "rotation", body="bob", axis="y", reference=(0, 0.1, 0)),
        Measure("angle", "coordinate", coordinate="pivot.angle"),
        Measure("chord", "distance", other_at=(0, 0, "-length"), **POINT),
    )  # fmt: skip
    assert mechanism_from_dict(mechanism.to_dict()) == mechanism
    history = open_model(tmp_path / "model.toml", plugins).simulate(t_end=0.5)
    assert history["swing"] == pytest.approx(-history["pivot.angle"], abs=1e-13)
    assert history["mean"] == pytest.approx(history["pivot.angle"], abs=1e-13)
    assert history["turn"] == pytest.approx(history["pivot.angle"] - 0.1, abs=1e-13)
    assert (history["angle"] == history["pivot.angle"]).all()
    assert history["chord"] ** 2 == pytest.approx(2 * (1 + history["height"]), abs=1e-13)
    assert history.channel("height").frame == "world"
    assert simulate(mechanism, 0.1, settings={"length": 2.0}, plugins=plugins)["chord"][0] == pytest.approx(
        4 * 0.14943813, rel=1e-7
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('axis = "z"', 'axes = "z"', 7, "measure 'height' has no 'axes'; did you mean 'axis'?"),
        ('axis = "z"', 'axis = "w"', 7, "axis is 'w'; give x, y or z"),
        ('body = "bob"', 'body = "bib"', 5, "measure 'height': body: 'bib' is not a body; did you mean 'bob'?"),
        ('kind = "azimuth"', 'kind = "azimut"', 11, "unknown kind 'azimut'; did you mean 'azimuth'?"),
        ("zero = [0, 0, -1]\n", "", 9, "so it lacks 'zero'"),
        ("zero = [0, 0, -1]", "zero = [0, 1, 0]", 15, "is along the axis"),
        ('swing = "-length / 2"', 'swing = "-lenght / 2"', 22, "uses 'lenght', which is not declared; did you mean 'length'?"),
        ('swing = "-length / 2"', "swung = 1", 22, "'swung' is not a measure, a joint coordinate"),
        ('swing = "-length / 2"', "height = 1", 22, "adds 'pivot.angle' in rad and 'height' in m"),
        ('swing = "-length / 2"', "mean = 1", 22, "is a combination of itself: mean -> mean"),
        ('coordinate = "pivot.angle"', 'coordinate = "angle"', 34, "'angle' is not a joint coordinate"),
        ('name = "turn"', 'name = "swing"', 24, "two outputs or ports or measures are called 'swing'"),
        ('name = "turn"', 'name = "pivot"', 25, "measure 'pivot' has the name of a joint of the machine"),
        ("reference = [0, 0.1, 0]", "at = [0, 0, 1]", 29, "measure 'turn' is a rotation and has no 'at'"),
        ('terms = { "pivot.angle" = 0.5, swing = "-length / 2" }', "terms = 3", 22, "terms: expected a list, got 3"),
    ],
)  # fmt: skip
def test_errors_name_file_and_line(old, new, line, message, tmp_path, plugins):
    assert MEASURES.count(old) >= 1
    path = write(tmp_path, GOOD + MEASURES.replace(old, new, 1))
    with pytest.raises(MechanismError) as error:
        read_model(path, plugins)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{path}:{BEFORE + line}:"), str(error.value)


def test_the_schema_takes_what_the_reader_takes(plugins):
    schema = model_schema(plugins)
    validate(tomllib.loads(FILE), schema)
    for old, new in [
        ('axis = "z"', 'axis = "w"'), ('kind = "azimuth"', 'kind = "azimut"'), ("reference =", "at ="),
        ('coordinate = "pivot.angle"\n', ""), ('terms = { "pivot.angle" = 0.5, swing = "-length / 2" }', "terms = {}"),
    ]:  # fmt: skip
        assert old in MEASURES
        with pytest.raises(jsonschema.ValidationError):
            validate(tomllib.loads(GOOD + MEASURES.replace(old, new, 1)), schema)
