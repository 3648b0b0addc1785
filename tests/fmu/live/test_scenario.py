"""Scenario files."""

import math

import pytest

from kingpost.base.errors import FileError
from kingpost.fmu.live.scenario import Action, Scenario, read_scenario, scenario_of

START = {
    "model": "small-crane",
    "settings": {"payload": 1 / 3, "winch.x": -0.1},
    "options": {"sea": "jonswap:Hs=1,Tp=6", "loads": ["slew", "luff"], "frame": 0.02, "close_loops": True},
}


def test_a_scenario_comes_back_from_its_text_to_the_bit():
    actions = (Action(0.1 + 0.2, {"slew_target": 1e-300, "b.speed": math.pi}), Action(7.0, {'odd "name"\n': -0.0}))
    scenario = Scenario(START, actions, until=12.340000000000002)
    again = scenario_of(scenario.text())
    assert again == scenario
    assert math.copysign(1.0, again.actions[1].set['odd "name"\n']) == -1.0


def test_a_system_as_plain_data_comes_back():
    system = {
        "name": "a \\ b",
        "components": {"a": {"model": "x", "set": {"k": 1.5}}},
        "connections": [{"from": "a.y", "to": "b.u"}],
    }
    assert scenario_of(Scenario({"system": system}).text()).start == {"system": system}


def test_a_file_is_written_whole_and_read(tmp_path):
    path = tmp_path / "s.toml"
    Scenario(START, (Action(1.0, {"x": 2.0}),), 3.0).write(path)
    found = read_scenario(path)
    assert found.actions == (Action(1.0, {"x": 2.0}),)
    assert found.folder == tmp_path
    assert path.read_text().startswith("# What was done in a live session")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("start = 1", "begins with a table"),
        ("", "begins with a table"),
        ("[start]\n", "exactly one of model, system, file; got none"),
        ('[start]\nmodel = "a"\nfile = "b"', "exactly one of"),
        ('[start]\nmodle = "a"', "has no 'modle'; did you mean 'model'"),
        ('untill = 3\n[start]\nmodel = "a"', "has no 'untill'; did you mean 'until'"),
        ('until = nan\n[start]\nmodel = "a"', "finite time"),
        ('actions = 3\n[start]\nmodel = "a"', "list of tables"),
        ('[start]\nmodel = "a"\n[[actions]]\nt = 1', "needs a time 't' and a table 'set'"),
        ('[start]\nmodel = "a"\n[[actions]]\nt = true\nset = {a = 1}', "finite time"),
        (f'until = 1{"0" * 400}\n[start]\nmodel = "a"', "finite time"),
        ('[start]\nmodel = "a"\n[[actions]]\nt = 1\nset = {a = nan}', "action 1: a = nan is not a finite number"),
        ('[start]\nmodel = "a"\n[[actions]]\nt = 1\nset = {a = "far"}', "action 1: a = 'far' is not a finite number"),
        ('[start]\nmodel = "a"\n[[actions]]\nt = 1\nset = {a.b = 1}', 'written in quotes: set = { "a.b" = 1 }'),
        ('[start]\nmodel = "a"\n[[actions]]\nt = 2\nset = {a = 1}\n[[actions]]\nt = 1\nset = {a = 1}', "put them in order"),
        ("[[[", "not valid TOML"),
    ],
)
def test_what_is_no_scenario_is_refused(text, message):
    with pytest.raises(FileError, match=message):
        scenario_of(text)
