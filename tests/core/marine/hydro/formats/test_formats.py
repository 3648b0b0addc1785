"""One hull in every format gives the same numbers, and files that others made give what is known of their hulls."""

import dataclasses
import math
import shutil

import numpy as np
import pytest

from kingpost.base.errors import FileError, KingpostError
from kingpost.marine.hydro.checks import haskind
from kingpost.marine.hydro.cleaning import clean
from kingpost.marine.hydro.formats.plain import write_plain
from kingpost.marine.hydro.reading import FORMATS, format_of, read_hydro
from tests.core.marine.hydro.files import BARGE, FOLDER, HEMISPHERE, PUBLIC, SPHERE, barge, hemisphere

#: Text has seven digits, and one number of a table is small beside the largest.
PRINTED = 1e-6


def assert_alike(found, expected, *names):
    for name in names:
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert np.nanmax(np.abs(ours - theirs)) <= PRINTED * np.nanmax(np.abs(theirs)), name


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (lambda: read_hydro(FOLDER / "barge_deep_wamit" / "barge_deep.3", **BARGE), barge),
        (lambda: read_hydro(FOLDER / "barge_deep_wamit", **BARGE), barge),
        (lambda: read_hydro(FOLDER / "barge_deep_nemoh"), barge),
        (lambda: read_hydro(FOLDER / "barge_deep_nemoh" / "Results" / "ExcitationForce.tec"), barge),
        (lambda: read_hydro(FOLDER / "barge_deep_nemoh" / "capytaine_legacy_ExcitationForce.tec"), barge),
        (lambda: read_hydro(FOLDER / "hemisphere_r5_wamit" / "hemisphere_r5.hst", **HEMISPHERE), hemisphere),
        (lambda: read_hydro(FOLDER / "hemisphere_r5_nemoh" / "Nemoh.cal"), hemisphere),
        (lambda: read_hydro(FOLDER / "hemisphere_r5_nemoh" / "capytaine_legacy_RadiationCoefficients.tec"), hemisphere),
    ],
    ids=["wamit.3", "wamit", "nemoh", "nemoh.tec", "legacy", "wamit.hst", "nemoh.cal", "legacy-hemisphere"],
)
def test_one_hull_in_every_format(read, expected):
    found = read()
    np.testing.assert_allclose(found.frequencies, expected().frequencies, rtol=1e-6)
    np.testing.assert_allclose(found.headings, expected().headings, atol=1e-9)
    np.testing.assert_allclose(found.reference, expected().reference)
    assert_alike(found, expected(), "added_mass", "damping", "excitation", "restoring")
    assert (found.water_density, found.gravity, found.depth) == (1025.0, 9.81, math.inf)


def test_limits_motions_and_drift_of_wamit():
    found = read_hydro(FOLDER / "barge_deep_wamit" / "barge_deep.1", **BARGE)
    assert_alike(found, barge(), "added_mass_inf", "added_mass_zero", "motions", "drift")
    assert (np.isnan(found.drift) == np.isnan(barge().drift)).all()
    assert "mean drift forces are from .8" in found.notes


def test_hydrostatics_of_nemoh():
    found = read_hydro(FOLDER / "barge_deep_nemoh")
    assert found.centre_of_gravity.tolist() == [0, 0, 1] and found.centre_of_buoyancy.tolist() == [0, 0, -1.25]
    assert found.volume == 1200 and found.added_mass_inf is None and found.name == "barge_deep"


# ULEN and the first column


