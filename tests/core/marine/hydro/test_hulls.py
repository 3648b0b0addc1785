"""Hulls whose numbers are known otherwise: Hulme's hemisphere, boxes, spheres, and the same hull solved about another point."""

import dataclasses
import math

import numpy as np
import pytest
import scipy.special

from kingpost.base.errors import KingpostError
from kingpost.marine.hydro.checks import haskind, stability
from kingpost.marine.hydro.data import MOTIONS
from kingpost.marine.hydro.points import motion_matrix
from kingpost.marine.hydro.reading import read_hydro
from kingpost.marine.hydro.response import motion_response
from tests.core.marine.hydro.files import FOLDER, PUBLIC, SPHERE, barge, hemisphere

RADIUS = 5.0
#: Added mass over displaced mass in surge, J. Fluid Mech. 121 (1982), table 2, over w^2 R/g.
HULME_SURGE = {0.1: 0.5223, 0.3: 0.5848, 0.5: 0.6439, 1.0: 0.5740, 2.0: 0.2493, 3.0: 0.1720, 5.0: 0.1679}
#: Damping over w times displaced mass.
HULME_SURGE_DAMPING = {0.5: 0.0987, 1.0: 0.3535, 1.4: 0.406}
#: Heave, both, by Hulme's method with 16 wave-free multipoles.
HULME_HEAVE = {0.1: (0.8632, 0.1818), 0.5: (0.5864, 0.3394), 1.0: (0.4287, 0.2488), 2.0: (0.3885, 0.1035)}


def of_hemisphere(data, Ka, motion):
    """Return added mass and damping, without dimension, at one w^2 R/g."""
    w = math.sqrt(Ka * data.gravity / RADIUS)
    row = int(np.abs(data.frequencies - w).argmin())
    assert data.frequencies[row] == pytest.approx(w, rel=1e-6)
    mass = data.water_density * 2 / 3 * math.pi * RADIUS**3
    i = MOTIONS.index(motion)
    return data.added_mass[row, i, i] / mass, data.damping[row, i, i] / (w * mass)


# 640 panels have 0.6 % less volume than the sphere, and their potential is of the first order: 1.5 % of the largest number.


@pytest.mark.parametrize("Ka", HULME_SURGE)
def test_surge_of_the_hemisphere_is_hulmes(Ka):
    assert of_hemisphere(hemisphere(), Ka, "surge")[0] == pytest.approx(HULME_SURGE[Ka], abs=0.015 * 0.65)


@pytest.mark.parametrize("Ka", HULME_SURGE_DAMPING)
def test_damping_in_surge_of_the_hemisphere_is_hulmes(Ka):
    assert of_hemisphere(hemisphere(), Ka, "surge")[1] == pytest.approx(HULME_SURGE_DAMPING[Ka], abs=0.015 * 0.41)


@pytest.mark.parametrize("Ka", HULME_HEAVE)
def test_heave_of_the_hemisphere_is_hulmes(Ka):
    assert of_hemisphere(hemisphere(), Ka, "heave") == pytest.approx(HULME_HEAVE[Ka], abs=0.015 * 0.86)


def test_limits_of_the_hemisphere():
    data = hemisphere()
    mass = data.water_density * 2 / 3 * math.pi * RADIUS**3
    # A sphere in free space has half its displaced mass, and so has its lower half under a surface without pressure.
    assert data.added_mass_inf[2, 2] / mass == pytest.approx(0.5, rel=0.015)
    # A lid without flow is a mirror: the whole sphere moves along.
    assert data.added_mass_zero[0, 0] / mass == pytest.approx(0.5, rel=0.015)
    assert data.added_mass_inf[0, 0] / mass == pytest.approx(0.2732, rel=0.015)


def test_the_public_sphere_has_the_limits_of_a_sphere():
    data = read_hydro(PUBLIC / "wamit_sphere" / "sphere.1", **SPHERE)
    mass = data.water_density * 2 / 3 * math.pi * RADIUS**3
    # Its panels lack 0.2 % of the volume.
    assert data.volume == pytest.approx(2 / 3 * math.pi * RADIUS**3, rel=3e-3)
    assert data.added_mass_inf[2, 2] / mass == pytest.approx(0.5, rel=0.01)
    # With the bottom 50 m below, the mirrored sphere has a neighbour: (R/2h)^3 is 1e-4.
    assert data.added_mass_zero[0, 0] / mass == pytest.approx(0.5, rel=0.01)
    assert data.added_mass_inf[0, 0] / mass == pytest.approx(0.2732, rel=0.01)


