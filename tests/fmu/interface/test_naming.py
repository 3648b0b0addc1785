"""Structured names: FMI's grammar, and tools that make one word of a name."""

import re

import fmpy
import pytest
from fmpy.validation import validate_fmu

from kingpost import Body, Input, Joint, Mechanism, Output, Parameter
from kingpost.fmu.interface.description import describe_model
from kingpost.fmu.interface.interface import build_interface
from kingpost.fmu.interface.naming import one_word, with_structured_names
from kingpost.simulation.export_model import prepare_export
from kingpost.simulation.exporter import ExportSelection
from tests.fmu.interface.descriptions import CAPABILITIES, written

#: The grammar of the standard, without its names in apostrophes.
PART = r"[A-Za-z_][A-Za-z_0-9]*(\[\d+(,\d+)*\])?"
STRUCTURED = re.compile(rf"({PART}(\.{PART})*|der\({PART}(\.{PART})*\))")


@pytest.mark.parametrize("model", ["four-bar", "offshore-crane", "offshore-crane-on-base", "six-axis-arm", "vessel-crane"])
@pytest.mark.parametrize("kind", ["cs", "me"])
def test_names_are_structured_and_different_as_one_word(model, kind, machine, plugins):
    plain = build_interface(prepare_export(machine(model), plugins=plugins), ExportSelection(outputs=["*"]), kind)
    named = with_structured_names(plain)
    names = [variable.name for variable in named.variables]
    assert all(STRUCTURED.fullmatch(name) for name in names)
    assert len({one_word(name) for name in names}) == len(names)
    # Nothing else has changed, and what was right has stayed.
    assert [variable.reference for variable in named.variables] == [variable.reference for variable in plain.variables]
    for old, new in zip(plain.variables, names, strict=True):
        assert new == old.name or "-" in old.name or re.search(r"_\d+\)?$", new), (old.name, new)


def clashing():
    """A machine whose names are one word where they should be two."""
    return Mechanism(
        name="clashing",
        parameters=(Parameter("tip_x", 1.0, "m"), Parameter("tip_x_2", 2.0, "m")),
        inputs=(Input("pivot_angle", "rad"),),
        bodies=(Body("boom-2", mass=1.0, com=(0, 0, -1), inertia=(1, 1, 1)),),
        joints=(Joint("pivot", "revolute", "world", "boom-2", axis=(0, 1, 0)),),
        outputs=(Output("tip", "boom-2", at=(0, 0, -1)), Output("kran-tip", "boom-2")),
    )


@pytest.mark.parametrize("fmi", [2, 3])
def test_names_that_clash_are_numbered(fmi, plugins, tmp_path):
    plain = build_interface(prepare_export(clashing(), plugins=plugins), ExportSelection(), "me")
    named = with_structured_names(plain)
    shown = named.shown_names
    assert shown["tip.x"] == "tip.x_3"  # tip_x and tip_x_2 are parameters, which come first
    assert shown["pivot.angle"] == "pivot.angle_2" and shown["der(pivot.angle)"] == "der(pivot.angle_2)"
    assert shown["kran-tip.x"] == "kran_tip.x"
    assert "tip_x" not in shown and "tip.y" not in shown
    path = written(tmp_path, describe_model(named, fmi, "me", CAPABILITIES)[0])
    assert validate_fmu(str(path)) == []
    described = fmpy.read_model_description(str(path))
    assert described.variableNamingConvention == "structured"
    (derivative,) = [item for item in described.modelVariables if item.name == "der(pivot.angle_2)"]
    assert derivative.derivative.name == "pivot.angle_2"
