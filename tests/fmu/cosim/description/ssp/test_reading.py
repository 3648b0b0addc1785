"""Systems as SSP archives: ours come back as they were, and other people's are understood."""

import zipfile
from pathlib import Path

import fmpy
import numpy as np
import pytest
from lxml import etree

from kingpost import FileError
from kingpost.fmu.cosim import (
    Component,
    Connection,
    CosimError,
    System,
    cosimulate,
    open_ssp,
)
from kingpost.fmu.cosim.description.ssp.package import STRUCTURE
from tests.fmu.cosim.coupled import CONNECTIONS


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
