"""Checks and cleaning: what they find in good data, in damaged data, and in closed form."""

import dataclasses
import math

import numpy as np
import pytest

from kingpost.base.errors import FileError
from kingpost.marine.hydro.causality import added_mass_from_damping, added_mass_inf, added_mass_zero
from kingpost.marine.hydro.checks import causality, check, haskind, is_round, long_waves, motions, stability, symmetry
from kingpost.marine.hydro.cleaning import clean
from kingpost.marine.hydro.conventions import check_convention, phase_fault, waterplane_area
from kingpost.marine.hydro.response import free_motions
from tests.core.marine.hydro.files import barge, hemisphere


def relaxing(w, a, b):
    """Return A - A_inf and B of the retardation exp(-a t) cos(b t) - (a/b) exp(-a t) sin(b t), whose K(0) is zero.

    K(jw) = B + jw (A - A_inf) = s / ((s + a)^2 + b^2) at s = jw.
    """
    s = 1j * w
    K = s / ((s + a) ** 2 + b**2)
    return K.imag / w, K.real


def test_added_mass_follows_from_damping_in_closed_form():
    """Damping of this one begins as w^2 and ends as w^-2, not with the third powers: both ends are known to their size alone.

    An end of the size B at w, wrong by half, adds 2/pi B/(2 w) at the row beside it. A spline through rows h apart is off by
    the order (h/a)^4 of a peak with the width a, and its twelve straight stretches between rows by (h/12a)^2/8.
    """
    w = np.concatenate([np.arange(0.02, 3, 0.02), np.geomspace(3, 30, 120)])
    added, damping = relaxing(w, 0.3, 0.9)
    found = added_mass_from_damping(w, damping[:, None])[:, 0]
    low = w < 5
    inside = damping[-1] / 30 / math.pi + ((0.02 / 0.3) ** 4 + (0.02 / 12 / 0.3) ** 2 / 8) * np.abs(added).max()
    assert np.abs(found - added)[low].max() <= inside + damping[0] / w[0] / math.pi
    assert np.abs(found - added)[low][5:].max() <= inside


def test_limits_are_found_in_closed_form():
    w = np.concatenate([np.arange(0.02, 3, 0.02), np.geomspace(3, 30, 120)])
    added, damping = relaxing(w, 0.3, 0.9)
    data = dataclasses.replace(
        barge(),
        frequencies=w,
        added_mass=(2.0 + added)[:, None, None] * np.eye(6),
        damping=damping[:, None, None] * np.eye(6),
        headings=[],
        added_mass_inf=None,
        added_mass_zero=None,
        **dict.fromkeys(("excitation", "motions", "drift")),
    )
    infinite, _ = added_mass_inf(data)
    np.testing.assert_allclose(np.diag(infinite), 2.0, atol=2e-3)
    # (A - A_inf)(0) is K'(0) = 1 / (a^2 + b^2).
    np.testing.assert_allclose(np.diag(added_mass_zero(data, infinite)), 2.0 + 1 / (0.3**2 + 0.9**2), atol=5e-3)


def test_causality_of_the_barge_is_what_was_measured():
    """Found by another program with a Fourier integral: heave 0.7, pitch 0.6, roll 1.0, sway 3.3, surge 5.7, yaw 3.2 %."""
    found = causality(barge()).values
    expected = {"surge": 5.7, "sway": 3.3, "heave": 0.7, "roll": 1.0, "pitch": 0.6, "yaw": 3.2}
    assert {name: 100 * value for name, value in found.items()} == pytest.approx(expected, abs=0.1)


def test_causality_finds_a_wrong_limit():
    wrong = barge().with_notes(added_mass_inf=barge().added_mass_inf * 1.1)
    found = causality(wrong)
    assert not found.well and found.values["heave"] > 0.04


