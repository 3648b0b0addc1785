"""S-N curves and Miner's damage against printed numbers, closed forms and another library."""

import fatpack
import numpy as np
import pytest

from kingpost import FileError, KingpostError
from kingpost.fatigue import SNCurve, count_cycles, curve_set, miner_damage, read_curves
from kingpost.fatigue.sn import SHIPPED, megapascals
from tests.core.fatigue.synthetic import cosine

CURVES = curve_set()
D = CURVES.get("D-air")
GOOD = "[curves.mine]\nm1 = 3.0\nlog10_a1 = 12.0\nm2 = 5.0\nN_knee = 1e7\n"


def test_the_printed_knee_of_curve_d():
    # Printed with two digits; log10 a1 is printed with three, so that the knee is known to 0.0005 ln(10) / 3 of itself.
    assert D.knee_range_MPa == pytest.approx(52.63, abs=0.005 + 52.63 * 0.0005 * np.log(10) / 3)
    assert D.N_knee == 1e7
    # On the knee both lines hold, so a range there lasts 1e7 cycles, and just beside it almost.
    for factor in (1.0 - 1e-9, 1.0, 1.0 + 1e-9):
        assert D.cycles_to_failure(D.knee_range_MPa * 1e6 * factor) == pytest.approx(1e7, rel=1e-8)


@pytest.mark.parametrize(("name", "printed"), [("C", 16.320), ("D", 15.606), ("F", 15.091), ("W3", 13.617)])
def test_the_second_intercept_follows_from_continuity(name, printed):
    # Printed numbers are rounded or cut to three digits.
    assert CURVES.get(f"{name}-air").log10_a2 == pytest.approx(printed, abs=0.001)
    # Lower by 0.4 and with the knee a decade earlier, the curve with protection has the same second line.
    assert CURVES.get(f"{name}-cp").log10_a2 == pytest.approx(CURVES.get(f"{name}-air").log10_a2, abs=1e-12)
    assert CURVES.get(f"{name}-cp").N_knee == 1e6


def test_shipped_curves_cite_their_edition_and_ask_to_be_verified():
    text = SHIPPED.read_text()
    assert "Verify them against the licensed edition" in text
    assert all(curve.source == "DNV-RP-C203, April 2016" for curve in read_curves(SHIPPED).values())


def test_stresses_are_in_pascals_outside_and_in_megapascals_on_the_curve():
    assert megapascals(52.63e6) == pytest.approx(52.63, rel=1e-15)
    # 100 MPa on the first line, by hand: 10^(12.164 - 3 * 2).
    assert D.cycles_to_failure(100e6) == pytest.approx(10**6.164, rel=1e-13)
    # 10 MPa on the second: 10^(7 + 5 * (12.164 - 7) / 3 - 5 * 1).
    assert D.cycles_to_failure(10e6) == pytest.approx(10 ** (7 + 5 * 5.164 / 3 - 5), rel=1e-12)


@pytest.mark.parametrize(("size", "expected"), [(150.0, 10**12.164 / 150**3), (20.0, 10 ** (7 + 5 * 5.164 / 3) / 20**5)])
def test_the_damage_of_a_sine_is_n_over_N(size, expected):
    _, wave = cosine(80)
    cycles = count_cycles(0.5e6 * size * wave)  # amplitude: half the range
    assert miner_damage(cycles, D) == pytest.approx(80 / expected, rel=1e-12)


def test_amplitudes_on_a_curve_of_ranges_give_an_eighth_of_the_damage():
    _, wave = cosine(10)
    ranges, amplitudes = count_cycles(200e6 * wave), count_cycles(100e6 * wave)
    assert miner_damage(ranges, D) == pytest.approx(8 * miner_damage(amplitudes, D), rel=1e-12)


