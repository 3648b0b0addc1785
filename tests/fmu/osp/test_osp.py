"""What Kingpost writes for the Open Simulation Platform."""

from xml.etree import ElementTree

import fmpy
import pytest

from kingpost import FileError
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
