"""Whole assessments of loads, and several runs together."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from kingpost import FileError, KingpostError
from kingpost.fatigue import (
    YEAR,
    CountingOptions,
    HotSpot,
    State,
    StateTable,
    assess_hot_spots,
    assess_loads,
    assess_states,
    combine_hot_spots,
    combine_loads,
    combined_record,
    count_cycles,
    hot_spot_record,
    life_years,
    load_record,
    read_states,
)
from kingpost.mechanism.load_request import LoadRequest
from tests.core.fatigue.synthetic import cosine, load_history

TIME, WAVE = cosine(20)
HISTORY = load_history(TIME, {"slew.Mx": 1e5 * WAVE + 3e5, "luff.Fz": 2e4 * WAVE})


def test_numbers_of_a_load():
    result = assess_loads(HISTORY, ["slew"])
    signal = result.signals[0]
    assert [item.name for item in result.signals] == [f"slew.{part}" for part in ("Mx", "My", "Mz", "Fx", "Fy", "Fz")]
    assert (signal.maximum, signal.minimum, signal.unit) == (4e5, 2e5, "N.m")
    assert signal.cycles.largest_range == 2e5
    assert signal.mean == pytest.approx(3e5 + 1e5 / 801, rel=1e-12)  # one more peak than valleys
    assert signal.standard_deviation == pytest.approx(np.std(HISTORY["slew.Mx"]), rel=1e-14)
    assert signal.cycles.total == 20.0
    assert [item.slope for item in signal.equivalent_ranges] == [3.0, 4.0, 5.0]
    # 20 cycles of one range in 20 s at 1 Hz.
    assert [item.range for item in signal.equivalent_ranges] == pytest.approx([2e5] * 3, rel=1e-14)
    assert all(item.equivalent_cycles == 20.0 for item in signal.equivalent_ranges)
    assert signal.history_parameters[0].s_m == pytest.approx(1e-5)
    assert (signal.channel.frame, signal.channel.side) == ("child", "child")


def test_all_joints_are_the_default_and_channels_are_added():
    assert len(assess_loads(HISTORY).signals) == 12
    names = [signal.name for signal in assess_loads(HISTORY, ["luff"], ["slew.angle", "slew.Mx"]).signals]
    assert names[-3:] == ["luff.Fz", "slew.angle", "slew.Mx"]
    assert [signal.name for signal in assess_loads(HISTORY, channels=["slew.Mx"]).signals] == ["slew.Mx"]


def test_stretching_time_changes_only_the_number_of_reference_cycles():
    signal = np.random.default_rng(9).normal(size=3000)
    time = np.arange(3000) * 0.1
    one, two = (
        assess_loads(load_history(scale * time, {"slew.Mx": signal}), channels=["slew.Mx"]).signals[0] for scale in (1, 2)
    )
    assert np.array_equal(one.cycles.range, two.cycles.range)
    for first, second in zip(one.equivalent_ranges, two.equivalent_ranges, strict=True):
        assert second.range == pytest.approx(first.range * 0.5 ** (1 / first.slope), rel=1e-14)


def test_the_start_and_small_excursions_are_left_out_as_asked():
    start = np.where(TIME < 5.0, 10.0, 1.0)
    history = load_history(TIME, {"slew.Mx": start * WAVE})
    assert assess_loads(history, channels=["slew.Mx"]).signals[0].cycles.largest_range == 20.0
    result = assess_loads(history, channels=["slew.Mx"], options=CountingOptions(skip=5.0))
    assert (result.signals[0].cycles.largest_range, result.window.skipped, result.window.duration) == (2.0, 5.0, 15.0)
    for options in (CountingOptions(threshold=3.0), CountingOptions(relative_threshold=0.15)):
        signal = assess_loads(history, channels=["slew.Mx"], options=options).signals[0]
        assert signal.cycles.threshold == pytest.approx(3.0, rel=1e-15)
        assert signal.cycles.range.min() > 3.0
        assert signal.cycles.largest_range == 20.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            {"joints": ["slw"]},
            "no load of joint 'slw'; did you mean 'slew'.* Joints with loads: slew, luff. For more, run the model",
        ),
        ({"joints": [LoadRequest("arm")]}, "the history has no load of joint 'arm'"),
        ({"channels": ["slew.Mxx"]}, "no channel 'slew.Mxx'; did you mean 'slew.Mx'"),
        ({"joints": ["slew"], "channels": ["slew.Mx"]}, "'slew.Mx' is asked for twice; ask once"),
    ],
)
def test_loads_that_are_not_there_are_refused(words, message):
    with pytest.raises(KingpostError, match=message):
        assess_loads(HISTORY, **words)


def test_a_history_without_loads_says_how_to_get_them():
    with pytest.raises(KingpostError, match=r"no joint loads .*: loads = 'all'. Or name the channels to count: slew.angle"):
        assess_loads(load_history(TIME, {}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slopes": ()}, "no inverse slope m was given"),
        ({"slopes": (3.0, -1.0)}, "inverse slope m = -1.0 is not between 0.1 and 1000"),
        ({"f_ref": 0.0}, "reference frequency is 0 Hz; give one above 0"),
        ({"relative_threshold": 1.0}, "a threshold of 1 of the largest range would leave nothing"),
        ({"relative_threshold": 0.1, "threshold": 1.0}, "either in the unit of the signal or as a part of its largest range"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(KingpostError, match=message):
        CountingOptions(**options)


def test_records_are_plain_json_with_units_and_rules():
    record = json.loads(
        json.dumps(load_record(assess_loads(HISTORY, ["slew"], options=CountingOptions(skip=1.0))), allow_nan=False)
    )
    assert record["counting"]["rule"] == "rainflow, ASTM E1049-85 section 5.4.4"
    assert record["counting"]["residue"] == "residue as half cycles"
    assert record["counting"]["library"].startswith("rainflow 3")
    assert record["equivalent_range"]["equivalent_cycles"] == record["time"]["duration_s"] == 19.0
    assert record["time"]["skipped_s"] == 1.0
    moment, idle = record["channels"][:2]
    assert (moment["unit"], moment["frame"], moment["side"], moment["at_m"]) == ("N.m", "child", "child", [0.0, 0.0, 0.0])
    assert moment["range_histogram"]["filled"][-1][2] == moment["cycles"] == 19.0
    assert moment["residue"]["values"] == pytest.approx([2e5, 4e5])  # the last valley and the last peak
    assert moment["en13001"][0]["k_m"] == pytest.approx(1.0)
    assert moment["sampling"]["samples_per_period"] == pytest.approx(40.0, rel=0.1)
    assert (idle["sampling"], idle["cycles"]) == (None, 0.0)
    spots = [HotSpot("weld", "D-air", {"slew.Mx": 100.0}, dff=2.0), HotSpot("idle", "D-air", {"slew.My": 1.0})]
    record = json.loads(json.dumps(hot_spot_record(assess_hot_spots(HISTORY, spots)), allow_nan=False))
    weld, idle = record["hot_spots"]
    assert weld["life_years"] == pytest.approx(1 / (2 * weld["damage_per_year"]))
    assert weld["curve"]["knee_range_MPa"] == pytest.approx(52.64, abs=0.01)
    assert (weld["stress"]["unit"], weld["coefficients"]["values"]) == ("Pa", {"slew.Mx": 100.0})
    assert (idle["damage_of_run"], idle["life_years"]) == (0.0, None)
    assert "verify it against the licensed edition" in record["notes"][0]


def assess(size, periods):
    time, wave = cosine(periods)
    return load_history(time, {"slew.Mx": size * wave})


RUNS = {Path("calm"): assess(1.0, 10), Path("rough"): assess(3.0, 20), Path("rougher"): assess(4.0, 60)}
TABLE = StateTable((State("low", (Path("calm"),), 0.5), State("high", (Path("rough"), Path("rougher")), 0.2)), "calm")


def test_damage_of_states_is_weighted_by_their_probability():
    spot = HotSpot("weld", "D-air", {"slew.Mx": 30e6}, dff=2.0)  # ranges of 60, 180 and 240 MPa, all on the first line
    weighted, found = assess_states(TABLE, lambda run: assess_hot_spots(RUNS[run], [spot]))
    # Seeds count by their length: 20 s and 60 s.
    assert [part.weight for part in weighted] == pytest.approx([0.5, 0.05, 0.15])
    (result,) = combine_hot_spots(weighted, found)
    per_second = [size**3 / 10**12.164 for size in (60.0, 180.0, 240.0)]  # one cycle each second
    expected = YEAR * (0.5 * per_second[0] + 0.2 * (20 * per_second[1] + 60 * per_second[2]) / 80)
    assert result.damage_per_year == pytest.approx(expected, rel=1e-12)
    assert result.shares["low"] == pytest.approx(YEAR * 0.5 * per_second[0], rel=1e-12)
    assert sum(result.shares.values()) == pytest.approx(result.damage_per_year, rel=1e-14)
    assert result.life_years == pytest.approx(1 / (2 * expected), rel=1e-12)
    assert result.cycles_per_year == pytest.approx(0.7 * YEAR, rel=1e-12)
    record = combined_record(TABLE, weighted, found, [result])
    json.dumps(record, allow_nan=False)
    assert record["probabilities"] == {"sum": 0.7, "rest": "calm"}
    assert record["hot_spots"][0]["damage_per_year_by_state"] == dict(result.shares)
    assert [run["weight"] for run in record["runs"]] == [part.weight for part in weighted]


def test_equivalent_ranges_of_states_have_the_damage_of_the_mix():
    weighted, found = assess_states(TABLE, lambda run: assess_loads(RUNS[run], channels=["slew.Mx"]))
    (load,) = combine_loads(weighted, found)
    for item in load.equivalent_ranges:
        mix = 0.5 * 2.0**item.slope + 0.05 * 6.0**item.slope + 0.15 * 8.0**item.slope
        assert item.range == pytest.approx(mix ** (1 / item.slope), rel=1e-13)
        assert item.equivalent_cycles == YEAR
    assert (load.maximum, load.minimum, load.largest_range) == (4.0, -4.0, 8.0)
    record = combined_record(TABLE, weighted, found, [load])
    assert record["channels"][0]["equivalent_range"][0]["range"] == load.equivalent_ranges[0].range


def test_one_state_all_the_time_is_that_run():
    table = StateTable((State("all", (Path("rough"),), 1.0),))
    weighted, found = assess_states(table, lambda run: assess_loads(RUNS[run], channels=["slew.Mx"]))
    (load,) = combine_loads(weighted, found)
    alone = found[0].signals[0].equivalent_ranges
    assert [item.range for item in load.equivalent_ranges] == pytest.approx([item.range for item in alone], rel=1e-15)


def test_runs_of_a_table_must_have_the_same_channels():
    def uneven(run):
        return assess_loads(RUNS[run], channels=["slew.Mx"] if run == Path("calm") else ["slew.My"])

    with pytest.raises(KingpostError, match="run 'rough' of state 'high' has slew.My, but the first run has slew.Mx"):
        combine_loads(*assess_states(TABLE, uneven))


GOOD = """\
rest = "calm"
[[states]]
name = "Hs 1 m"
runs = ["a", "b"]
probability = 0.6
[[states]]
run = "c/history.csv"
probability = 0.3
"""


def test_a_table_of_states_in_a_file(tmp_path):
    path = tmp_path / "states.toml"
    path.write_text(GOOD)
    table = read_states(path)
    assert table.rest == "calm"
    assert table.states[0] == State("Hs 1 m", (tmp_path / "a", tmp_path / "b"), 0.6)
    assert table.states[1] == State("c/history.csv", (tmp_path / "c/history.csv",), 0.3)
    path.write_text(GOOD.replace('rest = "calm"\n', "").replace("0.3", "0.4000005"))
    assert read_states(path).total == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'rest = "calm"\n',
            "",
            r"states.toml: the probabilities of the 2 states add up to 0.9, not 1. .* .0.1 of it., say so with rest",
        ),
        ('rest = "calm"\n', 'rest = "waves"\n', "states.toml:1: rest = 'waves' says nothing about the rest"),
        ("0.3", "0.5", "the probabilities of the 2 states add up to 1.1, more than 1; correct them"),
        ("0.3", "-0.3", "probability = -0.3 is not between 0 and 1"),
        ("0.3", "nan", "state number 2: probability = nan is not a finite number"),
        ("probability = 0.6", "probabilty = 0.6", "state 'Hs 1 m' has no 'probabilty'; did you mean 'probability'"),
        ("probability = 0.6\n", "", "states.toml:2: state 'Hs 1 m' lacks 'probability'"),
        ('runs = ["a", "b"]\n', "", "state 'Hs 1 m' takes either run = .DIR. or, for several seeds, runs"),
        ('runs = ["a", "b"]\n', 'runs = ["a"]\nrun = "b"\n', "takes either run"),
        ('runs = ["a", "b"]\n', "runs = []\n", "state 'Hs 1 m' has no run; name one"),
        ('runs = ["a", "b"]\n', "runs = 3\n", "state 'Hs 1 m': runs must be a list of folders or files; got 3"),
        (
            'run = "c/history.csv"',
            'run = "c"\nname = "Hs 1 m"',
            "two states are called 'Hs 1 m'; give one of them several runs",
        ),
        ("rest", "remainder", "a table of states has no 'remainder'.* It takes: states, rest"),
        (GOOD, "", "'states' must be one or more tables"),
    ],
)
def test_bad_tables_are_refused_with_file_and_numbers(tmp_path, old, new, message):
    path = tmp_path / "states.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(FileError, match=message):
        read_states(path)


def test_the_report_of_a_filter_is_the_count_of_a_filter():
    result = assess_loads(HISTORY, channels=["slew.Mx"], options=CountingOptions(threshold=1e5))
    assert np.array_equal(result.signals[0].cycles.range, count_cycles(HISTORY["slew.Mx"], 1e5).range)


def test_a_life_beyond_the_range_of_numbers_is_infinite():
    assert life_years(1e-10, 1e-320) == math.inf
    assert life_years(math.inf, 1.0) == 0.0
