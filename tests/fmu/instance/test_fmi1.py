"""FMUs of FMI 1.0 for co-simulation."""

import numpy as np
import pytest

from kingpost.base.errors import FileError, SolverError
from kingpost.fmu.cosim import Component, Connection, CosimError, System, cosimulate
from kingpost.fmu.file.opened import open_fmu
from kingpost.fmu.running import run_fmu
from tests.fmu.building import needs_compiler, oscillator, oscillator1

pytestmark = needs_compiler


def test_it_runs_with_the_numbers_of_its_equation(folder):
    stiffer = run_fmu(oscillator1(folder), settings={"force": 5.0, "stiffness": 100.0})
    assert stiffer["position"] == pytest.approx(0.05, rel=1e-12)
    history = run_fmu(oscillator1(folder), step=0.01, inputs={"force": lambda t: 5.0 if t == 0 else 0.0})
    # Held at 0.1 m by 5 N over the first step, then let go: a damped swing with w0 = 5 rad/s.
    assert history["position"][1] == pytest.approx(0.1, abs=1e-12)
    t, decay = history.time[1:] - 0.01, 0.4 / 4
    w = np.sqrt(25 - decay**2)
    exact = 0.1 * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
    # A method of the first order with steps of 1e-5 s: an error of about h w / 2 of the amplitude.
    assert history["position"][1:] == pytest.approx(exact, abs=0.1 * 1e-5 * w)
    assert history["steps"][-1] == 100 and history.provenance["fmu"]["fmi"] == "1.0"


def test_negated_aliases_have_the_other_sign(folder):
    history = run_fmu(
        oscillator1(folder), 0.1, step=0.05, settings={"pull": 5.0}, outputs=["position", "depth", "free", "pull"]
    )
    assert history["position"][0] == pytest.approx(-0.1, rel=1e-12)
    assert np.array_equal(history["depth"], -history["position"])
    assert history["free"][0] == 1 and history["pull"][0] == 5.0
    locked = run_fmu(oscillator1(folder), 0.1, step=0.05, settings={"locked": True}, outputs=["free"])
    assert not locked["free"].any()


@pytest.mark.parametrize("isolate", [True, False])
def test_it_is_a_component_that_begins_with_what_it_is_given(folder, isolate):
    """What FMI 1.0 shows comes after its initialisation, and what it is initialised from comes from others."""
    path = oscillator1(folder)
    parts = (
        Component("a", fmu=oscillator(folder), settings={"position": 0.2}),
        Component("b", fmu=path, isolate=isolate),
        Component("c", fmu=path, isolate=isolate),
    )
    wires = (Connection("a.position", "b.force", factor=10.0), Connection("b.depth", "c.pull", factor=50.0))
    history = cosimulate(System("chain", parts, wires, t_end=0.5, step=0.01))
    first = {name: history[name][0] for name in history.names}
    assert first["b.position"] == pytest.approx(0.2 * 10 / 50, rel=1e-12)  # at rest where the force holds it
    assert first["c.position"] == pytest.approx(first["b.position"], rel=1e-12)  # pulled by 50 N/m times the depth
    assert np.array_equal(history["b.depth"], -history["b.position"])


def test_an_error_is_told_and_not_taken_for_a_pointer(folder):
    with pytest.raises(SolverError, match=r"ended with status 'error'.*a step of 1 s is too long"):
        run_fmu(oscillator1(folder), 2.0, step=1.0)
    with pytest.raises(SolverError, match=r"fmi1DoStep ended with status 'error'.*a step of 1 s is too long"):
        cosimulate(System("long", (Component("a", fmu=oscillator1(folder)),), t_end=2.0, step=1.0))


def test_masters_that_go_back_say_that_they_cannot(folder):
    parts = (Component("a", fmu=oscillator1(folder)),)
    with pytest.raises(CosimError, match="'a' cannot go back to an earlier state"):
        cosimulate(System("back", parts, t_end=0.1, step=0.01, master="iterated"))


def test_what_is_not_understood_of_fmi_1_is_named(folder):
    alone = "<CoSimulation_StandAlone>", "</CoSimulation_StandAlone>"
    tool = oscillator1(folder, {alone[0]: "<CoSimulation_Tool>", alone[1]: "</CoSimulation_Tool>"}, name="tool")
    with pytest.raises(FileError, match="with a tool that it starts itself; of FMI 1.0 only stand-alone co-simulation"):
        open_fmu(tool)
    exchange = oscillator1(folder, {"<Implementation>": "<!--", "</Implementation>": "-->"}, name="exchange1")
    with pytest.raises(FileError, match="for model exchange; of FMI 1.0 only stand-alone co-simulation"):
        open_fmu(exchange)