def test_another_library_finds_the_same_damage():
    signal = np.random.default_rng(5).normal(size=60000) * 25e6
    cycles = count_cycles(signal)
    pairs = np.column_stack([cycles.range * 1e-6, cycles.count])
    both = [(pairs[:, 0] > D.knee_range_MPa).sum(), (pairs[:, 0] <= D.knee_range_MPa).sum()]
    assert min(both) > 1000  # the two lines are both used
    peer = fatpack.BiLinearEnduranceCurve(D.knee_range_MPa)
    peer.Nc, peer.Nd, peer.m1, peer.m2 = 1e7, 1e7, 3.0, 5.0
    assert miner_damage(cycles, D) == pytest.approx(peer.find_miner_sum(pairs), rel=1e-12)
    limited = SNCurve("D", 3.0, 12.164, 5.0, 1e7, cut_off_range_MPa=20.0)
    peer = fatpack.TriLinearEnduranceCurve(D.knee_range_MPa)
    peer.Nc, peer.Nd, peer.m1, peer.m2 = 1e7, 1e7, 3.0, 5.0
    peer.Nl = 1e7 * (D.knee_range_MPa / 20.0) ** 5
    assert miner_damage(cycles, limited) == pytest.approx(peer.find_miner_sum(pairs), rel=1e-12)


def test_one_slope_cut_off_and_no_range():
    single = SNCurve("single", 4.0, 15.0)
    assert (single.knee_range_MPa, single.log10_a2) == (None, None)
    assert single.cycles_to_failure([1e6, 1e7]) == pytest.approx([1e15, 1e11], rel=1e-14)
    limited = SNCurve("limited", 3.0, 12.0, cut_off_range_MPa=50.0)
    assert limited.cycles_to_failure([49.9e6, 50e6]) == pytest.approx([np.inf, 1e12 / 50**3])
    assert np.isinf(D.cycles_to_failure([0.0, 1e-100])).all()
    assert miner_damage(count_cycles([1.0, 1.0]), D) == 0.0


def test_thickness_counts_only_above_the_reference_and_where_it_is_given():
    thick = SNCurve("T", 3.0, 12.164, 5.0, 1e7, t_ref=0.025, k=0.2)
    assert thick.thickness_factor(0.040) == pytest.approx(1.6**0.2, rel=1e-15)
    assert [thick.thickness_factor(t) for t in (None, 0.010, 0.025)] == [1.0, 1.0, 1.0]
    assert D.thickness_factor(0.040) == 1.0
    cycles = count_cycles([0.0, 150e6, 0.0, 150e6])
    assert miner_damage(cycles, thick, thick.thickness_factor(0.040)) == pytest.approx(1.6**0.6 * miner_damage(cycles, thick))


