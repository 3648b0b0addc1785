"""What a machine on a vessel weighs at its start, and where; and what the command line says of hulls."""

import json

import numpy as np
import pytest

from kingpost import equilibrium, open_model
from kingpost.cli.main import main
from kingpost.marine.hydro.fitting.files import read_memory
from kingpost.plugins.models.barge import barge
from kingpost.vessels.machine import loading_of, parts_of
from tests.core.marine.hydro.fitting.hulls import FILES
from tests.plugins.forces.deriving import BUILT_IN


def test_barge_and_crane_together_are_what_is_displaced():
    crane = open_model("barge-crane", plugins=BUILT_IN).mechanism
    parts = parts_of(crane, BUILT_IN)
    assert {name: mass for name, (mass, _) in parts.items() if name != "vessel"} == {
        "king": 5e3, "boom": 3.2e3, "knuckle": 1.4e3, "drum": 400.0, "load": 4e3,
    }  # fmt: skip
    assert parts["king"][1] == pytest.approx([8.0, -3.0, 3.5])
    found = loading_of(crane, barge(), BUILT_IN)
    assert found.mass == pytest.approx(found.displaced, rel=1e-9)
    # Upright and even: the crane's moments are taken up by the ballast of the hull alone.
    assert np.abs([found.sinkage, found.heel, found.trim]).max() < 1e-9


@pytest.mark.slow
def test_at_rest_the_crane_stands_where_the_table_says():
    crane = open_model("barge-crane", plugins=BUILT_IN).mechanism
    found = equilibrium(crane, plugins=BUILT_IN)
    names = [item.name for item in crane.coordinates]
    q = dict(zip(names, np.asarray(found.x)[: len(names)], strict=False))
    # Drives and rope give way a little, and the boom with them: 1e-4 rad.
    assert abs(q["hull.z"]) < 1e-6 and abs(2 * q["hull.qx"]) < 5e-4


def test_the_command_fits_says_how_well_and_writes_the_memory(tmp_path, capsys):
    memory = tmp_path / "memory.npz"
    assert main(["hydro", str(FILES / "hemisphere_r5.nc"), "--fit", "--memory", str(memory), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["fit"]
    assert found["passive"] and found["stable"] and max(found["motion_errors"]) < 0.004
    # The mesh of this hemisphere displaces 0.65 % less than the mass that it was given.
    assert found["floating"]["mass"] / found["floating"]["displaced"] == pytest.approx(1.00655, abs=1e-5)
    assert read_memory(memory)[0].states == found["states"] == 30
    assert main(["hydro", str(FILES / "hemisphere_r5.nc"), "--memory", str(tmp_path / "memory.txt")]) != 0
    assert "the name must end in .npz" in capsys.readouterr().err


def test_the_command_prints_the_tables(capsys):
    assert main(["hydro", str(FILES / "hemisphere_r5.nc"), "--fit"]) == 0
    text = capsys.readouterr().out
    for words in ("radiation memory of 'hemisphere': 30 states", "displaced water", "weight less buoyancy +1745.6 kg"):
        assert words in text
