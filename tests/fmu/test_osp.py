"""What Kingpost writes for the Open Simulation Platform, and blocks that become FMUs."""

from xml.etree import ElementTree

import casadi as ca
import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu

from kingpost import ExportError, FileError, Input, Parameter
from kingpost.base.channels import Channel
from kingpost.fmu.blocks.block import Block, State, export_block, pi_controller
from kingpost.fmu.osp import find_groups, osp_path, write_osp_description, write_osp_system

OSP = "{https://open-simulation-platform.com/OspModelDescription/1.0.0}"


@pytest.fixture(scope="module")
def crane(plugins, tmp_path_factory):
    from kingpost import ExportSelection, prepare_export
    from kingpost.fmu.export.native.exporter import NativeFmu

    mechanism = plugins.models.get("vessel-crane")().build()
    path = tmp_path_factory.mktemp("osp") / "crane.fmu"
    model = prepare_export(mechanism, loads=["slew"], plugins=plugins)
    NativeFmu().export(model, ExportSelection(), path)
    return path


def test_ports_pair_efforts_with_flows(crane):
    root = ElementTree.parse(write_osp_description(crane)).getroot()
    groups = root.find(f"{OSP}VariableGroups")
    ports = {port.get("name"): port for port in groups.findall(f"{OSP}AngularMechanicalPort")}
    assert set(ports) == {"slew.angle port", "luff.angle port", "knuckle.angle port"}
    slew = ports["slew.angle port"]
    assert [item.get("ref") for item in slew.iter(f"{OSP}Variable")] == ["slew_torque", "slew.angle.rate"]
    forces = {group.get("name"): [item.get("ref") for item in group] for group in groups.findall(f"{OSP}Force")}
    assert forces["slew force"] == ["slew.Fx", "slew.Fy", "slew.Fz"]
    names = [group.get("name") for group in groups.iter() if group.get("name")]
    assert len(set(names)) == len(names)
    shown = {variable.name for variable in fmpy.read_model_description(str(crane)).modelVariables}
    assert {item.get("ref") for item in groups.iter(f"{OSP}Variable")} <= shown
    units = {unit.get("name"): unit[0].attrib for unit in root.find(f"{OSP}UnitDefinitions")}
    assert units["N.m"] == {"kg": "1", "m": "2", "s": "-2", "factor": "1.0", "offset": "0.0"}


def test_groups_are_vectors_of_one_kind_or_single_variables():
    units = {"a.x": "m", "a.y": "m", "a.z": "m", "b.Fx": "N", "b.Fy": "N.m", "b.Fz": "N", "e": "J", "w": "rad/s"}
    groups = {group.name: (group.kind, group.variables) for group in find_groups(units)}
    assert groups["a position"] == ("LinearDisplacement", ("a.x", "a.y", "a.z"))
    assert groups["w"] == ("AngularVelocity", ("w",))
    assert groups["b.Fx"] == ("Force", ("b.Fx",))
    assert "e" not in groups


def test_files_that_are_no_fmu_of_ours_are_refused(tmp_path):
    with pytest.raises(FileError, match="there is no file"):
        write_osp_description(tmp_path / "gone.fmu")
    (tmp_path / "text.fmu").write_text("no archive")
    with pytest.raises(FileError, match="is no FMU that Kingpost exported"):
        write_osp_description(tmp_path / "text.fmu")
    assert not osp_path(tmp_path / "text.fmu").exists()


def test_a_system_names_its_simulators(tmp_path):
    with pytest.raises(FileError, match="'cran.x' names no simulator; did you mean 'crane'"):
        write_osp_system(tmp_path / "s.xml", 0.01, {"crane": tmp_path / "crane.fmu"}, [("cran.x", "crane.y")])
    assert not (tmp_path / "s.xml").exists()


def test_the_command_writes_ports(kingpost_cli, tmp_path):
    outcome = kingpost_cli("export", "double-pendulum", "--osp", "-o", "dp.fmu")
    assert outcome.status == 0, outcome.err
    assert (tmp_path / "dp_OspModelDescription.xml").is_file()


# Blocks


@pytest.mark.parametrize("to", ["native-fmu", "native-fmu:fmi=3", "native-fmu:fmu=me"])
def test_a_pi_controller_integrates_the_error(tmp_path, to):
    path = export_block(pi_controller(), tmp_path / "pi.fmu", to=to).path
    assert validate_fmu(str(path)) == []
    step = None if "me" in to else 0.01
    result = fmpy.simulate_fmu(
        str(path), start_values={"target": 0.2, "measured": 0.05}, stop_time=1.0, step_size=step, output_interval=0.01
    )
    # e = 0.15: kp e + ki e t with kp = 1000, ki = 500.
    np.testing.assert_allclose(result["effort"], 150 + 75 * result["time"], rtol=1e-9)


def test_a_limited_controller_does_not_wind_up(tmp_path):
    path = export_block(pi_controller(), tmp_path / "pi.fmu").path
    result = fmpy.simulate_fmu(
        str(path), start_values={"target": 1.0, "limit": 1100.0}, stop_time=2.0, step_size=0.01, output_interval=0.01
    )
    assert result["effort"].max() == pytest.approx(1100.0)
    # It stops integrating when 1000 + 500 I reaches the limit: I = 0.2, passed by one internal step of 1 ms at most.
    assert 0.2 <= result["integral"][-1] <= 0.2 + 1.1e-3


def test_a_block_of_ones_own(tmp_path):
    block = Block(
        "filter",
        inputs=(Input("u", "N"),),
        outputs=(Channel("y", "N"),),
        states=(State("x", "N", 3.0),),
        parameters=(Parameter("tau", 0.5, "s"),),
        rates=lambda s: [(s["u"] - s["x"]) / s["tau"]],
        values=lambda s: [2 * s["x"] + ca.sin(s["t"])],
    )
    path = export_block(block, tmp_path / "filter.fmu").path
    assert validate_fmu(str(path)) == []
    result = fmpy.simulate_fmu(str(path), stop_time=1.0, step_size=0.1, output_interval=0.1)
    # RK4 with 1 ms on a time constant of 0.5 s: (h / tau)^4 / 120 is below 1e-12.
    np.testing.assert_allclose(result["y"], 6 * np.exp(-2 * result["time"]) + np.sin(result["time"]), rtol=1e-10)


def test_wrong_blocks_are_refused(tmp_path):
    inputs, outputs = (Input("u", "1"),), (Channel("y", "1"),)
    with pytest.raises(ExportError, match="its values are 0 expressions, expected 1"):
        export_block(Block("b", inputs, outputs), tmp_path / "b.fmu")
    with pytest.raises(ExportError, match="two of its variables have the same name"):
        export_block(Block("b", inputs, (Channel("u", "1"),), values=lambda s: [s["u"]]), tmp_path / "b.fmu")
    assert not (tmp_path / "b.fmu").exists()
