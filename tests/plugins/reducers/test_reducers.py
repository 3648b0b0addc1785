"""The reducers: every one conforms, and its numbers are those of a closed form."""

import math

import numpy as np
import pytest

from kingpost import History, KingpostError, PluginSet
from kingpost.base.channels import Channel
from kingpost.fatigue import CountingOptions, assess_hot_spots, count_cycles, damage_equivalent_range, read_hot_spots
from kingpost.registry.selection import select
from kingpost.testing.reducers import REDUCER_CHECKS, ReducerSubject, check_reducer, usual_history

PLUGINS = PluginSet(entry_points=False)
SPOTS = """
[[hotspots]]
name = "ring"
curve = "D-air"
dff = 3.0
[hotspots.stress]
"slew.Mx" = 1e6
"slew.Fz" = -2e5
"""
OPTIONS = {
    "statistics": {"channels": ["slew", "tip.z"], "of": ["max", "min", "mean", "std", "rms", "range", "absmax", "last"]},
    "equivalent-range": {"channels": ["slew.Mx", "luff"], "slopes": [3.0, 5.0]},
    "rainflow": {"largest": {"slew.Mx": 10.0, "tip.z": 30.0}, "classes": 8},
    "exceedance": {"limits": {"slew.Mx": {"max": 2.0, "min": -2.0}, "tip.z": {"max": 5.0}}},
    "extremes": {"channels": ["slew"], "blocks": 4},
}


@pytest.fixture(scope="module")
def spots(tmp_path_factory):
    path = tmp_path_factory.mktemp("spots") / "spots.toml"
    path.write_text(SPOTS)
    return path


def options_of(name, spots):
    return OPTIONS[name] if name in OPTIONS else {"file": str(spots), "accept": ["residual", "noise"]}


