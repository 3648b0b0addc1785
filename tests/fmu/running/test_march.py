"""An FMU that ends a run itself: the values with which it ended are kept, at the time of the end."""

import json

import numpy as np
import pytest

from kingpost.base.errors import SolverError
from kingpost.fmu.running import run_fmu
from kingpost.results.read_write import read_history
from tests.fmu.building import CO_SIMULATION, MODEL_EXCHANGE, needs_compiler, oscillator, oscillator3
from tests.fmu.running.test_run import START, exact

pytestmark = [pytest.mark.xdist_group("fmu-run"), needs_compiler]
INTERFACES = {"co-simulation": CO_SIMULATION, "model-exchange": MODEL_EXCHANGE}
TOLD_OF_STEPS = MODEL_EXCHANGE.replace('completedIntegratorStepNotNeeded="true"', "")
#: The midpoint rule of the FMI 3 oscillator, 1 ms: (w h)^3 / 6 of the amplitude in each of 60 steps; the others are better.
ERROR = START * 60 * (5e-3) ** 3 / 6


@pytest.mark.quick("0.05-co-simulation-*", "0.055-model-exchange-*", "0.055-FMI 3-*")
@pytest.mark.parametrize("isolated", [True, False])
@pytest.mark.parametrize("kind", ["co-simulation", "model-exchange", "FMI 3"])
@pytest.mark.parametrize("end", [0.05, 0.055])
def test_the_last_sample_is_where_the_fmu_ended(folder, kind, end, isolated):
    """At a communication point, as the Reference FMU Stair does, and between two of them."""
    defect = f"END_AT={end}"
    if kind == "FMI 3":
        history = run_fmu(oscillator3(folder, defect), 0.1, step=0.01, isolated=isolated)
    else:
        path = oscillator(folder, defect, interfaces=(INTERFACES[kind],), name=f"{kind}-{end}")
        history = run_fmu(path, 0.1, step=0.01, tolerance=1e-8, isolated=isolated)
    assert history.time == pytest.approx([0.0, 0.01, 0.02, 0.03, 0.04, 0.05, *([0.055] if end > 0.05 else [])], abs=1e-15)
    assert history["position"] == pytest.approx(exact(history.time)[0], abs=ERROR)
    assert history.provenance["outcome"] == "complete" and history.provenance["statistics"]["steps"] == len(history) - 1
    assert history.provenance["warnings"] == [f"the FMU asked to end the simulation at t = {end} s"]


def test_the_end_after_a_step_of_the_solver(folder):
    path = oscillator(folder, "END_BELOW", interfaces=(TOLD_OF_STEPS,), name="end-below")
    history = run_fmu(path, 1.0, step=0.1, tolerance=1e-8, isolated=False)
    # The crossing is at t = 0.32 s, the solver's steps are 1/50 of the run at most.
    assert 0.3 < history.time[-1] < 0.34 and (history["position"][:-1] > 0).all() and history["position"][-1] < 0
    assert history["position"] == pytest.approx(exact(history.time)[0], abs=1e-8 * 500 * 5)


def test_the_end_that_an_input_brings_about(folder):
    """A jump of an input is an event of its own at a communication point, after the step to it was taken."""
    path = oscillator(folder, "END_PUSHED", interfaces=(MODEL_EXCHANGE,), name="end-pushed")
    history = run_fmu(path, 0.1, step=0.01, inputs={"force": lambda t: 3.0 * (t > 0.045)}, tolerance=1e-8, isolated=False)
    assert history.time == pytest.approx(np.arange(6) * 0.01)
    # The sample belongs to the input of its time, as every other does.
    assert history["acceleration"][-1] - history["acceleration"][-2] == pytest.approx(1.5, abs=0.1)


def test_files_of_a_run_that_the_fmu_ended(folder, tmp_path, kingpost_cli):
    path = oscillator(folder, "END_AT=0.055", name="ended")
    outcome = kingpost_cli("fmu-run", path, "--t-end", "0.1", "--step", "0.01", "--write", "csv", "--out", "o")
    assert outcome.status == 0 and "the FMU asked to end the simulation at t = 0.055 s" in outcome.err
    history = read_history(tmp_path / "o" / "history.csv")
    assert history.time[-1] == 0.055 and history["position"][-1] == pytest.approx(exact(0.055)[0], abs=ERROR)
    record = json.loads((tmp_path / "o" / "run.json").read_text(encoding="utf-8"))
    assert record["outcome"] == "complete" and record["statistics"]["steps"] == 6


def test_an_end_with_values_that_cannot_be_had(folder):
    mute = run_fmu(oscillator(folder, "END_AT=0.055", "END_MUTE", name="mute"), 0.1, step=0.01)
    assert mute.time[-1] == pytest.approx(0.05)
    assert mute.provenance["warnings"] == [
        "the FMU asked to end the simulation at t = 0.055 s; what it gives there cannot be read: "
        "fmi2GetReal ended with status 'error'"
    ]
    with pytest.raises(SolverError, match=r"end the simulation at t = 0\.055 s, and there 'position' is nan") as error:
        run_fmu(oscillator(folder, "END_AT=0.055", "NAN_LATER", name="nan"), 0.1, step=0.1)
    assert len(error.value.history) == 1
