"""FMUs with Python inside: the same numbers as in process, from both engines and through both binaries."""

import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu

from kingpost import ExportError, ForceElement, PluginSet, simulate
from kingpost.fmu.export.python.exporter import PythonFmu, PythonOptions
from kingpost.kernel.compiler import find_compiler
from kingpost.simulation.export_model import prepare_export
from kingpost.simulation.exporter import ExportSelection
from tests.fmu.export.python.python_fmus import export_python, run_script
from tests.fmu.hosting import Hosted, reference
from tests.fmu.machines import ImplicitMidpoint, flywheel, rig, tumbling

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="the library and the bridge need a C compiler")

MACHINES = ("vessel-crane", "double-pendulum", "six-axis-arm", "spacecraft-arm")
LIBRARY, PACKAGE = PythonOptions(engine="library"), PythonOptions(engine="package")
BINARIES = ("bridge", "pythonfmu")
STOP = """
from dataclasses import dataclass

import numpy as np

import kingpost.multibody.force
from kingpost import CoordinateName, Loads, hookimpl


@dataclass(frozen=True)
class StopOptions:
    coordinate: CoordinateName
    stiffness: float = {stiffness}


class Stop(kingpost.multibody.force.Force):
    \"\"\"A spring beyond 0.5 rad, in plain Python.\"\"\"

    name = "stop"
    Options = StopOptions

    def loads(self, kinematics):
        def torque(angle):
            return -self.options.stiffness * np.sign(angle) * np.maximum(np.abs(angle) - 0.5, 0.0)

        angle = kinematics.coordinate(self.options.coordinate)
        return Loads(efforts={{self.options.coordinate: kinematics.call(torque, angle, size=1)}})


@hookimpl
def kingpost_register_forces():
    return [Stop]
"""


@pytest.fixture
def exported(shared_folder, plugins):
    """Export a machine as an FMU with Python inside."""
    return lambda mechanism, options=None, **arguments: export_python(
        shared_folder, mechanism, arguments.pop("plugins", plugins), options, **arguments
    )


def stopped(folder, stiffness=50.0):
    """A pendulum with an end stop in plain Python, and the plugins it needs."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stop.py").write_text(STOP.format(stiffness=stiffness))
    forces = (*rig().forces, ForceElement("stop", coordinate="pivot.angle"))
    return replace(rig(), name="stopped", forces=forces), PluginSet([folder / "stop.py"], entry_points=False)


RUN = """
with fmu(logging=True) as one:
    one.initialize()
    names, rows = one.outputs, []
    for k in range(int(sys.argv[2]) + 1):
        rows.append(one.get(names).tolist())
        one.step(k * 0.01, 0.01)
    one.raw.terminate()