@pytest.mark.parametrize("check", REDUCER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", [*OPTIONS, "hot-spots"])
def test_conformance(name, check, spots):
    check(ReducerSubject(name, options_of(name, spots), usual_history(), PLUGINS))


def test_every_reducer_of_ours_is_checked():
    assert set(PLUGINS.reducers) == {*OPTIONS, "hot-spots"}


def reduced(name, history, **options):
    return select(PLUGINS.reducers, name, options).reduce(history)


def sine(amplitude=3.0, mean=1.0, periods=20, samples=4000):
    """Return whole periods of a sine over 10 s, sampled so that peaks are hit."""
    time = np.linspace(0.0, 10.0, samples + 1)
    values = mean + amplitude * np.sin(2 * np.pi * periods / 10.0 * time)
    return History(time, (Channel("pull", "N"),), values[:, None])


def test_statistics_of_a_sine():
    numbers = reduced(
        "statistics", sine(), channels=["pull"], of=["max", "min", "mean", "std", "rms", "range", "absmax", "last"]
    )
    # The sum over whole periods has one sample, the last one at the mean, too many: relative errors of 1 / samples.
    close = pytest.approx
    assert numbers == {
        "pull:max": close(4.0),
        "pull:min": close(-2.0),
        "pull:mean": close(1.0, rel=1e-3),
        "pull:std": close(3.0 / math.sqrt(2), rel=1e-3),
        "pull:rms": close(math.sqrt(1 + 4.5), rel=1e-3),
        "pull:range": close(6.0),
        "pull:absmax": close(4.0),
        "pull:last": close(1.0, abs=1e-12),
    }


def test_the_equivalent_range_of_a_sine_at_the_reference_frequency_is_its_range():
    # 20 cycles in 10 s with f_ref = 2 Hz are N_eq; all but the first and last half range, which end at the mean, are 2 A:
    # 19.5 full cycles and two half cycles of half the range, so 19.5 + 0.5^m in 20.
    numbers = reduced("equivalent-range", sine(), channels=["pull"], slopes=[3.0, 5.0], f_ref=2.0)
    for m in (3.0, 5.0):
        assert numbers[f"pull:del{m:g}"] == pytest.approx(6.0 * ((19.5 + 0.5**m) / 20) ** (1 / m), rel=1e-12)


def test_equivalent_ranges_are_those_of_fatigue():
    history = usual_history()
    numbers = reduced("equivalent-range", history, channels=["luff"], slopes=[3.0, 4.0], f_ref=1.0)
    for name in ("luff.Mx", "luff.Fz"):
        cycles = count_cycles(history[name])
        for slope in (3.0, 4.0):
            expected = damage_equivalent_range(cycles, slope, history.time[-1] - history.time[0]).range
            # The same terms, added in another order: a few hundred roundings.
            assert numbers[f"{name}:del{slope:g}"] == pytest.approx(expected, rel=1e-13)


def test_classes_of_ranges_hold_every_cycle():
    history = usual_history()
    cycles = count_cycles(history["slew.Mx"])
    numbers = reduced("rainflow", history, largest={"slew.Mx": 4.0}, classes=5)
    counts = [numbers[f"slew.Mx:cycles {i}"] for i in range(5)]
    expected, _ = np.histogram(cycles.range, np.linspace(0, 4.0, 6), weights=cycles.count)
    # numpy's last class is closed at its end.
    assert counts == expected.tolist()
    assert numbers["slew.Mx:cycles beyond"] == cycles.count[cycles.range > 4.0].sum() > 0


def test_exceedance_of_a_sine():
    # Above half its amplitude for a third of the time, once in each period.
    numbers = reduced("exceedance", sine(3.0, 0.0), limits={"pull": {"max": 1.5, "min": -1.5}})
    assert numbers["pull:share above 1.5"] == pytest.approx(1 / 3, abs=2 * 20 / 4000)
    assert numbers["pull:share below -1.5"] == pytest.approx(1 / 3, abs=2 * 20 / 4000)
    assert numbers["pull:times above 1.5"] == 20 == numbers["pull:times below -1.5"]


def test_extremes_of_blocks():
    time = np.linspace(0.0, 8.0, 801)
    history = History(time, (Channel("pull", "N"),), (time * np.sin(2 * np.pi * time))[:, None])
    numbers = reduced("extremes", history, channels=["pull"], blocks=4)
    assert numbers["pull:max"] == numbers["pull:max 4"] == pytest.approx(7.25, abs=0.01)
    # Near the quarter of the last second of each block.
    assert [numbers[f"pull:max {k}"] for k in (1, 2, 3, 4)] == pytest.approx([1.25, 3.25, 5.25, 7.25], abs=0.02)
    assert numbers["pull:tmax"] == pytest.approx(7.25, abs=0.01)
    assert numbers["pull:tmin"] == pytest.approx(7.75, abs=0.01)
    assert numbers["pull:upcrossings"] == pytest.approx(8, abs=1)
    with pytest.raises(KingpostError, match="a run of 801 samples has no 1000 blocks"):
        reduced("extremes", history, channels=["pull"], blocks=1000)


def test_damage_is_that_of_fatigue(spots):
    history = usual_history()
    numbers = reduced("hot-spots", history, file=str(spots), accept=["residual", "noise"])
    (result,) = assess_hot_spots(history, read_hot_spots(spots), options=CountingOptions()).results
    assert numbers["hot spot ring:damage_per_year"] == result.damage_per_year > 0
    assert numbers["hot spot ring:largest_range"] == result.signal.cycles.largest_range
    assert numbers["hot spot ring:cycles_per_year"] == pytest.approx(result.signal.cycles.total * 365.25 * 864, rel=1e-14)


def test_hot_spots_ask_for_what_their_doubts_need(spots):
    history = usual_history()
    more = [Channel("loads.residual.force", "N"), Channel("king.pose.px", "m"), Channel("king.motion.ax", "m/s2")]
    doubting = select(PLUGINS.reducers, "hot-spots", {"file": str(spots)}).channels([*history.channels, *more])
    assert {channel.name for channel in more} <= set(doubting)
    trusting = select(PLUGINS.reducers, "hot-spots", {"file": str(spots), "accept": ("noise",)})
    assert "king.motion.ax" not in trusting.channels([*history.channels, *more])
    with pytest.raises(KingpostError, match="hot spot 'ring': the run has no channel 'slew.Mx'"):
        trusting.channels([Channel("luff.Mx", "N.m")])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("statistics", {"channels": ["slew"], "of": ["maximum"]}, "there is no statistic 'maximum'; did you mean 'max'"),
        ("equivalent-range", {"channels": ["slew"], "slopes": [0.0]}, "the inverse slope m = 0.0"),
        ("rainflow", {"largest": {"slew.Mx": -1}}, "is not a number above 0"),
        ("rainflow", {"largest": {}}, "names no channel"),
        ("rainflow", {"largest": {"slew.Mx": 1}, "classes": 0}, "give a number from 1 to 1000"),
        ("exceedance", {"limits": {"slew.Mx": {"most": 1}}}, "have no 'most'"),
        ("exceedance", {"limits": {"slew.Mx": 3}}, "write for example"),
        ("exceedance", {"limits": {"slew.Mx": {"max": math.nan}}}, "is not a finite number"),
        ("extremes", {"channels": ["slew"], "blocks": 0}, "give a number from 1 to 10000"),
        ("hot-spots", {}, "give a file with hot spots"),
    ],
)
def test_nonsense_is_refused(name, options, message):
    with pytest.raises(KingpostError, match=message):
        select(PLUGINS.reducers, name, options)


def test_a_channel_that_there_is_not_is_answered_with_the_nearest():
    with pytest.raises(KingpostError, match=r"no channel 'slw', and no joint of this name with loads; did you mean 'slew'"):
        reduced("statistics", usual_history(), channels=["slw"])


def test_a_reducer_that_depends_on_the_order_of_channels_is_found_out():
    from kingpost.studies.reducer import Reducer

    class First(Reducer):
        """Whatever stands first."""

        name = "first"

        def channels(self, available):
            if len(available) < 2:
                raise KingpostError("needs two channels")
            return [channel.name for channel in available]

        def reduce(self, history):
            return {"first": float(history.values[0, 0])}

    with pytest.raises(AssertionError, match="the order of the channels changes its numbers"):
        check_reducer(First, plugins=PLUGINS)
