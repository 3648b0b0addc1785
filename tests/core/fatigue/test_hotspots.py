"""Stresses combined from loads, from Python and from files."""

import math
import re

import numpy as np
import pytest

from kingpost import Body, FileError, ForceElement, Joint, KingpostError, Mechanism, simulate
from kingpost.fatigue import HotSpot, assess_hot_spots, count_cycles, curve_set, miner_damage, read_hot_spots, stress_history
from kingpost.fatigue.hotspots import load_columns
from kingpost.mechanism.load_request import LoadRequest
from tests.core.fatigue.synthetic import cosine, load_history

TIME, WAVE = cosine(20)
QUARTER = np.sin(2 * np.pi * TIME)
HISTORY = load_history(TIME, {"slew.Mx": 1e5 * WAVE, "slew.My": 1e5 * QUARTER, "slew.Fz": 2e4 * WAVE})
GOOD = """\
[[hotspots]]
name = "weld"
curve = "D-air"
thickness = 0.040
scf = 1.3
dff = 3
[hotspots.stress]
"slew.Mx" = 21.0
"slew.Fz" = 3.1e-2
"""
MATRIX = """\
channels = ["slew.Mx", "slew.Fz"]
K = [[21.0, 3.1e-2], [1.0, 2.0]]
[[hotspots]]
name = "weld"
curve = "D-air"
[[hotspots]]
name = "bolt"
curve = "W3-air"
"""


def written(path, text):
    path.write_text(text)
    return path


def test_stress_is_the_matrix_times_the_loads():
    K = [[21.0, 0.5, 3.0], [0.0, 0.0, -2.0]]
    stress = stress_history(HISTORY, K, ["slew.Mx", "slew.My", "slew.Fz"])
    expected = 21.0 * HISTORY["slew.Mx"] + 0.5 * HISTORY["slew.My"] + 3.0 * HISTORY["slew.Fz"]
    # Three products and two sums: a few units of rounding of the largest term.
    assert stress[:, 0] == pytest.approx(expected, abs=4 * 2.1e6 * np.finfo(float).eps)
    assert np.array_equal(stress[:, 1], -2.0 * HISTORY["slew.Fz"])


def test_loads_are_combined_before_they_are_counted():
    # In antiphase the two loads cancel, which no combination of their separate counts could know.
    opposed = load_history(TIME, {"slew.Mx": 4.0 * WAVE, "slew.Fz": WAVE})
    (result,) = assess_hot_spots(opposed, [HotSpot("cancel", "D-air", {"slew.Mx": 1.0, "slew.Fz": -4.0})]).results
    assert (result.signal.cycles.total, result.damage, result.life_years) == (0.0, 0.0, math.inf)
    # In quadrature their stresses add up to sqrt(2), not to 2.
    (result,) = assess_hot_spots(HISTORY, [HotSpot("both", "D-air", {"slew.Mx": 1.0, "slew.My": 1.0})]).results
    inner = np.median(result.signal.cycles.range)
    assert inner == pytest.approx(2e5 * math.sqrt(2), rel=1e-12)  # 45 degrees is on a sample


def test_damage_scf_thickness_dff_and_life_by_hand(tmp_path):
    curves = tmp_path / "own.toml"
    curves.write_text("[curves.T]\nm1 = 3.0\nlog10_a1 = 12.164\nt_ref = 0.025\nk = 0.2\n")
    spot = HotSpot("weld", "T", {"slew.Mx": 600.0}, thickness=0.040, scf=1.3, dff=3.0)
    assessment = assess_hot_spots(HISTORY, [spot], curve_set(curves))
    (result,) = assessment.results
    size = 120.0 * 1.3 * 1.6**0.2  # MPa
    assert result.thickness_factor == pytest.approx(1.6**0.2)
    assert result.signal.cycles.largest_range == pytest.approx(120e6 * 1.3, rel=1e-14)  # with SCF, without thickness
    assert result.damage == pytest.approx(20 * size**3 / 10**12.164, rel=1e-12)
    assert result.damage_per_year == pytest.approx(result.damage * 365.25 * 86400 / 20.0, rel=1e-14)
    assert result.life_years == pytest.approx(1 / (3.0 * result.damage_per_year), rel=1e-15)
    assert assessment.notes == ()  # not a shipped curve
    (note,) = assess_hot_spots(HISTORY, [HotSpot("x", "D-air", {"slew.Mx": 1.0})]).notes
    assert note.startswith("S-N curve 'D-air' (DNV-RP-C203, April 2016) is shipped as an example; verify")


