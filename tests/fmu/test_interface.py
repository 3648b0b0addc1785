"""What an exported model shows: variables, units, dependencies, start values; and what the exporters refuse."""

import dataclasses
import json
import logging
import zipfile
from xml.etree import ElementTree

import fmpy
import pytest
from fmpy.validation import validate_fmu

from kingpost import ExportError, Force, ForceElement, Input, Loads, Mechanism, Parameter, PluginSet
from kingpost.fmu.export.archive import write_archive
from kingpost.fmu.export.native.building import PLATFORMS, platforms_named
from kingpost.fmu.export.native.exporter import NativeFmu, NativeOptions
from kingpost.fmu.interface.description import Capabilities, describe_model, model_identifier
from kingpost.fmu.interface.interface import build_interface
from kingpost.fmu.interface.setpoints import with_setpoint_inputs
from kingpost.fmu.interface.units import parse_unit
from kingpost.registry.registry import Source
from kingpost.simulation.export_model import prepare_export
from kingpost.simulation.exporter import ExportSelection
from tests.fmu.hosting import Hosted
from tests.fmu.machines import LENGTH, flywheel, rig, welded

CAPABILITIES = Capabilities(needs_execution_tool=False, directional_derivatives=True, input_interpolation=True)
VARIANTS = [(2, "cs"), (2, "me"), (3, "cs"), (3, "me")]
variants = pytest.mark.parametrize(("fmi", "kind"), VARIANTS)


def described(mechanism, fmi=2, kind="cs", selection=None, **options):
    """Return the text of a model description."""
    return shown(prepare_export(mechanism, plugins=PluginSet(entry_points=False), **options), fmi, kind, selection)


def shown(model, fmi=2, kind="cs", selection=None):
    return describe_model(build_interface(model, selection or ExportSelection(), kind), fmi, kind, CAPABILITIES)[0]


def written(folder, text):
    path = folder / "described.fmu"
    write_archive(path, {"modelDescription.xml": text.encode()})
    return path


def toolbox_findings(path, caplog):
    """Return what fmu-manipulation-toolbox complains about."""
    checker = pytest.importorskip("fmu_manipulation_toolbox.checker", reason="needs fmu-manipulation-toolbox")
    operations = pytest.importorskip("fmu_manipulation_toolbox.operations")
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="fmu_manipulation_toolbox"):
        fmu = operations.FMU(str(path))
        for check in checker.get_checkers():
            fmu.apply_operation(check())
    assert any("seems to be compliant" in record.getMessage() for record in caplog.records)
    return [record.getMessage() for record in caplog.records if record.levelno > logging.INFO]


OWN = {"rig": rig, "flywheel": flywheel, "welded": welded}


@pytest.mark.parametrize("name", [*PluginSet(entry_points=False).models, *OWN])
def test_validators_find_nothing_in_any_model(name, plugins, tmp_path, caplog):
    mechanism = OWN[name]() if name in OWN else plugins.models.get(name)().build()
    model = prepare_export(mechanism, plugins=plugins, loads="all" if len(mechanism.joints) < 10 else None)
    for fmi, kind in VARIANTS:
        path = written(tmp_path, shown(model, fmi, kind))
        assert validate_fmu(str(path)) == []
        assert toolbox_findings(path, caplog) == []
        description = fmpy.read_model_description(str(path))
        assert all(variable.unit for variable in description.modelVariables)


def test_the_validators_would_find_something(tmp_path, caplog):
    text = described(rig())
    wrong = text.replace('causality="parameter"', 'causality="output"', 1)
    path = written(tmp_path, wrong)
    assert validate_fmu(str(path)) != []
    assert toolbox_findings(path, caplog) != []


@pytest.mark.parametrize(
    ("text", "factor", "exponents"),
    [
        ("1", 1.0, {}),
        ("rad", 1.0, {"rad": 1}),
        ("N.m/rad3", 1.0, {"kg": 1, "m": 2, "s": -2, "rad": -3}),
        ("N.m.s/rad", 1.0, {"kg": 1, "m": 2, "s": -1, "rad": -1}),
        ("m/s2", 1.0, {"m": 1, "s": -2}),
        ("m.s-2", 1.0, {"m": 1, "s": -2}),
        ("kg/m/s", 1.0, {"kg": 1, "m": -1, "s": -1}),
        ("1/s", 1.0, {"s": -1}),
        ("kg/m3", 1.0, {"kg": 1, "m": -3}),
        ("deg/s", 0.017453292519943295, {"rad": 1, "s": -1}),
        ("kN", 1e3, {"kg": 1, "m": 1, "s": -2}),
        ("mm2", 1e-6, {"m": 2}),
        ("t/h", 1e3 / 3600, {"kg": 1, "s": -1}),
        ("W.s/J", 1.0, {}),
        ("bar", 1e5, {"kg": 1, "m": -1, "s": -2}),
    ],
)
def test_units_become_powers_of_base_units(text, factor, exponents):
    unit = parse_unit(text)
    assert (unit.known, unit.name, unit.exponents) == (True, text, exponents)
    assert unit.factor == pytest.approx(factor, rel=1e-15)


