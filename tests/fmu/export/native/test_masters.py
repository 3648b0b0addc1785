"""Native FMUs in real masters: fmpy, libcosim (Open Simulation Platform), Ecos, and one in plain C."""

import os
import shutil
import subprocess
import sys

import fmpy
import numpy as np
import pytest

from kingpost import simulate
from tests.fmu.conftest import HEADERS
from tests.fmu.export.masters import in_master
from tests.fmu.hosting import Hosted, reference
from tests.fmu.machines import flywheel, rig, tumbling

STEP = 0.01
SETTINGS = {"m4": 45.0, "luff.angle": 0.2}
INPUTS = {"slew_torque": 100.0, "vessel_moment_x": -500.0}


@pytest.fixture(scope="module")
def expected(machine, plugins):
    """One second of the vessel-crane in process."""
    return simulate(
        machine("vessel-crane"), 1.0, settings=SETTINGS, inputs={name: lambda t, v=value: v for name, value in INPUTS.items()},
        loads="all", plugins=plugins,
    )  # fmt: skip


@pytest.fixture(scope="module")
def crane(native, machine):
    """The FMUs of the vessel-crane, the same as in test_native.py."""
    return {fmi: native(machine("vessel-crane"), fmi=fmi, step=1e-3, loads="all") for fmi in (2, 3)}


def outputs_of(path):
    return [
        variable.name for variable in fmpy.read_model_description(str(path)).modelVariables if variable.causality == "output"
    ]


def close(found, history, names):
    """Compare the last row of a run to 1e-9 of the largest value that each output has had."""
    for name, value in zip(names, found, strict=True):
        assert abs(value - history[name][-1]) <= 1e-9 * max(np.abs(history[name]).max(), 1e-9), name


@pytest.mark.parametrize("fmi", [2, 3])
def test_fmpy(fmi, crane, expected):
    names = outputs_of(crane[fmi])
    for extra in ({}, {"early_return_allowed": True} if fmi == 3 else {}):
        found = fmpy.simulate_fmu(
            str(crane[fmi]), stop_time=1.0, output_interval=STEP, start_values={**SETTINGS, **INPUTS}, output=names, **extra
        )
        assert len(found) == 101
        close([found[name][-1] for name in names], expected, names)


def test_fmpy_gives_rates_of_inputs(crane, machine, plugins):
    """With rates of inputs, steps of 50 ms are as good as without them only steps fifty times shorter are."""
    signals = [signal.name for signal in machine("vessel-crane").inputs]
    # fmpy has room for the rates of exactly nine inputs, and knows no rate at the very first sample.
    assert len(signals) == 9
    slopes = {"slew_torque": 4000.0, "knuckle_torque": -2000.0}
    table = np.array([(t, *(slopes.get(name, 0.0) * t for name in signals)) for t in (-1.0, 2.0)])
    table = np.array(list(map(tuple, table)), dtype=[("time", float), *((name, float) for name in signals)])
    fine = simulate(
        machine("vessel-crane"), 0.5, inputs={name: lambda t, slope=slope: slope * t for name, slope in slopes.items()},
        output_step=0.001, plugins=plugins,
    )  # fmt: skip
    errors = {}
    for given in (True, False):
        found = fmpy.simulate_fmu(
            str(crane[2]), stop_time=0.5, output_interval=0.05, input=table, set_input_derivatives=given, output=["slew.angle"]
        )
        errors[given] = abs(found["slew.angle"][-1] - fine["slew.angle"][-1])
    # Held over 50 ms a torque is behind by 25 ms on average, and by 0.5 ms in the finer run.
    assert errors[True] < 0.03 * errors[False]


def test_libcosim(crane, expected):
    names, places = outputs_of(crane[2]), reference(crane[2])
    model = {
        "path": str(crane[2]),
        "start": [(places[name], value) for name, value in SETTINGS.items()],
        "inputs": [(places[name], value) for name, value in INPUTS.items()],
        "read": [places[name] for name in names],
    }
    # Two instances, the second without inputs: they must not be the same.
    other = {**model, "inputs": []}
    found = in_master(
        "libcosim", "libcosimpy.CosimExecution", {"step": STEP, "stop": 1.0, "models": {"one": model, "two": other}}
    )
    assert found["done"]
    close(found["one"], expected, names)
    assert found["two"] != found["one"]