def scaled(folder, name, ulen, column):
    """Write the barge's files of WAMIT as another ULEN, and another first column, would have them."""
    new = folder / f"{name}-{ulen:g}-{column}"
    new.mkdir()
    power = {".1": lambda i, j: 3 + (i > 3) + (j > 3), ".hst": lambda i, j: 2 + (i > 3) + (j > 3)}
    for suffix in (".1", ".3", ".4", ".8", ".hst"):
        lines = []
        for line in (FOLDER / "barge_deep_wamit" / f"barge_deep{suffix}").read_text().splitlines():
            words = line.split()
            numbers = [float(word) for word in words]
            if suffix in power:
                first = 0 if suffix == ".hst" else 1
                factor = ulen ** -power[suffix](numbers[first], numbers[first + 1])
                numbers[first + 2 :] = [value * factor for value in numbers[first + 2 :]]
            elif suffix == ".3":
                numbers[3:4] = [numbers[3] * ulen ** -(2 + (numbers[2] > 3))]
                numbers[5:] = [value * ulen ** -(2 + (numbers[2] > 3)) for value in numbers[5:]]
            elif suffix == ".4":
                numbers[3:4] = [numbers[3] * ulen ** (numbers[2] > 3)]
                numbers[5:] = [value * ulen ** (numbers[2] > 3) for value in numbers[5:]]
            else:
                numbers[4:5] = [numbers[4] * ulen ** -(1 + (numbers[3] > 3))]
                numbers[6:] = [value * ulen ** -(1 + (numbers[3] > 3)) for value in numbers[6:]]
            if suffix != ".hst" and numbers[0] > 0:
                w = 2 * math.pi / numbers[0]
                numbers[0] = {"period": numbers[0], "frequency": w}.get(column, w**2 / 9.81 * ulen)
            lines.append(" ".join(f"{value:.9e}" if i else f"{value:.6e}" for i, value in enumerate(numbers)))
        (new / f"barge{suffix}").write_text("\n".join(lines) + "\n")
    return new / "barge.1"


def test_another_length_and_column_give_the_same_hull(tmp_path):
    """PRINTED of the period is PRINTED of the frequency, by which damping is scaled."""
    options = {**BARGE, "ulen": 40.0}
    for column in ("frequency", "deep-wavenumber", "wavenumber"):
        path = scaled(tmp_path, "barge", 40.0, column)
        with pytest.raises(FileError, match="the first column may be a frequency or a wave number .* 'column'"):
            read_hydro(path, **options)
        found = read_hydro(path, **options, column=column)
        np.testing.assert_allclose(found.frequencies, barge().frequencies, rtol=2e-6)
        for name in ("added_mass", "damping", "excitation", "restoring", "motions", "drift", "added_mass_inf"):
            ours, theirs = getattr(found, name), getattr(barge(), name)
            assert np.nanmax(np.abs(ours - theirs)) <= 3 * PRINTED * np.nanmax(np.abs(theirs)), name


def test_a_configuration_says_what_the_column_is(tmp_path):
    path = scaled(tmp_path, "barge", 1.0, "frequency")
    path.with_suffix(".cfg").write_text(" IPERIN=2 (input)\n iperout = 2\n")
    assert "IPEROUT" in " ".join(read_hydro(path, **BARGE).notes)
    with pytest.raises(FileError, match="cannot be the period, for its smallest value has the longest waves"):
        read_hydro(path, **BARGE, column="period")


def test_a_column_that_nothing_tells_apart_is_refused(tmp_path):
    lines = (FOLDER / "barge_deep_wamit" / "barge_deep.1").read_text().splitlines()
    (tmp_path / "b.1").write_text("\n".join(line for line in lines if float(line.split()[0]) > 0))
    with pytest.raises(FileError, match="may be a period, a frequency or a wave number .*do not tell"):
        read_hydro(tmp_path / "b.1", **BARGE)
    assert read_hydro(tmp_path / "b.1", **BARGE, column="period").excitation is None


def test_wamit_says_all_that_it_lacks(tmp_path):
    with pytest.raises(FileError, match=r"do not say the density of water, .* give 'rho', 'ulen', 'depth'$"):
        read_hydro(FOLDER / "barge_deep_wamit", g=9.81, reference=(0, 0, 1))
    shutil.copy(FOLDER / "barge_deep_wamit" / "barge_deep.3", tmp_path / "b.3")
    with pytest.raises(FileError, match=r"there is no 'b.1' beside"):
        read_hydro(tmp_path / "b.3", **BARGE)