def test_a_file_of_hot_spots(tmp_path):
    (spot,) = read_hot_spots(written(tmp_path / "spots.toml", GOOD))
    assert spot == HotSpot("weld", "D-air", {"slew.Mx": 21.0, "slew.Fz": 0.031}, 0.04, 1.3, 3.0)
    weld, bolt = read_hot_spots(written(tmp_path / "matrix.toml", MATRIX))
    assert weld == HotSpot("weld", "D-air", {"slew.Mx": 21.0, "slew.Fz": 0.031})
    assert bolt == HotSpot("bolt", "W3-air", {"slew.Mx": 1.0, "slew.Fz": 2.0})
    assert (bolt.scf, bolt.dff, bolt.thickness) == (1.0, 1.0, None)


def test_loads_in_other_axes_are_asked_for_in_the_file(tmp_path):
    text = GOOD + '[hotspots.loads.slew]\nframe = "parent"\n'
    (spot,) = read_hot_spots(written(tmp_path / "own.toml", text))
    assert spot.loads == {"slew": LoadRequest("slew", "parent", "child", (0.0, 0.0, 0.0))}
    text = GOOD + '[loads.slew]\nframe = "parent"\nside = "parent"\nat = [0, 0, 0.5]\n'
    (spot,) = read_hot_spots(written(tmp_path / "shared.toml", text))
    assert spot.loads == {"slew": LoadRequest("slew", "parent", "parent", (0.0, 0.0, 0.5))}


def test_loads_in_other_axes_are_those_of_the_history():
    pendulum = Mechanism(
        name="pendulum",
        bodies=[Body("bob", mass=2.0, com=(0, 0, -1.0))],
        joints=[Joint("pivot", "revolute", parent="world", child="bob", axis=(0, 1, 0), start=0.5)],
        forces=[ForceElement("gravity")],
    )
    history = simulate(pendulum, t_end=3.0, backend="vm", loads="all")
    request = LoadRequest("pivot", "parent", "parent", (0.0, 0.0, 0.5))
    channels = ["pivot.My", "pivot.Fx"]
    expected = history.loads("pivot", frame="parent", side="parent", at=(0.0, 0.0, 0.5)).total[:, [1, 3]]
    assert np.array_equal(load_columns(history, channels, {"pivot": request}), expected)
    assert not np.allclose(history.select(channels), expected)
    spot = HotSpot("foot", "D-air", {"pivot.My": 1e6, "pivot.Fx": 2e6}, loads={"pivot": request})
    (result,) = assess_hot_spots(history, [spot]).results
    assert result.damage == pytest.approx(
        miner_damage(count_cycles(expected @ [1e6, 2e6]), curve_set().get("D-air")), rel=1e-12
    )
    with pytest.raises(KingpostError, match="no channel 'pivot.Mw'.* The load of a joint has: Mx, My, Mz, Fx, Fy, Fz"):
        load_columns(history, ["pivot.Mw"], {"pivot": request})


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (MATRIX, "[[21.0, 3.1e-2], [1.0, 2.0]]", "1979-05-27", ":2: the rows of K must be lists of numbers"),
        (MATRIX, "[1.0, 2.0]]", f"[1{'0' * 400}, 2.0]]", ":2: K holds a whole number that is too large"),
        (MATRIX, "[1.0, 2.0]]", "[1.0]]", r":2: the rows of K .* as many as there are channels .2.; their lengths are 1, 2"),
        (MATRIX, 'x", "slew.Fz"]', 'x"]', "K has 2 columns, but there are 1 channels .slew.Mx.; give one column for each"),
        (MATRIX, ", [1.0, 2.0]]", "]", "K has 1 rows, but there are 2 hot spots; give one row for each"),
        (MATRIX, "[1.0, 2.0]]", "[1.0, inf]]", r"K.1..1. = inf, for channel 'slew.Fz', is not a finite number"),
        (MATRIX, 'K = [[21.0, 3.1e-2], [1.0, 2.0]]\n', "", "the file has 'channels' but no 'K'; the matrix form takes both"),
        (MATRIX, 'x", "slew.Fz"]', 'x", "slew.Mx"]', "'channels' names a channel twice: slew.Mx, slew.Mx"),
        (MATRIX, 'channels = ["slew.Mx", "slew.Fz"]', "channels = 3", "'channels' must be a list of channel names; got 3"),
        (MATRIX, 'curve = "W3-air"', 'curve = "W3-air"\nstress = {a = 1}', "matrix K, so hot spots cannot have stress coeff"),
        (MATRIX, 'name = "bolt"', 'name = "weld"', "spots.toml:6: two hot spots are called 'weld'; names must differ"),
        (GOOD, 'name = "weld"\n', "", "spots.toml:1: hot spot number 1 lacks 'name'"),
        (GOOD, 'curve = "D-air"\n', "", "hot spot 'weld' lacks 'curve'. It takes: name, curve, thickness"),
        (GOOD, "scf = 1.3", "scf = 0", "spots.toml:1: hot spot 'weld': scf = 0 must be a number above 0"),
        (GOOD, "scf = 1.3", "sfc = 1.3", "hot spot 'weld' has no 'sfc'; did you mean 'scf'"),
        (GOOD, "scf = 1.3", 'scf = "much"', "spots.toml:5: hot spot 'weld': scf: expected a number, got the formula 'much'"),
        (GOOD, "0.040", "40", "thickness = 40 m is no plate thickness; give it in m, e.g. 0.04"),
        (GOOD, "21.0", "nan", "hot spot 'weld': stress 'slew.Mx' = nan is not a finite number"),
        (GOOD, "21.0", "true", "stress 'slew.Mx' = True is not a finite number"),
        (GOOD, '[hotspots.stress]\n"slew.Mx" = 21.0\n"slew.Fz" = 3.1e-2\n', "", "has no coefficients; write them as a table"),
        (GOOD, '"slew.Mx" = 21.0\n"slew.Fz" = 3.1e-2\n', "", "'weld' has no unit-load coefficients; give some in Pa per N"),
        (GOOD, "3.1e-2\n", '3.1e-2\n[loads.luff]\nframe = "parent"\n', "loads of 'luff' are not used by any hot spot.*: slew"),
        (GOOD, "3.1e-2\n", '3.1e-2\n[hotspots.loads.luff]\nside = "child"\n', "the load of 'luff' is wanted, but no stress"),
        (GOOD, "3.1e-2\n", '3.1e-2\n[loads.slew]\nframe = "ship"\n', r"spots.toml:11: loads of 'slew': frame: expected one of"),
        (GOOD, "3.1e-2\n", "3.1e-2\n[loads.slew]\nat = [0, 1]\n", "loads of 'slew': at: expected 3 entries, got 2"),
        (GOOD, "3.1e-2\n", "3.1e-2\n[loads]\nslew = 3\n", "loads of 'slew' must be a table, written .loads.slew. with frame"),
        (GOOD, "[[hotspots]]", "[[hotspot]]", "a file of hot spots has no 'hotspot'; did you mean 'hotspots'"),
        (GOOD, GOOD, "", "'hotspots' must be one or more tables, each written ..hotspots.."),
    ],
)  # fmt: skip
def test_bad_files_are_refused_with_file_and_numbers(tmp_path, text, old, new, message):
    assert old in text
    with pytest.raises(FileError, match=message):
        read_hot_spots(written(tmp_path / "spots.toml", text.replace(old, new)))


