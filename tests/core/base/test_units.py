"""Units as powers of base units: one table for everything that reads or writes them."""

import pytest

from kingpost import Input, MechanismError
from kingpost.base.units import Unit, check_unit, parse_unit


@pytest.mark.parametrize(
    ("text", "factor", "exponents"),
    [
        ("1", 1.0, {}),
        ("-", 1.0, {}),
        ("rad", 1.0, {"rad": 1}),
        ("kg", 1.0, {"kg": 1}),
        ("cd", 1.0, {"cd": 1}),
        ("min", 60.0, {"s": 1}),
        ("N.m/rad3", 1.0, {"kg": 1, "m": 2, "s": -2, "rad": -3}),
        ("N.m.s/rad", 1.0, {"kg": 1, "m": 2, "s": -1, "rad": -1}),
        ("m/s2", 1.0, {"m": 1, "s": -2}),
        ("m.s-2", 1.0, {"m": 1, "s": -2}),
        ("kg/m/s", 1.0, {"kg": 1, "m": -1, "s": -1}),
        ("W/(m2.K)", 1.0, {"kg": 1, "s": -3, "K": -1}),
        ("1/s", 1.0, {"s": -1}),
        ("kg/m3", 1.0, {"kg": 1, "m": -3}),
        ("deg/s", 0.017453292519943295, {"rad": 1, "s": -1}),
        ("kN", 1e3, {"kg": 1, "m": 1, "s": -2}),
        ("mm2", 1e-6, {"m": 2}),
        ("GPa", 1e9, {"kg": 1, "m": -1, "s": -2}),
        ("t/h", 1e3 / 3600, {"kg": 1, "s": -1}),
        ("L/min", 1e-3 / 60, {"m": 3, "s": -1}),
        ("kn", 1852 / 3600, {"m": 1, "s": -1}),
        ("W.s/J", 1.0, {}),
        ("[mm]", 1e-3, {"m": 1}),
        ("bar", 1e5, {"kg": 1, "m": -1, "s": -2}),
    ],
)
def test_units_become_powers_of_base_units(text, factor, exponents):
    unit = parse_unit(text)
    assert (unit.known, unit.name, unit.exponents) == (True, text, exponents)
    # A product of at most three rounded factors.
    assert unit.factor == pytest.approx(factor, rel=1e-15)


@pytest.mark.parametrize(
    "text",
    ["furlong", "N.m/fortnight", "m^2", "°C", "", "m//s", "N m", "2m", "m/(s", "m/(s/kg)", "kkg", "kmin", "-2", "Gm99", "m\n"],
)
def test_units_that_nobody_knows_have_a_name_and_no_powers(text):
    assert not parse_unit(text).known


@pytest.mark.parametrize(
    ("one", "other", "change"),
    [
        ("deg", "rad", (0.017453292519943295, 0.0)),
        ("degC", "K", (1.0, 273.15)),
        ("K", "degC", (1.0, -273.15)),
        ("m.s-2", "m/s2", (1.0, 0.0)),
        ("m", "s", None),
        ("Hz", "rad/s", None),
        ("furlong", "m", None),
        ("furlong", "furlong", (1.0, 0.0)),
    ],
)
def test_numbers_go_from_one_unit_to_another_of_its_dimension(one, other, change):
    assert parse_unit(one).to(parse_unit(other)) == (None if change is None else pytest.approx(change, rel=1e-15))


def test_two_units_of_one_name_need_not_be_the_same():
    """An FMU may define its own: 'lb' as a mass here, as a force there."""
    mass, force = Unit("lb", 0.45359237, {"kg": 1}), Unit("lb", 4.4482216152605, {"kg": 1, "m": 1, "s": -2})
    assert mass.to(force) is None
    assert mass.to(Unit("lb", 0.5, {"kg": 1})) == pytest.approx((0.90718474, 0.0))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("tons", "'t'"), ("Nm", "'N.m'"), ("N m", "'N.m'"), ("m^2", "'m2'"), ("degrees/s", "'deg/s'"), ("Mpa", "'MPa'"),
        ("°C", "'degC'"), ("kg_m3", "'kg/m3'"), ("Kg", "'kg'"),
    ],
)  # fmt: skip
def test_an_unknown_unit_is_refused_with_those_that_may_be_meant(text, hint):
    with pytest.raises(
        MechanismError, match="input 'u' is in '.*', which is no unit that is known here; did you mean"
    ) as caught:
        Input("u", text)
    assert hint in str(caught.value).partition("?")[0]
    assert caught.value.path == ("unit",)


@pytest.mark.parametrize("text", ["", None, 3])
def test_a_unit_that_is_no_text_is_refused(text):
    with pytest.raises(MechanismError, match="lacks a unit; write '1' for a pure number"):
        check_unit("input 'u'", text)