def test_phase_and_parts_that_disagree_are_refused(tmp_path):
    for suffix in (".1", ".3", ".hst"):
        shutil.copy(FOLDER / "barge_deep_wamit" / f"barge_deep{suffix}", tmp_path / f"b{suffix}")
    text = (tmp_path / "b.3").read_text().splitlines()
    words = text[0].split()
    words[-1] = str(-float(words[-1]))
    (tmp_path / "b.3").write_text("\n".join([" ".join(words), *text[1:]]))
    with pytest.raises(FileError, match=r"b\.3': modulus .* phase 19.367 deg do not give"):
        read_hydro(tmp_path / "b.1", **BARGE)


def test_a_file_of_the_other_time_factor_is_named(tmp_path):
    for suffix in (".1", ".hst"):
        shutil.copy(FOLDER / "barge_deep_wamit" / f"barge_deep{suffix}", tmp_path / f"b{suffix}")
    rows = [line.split() for line in (FOLDER / "barge_deep_wamit" / "barge_deep.3").read_text().splitlines()]
    turned = [[*row[:4], str(-float(row[4])), row[5], str(-float(row[6]))] for row in rows]
    (tmp_path / "b.3").write_text("\n".join(" ".join(row) for row in turned))
    with pytest.raises(FileError, match=r"lags the crest by 90 deg.*its time factor is exp\(-i w t\)"):
        read_hydro(tmp_path / "b.1", **BARGE)


def test_rows_that_lack_are_zero_and_frequencies_that_lack_are_dropped(tmp_path):
    for suffix in (".1", ".3", ".hst"):
        lines = (FOLDER / "barge_deep_wamit" / f"barge_deep{suffix}").read_text().splitlines()
        if suffix == ".1":
            lines = [line for line in lines if abs(float(line.split()[3])) > 1e-8]
        if suffix == ".3":
            lines = [line for line in lines if not line.startswith("2.513274")]
        (tmp_path / f"b{suffix}").write_text("\n".join(lines))
    found = read_hydro(tmp_path / "b.1", **BARGE)
    assert len(found.frequencies) == 40 and "dropped 1 of 41 frequencies, which are not in all of .1, .3" in found.notes
    assert found.added_mass[3, 0, 1] == 0.0
    assert_alike(found, dataclasses.replace(barge(), **first_rows(barge(), 40)), "added_mass", "excitation")


def first_rows(data, count):
    names = ("frequencies", "added_mass", "damping", "excitation", "motions", "drift")
    return {name: getattr(data, name)[:count] for name in names}


def test_weight_and_bodies_are_asked_for(tmp_path):
    found = read_hydro(FOLDER / "barge_deep_wamit", **BARGE, weight=False, volume=1200.0, centre_of_gravity=(0, 0, 1))
    assert not found.restoring_has_weight and found.volume == 1200.0
    assert not any("taken to hold the weight" in note for note in found.notes)
    for suffix in (".1", ".3", ".hst"):
        place = 1 if suffix == ".1" else 2 if suffix == ".3" else 0
        lines = (FOLDER / "barge_deep_wamit" / f"barge_deep{suffix}").read_text().splitlines()
        second = []
        for line in lines:
            words = line.split()
            for k in (place, place + 1) if suffix != ".3" else (place,):
                words[k] = str(int(words[k]) + 6)
            second.append(" ".join(words))
        (tmp_path / f"b{suffix}").write_text("\n".join([*lines, *second]))
    with pytest.raises(FileError, match="holds 2 bodies; say which one is meant by 'body', 1 to 2"):
        read_hydro(tmp_path / "b.1", **BARGE)
    with pytest.raises(FileError, match="has no body 3"):
        read_hydro(tmp_path / "b.1", **BARGE, body=3)
    assert_alike(read_hydro(tmp_path / "b.1", **BARGE, body="2"), barge(), "added_mass", "excitation", "restoring")