def test_haskind_of_the_hulls():
    """The hemisphere within 1.5 % of the largest damping (measured elsewhere); of the barge by all headings."""
    ball, box = haskind(hemisphere()), haskind(barge())
    assert is_round(hemisphere()) and not is_round(barge())
    assert ball.values.keys() == {"surge", "sway", "heave", "roll", "pitch"}
    assert ball.worst < 0.016 and box.worst < 0.016 and len(box.values) == 6
    # With one heading a body of revolution is enough, another hull is not.
    assert haskind(hemisphere().at_heading(0.0)).values == pytest.approx(ball.values, abs=2e-3)
    assert haskind(barge().at_heading(0.0)) is None


def test_haskind_finds_forces_of_another_scale():
    wrong = barge().with_notes(excitation=barge().excitation * 1.1)
    assert haskind(wrong).values["heave"] > 0.05
    assert not haskind(hemisphere().with_notes(excitation=hemisphere().excitation * 1.1)).well


def test_symmetry_of_the_barge():
    """Measured: sway-roll 7 % in added mass and 10 % in damping, surge-pitch 0.6 and 4 %."""
    assert symmetry(barge()).values == pytest.approx({"sway-roll": 0.093, "surge-pitch": 0.042}, abs=2e-3)


def test_long_waves_and_motions_of_the_barge():
    found = long_waves(barge()).values
    assert found["heave"] == pytest.approx(0, abs=2e-4)
    assert found["roll"] == pytest.approx(0.005, abs=1e-3) and found["pitch"] == pytest.approx(-3e-4, abs=2e-4)
    assert motions(barge()).worst < 1e-9
    np.testing.assert_allclose(free_motions(barge()), barge().motions, atol=1e-9)


def test_forces_of_the_other_time_factor_spoil_motions():
    """Measured: amplitudes of surge 15 % and of pitch 7 % off, while heave and yaw stay."""
    mixed = barge().with_notes(excitation=np.conj(barge().excitation))
    sizes = np.abs(np.abs(free_motions(mixed)) - np.abs(barge().motions)).max(axis=(0, 1)) / np.abs(barge().motions).max(
        axis=(0, 1)
    )
    assert sizes == pytest.approx([0.15, 0, 0, 0.002, 0.07, 0], abs=0.011)
    assert not motions(mixed).well


def test_every_check_is_made():
    names = [each.name for each in check(barge())]
    assert names == ["causality", "haskind", "symmetry", "cut-off", "long waves", "motions"]
    without = barge().with_notes(added_mass_inf=None, excitation=None, motions=None, headings=[], drift=None)
    assert [each.name for each in check(without)] == ["symmetry", "cut-off"]


def test_metacentric_heights_do_not_depend_on_the_point():
    expected = stability(barge())
    assert stability(barge().about([5.0, 2.0, -3.0])) == pytest.approx(expected, rel=1e-9)
    weight = barge().water_density * barge().gravity * barge().volume
    C = barge().restoring.copy()
    C[3, 3] += weight * 0.0
    # Without weight, about the centre of gravity: the same, for the weight acts there.
    assert stability(barge().with_notes(restoring_has_weight=False)) == pytest.approx(expected, rel=1e-12)
    # About a point 3 m below, buoyancy alone has 3 m less of a lever.
    bare = barge().with_notes(restoring_has_weight=False).about([0, 0, -2.0])
    assert bare.restoring[3, 3] == pytest.approx(C[3, 3] + weight * 3.0)
    assert stability(bare) == pytest.approx(expected, rel=1e-9)
    assert stability(bare.with_notes(centre_of_gravity=None)) == {}


# Conventions


@pytest.mark.parametrize("hull", [barge, hemisphere], ids=["barge", "hemisphere"])
def test_the_convention_is_recognised(hull):
    assert phase_fault(hull()) is None and check_convention(hull()) is None
    wrong = hull().with_notes(excitation=np.conj(hull().excitation))
    assert "time factor is exp(-i w t)" in phase_fault(wrong)
    with pytest.raises(FileError, match="lags the crest by 90 deg"):
        check_convention(wrong)
    assert "180 deg to the crest" in phase_fault(hull().with_notes(excitation=-hull().excitation))
    assert "has the phase -90 deg" in phase_fault(hull().with_notes(excitation=-1j * hull().excitation))


