"""FMUs with Python inside for the tests, and scripts that use them, each in its own process: a crash is a failed test."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from kingpost import ForceElement, Mechanism, PluginSet
from kingpost.fmu.export.python.exporter import PythonFmu, PythonOptions
from kingpost.simulation.export_model import prepare_export
from kingpost.simulation.exporter import ExportSelection
from tests.fmu.conftest import once
from tests.fmu.machines import rig

#: What every script begins with; ``fmu(i)`` is the FMU in argument i, ``answer`` tells the test what was found.
HEAD = """
import gc, json, math, os, sys, zipfile
from pathlib import Path
import numpy as np
from fmpy.fmi1 import FMICallException
from tests.fmu.hosting import Hosted

def fmu(i=1, **options):
    return Hosted(Path(sys.argv[i]), **options)

def answer(**found):
    print(json.dumps(found))

def status(function, *arguments):
    try:
        function(*arguments)
    except FMICallException as refused:
        return int(refused.status)
    return 0
"""

#: How every script ends. When a program ends, a destructor in pythonfmu's library uses an object freed just before: one run
#: in some hundreds aborts by that ("corrupted double-linked list"), so a program that has loaded it leaves without.
TAIL = """
def of_pythonfmu(path):
    with zipfile.ZipFile(path) as archive:
        binaries = [name for name in archive.namelist() if name.startswith("binaries/")]
        return any(b"finalizePythonInterpreter" in archive.read(name) for name in binaries)

if any(of_pythonfmu(path) for path in sys.argv[1:] if zipfile.is_zipfile(path)):
    sys.stdout.flush(), sys.stderr.flush()
    os._exit(0)
"""


#: Raises above 0.9 rad; its text holds what a C program would take for a format.
FRAGILE = """
from dataclasses import dataclass
from kingpost import CoordinateName, Force, Loads, hookimpl


@dataclass(frozen=True)
class Options:
    coordinate: CoordinateName


def torque(angle):
    if angle[0] > 0.9:
        raise ValueError("100%s beyond the end stop")
    return 0.0


class Fragile(Force):
    \"\"\"Breaks.\"\"\"

    name = "fragile"
    Options = Options

    def loads(self, kinematics):
        angle = kinematics.coordinate(self.options.coordinate)
        return Loads(efforts={self.options.coordinate: kinematics.call(torque, angle, size=1)})


@hookimpl
def kingpost_register_forces():
    return [Fragile]
"""


def fragile(folder: Path) -> tuple[Mechanism, PluginSet]:
    """A pendulum with a force in Python that breaks, and the plugins it needs."""
    (folder / "fragile.py").write_text(FRAGILE)
    forces = (*rig().forces, ForceElement("fragile", coordinate="pivot.angle"))
    return replace(rig(), name="fragile-rig", forces=forces), PluginSet([folder / "fragile.py"], entry_points=False)


def export_python(
    folder: Path, mechanism: Mechanism, plugins: PluginSet, options: PythonOptions | None = None, **arguments: Any
) -> Path:
    """Return the FMU of a machine, exported once in a test run."""
    options = options or PythonOptions()
    told = f"{mechanism.digest()} {options} {sorted(arguments.items())} {plugins.files}"
    path = folder / f"{mechanism.name}-python-{hashlib.sha256(told.encode()).hexdigest()[:12]}.fmu"

    def build(target: Path) -> None:
        PythonFmu(options).export(prepare_export(mechanism, plugins=plugins, **arguments), ExportSelection(), target)

    return once(path, build)


def run_script(code: str, *arguments: Any, python: str = sys.executable, **environment: str) -> Any:
    """Run a script in its own process and return what it answers; ``stderr`` is added to it."""
    root = Path(__file__).parents[4]
    done = subprocess.run(
        [python, "-c", HEAD + code + TAIL, *map(str, arguments)],
        capture_output=True, text=True, cwd=root, env={**os.environ, **environment}, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"ended with {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return {**json.loads(done.stdout.splitlines()[-1]), "stderr": done.stderr}