SPEAKING = """
import sys
from libcosimpy.CosimExecution import CosimExecution
from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
from libcosimpy.CosimSlave import CosimLocalSlave
log_output_level(CosimLogLevel.INFO)
execution = CosimExecution.from_step_size(step_size=1e7)
for i, path in enumerate(sys.argv[1:]):
    execution.add_local_slave(CosimLocalSlave(fmu_path=path, instance_name=f"number{i}"))
assert execution.simulate_until(2 * 10**7)
"""


def test_libcosim_has_nothing_to_complain_about(crane, native):
    pytest.importorskip("libcosimpy.CosimExecution", reason="needs libcosimpy")
    words = [sys.executable, "-c", SPEAKING, crane[2], native(rig()), native(rig(), fmi=2, outputs=["tip.*"])]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    said = done.stdout + done.stderr
    assert "[info" in said  # it speaks
    assert "error" not in said.lower() and "warning" not in said.lower()


def test_libcosim_cannot_read_fmi_3():
    pytest.skip("libcosim reads FMI 1 and 2 only (open-simulation-platform/libcosim issue 741)")


@pytest.mark.parametrize("fmi", [2, 3])
def test_ecos(fmi, crane, expected):
    names = outputs_of(crane[fmi])
    model = {"path": str(crane[fmi]), "start": list(SETTINGS.items()), "inputs": list(INPUTS.items()), "read": names}
    found = in_master("ecos", "ecospy.lib", {"step": STEP, "stop": 1.0, "models": {"one": model}})
    assert found["time"] == pytest.approx(1.0)
    close(found["one"], expected, names)


def coupled(native):
    """A pendulum whose angle is the torque on a wheel, exchanged every 10 ms: 100 steps by hand."""
    paths = {"pendulum": native(rig()), "wheel": native(flywheel(), step=1.0)}
    with Hosted(paths["pendulum"]) as pendulum, Hosted(paths["wheel"]) as wheel:
        pendulum.initialize()
        wheel.initialize({"torque": pendulum.get("pivot.angle")})
        for i in range(100):
            pendulum.step(i * STEP, STEP)
            wheel.step(i * STEP, STEP)
            wheel.set({"torque": pendulum.get("pivot.angle")})
        return paths, [pendulum.get("pivot.angle"), wheel.get("axle.angle")]


def test_two_models_coupled_in_libcosim(native):
    paths, by_hand = coupled(native)
    places = {name: reference(path) for name, path in paths.items()}
    task = {
        "step": STEP,
        "stop": 1.0,
        "models": {
            "pendulum": {"path": str(paths["pendulum"]), "read": [places["pendulum"]["pivot.angle"]]},
            "wheel": {"path": str(paths["wheel"]), "read": [places["wheel"]["axle.angle"]]},
        },
        "connections": [["pendulum", places["pendulum"]["pivot.angle"], "wheel", places["wheel"]["torque"]]],
    }
    found = in_master("libcosim", "libcosimpy.CosimExecution", task)
    assert [*found["pendulum"], *found["wheel"]] == pytest.approx(by_hand, rel=1e-12)


def test_two_models_coupled_in_ecos(native):
    paths, by_hand = coupled(native)
    task = {
        "step": STEP,
        "stop": 1.0,
        "models": {
            "pendulum": {"path": str(paths["pendulum"]), "read": ["pivot.angle"]},
            "wheel": {"path": str(paths["wheel"]), "read": ["axle.angle"]},
        },
        "connections": [["pendulum::pivot.angle", "wheel::torque"]],
    }
    found = in_master("ecos", "ecospy.lib", task)
    assert [*found["pendulum"], *found["wheel"]] == pytest.approx(by_hand, rel=1e-12)


def test_libcosim_survives_a_value_that_is_refused(native):
    path = native(rig())
    places = reference(path)
    model = {"path": str(path), "inputs": [(places["torque"], float("nan"))], "read": [places["pivot.angle"]]}
    found = in_master("libcosim", "libcosimpy.CosimExecution", {"step": STEP, "stop": 1.0, "models": {"one": model}})
    assert not found["done"]
    assert np.isfinite(found["one"]).all()


@pytest.mark.parametrize(("master", "module"), [("libcosim", "libcosimpy.CosimExecution"), ("ecos", "ecospy.lib")])
def test_two_hundred_instances_come_to_the_same_numbers(master, module, native):
    path = native(rig())
    read = ["pivot.angle"] if master == "ecos" else [reference(path)["pivot.angle"]]
    models = {f"m{i}": {"path": str(path), "read": read} for i in range(200)}
    found = in_master(master, module, {"step": STEP, "stop": 0.1, "models": models})
    values = {found[name][0] for name in models}
    assert len(values) == 1
    assert np.isfinite(values.pop())


