"""Plugins chosen by name and options."""

import pytest

from kingpost import MechanismError, PluginError, simulate
from kingpost.testing.problems import pendulum


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ("rk5", "unknown integrator 'rk5'; did you mean 'rk4'? Available: backward-euler, bdf, bdf2, dop853"),
        ("qqq", "unknown integrator 'qqq'. Available:"),
        (
            "radau:rtoll=1e-3",
            "integrator 'radau' has no 'rtoll'; did you mean 'rtol'? It takes: rtol = 1e-09, atol = 1e-12, max_step = None.",
        ),
        ("radau:rtol=small", "integrator 'radau': rtol: expected a number, got the formula 'small'"),
        ("radau:rtol", "'rtol' is not key=value; write for example 'radau:rtol=1e-8'"),
        ("rk4:rtol=1", "integrator 'rk4' has no 'rtol'. It takes: none."),
    ],
)
def test_a_wrong_selection_is_answered_with_the_right_ones(selection, message):
    with pytest.raises(PluginError) as error:
        simulate(pendulum(), 1.0, integrator=selection)
    assert message in str(error.value)


def test_an_option_of_the_wrong_type_is_named():
    with pytest.raises(PluginError, match="max_step: expected a number, got the formula 'x'"):
        simulate(pendulum(), 0.1, integrator="dop853:max_step=x")
    with pytest.raises(MechanismError, match="'m' was set to True|nothing called"):
        simulate(pendulum(), 0.1, settings={"m": 1.0})
