"""The page about vessels: its files can be read, its code runs, its tables are what is printed."""

import re
import shutil
from pathlib import Path

import pytest

from kingpost import open_model, read_model
from kingpost.modelfiles.vessel_table import vessel_of
from kingpost.plugins.models.barge import barge
from kingpost.vessels.machine import loading_of
from kingpost.vessels.options import VesselTable

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "vessels.md").read_text()
DATA = ROOT / "tests" / "data" / "hydro"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.S)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a small hull under the name of the page's barge."""
    shutil.copy(DATA / "hemisphere_r5.nc", tmp_path / "barge.nc")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_model_file_of_the_page_floats_in_the_wind(folder, plugins):
    vessel, wind = blocks("toml")
    (folder / "barge.toml").write_text(vessel + "\n" + wind)
    found = read_model(folder / "barge.toml", plugins)
    assert [force.kind for force in found.forces] == [
        "gravity", "hydrostatic", "radiation", "body-damping", "hydrostatic", "wave-excitation", "wind-coefficients",
    ]  # fmt: skip


def test_the_code_of_the_page_runs(folder, capsys):
    (code,) = blocks("python")
    exec(compile(code, "docs/vessels.md", "exec"), {})
    assert "radiation memory of 'hemisphere'" in capsys.readouterr().out


def test_every_key_of_a_vessel_is_on_the_page(folder):
    keys = [name for name in VesselTable.__dataclass_fields__ if f"`{name}`" not in PAGE]
    assert keys == []
    assert vessel_of({"hydro": "barge.nc", "body": "boat", "joint": "sea"}, folder).joints[0].name == "sea"


def test_the_table_of_weights_is_what_is_printed(plugins):
    printed = loading_of(open_model("barge-crane", plugins=plugins).mechanism, barge(), plugins).text()
    for line in printed.splitlines():
        assert line.strip() in PAGE
