"""Systems that go to other tools."""

import math
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
    PowerBond,
    System,
    cosimulate,
    open_ssp,
    read_osp,
)
from kingpost.fmu.cosim.masters.ecco import Ecco
from kingpost.fmu.cosim.masters.jacobi import Jacobi
from tests.fmu.cosim import osp_script
from tests.fmu.cosim.coupled import in_process, quarter_car

BOND = PowerBond("damper", "chassis.force", "wheel.speed")


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
    assert float(done.stdout.split()[1]) == pytest.approx(cosimulate(system, plugins=plugins)["a.position"][-1], rel=1e-9)


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


class EccoOfLibcosim(Ecco):
    """Its rules as libcosim 0.11 has them: residuals relative to the largest, no control after the first step, times in ns."""

    def begin(self, coupling):
        options, step_all = self.options, Jacobi().begin(coupling)
        count, before = 0, 1.0

        def advance(t, h):
            nonlocal count, before
            step_all(t, h)
            count += 1
            if count == 1:
                return h
            residuals = [abs(one - other) * h for one, other in map(coupling.powers, coupling.bonds)]
            tolerated = options.atol + options.rtol * max(residuals)
            error = math.sqrt(sum((residual / tolerated) ** 2 for residual in residuals) / len(residuals))
            gain = 1.0
            if before and error:
                gain = options.safety * error ** (-options.integral - options.proportional) * before**options.proportional
            before = error
            following = h * min(options.faster, max(options.slower, gain))
            return min(options.longest, max(options.shortest, math.floor(following * 1e9) * 1e-9))

        return advance


def _numbers(options):
    return {key: float(value) for key, value in (word.split("=") for word in options.split(","))}


def test_ecco_goes_to_libcosim_with_its_options_and_bonds(tmp_path, plugins):
    """libcosim takes the steps of its own rules, by our options; a run here by these rules gives the same numbers."""
    options = "rtol=0.01,atol=0.05,safety=0.8,longest=0.02,shortest=2e-5,slower=0.3,faster=1.4,proportional=0.05,integral=0.1"
    system = quarter_car(bonds=(BOND,), master=f"ecco:{options}")
    path = system.write_osp(tmp_path / "osp", plugins)
    again = read_osp(path)
    given = _numbers(options)
    assert _numbers(again.master.removeprefix("ecco:")) == given
    assert (again.step, again.bonds) == (1e-3, (BOND,))
    expected = cosimulate(system, plugins=plugins)
    np.testing.assert_array_equal(cosimulate(again, plugins=plugins).time, expected.time)
    pytest.importorskip("libcosimpy.CosimExecution")
    words = [sys.executable, Path(osp_script.__file__), path.parent, "0.5", "chassis", "position", "velocity"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    *found, t_end = (float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith(("value", "time")))
    assert 0.5 <= t_end < 0.52
    master = EccoOfLibcosim(Ecco.Options(**given))
    same = cosimulate(system, master=master, plugins=plugins)
    k = int(np.argmin(np.abs(same.time - t_end)))
    # So gentle a controller does not blow rounding errors up: what is left are some hundred of them.
    assert k > 50 and same.time[k] == pytest.approx(t_end, abs=1e-9)
    assert found == pytest.approx([same["chassis.position"][k], same["chassis.velocity"][k]], rel=1e-9)


def test_the_limits_of_ecco_are_written_even_if_nobody_gave_them(tmp_path, plugins):
    again = read_osp(quarter_car(bonds=(BOND,), master="ecco", step=0.002).write_osp(tmp_path / "osp", plugins))
    assert "shortest=2e-05,longest=0.02," in again.master


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bonds": ()}, "declares no power bonds"),
        ({"bonds": (BOND, replace(BOND))}, "power bonds of one name are one for the Open Simulation Platform: damper"),
        ({"bonds": (BOND, replace(BOND, name="two"))}, "chassis.force -> wheel.force carries 'damper', too"),
        (
            {"master": "ecco:longest=0.0005"},
            "shortest <= step <= longest, in whole nanoseconds; here they are 1e-05 s, 0.001 s",
        ),
        ({"master": "ecco:shortest=1e-10"}, "whole nanoseconds; here they are 1e-10 s"),
        (
            {
                "connections": (
                    Connection("chassis.force", "wheel.force", factor=-1.0),
                    Connection("wheel.speed", "chassis.speed"),
                )
            },
            "power bond 'damper': its connection chassis.force -> wheel.force has a factor or offset",
        ),
    ],
)
def test_what_ecco_cannot_have_there_is_refused(tmp_path, plugins, changes, message):
    system = quarter_car(
        **{"bonds": (BOND,), "master": "ecco"} | {key: changes[key] for key in changes if key != "connections"}
    )
    if "connections" in changes:
        system = system.with_changes(connections=changes["connections"])
    with pytest.raises(ExportError) as caught:
        system.write_osp(tmp_path / "osp", plugins)
    assert message in str(caught.value)
    assert not (tmp_path / "osp").exists()


def test_ecco_refuses_components_of_one_step_length(tmp_path, relays, plugins):
    bare = {' unit="rad"': ""}
    rigid = bare | {'canHandleVariableCommunicationStepSize="true"': ""}
    parts = (Component("a", fmu=relays("rigid", rigid)), Component("b", fmu=relays("bare", bare), step=0.04))
    system = System(
        "s", parts, (Connection("a.y", "b.u"), Connection("b.y", "a.u")), (PowerBond("p", "a.y", "b.y"),), step=0.02,
        master="ecco",
    )  # fmt: skip
    with pytest.raises(ExportError, match="these components take steps of one length only: a, b"):
        system.write_osp(tmp_path / "osp", plugins)


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
