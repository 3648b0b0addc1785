"""Problems: one way from a mechanism and "how" to everything that is derived from them."""

from collections import Counter

import numpy as np
import pytest

from kingpost import PluginSet, RunSettings, SolverError, pose, prepare, prepare_export, simulate
from kingpost.simulation.monitors import with_monitors
from kingpost.testing.problems import pendulum

BUILT_IN = PluginSet(entry_points=False)


@pytest.mark.parametrize("formulation", ["kane", "recursive", "directors"])
def test_every_force_is_asked_once_for_each_problem(monkeypatch, formulation):
    """With joint loads, by a method that derives anew, and with monitors."""
    machine = BUILT_IN.models.get("slider-pendulum")().build()
    asked = Counter()
    for cls, _ in BUILT_IN.forces.entries():
        original = cls.loads

        def counted(self, kinematics, original=original, cls=cls):
            asked[cls.name] += 1
            return original(self, kinematics)

        monkeypatch.setattr(cls, "loads", counted)
    arguments = {"formulation": formulation, "loads": "all", "backend": "vm", "plugins": BUILT_IN}
    simulation = prepare(machine, 0.02, **arguments)
    with_monitors(simulation, simulation.run())
    assert asked == Counter(element.kind for element in machine.forces)


def test_a_port_and_its_meter_ask_no_force_again(monkeypatch):
    machine = BUILT_IN.models.get("small-crane-parked-on-base")().build()
    calls = []
    gravity = BUILT_IN.forces.get("gravity")
    original = gravity.loads
    monkeypatch.setattr(gravity, "loads", lambda self, kinematics: calls.append(1) or original(self, kinematics))
    prepare_export(machine, loads="all", plugins=BUILT_IN)
    assert len(calls) == 1


def test_run_export_and_a_look_pose_the_same_problem():
    how = RunSettings(formulation="recursive", integrator="midpoint", step=0.002, loads=("pivot",))
    posed = pose(pendulum(), how, values={"pivot.angle": 0.4}, plugins=BUILT_IN)
    run = prepare(pendulum(), 0.1, how=how, settings={"pivot.angle": 0.4}, plugins=BUILT_IN).problem
    exported = prepare_export(pendulum(), how=how, settings={"pivot.angle": 0.4}, plugins=BUILT_IN).problem
    for other in (run, exported):
        assert (other.x0 == posed.x0).all() and (other.p == posed.p).all() and other.step == posed.step == 0.002
        assert [channel.name for channel in other.equations.channels] == [channel.name for channel in posed.equations.channels]
        assert other.integrator.name == "midpoint" and other.equations.formulation == "recursive"


def test_start_values_that_were_found_are_numbers_and_others_stay_formulas():
    machine = BUILT_IN.models.get("offshore-crane")().build()
    assert any(not isinstance(value, float) for value in pose(machine, plugins=BUILT_IN).declared_starts)
    settled = pose(pendulum(), RunSettings(start="equilibrium"), plugins=BUILT_IN)
    assert settled.declared_starts == tuple(settled.x0)
    assert np.abs(settled.x0).max() < 1e-9


def test_a_step_means_nothing_to_a_solver_and_is_refused_in_words_for_everybody():
    with pytest.raises(SolverError, match=r"'radau' chooses its own steps.*\(e.g. radau:rtol=1e-8\)") as refused:
        simulate(pendulum(), 0.1, integrator="radau", step=0.01, plugins=BUILT_IN)
    assert "--" not in str(refused.value)


@pytest.mark.parametrize("integrator", ["rk4", "lsoda"])
def test_angles_that_numbers_cannot_turn_are_refused(integrator):
    """Formerly a pendulum stood still at 1e16 rad, where numbers are 2 rad apart, and solvers never ended."""
    machine = BUILT_IN.models.get("double-pendulum")().build()
    how = {"integrator": integrator, "backend": "vm", "plugins": BUILT_IN}
    with pytest.raises(SolverError, match=r"'shoulder.angle' is 1e\+16 rad, where neighbouring numbers are 2 rad apart"):
        simulate(machine, 0.01, settings={"shoulder.angle": 1e16}, **how)
    simulate(machine, 0.01, settings={"shoulder.angle": 1e9}, **how)
