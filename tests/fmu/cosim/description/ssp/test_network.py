"""Connections: a direction from what they connect and not from how they are written, units and transformations on the way."""

import math

import pytest

from kingpost.fmu.cosim import CosimError, open_ssp
from tests.fmu.cosim.description.ssp.structures import (
    binding,
    component,
    connection,
    connector,
    pack,
    parameter,
    run,
    structure,
    system,
    table,
)

LINEAR = '<ssc:LinearTransformation factor="2" offset="0.1"/>'
START = f"<ssd:ParameterBindings>{binding(parameter('a', 1))}</ssd:ParameterBindings>"


@pytest.fixture
def archive(tmp_path, relays):
    """Pack a structure of relays, one of which has angles in degrees."""
    degrees = relays("degrees", {'unit="rad"': 'unit="deg"', '<Unit name="rad"><BaseUnit rad="1"/></Unit>': ""})

    def make(root, more=""):
        return pack(tmp_path / "x.ssp", structure(root, more), {"relay": relays(), "degrees": degrees})

    return make


def wires(path):
    with open_ssp(path) as found:
        return [(wire.source, wire.target, wire.factor, wire.offset) for wire in found.connections]


def turned(start, end, swapped, inner=""):
    return connection(end, start, inner) if swapped else connection(start, end, inner)


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize("inner", [False, True])
def test_start_and_end_do_not_say_where_values_go(archive, flat, outer, inner):
    """y = 1 becomes 2 y + 0.1 at the input of the second relay, however the connections are written."""
    if flat:
        root = system(component("a", START) + component("b"), turned("a.y", "b.u", outer, LINEAR))
        name = "b"
    else:
        kinds = connector("in", "input") + connector("out", "output")
        within = turned("in", "b.u", inner) + turned("b.y", "out", inner)
        nested = system(component("b"), within, connectors=kinds, name="s")
        joined = turned("a.y", "s.in", outer, LINEAR) + turned("s.out", "c.u", not outer)
        root = system(component("a", START) + nested + component("c"), joined)
        name = "s/b"
    history = run(archive(root))
    assert history[f"{name}.y"][-1] == pytest.approx(2.1, rel=1e-15)
    if not flat:
        assert history["c.y"][-1] == pytest.approx(2.1, rel=1e-15)


def test_a_direction_follows_from_what_is_connected_further_on(archive):
    """Connectors without a kind, and systems without connectors, through three levels."""
    inner = system(component("b"), connection("b.u", "x"), name="t")
    middle = system(inner, connection("t.x", "x"), connectors=connector("x", "unspecified"), name="s")
    assert wires(archive(system(component("a") + middle, connection("s.x", "a.y")))) == [("a.y", "s/t/b.u", 1.0, 0.0)]


@pytest.mark.parametrize(
    ("links", "connectors", "message"),
    [
        (connection("a.y", "b.y"), "", "connection of 'a.y' and 'b.y': both give values there, so nothing can pass"),
        (connection("a.u", "b.u"), "", "both take values there"),
        (
            connection("a.y", "out") + connection("in", "out"),
            connector("in", "input") + connector("out", "output"),
            "it can have one source",
        ),
        (connection("a.y", "b.u") + connection("b.u", "a.y"), "", "'b.u' is fed by 'a.y' and by 'a.y'"),
        (
            connection("x", "z"),
            connector("x", "unspecified") + connector("z", "inout"),
            "neither says whether it gives or takes values",
        ),
        (connection("a.yy", "b.u"), "", "the FMU of 'a' has no variable 'yy'; did you mean 'y'?"),
        (connection("aa.y", "b.u"), "", "there is no element 'aa'; did you mean 'a'?"),
        (connection("im", "b.u"), connector("in", "input"), "the root system has no connector 'im'; did you mean 'in'?"),
        (
            connection("a.y", "b.u", more='startIndices="1"'),
            "",
            'the attribute startIndices="1" of <Connection> is not understood',
        ),
        (connection("a.y", "b.u", more='suppressUnitConversion="perhaps"'), "", "'perhaps' is neither true nor false"),
        (connection("a.y", "b.u", '<ssc:LinearTransformation factor="x"/>'), "", "'x' is not a finite number"),
        (connection("a.y", "b.u", '<ssc:LinearTransformation factor="0"/>'), "", "a factor of 0 connects nothing"),
        (connection("a.y", "b.u", LINEAR + LINEAR), "", "it has 2 transformations; there can be one"),
        (connection("a.y", "b.u", "<ssc:CubicTransformation/>"), "", "<CubicTransformation> is not understood here"),
    ],
)
def test_connections_that_make_no_sense_are_refused(archive, links, connectors, message):
    with pytest.raises(CosimError) as caught:
        wires(archive(system(component("a") + component("b"), links, connectors=connectors)))
    assert message in str(caught.value)


def test_connectors_in_a_circle_are_refused(archive):
    kinds = connector("in", "input") + connector("out", "output")
    through = system(component("b"), connection("in", "out") + connection("in", "b.u"), connectors=kinds, name="s")
    with pytest.raises(CosimError, match="feed each other in a circle"):
        wires(archive(system(through, connection("s.out", "s.in"))))


