"""Nemoh.cal and its tables: several bodies, other columns, a wave measured elsewhere, and files of which something lacks."""

import shutil

import numpy as np
import pytest

from kingpost.base.errors import FileError
from kingpost.marine.hydro.dispersion import wave_number
from kingpost.marine.hydro.formats.columns import numbers_in, read_columns, rounded
from kingpost.marine.hydro.formats.nemoh_cal import read_cal
from kingpost.marine.hydro.reading import read_hydro
from tests.core.marine.hydro.files import FOLDER, barge, hemisphere


@pytest.fixture
def run(tmp_path):
    shutil.copytree(FOLDER / "hemisphere_r5_nemoh", tmp_path / "run")
    return tmp_path / "run"


def edit(path, *changes):
    text = path.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path.write_text(text)


def test_what_nemoh_cal_says():
    found = read_cal(FOLDER / "barge_deep_nemoh" / "Nemoh.cal")
    assert (found.density, found.gravity, found.depth, found.measured_at) == (1025.0, 9.81, float("inf"), (0.0, 0.0))
    (body,) = found.bodies
    assert body.motions == body.forces == (0, 1, 2, 3, 4, 5) and body.reference == (0.0, 0.0, 1.0)


def test_degrees_of_freedom_in_any_order(run):
    """Heave first in Nemoh.cal: zones and columns follow, and the hull stays what it is."""
    surge, heave = "1 1. 0. 0. 0. 0. 0.", "1 0. 0. 1. 0. 0. 0."
    edit(run / "Nemoh.cal", (surge, "X"), (heave, surge), ("X", heave))
    found = read_hydro_unchecked(run)
    expected = hemisphere()
    np.testing.assert_allclose(found.added_mass[:, 2, 2], expected.added_mass[:, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(found.added_mass[:, 0, 0], expected.added_mass[:, 2, 2], rtol=1e-6)


def read_hydro_unchecked(path):
    from kingpost.marine.hydro.formats.nemoh import read_nemoh

    return read_nemoh(path)


def test_phases_from_another_point(run):
    """A crest 3 m ahead and 4 m to port at t = 0 comes to the origin k (3 cos b + 4 sin b) later."""
    edit(run / "Nemoh.cal", ("0. 0.\t! XEFF", "3. 4.\t! XEFF"))
    found, expected = read_hydro_unchecked(run), hemisphere()
    k = wave_number(expected.frequencies, 9.81)[:, None]
    lag = k * (3 * np.cos(expected.headings) + 4 * np.sin(expected.headings))
    size = np.abs(expected.excitation).max()
    np.testing.assert_allclose(found.excitation, expected.excitation * np.exp(-1j * lag)[:, :, None], atol=2e-6 * size)
    assert "phases were counted from (3, 4) m and are now counted from the origin" in found.notes


@pytest.mark.parametrize(
    ("unit", "of"), [("f (Hz)", lambda w: w / 2 / np.pi), ("T (s)", lambda w: 2 * np.pi / w)], ids=["Hz", "s"]
)
def test_columns_of_version_3(run, unit, of):
    for name in ("RadiationCoefficients.tec", "ExcitationForce.tec"):
        lines = []
        for line in (run / "Results" / name).read_text().splitlines():
            words = line.split()
            if words and numbers_in(line) is not None:
                line = " ".join([f"{of(float(words[0])):.7e}", *words[1:]])
            lines.append(line.replace("w (rad/s)", unit))
        (run / "Results" / name).write_text("\n".join(lines))
    found = read_hydro(run)
    np.testing.assert_allclose(found.frequencies, hemisphere().frequencies, rtol=1e-6)
    np.testing.assert_allclose(found.added_mass[:, 2, 2], hemisphere().added_mass[:, 2, 2], rtol=1e-6)


def test_one_of_two_bodies(run):
    """The same hull twice, far from each other: columns of both in every zone."""
    text = (run / "Nemoh.cal").read_text()
    head, mark, rest = text.partition("--- Body 1 ---\n")
    body, load, tail = rest.partition("--- Load cases")
    second = body.replace("hemisphere_r5", "twin")
    (run / "Nemoh.cal").write_text(
        head.replace("1\t! Number of bodies", "2\t! Number of bodies") + mark + body + mark + second + load + tail
    )
    radiation = (run / "Results" / "RadiationCoefficients.tec").read_text().splitlines()
    start = next(i for i, line in enumerate(radiation) if line.startswith("Zone"))
    zones = radiation[start:]
    twice = [line if numbers_in(line) is None else " ".join([*line.split(), *["0"] * 12]) for line in zones]
    other = [
        line.replace("body    1", "body    2")
        if numbers_in(line) is None
        else " ".join([line.split()[0], *["0"] * 12, *line.split()[1:]])
        for line in zones
    ]
    (run / "Results" / "RadiationCoefficients.tec").write_text("\n".join([*radiation[:start], *twice, *other]))
    force = (run / "Results" / "ExcitationForce.tec").read_text().splitlines()
    doubled = [line if numbers_in(line) is None else " ".join([*line.split(), *line.split()[1:]]) for line in force]
    (run / "Results" / "ExcitationForce.tec").write_text("\n".join(doubled))
    for name in ("KH", "Hydrostatics"):
        for i in (0, 1):
            shutil.copy(run / "Mesh" / f"{name}.dat", run / "Mesh" / f"{name}_{i}.dat")
    with pytest.raises(FileError, match="holds 2 bodies; say which one is meant by 'body': hemisphere_r5, twin"):
        read_hydro(run)
    for body_name in ("twin", "2", 1):
        found = read_hydro(run, body=body_name)
        np.testing.assert_allclose(found.added_mass[:, 2, 2], hemisphere().added_mass[:, 2, 2], rtol=1e-6)
        assert any("what the others do to it by their motion is left out" in note for note in found.notes)
    with pytest.raises(FileError, match="has no body 'twn'; did you mean 'twin'"):
        read_hydro(run, body="twn")


def test_tables_without_nemoh_cal(tmp_path):
    for name in ("RadiationCoefficients.tec", "ExcitationForce.tec"):
        shutil.copy(FOLDER / "barge_deep_nemoh" / f"capytaine_legacy_{name}", tmp_path / name)
    with pytest.raises(FileError, match="so give 'rho', 'g', 'depth', 'reference'"):
        read_hydro(tmp_path / "ExcitationForce.tec")
    found = read_hydro(tmp_path / "ExcitationForce.tec", rho=1025, g=9.81, depth=float("inf"), reference=(0, 0, 1))
    np.testing.assert_allclose(found.excitation, barge().excitation, atol=1e-6 * np.abs(barge().excitation).max())
    assert found.restoring is None


@pytest.mark.parametrize(
    ("place", "old", "new", "words"),
    [
        ("Nemoh.cal", "1025.0\t", "water\t", "line 2 must begin with 1 number"),
        ("Nemoh.cal", "1\t! Number of bodies", "1.5\t! Number of bodies", "line 7 says 1.5 bodies"),
        ("Nemoh.cal", "2 0. 1. 0. 0 0 0", "2 0. 1. 0. 0 0 7", "are about 2 different points"),
        ("Nemoh.cal", "1 0. 1. 0. 0. 0. 0.", "1 0.6 0.8 0. 0. 0. 0.", "neither a motion along nor a rotation about x, y or z"),
        ("Mesh/KH.dat", "0.000000E+00 0.000000E+00 0.000000E+00\n", "\n", "does not hold six rows of six numbers"),
        ("Mesh/Hydrostatics.dat", " - XG", " , XG", "does not say XF"),
        (
            "Results/RadiationCoefficients.tec",
            "Motion of body    1 in DoF   3",
            "Motion of body",
            "does not say of which motion it is",
        ),
        ("Results/RadiationCoefficients.tec", "in DoF   3", "in DoF   2", "has zones for 5 motions of body 1, but there are 6"),
        ("Results/ExcitationForce.tec", "beta =  45.000 deg", "from ahead", "does not say its heading"),
    ],
)
def test_faults_are_named(run, place, old, new, words):
    text = (run / place).read_text()
    assert old in text
    (run / place).write_text(text.replace(old, new))
    with pytest.raises(FileError, match=words):
        read_hydro(run)


def test_columns_of_fortran(tmp_path):
    assert numbers_in(" 1.0D+03 2d0 -3.5") == [1000.0, 2.0, -3.5] and numbers_in("1 two") is None
    (tmp_path / "t").write_text("a header\n 1 2 3\n\n 4 5 6D0\n")
    assert read_columns(tmp_path / "t", (3,)).tolist() == [[1, 2, 3], [4, 5, 6]]
    (tmp_path / "t").write_text("a header\n 1 2 3\n 4 5\n")
    with pytest.raises(FileError, match="line 3 is not a row of 3 numbers: '4 5'"):
        read_columns(tmp_path / "t", (3,))
    (tmp_path / "t").write_text("one\ntwo\n")
    with pytest.raises(FileError, match="line 2 is not a row of numbers"):
        read_columns(tmp_path / "t", (3,))
    np.testing.assert_array_equal(rounded(np.array([1.2345678, 0.0, -2e9])), [1.23457, 0.0, -2e9])
