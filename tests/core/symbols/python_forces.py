"""Pendulums with forces that are written in plain Python."""

import dataclasses

from kingpost import Force, ForceElement, Loads, PluginSet, simulate
from kingpost.registry.registry import Origin
from kingpost.testing.problems import pendulum

FORMULATIONS = ("kane", "recursive")
INTEGRATORS = ("rk4", "dop853", "radau:rtol=1e-8,atol=1e-10")
ANGLE = "pivot.angle"


def with_forces(*classes):
    plugins = PluginSet(entry_points=False)
    for cls in classes:
        plugins.forces.add(cls, Origin("file", __file__, "tests", "local"))
    return plugins


def swinging(*forces):
    """A pendulum with gravity and some forces."""
    return dataclasses.replace(pendulum(), forces=(*pendulum().forces, *forces))


def effort_of(function, *, seen=("angle",)):
    """Return plugins with a force 'own' that puts function(seen) on the pivot of a pendulum."""

    class Own(Force):
        """An effort from a function."""

        name = "own"

        def loads(self, kinematics):
            known = {"angle": kinematics.coordinate(ANGLE), "rate": kinematics.rate(ANGLE), "time": kinematics.t}
            return Loads(efforts={ANGLE: kinematics.call(function, *(known[name] for name in seen), size=1)})

    return with_forces(Own)


def run(plugins, *forces, **arguments):
    return simulate(swinging(*(forces or (ForceElement("own"),))), 1.0, plugins=plugins, **arguments)
