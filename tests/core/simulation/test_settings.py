"""How a machine is solved: layers of settings, and the words in them."""

import dataclasses

import pytest

from kingpost import KingpostError, LoadRequest, MechanismError, PluginError, RunSettings, simulate
from kingpost.plugins.formulations.kane import Kane
from kingpost.simulation.settings import RunChoices, merged
from kingpost.testing.problems import pendulum

NAMES = {field.name for field in dataclasses.fields(RunSettings)}


def test_keyword_arguments_are_the_settings_but_the_end_which_has_a_place_of_its_own():
    assert set(RunChoices.__annotations__) == NAMES - {"t_end"}


def test_later_layers_come_before_earlier_ones(plugins):
    layers = [RunSettings(step=0.1, t_end=3.0), RunSettings(step=0.2, loads=("all",)), RunSettings(t_end=4.0)]
    assert merged(layers, plugins).given == {"step": 0.2, "t_end": 4.0, "loads": ("all",)}


def test_a_step_for_the_integrator_that_a_solver_replaces_is_forgotten(plugins):
    replaced = merged([RunSettings(step=0.1), RunSettings(integrator="radau")], plugins)
    assert replaced.step is None and replaced.integrator.name == "radau"
    kept = merged([RunSettings(step=0.1), RunSettings(integrator="midpoint")], plugins)
    assert kept.step == 0.1
    # Said together, or after it, it is meant: and refused by whoever poses the problem.
    assert merged([RunSettings(step=0.1, integrator="radau")], plugins).step == 0.1


@pytest.mark.parametrize("chosen", ["kane:baumgarte=2", {"name": "kane", "baumgarte": 2.0}, Kane(Kane.Options(baumgarte=2.0))])
def test_a_plugin_may_be_named_described_or_given(plugins, chosen):
    assert RunSettings(formulation=chosen).selected(plugins).formulation.options.baumgarte == 2.0


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, None),
        ("all", "all"),
        ("none", None),
        ("slew,luff", ["slew", "luff"]),
        (["slew:frame=parent,side=parent", "luff"], ["slew:frame=parent,side=parent", "luff"]),
        (LoadRequest("slew"), [LoadRequest("slew")]),
    ],
)
def test_loads_are_words_or_requests(given, expected):
    assert RunSettings.of({"loads": given}).wanted_loads() == expected


def test_wrong_settings_are_answered(plugins):
    with pytest.raises(TypeError, match="there is no setting 'integrater'; did you mean 'integrator'"):
        simulate(pendulum(), 0.1, integrater="rk4")
    with pytest.raises(KingpostError, match="'all' and 'none' stand alone"):
        RunSettings(loads=("all", "slew")).wanted_loads()
    with pytest.raises(MechanismError, match="loads: expected a text, got 3"):
        RunSettings.of({"loads": [3]})
    with pytest.raises(PluginError, match="lacks 'name', which integrator to take"):
        RunSettings(integrator={"rtol": 1e-8}).selected(plugins)
    with pytest.raises(MechanismError, match="cut boom: write BODY=DISTANCE"):
        RunSettings(cut=("boom",)).with_cuts(pendulum(), plugins)


def test_settings_of_python_and_a_settings_object_are_one(plugins):
    arguments = {"integrator": "midpoint", "step": 0.01, "output_step": 0.05, "backend": "vm"}
    by_keyword = simulate(pendulum(), 0.1, plugins=plugins, **arguments)
    by_object = simulate(pendulum(), how=RunSettings(t_end=0.1, **arguments), plugins=plugins)
    assert (by_keyword.values == by_object.values).all()
    # What is said by keyword comes first.
    other = simulate(pendulum(), 0.1, how=RunSettings(t_end=3.0, **arguments), step=0.05, plugins=plugins)
    assert other.time[-1] == 0.1 and other.provenance["time"]["step_s"] == 0.05
