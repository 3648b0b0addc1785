"""What a run says of steps that were solved otherwise."""

import numpy as np
import pytest

from kingpost import prepare, simulate
from kingpost.kernel.loops import Status, Stop
from kingpost.plugins.models.heavy_top import HeavyTop
from kingpost.simulation.otherwise import COUNT, counted, slow_warnings
from tests.validation.natural import CASE_A, PLUGINS, SATELLITE

CHOICES = {"settings": CASE_A, "formulation": "directors", "integrator": "energy-momentum", "plugins": PLUGINS}


def test_the_record_of_a_run_has_their_number():
    times = {"t_end": 5.0, "step": 1.0, "output_step": 1.0, "backend": "vm"}
    history = simulate(SATELLITE, **times, **CHOICES)
    assert history.provenance["statistics"][COUNT] == 1
    # One slow step is nothing to speak of.
    assert history.provenance["warnings"] == []
    some = prepare(SATELLITE, **times, **CHOICES).run(keep=["energy.kinetic"])
    assert some.provenance["statistics"] == {"steps": 5, COUNT: 1}
    shorter = simulate(SATELLITE, **{**times, "step": 0.05}, **CHOICES)
    assert shorter.provenance["statistics"][COUNT] == 0


def test_where_there_is_one_way_there_is_no_number():
    stop = Stop(Status.OK, 1, 0.0, np.zeros(1))
    for formulation, expected in (("kane", {}), ("directors", {COUNT: 0})):
        run = prepare(HeavyTop().build(), 0.01, formulation=formulation, integrator="midpoint", step=0.001, backend="vm")
        assert counted(run.problem.stepper, stop) == expected


@pytest.mark.parametrize(("count", "steps", "warned"), [(19, 19, False), (20, 200, True), (99, 1000, False), (0, 0, False)])
def test_many_of_them_are_worth_a_warning(count, steps, warned):
    said = slow_warnings({"steps": steps, COUNT: count}, 0.25)
    assert len(said) == warned
    assert not warned or said[0].startswith("20 of 200 steps were not found for the motions of bodies, and were solved for all")
    assert not warned or "a step shorter than 0.25 s" in said[0]
    assert slow_warnings({"steps": steps}, 0.25) == []