answer(names=names, rows=rows, said=one.messages[0][1])
"""


def compare(found, history, tolerance):
    """Hold every channel to that of a run in process, relative to the largest value that it has."""
    rows = np.array(found["rows"])
    assert len(rows) == len(history.time)
    for j, name in enumerate(found["names"]):
        expected = history[name]
        worst = np.abs(rows[:, j] - expected).max() / max(1.0, np.abs(expected).max())
        assert worst <= tolerance, f"{name}: {worst}"


@pytest.mark.quick("vessel-crane-package", "double-pendulum-library")
@pytest.mark.parametrize("options", [LIBRARY, PACKAGE], ids=["library", "package"])
@pytest.mark.parametrize("name", MACHINES)
def test_the_same_numbers_as_in_process(name, options, machine, exported, plugins):
    # The same operations on the same numbers, but for the times of internal steps: k h from the start of the run in process,
    # and from the last communication point here. They differ by a few ulp, which these motions do not amplify by 1e6 in 0.5 s.
    mechanism = machine(name)
    found = run_script(RUN, exported(mechanism, options, loads="all"), 50)
    compare(found, simulate(mechanism, 0.5, step=0.001, output_step=0.01, loads="all", plugins=plugins), 1e-9)
    assert ("compiled library" if options == LIBRARY else "in Python") in found["said"]


@pytest.mark.quick("package")
@pytest.mark.parametrize("options", [LIBRARY, PACKAGE], ids=["library", "package"])
def test_pythonfmus_own_binary_gives_them_too(options, machine, exported, plugins):
    mechanism = machine("double-pendulum")
    found = run_script(RUN, exported(mechanism, PythonOptions(engine=options.engine, binary="pythonfmu"), loads="all"), 50)
    compare(found, simulate(mechanism, 0.5, step=0.001, output_step=0.01, loads="all", plugins=plugins), 1e-9)


def test_the_library_is_the_native_fmu_to_the_bit(exported, native):
    found = run_script(RUN, exported(tumbling(), LIBRARY), 30)
    with Hosted(native(tumbling())) as fmu:
        fmu.initialize()
        for k in range(31):
            assert fmu.get(found["names"]).tolist() == found["rows"][k]
            fmu.step(k * 0.01, 0.01)


def test_a_force_in_plain_python(tmp_path, exported):
    mechanism, plugins = stopped(tmp_path)
    found = run_script(RUN, exported(mechanism, plugins=plugins), 100)
    compare(found, simulate(mechanism, 1.0, step=0.001, output_step=0.01, plugins=plugins), 1e-9)
    assert "force 'stop' calls plain Python" in found["said"]


@pytest.mark.quick("dop853-auto")
@pytest.mark.parametrize(("name", "engine"), [("dop853", "auto"), ("radau", "package")])
def test_a_solver_goes_from_point_to_point(name, engine, exported, plugins):
    # Both runs keep a local error of rtol = 1e-9; over 1 s in which the body turns about one radian, errors add up to some
    # 1e-8 at most in either of them. Starting anew at every communication point changes nothing but the choice of steps.
    path = exported(tumbling(), PythonOptions(engine=engine), integrator=name)
    found = run_script(RUN, path, 100)
    compare(found, simulate(tumbling(), 1.0, integrator=name, output_step=0.01, plugins=plugins), 5e-8)
    assert ("with compiled equations" in found["said"]) == (engine == "auto")


STATES = """
with fmu() as one:
    one.begin()
    one.set({"spin": 1.3})
    one.raw.exitInitializationMode()
    one.set({"push": 3.0})
    one.steps(7, 0.01)
    state = one.save()
    kept = one.to_bytes(state)
    one.steps(20, 0.01, first=7)
    first = one.get(one.outputs).tobytes()
    one.set({"push": -100.0})
    one.restore(state)
    one.steps(20, 0.01, first=7)
    again = one.get(one.outputs).tobytes()
    one.forget(state)
    answer(kept=kept.hex(), first=first.hex(), again=again.hex())
"""
CONTINUE = """
with fmu(logging=True) as one:
    one.restore(one.from_bytes(bytes.fromhex(sys.argv[2])))
    one.steps(20, 0.01, first=7)
    answer(first=one.get(one.outputs).tobytes().hex(), said=one.messages[0][1])
"""


@pytest.mark.quick("library-pythonfmu", "package-bridge")
@pytest.mark.parametrize("binary", BINARIES)
@pytest.mark.parametrize("engine", ["library", "package"])
def test_states_come_back_to_the_bit_here_and_in_another_process(engine, binary, exported):
    path = exported(tumbling(), PythonOptions(engine=engine, binary=binary))
    found = run_script(STATES, path)
    assert found["again"] == found["first"]
    assert run_script(CONTINUE, path, found["kept"])["first"] == found["first"]


def test_without_its_library_an_fmu_goes_on_in_python(tmp_path, exported):
    path = exported(tumbling())
    found = run_script(STATES, path)
    broken = tmp_path / "broken.fmu"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(broken, "w") as new:
        for name in old.namelist():
            new.writestr(name, b"not a library" if "/library/" in name else old.read(name))
    went_on = run_script(CONTINUE, broken, found["kept"])
    assert "the compiled library cannot be used here" in went_on["said"]
    here, there = (np.frombuffer(bytes.fromhex(result["first"])) for result in (found, went_on))
    # The same operations in another order of no consequence: some ulp in each of 200 steps.
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-12)


MANY = """
import fmpy
from fmpy.fmi2 import FMU2Slave
description, folder = fmpy.read_model_description(sys.argv[1]), str(fmpy.extract(sys.argv[1]))
references = {variable.name: variable.valueReference for variable in description.modelVariables}
outputs = [variable.valueReference for variable in description.modelVariables if variable.causality == "output"]

def instance(push):
    one = FMU2Slave(guid=description.guid, unzipDirectory=folder, modelIdentifier="tumbling", instanceName="one")
    one.instantiate()
    one.setupExperiment(startTime=0.0)
    one.enterInitializationMode()
    one.setReal([references["push"]], [push])
    one.exitInitializationMode()
    for k in range(3):
        one.doStep(k * 0.01, 0.01)
    return one

