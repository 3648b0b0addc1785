"""OspSystemStructure.xml: simulators, functions, groups and steps, as libcosim understands them."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kingpost import FileError, KingpostError
from kingpost.fmu.cosim import Component, Connection, CosimError, System, cosimulate, read_osp
from tests.fmu.cosim import osp_script

SPACE = "http://opensimulationplatform.com/MSMI/OSPSystemStructure"
HEAD = "<StartTime>0.0</StartTime><BaseStepSize>0.01</BaseStepSize><Algorithm>fixedStep</Algorithm>"
GROUPS = """<OspModelDescription xmlns="x" version="1.0"><VariableGroups>
<Generic name="out"><Variable ref="y"/><Variable ref="warmth_out"/></Generic>
<Generic name="in"><Variable ref="u"/><Variable ref="k_in"/></Generic>
<Generic name="port">
<Generic name="given"><Variable ref="y"/></Generic><Generic name="taken"><Variable ref="u"/></Generic></Generic>
<Generic name="other">
<Generic name="taken too"><Variable ref="u"/></Generic><Generic name="given too"><Variable ref="y"/></Generic></Generic>
</VariableGroups></OspModelDescription>"""


def simulator(name, inner="", more=""):
    values = f"<InitialValues>{inner}</InitialValues>" if inner else ""
    return f'<Simulator name="{name}" source="relay.fmu" {more}>{values}</Simulator>'


def initial(variable, value, kind="Real"):
    return f'<InitialValue variable="{variable}"><{kind} value="{value}"/></InitialValue>'


def variable(text, kind="Variable"):
    owner, _, name = text.partition(".")
    return f'<{kind} simulator="{owner}" name="{name}"/>'


def signal(text, kind="Signal"):
    owner, _, name = text.partition(".")
    return f'<{kind} function="{owner}" name="{name}"/>'


def joined(*ends, kind="VariableConnection", more=""):
    return f"<{kind} {more}>{''.join(ends)}</{kind}>"


def write(folder, relays, simulators, connections="", functions="", head=HEAD, tail=""):
    """Write a structure and its FMU into a folder."""
    functions = f"<Functions>{functions}</Functions>" if functions else ""
    connections = f"<Connections>{connections}</Connections>" if connections else ""
    inner = f"{head}<Simulators>{simulators}</Simulators>{functions}{connections}{tail}"
    change = {
        '<ScalarVariable name="k" valueReference="1" causality="parameter" variability="fixed">':
        '<ScalarVariable name="k_in" valueReference="1" causality="input" variability="continuous">',
    }  # fmt: skip
    (folder / "relay.fmu").write_bytes(relays("two-inputs", change).read_bytes())
    (folder / "relay_OspModelDescription.xml").write_text(GROUPS)
    path = folder / "OspSystemStructure.xml"
    path.write_text(f'<?xml version="1.0"?><OspSystemStructure xmlns="{SPACE}" version="0.1">{inner}</OspSystemStructure>')
    return path


def links(system):
    return [(link.source, link.target, link.factor, link.offset, link.add) for link in system.connections]


def test_simulators_values_and_steps(tmp_path, relays):
    values = initial("a", 1.5) + initial("n", 3, "Integer") + initial("b", "1", "Boolean") + initial("label", "x", "String")
    path = write(
        tmp_path, relays, simulator("s", values, 'stepSize="0.021"') + simulator("t"),
        joined(variable("t.u"), variable("s.y")), head=HEAD.replace("<BaseStepSize>", "<EndTime>2.5</EndTime><BaseStepSize>"),
    )  # fmt: skip
    system = read_osp(path)
    assert (system.step, system.t_start, system.t_end, system.master) == (0.01, 0.0, 2.5, "jacobi")
    assert dict(system.component("s").settings) == {"a": 1.5, "n": 3, "b": True, "label": "x"}
    assert (system.component("s").step, system.component("t").step) == (0.02, None)
    assert "steps by 0.02 s instead of 0.021 s" in system.notes[0]
    assert links(system) == [("s.y", "t.u", None, 0.0, False)]
    assert read_osp(tmp_path).components == system.components  # by its folder, too


def test_functions_stand_between_outputs_and_inputs(tmp_path, relays):
    functions = '<LinearTransformation name="f" factor="0.5" offset="2"/><Sum name="g" inputCount="2"/>'
    connections = (
        joined(variable("a.y"), signal("f.in"), kind="SignalConnection")
        + joined(variable("b.u"), signal("f.out"), kind="SignalConnection")
        + joined(signal("g.in[0]"), variable("a.y"), kind="SignalConnection")
        + joined(signal("g.in[1]"), variable("b.y"), kind="SignalConnection")
        + joined(signal("g.out"), variable("c.u"), kind="SignalConnection")
    )  # fmt: skip
    starts = simulator("a", initial("a", 1) + initial("k_in", 1))
    path = write(
        tmp_path,
        relays,
        starts + simulator("b", initial("k_in", 1)) + simulator("c", initial("k_in", 1)),
        connections,
        functions,
    )
    system = read_osp(path)
    assert links(system) == [("a.y", "b.u", 0.5, 2.0, False), ("a.y", "c.u", None, 0.0, True), ("b.y", "c.u", None, 0.0, True)]
    # a.y = 1, b.y = 0.5 * 1 + 2, c.y = their sum; processes of their own would only take time.
    here = system.with_changes(components=tuple(replace(component, isolate=False) for component in system.components))
    for master in ("jacobi", "gauss-seidel", "gauss-seidel:extrapolation=1"):
        assert cosimulate(here, t_end=0.1, master=master, record=("*",))["c.y"][-1] == pytest.approx(3.5, rel=1e-15)


def test_groups_and_sums_of_vectors(tmp_path, relays):
    connections = (
        joined(variable("a.out", "VariableGroup"), signal("v.in[0]", "SignalGroup"), kind="SignalGroupConnection")
        + joined(variable("b.out", "VariableGroup"), signal("v.in[1]", "SignalGroup"), kind="SignalGroupConnection")
        + joined(variable("c.in", "VariableGroup"), signal("v.out", "SignalGroup"), kind="SignalGroupConnection")
        + joined(variable("a.port", "VariableGroup"), variable("b.other", "VariableGroup"), kind="VariableGroupConnection")
    )  # fmt: skip
    path = write(
        tmp_path,
        relays,
        simulator("a") + simulator("b") + simulator("c"),
        connections,
        '<VectorSum name="v" inputCount="2" dimension="2"/>',
    )
    assert links(read_osp(path)) == [
        ("a.y", "b.u", None, 0.0, False), ("b.y", "a.u", None, 0.0, False),
        ("a.y", "c.u", None, 0.0, True), ("b.y", "c.u", None, 0.0, True),
        ("a.warmth_out", "c.k_in", None, 0.0, True), ("b.warmth_out", "c.k_in", None, 0.0, True),
    ]  # fmt: skip


def test_power_bonds_and_ecco(tmp_path, relays):
    given = {"SafetyFactor": 0.8, "StepSize": 0.002, "MaximumStepSize": 0.1}
    ecco = f"<EccoConfiguration>{''.join(f'<{key}>{value}</{key}>' for key, value in given.items())}</EccoConfiguration>"
    bond = 'powerBond="p"'
    connections = joined(variable("a.y"), variable("b.u"), more=bond) + joined(variable("a.u"), variable("b.y"), more=bond)
    head = HEAD.replace("fixedStep", "ecco")
    system = read_osp(write(tmp_path, relays, simulator("a") + simulator("b"), connections, head=head, tail=ecco))
    assert (system.step, system.master) == (0.002, "ecco:safety=0.8,longest=0.1")
    assert [(b.name, b.effort, b.flow) for b in system.bonds] == [("p", "a.y", "b.y")]


TWO = simulator("a") + simulator("b")
SUM = '<Sum name="g" inputCount="2"/>'


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"simulators": ""}, "holds no simulators"),
        (
            {"simulators": TWO, "connections": joined(variable("a.yy"), variable("b.u"))},
            "simulator 'a' has no variable 'yy'; did you mean 'y'?",
        ),
        ({"simulators": TWO, "connections": joined(variable("x.y"), variable("b.u"))}, "there is no simulator 'x'"),
        ({"simulators": TWO, "connections": joined(variable("a.y"))}, "connects 1 things"),
        (
            {"simulators": TWO, "connections": joined(signal("g.in[0]"), variable("a.y"), kind="SignalConnection")},
            "there is no function 'g'",
        ),
        ({"simulators": TWO, "functions": SUM}, "function 'g': 0 connections feed its 'in[0]'; it must be one"),
        (
            {
                "simulators": TWO,
                "functions": SUM,
                "connections": joined(signal("g.in[7]"), variable("a.y"), kind="SignalConnection"),
            },
            "function 'g' has no signal 'in[7]'",
        ),
        ({"simulators": TWO, "functions": SUM.replace("2", "1000000000")}, "inputCount is 1000000000; it must be 1 to 10000"),
        (
            {"simulators": TWO, "functions": '<Product name="g"/>'},
            "function 'g' is a Product; LinearTransformation, Sum and VectorSum are known",
        ),
        (
            {"simulators": TWO, "functions": '<LinearTransformation name="g" factor="x"/>'},
            "function 'g': 'x' is not a finite number",
        ),
        (
            {
                "simulators": TWO,
                "connections": joined(
                    variable("a.none", "VariableGroup"), variable("b.in", "VariableGroup"), kind="VariableGroupConnection"
                ),
            },
            "declares a group 'none' of simulator 'a'",
        ),
        (
            {
                "simulators": TWO,
                "connections": joined(
                    variable("a.out", "VariableGroup"), variable("b.port", "VariableGroup"), kind="VariableGroupConnection"
                ),
            },
            "group 'out' has 2 variables, group 'port' has 0",
        ),
        (
            {"simulators": TWO, "connections": joined(variable("a.y"), variable("b.u"), more='powerBond="p"')},
            "power bond 'p' has 1 connections",
        ),
        ({"simulators": TWO, "tail": "<Weather/>"}, "<Weather> is not understood here"),
        ({"simulators": TWO, "head": HEAD.replace("0.01", "0")}, "BaseStepSize is 0 s; it must be positive"),
        (
            {"simulators": TWO, "head": HEAD.replace("fixedStep", "magic")},
            "the algorithm 'magic' is not known; fixedStep and ecco are",
        ),
        ({"simulators": TWO, "head": HEAD.replace("fixedStep", "ecco")}, "there is no EccoConfiguration"),
        ({"simulators": TWO.replace("relay.fmu", "proxyfmu://localhost?file=relay.fmu")}, "is no file on this machine"),
        ({"simulators": simulator("a", initial("a", "x"))}, "initial value of 'a': 'x' is not a finite number"),
        ({"simulators": simulator("a", initial("a", "1", "Complex"))}, "<Complex> is not understood here"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(tmp_path, relays, parts, message):
    with pytest.raises(CosimError) as caught:
        read_osp(write(tmp_path, relays, **parts))
    assert message in str(caught.value)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "x.xml").write_text("<a/>")
    with pytest.raises(FileError, match="holds a <a>, not an <OspSystemStructure>"):
        read_osp(tmp_path / "x.xml")
    with pytest.raises(FileError, match="there is no file"):
        read_osp(tmp_path)


def test_units_that_differ_are_refused(tmp_path, relays):
    """libcosim would take seconds for radians."""
    system = read_osp(write(tmp_path, relays, TWO, joined(variable("a.clock"), variable("b.u"))))
    with pytest.raises(KingpostError, match="'clock' is in s, 'u' in rad, which do not fit"):
        cosimulate(system)


def test_what_is_written_comes_back_and_libcosim_agrees(tmp_path, masses, plugins):
    """Two masses with a factor, an offset and a sum between them, one of which steps at every second communication point."""
    paths = masses(2)
    components = (
        Component("a", fmu=paths["a"], settings={"v": 0.5}), Component("b", fmu=paths["b"], step=0.02),
        Component("c", fmu=paths["b"], settings={"x": 0.3}),
    )  # fmt: skip
    connections = (
        Connection("a.position", "b.other", factor=2.0, offset=0.1), Connection("a.position", "c.other"),
        Connection("b.force", "a.force", add=True), Connection("c.force", "a.force", add=True),
    )  # fmt: skip
    system = System("masses", components, connections, step=0.01, t_end=0.4, t_start=0.0)
    path = system.write_osp(tmp_path / "osp", plugins)
    expected = cosimulate(system, plugins=plugins)
    again = read_osp(path)
    assert (again.step, again.t_end) == (0.01, 0.4)
    np.testing.assert_array_equal(cosimulate(again, plugins=plugins).values, expected.values)
    pytest.importorskip("libcosimpy.CosimExecution")
    words = [sys.executable, Path(osp_script.__file__), path.parent, "0.4", "a", "position", "velocity"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = [float(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("value")]
    # Forty steps of the same machine code; the order in which the sum is added may differ.
    assert found == pytest.approx([expected["a.position"][-1], expected["a.velocity"][-1]], rel=1e-12)
