"""What is wrong with a class that is no plugin."""

from dataclasses import dataclass

import pytest

from kingpost import PluginSet, StepMap
from kingpost.equations.integrator import Integrator
from kingpost.registry.registry import find_fault


def test_options_must_be_frozen_and_known():
    @dataclass
    class Loose:
        order: int = 1

    class Own(StepMap):
        """Euler."""

        name = "own"
        order = 1
        Options = Loose

        def step(self, equations, t, x, u, p, h):
            return x

    assert "Options must be frozen; write @dataclass(frozen=True)" in find_fault(Own, Integrator)


def test_an_integrator_of_no_kind_is_refused():
    class Neither(Integrator):
        name = "neither"
        order = 1

    assert "must derive from kingpost.StepMap or kingpost.Solver" in find_fault(Neither, Integrator)


@pytest.mark.parametrize("kind", PluginSet(entry_points=False).kinds)
def test_nothing_is_wrong_with_our_own_plugins_which_are_not_looked_at_when_they_are_loaded(kind):
    registry = PluginSet(entry_points=False).of(kind)
    assert registry.entries()
    assert [find_fault(cls, registry.base) for cls, _ in registry.entries()] == [""] * len(registry)
