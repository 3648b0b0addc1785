"""What a step of 1 ms costs in an FMU: the vessel-crane in process, as native FMU, as Python FMU, and beside py-crane.

Each number is the shortest time on the processor of several portions, and the portions of all rows take turns, so that all meet
the same machine. The C host is the master of the tests (tests/fmu/c_master). py-crane (DNV) moves booms kinematically and has
one pendulum; it is built and run in a process of its own, by this Python or by the one that ``--py-crane`` names, which needs
py-crane and fmpy. ``--sizes`` shows instead what it takes to export some models, and how large their FMUs are.

    python benchmarks/fmu.py [--py-crane PYTHON] [--sizes]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import fmpy
import numpy as np
from fmpy.fmi2 import FMU2Slave
from fmpy.fmi3 import FMU3Slave
from measuring import processor_time

from kingpost import ExportSelection, KingpostError, PluginSet, prepare, prepare_export
from kingpost.registry.selection import make

ROUNDS = 8
#: In every round each row takes this many portions of this many steps; short ones meet less of what else the machine does.
PORTIONS, STEPS = 10, 400
#: Models whose FMUs are weighed.
MODELS = ("double-pendulum", "vessel-crane", "branched", "offshore-crane", "offshore-crane-cylinder")
STEP = 0.001
MASTER = Path(__file__).parents[1] / "tests" / "fmu" / "c_master"
PY_CRANE = '''
from py_crane.crane_fmu import CraneFMU


class KnuckleCrane(CraneFMU):
    """A king, two booms and a wire with a load: as near to the vessel-crane as py-crane comes."""

    def __init__(self, name="KnuckleCrane", description="knuckle", author="benchmark", version="1", **kwargs):
        super().__init__(name=name, description=description, author=author, version=version, **kwargs)
        for boom, length, angle, ranges in (
            ("king", "2.0 m", "0 rad", (None, None, ())),
            ("inner", "2.0 m", "1.5 rad", (None, (), None)),
            ("outer", "2.0 m", "1.0 rad", (None, (), None)),
        ):
            self.add_boom(
                boom, description=boom, mass="30.0 kg", mass_center=(0.5, 0, 0), boom=(length, angle, "0 rad"), boom_rng=ranges
            )
        self.add_boom(
            "wire", description="wire", mass="50.0 kg", mass_center=0.95, mass_rng=("10 kg", "100 kg"),
            boom=("1.0 m", "3.0 rad", "0 rad"), boom_rng=(("0.1 m", "10 m"), (), ()), q_factor=50.0,
        )
        self.calc_statics_dynamics(None)
'''
PY_CRANE_RUN = """
import sys, time
from pathlib import Path
import fmpy, py_crane
from component_model.model import Model
from fmpy.fmi2 import FMU2Slave
Model.build("knuckle_crane.py", project_files=[Path(py_crane.__file__).parent], dest=".")
path = "KnuckleCrane.fmu"
description = fmpy.read_model_description(path, validate=False)
folder = fmpy.extract(path, str(Path("unpacked").absolute()))
fmu = FMU2Slave(guid=description.guid, unzipDirectory=folder, instanceName="crane",
                modelIdentifier=description.coSimulation.modelIdentifier)
fmu.instantiate(); fmu.setupExperiment(startTime=0.0); fmu.enterInitializationMode(); fmu.exitInitializationMode()
shortest = 1e9
for k in range(100):
    started = time.process_time()
    for i in range(5 * k, 5 * (k + 1)):
        fmu.doStep(0.001 * i, 0.001)
    shortest = min(shortest, (time.process_time() - started) / 5)
print("seconds per step", shortest, flush=True)
import os
os._exit(0)  # pythonfmu's library may abort when it is unloaded
"""


def export(folder: Path, exporter: str, **options: object) -> Path:
    """Export the vessel-crane with internal steps of 1 ms and the loads of all joints."""
    plugins = PluginSet(entry_points=False)
    model = prepare_export(plugins.models.get("vessel-crane")().build(), step=STEP, loads="all", plugins=plugins)
    path = folder / f"{exporter}-{'-'.join(map(str, options.values()))}.fmu"
    make(plugins.exporters.get(exporter), dict(options)).export(model, ExportSelection(), path)
    return path


def exported(model: str, folder: Path, fmi: int = 2, **how: object) -> tuple[float, int]:
    """Export a model as a native FMU; return the time that took on processors, compilers included (s), and its size (bytes)."""
    plugins = PluginSet(entry_points=False)
    path = folder / f"{model}-{fmi}.fmu"
    began = processor_time()
    posed = prepare_export(make(plugins.models.get(model), {}).build(), plugins=plugins, **how)  # type: ignore[arg-type]
    make(plugins.exporters.get("native-fmu"), {"fmi": fmi}).export(posed, ExportSelection(), path)
    return processor_time() - began, path.stat().st_size


def print_sizes() -> None:
    """Print what it takes to export some models."""
    print(f"{'native FMU':26}" + "".join(f"{f'FMI {fmi}, s':>12}{'kB':>8}" for fmi in (2, 3)))
    with tempfile.TemporaryDirectory(prefix="kingpost-benchmark-") as folder:
        for model in MODELS:
            found = [exported(model, Path(folder), fmi) for fmi in (2, 3)]
            print(f"{model:26}" + "".join(f"{seconds:12.1f}{size / 1000:8.0f}" for seconds, size in found), flush=True)


def shortest_portion(portion: Callable[[int], None], steps: int = STEPS) -> float:
    """Return the shortest time of a portion per step; ``portion`` is told which one it is."""
    shortest = np.inf
    for k in range(PORTIONS):
        started = time.process_time()
        portion(k)
        shortest = min(shortest, (time.process_time() - started) / steps)
    return shortest


def in_process() -> Callable[[], float]:
    """Return portions of the vessel-crane's motion as calls into compiled code."""
    plugins = PluginSet(entry_points=False)
    crane, end = plugins.models.get("vessel-crane")().build(), STEPS * STEP
    run = prepare(crane, end, step=STEP, output_step=end, plugins=plugins, backend="c")
    y = np.empty((run.grid.samples, len(run.equations.channels)))

    def portion(_: int) -> None:
        run.kernel.march(y, run.grid.substeps, 0.0, run.grid.step, run.x0, run.inputs, run.p, at_once=True)

    return lambda: shortest_portion(portion)