first = instance(0.0)
expected = first.getReal(outputs)
others = [instance(float(i)) for i in range(200)]
gc.collect()
for other in others[1:]:
    other.freeInstance()
gc.collect()
same = others[0].getReal(outputs) == expected == first.getReal(outputs)
first.freeInstance()
others[0].freeInstance()
own = {name.split(".")[0] for name in sys.modules if name.startswith("kingpost_fmu_")}
answer(same=same, runtimes=len(own), path=[entry for entry in sys.path if folder in entry])
"""


@pytest.mark.quick("library-pythonfmu", "package-bridge")
@pytest.mark.parametrize("binary", BINARIES)
@pytest.mark.parametrize("engine", ["library", "package"])
def test_two_hundred_instances(engine, binary, exported):
    # pythonfmu's binary gives up one reference to the slave module with every instance: 200 are more than a module has.
    found = run_script(MANY, exported(tumbling(), PythonOptions(engine=engine, binary=binary)))
    assert found == {"same": True, "runtimes": 1, "path": [], "stderr": found["stderr"]}


TOGETHER = """
import kingpost.registry.kinds
hidden = sys.modules["kingpost"]
paths = sys.argv[1:]
alone = []
for i in range(len(paths)):
    with fmu(i + 1) as one:
        one.initialize()
        one.steps(100, 0.01)
        alone.append(one.get("pivot.angle"))
both = [fmu(i + 1) for i in range(len(paths))]
for one in both:
    one.initialize()
for k in range(100):
    for one in both:
        one.step(k * 0.01, 0.01)
together = [one.get("pivot.angle") for one in both]
for one in both:
    one.__exit__()
untouched = sys.modules["kingpost"] is hidden and kingpost.registry.kinds.HERE == "kingpost"
answer(alone=alone, together=together, untouched=untouched, packages=sorted(
    {name.split(".")[0] for name in sys.modules if name.startswith("kingpost_") and "plugin" not in name}))
