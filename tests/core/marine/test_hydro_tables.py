"""Tables over waves from hydrodynamic data, and the box against a program for potential flow."""

import math
from pathlib import Path

import numpy as np
import pytest

from kingpost import KingpostError
from kingpost.marine.box_hull import BoxHull
from kingpost.marine.hydro.data import HydroData
from kingpost.marine.wave_tables import wave_table
from kingpost.plugins.forces.waves import WaveExcitation, WaveExcitationOptions

BARGE = Path(__file__).parents[2] / "data" / "hydro" / "barge_deep.nc"


def data(**more):
    w, b = np.array([0.5, 1.0, 1.5]), np.radians(np.arange(0, 360, 45))
    nothing = np.zeros((3, 6, 6))
    return HydroData(
        name="hull", frequencies=w, headings=b, added_mass=nothing, damping=nothing, water_density=1025.0, gravity=9.81,
        reference=np.zeros(3), **more,
    )  # fmt: skip


def test_hydrodynamic_data_become_tables():
    values = np.random.default_rng(0).normal(size=(3, 8, 6)) + 1j
    hull = data(excitation=values, drift=np.where(np.arange(6) == 2, np.nan, values.real))
    force, drift = wave_table(hull, "excitation"), wave_table(hull, "drift")
    assert force.at(np.array([1.0]), np.array([math.pi / 2]))[0] == pytest.approx(values[1, 2], abs=1e-12)
    assert drift.kind == "drift"
    assert (drift.values[:, :, 2] == 0).all()
    with pytest.raises(KingpostError, match="the hydrodynamic data of 'hull' hold no motions in waves"):
        wave_table(hull, "motions")


def test_a_force_reads_its_table_from_a_file():
    reading = pytest.importorskip("kingpost.marine.hydro.reading")
    if not BARGE.is_file():
        pytest.skip("the data of the barge are not here")
    hull = reading.read_hydro(BARGE)
    force = WaveExcitation(WaveExcitationOptions(body="hull", file=str(BARGE)))
    found = force.options.table.at(hull.frequencies[[3, 20]], hull.headings[[1, 3]])
    assert found == pytest.approx(np.array([hull.excitation[3, 1], hull.excitation[20, 3]]), rel=1e-9, abs=1.0)
    # One side of a symmetric hull serves both.
    assert force.options.table.around
    mirrored = force.options.table.at(hull.frequencies[[20]], -hull.headings[[1]])[0]
    assert mirrored == pytest.approx(hull.excitation[20, 1] * [1, -1, 1, -1, 1, -1], rel=1e-9, abs=1.0)


def test_a_box_in_long_waves_feels_what_a_program_for_potential_flow_finds():
    reading = pytest.importorskip("kingpost.marine.hydro.reading")
    if not BARGE.is_file():
        pytest.skip("the data of the barge are not here")
    hull = reading.read_hydro(BARGE)
    box = BoxHull(40.0, 12.0, 2.5)
    few = np.flatnonzero(hull.frequencies < 0.45)
    for j, motion in ((0, 0), (4, 0), (2, 1), (0, 2), (2, 2)):
        w, direction = hull.frequencies[few], np.full(len(few), hull.headings[j])
        alone = 1025 * 9.81 * box.at(w, direction)[:, motion]
        # In the acceleration of the water, the added mass is moved as the displaced mass is.
        added = hull.added_mass[few, motion, motion] / (1025 * 40 * 12 * 2.5) if motion < 2 else 0.0
        whole = alone * (1 + added)
        # In heave waves radiate: k B, 0.2 at the end, is what this leaves out.
        tolerance = 0.05 if motion < 2 else 0.25
        assert np.abs(hull.excitation[few, j, motion] / whole - 1).max() < tolerance