# Files that others made


def test_two_programs_agree_on_the_sphere():
    """WAMIT and NEMOH, both with flat panels of a few tenths of a metre: 2 % of the largest number.

    Compared below the first irregular frequency, which NEMOH does not remove (heave inside, w^2 R/g = 2.56, 2.24 rad/s), and
    without the lowest row, where waves are 1600 times as long as the sphere.
    """
    ours = read_hydro(PUBLIC / "wamit_sphere", **SPHERE)
    other = read_hydro(PUBLIC / "nemoh2_sphere")
    np.testing.assert_allclose(ours.frequencies, other.frequencies, rtol=1e-4)
    np.testing.assert_allclose(ours.reference, other.reference)
    np.testing.assert_allclose(ours.restoring, other.restoring, atol=2e-3 * 5e6)
    compared = (ours.frequencies > 0.2) & (ours.frequencies < 2.1)
    for name in ("added_mass", "damping"):
        here, there = (np.diagonal(getattr(data, name), axis1=1, axis2=2)[:, :5] for data in (ours, other))
        assert (np.abs(here - there)[compared].max(axis=0) <= 0.02 * np.abs(here).max(axis=0)).all(), name
    here, there = (data.excitation[:, 0, [0, 2, 4]] for data in (ours, other))
    assert (np.abs(here - there)[compared].max(axis=0) <= 0.02 * np.abs(here).max(axis=0)).all()
    # At the irregular frequency the one is off that does not remove it.
    irregular = np.abs(ours.frequencies - 2.24) < 0.01
    assert np.abs(ours.damping - other.damping)[irregular, 2, 2] > 0.3 * ours.damping[:, 2, 2].max()


def test_the_sphere_of_wamit():
    data = read_hydro(PUBLIC / "wamit_sphere" / "sphere.3", **SPHERE)
    assert "gravity, ULEN and volume are from the .mmx file" in data.notes
    assert data.gravity == 9.81 and len(data.frequencies) == 31
    # Moments about 2 m below the centre, through which all pressure goes, are forces times 2 m.
    np.testing.assert_allclose(
        data.excitation[:, :, 4], 2.0 * data.excitation[:, :, 0], atol=2e-3 * np.abs(data.excitation[:, :, 4]).max()
    )
    about = data.about([0, 0, 0])
    assert np.abs(about.excitation[:, :, 4]).max() < 2e-3 * 5 * np.abs(data.excitation[:, :, 0]).max()
    assert np.abs(about.added_mass[:, 4, 4]).max() < 5e-3 * data.added_mass[:, 4, 4].max()
    assert haskind(data).worst < 0.03


def test_the_ellipsoid_of_nemoh_3():
    data = read_hydro(PUBLIC / "nemoh3_ellipsoid")
    assert data.depth == math.inf and data.name == "ellipsoid" and len(data.frequencies) == 29
    # Half axes follow from volume 2/3 pi a^2 c, area pi a^2 and centre of buoyancy -3/8 c.
    c = -8 / 3 * data.centre_of_buoyancy[2]
    area = data.restoring[2, 2] / (1000 * 9.81)
    assert data.volume == pytest.approx(2 / 3 * area * c, rel=5e-3)
    # Restoring about the middle of the waterplane: Iwp + V zb, with weight in that point.
    a2 = area / math.pi
    assert data.restoring[3, 3] / (1000 * 9.81) == pytest.approx(
        area * a2 / 4 + data.volume * data.centre_of_buoyancy[2], rel=5e-3
    )
    assert haskind(data).values["heave"] < 0.02
    assert "estimated from damping" in clean(data).changes[-3].sentence


