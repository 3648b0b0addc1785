"""Variables of an FMU: what can be set, to what, and what is recorded."""

import pytest

from kingpost.fmu.file.opened import FmuError, open_fmu
from kingpost.fmu.file.variables import recorded, settable, start_settings, variables_of


@pytest.fixture
def variables(described):
    return variables_of(open_fmu(described()))


def test_variables_are_as_described(variables):
    mass, locked = variables["mass"], variables["locked"]
    assert (mass.unit, mass.real, mass.causality, mass.variability) == ("kg", True, "parameter", "fixed")
    assert (mass.start(), mass.number("min"), mass.number("max")) == ([2.0], 0.001, None)
    assert (locked.access, locked.real, locked.numeric, locked.start()) == ("Boolean", False, True, [False])
    assert not variables["label"].numeric


@pytest.mark.parametrize(
    ("name", "value", "converted"),
    [
        ("mass", "2.5", 2.5),
        ("mass", 3, 3.0),
        ("order", 4.0, 4),
        ("locked", "True", True),
        ("locked", 0.0, False),
        ("label", "a b", "a b"),
        ("label", 2.0, "2.0"),
    ],
)
def test_values_become_what_the_fmu_takes(variables, name, value, converted):
    assert start_settings(variables, {name: value}) == {name: [converted]}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mass": "heavy"}, r"variable 'mass' \(Real\) cannot be 'heavy'; give a finite number"),
        ({"mass": float("inf")}, "cannot be inf; give a finite number"),
        ({"mass": [1, 2]}, r"variable 'mass' takes 1 value\(s\), got 2"),
        ({"order": 2.5}, r"variable 'order' \(Integer\) cannot be 2.5; give a whole number"),
        ({"locked": 2}, r"variable 'locked' \(Boolean\) cannot be 2; give true or false"),
        ({"masse": 1}, "the FMU has no variable 'masse'; did you mean 'mass'"),
        ({"rate": 1}, "variable 'rate' cannot be set: its causality is local, its variability continuous"),
    ],
)
def test_values_that_do_not_fit_are_refused(variables, settings, message):
    with pytest.raises(FmuError, match=message):
        start_settings(variables, settings)


def test_outputs_are_recorded_unless_others_are_asked_for(variables):
    assert [variable.name for variable in recorded(variables, None)] == ["position", "velocity", "acceleration"]
    assert [variable.name for variable in recorded(variables, ["rate", "*ss"])] == ["rate", "mass", "stiffness"]
    with pytest.raises(FmuError, match="variable 'label' is a String and cannot be recorded"):
        recorded(variables, ["label"])
    with pytest.raises(FmuError, match="no variable matches 'postion'; did you mean 'position'"):
        recorded(variables, ["postion"])
    assert [name for name, variable in variables.items() if not settable(variable)] == ["acceleration", "rate"]
