"""The command, the picture, and systems that go to and come from other tools."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import fmpy
import numpy as np
import pytest
from lxml import etree

from kingpost import ExportError, FileError, read_history
from kingpost.fmu.blocks.block import pi_controller
from kingpost.fmu.cosim import (
    Component,
    Connection,
    CosimError,
    System,
    cosimulate,
    open_ssp,
    prepare_cosimulation,
    read_system,
)
from kingpost.fmu.cosim.description.ssp import STRUCTURE
from tests.fmu.building import needs_compiler
from tests.fmu.cosim import osp_script
from tests.fmu.cosim.coupled import CONNECTIONS, in_process

SYSTEM = """
name = "masses"
[run]
t_end = 0.4
step = 0.02
[components.a]
fmu = "{a}"
[components.b]
fmu = "{b}"
[[connections]]
from = "a.position"
to = "b.other"
[[connections]]
from = "b.force"
to = "a.force"
"""


@pytest.fixture
def system_file(tmp_path, masses):
    path = tmp_path / "masses.toml"
    path.write_text(SYSTEM.format(**masses(2)))
    return path


def test_a_run(system_file, kingpost_cli, tmp_path, as_fmus, plugins):
    outcome = kingpost_cli("cosim", system_file, "--out", "out", "--write", "csv,npz", "--picture", "system.svg")
    assert outcome.status == 0, outcome.err
    assert "2 components, 2 connections" in outcome.out
    assert "a.position" in outcome.out
    expected = cosimulate(as_fmus(step=0.02, t_end=0.4), plugins=plugins)
    found = read_history(tmp_path / "out" / "history.npz")
    np.testing.assert_array_equal(found.values, expected.values)
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["system"]["order"] == ["a", "b"]
    assert record["integrator"]["name"] == "jacobi"
    assert kingpost_cli("report", "out").status == 0
    picture = (tmp_path / "system.svg").read_text()
    assert picture.count("<!-- ") >= 4
    assert "<!-- position → other -->" in picture


def test_a_look_without_a_run(system_file, kingpost_cli, tmp_path):
    outcome = kingpost_cli("cosim", system_file, "--check", "--master", "gauss-seidel")
    assert outcome.status == 0, outcome.err
    for words in (
        "a -> b",
        "a.position -> b.other",
        "inputs without a connection: speed",
        "algebraic loop  none",
        "can go back",
    ):
        assert words in outcome.out
    assert not (tmp_path / "results").exists()
    described = json.loads(kingpost_cli("cosim", system_file, "--check", "--json").out)
    assert described["components"]["b"]["open_inputs"] == ["speed"]
    assert described["algebraic_loops"] == []


def test_mistakes_end_with_the_status_of_other_commands(system_file, kingpost_cli):
    outcome = kingpost_cli("cosim", system_file, "--master", "nobody")
    assert outcome.status == 4
    system_file.write_text(system_file.read_text().replace("b.other", "b.othr"))
    outcome = kingpost_cli("cosim", system_file)
    assert outcome.status == 3
    assert (
        "masses.toml:10: connection from 'a.position' to 'b.othr': 'b' has no input 'othr'; did you mean 'other'" in outcome.err
    )
    assert kingpost_cli("cosim", "none.toml").status == 6


@needs_compiler
def test_what_a_failed_run_had_computed_is_on_disk(broken, kingpost_cli, tmp_path):
    (tmp_path / "system.toml").write_text(
        f'[run]\nt_end = 0.1\n[components.spring]\nfmu = "{broken("NAN_LATER")}"\nisolate = false\n'
    )
    outcome = kingpost_cli("cosim", "system.toml", "--out", "out", "--write", "csv")
    assert outcome.status == 5
    assert "is nan at t = 0.04 s" in outcome.err
    assert "The 4 samples up to t = 0.03 s are in" in outcome.err
    kept = read_history(tmp_path / "out" / "failed-history.csv")
    assert kept.time.tolist() == pytest.approx([0, 0.01, 0.02, 0.03])
    assert json.loads((tmp_path / "out" / "failed-run.json").read_text())["outcome"] == "failed"


def test_an_ssp_archive_comes_back_as_it_was(tmp_path, masses, kingpost_cli, plugins):
    """Models become FMUs, which give the same numbers; the file is valid by the schemas of the standard."""
    paths = masses(2)
    system = System(
        "two masses",
        (Component("a", fmu=paths["a"], settings={"v": 0.5}), Component("b", fmu=paths["b"])),
        (Connection("a.position", "b.other", factor=2.0, offset=0.1), CONNECTIONS[1]),
        step=0.02,
        t_end=0.4,
        master="gauss-seidel",
    )
    path = system.write_ssp(tmp_path / "masses.ssp", plugins)
    with zipfile.ZipFile(path) as archive:
        text = archive.read(STRUCTURE)
        assert sorted(archive.namelist()) == [STRUCTURE, "resources/a.fmu", "resources/b.fmu"]
    schema = etree.XMLSchema(file=str(Path(fmpy.__file__).parent / "ssp" / "schema" / "SystemStructureDescription.xsd"))
    schema.assertValid(etree.fromstring(text))
    expected = cosimulate(system, plugins=plugins)
    with open_ssp(path) as again:
        assert (again.step, again.t_end, again.master) == (0.02, 0.4, "gauss-seidel:extrapolation=0")
        np.testing.assert_array_equal(cosimulate(again, plugins=plugins).values, expected.values)
    outcome = kingpost_cli("cosim", path, "--out", "out", "--write", "csv")
    assert outcome.status == 0, outcome.err


def test_models_are_exported_for_other_tools(tmp_path, masses, plugins):
    """The folder, with the FMU of a model and another one, runs in libcosim as it does here."""
    system = in_process(step=0.02, t_end=0.4)
    system = system.with_changes(components=(system.components[0], Component("b", fmu=masses(2)["b"], settings={"x": 0.1})))
    path = system.write_osp(tmp_path / "osp", plugins)
    assert sorted(file.name for file in path.parent.iterdir()) == ["OspSystemStructure.xml", "a.fmu", "b.fmu"]
    pytest.importorskip("libcosimpy.CosimExecution")
    words = [sys.executable, Path(osp_script.__file__), path.parent, "0.4", "a", "position"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) == pytest.approx(cosimulate(system, plugins=plugins)["a.position"][-1], rel=1e-9)
    with pytest.raises(ExportError, match="connections with a factor or offset cannot be written"):
        system.with_changes(connections=(Connection("a.position", "b.other", factor=2.0),)).write_osp(tmp_path / "x", plugins)


def test_the_system_of_the_docs_can_be_run(root, tmp_path, plugins):
    text = (root / "docs" / "cosim.md").read_text()
    whole, ports, vessel = re.findall(r"```toml\n(.*?)```", text, flags=re.S)
    (tmp_path / "system.toml").write_text(whole)
    system = read_system(tmp_path / "system.toml", plugins)
    controller = Component("controller", model=pi_controller(), settings=system.component("controller").settings)
    system = system.with_changes(components=(system.component("crane"), controller))
    plan = prepare_cosimulation(system, plugins)
    assert plan.order == ("crane", "controller")
    assert plan.loops == ()
    (tmp_path / "ports.toml").write_text(ports)
    assert read_system(tmp_path / "ports.toml", plugins).component("crane").ports == {"base": ["base.*", "base_*"]}
    (tmp_path / "vessel.toml").write_text(vessel)
    plan = prepare_cosimulation(read_system(tmp_path / "vessel.toml", plugins), plugins)
    assert (len(plan.wires), plan.loops, plan.master.name) == (47, (), "interface-inertia")
    assert len(plan.run().time) == 1201


NESTED = """<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
  xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon"
  xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues" name="nested" version="1.0">
  <ssd:System name="root">
    <ssd:ParameterBindings><ssd:ParameterBinding source="start.ssv"/></ssd:ParameterBindings>
    <ssd:Elements>
      <ssd:Component name="a" source="resources/a.fmu"/>
      <ssd:System name="inner">
        <ssd:Connectors><ssd:Connector name="in" kind="input"/><ssd:Connector name="out" kind="output"/></ssd:Connectors>
        <ssd:Elements><ssd:Component name="b" source="resources/b.fmu"/></ssd:Elements>
        <ssd:Connections>
          <ssd:Connection startConnector="in" endElement="b" endConnector="other"/>
          <ssd:Connection startElement="b" startConnector="force" endConnector="out"/>
        </ssd:Connections>
      </ssd:System>
    </ssd:Elements>
    <ssd:Connections>
      <ssd:Connection startElement="a" startConnector="position" endElement="inner" endConnector="in">
        <ssc:LinearTransformation factor="2.0" offset="0.1"/>
      </ssd:Connection>
      <ssd:Connection startElement="inner" startConnector="out" endElement="a" endConnector="force"/>
    </ssd:Connections>
  </ssd:System>
  <ssd:DefaultExperiment startTime="0.0" stopTime="0.4"/>
