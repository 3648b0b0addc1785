"""States of forces travel in FMUs: bit for bit, with exact rollback and derivatives."""

import numpy as np
import pytest

from kingpost import export, simulate
from kingpost.fmu import run_fmu
from kingpost.fmu.checks import check_fmu
from tests.validation.test_states_of_forces import cart


@pytest.mark.quick("rk4-native-fmu:fmi=3", "generalized-alpha-fmu:engine=package")
@pytest.mark.parametrize("exporter", ["native-fmu", "native-fmu:fmi=3", "fmu", "fmu:engine=package"])
@pytest.mark.parametrize("integrator", ["rk4", "generalized-alpha"])
def test_an_fmu_gives_the_numbers_of_the_run(tmp_path, plugins, exporter, integrator):
    arguments = {"step": 0.01, "integrator": integrator, "plugins": plugins}
    reference = simulate(cart(), 0.6, output_step=0.1, **arguments)
    done = export(cart(), tmp_path / "cart.fmu", to=exporter, **arguments)
    history = run_fmu(done.path, 0.6, step=0.1)
    for name in ("rail.displacement", "rail.displacement.rate", "drive.effort"):
        np.testing.assert_allclose(history[name], reference[name], rtol=1e-12, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("exporter", ["native-fmu", "native-fmu:fmi=3", "native-fmu:fmu=me"])
def test_an_fmu_with_such_states_passes_every_check(tmp_path, plugins, exporter):
    done = export(cart(), tmp_path / "cart.fmu", to=exporter, step=0.01, plugins=plugins)
    report = check_fmu(done.path)
    assert [result for result in report.results if result.outcome not in ("pass", "not applicable")] == []
    passed = {result.name for result in report.results if result.outcome == "pass"}
    assert {"rollback", "serialise", "repeat", "nan-input"} <= passed
