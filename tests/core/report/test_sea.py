"""Waves for the animation: from the record of a sea, and from what a wave force shows."""

import json

import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, Mechanism, Parameter, PluginSet, open_model, read_sea
from kingpost.multibody.drawn import machine_geometry
from kingpost.report.sea import describe_sea
from kingpost.simulation.at_sea import at_sea, sea_record

SEA = {
    "amplitude": [1.0, 0.5],
    "frequency": [0.6, 1.2],
    "phase": [0.1, 0.2],
    "direction": [0.0, np.pi / 2],
    "ramp": 10.0,
    "depth": None,
}


def test_a_recorded_sea():
    found = describe_sea({"sea": SEA})
    assert found["amplitude"] == SEA["amplitude"] and found["ramp"] == 10.0 and "note" not in found
    assert found["kx"] == pytest.approx([0.36 / 9.81, 0.0], abs=1e-9) and found["ky"] == pytest.approx([0.0, 1.44 / 9.81])
    assert found["height"] == pytest.approx(4 * np.sqrt((1 + 0.25) / 2))


def test_waves_of_a_run_at_sea_are_recorded_as_they_are_drawn():
    plugins = PluginSet(entry_points=False)
    sea = read_sea("jonswap:Hs=1,Tp=6,heading=120,seed=3,components=8")
    crane = at_sea(open_model("small-crane", plugins).mechanism, sea, plugins)
    record = json.loads(json.dumps(sea_record(crane, sea, plugins)))
    waves, found = sea.components(), describe_sea({"sea": record})
    assert found["height"] == pytest.approx(1.0) and found["ramp"] == 10.0
    assert found["kx"] == pytest.approx(waves.frequency**2 / 9.81 * np.cos(np.radians(120)), rel=1e-8)


def test_a_wave_force_shows_its_waves():
    amplitude = Parameter("a", 0.5, "m")
    wave = ForceElement(
        "wave-excitation", body="hull", components=((amplitude, 0.7, 0.1),), transfer=((0, 0, 1, 0, 0, 0),), ramp=5.0
    )
    machine = Mechanism("boat", [Body("hull", 1.0)], [Joint("sea", "free", "world", "hull")], [wave], [amplitude])
    geometry = machine_geometry(machine, {"a": 0.8}, PluginSet())
    assert geometry["waves"] == [{"amplitude": [0.8], "frequency": [0.7], "phase": [0.1], "direction": [0.0], "ramp": 5.0}]
    found = describe_sea({"geometry": geometry})
    assert found["amplitude"] == [0.8] and "the force does not say where its waves go to" in found["note"]


@pytest.mark.parametrize(
    "changes",
    [
        {"amplitude": [1.0]},
        {"frequency": [0.0, 1.0]},
        {"phase": None},
        {"ramp": -1.0},
        {"depth": -3.0},
        {"phase": [np.nan, 0.0]},
    ],
)
def test_what_is_no_sea_is_not_drawn(changes):
    assert describe_sea({"sea": {**SEA, **changes}}) is None
    # A record that only has words for a sea leaves the waves of forces.
    assert describe_sea({"sea": {"text": "jonswap:Hs=2"}, "geometry": {"waves": [SEA]}})["amplitude"] == SEA["amplitude"]
    assert describe_sea({}) is None and describe_sea({"geometry": {}}) is None
