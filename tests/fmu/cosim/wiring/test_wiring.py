"""What is connected to what: ports, units, types, loops, and what is said about mistakes."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from kingpost import Input
from kingpost.base.channels import Channel
from kingpost.fmu.blocks.block import Block
from kingpost.fmu.cosim import (
    Component,
    Connection,
    CosimError,
    PowerBond,
    System,
    cosimulate,
    prepare_cosimulation,
)
from kingpost.fmu.osp.model_description import osp_path
from tests.fmu.building import needs_compiler
from tests.fmu.cosim.wiring.pairs import gain, pair


@pytest.mark.parametrize(
    ("connection", "message"),
    [
        (("one.y", "two.u1"), "'one' has no output 'y'; did you mean 'y1'"),
        (("one.y1", "two.v1"), "'two' has no input 'v1'; did you mean 'u1'"),
        (("onee.y1", "two.u1"), "there is no component 'onee'; did you mean 'one'"),
        (("one", "two.u1"), "'one' is not written component.variable"),
        (("one.u1", "two.u1"), "the causality of 'one.u1' is input, not output"),
        (("one.y1", "two.y1"), "the causality of 'two.y1' is output, not input"),
    ],
)
def test_names_that_are_not_there(connection, message, plugins):
    with pytest.raises(CosimError, match=message):
        prepare_cosimulation(pair(Connection(*connection)), plugins)


def test_an_input_has_one_source(plugins):
    with pytest.raises(CosimError, match="input 'two.u1' is fed by 'one.y1' and by 'two.y1'; an input has one source"):
        prepare_cosimulation(pair(Connection("one.y1", "two.u1"), Connection("two.y1", "two.u1")), plugins)


@pytest.mark.parametrize(
    "master", ["jacobi", "gauss-seidel", "jacobi:extrapolation=1", "gauss-seidel:extrapolation=2", "iterated"]
)
def test_an_input_can_be_a_sum(master, plugins):
    """two.u1 = 3 * 0.5 + 1 + 0.5 + 2: factors and offsets of all summands count."""
    connections = (
        Connection("one.y1", "two.u1", factor=3.0, offset=1.0, add=True),
        Connection("three.y1", "two.u1", offset=2.0, add=True),
    )
    system = pair(*connections, t_end=0.03, master=master)
    system = system.with_changes(components=(*system.components, Component("three", model=gain("three"))))
    # Exact in binary.
    assert cosimulate(system, plugins=plugins)["two.y1"][-1] == 5.0


def test_sums_are_said_by_all_that_take_part(plugins):
    twice = Connection("one.y1", "two.u1", add=True), Connection("two.y1", "two.u1")
    with pytest.raises(CosimError, match="If it is their sum, say add = true in each of these connections"):
        prepare_cosimulation(pair(*twice), plugins)


@needs_compiler
def test_tables_are_for_whole_numbers(relays, plugins):
    def system(source, target):
        parts = tuple(Component(name, fmu=relays(), isolate=False, settings={"n": 2}) for name in "ab")
        return System("s", parts, (Connection(f"a.{source}", f"b.{target}", table=((2, 5),)),), t_end=0.01)

    assert cosimulate(system("n_out", "n"), plugins=plugins)["b.n_out"][-1] == 5.0
    with pytest.raises(CosimError, match="'a.y' is real; a table is for whole numbers and truth values"):
        prepare_cosimulation(system("y", "u"), plugins)


@needs_compiler
@pytest.mark.parametrize(("source", "target"), [("a.msg", "b.word"), ("a.y", "b.word"), ("a.msg", "b.u")])
def test_texts_cannot_be_connected_and_that_is_said(relays, source, target, plugins):
    system = System("s", tuple(Component(name, fmu=relays()) for name in "ab"), (Connection(source, target),))
    with pytest.raises(CosimError, match="' is a String; only numbers and truth values can be connected, not texts"):
        prepare_cosimulation(system, plugins)


def test_units_with_another_zero_are_converted(plugins):
    """20 degC are 293.15 K."""
    a, b = gain("one", "degC", factor=40.0), gain("two", "K")
    with pytest.raises(CosimError, match="multiplied by 1 and 273.15 added"):
        prepare_cosimulation(pair(Connection("one.y1", "two.u1"), a=a, b=b), plugins)
    history = cosimulate(pair(Connection("one.y1", "two.u1", convert=True), a=a, b=b, t_end=0.01), plugins=plugins)
    assert history["two.y1"][-1] == pytest.approx(293.15, rel=1e-15)


def test_units_must_fit(plugins):
    a, b = gain("one", "deg"), gain("two", "rad")
    with pytest.raises(
        CosimError, match=r"'y1' is in deg, 'u1' in rad; write convert = true to have it multiplied by 0.0174532925"
    ):
        prepare_cosimulation(pair(Connection("one.y1", "two.u1"), a=a, b=b), plugins)
    with pytest.raises(CosimError, match="'y1' is in N.m, 'u1' in N, which do not fit"):
        prepare_cosimulation(
            pair(Connection("one.y1", "two.u1", convert=True), a=gain("one", "N.m"), b=gain("two", "N")), plugins
        )
    converted = cosimulate(pair(Connection("one.y1", "two.u1", convert=True), a=a, b=b, t_end=0.01), plugins=plugins)
    assert converted["two.y1"][-1] == pytest.approx(0.5 * np.pi / 180, rel=1e-12)
    given = cosimulate(pair(Connection("one.y1", "two.u1", factor=3.0, offset=1.0), a=a, b=b, t_end=0.01), plugins=plugins)
    assert given["two.y1"][-1] == 2.5
    # N.m/s and W are the same thing under two names.
    prepare_cosimulation(pair(Connection("one.y1", "two.u1"), a=gain("one", "N.m/s"), b=gain("two", "W")), plugins)


@needs_compiler
def test_types_must_fit(broken, plugins):
    system = System(
        "s", (Component("one", model=gain("one")), Component("osc", fmu=broken())), (Connection("one.y1", "osc.locked"),)
    )
    with pytest.raises(CosimError, match="'one.y1' is real, but 'osc.locked' is boolean"):
        prepare_cosimulation(system, plugins)


def test_algebraic_loops_are_found_from_dependencies_and_named(plugins):
    chain = pair(Connection("one.y1", "two.u1"))
    assert prepare_cosimulation(chain, plugins).loops == ()
    circle = pair(Connection("one.y1", "two.u1"), Connection("two.y1", "one.u1"))
    (loop,) = prepare_cosimulation(circle, plugins).loops
    assert loop.chain == ("one.u1", "one.y1", "two.u1", "two.y1", "one.u1")
    assert loop.certain
    with pytest.raises(
        CosimError, match="outputs depend on each other at once: one.u1 -> one.y1 -> two.u1 -> two.y1 -> one.u1"
    ):
        prepare_cosimulation(circle.with_changes(loops="refuse"), plugins)
    # An output that goes round but meets a state on its way is none.
    crossed = pair(Connection("one.y1", "two.u2"), Connection("two.y1", "one.u1"), b=gain("two", count=2))
    assert prepare_cosimulation(crossed, plugins).loops == ()


@needs_compiler
def test_loops_through_a_partner_that_does_not_say_what_depends_on_what_are_only_possible(broken, plugins):
    system = System(
        "s", (Component("one", model=gain("one", "N", "m")), Component("osc", fmu=broken())),
        (Connection("one.y1", "osc.force"), Connection("osc.position", "one.u1")),
    )  # fmt: skip
    (loop,) = prepare_cosimulation(system, plugins).loops
    assert not loop.certain
    assert "possible: 'osc' does not say what its outputs depend on" in str(loop)
    known = system.with_changes(
        connections=(Connection("one.y1", "osc.force"), Connection("osc.acceleration", "one.u1", factor=1.0))
    )
    assert prepare_cosimulation(known, plugins).loops[0].certain


def test_ports_connect_their_members_in_both_directions(plugins):
    crane = Block(
        "crane",
        (Input("base_v", "m/s"), Input("base_w", "rad/s")),
        (Channel("base.free.F", "N"), Channel("base.power", "W")),
        values=lambda s: [2 * s["base_v"], s["base_w"]],
    )
    vessel = Block(
        "vessel",
        (Input("load", "N"),),
        (Channel("mount.v", "m/s"), Channel("mount.w", "rad/s")),
        values=lambda s: [1.0 + s["t"], 2.0],
    )
    components = (
        Component("crane", model=crane, ports={"base": ["base.*", "base_*"]}),
        Component("vessel", model=vessel, ports={"mount": {"free_F": "load", "v": "mount.v", "w": "mount.w"}}),
    )
    system = System("s", components, (Connection("crane.base", "vessel.mount"),))
    wires = {wire.names for wire in prepare_cosimulation(system, plugins).wires}
    assert wires == {
        ("crane.base.free.F", "vessel.load"),
        ("vessel.mount.v", "crane.base_v"),
        ("vessel.mount.w", "crane.base_w"),
    }
    for ports, message in [
        ({"mount": {"free_F": "load", "v": "mount.v"}}, "nothing feeds 'crane.base_w', since the other port has no member 'w'"),
        ({"mount": ["load"]}, "nothing feeds"),
        ({"mount": {"F": "laod"}}, "'vessel' has no variable 'laod'; did you mean 'load'"),
        ({"mount": "moun_*"}, "no input or output is called like 'moun_*'"),
        ({"mont": "mount.*"}, "'vessel' has no port 'mount'; did you mean 'mont'"),
        (
            {"mount": {"free_F": "load", "v": "load", "w": "mount.w"}},
            "member 'v' is input 'base_v' on one side and input 'load'",
        ),
    ]:
        changed = (components[0], Component("vessel", model=vessel, ports=ports))
        with pytest.raises(CosimError) as error:
            prepare_cosimulation(system.with_changes(components=changed), plugins)
        assert message in str(error.value)


def test_ports_of_an_osp_description(tmp_path, masses, plugins):
    """Groups of one kind match place by place, as in tools of the Open Simulation Platform, and go in their own direction."""
    paths = {}
    for name, place in (("a", "position"), ("b", "other")):
        paths[name] = Path(shutil.copy(masses(2)[name], tmp_path / f"{name}.fmu"))
        osp_path(paths[name]).write_text(
            '<OspModelDescription xmlns="https://open-simulation-platform.com/OspModelDescription/1.0.0"><VariableGroups>'
            '<LinearMechanicalQuasiPort name="end"><Force name="push"><Variable ref="force" unit="N"/></Force>'
            f'<LinearDisplacement name="place"><Variable ref="{place}" unit="m"/></LinearDisplacement>'
            "</LinearMechanicalQuasiPort></VariableGroups></OspModelDescription>"
        )
    components = tuple(Component(name, fmu=path) for name, path in paths.items())
    plan = prepare_cosimulation(System("s", components, (Connection("a.end", "b.end"),)), plugins)
    assert {wire.names for wire in plan.wires} == {("a.position", "b.other"), ("b.force", "a.force")}


def test_bonds_must_be_two_connections(plugins):
    bonds = (PowerBond("b", "one.y1", "two.y1"),)
    with pytest.raises(CosimError, match="bond 'b': effort 'one.y1' and flow 'two.y1' must be outputs of two components"):
        prepare_cosimulation(pair(Connection("one.y1", "two.u1"), bonds=bonds), plugins)
    both = (Connection("one.y1", "two.u1"), Connection("two.y1", "one.u1"))
    with pytest.raises(CosimError, match="bond 'b': 'one.y1' in N times 'two.y1' in m is not a power in W"):
        prepare_cosimulation(pair(*both, bonds=bonds, a=gain("one", "N", "m"), b=gain("two", "m", "N")), plugins)
    prepare_cosimulation(pair(*both, bonds=bonds, a=gain("one", "N", "m/s"), b=gain("two", "m/s", "N")), plugins)
