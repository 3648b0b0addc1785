"""Trees of subsystems in plain C: an FMU moves as the machine that it was made of."""

import zipfile

import fmpy
import numpy as np
import pytest

from kingpost import MechanismError, as_mechanism, open_model, simulate
from kingpost.fmu import run_fmu
from kingpost.fmu.export.python.exporter import PythonOptions
from tests.core.modular.trees import pendulum
from tests.fmu.export.native.test_model_exchange import DRIFT
from tests.fmu.export.python.python_fmus import export_python


def test_an_fmu_of_subsystems_moves_alike(tmp_path):
    """The same RK4 steps in both, so that only rounding, grown over half a second, differs."""
    opened = open_model("spherical-pendulum-subsystems:variables=speed-square")
    path = opened.export(tmp_path / "system.fmu").path
    run = opened.simulate(t_end=0.5, output_step=0.1)
    record = fmpy.simulate_fmu(str(path), stop_time=0.5, output_interval=0.1, output=["square.x", "square.u"])
    for name in ("square.x", "square.u"):
        assert np.allclose(record[name], run[name], rtol=0, atol=1e-11)
    assert np.ptp(run["square.x"]) > 0.1


@pytest.mark.parametrize("python", [False, True])
def test_an_fmu_keeps_invariants_and_tells_efforts(python, native, shared_folder, plugins):
    """In plain C and with Python inside, with the steps of a run: 1e-11 as above; x^2 + y^2 to rounding."""
    mechanism = as_mechanism(pendulum())
    if python:
        path = export_python(shared_folder, mechanism, plugins, PythonOptions(engine="package"), step=0.01)
    else:
        path = native(mechanism, step=0.01)
    run = simulate(mechanism, t_end=1.0, output_step=0.1, step=0.01, backend="vm", plugins=plugins)
    found = run_fmu(path, t_end=1.0, step=0.1, outputs=["*"])
    for name in ("bob.x", "bob.y_dot", "bob.circle.effort"):
        assert found[name] == pytest.approx(run[name], abs=1e-11)
    assert found["bob.open"].max() <= 1e-14
    assert np.ptp(found["bob.circle.effort"]) > 1.0


def test_model_exchange_mends_invariants_in_events(native):
    """Another length opens the circle, by 0.6^2 - 0.5^2; events close it, and keep it closed within DRIFT tolerances.

    In parts of a state's size, |x| and its nominal value of 1: then x^2 + y^2 is off by 2 (|x| + |y|) (1 + 0.6) of it at most.
    """
    mechanism = as_mechanism(pendulum())
    how = {"t_end": 1.0, "step": 0.5, "tolerance": 1e-6, "isolated": False, "outputs": ["*"], "settings": {"l": 0.6}}
    mended = run_fmu(native(mechanism, fmu="me"), **how)
    left = run_fmu(native(mechanism, fmu="me", formulation="kane:projection=false"), **how)
    assert mended["bob.open"][1:].max() <= 2 * np.sqrt(2) * 0.6 * 1.6 * DRIFT * 1e-6
    assert left["bob.open"].min() > 0.1


def test_a_parameter_that_shapes_invariants_is_named(tmp_path, kingpost_cli):
    """By the verb, in its description, and on the page inside of the FMU; another value opens the invariant, as is said.

    x^2 + y^2 + z^2 - r^2 at the start of length 1, with r = 1.1: open by 0.21, where a run refuses a start that is held.
    """
    path = tmp_path / "pendulum.fmu"
    outcome = kingpost_cli("export", "spherical-pendulum-subsystems:variables=place", "-o", str(path))
    assert outcome.status == 0, outcome.err
    assert "warning: start values of 'place' fit r as they are exported, and are not fitted again inside" in outcome.err
    described = {item.name: item.description for item in fmpy.read_model_description(str(path)).modelVariables}
    assert "start values of 'place' fit this value and no other (see place.open)" in described["r"]
    assert "fit this value" not in (described["g"] or "")
    page = zipfile.ZipFile(path).read("documentation/index.html").decode()
    assert "Start values of place were fitted to r when this was exported, and are not fitted again" in page
    record = fmpy.simulate_fmu(str(path), stop_time=0.01, output_interval=0.01, start_values={"r": 1.1}, output=["place.open"])
    assert record["place.open"][0] == pytest.approx(1.1**2 - 1.0, abs=1e-12)
    assert record["place.open"][-1] <= 1e-14  # ten steps, each with two of Newton's
    with pytest.raises(MechanismError, match="'place' does not close: invariant 'place.sphere'"):
        open_model("spherical-pendulum-subsystems:variables=place").simulate(settings={"r": 1.1}, t_end=0.01, backend="vm")
