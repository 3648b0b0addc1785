"""Steps in joint speeds and natural coordinates, solved for motions of bodies, are those solved for all unknowns."""

import pytest

from kingpost.equations.newton import newton_of
from kingpost.equations.newton_records import solved_for
from kingpost.plugins.integrators.generalized_alpha import GeneralizedAlpha
from kingpost.plugins.integrators.rigid_joints import jointed_step
from kingpost.plugins.models.four_bar import FourBar
from kingpost.plugins.models.heavy_top import HeavyTop
from kingpost.plugins.models.satellite import Satellite
from tests.plugins.integrators.both_ways import TORQUES, assert_same, end_state

METHODS = ("generalized-alpha", "midpoint")


@pytest.mark.parametrize("method", METHODS)
def test_top_has_the_states_of_the_whole_solve(method, monkeypatch):
    assert_same(lambda: HeavyTop().build(), method, 5e-4, 20, monkeypatch, formulation="nullspace")


@pytest.mark.parametrize("method", METHODS)
def test_loops_keep_their_multipliers(method, monkeypatch):
    assert_same(lambda: FourBar().build(), method, 1e-3, 20, monkeypatch, formulation="nullspace")


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["vm", "c"])
@pytest.mark.parametrize("method", METHODS)
def test_satellite_has_them_too(method, backend, monkeypatch):
    choices = {"formulation": "nullspace", "settings": TORQUES, "backend": backend}
    assert_same(lambda: Satellite().build(), method, 5e-3, 20, monkeypatch, **choices)


def test_there_is_another_way_for_steps_that_are_not_found_so():
    run, _ = end_state(lambda: HeavyTop().build(), "midpoint", 1e-3, 1, formulation="nullspace")
    newton = newton_of(run.integrator, run.equations)
    assert newton.ordered
    assert newton.otherwise is not None
    assert newton.otherwise.problem.guess.numel_out(0) > newton.problem.guess.numel_out(0)
    told = solved_for(run.integrator, run.equations)
    assert told.startswith("9 motions of bodies, speeds of joints and multipliers, in a fixed order; ")


def test_methods_that_take_rates_elsewhere_are_solved_as_they_were():
    class Other(GeneralizedAlpha):
        def displacement(self, parts, s, q1, v1):
            return s.h * parts.N(s, q1) @ v1

    run, _ = end_state(lambda: HeavyTop().build(), "bdf2", 1e-4, 1, formulation="nullspace")
    assert newton_of(run.integrator, run.equations).otherwise is None
    assert jointed_step(Other(), run.equations) is None
    assert jointed_step(GeneralizedAlpha(), run.equations) is not None
