"""What force plugins may act on."""

import casadi as ca
import pytest

from kingpost import (
    Force,
    ForceElement,
    Loads,
    PluginError,
    PluginSet,
    simulate,
)
from kingpost.registry.registry import Origin
from tests.plugins.forces.deriving import FORMULATIONS
from tests.plugins.forces.machines import crane


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(
    ("loads", "message"),
    [
        (
            Loads(wrenches={"bage": ca.SX(6, 1)}),
            "force 'stray' (astray) acts on body 'bage', which is not there; did you mean 'barge'? Known: barge, boom,",
        ),
        (Loads(wrenches={"world": ca.SX(6, 1)}), "force 'stray' (astray) acts on body 'world', which is not there"),
        (
            Loads(efforts={"slew.angel": 1.0}),
            "force 'stray' (astray) acts on coordinate 'slew.angel', which is not there; did you mean 'slew.angle'?",
        ),
        (Loads(efforts={"ball.qx": 1.0}), "force 'stray' (astray) acts on coordinate 'ball.qx', which is not there"),
    ],
)
def test_a_force_plugin_that_acts_on_what_is_not_there_is_named(loads, message, formulation):
    class Astray(Force):
        """Acts on something of its own choice."""

        name = "astray"

        def loads(self, kinematics):
            return loads

    plugins = PluginSet(entry_points=False)
    plugins.forces.add(Astray, Origin("file", __file__, "tests", "local"))
    with pytest.raises(PluginError) as error:
        simulate(crane(ForceElement("astray", name="stray")), 1.0, formulation=formulation, plugins=plugins)
    assert message in str(error.value)
