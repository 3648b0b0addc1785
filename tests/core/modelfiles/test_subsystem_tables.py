"""``[[subsystems]]`` that are no groups of bodies: systems in variables of their own, in a file."""

import json

import numpy as np
import pytest

from kingpost import MechanismError, Subsystem, as_mechanism, open_model, read_model, simulate
from kingpost.base.toml import tomllib
from kingpost.modelfiles.subsystem_tables import GROUP_KEYS, SYSTEM_KEYS
from kingpost.modelfiles.toml_model import mechanism_from_dict
from kingpost.modular.machine import only_subsystem
from kingpost.modular.tree import assembled
from tests.core.modelfiles.validating import validate

#: The example of docs/modular.md, its parts written as they come.
ARM = """
name = "arm-alone"

[[subsystems]]
name = "bob"
within = "arm"
variables.0 = ["x", "y"]
invariants.circle = "x**2 + y**2 - l**2"
forces = { x = "-m * x_ddot", y = "-m * y_ddot - m * g" }
parameters = { m = 1.0, l = 0.5, g = 9.81 }
units = { m = "kg", l = "m" }

[[subsystems]]
name = "arm"
variables.0 = ["angle"]
invariants = { along = "x - l * sin(angle)", down = "y + l * cos(angle)", gear = "angle_dot - w / 5" }
start.angle = 0.3
independent = ["angle", "i"]
pull = 5.0

[[subsystems.children]]
name = "motor"
variables.1 = ["w", "i"]
forces = { w = "k * i - J * w_dot", i = "-L * i_dot - R * i - k * w" }
inputs.V = "i"
parameters = { k = 0.5, J = 1e-3, L = 1e-2, R = 1.0 }
"""


def arm():
    bob = Subsystem(
        "bob", variables={0: ("x", "y")}, invariants={"circle": "x**2 + y**2 - l**2"},
        forces={"x": "-m * x_ddot", "y": "-m * y_ddot - m * g"}, parameters={"m": 1.0, "l": 0.5, "g": 9.81},
        units={"m": "kg", "l": "m"},
    )  # fmt: skip
    motor = Subsystem(
        "motor", variables={1: ("w", "i")}, forces={"w": "k * i - J * w_dot", "i": "-L * i_dot - R * i - k * w"},
        inputs={"V": "i"}, parameters={"k": 0.5, "J": 1e-3, "L": 1e-2, "R": 1.0},
    )  # fmt: skip
    return Subsystem(
        "arm", children=(motor, bob), variables={0: ("angle",)},
        invariants={"along": "x - l * sin(angle)", "down": "y + l * cos(angle)", "gear": "angle_dot - w / 5"},
        start={"angle": 0.3}, independent=("angle", "i"),
    )  # fmt: skip


def written(tmp_path, text):
    (tmp_path / "machine.toml").write_text(text)
    return tmp_path / "machine.toml"


def test_a_file_has_the_machine_of_its_words_in_python(tmp_path):
    """Nothing but subsystems in it: no bodies, no joints; parameters, inputs and units are those of the parts."""
    mechanism = read_model(written(tmp_path, ARM))
    assert mechanism == as_mechanism(arm(), name="arm-alone", pull=5.0)
    assert mechanism_from_dict(json.loads(json.dumps(mechanism.to_dict()))) == mechanism
    assert {item.name: item.unit for item in mechanism.parameters}["l"] == "m"


def test_it_runs_and_is_shown(tmp_path, kingpost_cli):
    path = written(tmp_path, ARM)
    how = {"t_end": 0.05, "output_step": 0.05, "step": 1e-3, "backend": "vm"}
    found = open_model(str(path)).simulate(settings={"V": 12.0, "l": 0.4}, **how)
    expected = simulate(as_mechanism(arm(), pull=5.0), settings={"V": 12.0, "l": 0.4}, **how)
    assert found["arm.angle"][-1] == expected["arm.angle"][-1] != 0.3
    lines = kingpost_cli("modular", str(path))
    assert lines.status == 0 and "arm.bob" in lines.out and "arm.motor" in lines.out