def test_unknown_references_never_reach_an_fmu_from_libcosim_or_ecos():
    pytest.skip("libcosim refuses references that the description does not list, Ecos takes names; see test_calls.py for fmpy")


def test_ecos_survives_a_value_that_is_refused(native):
    model = {"path": str(native(rig())), "inputs": [("torque", float("nan"))], "read": ["pivot.angle"]}
    found = in_master("ecos", "ecospy.lib", {"step": STEP, "stop": 0.1, "models": {"one": model}})
    assert np.isfinite(found["one"]).all()


@pytest.mark.parametrize("fmi", [2, 3])
def test_a_folder_with_letters_of_many_languages(fmi, native, tmp_path):
    folder = tmp_path / "Ålesund kran № 1, 中文 %20 #"
    folder.mkdir()
    path = shutil.copy(native(rig(), fmi=fmi), folder / "fjær.fmu")
    found = fmpy.simulate_fmu(str(path), stop_time=0.5, output_interval=STEP)
    reached = found["pivot.angle"][-1]
    if fmi == 2:
        places = reference(path)
        task = {"step": STEP, "stop": 0.5, "models": {"one": {"path": str(path), "read": [places["pivot.angle"]]}}}
        assert in_master("libcosim", "libcosimpy.CosimExecution", task)["one"] == pytest.approx([reached], rel=1e-12)
    task = {"step": STEP, "stop": 0.5, "models": {"one": {"path": str(path), "read": ["pivot.angle"]}}}
    assert in_master("ecos", "ecospy.lib", task)["one"] == pytest.approx([reached], rel=1e-12)


# The master in plain C.


class Unpacked:
    """What the C master needs to know of an FMU."""

    def __init__(self, path, folder):
        fmpy.extract(str(path), str(folder))
        description = fmpy.read_model_description(str(path))
        self.version = int(description.fmiVersion[0])
        self.places = reference(path)
        (self.library,) = (folder / "binaries").rglob("*.so")
        self.token = description.guid
        self.words = (self.version, self.library, self.token)


def rows(done):
    """Return the table that a run printed."""
    return np.array([[float.fromhex(word) for word in line.split()] for line in done.stdout.splitlines()])


@pytest.mark.parametrize("fmi", [2, 3])
def test_the_c_master_comes_to_the_same_numbers(fmi, crane, expected, c_master, tmp_path):
    model = Unpacked(crane[fmi], tmp_path)
    names = outputs_of(crane[fmi])
    start = [f"{model.places[name]}={value!r}" for name, value in {**SETTINGS, **INPUTS}.items()]
    table = rows(c_master(*model.words, "run", 100, STEP, *start, *(model.places[name] for name in names)))
    assert table.shape == (101, len(names) + 1)
    for name, column in zip(names, table.T[1:], strict=True):
        assert np.abs(column - expected[name]).max() <= 1e-9 * max(np.abs(expected[name]).max(), 1e-9), name


@pytest.mark.quick("cs-3", "me-2")
@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("kind", ["cs", "me"])
def test_every_function_can_be_called_at_any_time(fmi, kind, native, c_master, tmp_path):
    for place, mechanism in enumerate((rig(), tumbling())):
        model = Unpacked(native(mechanism, fmi=fmi, fmu=kind), tmp_path / str(place))
        done = c_master(*model.words, "calls")
        # As many as the standard's own header declares.
        declared = (HEADERS / f"fmi{fmi}FunctionTypes.h").read_text().replace(" ", "").count("TYPE(")
        assert done.stdout == f"{declared} functions\n"
        assert "[logStatusError] " in done.stderr


@pytest.mark.parametrize("fmi", [2, 3])
def test_instances_in_threads_come_to_the_same_bits(fmi, crane, native, c_master, tmp_path):
    for place, path in enumerate((crane[fmi], native(tumbling(), fmi=fmi))):
        model = Unpacked(path, tmp_path / str(place))
        references = [model.places[name] for name in outputs_of(path)]
        assert c_master(*model.words, "threads", 1500, STEP, *references).stdout == "same bits\n"


