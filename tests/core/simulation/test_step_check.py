"""Whether peak loads depend on the step of a run."""

import numpy as np
import pytest

from kingpost import Interrupted, KingpostError, MechanismError, SolverError, open_model, simulate
from kingpost.simulation.simulate import prepare
from kingpost.simulation.step_check import with_step_check

PENDULUM = open_model("double-pendulum").mechanism
HOW = {"loads": "all", "backend": "vm", "output_step": 0.1}


def test_peaks_are_compared_with_those_of_half_the_step():
    """rk4 is of fourth order, in energy of fifth: the change is 16 to 32 times smaller with half the step."""
    coarse = simulate(PENDULUM, 2.0, step=0.01, check_step=1e-12, **HOW)
    check = coarse.provenance["step_check"]
    half = simulate(PENDULUM, 2.0, step=0.005, **HOW)
    assert check["against"] == "with half the step, 0.005 s" and check["limit"] == 1e-12
    name, entry = max(check["changed"].items(), key=lambda pair: pair[1]["part"])
    joint = name.split(".")[0]
    assert entry["peak"] in (coarse[name].max(), coarse[name].min())
    assert entry["peak_checked"] in (half[name].max(), half[name].min())
    kind = "M" if ".M" in name else "F"
    level = max(np.abs(run[f"{joint}.{kind}{axis}"]).max() for run in (coarse, half) for axis in "xyz")
    assert entry["part"] == pytest.approx(abs(entry["peak"] - entry["peak_checked"]) / level)
    assert check["largest_change"] == {"channel": name, "part": entry["part"]}
    assert any("peak loads depend on the step" in text and name in text for text in coarse.provenance["warnings"])
    fine = simulate(PENDULUM, 2.0, step=0.005, check_step=0.01, **HOW)
    assert fine.provenance["step_check"]["changed"] == {} and fine.provenance["warnings"] == []
    ratio = check["largest_change"]["part"] / fine.provenance["step_check"]["largest_change"]["part"]
    assert 12 < ratio < 40
    assert np.array_equal(fine.values, half.values)


def test_a_solver_gets_tighter_tolerances():
    found = simulate(PENDULUM, 1.0, integrator="dop853:rtol=1e-4,atol=1e-6", check_step=0.01, **HOW)
    assert found.provenance["step_check"]["against"] == "with rtol = 1e-05 and atol = 1e-07"


def test_a_check_without_loads_or_with_a_part_that_is_none_is_refused():
    with pytest.raises(KingpostError, match="compares peak loads, and the run has none"):
        simulate(PENDULUM, 0.1, backend="vm", check_step=0.01)
    for part in (0.0, 1.0, 2.0):
        with pytest.raises(MechanismError, match="check_step is .*between 0 and 1"):
            simulate(PENDULUM, 0.1, check_step=part)


def test_a_check_that_fails_or_is_interrupted_leaves_the_run(monkeypatch):
    simulation = prepare(PENDULUM, 0.2, step=0.01, **HOW)
    history = simulation.run()

    def fails(self, progress=None):
        raise SolverError("not finite at t = 0.1 s")

    def stops(self, progress=None):
        raise Interrupted("interrupted at t = 0.1 s", history=history)

    monkeypatch.setattr(type(simulation), "run", fails)
    checked = with_step_check(simulation, history, 0.01)
    assert checked.provenance["step_check"]["failed"] == "not finite at t = 0.1 s"
    assert checked.provenance["warnings"] == ["the run with half the step, 0.005 s failed: not finite at t = 0.1 s"]
    monkeypatch.setattr(type(simulation), "run", stops)
    with pytest.raises(Interrupted, match="in the check of the step") as caught:
        with_step_check(simulation, history, 0.01)
    assert len(caught.value.history) == len(history)
