"""Values of parameters: bound anywhere, in any unit, mapped and transformed, and passed on by connectors of systems."""

import math

import pytest

from kingpost.fmu.cosim import CosimError, open_ssp
from tests.fmu.cosim.description.ssp.structures import (
    binding,
    component,
    connection,
    connector,
    entry,
    mapping,
    pack,
    parameter,
    run,
    standalone,
    structure,
    system,
    table,
)

UNITS = '<ssv:Units><ssc:Unit name="grad"><ssc:BaseUnit rad="1" factor="0.015707963267948967"/></ssc:Unit></ssv:Units>'
LINEAR = '<ssc:LinearTransformation factor="2" offset="1"/>'


@pytest.fixture
def settings(tmp_path, relays):
    """The start values that a structure gives to component 'r'."""

    def read(root, files=None, version="1.0"):
        with open_ssp(pack(tmp_path / "x.ssp", structure(root, version=version), {"relay": relays()}, files)) as found:
            read.notes = found.notes
            return dict(found.components[0].settings)

    return read


def bound(*bindings):
    return f"<ssd:ParameterBindings>{''.join(bindings)}</ssd:ParameterBindings>"


@pytest.mark.parametrize(
    ("name", "value", "unit", "units", "expected"),
    [
        ("a", 30, "deg", "", math.pi / 6),
        ("a", 30, "rad", "", 30.0),
        ("a", 30, "", "", 30.0),
        ("a", 100, "grad", UNITS, math.pi / 2),
        ("warmth", 20, "degC", "", 293.15),
        # A variable without a unit, and a unit that nobody defines: the number stands as it is.
        ("k", 7, "m", "", 7.0),
        ("a", 7, "sextants", "", 7.0),
    ],
)
def test_values_come_in_the_units_of_their_variables(settings, name, value, unit, units, expected):
    words = f'unit="{unit}"' if unit else ""
    found = settings(system(component("r", bound(binding(parameter(name, value, more=words), units=units)))))
    # One product of rounded numbers, or a sum.
    assert found[name] == pytest.approx(expected, rel=1e-15)
    assert ("sextants" in unit) == bool(settings.notes)
    assert all(
        "numbers in sextants are taken for rad as they are, since nothing defines 'sextants'" in note for note in settings.notes
    )


def test_a_value_of_another_dimension_is_refused(settings):
    with pytest.raises(CosimError, match="'a': from m to rad nothing can be converted"):
        settings(system(component("r", bound(binding(parameter("a", 1, more='unit="m"'))))))


def test_values_reach_the_machine(tmp_path, relays):
    """30 deg are not 30 rad, in numbers."""
    text = structure(system(component("r", bound(binding(parameter("a", 30, more='unit="deg"'))))))
    assert run(pack(tmp_path / "x.ssp", text, {"relay": relays()}))["r.y"][-1] == pytest.approx(math.pi / 6, rel=1e-15)


def test_the_outer_and_the_later_binding_have_the_last_word(settings):
    inner = bound(binding(parameter("k", 1)), binding(parameter("k", 2), parameter("a", 2)))
    assert settings(system(component("r", inner))) == {"k": 2.0, "a": 2.0}
    nested = system(component("r", inner), name="inner", bindings=binding(parameter("r.k", 3)))
    assert settings(system(nested)) == {"k": 3.0, "a": 2.0}
    outer = binding(parameter("r.k", 4), more='prefix="inner."')
    assert settings(system(nested, bindings=outer)) == {"k": 4.0, "a": 2.0}


def test_names_with_dots_in_them(settings):
    """An element 'p.q' and a system 'p' with an element 'q' have one hierarchical name."""
    assert settings(system(component("p.q"), bindings=binding(parameter("p.q.k", 5)))) == {"k": 5.0}


@pytest.mark.parametrize(
    ("kind", "name", "value", "expected"),
    [
        ("Integer", "size", 3, 3),
        ("Boolean", "b", "true", True),
        ("Boolean", "b", "0", False),
        ("String", "label", "x y", "x y"),
        ("Enumeration", "mode", "fast", "fast"),
        ("Float64", "k", 2.5, 2.5),
        ("Int32", "size", -4, -4),
    ],
)
def test_values_of_every_type(settings, kind, name, value, expected):
    version = "2.0" if kind[-1].isdigit() else "1.0"
    found = settings(system(component("r", bound(binding(parameter(name, value, kind))))), version=version)
    assert found == {name: expected}


