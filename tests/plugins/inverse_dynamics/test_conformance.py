"""The methods of inverse dynamics pass the kit that plugin authors use; and the kit finds what it should."""

import pytest

from kingpost import PluginSet, SystemBuilder
from kingpost.plugins.inverse_dynamics.minimal_extension import MinimalExtension
from kingpost.testing import INVERSE_DYNAMICS_CHECKS, check_inverse_dynamics
from kingpost.testing.inverse_dynamics import Subject

METHODS = list(PluginSet(entry_points=False).of("inverse_dynamics"))


@pytest.fixture(scope="module")
def subjects():
    return {}


@pytest.mark.quick("check_[!o]*", "check_other_numbers-projection", "check_other_numbers-output-input")
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("check", INVERSE_DYNAMICS_CHECKS, ids=lambda check: check.__name__)
def test_method(name, check, plugins, subjects):
    check(subjects.setdefault(name, Subject(name, plugins)))


class AtSpeedLevel(MinimalExtension):
    """Servo-constraints at speed level alone, which lets positions drift."""

    name = "at-speed-level"

    def reduce(self, problem, at):
        builder = SystemBuilder(problem)
        builder.kinematics()
        builder.forces()
        builder.motion(problem.balance)
        builder.state_rates()
        builder.constraints()
        builder.servo(1)
        return builder.system()


def test_the_kit_finds_measures_that_drift(plugins):
    with pytest.raises(AssertionError, match=r"'fully actuated': the servo-constraint is off by up to .* at position level"):
        check_inverse_dynamics(AtSpeedLevel, plugins)
