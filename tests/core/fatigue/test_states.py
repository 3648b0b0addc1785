"""States weighted by how often they prevail: what is counted, and what spectra say, against sums by hand."""

import json

import numpy as np
import pytest

from kingpost.fatigue import CountingOptions, HotSpot, assess_hot_spots
from kingpost.fatigue.records import combined_record
from kingpost.fatigue.sn import curve_set
from kingpost.fatigue.spectral import METHODS
from kingpost.fatigue.states import State, StateTable, assess_states, combine_hot_spots
from tests.core.fatigue.synthetic import load_history

#: Length of each run in s, so that seeds are not of one length, and the standard deviation of its load.
RUNS = {"one": (400.0, 1e4), "two": (600.0, 1.1e4), "rough": (500.0, 2e4)}
TABLE = StateTable((State("calm", ("one", "two"), 0.7), State("rough", ("rough",), 0.2)), rest="calm")


def run(name):
    """A Gaussian load: a sum of waves with drawn phases."""
    length, size = RUNS[str(name)]
    rng = np.random.default_rng(len(str(name)))
    time = np.arange(0.0, length, 0.1)
    frequencies = np.linspace(0.08, 0.2, 60)
    waves = np.cos(2 * np.pi * frequencies[:, None] * time + rng.uniform(0, 2 * np.pi, 60)[:, None])
    return load_history(time, {"slew.Mx": size * waves.sum(axis=0) / np.sqrt(30)})


def assessed(name, spectral=True):
    spot = HotSpot("weld", "D-air", {"slew.Mx": 4000.0}, dff=3.0)
    return assess_hot_spots(run(name), [spot], curve_set(), CountingOptions(spectral=spectral))


def test_spectral_damage_of_states_is_weighted_as_the_counted_one():
    weighted, found = assess_states(TABLE, assessed)
    (item,) = combine_hot_spots(weighted, found)
    weights = {"one": 0.7 * 0.4, "two": 0.7 * 0.6, "rough": 0.2}
    for method in METHODS:
        each = {
            name: assessed(name).results[0].spectral.damage(method) * 31557600.0 / assessed(name).window.duration
            for name in RUNS
        }
        by_hand = sum(weights[name] * each[name] for name in RUNS)
        assert item.spectral[method] == pytest.approx(by_hand, rel=1e-3)  # windows are a sample shorter than runs
        assert item.spectral_shares[method]["rough"] == pytest.approx(0.2 * each["rough"], rel=1e-12)
    # The stress is Gaussian: Dirlik is what is counted, within the scatter of so few cycles.
    assert item.spectral["dirlik"] == pytest.approx(item.damage_per_year, rel=0.5)
    assert item.spectral["narrow-band"] >= item.spectral["dirlik"]
    record = json.loads(json.dumps(combined_record(TABLE, weighted, found, [item])))["hot_spots"][0]["spectral"]
    assert list(record["damages"]) == list(METHODS)
    told = record["damages"]["dirlik"]
    assert told["damage_per_year"] == item.spectral["dirlik"]
    assert told["part_of_counted"] == pytest.approx(item.spectral["dirlik"] / item.damage_per_year)
    assert told["life_years"] == pytest.approx(1 / (3.0 * item.spectral["dirlik"]))
    assert set(told["damage_per_year_by_state"]) == {"calm", "rough"}


def test_without_asking_there_is_none():
    weighted, found = assess_states(TABLE, lambda name: assessed(name, spectral=False))
    (item,) = combine_hot_spots(weighted, found)
    assert item.spectral == {}
    assert "spectral" not in combined_record(TABLE, weighted, found, [item])["hot_spots"][0]
