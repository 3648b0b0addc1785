"""Measures are outputs of FMUs of both exporters, with the numbers of a run, and signals of components."""

import fmpy
import numpy as np
import pytest

from kingpost import Input, export, simulate
from kingpost.base.channels import Channel
from kingpost.fmu import run_fmu
from kingpost.fmu.blocks.block import Block
from kingpost.fmu.checks import check_fmu
from kingpost.fmu.cosim import Component, Connection, System, cosimulate
from tests.core.equations.measured import planar_arm

NAMES = [measure.name for measure in planar_arm().measures]


@pytest.mark.quick("native-fmu:fmi=3-kane", "fmu:engine=package-kane")
@pytest.mark.parametrize(
    ("exporter", "formulation"),
    [
        *((exporter, "kane") for exporter in ("native-fmu", "native-fmu:fmi=3", "fmu", "fmu:engine=package")),
        pytest.param("native-fmu", "directors", marks=pytest.mark.slow),
    ],
)
def test_an_fmu_gives_the_numbers_of_the_run(tmp_path, plugins, exporter, formulation):
    arguments = {"step": 0.01, "formulation": formulation, "plugins": plugins}
    changed = {"reach": 0.9}
    reference = simulate(planar_arm(), 0.6, output_step=0.1, settings=changed, **arguments)
    done = export(planar_arm(), tmp_path / "arm.fmu", to=exporter, **arguments)
    history = run_fmu(done.path, 0.6, step=0.1, settings=changed)
    for name in NAMES:
        # The arm turns about y.
        assert np.ptp(reference[name]) > 1e-3 or name == "turn-x"
        np.testing.assert_allclose(history[name], reference[name], rtol=1e-11, atol=1e-12, err_msg=name)


def test_the_description_says_what_they_are(tmp_path, plugins):
    done = export(planar_arm(), tmp_path / "arm.fmu", plugins=plugins)
    variables = {variable.name: variable for variable in fmpy.read_model_description(str(done.path)).modelVariables}
    assert {variables[name].causality for name in NAMES} == {"output"}
    assert variables["apart"].unit == "m" and variables["turn"].unit == "rad"
    assert variables["apart"].description == "distance of a point of 'lower' from a point of 'upper'"
    assert variables["first"].description == "coordinate shoulder.angle"


@pytest.mark.slow
def test_an_fmu_with_measures_passes_every_check(tmp_path, plugins):
    done = export(planar_arm(), tmp_path / "arm.fmu", step=0.01, plugins=plugins)
    results = check_fmu(done.path).results
    assert [result for result in results if result.outcome not in ("pass", "not applicable")] == []


def test_a_measure_feeds_another_component(plugins):
    double = Block("double", (Input("height", "m"),), (Channel("twice", "m"),), values=lambda symbols: [2 * symbols["height"]])
    components = (Component("arm", model=planar_arm(), step=0.01), Component("double", model=double, step=0.01))
    system = System("arm and double", components, (Connection("arm.height", "double.height"),), step=0.01, t_end=0.3)
    history = cosimulate(system, plugins=plugins)
    alone = simulate(planar_arm(), 0.3, step=0.01, output_step=0.01, plugins=plugins)
    np.testing.assert_allclose(history["arm.height"], alone["height"], rtol=1e-12)
    # All components step at once, with what was there before the step.
    np.testing.assert_allclose(history["double.twice"][1:], 2 * alone["height"][:-1], rtol=1e-12)
