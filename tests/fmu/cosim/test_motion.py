"""Systems in motion: step by step as a run, saved and taken back with all that they remember."""

import numpy as np
import pytest

from kingpost.base.errors import SolverError
from kingpost.fmu.cosim import PowerBond, cosimulate, prepare_cosimulation
from kingpost.fmu.cosim.components.changing import changed_values
from kingpost.fmu.cosim.components.described import PartnerError
from kingpost.fmu.cosim.masters.interface import Resumable
from kingpost.fmu.cosim.motion import Motion
from kingpost.fmu.cosim.watch import Watch
from tests.fmu.cosim.coupled import in_process, quarter_car
from tests.fmu.machines import rig


def test_steps_by_hand_are_those_of_a_run(plugins):
    motion = Motion(prepare_cosimulation(in_process(), plugins))
    motion.start()
    rows = [motion.sample()]
    for _ in range(20):
        motion.step(2.0)
        motion.record()
        rows.append(motion.sample())
    assert motion.close() == []
    np.testing.assert_array_equal(np.array(rows), cosimulate(in_process(t_end=0.2), plugins=plugins).values)


def test_a_state_holds_energies_and_the_memory_of_the_master(plugins):
    system = quarter_car(master="ecco", bonds=(PowerBond("tyre", "chassis.force", "wheel.speed"),))
    motion = Motion(prepare_cosimulation(system, plugins), going_back=True)
    motion.start()
    assert motion.obstacle() == ""
    for _ in range(10):
        motion.step(1.0)
    kept = motion.save()
    first = [(motion.step(1.0), motion.t, motion.energies.copy())[1:] for _ in range(15)]
    motion.restore(kept)
    again = [(motion.step(1.0), motion.t, motion.energies.copy())[1:] for _ in range(15)]
    motion.forget(kept)
    for (t, energies), (other, others) in zip(first, again, strict=True):
        assert t == other
        np.testing.assert_array_equal(energies, others)


def test_a_watch_remembers_what_it_did_when_it_was_saved():
    values = np.array([1.0])
    watch = Watch(["a.x"], values, 1.5)

    def explode():
        for k in range(400):
            values[0] = (-1.2) ** k
            watch.look(0.01 * k)

    kept = watch.save()
    with pytest.raises(SolverError, match="diverges") as first:
        explode()
    watch.restore(kept)
    with pytest.raises(SolverError, match="diverges") as again:
        explode()
    assert str(again.value) == str(first.value)


def test_a_plain_function_of_a_master_is_called_as_it_is():
    assert Resumable(lambda t, h: t + h)(1.0, 2.0) == 3.0


def test_what_a_component_refuses_names_it(plugins):
    from kingpost.simulation.export_model import prepare_export

    model = prepare_export(rig(), plugins=plugins)
    p, inputs = changed_values("a", model, {"torque": 2.0}, 0.0, model.x0, model.u0, model.p0)
    assert p is model.p0
    assert inputs == {0: 2.0}
    with pytest.raises(PartnerError, match="mass is -1 kg") as error:
        changed_values("a", model, {"mass": -1.0}, 0.0, model.x0, model.u0, model.p0)
    assert error.value.partner == "a"