DEGREES = "resources/degrees.fmu"


@pytest.mark.parametrize(
    ("source", "unit", "first", "second", "factor", "offset"),
    [
        # deg to rad, at either connection.
        (DEGREES, "", "", "", math.pi / 180, 0.0),
        (DEGREES, "rad", "", "", math.pi / 180, 0.0),
        (DEGREES, "deg", "", "", math.pi / 180, 0.0),
        # The connector is in another unit on the way: there and back again.
        ("resources/relay.fmu", "deg", "", "", 1.0, 0.0),
        # A transformation works in the unit of the connector that it leads to.
        (DEGREES, "deg", LINEAR, "", 2 * math.pi / 180, 0.1 * math.pi / 180),
        (DEGREES, "rad", LINEAR, "", 2 * math.pi / 180, 0.1),
        (DEGREES, "", LINEAR, "", 2 * math.pi / 180, 0.1),
        ("resources/relay.fmu", "", LINEAR, LINEAR, 4.0, 0.3),
    ],
)
def test_units_and_transformations_follow_each_other(archive, source, unit, first, second, factor, offset):
    nested = system(component("b"), connection("in", "b.u", second), connectors=connector("in", "input", unit), name="s")
    root = system(component("a", source=source) + nested, connection("a.y", "s.in", first))
    ((_, _, found, added),) = wires(archive(root))
    # Products of at most four rounded numbers.
    assert (found, added) == (pytest.approx(factor, rel=1e-15), pytest.approx(offset, rel=1e-15, abs=1e-17))


def test_unit_conversion_can_be_suppressed(archive):
    elements = component("a", source=DEGREES) + component("b")
    raw = 'suppressUnitConversion="true"'
    assert wires(archive(system(elements, connection("a.y", "b.u", more=raw)))) == [("a.y", "b.u", 1.0, 0.0)]
    assert wires(archive(system(elements, connection("a.y", "b.u", LINEAR, raw)))) == [("a.y", "b.u", 2.0, 0.1)]


def test_units_that_do_not_fit_are_refused(archive):
    with pytest.raises(CosimError, match="connection of 'a.clock' and 'b.u': from s to rad nothing can be converted"):
        wires(archive(system(component("a") + component("b"), connection("a.clock", "b.u"))))
    said = f"<ssd:Connectors>{connector('y', 'output', 'deg')}</ssd:Connectors>"
    with pytest.raises(CosimError, match="its connector 'y' is said to be in deg, but its FMU has it in rad"):
        wires(archive(system(component("a", said))))


@pytest.mark.parametrize(
    ("source", "target", "kind", "entries", "value", "expected"),
    [
        ("b_out", "b", "Boolean", [("true", "false"), ("false", "true")], "true", 0.0),
        ("b_out", "b", "Boolean", [("true", "false")], "false", 0.0),
        ("n_out", "n", "Integer", [(3, 7), (7, 3)], 3, 7.0),
        ("n_out", "n", "Integer", [(3, 7)], 4, 4.0),
        ("mode_out", "mode", "Integer", [(3, 1)], 3, 1.0),
        ("mode_out", "mode", "Enumeration", [("fast", "slow")], 3, 2.0),
    ],
)
@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel"])
def test_tables_replace_values(archive, source, target, kind, entries, value, expected, master):
    """Booleans, whole numbers and items of enumerations; what is not in the table stays as it is."""
    given = parameter(target, value, "Boolean" if kind == "Boolean" else "Integer")
    change = table(kind, *entries)
    elements = component("a", f"<ssd:ParameterBindings>{binding(given)}</ssd:ParameterBindings>") + component("b")
    history = run(archive(system(elements, connection(f"a.{source}", f"b.{target}", change))), master=master)
    assert history[f"b.{source}"][-1] == expected


def test_two_tables_on_one_way_are_one(archive):
    nested = system(
        component("b"), connection("in", "b.n", table("Integer", (2, 5), (4, 6))), connectors=connector("in", "input"), name="s"
    )
    root = system(component("a") + nested, connection("a.n_out", "s.in", table("Integer", (1, 2), (3, 3))))
    with open_ssp(archive(root)) as found:
        assert dict(found.connections[0].table) == {1: 5, 2: 5, 3: 3, 4: 6}


@pytest.mark.parametrize(
    ("start", "end", "kind", "pair", "message"),
    [
        ("a.y", "b.u", "Integer", (1, 2), "its table of values is not for a Real|is real; a table is for whole numbers"),
        ("a.n_out", "b.n", "Boolean", ("true", "false"), "its table of values is not for a Integer"),
        (
            "a.mode_out",
            "b.mode",
            "Enumeration",
            ("quick", "slow"),
            "there is no item 'quick' in its enumeration; there are off, slow, fast",
        ),
        ("a.n_out", "b.n", "Integer", (1, 1.5), "'1.5' is not a whole number"),
    ],
)
def test_tables_that_do_not_fit_are_refused(archive, start, end, kind, pair, message):
    change = table(kind, pair)
    with pytest.raises(CosimError, match=message):
        run(archive(system(component("a") + component("b"), connection(start, end, change))))
