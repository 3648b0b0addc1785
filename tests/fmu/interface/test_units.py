"""Units as powers of base units."""

import dataclasses
from xml.etree import ElementTree

import pytest
from fmpy.validation import validate_fmu

from kingpost import Input
from kingpost.fmu.interface.units import parse_unit
from tests.fmu.interface.descriptions import described, written
from tests.fmu.machines import rig


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
