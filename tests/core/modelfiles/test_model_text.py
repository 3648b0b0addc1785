"""Models written as model files describe the same machines and give the same numbers."""

import dataclasses

import numpy as np
import pytest

from kingpost import MechanismError, PluginSet, at_sea, open_model, read_model
from kingpost.modelfiles.model_text import model_text
from kingpost.modelfiles.opened import OpenedModel

NAMES = list(PluginSet(entry_points=False).models)
#: Files of their own numbers of waves, and data of hulls, take long to be read.
LARGE = ("offshore-crane-on-waves", "small-crane-on-waves", "barge", "barge-crane")


@pytest.mark.quick(*(name for name in NAMES if name not in LARGE))
@pytest.mark.parametrize("name", NAMES)
def test_every_model_is_written_as_a_file_that_describes_the_same_machine(name, plugins, tmp_path):
    opened = open_model(name, plugins)
    (tmp_path / "model.toml").write_text(model_text(opened, name), encoding="utf-8")
    again = open_model(tmp_path / "model.toml", plugins)
    assert again.mechanism.digest() == opened.mechanism.digest()
    assert (again.how().t_end, again.how().step) == (opened.how().t_end, opened.how().step)


@pytest.mark.quick("double-pendulum", "vessel-crane")
@pytest.mark.parametrize(
    "name", ["double-pendulum", "vessel-crane", "four-bar", "cablev", "small-crane", "five-bar-subsystems"]
)
def test_the_file_gives_the_same_numbers(name, plugins, tmp_path):
    opened = open_model(name, plugins)
    (tmp_path / "model.toml").write_text(model_text(opened, name), encoding="utf-8")
    again = open_model(tmp_path / "model.toml", plugins)
    first, second = (each.simulate(t_end=20 * opened.step) for each in (opened, again))
    assert first.names == second.names
    assert np.array_equal(first.values, second.values)


def test_the_text_is_one_that_a_person_may_have_written(plugins):
    text = model_text(open_model("double-pendulum", plugins), "double-pendulum")
    assert 'mass1 = {default = 1.0, unit = "kg", description = "mass of the upper rod"}' in text
    assert "child_rotation" not in text and "coordinates" not in text


def test_tasks_are_named_where_they_stay(plugins):
    text = model_text(open_model("overhead-crane", plugins), "overhead-crane")
    assert text.splitlines()[1].startswith("# Its tasks (")


def test_what_a_file_has_no_words_for_is_refused(plugins, tmp_path):
    crane = open_model("small-crane", plugins)
    at = dataclasses.replace(crane, mechanism=at_sea(crane.mechanism, "jonswap:Hs=1,Tp=6,components=5", plugins))
    with pytest.raises(MechanismError, match="cannot be written as a model file: it holds .* numbers of the waves of a sea"):
        model_text(at, "small-crane")
    (tmp_path / "m.toml").write_text(model_text(open_model("double-pendulum", plugins), "double-pendulum"))
    assert read_model(tmp_path / "m.toml", plugins).name == "double-pendulum"
    with pytest.raises(MechanismError, match="cannot be written as a model file: it is one"):
        model_text(open_model(tmp_path / "m.toml", plugins), "m.toml")


def test_a_reading_that_differs_is_no_file(plugins, monkeypatch):
    opened = open_model("double-pendulum", plugins)
    other = open_model("four-bar", plugins).mechanism
    monkeypatch.setattr("kingpost.modelfiles.model_text.mechanism_from_dict", lambda data: other)
    with pytest.raises(MechanismError, match="bodies.* would not be read as they are"):
        model_text(OpenedModel(opened.mechanism, plugins), "double-pendulum")


def test_the_verb_wants_a_name(kingpost_cli):
    assert "say which model is to be written" in kingpost_cli("models", "--toml").err
    assert kingpost_cli("models", "double-pendulum", "--toml").out.startswith(
        "# The machine of 'kingpost models double-pendulum'"
    )