@pytest.mark.parametrize("text", ["furlong", "N.m/fortnight", "m^2", "°C", "", "m//s", "N m", "2m"])
def test_units_that_nobody_knows_have_a_name_and_no_powers(text):
    assert not parse_unit(text).known


def test_units_in_the_description(machine, tmp_path):
    text = described(machine("vessel-crane"), loads="all")
    units = {unit.get("name"): unit for unit in ElementTree.fromstring(text).iter("Unit")}
    assert units["N.m/rad3"].find("BaseUnit").attrib == {"kg": "1", "m": "2", "s": "-2", "rad": "-3"}
    assert units["1"].find("BaseUnit").attrib == {}
    odd = dataclasses.replace(rig(), inputs=(Input("torque", "N.m"), Input("warmth", "°C"), Input("turn", "deg")))
    for fmi in (2, 3):
        text = described(odd, fmi)
        assert validate_fmu(str(written(tmp_path, text))) == []
        units = {unit.get("name"): unit for unit in ElementTree.fromstring(text).iter("Unit")}
        assert units["°C"].find("BaseUnit") is None
        assert float(units["deg"].find("BaseUnit").get("factor")) == pytest.approx(0.017453292519943295, rel=1e-15)


@pytest.mark.parametrize("fmi", [2, 3])
def test_what_is_known_at_the_initialization(fmi, tmp_path):
    description = fmpy.read_model_description(str(written(tmp_path, described(rig(), fmi))))
    unknowns = {
        unknown.variable.name: {known.name for known in unknown.dependencies} for unknown in description.initialUnknowns
    }
    outputs = {variable.name for variable in description.modelVariables if variable.causality == "output"}
    # The rate starts at a number; the angle at a formula of 'tilt', which stands for it in everything else.
    assert set(unknowns) == outputs - {"pivot.angle.rate"}
    assert unknowns["pivot.angle"] == {"tilt"}
    assert unknowns["tip.x"] == {"tilt", "length"}
    assert unknowns["energy.kinetic"] == {"mass", "length", "pivot.angle.rate"}
    assert unknowns["energy.potential"] == {"mass", "length", "gravity", "tilt"}
    starts = {variable.name: variable.start for variable in description.modelVariables}
    assert starts["pivot.angle"] is None and float(starts["pivot.angle.rate"]) == 0.1
    bounds = next(variable for variable in description.modelVariables if variable.name == "length")
    assert (float(bounds.min), float(bounds.max), bounds.unit) == (0.1, 10.0, "m")


@variants
def test_derivatives_name_their_states(fmi, kind, tmp_path):
    description = fmpy.read_model_description(str(written(tmp_path, described(rig(), fmi, kind))))
    pairs = {
        variable.name: (variable.derivative.name, variable.unit)
        for variable in description.modelVariables
        if variable.derivative is not None
    }
    assert pairs == (
        {}
        if kind == "cs"
        else {"der(pivot.angle)": ("pivot.angle", "rad/s"), "der(pivot.angle.rate)": ("pivot.angle.rate", "rad/s2")}
    )
    assert len(description.derivatives) == (0 if kind == "cs" else 2)
    if kind == "me":
        known = {unknown.variable.name: [item.name for item in unknown.dependencies] for unknown in description.derivatives}
        assert known == {"der(pivot.angle)": ["pivot.angle.rate"], "der(pivot.angle.rate)": ["torque", "pivot.angle"]}


def test_capabilities_are_those_of_the_code():
    # What test_calls.py and test_derivatives.py show to be there; memory is the FMU's own business.
    two = ElementTree.fromstring(described(rig(), 2)).find("CoSimulation").attrib
    assert two == {
        "modelIdentifier": "rig", "needsExecutionTool": "false", "canHandleVariableCommunicationStepSize": "true",
        "canInterpolateInputs": "true", "maxOutputDerivativeOrder": "0", "canNotUseMemoryManagementFunctions": "true",
        "canGetAndSetFMUstate": "true", "canSerializeFMUstate": "true", "providesDirectionalDerivative": "true",
    }  # fmt: skip
    three = ElementTree.fromstring(described(rig(), 3, step=0.004)).find("CoSimulation").attrib
    assert three == {
        "modelIdentifier": "rig", "needsExecutionTool": "false", "canHandleVariableCommunicationStepSize": "true",
        "fixedInternalStepSize": "0.004", "canGetAndSetFMUState": "true", "canSerializeFMUState": "true",
        "providesDirectionalDerivatives": "true",
    }  # fmt: skip


