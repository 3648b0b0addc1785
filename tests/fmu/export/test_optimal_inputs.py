"""The inputs of an optimum inside of an FMU: it goes through the nodes of the optimum by the same step map."""

from dataclasses import replace

import numpy as np
import pytest

from kingpost import Moving, RunSettings, optimise, simulate
from kingpost.control.optimal.record import history_of
from kingpost.fmu.running import run_fmu
from kingpost.modelfiles.opened import open_model
from kingpost.results.run_folder import write_run

INTERVALS, HORIZON = 20, 2.0
STEP = HORIZON / INTERVALS
MIDPOINT = {"integrator": "midpoint", "step": STEP}


@pytest.fixture(scope="module")
def found(plugins, tmp_path_factory):
    """The swing of a pendulum with its inputs, as a folder and as a history."""
    opened = open_model("mathematical-pendulum", plugins)
    how = RunSettings(backend="vm")
    optimum = optimise(
        opened.mechanism, opened.optimal_task("001"), intervals=INTERVALS, horizon=HORIZON, how=how, plugins=plugins
    )
    history = history_of(optimum, 0.0)
    folder = tmp_path_factory.mktemp("optimum")
    write_run(history, folder, writers=["csv"])
    return opened.mechanism, history, folder


def test_inputs_of_an_optimum_are_held_unless_told_otherwise(found, plugins):
    """The step is the interval, so that only Newton's tolerance of 1e-10 comes between, through 20 steps."""
    machine, history, folder = found
    run = simulate(machine, HORIZON, output_step=STEP, inputs=folder, plugins=plugins, backend="vm", **MIDPOINT)
    assert run.provenance["inputs"]["torque"]["moves"]["interpolation"] == "hold"
    assert run["pivot.angle"] == pytest.approx(history["pivot.angle"], abs=1e-9)
    linear = Moving(folder, "linear")
    other = simulate(machine, HORIZON, output_step=STEP, inputs=linear, plugins=plugins, backend="vm", **MIDPOINT)
    assert np.abs(other["pivot.angle"] - history["pivot.angle"]).max() > 1e-3


@pytest.mark.parametrize("between", [3, ["torque"], {"torque": "wavy"}, {"torque": 1}])
def test_what_a_record_says_without_sense_is_left_aside(found, between, plugins):
    machine, history, _ = found
    told = replace(history, provenance={**history.provenance, "between": between})
    run = simulate(machine, STEP, output_step=STEP, inputs=told, plugins=plugins, backend="vm", **MIDPOINT)
    assert run.provenance["inputs"]["torque"]["moves"]["interpolation"] == "cubic"


def test_a_finer_run_ends_where_the_optimum_does_to_the_error_of_its_steps(found, plugins):
    """Steps of the midpoint rule have an error of order h^2: four times as many, a sixteenth of the distance to the limit."""
    machine, history, folder = found
    ends = []
    for divided in (1, 4, 16):
        how = {"integrator": "midpoint", "step": STEP / divided, "output_step": STEP, "backend": "vm", "plugins": plugins}
        ends.append(simulate(machine, HORIZON, inputs=folder, **how)["pivot.angle"][-1])
    exact = simulate(machine, HORIZON, inputs=folder, step=STEP / 32, output_step=STEP, backend="vm", plugins=plugins)
    errors = [abs(end - exact["pivot.angle"][-1]) for end in ends]
    assert errors[0] == pytest.approx(abs(history["pivot.angle"][-1] - exact["pivot.angle"][-1]), rel=1e-6)
    assert np.log2(errors[0] / errors[1]) / 2 == pytest.approx(2.0, abs=0.2)
    assert np.log2(errors[1] / errors[2]) / 2 == pytest.approx(2.0, abs=0.1)


def test_an_fmu_with_these_inputs_goes_through_the_nodes(found, kingpost_cli, tmp_path):
    _, history, folder = found
    fmu = tmp_path / "pendulum.fmu"
    words = ("--input", folder, "--integrator", "midpoint", "--step", STEP, "--communication-step", STEP, "-o", fmu)
    done = kingpost_cli("export", "mathematical-pendulum", *map(str, words))
    assert done.status == 0, done.err
    ran = run_fmu(fmu, HORIZON, step=STEP)
    assert ran["pivot.angle"] == pytest.approx(history["pivot.angle"], abs=1e-9)
    assert ran["pivot.angle.rate"] == pytest.approx(history["pivot.angle.rate"], abs=1e-9)
