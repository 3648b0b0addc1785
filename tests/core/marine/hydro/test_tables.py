"""Between and beyond the rows of tables: headings, symmetry, frequencies, long and short waves."""

import dataclasses
import math

import numpy as np
import pytest

from kingpost.base.errors import KingpostError
from kingpost.marine.hydro.dispersion import group_speed, wave_number
from kingpost.marine.hydro.headings import MIRROR, asymmetry, turned, weights
from kingpost.marine.hydro.tables import END, water_motion
from tests.core.marine.hydro.files import barge, hemisphere
from tests.core.marine.hydro.test_data import made

DEG = math.pi / 180


# Waves


def test_wave_numbers_satisfy_the_dispersion_relation():
    w = np.geomspace(0.05, 10, 60)
    for depth in (2.0, 15.0, 400.0):
        k = wave_number(w, 9.81, depth)
        np.testing.assert_allclose(9.81 * k * np.tanh(k * depth), w**2, rtol=1e-13)
    np.testing.assert_allclose(wave_number(w, 9.81), w**2 / 9.81, rtol=1e-15)
    # In shallow water w = k sqrt(g h).
    assert wave_number(0.01, 9.81, 2.0) == pytest.approx(0.01 / math.sqrt(9.81 * 2), rel=1e-5)


def test_group_speed_is_the_slope_of_the_dispersion_relation():
    w, step = np.geomspace(0.2, 4, 12), 1e-5
    for depth in (5.0, 30.0, math.inf):
        slope = 2 * step / (wave_number(w + step, 9.81, depth) - wave_number(w - step, 9.81, depth))
        np.testing.assert_allclose(group_speed(w, 9.81, depth), slope, rtol=1e-8)


# Headings


def test_headings_in_one_turn():
    np.testing.assert_allclose(turned(np.array([-190, 190, 360, 180, -180]) * DEG), np.array([170, -170, 0, 180, 180]) * DEG)


def test_symmetry_fills_the_turn():
    whole = barge().full_turn()
    np.testing.assert_allclose(whole.headings / DEG, [-135, -90, -45, 0, 45, 90, 135, 180], atol=1e-9)
    port, starboard = whole.excitation[:, 5], whole.excitation[:, 1]
    np.testing.assert_array_equal(starboard, port * MIRROR)
    assert whole.full_turn().headings.tolist() == whole.headings.tolist()


def test_a_hull_without_symmetry_keeps_its_headings():
    added = np.tile(np.eye(6), (2, 1, 1))
    added[:, 0, 1] = added[:, 1, 0] = 0.2
    hull = made(added_mass=added)
    assert asymmetry(hull) == pytest.approx(0.2)
    assert len(hull.full_turn().headings) == 3
    assert len(made(reference=[0, 1.0, 0]).full_turn().headings) == 3
    assert len(made().full_turn().headings) == 4


def test_weights_are_those_of_a_periodic_spline():
    """Of a function with the fourth derivative M, a cubic spline is off by 5/384 M h^4 at most."""
    wanted = np.linspace(-7, 7, 300)
    errors = []
    for count in (8, 16, 32):
        headings = 2 * math.pi * np.arange(count) / count - math.pi
        found = weights(headings, wanted)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
        errors.append(np.abs(found @ np.cos(headings) - np.cos(wanted)).max())
        assert errors[-1] <= 5 / 384 * (2 * math.pi / count) ** 4
    assert math.log2(errors[1] / errors[2]) == pytest.approx(4, abs=0.2)


def test_a_body_of_revolution_turns_with_the_wave():
    """Surge is the force along the wave times cos, at any heading between those of the table."""
    data = hemisphere()
    headings = np.linspace(-3.0, 3.0, 41)
    for w in data.frequencies[[3, 10, 17]]:
        along = data.excitation_at(w, 0.0)[0, 0]
        found = data.excitation_at(np.full(41, w), headings)
        bound = 5 / 384 * (math.pi / 4) ** 4 + 2e-3  # of the spline, and of panels that are no revolution
        assert np.abs(found[:, 0] - along * np.cos(headings)).max() <= bound * abs(along)
        assert np.abs(found[:, 1] - along * np.sin(headings)).max() <= bound * abs(along)


def test_gaps_are_refused():
    data = made(headings=np.array([0, 90, 180]) * DEG)
    with pytest.raises(
        KingpostError, match=r"heading 30 deg lies in a gap .* between 0 and 90 deg \(90 deg wide; at most 45\)"
    ):
        data.excitation_at(0.7, 30 * DEG)
    # What stands in the table is no gap, nor is what symmetry adds.
    assert data.excitation_at(0.7, [90 * DEG, -90 * DEG]).shape == (2, 6)
    with pytest.raises(KingpostError, match="no headings"):
        made(headings=[], excitation=np.zeros((2, 0, 6))).excitation_at(0.7, 0.0)