def names(text, causality):
    """Return the names of the variables with some causality."""
    root = ElementTree.fromstring(text)
    return [item.get("name") for item in root.iter("ScalarVariable") if item.get("causality") == causality]


def test_patterns_choose_what_is_shown(machine):
    crane = machine("vessel-crane")
    text = described(crane, selection=ExportSelection(["slew.*", "tip.?"], ["*_torque"], ["m?", "kP"]), loads="all")
    outputs = names(text, "output")
    assert outputs[:2] == ["slew.angle", "slew.angle.rate"] and outputs[2:5] == ["tip.x", "tip.y", "tip.z"]
    assert "slew.constraint.Mx" in outputs  # shown because it was asked for
    assert "slew.constraint.Mx" not in names(described(crane, loads="all"), "output")
    assert "slew.Mx" in names(described(crane, loads="all"), "output")
    assert names(text, "input") == ["slew_torque", "luff_torque", "knuckle_torque"]
    assert names(text, "parameter") == ["m1", "m2", "m3", "m4", "kP"]


def test_references_do_not_depend_on_what_is_shown(machine):
    def places(selection):
        root = ElementTree.fromstring(described(machine("vessel-crane"), selection=selection))
        return {item.get("name"): item.get("valueReference") for item in root.iter("ScalarVariable")}

    everything = places(ExportSelection())
    few = places(ExportSelection(["slew.angle", "luff.angle"], ["slew_torque"], ["m4"]))
    assert few.items() <= everything.items()


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (ExportSelection(outputs=["pivot.angel"]), r"nothing is called like that; did you mean 'pivot.angle'\?"),
        (ExportSelection(outputs=["tip.*", "Tip.*"]), "outputs 'Tip.*': nothing is called like that"),
        (ExportSelection(inputs=["x"]), r"inputs 'x': nothing is called like that. There are: torque\."),
        (ExportSelection(parameters=["lenght"]), r"did you mean 'length'\? There are: length, mass, tilt, gravity\."),
    ],
)  # fmt: skip
def test_a_pattern_that_matches_nothing_is_refused(selection, message):
    with pytest.raises(ExportError, match=message):
        described(rig(), selection=selection)


def test_two_variables_with_one_name_are_refused():
    clashing = dataclasses.replace(rig(), parameters=(*rig().parameters, Parameter("time", 1.0, "s")))
    with pytest.raises(ExportError, match=r"two variables are called 'time' \(independent and parameter\).*rename"):
        described(clashing)


@pytest.mark.parametrize("fmi", [2, 3])
def test_texts_of_any_kind_survive(fmi, native, tmp_path):
    words = "Kran \"å\" <b>&amp;</b> 'π' ]]> */ ??/ %s \\ \n tab\t"
    mechanism = dataclasses.replace(
        rig("Rig-1", words), parameters=(dataclasses.replace(LENGTH, description=words), *rig().parameters[1:])
    )
    path = native(mechanism, fmi=fmi)
    assert validate_fmu(str(path)) == []
    description = fmpy.read_model_description(str(path))
    assert description.description == words
    assert next(variable.description for variable in description.modelVariables if variable.name == "length") == words
    with Hosted(path) as fmu:
        fmu.initialize()
        fmu.step(0.0, 0.01)
    with zipfile.ZipFile(path) as archive:
        assert "&lt;b&gt;&amp;amp;&lt;/b&gt;" in archive.read("documentation/index.html").decode()
        assert json.loads(archive.read("resources/kingpost.json"))["model"]["definition"]["description"] == words
    # What XML cannot hold at all is marked as such.
    text = described(rig("rig", "bell \x07, half a pair \ud800"), fmi)
    assert fmpy.read_model_description(str(written(tmp_path, text))).description == "bell \ufffd, half a pair \ufffd"


def test_names_of_models_become_names_of_files():
    assert model_identifier("vessel-crane") == "vessel_crane"
    assert model_identifier("a-b_c-9") == "a_b_c_9"


