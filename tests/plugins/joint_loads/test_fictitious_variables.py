"""Loads that hold fictitious variables at rest are those of the other methods."""

import dataclasses

import numpy as np
import pytest

from kingpost import Group, PluginSet, RunSettings, pose
from kingpost.testing import random_tree
from kingpost.testing.problems import parallelogram

PLUGINS = PluginSet(entry_points=False)


def loads(machine, method, formulation, **settings):
    """Return all channels of loads at the start."""
    names = [joint.name for joint in machine.joints]
    how = RunSettings(formulation=formulation, loads=names, load_method=method, **settings)
    problem = pose(machine, how, plugins=PLUGINS)
    values = np.asarray(problem.equations.observe(0.0, problem.x0, problem.u0, problem.p)).ravel()
    channels = [channel.name for channel in problem.equations.channels]
    return np.array(
        [values[i] for i, name in enumerate(channels) if name.split(".")[0] in names and name.split(".")[-1][0] in "MF"]
    )


@pytest.mark.parametrize("seed", [3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3))])
def test_in_a_tree_they_are_those_of_recursive_newton_euler(seed):
    machine = random_tree(seed, bodies=3 + seed % 3)
    machine = dataclasses.replace(machine, subsystems=[Group("part", [machine.bodies[0].name, machine.bodies[2].name])])
    found, exact = (loads(machine, method, "kane") for method in ("fictitious-variables", "recursive"))
    assert len(exact) >= 18
    np.testing.assert_allclose(found, exact, atol=1e-9 * np.abs(exact).max(), rtol=0)


def test_in_a_loop_they_are_those_of_all_other_methods():
    machine = parallelogram("revolute")
    found = loads(machine, "fictitious-variables", "modular")
    for method, formulation in (("recursive", "modular"), ("auxiliary-speeds", "kane"), ("multipliers", "directors")):
        exact = loads(machine, method, formulation)
        assert len(exact) == len(found)
        np.testing.assert_allclose(found, exact, atol=1e-9 * np.abs(exact).max(), rtol=0)
