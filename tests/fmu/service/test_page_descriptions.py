"""What the editor of the page asks for: ports of models, and system files as they were written."""

from kingpost.fmu.service.describing import describe
from kingpost.registry.pluginset import PluginSet

SYSTEM = """\
name = "pair"
[run]
t_end = 2.0
step = 0.01
master = { name = "jacobi", extrapolation = 1 }
[components.one]
model = "mathematical-pendulum"
set = { mass = 2.0 }
[components.two]
model = "mathematical-pendulum"
[[connections]]
from = "one.energy.kinetic"
to = "two.torque"
factor = 0.5
"""


def test_ports_of_a_model_are_what_it_gives_and_takes_in_a_system():
    ports = describe("ports", "mathematical-pendulum", PluginSet())
    assert {"name": "torque", "unit": "N.m"} in ports["inputs"]
    outputs = {entry["name"]: entry["unit"] for entry in ports["outputs"]}
    assert outputs["energy.kinetic"] == "J"
    assert not outputs.keys() & {entry["name"] for entry in ports["inputs"]}


def test_a_system_file_comes_back_whole(tmp_path):
    (tmp_path / "pair.toml").write_text(SYSTEM)
    described = describe("system", str(tmp_path / "pair.toml"), PluginSet())
    assert [component["name"] for component in described["components"]] == ["one", "two"]
    source = described["source"]
    assert source["run"]["master"] == {"name": "jacobi", "extrapolation": 1}
    assert source["components"]["one"]["set"] == {"mass": 2.0}
    assert source["connections"] == [{"from": "one.energy.kinetic", "to": "two.torque", "factor": 0.5}]