def test_items_that_the_fmu_does_not_know_are_numbers_of_the_file(settings):
    items = '<ssc:Enumeration name="E"><ssc:Item name="crawling" value="2"/></ssc:Enumeration>'
    value = parameter("mode", "crawling", "Enumeration", 'name="E"')
    assert settings(system(component("r", bound(binding(value, enumerations=items))))) == {"mode": 2}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([entry("x", "k")], {"k": 30.0}),
        ([entry("x", "k"), entry("x", "a")], {"k": 30.0, "a": math.pi / 6}),
        # Units first, then the transformation; or the transformation instead of them.
        ([entry("x", "a", LINEAR)], {"a": 2 * math.pi / 6 + 1}),
        ([entry("x", "a", LINEAR, 'suppressUnitConversion="true"')], {"a": 61.0}),
        (
            [
                entry(
                    "on",
                    "b",
                    table("Boolean", ("true", "false")),
                )
            ],
            {"b": False},
        ),
        (
            [
                entry(
                    "n",
                    "size",
                    table("Integer", ("4", "9")),
                )
            ],
            {"size": 9},
        ),
        (
            [
                entry(
                    "n",
                    "size",
                    table("Integer", ("5", "9")),
                )
            ],
            {"size": 4},
        ),
        (
            [
                entry(
                    "how",
                    "mode",
                    table("Enumeration", ("quick", "fast")),
                )
            ],
            {"mode": "fast"},
        ),
    ],
)
@pytest.mark.parametrize("inline", [True, False])
def test_mappings_give_other_names_and_values(settings, entries, expected, inline):
    """Inline and as files; what a mapping does not name is not applied."""
    values = [
        parameter("x", 30, more='unit="deg"'), parameter("k", 99), parameter("n", 4, "Integer"),
        parameter("on", "true", "Boolean"),
        parameter("how", "quick", "Enumeration"),
    ]  # fmt: skip
    if inline:
        found = settings(system(component("r", bound(binding(*values, mapping=mapping(*entries))))))
    else:
        files = {
            "resources/values.ssv": standalone("ssv:ParameterSet", f"<ssv:Parameters>{''.join(values)}</ssv:Parameters>"),
            "resources/names.ssm": standalone("ssm:ParameterMapping", "".join(entries)).replace(' name="set"', ""),
        }
        names = '<ssd:ParameterMapping source="resources/names.ssm"/>'
        sources = f'<ssd:ParameterBinding source="resources/values.ssv">{names}</ssd:ParameterBinding>'
        found = settings(system(component("r", bound(sources))), files)
    assert found == pytest.approx(expected, rel=1e-15) if "b" not in expected and "mode" not in expected else found == expected


def test_prefixes_come_before_mappings(settings):
    names = mapping(entry("set.x", "r.k"))
    assert settings(system(component("r"), bindings=binding(parameter("x", 5), more='prefix="set."', mapping=names))) == {
        "k": 5.0
    }


