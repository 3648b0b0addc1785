"""Instances of an FMU: a step, exact ways back, derivatives, and whose call it was."""

import dataclasses
import math

import numpy as np
import pytest

from kingpost.fmu.file.opened import open_fmu
from kingpost.fmu.file.variables import variables_of
from kingpost.fmu.instance.instance import FmiError
from kingpost.fmu.instance.modelexchange import make_instance
from tests.fmu.building import CO_SIMULATION, MODEL_EXCHANGE, needs_compiler, oscillator

pytestmark = needs_compiler


@pytest.fixture(params=["co-simulation", "model-exchange"])
def running(request, folder, tmp_path):
    """An oscillator with m = 2 kg, k = 50 N/m, d = 0.4 N s/m at 0.1 m, ready to step, and the calls that were made."""
    fmu = open_fmu(oscillator(folder, interfaces=(CO_SIMULATION, MODEL_EXCHANGE), name="both"), request.param)
    calls = []
    instance = make_instance(fmu, fmu.unpack(tmp_path), trail=calls.append)
    instance.initialize()
    yield instance, variables_of(fmu), calls
    instance.terminate()
    instance.free()
    instance.unload()


def test_it_swings_by_its_closed_form(running):
    instance, variables, calls = running
    for k in range(100):
        instance.step(k * 0.01, 0.01)
    decay = 0.4 / (2 * 2.0)
    w = math.sqrt(50.0 / 2.0 - decay**2)
    exact = 0.1 * math.exp(-decay) * (math.cos(w) + decay / w * math.sin(w))
    assert instance.get(variables["position"]) == [pytest.approx(exact, abs=1e-5)]
    assert instance.time == pytest.approx(1.0)
    assert calls[:2] == ["loading the library", "instantiating"] and calls[-1] == "getting 'position'"


def test_going_back_is_exact(running):
    instance, variables, _ = running
    instance.may_go_back = True
    instance.step(0.0, 0.05)
    saved = instance.save()
    ways = []
    for _ in range(2):
        instance.restore(saved)  # a solver outside the FMU begins anew, too
        instance.step(0.05, 0.05)
        ways.append(instance.get(variables["position"]))
    instance.forget(saved)
    assert ways[0] == ways[1]


def test_derivatives_are_those_of_newtons_law(running):
    instance, variables, _ = running
    knowns = [variables[name] for name in ("force", "position", "velocity")]
    columns = [instance.directional_derivative([variables["acceleration"]], knowns, seed) for seed in np.eye(3)]
    np.testing.assert_allclose(np.ravel(columns), [1 / 2.0, -50.0 / 2.0, -0.4 / 2.0], rtol=1e-12)


def test_a_refused_call_has_its_name(running):
    instance, variables, _ = running
    with pytest.raises(FmiError, match=r"fmi2SetReal ended with status 'error'"):
        instance.set(dataclasses.replace(variables["mass"], reference=99), [1.0])
