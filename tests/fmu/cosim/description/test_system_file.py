"""System files, and mistakes with their lines."""

import re

import pytest

from kingpost import FileError
from kingpost.fmu.blocks.block import pi_controller
from kingpost.fmu.cosim import (
    Component,
    CosimError,
    cosimulate,
    prepare_cosimulation,
    read_system,
)
from kingpost.fmu.cosim.description.system_file import read_system_file


def test_the_system_of_the_docs_can_be_run(root, tmp_path, plugins):
    text = (root / "docs" / "cosim.md").read_text()
    whole, _, ports, vessel = re.findall(r"```toml\n(.*?)```", text, flags=re.S)
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


FILE = """
name = "masses"
[run]
t_end = 0.5
step = 0.05
master = { name = "gauss-seidel", extrapolation = 1 }
record = ["pendulum.elbow*"]
[components.pendulum]
model = "double-pendulum"
step = 0.005
set = { length2 = 0.7 }
"""


def test_a_system_file(tmp_path, plugins):
    path = tmp_path / "system.toml"
    path.write_text(FILE)
    system = read_system(path, plugins)
    assert (system.name, system.step, system.master.options.extrapolation) == ("masses", 0.05, 1)
    history = cosimulate(system, plugins=plugins)
    assert len(history) == 11
    assert history.provenance["start_values"] == {"pendulum.length2": 0.7}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("t_end = 0.5", "t_ende = 0.5", r"system.toml:4: \[run\] has no 't_ende'; did you mean 't_end'"),
        ("[run]", "[runn]", "a system file has no 'runn'; did you mean 'run'"),
        ("step = 0.005", "stepp = 0.005", "system.toml:10: component 'pendulum' has no 'stepp'; did you mean 'step'"),
        ('model = "double', 'fmu = "x.fmu"\nmodel = "double', "has both of 'fmu' and 'model'"),
        ('name = "gauss-seidel", extra', 'extra', "lacks 'name', which master to take"),
        ("extrapolation = 1", "extrapolation = 7", "extrapolation is 7; it can be 0, 1 or 2"),
        ("step = 0.05", "step = 0.05\nloops = 'perhaps'", "loops: expected one of 'warn', 'refuse'"),
        ("[components.pendulum]", "[components.\"pen.dulum\"]", "a component is called 'pen.dulum'"),
        ("set = {", "[[connections]]\nfrom = 'a.b'\nset = {", "connection number 1"),
    ],
)  # fmt: skip
def test_mistakes_in_a_file_are_named_with_their_line(old, new, message, tmp_path, plugins):
    path = tmp_path / "system.toml"
    assert old in FILE
    path.write_text(FILE.replace(old, new, 1))
    with pytest.raises(CosimError, match=message):
        read_system_file(path, plugins)


def test_files_that_cannot_be_read(tmp_path, plugins):
    with pytest.raises(FileError, match="there is no file"):
        read_system_file(tmp_path / "none.toml", plugins)
    (tmp_path / "bad.toml").write_text("[run")
    with pytest.raises(FileError, match="is not valid TOML"):
        read_system_file(tmp_path / "bad.toml", plugins)