</ssd:SystemStructureDescription>
"""
START = """<ssv:ParameterSet xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues" version="1.0" name="start">
<ssv:Parameters><ssv:Parameter name="a.v"><ssv:Real value="0.5"/></ssv:Parameter>
<ssv:Parameter name="inner.b.x"><ssv:Real value="-0.2"/></ssv:Parameter></ssv:Parameters></ssv:ParameterSet>"""


def pack(path, masses, structure=NESTED):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(STRUCTURE, structure)
        archive.writestr("start.ssv", START)
        for name, fmu in masses(2).items():
            archive.write(fmu, f"resources/{name}.fmu")
    return path


def test_systems_in_systems_and_parameter_files(tmp_path, masses, plugins):
    paths = masses(2)
    flat = System(
        "flat",
        (Component("a", fmu=paths["a"], settings={"v": 0.5}), Component("b", fmu=paths["b"], settings={"x": -0.2})),
        (Connection("a.position", "b.other", factor=2.0, offset=0.1), CONNECTIONS[1]),
        t_end=0.4,
    )
    expected = cosimulate(flat, plugins=plugins)
    with open_ssp(pack(tmp_path / "nested.ssp", masses)) as system:
        history = cosimulate(system, plugins=plugins)
    assert history.names[0].startswith("a.")
    np.testing.assert_array_equal(history["a.position"], expected["a.position"])
    np.testing.assert_array_equal(history["inner/b.force"], expected["b.force"])


def test_archives_that_cannot_be_used(tmp_path, masses):
    with pytest.raises(FileError, match="there is no file"), open_ssp(tmp_path / "none.ssp"):
        pass
    (tmp_path / "text.ssp").write_text("no archive")
    with pytest.raises(FileError, match="is not an SSP archive"), open_ssp(tmp_path / "text.ssp"):
        pass
    foreign = NESTED.replace('source="resources/a.fmu"', 'type="application/x-ssp-package" source="a.ssp"')
    with (
        pytest.raises(CosimError, match="element 'a' is a Component of type application/x-ssp-package"),
        open_ssp(pack(tmp_path / "foreign.ssp", masses, foreign)),
    ):
        pass
    missing = NESTED.replace("start.ssv", "begin.ssv")
    with pytest.raises(FileError, match="holds no 'begin.ssv'"), open_ssp(pack(tmp_path / "missing.ssp", masses, missing)):
        pass
