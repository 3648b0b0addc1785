"""Parameters that are changed while a machine moves."""

import numpy as np
import pytest

from kingpost import open_model
from kingpost.base.errors import MechanismError
from kingpost.simulation.problem import pose
from kingpost.simulation.while_running import changed_parameters


def posed(name, plugins):
    opened = open_model(name, plugins)
    problem = pose(opened.mechanism, opened.how(), values={}, plugins=plugins)
    return problem, [parameter.name for parameter in opened.mechanism.parameters]


def test_a_new_row_is_made_and_the_old_one_stays(plugins):
    problem, names = posed("double-pendulum", plugins)
    found = changed_parameters(problem, {"mass2": 4.0}, 0.0, problem.x0, problem.u0, problem.p)
    assert found[names.index("mass2")] == 4.0
    assert problem.p[names.index("mass2")] == 1.0
    np.testing.assert_array_equal(np.delete(found, names.index("mass2")), np.delete(problem.p, names.index("mass2")))


@pytest.mark.parametrize(
    ("given", "message"),
    [({"mass3": 1.0}, "did you mean 'mass"), ({"mass1": -1.0}, "mass is -1"), ({"mass1": float("nan")}, "must be finite")],
)
def test_what_no_machine_can_have_is_refused(plugins, given, message):
    problem, _ = posed("double-pendulum", plugins)
    with pytest.raises(MechanismError, match=message):
        changed_parameters(problem, given, 0.0, problem.x0, problem.u0, problem.p)


def test_loops_stay_closed(plugins):
    problem, names = posed("four-bar", plugins)
    masses = [name for name in names if "mass" in name]
    changed_parameters(problem, {masses[0]: 7.0}, 0.0, problem.x0, problem.u0, problem.p)
    length = next(name for name in names if "length" in name)
    with pytest.raises(MechanismError, match="cannot be changed while the machine moves: .* would be open by"):
        changed_parameters(problem, {length: 1.1 * problem.p[names.index(length)]}, 0.0, problem.x0, problem.u0, problem.p)
