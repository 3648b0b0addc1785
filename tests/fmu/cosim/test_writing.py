"""Systems that go to other tools."""

import subprocess
import sys
from pathlib import Path

import pytest

from kingpost import ExportError
from kingpost.fmu.cosim import (
    Component,
    Connection,
    cosimulate,
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
    with pytest.raises(ExportError, match="connections with a factor or offset cannot be written"):
        system.with_changes(connections=(Connection("a.position", "b.other", factor=2.0),)).write_osp(tmp_path / "x", plugins)