def test_own_curves_come_before_those_shipped(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(GOOD + "[curves.D-air]\nm1 = 3.0\nlog10_a1 = 12.2\n")
    curves = curve_set(path)
    assert (curves.get("D-air").log10_a1, curves.shipped("D-air"), curves.files["D-air"]) == (12.2, False, path)
    assert curves.shipped("F-air") and curves.get("mine").m2 == 5.0
    with pytest.raises(KingpostError, match="no S-N curve 'D-aire'; did you mean 'D-air'.* Curves: C-air, C-cp, D-air"):
        curves.get("D-aire")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("m2 = 5.0", "m2 = 2.0", "own.toml:1: S-N curve 'mine': m2 = 2 is smaller than m1 = 3. Beyond .* exchange them"),
        ("m1 = 3.0\n", "", "own.toml:1: S-N curve 'mine' lacks 'm1'. It takes: name .required., m1 .required."),
        ("N_knee = 1e7\n", "", "has m2 = 5 but no N_knee. A second slope takes both m2 and N_knee; add N_knee, or remove m2"),
        ("m2 = 5.0\n", "", "'mine' has N_knee = 1e.07 but no m2.*add m2, or remove N_knee"),
        ("N_knee = 1e7", "N_knee = 0", "own.toml:1: S-N curve 'mine': N_knee = 0 must be a number above 0"),
        ("log10_a1 = 12.0", "log10_a1 = -12.0", "log10_a1 = -12 must be a number above 0"),
        ("log10_a1 = 12.0", "log10_a1 = 1e12", "log10_a1 = 1e.12 .*give the logarithm to base 10.*log10.1e.12. = 12"),
        ("m1 = 3.0", "m1 = nan", "own.toml:2: S-N curve 'mine': m1: expected a finite number, got nan"),
        ("m1 = 3.0", 'm1 = "three"', "m1: expected a number, got the formula 'three'"),
        ("m1 = 3.0", "m1 = 3.0\nm3 = 1", "own.toml:3: S-N curve 'mine' has no 'm3'; did you mean 'm2'"),
        ("m1 = 3.0", 'm1 = 3.0\nname = "x"', "has its name in the heading .curves.mine.; remove 'name'"),
        ("m1 = 3.0", "m1 = 3.0\nk = 0.2", "has k = 0.2 but no t_ref. A thickness correction takes both t_ref and k"),
        ("m1 = 3.0", "m1 = 3.0\nk = 0.2\nt_ref = 25", "t_ref = 25 m is no plate thickness; give it in m, e.g. 0.025"),
        ("m1 = 3.0", "m1 = 1e-9", "own.toml:1: S-N curve 'mine': m1 = 1e-09 is no inverse slope of an S-N curve"),
        ("m2 = 5.0", "m2 = 5e12", "m2 = 5e.12 is no inverse slope of an S-N curve; it lies between 0.1 and 1000"),
        ("m2 = 5.0", "m2 = 1e308", "m2 = 1e.308 is no inverse slope"),
        ("m1 = 3.0", "m1 = 3.0\nk = 1e7\nt_ref = 0.025", "k = 1e.07 is no exponent of a thickness correction"),
        ("m1 = 3.0", "m1 = 3.0\nk = 0.2\nt_ref = 1e-300", "t_ref = 1e-300 m is no plate thickness"),
        ("[curves.mine]", "[curve.mine]", "own.toml: a file of S-N curves has no 'curve'; did you mean 'curves'"),
        (GOOD, "curves = 3", "'curves' must be a table, written .curves.NAME.; got 3"),
        (GOOD, "[curves]\nmine = 3", "own.toml:2: S-N curve 'mine' must be a table, written .curves.mine.; got 3"),
        (GOOD, "", "own.toml: there are no S-N curves in the file; write each as a table"),
        (GOOD, "m1 = = 3", "own.toml is not valid TOML"),
    ],
)  # fmt: skip
def test_bad_curves_are_refused_with_file_and_numbers(tmp_path, old, new, message):
    path = tmp_path / "own.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(FileError, match=message):
        read_curves(path)


def test_files_that_are_not_there_or_no_text_are_refused(tmp_path):
    with pytest.raises(FileError, match="there is no S-N curve file '.*nowhere.toml'"):
        read_curves(tmp_path / "nowhere.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="cannot be read"):
        read_curves(tmp_path / "binary.toml")


def test_negative_ranges_are_refused():
    with pytest.raises(KingpostError, match="S-N curve 'D-air': a stress range is 0 or more, got -1 MPa"):
        D.cycles_to_failure([1e6, -1e6])


def test_curves_far_from_any_standard_have_numbers_still():
    # The intercept of the second line is 10^(-300 + 1000 (30 + 300) / 0.1), far beyond the range of numbers.
    curve = SNCurve("steep", m1=0.1, log10_a1=30.0, m2=1000.0, N_knee=1e-300)
    cycles = curve.cycles_to_failure([0.0, 1e-300, 1e3, 1e300])
    assert not np.isnan(cycles).any() and (np.diff(cycles[np.isfinite(cycles)]) <= 0).all()
    assert cycles[0] == np.inf
