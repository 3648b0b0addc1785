"""``kingpost export`` as a user meets it."""

import json
import zipfile

import fmpy
import pytest


def test_the_command(kingpost_cli, tmp_path):
    options = ["--set", "mass2=3", "--set", "elbow.angle=0.1", "--outputs", "elbow.*", "--loads", "none", "--step", "0.002"]
    outcome = kingpost_cli("export", "double-pendulum", *options, "--t-end", "7", "-o", "dp.fmu", "--json")
    assert outcome.status == 0
    record = json.loads(outcome.out)
    assert record["file"] == "dp.fmu"
    assert record["kind"] == "FMI 2.0 co-simulation, plain C"
    assert record["variables"] == "8: 2 outputs, 0 inputs, 6 parameters; 4 states"
    assert record["step"] == "rk4 with 0.002 s or less"
    description = fmpy.read_model_description(str(tmp_path / "dp.fmu"))
    starts = {variable.name: variable.start for variable in description.modelVariables}
    assert float(starts["mass2"]) == 3.0 and float(starts["elbow.angle"]) == 0.1
    experiment = description.defaultExperiment
    assert (float(experiment.stopTime), float(experiment.stepSize)) == (7.0, 0.02)
    with zipfile.ZipFile(tmp_path / "dp.fmu") as archive:
        assert json.loads(archive.read("resources/kingpost.json"))["integrator"]["step_s"] == 0.002


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--outputs", "tap.*"], 7, "outputs 'tap.*': nothing is called like that; did you mean 'tip."),
        (["--integrator", "dop853"], 7, "integrator 'dop853' is a solver that runs in Python, not a step map"),
        (["--to", "native-fmi"], 4, "unknown exporter 'native-fmi'; did you mean 'native-fmu'?"),
        (["--platforms", "linux64+mars"], 7, "'mars' is no platform"),
        (["--step", "0"], 7, "the step is 0 s; it must be above zero"),
        (["--communication-step", "nan"], 7, "the communication step is nan s; it must be above zero"),
        (["--set", "mass3=1"], 3, "has nothing called 'mass3' that could be set"),
        (["--setpoint-inputs"], 7, "'double-pendulum' has no force with a set-point"),
        (["--kind", "scheduled"], 2, "invalid choice: 'scheduled'"),
        (["--arrays"], 7, "FMI 2 has no arrays; export to FMI 3 (fmi=3), or without arrays"),
        (["--to", "fmu", "--names", "structured"], 7, "exporter 'fmu' has no choice of --names"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(words, status, message, kingpost_cli, tmp_path):
    outcome = kingpost_cli("export", "double-pendulum", *words, "-o", "dp.fmu")
    assert outcome.status == status
    assert message in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_arrays_and_structured_names(kingpost_cli, tmp_path):
    words = [
        "--fmi",
        "3",
        "--arrays",
        "--names",
        "structured",
        "--loads",
        "elbow",
        "--outputs",
        "elbow.[MF]?",
        "--outputs",
        "tip.*",
    ]
    assert kingpost_cli("export", "double-pendulum", *words, "-o", "dp.fmu").status == 0
    description = fmpy.read_model_description(str(tmp_path / "dp.fmu"))
    assert description.variableNamingConvention == "structured"
    shapes = {variable.name: variable.shape for variable in description.modelVariables if variable.shape}
    assert shapes == {"tip": (3,), "elbow.M": (3,), "elbow.F": (3,)}


def test_the_command_writes_ports(kingpost_cli, tmp_path):
    outcome = kingpost_cli("export", "double-pendulum", "--osp", "-o", "dp.fmu")
    assert outcome.status == 0, outcome.err
    assert (tmp_path / "dp_OspModelDescription.xml").is_file()