BESIDE = """
name = "beside"
[parameters]
R = { default = 4.0, unit = "Ohm" }
[[bodies]]
name = "cart"
mass = 2.0
[[joints]]
name = "rail"
kind = "prismatic"
parent = "world"
child = "cart"
axis = [1, 0, 0]
start_rate = 1.0
[[subsystems]]
name = "vehicle"
bodies = ["cart"]
[[subsystems]]
name = "filter"
variables.1 = ["i"]
forces.i = "-L * i_dot - R * i"
parameters = { L = 0.5, R = 2.0 }
start.i = 1.0
"""


def test_groups_and_systems_stand_beside_each_other(tmp_path):
    """A parameter that the machine declares takes the place of the part's: i = exp(-R t / L), by rk4 to (1/125)^4."""
    opened = open_model(str(written(tmp_path, BESIDE)))
    assert [group.name for group in opened.mechanism.subsystems] == ["vehicle"]
    assert [(item.name, item.default) for item in opened.mechanism.parameters] == [("R", 4.0), ("L", 0.5)]
    history = opened.simulate(t_end=0.25, output_step=0.25, step=1e-3, backend="vm")
    assert history["filter.i"][-1] == pytest.approx(np.exp(-2), abs=1e-8)
    assert history["rail.displacement"][-1] == pytest.approx(0.25, abs=1e-12)


PAIR = """
name = "pair"
[[subsystems]]
name = "bob"
variables.0 = ["x", "y"]
invariants.circle = "x**2 + y**2 - l**2"
forces = { x = "-m * x_ddot", y = "-m * y_ddot - m * g" }
parameters = { m = 1.0, l = 0.5, g = 9.81 }
start.x = 0.3
guess.y = -0.4
[[subsystems]]
name = "two"
children = [{ use = "bob", name = "left", suffix = "L", keep = ["g"] }]
invariants.tied = "yL - yR"
[[subsystems]]
name = "right"
use = "bob"
within = "two"
suffix = "R"
keep = ["g"]
names = { l = "length" }
"""


def test_one_part_is_used_in_several_places(tmp_path):
    mechanism = read_model(written(tmp_path, PAIR))
    assert [item.name for item in mechanism.parameters] == ["mL", "lL", "g", "mR", "length"]
    assert len(mechanism.forces) == 1  # the part itself is none of the machine's systems
    tree = assembled(only_subsystem(mechanism))
    assert tree.degrees_of_freedom == 1
    assert [child.name for child in only_subsystem(mechanism).children] == ["left", "right"]


CART = """name = "beside"
[[bodies]]
name = "cart"
mass = 2.0
[[joints]]
name = "rail"
kind = "prismatic"
parent = "world"
child = "cart"
axis = [1, 0, 0]
"""
GROUP = '[[subsystems]]\nname = "vehicle"\nbodies = ["cart"]\n'
FILTER = '[[subsystems]]\nname = "filter"\nvariables.1 = ["i"]\nforces.i = "-i_dot - R * i"\nparameters.R = 2.0\n'