def test_headings_from_where_waves_come_are_recognised():
    data = barge()
    backward = data.with_notes(headings=data.headings - math.pi)
    assert "where waves come from" in phase_fault(backward)


def test_short_waves_tell_nothing():
    high = barge().frequencies > 1.0
    short = dataclasses.replace(
        barge(),
        frequencies=barge().frequencies[high],
        added_mass=barge().added_mass[high],
        damping=barge().damping[high],
        excitation=np.conj(barge().excitation[high]),
        motions=None,
        drift=None,
    )
    assert "could not be checked: the lowest frequency, 1.06 rad/s" in check_convention(short)


def test_the_area_of_the_waterplane():
    assert waterplane_area(barge()) == pytest.approx(480.0, rel=1e-9)


# Cleaning


def test_cleaning_says_what_it_did():
    made = clean(barge())
    for name in ("added_mass", "damping", "added_mass_inf", "added_mass_zero", "inertia"):
        matrices = getattr(made.data, name)
        assert np.abs(matrices - np.swapaxes(matrices, -1, -2)).max() <= 1e-15 * np.abs(matrices).max()
    assert np.linalg.eigvalsh(made.data.damping).min() >= -1e-10 * made.data.damping.max()
    sentences = [change.sentence for change in made.changes]
    assert sentences[0].endswith("of the largest coupling: sway-roll by 7.0%, surge-pitch by 0.6%")
    assert any(sentence.startswith("negative damping was removed at 8 of 41 frequencies") for sentence in sentences)
    assert "surge 65%, sway 68%, heave 6%, roll 100%, pitch 6%, yaw 79%" in sentences[-1]
    assert [change.changed for change in made.changes][-1] is False
    # What was changed stays with the data; clean data are left alone.
    assert made.data.notes[-1].startswith("negative damping")
    assert [change.what for change in clean(made.data).changes] == ["cut-off"]


def test_a_missing_limit_is_estimated_and_said():
    """Against the limit that was computed: within the scatter of a table that ends early, up to 5.7 % of the largest."""
    made = clean(barge().with_notes(added_mass_inf=None, added_mass_zero=None))
    said = {change.what: change for change in made.changes}
    assert "estimated from damping by Kramers and Kronig's relation (Ogilvie)" in said["infinite frequency"].sentence
    largest = np.abs(np.diagonal(barge().added_mass, axis1=1, axis2=2)).max(axis=0)
    assert (np.abs(np.diag(made.data.added_mass_inf) - np.diag(barge().added_mass_inf)) <= 0.057 * largest).all()
    assert (np.abs(np.diag(made.data.added_mass_zero) - np.diag(barge().added_mass_zero)) <= 0.057 * largest).all()


def test_negative_damping_is_removed_where_it_is_and_no_further():
    damping = barge().damping.copy()
    damping[7, 2, 2] = -0.02 * damping[:, 2, 2].max()
    made = clean(barge().with_notes(damping=damping, added_mass=(barge().added_mass)))
    said = next(change for change in made.changes if change.what == "negative damping")
    assert "0.52 rad/s and mostly in heave, was -2 % of the largest" in said.sentence and said.size == pytest.approx(
        0.02, rel=0.01
    )
    assert made.data.damping[7, 2, 2] == pytest.approx(0, abs=1e-9 * damping.max())
    assert made.data.damping[8, 2, 2] == pytest.approx(damping[8, 2, 2], rel=1e-14)


def test_a_table_that_begins_late_is_told():
    late = barge().frequencies > 0.9
    cut = dataclasses.replace(
        barge(),
        frequencies=barge().frequencies[late],
        added_mass=barge().added_mass[late],
        damping=barge().damping[late],
        headings=[],
        added_mass_inf=None,
        added_mass_zero=None,
        **dict.fromkeys(("excitation", "motions", "drift")),
    )
    made = clean(cut)
    assert "late start" in [change.what for change in made.changes]
    assert made.data.added_mass_inf is None
