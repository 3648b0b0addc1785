"""FMUs with Python inside that an earlier version exported: they bring all they need, so they run beside any later one.

``data/double-pendulum-0.1.0.tar.xz`` holds two FMUs as version 0.1.0 exported them, one for each engine, but for the binaries
for Windows. The packages inside them are the same, so together they take less room than one FMU.
"""

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import fmpy
import numpy as np
import pytest

from kingpost import simulate
from kingpost.fmu import run_fmu

pytestmark = pytest.mark.skipif(fmpy.platform != "linux64", reason="the binaries are for Linux on x86-64")

ARCHIVE = Path(__file__).parent / "data" / "double-pendulum-0.1.0.tar.xz"
#: What each one says about what advances it.
ENGINES = {"library": "runs with: compiled library", "package": "runs with: Kingpost 0.1.0 in Python"}
#: In s; the step is that of the FMUs inside, so that today's run takes the same ones.
T_END, OUTPUT_STEP, STEP = 0.5, 0.01, 0.001
#: Settings that no default has.
SETTINGS = {"mass2": 1.7, "shoulder.angle": 1.1, "elbow.angle.rate": -0.4}
#: Some 500 steps of rk4, whose operations may be in another order today.
TOLERANCE = 1e-9
WITH_FMPY = """
import json, sys
from fmpy import simulate_fmu
path, settings, t_end, step = sys.argv[1], *map(json.loads, sys.argv[2:])
result = simulate_fmu(path, stop_time=t_end, step_size=step, output_interval=step, start_values=settings)
print(json.dumps({name: result[name].tolist() for name in result.dtype.names}))
"""


@pytest.fixture(params=ENGINES)
def fmu(request, tmp_path):
    """One of the FMUs, packed as it was."""
    folder = f"double-pendulum-{request.param}/"
    path = tmp_path / f"double-pendulum-{request.param}.fmu"
    with tarfile.open(ARCHIVE) as archive, zipfile.ZipFile(path, "w") as packed:
        for member in archive:
            if member.isfile() and member.name.startswith(folder):
                packed.writestr(member.name.removeprefix(folder), archive.extractfile(member).read())
    return request.param, path


@pytest.fixture(scope="module")
def today(request):
    """The same motion, in this process, by today's equations."""
    plugins = request.getfixturevalue("plugins")
    mechanism = plugins.models.get("double-pendulum")().build()
    return simulate(mechanism, T_END, step=STEP, output_step=OUTPUT_STEP, settings=SETTINGS, loads="all", plugins=plugins)


def assert_same(found, today):
    names = set(today.names) & set(found)
    assert {"shoulder.angle", "elbow.angle.rate", "tip.x", "energy.total", "elbow.Fx"} <= names
    for name in sorted(names):
        np.testing.assert_allclose(found[name], today[name], rtol=TOLERANCE, atol=TOLERANCE, err_msg=name)


def test_it_runs_in_fmpy(fmu, today):
    words = [str(fmu[1]), *map(json.dumps, (SETTINGS, T_END, OUTPUT_STEP))]
    done = subprocess.run([sys.executable, "-c", WITH_FMPY, *words], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert_same(json.loads(done.stdout.splitlines()[-1]), today)


@pytest.mark.quick("library")
def test_it_runs_in_kingpost(fmu, today):
    engine, path = fmu
    messages = []
    history = run_fmu(path, T_END, step=OUTPUT_STEP, settings=SETTINGS, on_message=messages.append)
    assert_same({name: history[name] for name in history.names}, today)
    assert history.provenance["fmu"]["generation_tool"] == "Kingpost 0.1.0"
    assert any(ENGINES[engine] in message.text for message in messages), messages
