"""Inputs that follow a path inside of an FMU: no variables any more, and exact at every internal step."""

import numpy as np
import pytest

from kingpost import History, PluginSet, export, simulate
from kingpost.base.channels import Channel
from kingpost.base.errors import MechanismError
from kingpost.fmu.running.run import run_fmu
from kingpost.mechanism.trajectories import Constant, RestToRest, Sampled
from tests.fmu.hosting import Hosted, reference
from tests.fmu.machines import rig

TIMES = np.linspace(0.0, 2.0, 401)
PATHS = {
    "path": RestToRest(0.0, "gravity / 10", 0.1037, 1.5),
    "formula": Constant("0.3 * sin(4 * t)"),
    "history": History(TIMES, (Channel("torque", "N.m"),), np.sin(3 * TIMES)[:, None]),
    "table": Sampled(tuple(TIMES.tolist()), tuple(np.sin(3 * TIMES).tolist()), "linear"),
}


@pytest.mark.quick(
    "native-fmu:platforms=linux64-table",
    "native-fmu:fmi=3,*-history",
    "native-fmu:fmi=3,*-path",
    "native-fmu:fmu=me,*-formula",
)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "to", ["native-fmu:platforms=linux64", "native-fmu:fmi=3,platforms=linux64", "native-fmu:fmu=me,platforms=linux64"]
)
def test_an_fmu_follows_its_path_as_the_run_does(path, to, tmp_path):
    machine, name, signal = rig(), "torque", PATHS[path]
    done = export(machine, tmp_path / "rig.fmu", to=to, drive={name: signal}, step=0.005)
    assert name not in reference(done.path)
    settings = {"gravity": 8.0} if path == "path" else {}
    wanted = simulate(machine, 2.0, inputs={name: signal}, settings=settings, step=0.005, output_step=0.05)
    history = run_fmu(done.path, 2.0, settings=settings, step=0.05)
    np.testing.assert_allclose(history["pivot.angle"], wanted["pivot.angle"], rtol=0, atol=1e-8 if "me" not in to else 1e-4)


def test_python_inside_an_fmu_follows_it_too(tmp_path):
    machine, name = rig(), "torque"
    done = export(machine, tmp_path / "rig.fmu", to="fmu:engine=package", drive={name: PATHS["table"]}, step=0.005)
    wanted = simulate(machine, 1.0, inputs={name: PATHS["table"]}, step=0.005, output_step=0.05)
    history = run_fmu(done.path, 1.0, step=0.05)
    np.testing.assert_allclose(history["pivot.angle"], wanted["pivot.angle"], rtol=0, atol=1e-9)


def test_what_only_a_run_can_follow_is_refused(tmp_path):
    name = "torque"
    for signal in (lambda t: t, np.zeros(11)):
        with pytest.raises(MechanismError, match=f"input '{name}' is a Python function or a table for the output times"):
            export(rig(), tmp_path / "rig.fmu", drive={name: signal}, plugins=PluginSet())


def test_a_number_stays_an_input(tmp_path):
    name = "torque"
    done = export(rig(), tmp_path / "rig.fmu", to="native-fmu:platforms=linux64", drive={name: 0.25}, step=0.005)
    with Hosted(done.path) as fmu:
        assert fmu.initialize().get(name) == 0.25