def test_python_inside_is_refused_with_all_culprits(tmp_path):
    class Gust(Force):
        """A force in plain Python."""

        name = "gust"

        def loads(self, kinematics):
            return Loads(efforts={"pivot.angle": kinematics.call(lambda angle: [angle * 0.1], kinematics.coordinate("pivot.angle"), size=1)})  # fmt: skip  # noqa: E501

    plugins = PluginSet(entry_points=False)
    plugins.forces.add(Gust, Source("file", __file__, "tests", "local"))
    windy = dataclasses.replace(rig(), forces=(*rig().forces, ForceElement("gust"), ForceElement("gust", name="squall")))
    path = tmp_path / "windy.fmu"
    with pytest.raises(ExportError) as caught:
        NativeFmu(NativeOptions()).export(prepare_export(windy, integrator="radau", plugins=plugins), ExportSelection(), path)
    assert str(caught.value) == (
        "'rig' cannot become plain C: force 'gust' calls plain Python; force 'squall' calls plain Python; integrator 'radau' "
        "is a solver that runs in Python, not a step map. Write them with CasADi operations, or use the exporter 'fmu', which "
        "carries Python"
    )
    assert not path.exists()


def test_set_points_become_inputs(machine, plugins, native):
    crane = with_setpoint_inputs(machine("vessel-crane"), plugins)
    added = [signal for signal in crane.inputs if signal not in machine("vessel-crane").inputs]
    assert [(signal.name, signal.unit) for signal in added] == [
        (f"{joint}_drive_{what}", unit)
        for joint in ("slew", "luff", "knuckle")
        for what, unit in (("target", "rad"), ("target_rate", "rad/s"))
    ]
    assert [signal.default for signal in added] == pytest.approx([0, 0, 0, 0, -2.356194490192345, 0])
    # The arm's set-points are inputs already; a wheel with an idle drive has one set-point to offer.
    with pytest.raises(ExportError, match="'six-axis-arm' has no force with a set-point that is not an input already"):
        with_setpoint_inputs(machine("six-axis-arm"), plugins)
    driven = dataclasses.replace(
        rig(),
        forces=(
            *rig().forces[:1],
            ForceElement(
                "joint-actuator", name="servo", coordinate="pivot.angle", stiffness=500, damping=50, target="2 * tilt"
            ),
        ),
    )
    steered = with_setpoint_inputs(driven, plugins, {"tilt": 0.1})
    assert steered.inputs[-2].default == 0.2
    with Hosted(native(steered)) as fmu:
        fmu.initialize({"servo_target": 0.4, "gravity": 0.0})
        fmu.step(0.0, 20.0)
        assert fmu.get("pivot.angle") == pytest.approx(0.4, abs=1e-6)


def test_platforms():
    assert [platform.name for platform in platforms_named("win64+linux64 + darwin-arm64")] == [
        "win64",
        "linux64",
        "darwin-arm64",
    ]
    assert set(PLATFORMS) == {"linux64", "linux-arm64", "win64", "darwin64", "darwin-arm64"}
    with pytest.raises(ExportError, match="'mars' is no platform; there are: linux64, linux-arm64, win64"):
        platforms_named("linux64+mars")


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
    ],
)
def test_the_command_refuses_what_makes_no_sense(words, status, message, kingpost_cli, tmp_path):
    outcome = kingpost_cli("export", "double-pendulum", *words, "-o", "dp.fmu")
    assert outcome.status == status
    assert message in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_compiler_that_fails_or_is_missing_is_named(monkeypatch, tmp_path, kingpost_cli):
    broken = tmp_path / "brokencc"
    broken.write_text('#!/bin/sh\n[ "$1" = --version ] && echo brokencc 1.0 && exit 0\necho out of paper >&2\nexit 3\n')
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    outcome = kingpost_cli("export", "double-pendulum", "-o", "dp.fmu")
    assert outcome.status == 7
    assert "the compiler failed: " in outcome.err and "out of paper" in outcome.err
    monkeypatch.setenv("CC", "no-such-compiler")
    outcome = kingpost_cli("export", "double-pendulum", "-o", "dp.fmu")
    if outcome.status != 0:  # with the 'cross' extra installed, Zig does it
        assert "no compiler for platform" in outcome.err and "pip install 'kingpost[cross]'" in outcome.err
        assert not (tmp_path / "dp.fmu").exists()


def test_a_mechanism_without_anything_to_set(tmp_path):
    bare = Mechanism(name="bare", bodies=welded().bodies, joints=welded().joints)
    for fmi in (2, 3):
        for kind in ("cs", "me"):
            assert validate_fmu(str(written(tmp_path, described(bare, fmi, kind)))) == []
