"""Numbers read from samples, and their derivatives with respect to each sample."""

from __future__ import annotations

import numpy as np
import pytest

from kingpost import KingpostError
from kingpost.gradients.functional import check_channels, read_functional
from kingpost.gradients.readings import Record

TIME = np.linspace(0.0, 2.0, 21)
#: Smooth, without two samples that are equal.
COLUMNS = {
    "a.x": np.sin(3.1 * TIME) + 0.1 * TIME,
    "a.y": np.cos(2.3 * TIME) - 0.2,
    "inner-boom.Mx": -2.0 - np.exp(-TIME) * np.sin(5 * TIME),
}


def read(text, columns=COLUMNS):
    return read_functional(text).read(Record(TIME, columns))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a.x at 0.3", COLUMNS["a.x"][3]),
        ("a.x", COLUMNS["a.x"][-1]),
        ("end a.x to 1", COLUMNS["a.x"][10]),
        ("start a.x", COLUMNS["a.x"][0]),
        ("max a.x", COLUMNS["a.x"].max()),
        ("min a.x from 0.5 to 1.5", COLUMNS["a.x"][5:16].min()),
        ("max abs a.y", np.abs(COLUMNS["a.y"]).max()),
        ("range a.x", np.ptp(COLUMNS["a.x"])),
        ("integral a.y", np.trapezoid(COLUMNS["a.y"], TIME)),
        ("mean a.y from 1", np.trapezoid(COLUMNS["a.y"][10:], TIME[10:])),
        ("rms a.y", np.sqrt(np.trapezoid(COLUMNS["a.y"] ** 2, TIME) / 2)),
        ("std a.x", np.sqrt(np.trapezoid((COLUMNS["a.x"] - np.trapezoid(COLUMNS["a.x"], TIME) / 2) ** 2, TIME) / 2)),
        ("max norm(a.x, a.y)", np.hypot(COLUMNS["a.x"], COLUMNS["a.y"]).max()),
        ("2 * max a.x - rms a.y / (3 + end a.y)", None),
        ("- max inner-boom.Mx", -COLUMNS["inner-boom.Mx"].max()),
        ("max a.x * min a.y / rms inner-boom.Mx", None),
        ("equivalent inner-boom.Mx slope 4", None),
        ("settling inner-boom.Mx near -2 within 0.3", None),
        ("settling inner-boom.Mx near -2 within 0.3 to 1.5", None),
        ("4", 4.0),
    ],
)
def test_values_and_slopes(text, value):
    """Every slope agrees with a central difference: of third derivatives below 100, with steps of 1e-5, to 1e-8."""
    found = read(text)
    if value is not None:
        assert found.value == pytest.approx(value, rel=1e-14)
    for name, column in COLUMNS.items():
        for k in range(len(TIME)):
            moved = [{**COLUMNS, name: column + sign * 1e-5 * (np.arange(len(TIME)) == k)} for sign in (1, -1)]
            slope = (read(text, moved[0]).value - read(text, moved[1]).value) / 2e-5
            assert found.slopes.get(name, np.zeros(len(TIME)))[k] == pytest.approx(slope, abs=1e-8)


def test_extremes_say_where_they_are_and_whether_another_one_competes():
    found = read("max a.x")
    assert found.places == {"largest a.x": TIME[COLUMNS["a.x"].argmax()]}
    assert not found.warnings
    (warning,) = read("max a.x", {"a.x": np.sin(2 * np.pi * TIME)}).warnings
    assert "are equal to 1e-06; the gradient is that of the first" in warning
    # A level stretch is one peak.
    assert not read("max a.x", {"a.x": np.minimum(COLUMNS["a.x"], 0.5)[:16].repeat(2)[:21]}).warnings