def test_hydrostatics_of_the_box():
    data = barge()
    length, beam, draught, zg = 40.0, 12.0, 2.5, 1.0
    rho_g = data.water_density * data.gravity
    volume = length * beam * draught
    assert data.volume == pytest.approx(volume, rel=1e-9)
    assert data.restoring[2, 2] == pytest.approx(rho_g * length * beam, rel=1e-9)
    # Panels of 0.75 m take the mean over themselves: their own second moment is missing, (0.75/12)^2 and (0.75/40)^2 of it.
    levers = [beam**2 / 12 / draught, length**2 / 12 / draught]
    heights = [lever - draught / 2 - zg for lever in levers]
    own = [levers[0] * (0.75 / beam) ** 2, levers[1] * (0.75 / length) ** 2]
    found = stability(data)
    assert found["GM roll"] == pytest.approx(heights[0], abs=1.05 * own[0])
    assert found["GM pitch"] == pytest.approx(heights[1], abs=1.05 * own[1])


def test_hydrostatics_of_the_public_sphere():
    data = read_hydro(PUBLIC / "wamit_sphere", **SPHERE)
    volume, zb = 2 / 3 * math.pi * RADIUS**3, -3 / 8 * RADIUS
    rho_g = data.water_density * data.gravity
    assert data.restoring[2, 2] == pytest.approx(rho_g * math.pi * RADIUS**2, rel=2e-3)
    # Pressure on a sphere goes through its centre, so the metacentre is there: 2 m above the centre of gravity.
    assert stability(data)["GM roll"] == pytest.approx(2.0, abs=4e-3)
    assert data.restoring[3, 3] == pytest.approx(rho_g * volume * 2.0, rel=2e-3)
    assert data.centre_of_buoyancy[2] == pytest.approx(zb, abs=4e-3)


# A cylinder, and a barge in shallow water


def test_the_force_on_a_long_cylinder_is_that_of_maccamy_and_fuchs():
    """4 rho g / k^2 (1 - exp(-k T)) / |H1'(k R)|, for waves that do not feel its end: k T above 2.

    28 straight panels have 0.8 % less area than the circle; with what passes below, exp(-2 k T), that is 1.2 %.
    """
    data = read_hydro(FOLDER / "cylinder_r5_d10.nc")
    R, T, rho_g = 5.0, 10.0, 1025.0 * 9.81
    k = data.frequencies**2 / 9.81
    exact = 4 * rho_g / k**2 * (1 - np.exp(-k * T)) / np.abs(scipy.special.h1vp(1, k * R))
    short = k * T > 2
    assert short.sum() == 2
    for heading, motion in ((0, 0), (1, 1)):
        assert np.abs(data.excitation[short, heading, motion]) == pytest.approx(exact[short], rel=0.012)
    area = 14 * np.sin(2 * np.pi / 28) * R**2
    assert data.restoring[2, 2] == pytest.approx(rho_g * area, rel=1e-6)
    # A body of revolution.
    assert data.added_mass[:, 0, 0] == pytest.approx(data.added_mass[:, 1, 1], rel=1e-9)
    assert max(haskind(data).values.values()) < 0.01


def test_haskinds_relation_holds_by_the_depth_of_the_water():
    """Waves that the hull makes carry the energy that its damping takes away, as fast as groups go in 15 m of water."""
    data = read_hydro(FOLDER / "barge_h15.nc")
    assert data.depth == 15.0
    shallow = haskind(data).values
    assert set(shallow) == {"surge", "sway", "heave", "roll", "pitch", "yaw"}
    assert max(shallow.values()) < 0.005
    deep = haskind(dataclasses.replace(data, depth=math.inf)).values
    assert deep["heave"] > 0.4 and deep["pitch"] > 0.09
    assert np.abs(motion_response(data) - data.motions).max() < 1e-12 * np.abs(data.motions).max()


# Drift


def test_short_waves_push_a_barge_as_they_push_walls():
    """rho g / 2 for each metre of a wall that throws waves back, times the square of the sine of their angle to it.

    A thin wall of this draught lets 11 % of the energy pass at 1.94 rad/s and nothing at 2.5 rad/s (F. Ursell, 1947). What the
    ends of the sides and the motions of the barge take off has no closed form: an eighth is allowed in all. Heights for
    amplitudes, waves from where they go to, or a sine for its square would be off by more.
    """
    data = barge()
    length, beam, rho_g = 40.0, 12.0, data.water_density * data.gravity
    short = data.frequencies > 1.9
    assert short.sum() == 10
    following, quarter, side, _, head = range(5)
    assert np.degrees(data.headings) == pytest.approx([0, 45, 90, 135, 180])
    drift = data.drift[short] / (rho_g / 2)
    assert drift[:, side, 1] == pytest.approx(length, rel=0.125)
    assert drift[:, head, 0] == pytest.approx(-beam, rel=0.125)
    assert drift[:, quarter, 1] == pytest.approx(length / 2, rel=0.125)
    assert drift[:, quarter, 0] == pytest.approx(beam / 2, rel=0.125)
    # The hull is the same fore and aft.
    assert data.drift[:, following, 0] == pytest.approx(-data.drift[:, head, 0], abs=1e-9 * rho_g)
    assert np.abs(data.drift[:, side, 0]).max() < 1e-9 * rho_g
    # Long waves carry the hull along: what it throws back goes with a high power of their number, k L = 0.04.
    assert np.abs(data.drift[0, :, :2]).max() < 0.04**2 * rho_g


