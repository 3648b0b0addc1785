"""Systems that go to other tools."""

import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import fmpy
import numpy as np
import pytest
from lxml import etree

from kingpost import ExportError
from kingpost.fmu.cosim import (
    Component,
    Connection,
    System,
    cosimulate,
    open_ssp,
)
from tests.fmu.cosim import osp_script
from tests.fmu.cosim.coupled import in_process


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


def both(name, relays, **options):
    parts = tuple(Component(part, fmu=relays(), isolate=False) for part in ("a/b", "a-b"))
    return System(name, parts, (Connection("a/b.n_out", "a-b.n", **options),), step=0.02, t_end=0.1)


def test_what_others_cannot_express_is_refused(tmp_path, relays, plugins):
    summed = System(
        "s", tuple(Component(name, fmu=relays()) for name in "abc"),
        (Connection("a.y", "c.u", factor=2.0, add=True), Connection("b.y", "c.u", add=True)),
    )  # fmt: skip
    with pytest.raises(ExportError, match="'c.u' is a sum of what has factors or offsets"):
        summed.write_osp(tmp_path / "x", plugins)
    with pytest.raises(ExportError, match=r"SSP has no sums, which feed c\.u"):
        summed.write_ssp(tmp_path / "x.ssp", plugins)
    with pytest.raises(ExportError, match=r"a/b\.n_out -> a-b\.n replaces values by others"):
        both("s", relays, table=((1, 2),)).write_osp(tmp_path / "x", plugins)


def test_everything_that_changes_numbers_survives_a_way_through_ssp(tmp_path, relays, plugins):
    """Tables, inputs that hold, steps of components and units; two components whose names are one in a file system."""
    system = System(
        "../all of it",
        (
            Component("a/b", fmu=relays(), isolate=False, settings={"n": 2, "b": True, "label": "x", "a": 0.5}),
            Component("a-b", fmu=relays("relay-in-degrees", {'unit="rad"': 'unit="deg"'}), isolate=False, step=0.04),
            Component("A B", fmu=relays(), isolate=False, step=0.005),
        ),
        (
            Connection("a/b.n_out", "a-b.n", table=((2, 7), (7, 2))), Connection("a/b.b_out", "a-b.b", table=((1, 0),)),
            Connection("a/b.y", "a-b.u", convert=True), Connection("a-b.y", "A B.u", factor=2.0, offset=0.1, hold=True),
        ),
        step=0.02, t_end=0.1,
    )  # fmt: skip
    path = system.write_ssp(tmp_path / "all.ssp", plugins)
    with zipfile.ZipFile(path) as archive:
        text = archive.read("SystemStructure.ssd")
        assert sorted(archive.namelist())[1:] == ["resources/A-B-3.fmu", "resources/a-b-2.fmu", "resources/a-b.fmu"]
    schema = etree.XMLSchema(file=str(Path(fmpy.__file__).parent / "ssp" / "schema" / "SystemStructureDescription.xsd"))
    schema.assertValid(etree.fromstring(text))
    names = [unit.get("name") for unit in etree.fromstring(text).iter("{*}Unit")]
    assert names == ["deg", "rad"]
    with open_ssp(path) as again:
        assert [(part.name, part.step) for part in again.components] == [("a/b", None), ("a-b", 0.04), ("A B", 0.005)]
        assert [link.hold for link in again.connections] == [False, False, False, True]
        assert again.notes == ()
        quick = again.with_changes(components=tuple(replace(part, isolate=False) for part in again.components))
        found = cosimulate(quick, plugins=plugins)
    np.testing.assert_array_equal(found.values, cosimulate(system, plugins=plugins).values)
