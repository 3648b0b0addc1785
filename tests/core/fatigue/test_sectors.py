"""Resultants by direction."""

import math

import numpy as np
import pytest

from kingpost import KingpostError
from kingpost.fatigue import curve_set, sector_resultants
from kingpost.mechanism.load_request import LoadRequest
from tests.core.fatigue.synthetic import cosine, load_history

TIME, WAVE = cosine(30, 48)
TURNING = load_history(TIME, {"pin.Fx": 5e3 * WAVE, "pin.Fy": 5e3 * np.sin(2 * np.pi * TIME)})
SWINGING = load_history(TIME, {"pin.Fx": 5e3 * WAVE})


def test_a_load_that_turns_is_the_same_sine_in_every_sector():
    sectors = sector_resultants(TURNING, ("pin.Fx", "pin.Fy"))
    assert np.degrees(sectors.angles) == pytest.approx(np.arange(24) * 15.0)
    assert (sectors.unit, sectors.duration, sectors.values.shape) == ("N", 30.0, (len(TIME), 24))
    expected = 5e3 * np.cos(2 * np.pi * TIME[:, None] - sectors.angles)
    assert sectors.values == pytest.approx(expected, abs=5e3 * 1e-13)  # 30 turns of phase, rounded
    # 15 degrees is two samples: every sector has its peaks on samples.
    for cycles in sectors.cycles():
        assert cycles.largest_range == pytest.approx(1e4, rel=1e-12)


def test_a_load_that_swings_keeps_its_sign():
    sectors = sector_resultants(SWINGING, ("pin.Fx", "pin.Fy"), 4)
    assert [cycles.largest_range for cycles in sectors.cycles()] == pytest.approx([1e4, 0.0, 1e4, 0.0], abs=1e-9)
    # The length of the resultant has half the range, at twice the frequency.
    assert np.ptp(np.hypot(SWINGING["pin.Fx"], SWINGING["pin.Fy"])) == pytest.approx(5e3, rel=1e-12)
    assert np.array_equal(sectors.values[:, 0], SWINGING["pin.Fx"])


def test_equivalent_ranges_and_damage_by_sector():
    sectors = sector_resultants(SWINGING, ("pin.Fx", "pin.Fy"), 24)
    found = [item.range for item in sectors.equivalent_ranges(4.0)]
    assert found == pytest.approx(1e4 * np.abs(np.cos(sectors.angles)), rel=1e-12, abs=1e-9)
    damage = sectors.damage(curve_set().get("D-air"), 2e4)  # 200 MPa of range, along the load
    assert damage[0] == pytest.approx(30 * 200**3 / 10**12.164, rel=1e-12)
    assert damage[:12] == pytest.approx(damage[12:], rel=1e-12)  # opposite sectors have equal ranges
    assert damage[4] == pytest.approx(damage[0] / 8, rel=1e-12)  # 60 degrees: half the range, 100 MPa
    assert sectors.equivalent_ranges(4.0, threshold=3e4)[0].range == 0.0


def test_the_start_is_left_out_and_the_axes_are_those_asked_for():
    sectors = sector_resultants(TURNING, ("pin.Fx", "pin.Fy"), 1, skip=10.0)
    assert (sectors.skipped, sectors.duration) == (10.0, 20.0)
    with pytest.raises(KingpostError, match="pin"):  # a history without poses cannot turn its loads
        sector_resultants(TURNING, ("pin.Fx", "pin.Fy"), loads={"pin": LoadRequest("pin", "world")})


def test_what_has_no_resultant_is_refused():
    with pytest.raises(KingpostError, match="a resultant in a plane has two components; got pin.Fx"):
        sector_resultants(TURNING, ["pin.Fx"])
    with pytest.raises(KingpostError, match="'pin.Fx' is in N and 'pin.My' in N.m; they have no resultant"):
        sector_resultants(TURNING, ["pin.Fx", "pin.My"])
    with pytest.raises(KingpostError, match="0 sectors were asked for"):
        sector_resultants(TURNING, ["pin.Fx", "pin.Fy"], 0)
    with pytest.raises(KingpostError, match="no channel 'pin.Fq'; did you mean 'pin.F"):
        sector_resultants(TURNING, ["pin.Fx", "pin.Fq"])


def test_bending_of_a_ring_is_the_projection_of_the_moment_a_quarter_turn_back():
    moments = load_history(TIME, {"pin.Mx": 3.0 * WAVE, "pin.My": -2.0 * WAVE})
    phi = math.radians(75.0)
    bending = moments["pin.Mx"] * math.sin(phi) - moments["pin.My"] * math.cos(phi)
    sectors = sector_resultants(moments, ("pin.Mx", "pin.My"))
    (k,) = np.flatnonzero(np.isclose(np.degrees(sectors.angles), (75.0 - 90.0) % 360.0))
    assert sectors.values[:, k] == pytest.approx(bending, abs=1e-14)
