"""Which variables an exported model shows, and what is refused."""

import dataclasses
from xml.etree import ElementTree

import pytest

from kingpost import ExportError, Parameter
from kingpost.simulation.exporter import ExportSelection
from tests.fmu.interface.descriptions import described
from tests.fmu.machines import rig


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
