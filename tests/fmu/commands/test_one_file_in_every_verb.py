"""What a file says under [run] holds in every verb: the same start, the same motion, the same loads, the same record."""

import dataclasses
import json
import zipfile

import numpy as np
import pytest

from kingpost import RunSettings, open_model, read_history

#: A linkage whose start leaves its loop open, pushed by a torque that changes with time, through a drive that lags.
MACHINE = """\
name = "linkage"

[[bodies]]
name = "crank"
mass = 1.0
com = [0.5, 0, 0]
inertia = [0.001, 0.084, 0.084]

[[bodies]]
name = "coupler"
mass = 3.0
com = [1.5, 0, 0]
inertia = [0.023, 2.25, 2.25]

[[bodies]]
name = "rocker"
mass = 2.0
com = [1.25, 0, 0]
inertia = [0.01, 1.05, 1.05]

[[joints]]
name = "pivot"
kind = "revolute"
parent = "world"
child = "crank"
axis = [0, -1, 0]
start = 1.0

[[joints]]
name = "pin"
kind = "revolute"
parent = "crank"
child = "coupler"
axis = [0, -1, 0]
position = [1, 0, 0]
start = -0.7

[[joints]]
name = "hinge"
kind = "revolute"
parent = "world"
child = "rocker"
axis = [0, -1, 0]
position = [3, 0, 0]
start = 1.6

[[closures]]
name = "eye"
kind = "point-on-line"
parent = "rocker"
child = "coupler"
axis = [0, -1, 0]
position = [2.5, 0, 0]
child_position = [3, 0, 0]

[[forces]]
kind = "gravity"

[[forces]]
kind = "joint-actuator"
name = "drive"
coordinate = "pivot.angle"
stiffness = 400.0
damping = 20.0
target = "0.9 + 0.2 * sin(3 * t)"
time_constant = 0.02

[run]
t_start = 0.5
t_end = 0.9
step = 0.002
output_step = 0.02
formulation = { name = "kane", baumgarte = 3.0 }
integrator = { name = "bdf2", iterations = 15 }
backend = "c"
start = "equilibrium"
close_loops = true
loads = ["pivot:frame=parent", "coupler-section", "eye"]
load_method = "recursive"
load_metric = "size"
check_step = 0.5
tilt_limit = 30.0
verify = "maggi"
cut = ["coupler=1.2"]
monitors = true
write = ["csv"]
"""
SYSTEM = """\
name = "alone"

[run]
step = 0.02
t_start = 0.5
t_end = 0.9

[components.machine]
model = "linkage.toml"
"""
#: Of what a run says of itself, what belongs to the problem and not to how its time was spent.
POSED = (
    "model", "parameters", "geometry", "start", "start_from", "fitted_start", "formulation", "formulation_options",
    "integrator", "cut", "loads",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("verbs")
    (path / "linkage.toml").write_text(MACHINE)
    (path / "system.toml").write_text(SYSTEM)
    return path


@pytest.fixture(scope="module")
def run(folder):
    """The history of ``kingpost run``, from Python."""
    return open_model(folder / "linkage.toml").simulate()


def compared(run, other, prefix=""):
    """Compare all channels of a run that another result has, and return their names."""
    names = [name for name in run.names if f"{prefix}{name}" in other.names]
    np.testing.assert_allclose(other.time, run.time, rtol=0, atol=1e-12)
    for name in names:
        # The same steps in the same arithmetic, in other machine code: a few bits over 200 implicit steps.
        scale = max(1.0, np.abs(run[name]).max())
        np.testing.assert_allclose(other[f"{prefix}{name}"], run[name], rtol=0, atol=1e-9 * scale, err_msg=name)
    return names


def posed(record):
    return {key: json.loads(json.dumps(record[key])) for key in POSED}


def test_the_file_has_every_key(folder):
    said = open_model(folder / "linkage.toml").run[-1]
    # The linkage stands ashore.
    assert set(said.given) == {field.name for field in dataclasses.fields(RunSettings)} - {"sea"}


def test_the_run_is_as_the_file_says(folder, run, kingpost_cli):
    assert kingpost_cli("run", str(folder / "linkage.toml"), "--out", str(folder / "out")).status == 0
    history = read_history(folder / "out")
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["history.csv", "run.json"]
    assert len(compared(run, history)) == len(run.names)
    record = history.provenance
    assert posed(record) == posed(run.provenance)
    assert record["time"] == {"start_s": 0.5, "end_s": 0.9, "step_s": 0.002, "output_step_s": 0.02}
    assert record["integrator"]["options"]["iterations"] == 15 and record["formulation_options"]["baumgarte"] == 3.0
    assert record["loads"]["method"] == "recursive" and set(record["loads"]["joints"]) == {"pivot", "coupler-section", "eye"}
    assert record["backend"]["name"] == "c" and "energy.work" in history.names
    # It begins at rest, in equilibrium with the drive as it is at the start, and then moves.
    assert not history["pivot.angle.rate"][0] and np.ptp(history["pivot.angle"]) > 0.01
    asked = 400 * (0.9 + 0.2 * np.sin(1.5) - history["pivot.angle"][0]) + 20 * 0.6 * np.cos(1.5)
    assert history["drive.effort"][0] == pytest.approx(asked, rel=1e-9)


@pytest.mark.quick("native-fmu", "fmu")
@pytest.mark.parametrize("exporter", ["native-fmu", "fmu", "fmu:engine=package"])
def test_an_export_is_the_same_machine(folder, run, kingpost_cli, exporter):
    path = folder / f"{exporter.replace(':', '-')}.fmu"
    assert kingpost_cli("export", str(folder / "linkage.toml"), "--to", exporter, "-o", str(path), "--outputs", "*").status == 0
    with zipfile.ZipFile(path) as archive:
        record = json.loads(archive.read("resources/kingpost.json"))
        description = archive.read("modelDescription.xml").decode()
    step = record["integrator"].pop("step_s")
    assert step == 0.002
    record["model"].pop("definition")
    assert posed(record) == posed(run.provenance)
    assert 'startTime="0.5"' in description and 'stopTime="0.9"' in description and 'stepSize="0.02"' in description
    out = folder / path.stem
    assert kingpost_cli("fmu-run", str(path), "--out", str(out), "--write", "npz").status == 0
    names = compared(run, read_history(out))
    assert {"pivot.angle", "drive.effort", "coupler-section.Mz", "eye.Fx", "pivot.actuator.My"} <= set(names)


def test_a_component_is_the_same_machine(folder, run, kingpost_cli):
    outcome = kingpost_cli("cosim", str(folder / "system.toml"), "--out", str(folder / "cosim"), "--write", "npz")
    assert outcome.status == 0, outcome.err
    history = read_history(folder / "cosim")
    names = compared(run, history, "machine.")
    assert {"pivot.angle", "drive.effort", "coupler-section.Mz", "eye.Fx"} <= set(names)
    facts = history.provenance["system"]["components"]["machine"]
    assert posed(facts["posed"]) == posed(run.provenance)


def test_a_look_at_the_start_is_the_same_machine(folder, run, kingpost_cli):
    outcome = kingpost_cli("eval", str(folder / "linkage.toml"))
    assert outcome.status == 0, outcome.err
    answer = json.loads(outcome.out)
    assert (answer["t"], answer["formulation"]) == (0.5, "kane")
    values = dict(zip([*answer["names"]["q"], *answer["names"]["z"]], [*answer["q"], *answer["z"]], strict=True))
    for name, value in values.items():
        assert value == pytest.approx(run[name][0], rel=1e-12, abs=1e-12), name
    assert set(answer["loads"]) == {"pivot", "coupler-section", "eye"} and answer["loads"]["pivot"]["frame"] == "parent"
    assert np.abs(answer["vdot"]).max() < 1e-8 and np.abs(answer["zdot"]).max() < 1e-6


def test_the_command_line_comes_before_the_file(folder, kingpost_cli):
    words = ["--step", "0.004", "--integrator", "midpoint", "--no-close-loops", "--from", "start", "--set", "pin.angle=-0.6"]
    refused = kingpost_cli("export", str(folder / "linkage.toml"), "-o", str(folder / "x.fmu"), *words)
    assert refused.status == 3 and "leave closure 'eye' open" in refused.err and "(--close-loops)" in refused.err
    assert not (folder / "x.fmu").exists()
    done = kingpost_cli("export", str(folder / "linkage.toml"), "-o", str(folder / "x.fmu"), *words, "--close-loops")
    assert done.status == 0, done.err
    with zipfile.ZipFile(folder / "x.fmu") as archive:
        record = json.loads(archive.read("resources/kingpost.json"))
    assert record["integrator"]["name"] == "midpoint" and record["integrator"]["step_s"] == 0.004
    assert record["start_from"] == "start" and record["fitted_start"]


STIFF = """\
name = "stiff"

[[bodies]]
name = "block"
mass = 1.0
inertia = [1, 1, 1]

[[joints]]
name = "rail"
kind = "prismatic"
parent = "world"
child = "block"
axis = [1, 0, 0]
start = 0.01

[[forces]]
kind = "joint-spring"
coordinate = "rail.displacement"
stiffness = 1.6e7

[run]
step = 0.0001
t_end = 0.2
"""


def test_a_stiff_file_stays_stable_as_an_fmu(tmp_path, kingpost_cli):
    """omega = 4000/s: rk4 is stable up to 2.8/omega = 0.0007 s, and not with the usual 0.001 s."""
    (tmp_path / "stiff.toml").write_text(STIFF)
    assert kingpost_cli("export", str(tmp_path / "stiff.toml"), "-o", str(tmp_path / "s.fmu")).status == 0
    assert kingpost_cli("fmu-run", str(tmp_path / "s.fmu"), "--out", str(tmp_path / "o"), "--write", "npz").status == 0
    energy = read_history(tmp_path / "o")["energy.total"]
    # rk4 takes (omega h)^6 / 72 of the energy in a step, 2000 times: about a tenth.
    assert 0.8 * energy[0] < energy[-1] <= energy[0]
