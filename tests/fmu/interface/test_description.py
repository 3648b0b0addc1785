"""Model descriptions: other people's validators find nothing, and what is said is what the code can do."""

import dataclasses
import json
import logging
import zipfile
from xml.etree import ElementTree

import fmpy
import pytest
from fmpy.validation import validate_fmu

from kingpost import Input, Mechanism, PluginSet
from kingpost.fmu.interface.description import model_identifier
from kingpost.simulation.export_model import prepare_export
from tests.fmu.hosting import Hosted
from tests.fmu.interface.descriptions import described, shown, written
from tests.fmu.machines import LENGTH, flywheel, rig, welded

VARIANTS = [(2, "cs"), (2, "me"), (3, "cs"), (3, "me")]
variants = pytest.mark.parametrize(("fmi", "kind"), VARIANTS)


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


@pytest.mark.quick("rig", "welded", "six-axis-arm", "four-bar", "small-vessel", "offshore-crane", "ring-and-disc")
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
        "providesDirectionalDerivatives": "true", "providesIntermediateUpdate": "true",
        "canReturnEarlyAfterIntermediateUpdate": "true",
    }  # fmt: skip


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


def test_a_mechanism_without_anything_to_set(tmp_path):
    bare = Mechanism(name="bare", bodies=welded().bodies, joints=welded().joints)
    for fmi in (2, 3):
        for kind in ("cs", "me"):
            assert validate_fmu(str(written(tmp_path, described(bare, fmi, kind)))) == []


def test_units_in_the_description(machine, tmp_path):
    text = described(machine("vessel-crane"), loads="all")
    units = {unit.get("name"): unit for unit in ElementTree.fromstring(text).iter("Unit")}
    assert units["N.m/rad3"].find("BaseUnit").attrib == {"kg": "1", "m": "2", "s": "-2", "rad": "-3"}
    assert units["1"].find("BaseUnit").attrib == {}
    inputs = (Input("torque", "N.m"), Input("warmth", "degC"), Input("turn", "deg"))
    odd = dataclasses.replace(rig(), inputs=inputs)
    for fmi in (2, 3):
        text = described(odd, fmi)
        assert validate_fmu(str(written(tmp_path, text))) == []
        units = {unit.get("name"): unit for unit in ElementTree.fromstring(text).iter("Unit")}
        assert units["degC"].find("BaseUnit").attrib == {"K": "1", "offset": "273.15"}
        # Printed with all its digits.
        assert float(units["deg"].find("BaseUnit").get("factor")) == pytest.approx(0.017453292519943295, rel=1e-15)