"""


@pytest.mark.quick("bridge")
@pytest.mark.parametrize("binary", BINARIES)
def test_different_fmus_in_one_process_keep_to_themselves(binary, tmp_path, exported):
    """The same model name, plugin file name and force name, with another stiffness; and Kingpost itself beside them."""
    paths, expected = [], []
    for stiffness in (20.0, 80.0):
        mechanism, plugins = stopped(tmp_path / f"{stiffness:g}", stiffness)
        paths.append(exported(mechanism, PythonOptions(binary=binary), plugins=plugins))
        expected.append(simulate(mechanism, 1.0, step=0.001, plugins=plugins)["pivot.angle"][-1])
    paths.append(exported(rig(), PythonOptions(binary=binary)))
    expected.append(simulate(rig(), 1.0, step=0.001)["pivot.angle"][-1])
    found = run_script(TOGETHER, *paths)
    np.testing.assert_allclose(found["alone"], expected, rtol=0, atol=1e-9)
    assert found["together"] == found["alone"]
    assert found["untouched"]
    assert len(found["packages"]) == 4  # one runtime each, and one copy of Kingpost that two of them share


@pytest.mark.quick("bridge-br*")
@pytest.mark.parametrize(
    ("binary", "folder"), [("bridge", "brønnøysund (1) #%20"), ("bridge", "with space"), ("pythonfmu", "with space")]
)
def test_folders_with_other_letters(binary, folder, tmp_path, exported):
    path = exported(rig(), PythonOptions(binary=binary))
    place = tmp_path / folder
    place.mkdir()
    found = run_script(RUN, path, 5, TMPDIR=str(place))
    assert len(found["rows"]) == 6


def test_a_program_without_python_in_it(tmp_path, exported, c_master, monkeypatch):
    """No LD_PRELOAD, a folder that the importer does not tell, two threads, and a state that goes through a file."""
    monkeypatch.setenv("KINGPOST_PYTHON", sys.executable)
    mechanism, plugins = stopped(tmp_path)
    loaded = []
    for name, path in (("rig", exported(rig())), ("stopped", exported(mechanism, plugins=plugins))):
        folder = tmp_path / "brønnøysund" / name
        shutil.unpack_archive(path, folder, "zip")
        library, token = (
            folder / "binaries" / fmpy.platform / f"{name}{fmpy.sharedLibraryExtension}",
            fmpy.read_model_description(str(path)).guid,
        )
        angle = reference(path)["pivot.angle"]
        values = c_master(2, library, token, "run", 30, 0.01, angle).stdout.split()
        with_plugins = simulate(mechanism if name == "stopped" else rig(), 0.3, step=0.001, output_step=0.01, plugins=plugins)
        np.testing.assert_allclose(float.fromhex(values[-1]), with_plugins["pivot.angle"][-1], rtol=0, atol=1e-9)
        c_master(2, library, token, "threads", 20, 0.01, angle)
        c_master(2, library, token, "save", tmp_path / "state", 10, 0.01)
        went_on = c_master(2, library, token, "restore", tmp_path / "state", 20, 0.01, angle).stdout.split()
        assert went_on[-1] == values[-1]
        loaded += [(library, token)]
    together = c_master(2, *loaded[0], "together", 2, *loaded[1], 30, 0.01, angle)
    assert values[-1] in together.stdout


def test_the_description_is_without_fault(tmp_path, exported):
    mechanism, plugins = stopped(tmp_path)
    paths = [
        exported(rig()),
        exported(mechanism, plugins=plugins),
        exported(tumbling(), PythonOptions(needs_execution_tool=False)),
    ]
    for path in paths:
        assert validate_fmu(str(path)) == []
        description = fmpy.read_model_description(str(path))
        assert all(variable.unit for variable in description.modelVariables)
        assert description.coSimulation.needsExecutionTool == (path != paths[2])
        assert description.coSimulation.canGetAndSetFMUstate
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            assert archive.read("resources/slavemodule.txt").decode() + ".py" in [
                name.removeprefix("resources/") for name in names
            ]
        assert {"binaries/win64/" in name for name in names} == {True, False}
        assert "documentation/licenses/pythonfmu.txt" in names


def test_the_same_bytes_every_time(tmp_path, plugins):
    written = []
    for i, settings in enumerate(({}, {}, {"mass": 3.0})):
        model = prepare_export(rig(), plugins=plugins, settings=settings)
        PythonFmu().export(model, ExportSelection(), tmp_path / f"{i}.fmu")
        written.append((tmp_path / f"{i}.fmu").read_bytes())
    assert written[0] == written[1]
    guids = [fmpy.read_model_description(str(tmp_path / f"{i}.fmu")).guid for i in range(3)]
    assert guids[0] != guids[2]


def test_what_cannot_be_exported(tmp_path, plugins, monkeypatch):
    mechanism, own = stopped(tmp_path)
    selection, path = ExportSelection(), tmp_path / "x.fmu"
    with pytest.raises(ExportError, match="cannot be compiled: force 'stop' calls plain Python.*engine=package"):
        PythonFmu(LIBRARY).export(prepare_export(mechanism, plugins=own), selection, path)
    model = prepare_export(flywheel(), plugins=plugins, integrator=ImplicitMidpoint)
    with pytest.raises(ExportError, match="integrator 'implicit-midpoint' belongs to no plugin.*Put it into a plugin file"):
        PythonFmu(PACKAGE).export(model, selection, path)
    # Traced, so that it needs no code of its own where the library can be used.
    PythonFmu().export(model, selection, path)
    monkeypatch.setenv("CC", "/nowhere/cc")
    with pytest.raises(ExportError, match="engine=library needs a C compiler, and there is none"):
        PythonFmu(LIBRARY).export(prepare_export(rig(), plugins=plugins), selection, path)
    facts = dict(PythonFmu().export(prepare_export(rig(), plugins=plugins), selection, path).facts)
    assert facts["engine"] == "Kingpost in Python (there was no C compiler at the export)"
    assert "linux64 (pythonfmu" in facts["binaries"]
    assert len(run_script(RUN, path, 3)["rows"]) == 4


@pytest.mark.slow
def test_the_command_line(tmp_path, root):
    words = [sys.executable, "-m", "kingpost", "export", "double-pendulum", "-o", str(tmp_path / "dp.fmu"), "--to"]
    done = subprocess.run([*words, "fmu:engine=package", "--fmi", "2"], capture_output=True, text=True, cwd=root, check=True)
    assert "FMI 2.0 co-simulation, Python inside" in done.stdout
    refused = subprocess.run([*words, "fmu", "--fmi", "3"], capture_output=True, text=True, cwd=root, check=False)
    assert refused.returncode != 0
    assert "fmi: expected one of 2, got 3" in refused.stderr