def in_c_host(path: Path, master: Path, folder: Path) -> Callable[[], float]:
    """Return portions of an FMU's steps in the C master, whose process is new every time."""
    description = fmpy.read_model_description(str(path))
    unpacked = Path(fmpy.extract(str(path), str(folder / f"{path.stem}-unpacked")))
    (library,) = [file for file in unpacked.glob("binaries/*/*") if file.suffix in (".so", ".dylib")]
    words = [str(master), description.fmiVersion[0], str(library), description.guid, "time", str(PORTIONS * STEPS), str(STEP)]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LD_")}
    return lambda: float(subprocess.run(words, capture_output=True, text=True, env=clean, check=True).stdout)


def in_fmpy(path: Path, folder: Path, steps: int = STEPS) -> Callable[[], float]:
    """Return portions of an FMU's steps through fmpy."""
    description = fmpy.read_model_description(str(path))
    major = int(description.fmiVersion[0])
    fmu = (FMU2Slave if major == 2 else FMU3Slave)(
        guid=description.guid,
        unzipDirectory=fmpy.extract(str(path), str(folder / f"{path.stem}-fmpy")),
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="crane",
    )
    fmu.instantiate()

    def portion(k: int) -> None:
        for i in range(k * steps, (k + 1) * steps):
            fmu.doStep(i * STEP, STEP)

    def measure() -> float:
        fmu.reset()
        if major == 2:
            fmu.setupExperiment(startTime=0.0)
        fmu.enterInitializationMode()
        fmu.exitInitializationMode()
        return shortest_portion(portion, steps)

    return measure


def build_master(folder: Path) -> Path | None:
    """Compile the C master of the tests."""
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if compiler is None or not MASTER.is_dir():
        return None
    headers = Path(fmpy.__file__).parent / "c-code"
    sources = sorted(map(str, MASTER.glob("*.c")))
    target = folder / "master"
    words = [compiler, "-std=c99", "-O2", f"-I{headers}", *sources, "-o", str(target), "-ldl", "-lpthread"]
    subprocess.run(words, check=True)
    return target


def py_crane(folder: Path, python: str) -> float | str:
    """Return the seconds per step of py-crane's FMU through fmpy, or why there are none."""
    place = folder / "py-crane"
    place.mkdir()
    (place / "knuckle_crane.py").write_text(textwrap.dedent(PY_CRANE))
    done = subprocess.run([python, "-c", PY_CRANE_RUN], cwd=place, capture_output=True, text=True, check=False)
    found = [line for line in done.stdout.splitlines() if line.startswith("seconds per step")]
    if found:
        return float(found[0].split()[-1])
    if "No module named" in done.stderr:
        return "not installed: pip install py-crane fmpy, or name a Python that has them with --py-crane"
    return f"failed: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What a step of 1 ms costs in an FMU.")
    parser.add_argument("--py-crane", default=sys.executable, metavar="PYTHON", help="a Python with py-crane and fmpy")
    parser.add_argument("--sizes", action="store_true", help="what it takes to export some models")
    arguments = parser.parse_args()
    if arguments.sizes:
        print_sizes()
        return
    with tempfile.TemporaryDirectory(prefix="kingpost-benchmark-") as name:
        folder = Path(name)
        natives = {fmi: export(folder, "native-fmu", fmi=fmi) for fmi in (2, 3)}
        rows: dict[str, Callable[[], float]] = {"in process, compiled loop": in_process()}
        notes = []
        master = build_master(folder)
        if master is None:
            notes.append("C host: no compiler, or not run from a checkout")
        else:
            rows |= {f"native FMU (FMI {fmi}) in a C host": in_c_host(path, master, folder) for fmi, path in natives.items()}
        rows |= {f"native FMU (FMI {fmi}) through fmpy": in_fmpy(path, folder) for fmi, path in natives.items()}
        try:
            rows["Python FMU through fmpy"] = in_fmpy(export(folder, "fmu"), folder)
        except KingpostError as error:
            notes.append(f"Python FMU: {error}")
        shortest = dict.fromkeys(rows, np.inf)
        for _ in range(ROUNDS):
            for row, measure in rows.items():
                shortest[row] = min(shortest[row], measure())
        base = shortest["in process, compiled loop"]
        print(f"{'vessel-crane, one RK4 step of 1 ms':38s} {'us':>9s} {'ratio to in process':>20s}")
        for row, seconds in shortest.items():
            print(f"{row:38s} {1e6 * seconds:9.2f} {seconds / base:20.2f}")
        peer = py_crane(folder, arguments.py_crane)
        if isinstance(peer, str):
            notes.append(f"py-crane: {peer}")
        else:
            print(f"{'py-crane (DNV) through fmpy':38s} {1e6 * peer:9.2f} {peer / base:20.2f}")
            for row, seconds in shortest.items():
                if "native" in row:
                    print(f"  {peer / seconds:8.0f} times the step of the {row}")
        for note in notes:
            print(note)


if __name__ == "__main__":
    main()
