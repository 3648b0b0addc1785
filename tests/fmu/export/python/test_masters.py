"""FMUs with Python inside in other people's masters: they run, and an exception in a user's force does not kill the master."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import fmpy
import pytest

from tests.fmu.export.python.python_fmus import export_python, fragile
from tests.fmu.hosting import Hosted
from tests.fmu.machines import rig

STEP = 0.01
MASTERS = {"libcosim": "libcosimpy.CosimExecution", "ecos": "ecospy.lib"}


def run(master: str, path: Path, inputs: dict[str, float], read: list[str]) -> subprocess.CompletedProcess[str]:
    """Run an FMU for 1 s in a process of its own; the last line of its output holds the answer, if there is one."""
    try:
        importlib.import_module(MASTERS[master])
    except (ImportError, OSError) as error:
        pytest.skip(f"{MASTERS[master]} does not load: {error}; Ecos needs libtbb12 (Debian)")
    model = {"path": str(path), "inputs": list(inputs.items()), "read": read}
    if master == "libcosim":
        places = {variable.name: variable.valueReference for variable in fmpy.read_model_description(str(path)).modelVariables}
        model |= {"inputs": [(places[name], value) for name, value in inputs.items()], "read": [places[name] for name in read]}
    task = json.dumps({"step": STEP, "stop": 1.0, "models": {"one": model}})
    script = Path(__file__).parents[1] / "master_scripts.py"
    return subprocess.run(
        [sys.executable, script, master], input=task, capture_output=True, text=True, timeout=120, check=False
    )


def answer(done: subprocess.CompletedProcess[str]) -> dict[str, list[float]]:
    return json.loads(done.stdout.rpartition("answer ")[2])


@pytest.mark.parametrize("master", MASTERS)
def test_it_runs_as_alone(master, plugins, shared_folder):
    path = export_python(shared_folder, rig(), plugins)
    done = run(master, path, {"torque": 2.0}, ["pivot.angle"])
    assert done.returncode == 0, done.stderr[-2000:]
    with Hosted(path) as alone:
        alone.initialize({"torque": 2.0})
        for i in range(100):
            alone.step(i * STEP, STEP)
        expected = alone.get("pivot.angle")
    assert answer(done)["one"] == pytest.approx([expected], rel=1e-12)


@pytest.mark.quick("libcosim")
@pytest.mark.parametrize("master", MASTERS)
def test_an_exception_in_a_force_does_not_kill_the_master(master, tmp_path):
    mechanism, plugins = fragile(tmp_path)
    path = export_python(tmp_path, mechanism, plugins)
    done = run(master, path, {"torque": 1e3}, ["pivot.angle"])
    # A signal would be a negative number.
    assert done.returncode == 0, f"{master} ended with {done.returncode}:\n{done.stderr[-2000:]}"
    if master == "libcosim":
        assert answer(done)["failed"]
    # Ecos takes no notice of a step that fails and goes on; the FMU stays in its last good state.
    (angle,) = answer(done)["one"]
    assert 0.5 < angle <= 0.9