def test_the_cylinder_of_hams():
    data = read_hydro(PUBLIC / "hams_cylinder")
    assert (
        read_hydro(PUBLIC / "hams_cylinder" / "Output" / "Wamit_format" / "Buoy.3").frequencies.tolist()
        == data.frequencies.tolist()
    )
    assert data.depth == 10.0 and len(data.headings) == 12 and data.gravity == 9.80665
    rho_g = data.water_density * data.gravity
    assert data.restoring[2, 2] == pytest.approx(rho_g * math.pi, rel=5e-3)
    assert data.inertia[0, 0] == pytest.approx(1025 * math.pi * 0.5, rel=5e-3)
    # -1 is for vanishing, 0 for infinite frequency where periods are written: a lid makes a body heavier than a free surface.
    assert data.added_mass_zero[2, 2] > 1.2 * data.added_mass_inf[2, 2]
    assert data.added_mass_zero[2, 2] == pytest.approx(data.added_mass[0, 2, 2], rel=0.02)
    assert haskind(data).values["heave"] < 0.03


def test_phases_of_other_versions_of_hams_are_mended(tmp_path):
    """As it was reported of one: a + ib of WAMIT is -d - ic."""
    shutil.copytree(PUBLIC / "hams_cylinder", tmp_path / "hams")
    path = tmp_path / "hams" / "Output" / "Wamit_format" / "Buoy.3"
    rows = []
    for line in path.read_text().splitlines():
        words = line.split()
        a, b = float(words[5]), float(words[6])
        c, d = -b, -a
        rows.append(" ".join([*words[:4], f"{math.degrees(math.atan2(d, c)):.6f}", f"{c:.6e}", f"{d:.6e}"]))
    path.write_text("\n".join(rows))
    found = read_hydro(tmp_path / "hams")
    np.testing.assert_allclose(found.excitation, read_hydro(PUBLIC / "hams_cylinder").excitation, rtol=1e-5, atol=1e-2)
    assert any("turned by -90 deg, as some versions of HAMS need" in note for note in found.notes)


# The plain forms


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_what_is_written_comes_back_to_the_last_bit(tmp_path, suffix):
    given = clean(read_hydro(FOLDER / "barge_deep_ref_waterline.nc")).data
    write_plain(given, tmp_path / f"new{suffix}")
    found = read_hydro(tmp_path / f"new{suffix}")
    for field in dataclasses.fields(given):
        ours, theirs = getattr(found, field.name), getattr(given, field.name)
        if field.name != "source":
            np.testing.assert_array_equal(ours, theirs, err_msg=field.name)


def test_a_small_file_by_hand(tmp_path):
    (tmp_path / "h.csv").write_text(
        "# kingpost-hydro 1\n# water_density = 1025\n# gravity = 9.81\n# reference = 0 0 0\n# frequencies = 0.5 1.0\n"
        "quantity,frequency,heading,row,column,real,imag\nadded_mass,0.5,,heave,heave,100.0,\ndamping,1.0,,heave,heave,5,\n"
    )
    data = read_hydro(tmp_path / "h.csv")
    assert data.added_mass[0, 2, 2] == 100 and data.added_mass[1, 2, 2] == 0 and data.damping[1, 2, 2] == 5
    assert data.excitation is None and data.name == "h"


