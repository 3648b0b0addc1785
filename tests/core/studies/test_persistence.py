"""Weather windows: series made by hand, and a Markov chain whose windows and waits are known."""

import numpy as np
import pytest

from kingpost import KingpostError
from kingpost.studies.persistence import persistence_record, weather_windows
from kingpost.studies.sea_series import SeaSeries


def series(good, step=1.0, hours=None, months=None):
    """Return a record with waves of 1 m where it is good, 2 m where not, and nothing where nothing is known."""
    heights = {True: 1.0, False: 2.0, None: np.nan}
    count = len(good)
    values = np.array([heights[item] for item in good])
    return SeaSeries(np.arange(count) * step if hours is None else np.array(hours, float), {"Hs": values}, months)


def letters(text):
    return [{"g": True, "b": False, "?": None}[letter] for letter in text]


def test_by_hand():
    # Windows of 3 and 5 samples of half an hour; an operation of 2 h needs 4.
    found = weather_windows(series(letters("bgggbbgggggb"), step=0.5), {"Hs": 1.5}, 2.0)
    assert found.window_length.tolist() == [1.5, 2.5] and found.window_start.tolist() == [0.5, 3.0]
    assert found.long_enough.tolist() == [2.5]
    total = found.total
    assert total.hours == 6.0 and total.windows == 1
    assert (total.within, total.workable, total.startable) == (8 / 12, 5 / 12, 2 / 12)
    # One can begin at the samples 6 and 7: waits of 3, 2.5 ... 0.5, 0, 0 h before; after that nobody knows.
    assert total.mean_wait == pytest.approx(sum((6 - i) * 0.5 for i in range(7)) / 8)
    assert found.unknown_wait == 4 / 12
    assert found.wait_quantiles[2] == 3.0


def test_limits_belong_to_the_window_and_all_of_them_hold():
    both = SeaSeries(np.arange(4.0), {"Hs": np.array([1.5, 1.5, 1.0, 1.6]), "Tp": np.array([8.0, 9.1, 9.0, 5.0])})
    assert weather_windows(both, {"Hs": 1.5}, 1.0).total.within == 0.75
    assert weather_windows(both, {"Hs": 1.5, "tp": 9.0}, 1.0).total.within == 0.5


def test_a_length_between_two_samples_needs_the_next_one():
    record = series(letters("gggb"))
    for length, windows in ((2.0, 1), (3.0, 1), (3.01, 0)):
        assert weather_windows(record, {"Hs": 1.5}, length).total.windows == windows


def test_what_is_not_known_ends_windows_and_waits():
    found = weather_windows(series(letters("bgg?ggb")), {"Hs": 1.5}, 3.0)
    assert found.window_length.tolist() == [2.0, 2.0] and found.total.windows == 0
    assert found.total.hours == 6.0 and found.total.mean_wait is None and found.wait_quantiles is None
    assert found.missing == 1.0 and found.gaps == 1 and found.unknown_wait == 1.0
    # A gap in the times does the same.
    gap = weather_windows(series(letters("bgggbbggg"), hours=[0, 1, 2, 3, 4, 10, 11, 12, 13]), {"Hs": 1.5}, 3.0)
    assert gap.missing == 5.0 and gap.gaps == 1 and gap.total.windows == 2
    assert gap.total.mean_wait == pytest.approx((1 + 0 + 1 + 0) / 4)
    assert gap.unknown_wait == pytest.approx(5 / 9)


def test_months():
    months = np.array([1] * 4 + [2] * 4)
    found = weather_windows(series(letters("ggbbbggg"), months=months), {"Hs": 1.5}, 2.0)
    assert list(found.months) == [1, 2]
    january, february = found.months[1], found.months[2]
    assert (january.hours, january.within, january.windows) == (4.0, 0.5, 1)
    assert (february.within, february.workable, february.startable, february.windows) == (0.75, 0.75, 0.5, 1)
    record = persistence_record(found)
    assert record["months"]["2"]["workable"] == 0.75 and record["windows"]["long_enough"] == 2


def test_a_markov_chain_has_its_windows_and_waits():
    """Good stays good with a, bad stays bad with b: windows are geometric, and expected waits solve two equations."""
    a, b, n, count = 0.9, 0.8, 4, 200_000
    rng = np.random.default_rng(5)
    draws = rng.random(count)
    good = np.empty(count, dtype=bool)
    good[0] = True
    for i in range(1, count):
        good[i] = draws[i] < (a if good[i - 1] else 1 - b)
    record = SeaSeries(np.arange(count) * 3.0, {"Hs": np.where(good, 1.0, 2.0)})
    found = weather_windows(record, {"Hs": 1.5}, 3.0 * n)
    part = (1 - b) / (2 - a - b)
    # From a good sample: n - 1 more of them follow, or k < n do and it waits k and from a bad one on.
    k = np.arange(1, n)
    stop = a ** (k - 1) * (1 - a)
    # w_G = sum stop (k + w_B),  w_B = 1 + b w_B + (1 - b) w_G
    w_B = (1 + (1 - b) * (stop @ k)) / (1 - b) / (1 - stop.sum())
    w_G = stop @ (k + w_B)
    # Of 200 000 samples, correlated over some 3 each way; three standard errors of each are below 2 %.
    assert found.total.within == pytest.approx(part, rel=0.02)
    assert found.total.workable == pytest.approx(part * a ** (n - 1) * (n - (n - 1) * a), rel=0.02)
    assert found.total.startable == pytest.approx(part * a ** (n - 1), rel=0.02)
    assert found.total.mean_wait == pytest.approx(3.0 * (part * w_G + (1 - part) * w_B), rel=0.03)
    assert found.window_length.mean() == pytest.approx(3.0 / (1 - a), rel=0.02)


@pytest.mark.parametrize(
    ("limits", "length", "said"),
    [
        ({}, 1.0, "no limit was given"),
        ({"Hs": np.inf}, 1.0, "the limit of 'Hs' is inf"),
        ({"Hs": 1.0}, 0.0, "has no length"),
        ({"Hz": 1.0}, 1.0, "there is no column 'Hz'; did you mean 'Hs'"),
    ],
)
def test_refusals(limits, length, said):
    with pytest.raises(KingpostError, match=said):
        weather_windows(series(letters("gb")), limits, length)
    if not limits:
        # Steps so short that no number says how many of them an hour has.
        short = SeaSeries(np.array([0.0, 5e-324, 1e-323]), {"Hs": np.ones(3)})
        assert weather_windows(short, {"Hs": 2.0}, 1.0).total.windows == 0
        with pytest.raises(KingpostError, match="the record knows nothing"):
            weather_windows(series(letters("??")), {"Hs": 1.0}, 1.0)
