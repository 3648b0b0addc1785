"""``kingpost hydro``: shows, checks, draws and converts, and says what it lacks."""

import importlib.util
import json

import numpy as np
import pytest
from matplotlib.image import imread

from kingpost.marine.hydro.pictures import draw
from kingpost.marine.hydro.reading import read_hydro
from tests.core.marine.hydro.files import FOLDER, PUBLIC, barge, hemisphere

BARGE = ("--rho", "1025", "--g", "9.81", "--ulen", "1", "--reference", "0,0,1", "--depth", "inf")


def test_it_shows_and_checks(kingpost_cli):
    outcome = kingpost_cli("hydro", FOLDER / "barge_deep.nc")
    assert (outcome.status, outcome.err) == (0, "")
    for words in (
        "frequencies          41, 0.1 to 2.5 rad/s; limits of the added mass: 0, inf",
        "headings             5: 0, 45, 90, 135, 180 deg",
        "metacentric heights  GM roll 2.531 m, GM pitch 51.07 m",
        "surge 5.62%, sway 3.26%, heave 0.65%, roll 1.01%, pitch 0.59%, yaw 3.27%",
        "cleaning would say (--clean does it):",
    ):
        assert words in outcome.out


def test_it_converts(kingpost_cli, tmp_path):
    outcome = kingpost_cli("hydro", FOLDER / "barge_deep_wamit" / "barge_deep.1", *BARGE, "--to", "b.npz", "--name", "pontoon")
    assert outcome.status == 0 and "data  b.npz" in outcome.out
    assert read_hydro(tmp_path / "b.npz").name == "pontoon"
    assert kingpost_cli("hydro", "b.npz", "--to", "b.csv", "--clean", "--about", "0,0,0").status == 0
    made = read_hydro(tmp_path / "b.csv")
    np.testing.assert_allclose(made.reference, 0)
    np.testing.assert_array_equal(made.damping, np.swapaxes(made.damping, 1, 2))
    assert any("was made symmetric" in note for note in made.notes)


def test_it_prints_json(kingpost_cli):
    record = json.loads(kingpost_cli("hydro", FOLDER / "barge_deep.nc", "--json").out)
    assert record["format"] == "capytaine" and record["depth"] is None and record["reference"] == [0, 0, 1]
    checks = {each["name"]: each for each in record["checks"]}
    assert checks["motions"]["well"] and not checks["symmetry"]["well"]
    assert record["cleaning"][0]["what"] == "symmetry"
    assert record["metacentric_heights"]["GM roll"] == pytest.approx(2.53, abs=0.01)


def test_it_draws(kingpost_cli, tmp_path):
    outcome = kingpost_cli("hydro", FOLDER / "hemisphere_r5.nc", "--plot", "new/h.png")
    assert outcome.status == 0 and "picture  new/h.png" in outcome.out
    assert imread(tmp_path / "new" / "h.png").shape[1] == 1672


def titles(figure):
    return [axis.get_title(loc="left") for axis in figure.axes]


def test_what_the_picture_holds():
    figure = draw(barge())
    assert titles(figure)[:3] == ["added mass", "added mass", "added mass, couplings"]
    assert titles(figure)[-1] == "motion: yaw" and len(figure.axes) == 18
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    np.testing.assert_allclose(lines["heave"].get_ydata(), barge().added_mass[:, 2, 2])
    heave = {line.get_label(): line for line in figure.axes[titles(figure).index("motion: heave")].lines}
    np.testing.assert_allclose(heave["90°"].get_ydata(), np.abs(barge().motions[:, 2, 2]))
    # Motions that the file lacks are solved for; what is not known is not drawn.
    assert "motion (solved here): heave" in titles(draw(barge().with_notes(motions=None)))
    assert len(draw(barge().with_notes(motions=None, inertia=None)).axes) == 12
    assert len(draw(read_hydro(FOLDER / "barge_deep_tail.nc", reference=(0, 0, 1))).axes) == 6
    assert "zero" in [text.get_text() for axis in draw(hemisphere()).axes for text in axis.texts]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((FOLDER / "barge_dep.nc",), "did you mean 'barge_deep.nc'"),
        ((PUBLIC / "README.md",), "in no format of hydrodynamic data that is known here"),
        ((FOLDER / "barge_deep_wamit",), "give --rho, --g, --ulen, --reference, --depth"),
        ((FOLDER / "barge_deep_wamit", *BARGE, "--column", "frequency"), "cannot be the frequency, for its largest value"),
        ((FOLDER / "barge_deep_wamit", *BARGE, "--body", "2"), "has no body 2; it has 1 to 1"),
        ((FOLDER / "barge_deep_tail.nc",), "give --reference"),
        ((FOLDER / "barge_deep.nc", "--ulen", "1"), "is of capytaine, which takes no --ulen"),
        ((FOLDER / "barge_deep.nc", "--to", "x.xlsx"), "--to x.xlsx: the name must end in one of .npz, .csv"),
        ((FOLDER / "barge_deep.nc", "--plot", "x.gif"), "--plot x.gif: a picture's name must end in"),
        ((FOLDER / "barge_deep.nc", "--rho", "-5"), "--rho -5 must be positive"),
    ],
)
def test_what_is_wrong_is_said(kingpost_cli, words, message):
    outcome = kingpost_cli("hydro", *words)
    assert outcome.status == 6 and message in outcome.err and "Traceback" not in outcome.err


def test_points_and_options_that_are_none(kingpost_cli):
    outcome = kingpost_cli("hydro", FOLDER / "barge_deep.nc", "--about", "0,0")
    assert outcome.status == 2 and "'0,0' is not a point; expected three numbers in m" in outcome.err
    assert kingpost_cli("hydro", FOLDER / "barge_deep.nc", "--about", "0,0,inf").status == 2
    assert "did you mean '--depth'" in kingpost_cli("hydro", FOLDER / "barge_deep.nc", "--dept=3", "--deptt", "3").err


def test_without_matplotlib_it_says_what_to_install(kingpost_cli, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "matplotlib" else find(name, *rest))
    outcome = kingpost_cli("hydro", FOLDER / "barge_deep.nc", "--plot", "x.png")
    assert outcome.status == 4 and "pip install 'kingpost[viz]'" in outcome.err
