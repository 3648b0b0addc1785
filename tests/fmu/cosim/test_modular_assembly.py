"""A machine assembled from FMUs that give their interface inertia accelerates as one that is derived in one piece."""

import dataclasses
import json

import numpy as np
import pytest

from kingpost import Group, Port, RunSettings, pose, read_history, simulate
from kingpost.fmu.cosim import Component, Connection, System, cosimulate
from kingpost.mechanism.port_names import TWIST

CRANE, VESSEL, WHOLE = "small-crane-parked-on-base", "small-vessel", "small-crane-parked"
ROLLING = {"hull.wx": 0.1}


@pytest.fixture(scope="module")
def assembled(native, machine, plugins):
    """Crane and vessel, cut at the foot of the crane, as FMUs by `modular`, run by a master."""
    crane, vessel = (native(machine(name), formulation="modular") for name in (CRANE, VESSEL))
    components = (Component("crane", fmu=crane), Component("vessel", fmu=vessel, settings=ROLLING))
    ports = (Connection("crane.foot", "vessel.mount"),)
    return cosimulate(System("pair", components, ports, step=0.01, t_end=0.2, master="interface-inertia"), plugins=plugins)


def test_fmus_with_interface_inertia_accelerate_as_the_whole(assembled, machine, plugins):
    whole = machine(WHOLE)
    mount = next(port for port in machine(VESSEL).ports if port.name == "mount")
    crane = [body.name for body in whole.bodies if body.name != mount.body]
    whole = dataclasses.replace(
        whole,
        ports=[Port("mount", body=mount.body, position=mount.position)],
        subsystems=[Group("vessel", [mount.body]), Group("crane", crane)],
    )
    problem = pose(whole, RunSettings(formulation="modular"), values=ROLLING, plugins=plugins)
    values = np.asarray(problem.equations.observe(0.0, problem.x0, problem.u0, problem.p)).ravel()
    shown = dict(zip((channel.name for channel in problem.equations.channels), values, strict=True))
    exact = np.array([shown[f"mount.{name}_rate"] for name in TWIST])
    found = np.array([assembled[f"vessel.mount.{name}_rate"][0] for name in TWIST])
    assert np.abs(exact).max() > 1e-3
    # Two C libraries and 27 numbers between them: rounding, times the condition of (M + A), some 1e3.
    np.testing.assert_allclose(found, exact, atol=1e-9 * np.abs(exact).max())


def test_it_runs_on_as_the_whole(assembled, machine, plugins):
    exact = simulate(machine(WHOLE), 0.2, settings=ROLLING, formulation="kane", plugins=plugins)
    # Second order in steps of 10 ms, as the pair of models is.
    assert assembled["vessel.hull.qx"][-1] == pytest.approx(exact["hull.qx"][-1], abs=1e-4 * np.abs(exact["hull.qx"]).max())


SYSTEM = """
name = "pair"
[run]
t_end = 0.05
step = 0.01
master = "interface-inertia"
[components.crane]
fmu = "{crane}"
[components.vessel]
fmu = "{vessel}"
set = {{ "hull.wx" = 0.1 }}
[[connections]]
from = "crane.foot"
to = "vessel.mount"
"""


def test_the_verb_runs_the_pair(assembled, native, machine, kingpost_cli, tmp_path):
    """From a file of words to a file of numbers: those of the same system in Python, to the last digit."""
    crane, vessel = (native(machine(name), formulation="modular") for name in (CRANE, VESSEL))
    (tmp_path / "pair.toml").write_text(SYSTEM.format(crane=crane, vessel=vessel))
    outcome = kingpost_cli("cosim", "pair.toml", "--out", "out", "--write", "npz")
    assert outcome.status == 0, outcome.err
    assert "2 components" in outcome.out
    found = read_history(tmp_path / "out" / "history.npz")
    assert json.loads((tmp_path / "out" / "run.json").read_text())["integrator"]["name"] == "interface-inertia"
    names = [f"vessel.mount.{name}_rate" for name in TWIST]
    np.testing.assert_array_equal(found.select(names), assembled.select(names)[: len(found)])
    assert len(found) == 6
