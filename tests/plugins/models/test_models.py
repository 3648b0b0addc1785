"""The built-in machines as descriptions; how they move is in tests/validation."""

import cmath

import pytest

from kingpost import MechanismError, PluginSet
from kingpost.modelfiles.toml_model import mechanism_from_dict
from kingpost.plugins.models.chain import Chain, ChainOptions
from kingpost.plugins.models.four_bar import coupler_and_rocker

PLUGINS = PluginSet(entry_points=False)


@pytest.mark.parametrize("name", list(PLUGINS.models))
def test_a_machine_is_plain_data_with_a_name_and_a_sentence(name):
    mechanism = PLUGINS.models.get(name)().build()
    assert mechanism.name == name
    assert mechanism.description.strip().endswith(".")
    again = mechanism_from_dict(mechanism.to_dict())
    assert (again.to_dict(), again.digest()) == (mechanism.to_dict(), mechanism.digest())
    assert all(parameter.unit and parameter.description for parameter in mechanism.parameters)


@pytest.mark.parametrize("links", [1, 2, 7])
def test_a_chain_has_as_many_links_as_asked_for(links):
    chain = Chain(ChainOptions(links)).build()
    assert len(chain.bodies) == len(chain.joints) == links
    assert chain.outputs[0].body == f"link{links}"


def test_a_chain_without_links_is_refused():
    with pytest.raises(MechanismError, match="a chain has at least 1 link, got 0"):
        Chain(ChainOptions(0)).build()


@pytest.mark.parametrize("crank", [0.0, 1.0, 2.5, -1.3])
def test_the_rods_of_a_four_bar_close_their_loop(crank):
    a, b, c, d = 1.0, 3.0, 2.5, 3.0
    coupler, rocker = coupler_and_rocker(crank, a, b, c, d)
    gap = a * cmath.exp(1j * crank) + b * cmath.exp(1j * coupler) - d - c * cmath.exp(1j * rocker)
    assert abs(gap) < 1e-14