def test_between_headings_of_an_arc():
    headings = np.array([0, 30, 60, 90]) * DEG
    arc = made(headings=headings, excitation=np.ones((2, 4, 6)) * np.cos(headings)[:, None], reference=[0, 1, 0])
    assert arc.excitation_at(1.0, 45 * DEG)[0, 0].real == pytest.approx(math.cos(45 * DEG), abs=2e-3)
    with pytest.raises(KingpostError, match="gap"):
        arc.excitation_at(1.0, 100 * DEG)


def test_one_heading_of_all():
    one = barge().at_heading(45 * DEG)
    np.testing.assert_allclose(one.excitation[:, 0], barge().excitation[:, 1], rtol=1e-12, atol=1e-6)
    between = barge().at_heading(-20 * DEG)
    assert between.excitation.shape == (41, 1, 6) and between.drift.shape == (41, 1, 6)
    assert between.excitation[10, 0, 1] == pytest.approx(-barge().at_heading(20 * DEG).excitation[10, 0, 1])
    assert np.isnan(between.drift[:, :, 2]).all() and np.isfinite(between.drift[:, :, [0, 1, 5]]).all()


# Frequencies


def test_rows_of_the_table_come_back():
    w, headings = np.meshgrid(barge().frequencies, barge().headings, indexing="ij")
    for name in ("excitation", "motions", "drift"):
        table = getattr(barge(), name)
        found = getattr(barge(), f"{name}_at")(w.ravel(), headings.ravel()).reshape(table.shape)
        np.testing.assert_allclose(found, table, rtol=1e-12, atol=1e-12 * np.nanmax(np.abs(table)))


def test_rows_that_were_left_out_are_found_again():
    """Every second row, 0.12 rad/s apart: a head wave at 2.5 rad/s passes the hull 4 times, 0.12 rad/s are 0.4 of a turn more.

    With M = (2 pi 0.4 / 0.12)^4 of the amplitude there, 5/384 M h^4 is half of it; the amplitude is a tenth of the largest.
    """
    data = barge()
    half = dataclasses.replace(
        data,
        frequencies=data.frequencies[::2],
        added_mass=data.added_mass[::2],
        damping=data.damping[::2],
        excitation=data.excitation[::2],
        motions=None,
        drift=None,
    )
    for m, heading in enumerate(data.headings):
        found = half.excitation_at(data.frequencies, heading)
        largest = np.abs(data.excitation).max(axis=(0, 1))
        assert (np.abs(found - data.excitation[:, m]).max(axis=0) <= 0.05 * largest).all()


def test_long_waves_lift_the_hull():
    data = barge()
    found = data.excitation_at([1e-4], 0.7)[0]
    np.testing.assert_allclose(found, data.restoring[:, 2], atol=1e-3 * data.restoring[2, 2])
    # Steady at the lowest row, whichever side it is approached from.
    below, above = (data.excitation_at(data.frequencies[0] * (1 + x), 0.0) for x in (-1e-9, 1e-9))
    np.testing.assert_allclose(below, above, rtol=1e-6, atol=1)


def test_long_waves_carry_a_hull_as_they_carry_water():
    data = barge()
    for heading in (0.0, 90 * DEG, 30 * DEG):
        w = np.array([0.01, 0.05])
        expected = water_motion(data, w, np.full(2, heading))
        np.testing.assert_allclose(data.motions_at(w, heading), expected, atol=5e-3)
    # Phases measured by capytaine at 0.1 rad/s: surge and sway lag by 90 deg, pitch leads, roll lags.
    head, beam = data.motions_at(0.02, 0.0)[0], data.motions_at(0.02, 90 * DEG)[0]
    np.testing.assert_allclose(
        np.degrees(np.angle([head[0], head[2], head[4], beam[1], beam[3]])), [-90, 0, 90, -90, -90], atol=1
    )


def test_short_waves_end():
    data = barge()
    last = data.frequencies[-1]
    middle, end = data.excitation_at([last * (1 + END) / 2, last * END * 1.001], 90 * DEG)
    np.testing.assert_allclose(middle, data.excitation[-1, 2] / 2, rtol=1e-9, atol=1e-6)
    assert not end.any()
    np.testing.assert_allclose(data.drift_at(9.0, 0.0)[0, 0], data.drift[-1, 0, 0])
    assert abs(data.drift_at(1e-3, 0.0)[0, 0]) < 1e-3 * abs(data.drift[0, 0, 0]) + 1e-9


def test_without_stiffness_the_lowest_row_is_lifted():
    data = barge().with_notes(restoring=None)
    found = data.excitation_at(1e-3, 0.0)[0]
    assert found[2] == pytest.approx(data.excitation[0, 0, 2].real, rel=1e-3)
    assert abs(found[0]) < 1e-3 * abs(found[2])


def test_tables_that_lack_are_named():
    with pytest.raises(KingpostError, match="'barge' .* hold no motions"):
        barge().with_notes(motions=None).motions_at(1.0, 0.0)
    with pytest.raises(KingpostError, match="positive and finite"):
        barge().excitation_at([0.0, 1.0], 0.0)
    with pytest.raises(KingpostError, match="positive and finite"):
        barge().excitation_at(1.0, float("nan"))