@pytest.mark.parametrize(
    ("tables", "message", "line"),
    [
        (GROUP + 'forces.x = "1"\n', "subsystem 'vehicle' has 'bodies' and 'forces': a group of bodies has no more", 3),
        (
            GROUP + FILTER + 'within = "vehicle"\n',
            "'filter' is a system in variables of its own within 'vehicle', which is a",
            9,
        ),
        (FILTER + GROUP + 'within = "filter"\n', "'vehicle' is a group of bodies within 'filter', which is a system", 9),
        (
            '[[subsystems]]\nname = "both"\n' + GROUP + 'within = "both"\n' + FILTER + 'within = "both"\n',
            "within 'both', which is",
            None,
        ),
        (
            FILTER + "variable = 1\n",
            "subsystem 'filter' has no 'variable'; did you mean 'variables'? A group of bodies has: ",
            6,
        ),
        (FILTER + 'within = "motor"\n', "subsystem 'filter' is within 'motor', which is not a subsystem", 6),
        (FILTER + FILTER, "subsystem 'filter' is there twice; name one of them otherwise", None),
        (FILTER + 'within = "filter"\n', "subsystem 'filter' would be a part of itself: filter -> filter", None),
        (
            '[[subsystems]]\nname = "a"\nchildren = [{ use = "b" }]\n[[subsystems]]\nname = "b"\nchildren = [{ use = "a" }]\n'
            '[[subsystems]]\nname = "c"\nuse = "a"\n',
            "would be a part of itself: a -> b -> a",
            None,
        ),
        (
            '[[subsystems]]\nname = "a"\nchildren = [{ use = "b" }]\n[[subsystems]]\nname = "b"\nchildren = [{ use = "a" }]\n',
            "would be a part of itself: a -> b -> a",
            None,
        ),
        (FILTER + '[[subsystems]]\nname = "c"\nuse = "filtre"\n', "'c' uses 'filtre', which is not a system of this file", 8),
        (
            FILTER + '[[subsystems]]\nname = "c"\nuse = "filter"\nstart.i = 1.0\n',
            "subsystem 'c' uses 'filter' as it is, under other names (names, suffix, keep); 'start' belongs to",
            6,
        ),
        (
            FILTER + FILTER.replace("filter", "other").replace("2.0", "3.0"),
            "subsystem 'other' has parameter 'R' = 3 1, which is 2 1 in 'filter': one machine has one of each name",
            None,
        ),
        (FILTER + "forces.j = 'i'\n", "'filter': a force or input acts along 'j', which is neither a variable nor", 1),
        (FILTER + 'invariants.c = "i +"\n', "subsystem 'filter', invariants of 'c'", 6),
        (FILTER + "invariants = 3.5\n", "subsystem 'filter': 'invariants' must be a table; got 3.5", 6),
        (FILTER + 'start = ["i"]\n', "subsystem 'filter': 'start' must be a table; got ['i']", 6),
        (FILTER + "variables.0 = 2\n", "subsystem 'filter': 'variables.0' must be a list; got 2", None),
        (FILTER + "children = 1979-05-27\n", "subsystem 'filter': 'children' must be a list; got datetime.date", 6),
        (FILTER + 'independent = "i"\n', "subsystem 'filter': 'independent' must be a list; got 'i'", 6),
        (FILTER + "inputs.V = 2.0\n", "subsystem 'filter', inputs.V: 2.0 is not a text", 6),
        (FILTER + "within = [1]\n", "subsystem number 1: within = [1] is not a text", 6),
        (FILTER.replace('"filter"', "{ a = 1 }"), "subsystem number 1: name = {'a': 1} is not a text", 2),
        (FILTER + "children = [{ use = [1] }]\n", "subsystem 'filter' uses [1], which is not the name of a system", None),
    ],
)
def test_what_is_mixed_up_is_refused_with_its_line(tmp_path, tables, message, line):
    path = written(tmp_path, CART + tables)
    with pytest.raises(MechanismError) as refused:
        read_model(path)
    assert message in str(refused.value)
    if line is not None:
        assert f"machine.toml:{line + CART.count(chr(10))}:" in str(refused.value)


def test_a_file_without_systems_still_needs_bodies(tmp_path):
    with pytest.raises(MechanismError, match="the mechanism lacks 'bodies'"):
        read_model(written(tmp_path, 'name = "m"\n' + GROUP))


def test_the_schema_knows_both_kinds():
    jsonschema = pytest.importorskip("jsonschema")
    from importlib.resources import files

    schema = json.loads(files("kingpost.modelfiles").joinpath("model.schema.json").read_text())
    for text in (ARM, BESIDE, PAIR):
        validate(tomllib.loads(text), schema)
    mixed = tomllib.loads(BESIDE)
    mixed["subsystems"][0]["forces"] = {"x": "1"}
    with pytest.raises(jsonschema.ValidationError):
        validate(mixed, schema)
    assert not {*GROUP_KEYS} & {*SYSTEM_KEYS}