def test_lengths_and_roots_at_zero_have_no_slope():
    nothing = {"a.x": np.zeros(21), "a.y": np.zeros(21)}
    for text in ("max norm(a.x, a.y)", "rms a.x", "std a.x", "max abs a.x", "equivalent a.x slope 3"):
        found = read(text, nothing)
        assert found.value == 0.0
        assert all(not slope.any() for slope in found.slopes.values())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "nothing is asked for"),
        ("max", "a channel is missing at the end"),
        ("max at 3", "a channel is missing before 'at'"),
        ("a.x at soon", "after 'at' comes a time in s, not 'soon'"),
        ("a.x at", "after 'at' comes a time in s"),
        ("max a.x at 1", "'at' is for the value at one time"),
        ("a.x from 1 from 2", "'from' stands twice"),
        ("(a.x + a.y", "a bracket is not closed"),
        ("norm(a.x, a.y", "a bracket is not closed"),
        ("a.x a.y", "'a.y' is not understood"),
        ("equivalent a.x", "go together"),
        ("max a.x slope 4", "go together"),
        ("settling a.x near 1", "'settling' goes with a value and a distance"),
        ("settling a.x near 1 within 0", "'settling' goes with a value and a distance"),
        ("max a.x within 1", "'settling' goes with a value and a distance"),
        ("settling a.x near here", "after 'near' comes a number, not 'here'"),
        ("equivalent a.x slope steep", "after 'slope' comes a number, not 'steep'"),
    ],
)
def test_what_cannot_be_understood(text, words):
    with pytest.raises(KingpostError, match="write e.g.") as refusal:
        read_functional(text)
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a.x at 2.5", "the run goes from 0 s to 2 s, and 2.5 s is outside"),
        ("max a.x from -1", "the run goes from 0 s to 2 s, and -1 s is outside"),
        ("a.x at 0.34", "there is no sample at 0.34 s, only at 0.2 s, 0.3 s, 0.4 s"),
        ("max a.x from 1.5 to 0.5", "it ends at 0.5 s, before it begins at 1.5 s"),
        ("2 + mean a.x from 1 to 1", "one sample makes no mean"),
    ],
)
def test_times_that_a_run_does_not_have_are_refused_before_it(text, words):
    with pytest.raises(KingpostError) as refusal:
        read_functional(text).check(TIME)
    assert words in str(refusal.value)


def test_unknown_channels_are_answered_with_known_ones():
    with pytest.raises(KingpostError, match="no channel 'a.X'; did you mean 'a.x'"):
        check_channels(read_functional("max a.X"), list(COLUMNS))
    with pytest.raises(KingpostError, match="channel 'f' moves"):
        check_channels(read_functional("max f"), list(COLUMNS), {"f": "moves"})
    assert check_channels(read_functional("a.y + max a.x + a.y"), list(COLUMNS)) == ["a.y", "a.x"]


def test_a_number_that_is_zero_divides_nothing():
    with pytest.raises(KingpostError, match="divides by a number that is 0"):
        read("1 / start a.x", {"a.x": np.zeros(21)})


def test_a_settling_time_is_that_of_the_last_crossing():
    """exp(-t) is within w of zero from log(1 / w) on; straight lines between samples err by h^2 / 8 = 1.25e-3 of its slope."""
    columns = {"a.x": np.exp(-TIME)}
    assert read("settling a.x near 0 within 0.4", columns).value == pytest.approx(np.log(2.5), abs=1.3e-3)
    assert read("settling a.x near 1 within 2", columns).value == 0.0
    assert "settled from the start" in read("settling a.x near 1 within 2", columns).warnings[0]
    with pytest.raises(KingpostError, match=r"at the end, 2 s, it is 0\.1353 away from 0, so that it has not settled"):
        read("settling a.x near 0 within 0.1", columns)


def test_a_peak_that_nearly_leaves_the_band_again_is_told():
    """The second peak stays within the band by half a thousandth of its width."""
    columns = {"a.x": np.where(TIME < 0.5, 2.0, np.where(np.abs(TIME - 1.5) < 0.01, 0.9995, 0.0))}
    (warning,) = read("settling a.x near 0 within 1", columns).warnings
    assert "nearly leaves again at 1.5 s" in warning