def test_the_file_in_the_documentation(tmp_path):
    page = (FOLDER.parents[2] / "docs" / "hydrodynamics.md").read_text(encoding="utf-8")
    (tmp_path / "barge.csv").write_text("# kingpost-hydro" + page.partition("# kingpost-hydro")[2].partition("```")[0])
    data = read_hydro(tmp_path / "barge.csv")
    assert data.name == "barge" and data.excitation[0, 0, 2] == 4.2e6 + 1.5e5j and data.depth == math.inf


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("# kingpost-hydro 1", "# something", "its first line must be '# kingpost-hydro 1'"),
        ("# gravity", "# gravty", "says 'gravty', which is no field; did you mean 'gravity'"),
        ("gravity = 9.81", "gravity = fast", "gravity has 'fast', which is not a number"),
        ("gravity = 9.81", "gravity = 9.81 3", "gravity must be one number; there are 2"),
        ("added_mass,0.1,", "added_mas,0.1,", "line 15 has the quantity 'added_mas'; did you mean 'added_mass'"),
        ("added_mass,0.1,", "added_mass,0.11,", "has the frequency 0.11, which '# frequencies' does not list"),
        (",surge,surge,", ",surge,srge,", "has the column 'srge'; it must be one of surge"),
        ("quantity,frequency", "what,frequency", "the line above the rows must be 'quantity,frequency"),
        ("# water_density = 1025.0\n", "", "does not hold water_density"),
    ],
)
def test_faults_in_text_are_named(tmp_path, old, new, words):
    write_plain(barge(), tmp_path / "b.csv")
    text = (tmp_path / "b.csv").read_text()
    assert old in text
    (tmp_path / "b.csv").write_text(text.replace(old, new, 1))
    with pytest.raises(FileError, match=words):
        read_hydro(tmp_path / "b.csv")


def test_only_what_is_known_is_written(tmp_path):
    with pytest.raises(FileError, match="written as .npz, .csv, not as '.txt'"):
        write_plain(barge(), tmp_path / "b.txt")


# Which format, which options


def test_formats_are_recognised(tmp_path):
    for place, name in (("barge_deep.nc", "capytaine"), ("barge_deep_nemoh", "nemoh"), ("barge_deep_wamit", "wamit")):
        assert format_of(FOLDER / place) is FORMATS[name]
    assert format_of(PUBLIC / "hams_cylinder") is FORMATS["hams"]
    with pytest.raises(FileError, match="did you mean 'barge_deep.nc'"):
        read_hydro(FOLDER / "barge_dep.nc")
    (tmp_path / "x.dat").write_text("1 2 3")
    with pytest.raises(FileError, match="in no format of hydrodynamic data"):
        read_hydro(tmp_path / "x.dat")
    (tmp_path / "x.nc").write_text("1 2 3")
    with pytest.raises(FileError, match="is not a NetCDF file"):
        read_hydro(tmp_path / "x.nc")


def test_options_of_other_formats_are_refused():
    with pytest.raises(FileError, match="is of capytaine, which takes no 'ulen'"):
        read_hydro(FOLDER / "barge_deep.nc", ulen=1.0)
    with pytest.raises(FileError, match="says 'rho'; leave out"):
        read_hydro(FOLDER / "barge_deep_nemoh", rho=1025.0)
    with pytest.raises(FileError, match=r"has its moments about \[0.0, 0.0, 1.0\] m, but 'reference' says"):
        read_hydro(FOLDER / "barge_deep.nc", reference=(0, 0, 0))
    with pytest.raises(FileError, match="give 'reference'"):
        read_hydro(FOLDER / "barge_deep_tail.nc")
    tail = read_hydro(FOLDER / "barge_deep_tail.nc", reference=(0, 0, 1))
    assert tail.excitation is None and len(tail.headings) == 0 and tail.frequencies[-1] == 5.0


def test_errors_are_ours():
    with pytest.raises(KingpostError):
        read_hydro(FOLDER / "nothing" / "here.nc")


def test_forces_of_second_order_are_refused_by_name_and_told_of_beside_others(tmp_path):
    for file in (FOLDER / "barge_deep_wamit").iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "barge_deep.12d").write_text("8.0 8.0 0.0 0.0 1 0.1 0.0 0.1 0.0\n")
    with pytest.raises(FileError, match=r"'barge_deep.12d' holds forces of second order .*\(QTF\).* Newman's .*'barge_deep.8'"):
        read_hydro(tmp_path / "barge_deep.12d", **BARGE)
    notes = read_hydro(tmp_path / "barge_deep.1", **BARGE).notes
    assert "barge_deep.12d: forces of second order are not taken; drift is Newman's, by mean forces" in notes
    assert not any("second order" in note for note in read_hydro(FOLDER / "barge_deep_wamit", **BARGE).notes)