@pytest.mark.parametrize("fmi", [2, 3])
def test_a_state_goes_from_one_c_process_to_another(fmi, native, c_master, tmp_path):
    path = native(tumbling(), fmi=fmi)
    model = Unpacked(path, tmp_path)
    references = [model.places[name] for name in outputs_of(path)]
    whole = c_master(*model.words, "run", 50, STEP, *references).stdout.splitlines()
    c_master(*model.words, "save", tmp_path / "state", 30, STEP)
    rest = c_master(*model.words, "restore", tmp_path / "state", 20, STEP, *references).stdout.splitlines()
    assert [line.split()[1:] for line in rest] == [line.split()[1:] for line in whole[31:]]
    other = Unpacked(native(rig(), fmi=fmi), tmp_path / "other")
    refused = c_master(*other.words, "restore", tmp_path / "state", 20, STEP, 1, check=False)
    assert refused.returncode == 1 and "bytes are not a state of this model" in refused.stderr


def test_two_models_in_one_process_do_not_see_each_other(native, crane, c_master, tmp_path):
    paths = {"rig2": native(rig()), "rig3": native(rig(), fmi=3), "tumbling": native(tumbling()), "crane": crane[2]}
    models = {name: Unpacked(path, tmp_path / name) for name, path in paths.items()}
    references = list(range(1, 10))
    alone = {name: rows(c_master(*model.words, "run", 40, STEP, *references))[-1] for name, model in models.items()}
    for first, second in (
        ("rig2", "tumbling"),
        ("tumbling", "rig2"),
        ("crane", "tumbling"),
        ("rig3", "rig2"),
        ("crane", "rig3"),
    ):
        both = rows(c_master(*models[first].words, "together", *models[second].words, 40, STEP, *references))
        assert both.tolist() == [alone[first].tolist(), alone[second].tolist()]


@pytest.mark.skipif(shutil.which("nm") is None or sys.platform != "linux", reason="needs nm")
@pytest.mark.parametrize("fmi", [2, 3])
def test_a_binary_shows_the_functions_of_the_standard_and_needs_nothing_but_c(fmi, crane, tmp_path):
    model = Unpacked(crane[fmi], tmp_path)
    listing = subprocess.run(["nm", "-D", "--defined-only", model.library], capture_output=True, text=True, check=True).stdout
    shown = {line.split()[-1] for line in listing.splitlines()}
    header = (HEADERS / f"fmi{fmi}FunctionTypes.h").read_text().replace(" ", "")
    assert all(name.startswith(f"fmi{fmi}") and f"{name}TYPE(" in header for name in shown)
    assert len(shown) == header.count("TYPE(")
    needs = subprocess.run(["nm", "-D", "--undefined-only", model.library], capture_output=True, text=True, check=True).stdout
    assert "Py" not in needs
    libraries = subprocess.run(["objdump", "-p", model.library], capture_output=True, text=True, check=True).stdout
    assert {line.split()[1] for line in libraries.splitlines() if "NEEDED" in line} == {"libm.so.6", "libc.so.6"}
    assert b"python" not in model.library.read_bytes().lower()


@pytest.mark.slow
def test_other_platforms(machine, plugins, tmp_path):
    """Zig builds binaries for systems that this is not; the first Windows build takes a minute."""
    pytest.importorskip("ziglang", reason="needs the 'cross' extra")
    from kingpost.fmu.export.native.building import PLATFORMS
    from kingpost.fmu.export.native.exporter import NativeFmu, NativeOptions
    from kingpost.simulation.export_model import prepare_export
    from kingpost.simulation.exporter import ExportSelection

    model = prepare_export(machine("double-pendulum"), plugins=plugins)
    beginnings = {"linux64": b"\x7fELF", "linux-arm64": b"\x7fELF", "win64": b"MZ"}
    for fmi in (2, 3):
        path = tmp_path / f"{fmi}.fmu"
        NativeFmu(NativeOptions(fmi=fmi, platforms="+".join(PLATFORMS))).export(model, ExportSelection(), path)
        fmpy.extract(str(path), str(tmp_path / str(fmi)))
        for name, platform in PLATFORMS.items():
            binary = tmp_path / str(fmi) / "binaries" / platform.folders[fmi] / f"double_pendulum{platform.suffix}"
            content = binary.read_bytes()
            assert content.startswith(beginnings.get(name, b"\xcf\xfa\xed\xfe"))
            assert f"fmi{fmi}DoStep".encode() in content
        if os.uname().machine == "x86_64":
            assert len(fmpy.simulate_fmu(str(path), stop_time=0.1)) > 1