# Another point of reference


def test_another_point_gives_what_was_solved_about_it():
    other = read_hydro(FOLDER / "barge_deep_ref_waterline.nc")
    rows = [int(np.abs(barge().frequencies - w).argmin()) for w in other.frequencies]
    assert np.allclose(barge().frequencies[rows], other.frequencies, rtol=1e-12)
    moved = barge().about([0, 0, 0])
    assert moved.reference.tolist() == [0, 0, 0]
    for name in ("added_mass", "damping", "excitation", "motions", "drift"):
        ours, theirs = getattr(moved, name)[rows], getattr(other, name)
        known = np.isfinite(theirs)
        assert (np.isfinite(ours) == known).all()
        # The same panels solved twice; moments are sums with an arm of 1 m.
        assert np.abs(ours - theirs)[known].max() <= 1e-12 * np.abs(theirs[known]).max(), name
    for name in ("restoring", "inertia", "added_mass_inf"):
        theirs = getattr(other, name)
        assert np.abs(getattr(moved, name) - theirs).max() <= 1e-12 * np.abs(theirs).max(), name


def test_there_and_back_is_where_it_was():
    moved = barge().about([3.0, -2.0, 5.0]).about(barge().reference)
    for name in ("added_mass", "damping", "restoring", "inertia", "excitation", "motions"):
        given = getattr(barge(), name)
        # Arms of 6 m mix forces of 1e6 into moments of 1e9: rounding of the larger.
        assert np.abs(getattr(moved, name) - given).max() <= 1e-12 * np.abs(given).max(), name


def test_power_does_not_depend_on_the_point():
    twist = np.array([0.3, -0.2, 0.5, 0.02, -0.01, 0.03])
    point = np.array([10.0, 4.0, -3.0])
    moved = barge().about(point)
    there = motion_matrix(point - barge().reference) @ twist
    for name in ("added_mass", "damping", "inertia"):
        here, after = getattr(barge(), name), getattr(moved, name)
        np.testing.assert_allclose(there @ after @ there, twist @ here @ twist, rtol=1e-11)
    np.testing.assert_allclose(moved.excitation @ there, barge().excitation @ twist, rtol=1e-9, atol=1e-3)


def test_stiffness_without_weight_moves_with_the_buoyancy():
    """Against WAMIT's formula, C44 = rho g (Int y^2 dS + V zb), C46 = - rho g V xb, for a box about two points."""
    rho_g = 1025 * 9.81
    length, beam, draught = 40.0, 12.0, 2.5
    area, volume = length * beam, length * beam * draught

    def stiffness(point):
        x, y, z = -np.asarray(point, dtype=float)  # the middle of the waterplane from there
        zb = z - draught / 2
        C = np.zeros((6, 6))
        C[2, 2], C[2, 3], C[2, 4] = area, area * y, -area * x
        C[3, 2], C[4, 2] = C[2, 3], C[2, 4]
        C[3, 3] = area * (beam**2 / 12 + y**2) + volume * zb
        C[4, 4] = area * (length**2 / 12 + x**2) + volume * zb
        C[3, 4] = C[4, 3] = -area * x * y
        C[3, 5], C[4, 5] = -volume * x, -volume * y
        return rho_g * C

    given = barge().with_notes(restoring=stiffness([0, 0, 1.0]), restoring_has_weight=False)
    point = [4.0, -1.5, -2.0]
    np.testing.assert_allclose(given.about(point).restoring, stiffness(point), rtol=1e-12, atol=1e-6)


def test_without_the_volume_that_cannot_be_had():
    given = barge().with_notes(restoring_has_weight=False, volume=None)
    with pytest.raises(KingpostError, match="without weight, .* give 'volume'"):
        given.about([0, 0, 0])
    with pytest.raises(KingpostError, match="three finite numbers"):
        barge().about([0, 0])