def test_what_does_not_fit_a_history_is_refused():
    with pytest.raises(
        KingpostError, match="hot spot 'x': no channel 'slew.Mxx'; did you mean 'slew.Mx'.* Channels: slew.angle, slew"
    ):
        assess_hot_spots(HISTORY, [HotSpot("x", "D-air", {"slew.Mxx": 1.0})])
    with pytest.raises(KingpostError, match="hot spot 'x': there is no S-N curve 'D'"):
        assess_hot_spots(HISTORY, [HotSpot("x", "D", {"slew.Mx": 1.0})])
    with pytest.raises(KingpostError, match="K has 3 columns, but there are 1 channels"):
        stress_history(HISTORY, [[1.0, 2.0, 3.0]], ["slew.Mx"])
    with pytest.raises(KingpostError, match="no hot spots were given"):
        assess_hot_spots(HISTORY, [])


def test_the_example_of_a_slew_ring(root):
    path = root / "examples" / "data" / "slew_ring_hotspots.toml"
    spots = read_hot_spots(path)
    radius, thickness = (
        float(number) for number in re.search(r"R = (\S+) m and thickness t = (\S+) m", path.read_text()).groups()
    )
    area, bending = 2 * math.pi * radius * thickness, math.pi * radius**2 * thickness  # A and I / R
    for k, spot in enumerate(spots):
        phi = k * math.pi / 4
        assert spot.name == f"slew-ring-{45 * k:03d}"
        assert list(spot.stress) == ["slew.Mx", "slew.My", "slew.Fz"]
        expected = [-math.sin(phi) / bending, math.cos(phi) / bending, -1 / area]
        # Written with six digits.
        assert list(spot.stress.values()) == pytest.approx(expected, rel=5e-6, abs=1e-9)
    assert len(spots) == 8
    # A moment that turns around the ring gives every point the same cycles: a sine of amplitude M SCF R / I.
    moment = 2e5
    history = load_history(TIME, {"slew.Mx": moment * WAVE, "slew.My": moment * QUARTER, "slew.Fz": np.full(len(TIME), 5e4)})
    results = assess_hot_spots(history, spots).results
    size = 2 * moment * 1.3 / bending * 1e-6  # MPa
    per_cycle = size**3 / 10**12.164
    for result in results:
        # 20 cycles, less what the first and last stretch lose where the run does not begin at a peak of this point.
        assert result.signal.cycles.largest_range == pytest.approx(size * 1e6, rel=1e-5)
        assert 19 * per_cycle < result.damage < 20.5 * per_cycle
    assert results[2].damage == pytest.approx(20 * per_cycle, rel=2e-5)  # at 90 degrees Mx alone: it begins and ends at a peak