@pytest.mark.parametrize(
    ("kind", "target", "first", "expected"),
    [("input", "u", "u", math.pi / 3), ("parameter", "a", "a", math.pi / 3)],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_values_of_system_connectors_reach_what_they_feed(settings, kind, target, first, expected, swapped):
    """Through two systems, in either direction of writing, in the connector's unit: 30 deg doubled on the way."""

    def joined(one, other, inner=""):
        return connection(other, one, inner) if swapped else connection(one, other, inner)

    inner = system(component("r"), joined("in", f"r.{target}"), connectors=connector("in", kind), name="inner")
    root = system(
        inner,
        joined("outside", "inner.in", '<ssc:LinearTransformation factor="2"/>'),
        binding(parameter("outside", 30)),
        connector("outside", kind, "deg"),
    )
    assert settings(root) == {first: pytest.approx(expected, rel=1e-15)}


def test_a_value_of_the_inner_connector_yields_to_the_outer(settings):
    inner = system(component("r"), connection("in", "r.k"), binding(parameter("in", 1)), connector("in", "parameter"), "inner")
    assert settings(system(inner)) == {"k": 1.0}
    assert settings(system(inner, bindings=binding(parameter("inner.in", 2)))) == {"k": 2.0}
    assert settings(system(inner, bindings=binding(parameter("inner.r.k", 3)))) == {"k": 3.0}


def test_values_that_go_nowhere_are_told(settings):
    lonely = system(component("r"), connectors=connector("in", "input"), bindings=binding(parameter("in", 1)))
    assert settings(lonely) == {}
    assert settings.notes == (
        "parameter binding 1 of the root system: the value of 'in' is not used, since nothing is connected with it",
    )
    with pytest.raises(CosimError, match="nothing is called 'r.ka'; did you mean 'r.k'"):
        settings(system(component("r"), bindings=binding(parameter("r.ka", 1))))
    # A file may be for many systems.
    files = {
        "all.ssv": standalone(
            "ssv:ParameterSet",
            f"<ssv:Parameters>{parameter('r.ka', 1)}{parameter('r.k', 2)}{parameter('z', 3)}</ssv:Parameters>",
        )
    }
    assert settings(system(component("r"), bindings='<ssd:ParameterBinding source="all.ssv"/>'), files) == {"k": 2.0}
    assert settings.notes[0].endswith("The value is not used (and 1 more of this kind)")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (binding(parameter("k", "half")), "parameter 'k': 'half' is not a finite number"),
        (binding(parameter("k", "nan")), "parameter 'k': 'nan' is not a finite number"),
        (binding(parameter("k", "1e400")), "parameter 'k': '1e400' is not a finite number"),
        (binding(parameter("k", "1_0")), "parameter 'k': '1_0' is not a finite number"),
        (binding(parameter("size", "2.5", "Integer")), "parameter 'size': '2.5' is not a whole number"),
        (binding(parameter("size", "9" * 400, "Integer")), "is not a whole number"),
        (binding(parameter("b", "yes", "Boolean")), "parameter 'b': 'yes' is neither true nor false"),
        (binding(parameter("label", "00ff", "Binary")), "parameter 'label' is a Binary, which cannot be set here"),
        (binding(parameter("k", 1, "Clock")), "parameter 'k': <Clock> is not understood here"),
        (binding('<ssv:Parameter name="k"/>'), "parameter 'k' has 0 values; it must have one"),
        (
            binding(parameter("k", 1), more='type="text/csv"'),
            "its type is 'text/csv'; only application/x-ssp-parameter-set can be read",
        ),
        (binding(parameter("k", 1), more='source="resources/relay.fmu"'), "'relay.fmu' cannot be read as XML"),
        ('<ssd:ParameterBinding source="x.ssv" sourceBase="component"/>', "its sourceBase is 'component'"),
        ('<ssd:ParameterBinding source="x.ssv"/>', "the archive holds no 'x.ssv'"),
        ("<ssd:ParameterBinding/>", "has neither a source nor values"),
        (
            binding(parameter("x", 1), mapping=mapping(entry("x", "k"), entry("x", "k"))),
            "two parameters are mapped to that name",
        ),
        (binding(parameter("x", 1), mapping=mapping(entry("x", "k", "<ssc:Sine/>"))), "<Sine> is not understood here"),
        (
            binding(parameter("x", 1, "Integer"), mapping=mapping(entry("x", "size", LINEAR))),
            "'size' is a Integer; a linear transformation is for real numbers",
        ),
        (
            binding(
                parameter("k", 1, more='unit="x"'),
                units='<ssv:Units><ssc:Unit name="x"><ssc:BaseUnit m="one"/></ssc:Unit></ssv:Units>',
            ),
            "the unit 'x' is defined by what is not a number",
        ),
    ],
)
def test_what_cannot_be_applied_is_refused_by_name(settings, given, message):
    from kingpost import KingpostError

    with pytest.raises(KingpostError) as caught:
        settings(system(component("r", bound(given))))
    assert message in str(caught.value)
