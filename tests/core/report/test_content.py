"""What a report says about a history."""

import importlib.util

import numpy as np
import pytest

from kingpost import History, KingpostError
from kingpost.base.channels import Channel
from kingpost.base.load_frames import is_load_unit
from kingpost.report.channels import take_inventory
from kingpost.report.content import Options, make_content, plain
from kingpost.report.cycles import describe_cycles
from kingpost.report.monitors import describe_monitors
from kingpost.report.packing import unpacked
from kingpost.report.statistics import Spectra, extremes, rose
from kingpost.results.figures import make_panels
from tests.core.report.synthetic import crane_history, foreign_history, monitored_history


@pytest.fixture(scope="module")
def crane():
    return crane_history()


@pytest.fixture(scope="module")
def content(crane):
    return make_content(crane, Options())


def test_channels_are_told_apart_by_name(crane):
    inventory = take_inventory(crane)
    assert [load.joint for load in inventory.loads] == ["hull", "slew", "luff", "knuckle"]
    assert [part for part, _ in inventory.loads[1].parts] == ["constraint", "actuator"]
    assert inventory.loads[1].total == ("slew.Mx", "slew.My", "slew.Mz", "slew.Fx", "slew.Fy", "slew.Fz")
    assert inventory.posed == inventory.moving == ("vessel", "king", "inner-boom", "outer-boom")
    titles = [panel.title for panel in inventory.panels[:6]]
    assert titles == ["Coordinates: hull", "Coordinates", "Rates: hull", "Rates", "Outputs: tip", "Energies"]
    assert inventory.panels[1].names == ("slew.angle", "luff.angle", "knuckle.angle")
    shown = set(inventory.plotted)
    assert not any(".pose." in name or name.startswith("loads.gravity") for name in shown)
    assert {name for name in crane.names if ".pose." not in name and "gravity" not in name} == shown


def test_every_panel_has_one_unit_and_few_lines():
    channels = tuple(Channel(f"sensor[{i}]", "V" if i % 2 else "K") for i in range(40))
    history = History(np.linspace(0, 1, 5), channels, np.ones((5, 40)))
    panels = take_inventory(history).panels
    assert sorted(name for panel in panels for name in panel.names) == sorted(history.names)
    for panel in panels:
        assert len(panel.names) <= 8
        assert {history.unit(name) for name in panel.names} == {panel.unit}


def test_channels_that_are_zero_throughout_are_named_instead_of_drawn():
    channels = tuple(Channel(f"tip.{axis}", "m") for axis in "xyz")
    history = History(np.linspace(0, 1, 5), channels, np.outer(np.linspace(0, 1, 5), [0.0, 1.0, 0.0]))
    inventory = take_inventory(history)
    assert inventory.plotted == ("tip.y",) and inventory.zero == ("tip.x", "tip.z")
    assert make_content(history, Options())["zero"] == ["tip.x", "tip.z"]


def test_the_memory_of_forces_is_named_and_not_drawn():
    channels = (Channel("hull.heave", "m"), *(Channel(f"water.memory.heave{k}", "m") for k in (1, 2)))
    history = History(np.linspace(0, 1, 5), channels, np.outer(np.linspace(0, 1, 5), [1.0, 2.0, 3.0]))
    inventory = take_inventory(history)
    assert inventory.plotted == ("hull.heave",)
    content = make_content(history, Options())
    assert content["memory"] == ["water.memory.heave1", "water.memory.heave2"]
    assert [series["name"] for series in content["series"]] == ["hull.heave"]
    assert [panel.role for panel in make_panels(channels)] == ["coordinates"]
    assert [panel.role for panel in make_panels(channels, everything=True)] == ["coordinates", "memory"]


def test_small_and_large_angles_have_plots_of_their_own():
    wave = np.sin(np.linspace(0, 6, 50))
    channels = tuple(Channel(name, "rad") for name in ("hull.roll", "hull.pitch", "slew.angle", "luff.angle"))
    history = History(np.linspace(0, 1, 50), channels, np.outer(wave, [0.03, 0.02, 1.5, 0.9]))
    names = [panel.names for panel in take_inventory(history).panels]
    assert names == [("hull.roll", "hull.pitch"), ("slew.angle", "luff.angle")]


def test_part_of_a_wrench_is_not_a_joint_load():
    history = History(np.linspace(0, 1, 3), (Channel("a.Fx", "N"), Channel("a.Mx", "N.m")), np.ones((3, 2)))
    inventory = take_inventory(history)
    assert inventory.loads == ()
    assert set(inventory.plotted) == {"a.Fx", "a.Mx"}


@pytest.mark.parametrize("unit", ["N", "kN", "N.m", "MN.m", "kN*m", "MPa", "Pa"])
def test_forces_moments_and_stresses_tire(unit):
    assert is_load_unit(unit)


@pytest.mark.parametrize("unit", ["m", "rad", "J", "kg", "", "1", "N.s"])
def test_nothing_else_does(unit):
    assert not is_load_unit(unit)


def test_extremes_are_the_exact_samples(content, crane):
    series = {entry["name"]: entry for entry in content["series"]}
    for name in ("slew.Mx", "luff.Fy", "tip.z"):
        entry = series[name]
        assert entry["max"] == crane[name].max() and entry["min"] == crane[name].min()
        assert crane[name][np.searchsorted(crane.time, entry["tmax"])] == entry["max"]
        assert entry["mean"] == pytest.approx(crane[name].mean(), rel=1e-12)
        assert entry["std"] == pytest.approx(crane[name].std(), rel=1e-12)
    assert unpacked(series["slew.Mx"]) == pytest.approx(crane["slew.Mx"], abs=np.ptp(crane["slew.Mx"]) / 65534)


def test_what_is_skipped_counts_in_no_number(crane):
    cut = make_content(crane, Options(skip=5.0))
    assert cut["counted"] == {"from": 5.0, "skip": 5.0, "duration": 15.0}
    entry = next(entry for entry in cut["series"] if entry["name"] == "slew.angle")
    assert entry["min"] == crane["slew.angle"][100] and entry["tmin"] == 5.0
    assert cut["cycles"]["n_eq"] == 15.0
    assert ["Left out", "the first 5 s, from all numbers and spectra (shaded in the plots)"] in cut["facts"]
    assert len(unpacked(entry)) == len(crane)  # the plots still show it


def test_gaps_are_left_out_of_extremes():
    numbers = extremes(np.arange(4.0), np.array([np.nan, 3.0, -1.0, np.nan]))
    assert (numbers["max"], numbers["tmax"], numbers["min"], numbers["gaps"]) == (3.0, 1.0, -1.0, 2)
    assert extremes(np.arange(2.0), np.full(2, np.nan))["max"] is None


def test_a_run_that_exploded_gives_a_report_with_gaps(crane):
    values = crane.values.copy()
    values[-3:, crane.names.index("slew.Mx")] = [1e200, np.inf, np.nan]
    content = make_content(History(crane.time, crane.channels, values, {**crane.provenance, "outcome": "failed"}), Options())
    assert content["warnings"] == [
        "3 samples are not finite, or beyond 1e+140, in slew.Mx; they are gaps here, and these channels have no spectra and "
        "cycles"
    ]
    entry = next(entry for entry in content["series"] if entry["name"] == "slew.Mx")
    assert entry["gaps"] == 3 and np.isnan(unpacked(entry)[-3:]).all()
    assert "slew.Mx" not in content["cycles"]["channels"] and "slew.Mx" not in content["spectra"]["channels"]


def test_the_density_of_a_sine_integrates_to_its_variance():
    # With 128 samples a segment has 64, and the spectrum 32 lines, each a point of its own. The sine has 8 whole periods in a
    # segment, so that nothing leaks out of the main lobe of the Hann window, and the sum is exact.
    time = np.arange(128) * 0.05
    values = 3.0 * np.sin(2 * np.pi * 2.5 * time) + 7.0
    spectra = Spectra(time)
    density = spectra.of(values)
    assert len(density) == 32
    assert np.sum(density) * spectra.frequency[0] == pytest.approx(9.0 / 2, rel=1e-6)
    assert spectra.frequency[density.argmax()] == pytest.approx(2.5)


def test_a_long_spectrum_keeps_its_peaks():
    time = np.arange(40_000) * 0.01
    line = Spectra(time)
    density = line.of(np.sin(2 * np.pi * 31.4 * time))
    assert len(density) <= 240
    # The points are a 240th of the logarithm of the whole range apart.
    assert abs(np.log(line.frequency[density.argmax()] / 31.4)) < np.log(line.frequency[-1] / line.frequency[0]) / 200


def test_spectra_say_why_there_are_none():
    assert Spectra(np.arange(10.0)).note == "No spectra: 10 samples are too few; 64 are needed"
    uneven = np.cumsum(np.tile([0.01, 0.03], 50))
    assert Spectra(uneven).note == "No spectra: the samples are not evenly spaced in time"
    assert Spectra(np.arange(100.0)).of(np.ones(100)) is None


def test_a_rose_sorts_by_direction():
    angles = np.radians([0, 1, 90, 180, -90, -90])
    size = np.array([2.0, 4.0, 1.0, 5.0, 7.0, 9.0])
    found = rose(size * np.cos(angles), size * np.sin(angles), sectors=4)
    assert found["max"] == pytest.approx([4, 1, 5, 9])
    assert found["mean"] == pytest.approx([3, 1, 5, 8])
    assert found["share"] == pytest.approx([2 / 6, 1 / 6, 1 / 6, 2 / 6], abs=1e-6)


def test_a_load_that_is_zero_points_nowhere():
    found = rose(np.array([0.0, 1e-15, 0.0, 0.0]), np.array([0.0, 0.0, 2.0, 2.0]))
    assert sum(found["share"]) == pytest.approx(0.5)
    assert rose(np.zeros(5), np.zeros(5))["max"] == [0.0] * 36


@pytest.mark.parametrize(("axis", "plane"), [([0, 0, 1], "xy"), ([-2, 0, 0], "yz"), ([0, 1, 0], "zx"), ([1, 1, 0], "xy")])
def test_roses_lie_across_the_joint_axis(crane, axis, plane):
    record = {**crane.provenance, "geometry": {**crane.provenance["geometry"]}}
    joints = {name: dict(joint) for name, joint in record["geometry"]["joints"].items()}
    joints["slew"]["axis"] = axis
    record["geometry"]["joints"] = joints
    content = make_content(History(crane.time, crane.channels, crane.values, record), Options(joints=("slew",)))
    (joint,) = content["joints"]
    assert joint["plane"] == list(plane)
    resultant = np.hypot(crane[f"slew.F{plane[0]}"], crane[f"slew.F{plane[1]}"])
    assert max(joint["roses"]["F"]["max"]) == pytest.approx(resultant.max())


def test_cycles_of_the_standard_sample():
    # ASTM E1049-85, section 5.4.4: ranges 3 (0.5), 4 (1.5), 6 (0.5), 8 (1.0), 9 (0.5).
    found = describe_cycles(np.array([-2.0, 1, -3, 5, -1, 3, -4, 4, -2]), (3.0,), 10.0)
    assert found["count"] == 4.0
    assert found["exceedance"] == [[0.5, 9.0], [1.5, 8.0], [2.0, 6.0], [3.5, 4.0], [4.0, 3.0]]
    assert sum(count for _, _, count in found["matrix"]["cells"]) == 4.0
    total = 0.5 * 3**3 + 1.5 * 4**3 + 0.5 * 6**3 + 8**3 + 0.5 * 9**3
    assert found["del"] == pytest.approx([(total / 10.0) ** (1 / 3)])


def test_the_equivalent_load_of_a_sine_is_its_range_at_its_own_frequency():
    # 20 periods in 20 s at 1 Hz, N_eq = 20: 19.5 ranges of 2 A, and a quarter at each end, which is a half cycle of A.
    time = np.linspace(0, 20, 4001)
    found = describe_cycles(5.0 * np.sin(2 * np.pi * time), (3.0, 10.0), 20.0)
    assert found["del"] == pytest.approx([10 * (19.5 / 20 + 2 * 0.5 / 20 / 8) ** (1 / 3), 10 * (19.5 / 20) ** 0.1], rel=1e-4)


def test_a_signal_without_cycles_has_none():
    assert describe_cycles(np.ones(50), (3.0,), 1.0) is None
    assert describe_cycles(np.array([1.0, np.nan, 2.0]), (3.0,), 1.0) is None


def test_one_mean_alone_still_makes_a_matrix():
    matrix = describe_cycles(np.array([0.0, 1e6, 0.0]), (3.0,), 1.0)["matrix"]
    assert matrix["mean"] == [0.0, 1e6]
    assert [count for _, _, count in matrix["cells"]] == [1.0]


def test_without_the_counting_package_the_report_says_so(crane, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "rainflow" else find(name, *more))
    cycles = make_content(crane, Options())["cycles"]
    assert cycles["note"].endswith("is not installed. Run: pip install 'kingpost[fatigue]'")
    assert cycles["channels"] == {}


def test_times_with_a_gap_are_shown_but_not_counted(crane):
    rows = np.r_[0:100, 200:401]
    content = make_content(History(crane.time[rows], crane.channels, crane.values[rows], crane.provenance), Options())
    assert "there is a gap of 5.05 s after t = 4.95 s" in content["cycles"]["note"]
    assert "not evenly spaced" in content["spectra"]["note"]


def test_rounding_is_called_rounding(content):
    negligible = {row["name"] for row in content["table"] if row["negligible"]}
    assert "slew.actuator.Mx" in negligible and "slew.Mx" not in negligible
    assert "slew.actuator.Mx" not in content["cycles"]["channels"]


def test_the_residual_stands_beside_the_loads(content, crane):
    force, moment = content["quality"]
    assert force["max"] == crane["loads.residual.force"].max()
    largest = max(np.abs(crane[f"{joint}.F{axis}"]).max() for joint in ("hull", "slew", "luff", "knuckle") for axis in "xyz")
    assert force["scale"] == largest
    assert moment["unit"] == "N.m"


def test_only_the_joints_asked_for(crane):
    content = make_content(crane, Options(joints=("luff", "slew")))
    assert [joint["name"] for joint in content["joints"]] == ["luff", "slew"]
    assert not any(entry["name"].startswith("knuckle.F") for entry in content["series"])
    assert [arrow["joint"] for arrow in content["scene"]["arrows"]] == ["luff", "slew"]


def test_a_plain_run_says_how_to_get_loads_and_poses():
    content = make_content(crane_history(loads=False), Options())
    assert content["joints"] == [] and content["table"] == []
    how = "run the model again with its joint loads: loads = 'all'."
    assert content["notes"] == [f"No joint loads: this result holds none. To get them, {how}"]
    assert content["scene"]["note"].startswith("No animation: this result holds no poses of bodies.")
    assert content["scene"]["note"].endswith(how)


def test_a_foreign_result_is_reported_with_what_it_holds():
    content = make_content(foreign_history(), Options())
    assert content["title"] == "Result"
    assert [row["name"] for row in content["table"]] == ["contact"]
    assert set(content["cycles"]["channels"]) == {"contact"}
    assert set(content["spectra"]["channels"]) == {"ball.height", "contact", "der(x)"}  # the temperature never changes


def test_long_histories_are_thinned_and_their_peaks_kept():
    history = crane_history(samples=20_001)
    values = history.values.copy()
    column = history.names.index("luff.My")
    values[12_345, column] = 1e7
    content = make_content(History(history.time, history.channels, values, history.provenance), Options())
    assert content["reduction"]["bucket"] > 1 and content["reduction"]["points"] <= 6000
    entry = next(entry for entry in content["series"] if entry["name"] == "luff.My")
    assert unpacked(entry).max() == pytest.approx(1e7, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            Options(skip=20.0),
            "skip = 20 s does not fit a history that lasts 20 s: two samples must be left; give a number from 0 to 19.95",
        ),
        (Options(skip=-1.0), "skip = -1 s does not fit"),
        (Options(skip=np.nan), "skip = nan s does not fit"),
        (Options(slopes=(3.0, 0.0)), "the inverse slope m = 0.0 is not between 0.1 and 1000"),
        (
            Options(joints=("slev",)),
            "no loads of a joint 'slev'; did you mean 'slew'? Joints with loads: hull, slew, luff, knuckle.",
        ),
    ],
)
def test_wrong_wishes_are_refused(crane, options, message):
    with pytest.raises(KingpostError) as caught:
        make_content(crane, options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("time", "message"), [([0.0], "at least 2 samples; this one has 1"), ([0.0, 2.0, 1.0], "sample 2 is at 1.0 s after 2.0 s")]
)
def test_histories_that_are_none_are_refused(time, message):
    history = History(np.array(time), (Channel("x", "m"),), np.zeros((len(time), 1)))
    with pytest.raises(KingpostError) as caught:
        make_content(history, Options())
    assert message in str(caught.value)


def test_a_record_becomes_plain_data():
    record = {"a": (1, 2.5), 3: np.float64("nan"), "b": {"c": None, "d": {1}}, "e": True}
    assert plain(record) == {"a": [1, 2.5], "3": "nan", "b": {"c": None, "d": "{1}"}, "e": True}


# --- monitors


def test_monitors_have_plots_of_their_own():
    history = monitored_history()
    content = make_content(history, Options())
    panels = {panel["title"]: panel for panel in content["panels"] if panel["role"] == "Monitors"}
    assert list(panels) == [
        "Work of all that has no potential",
        "Energy error: total less start and work",
        "Momentum",
        "Angular momentum about the origin",
        "Largest error of constraints",
        "Rank of the constraint Jacobian",
        "Condition of the constraint Jacobian",
    ]
    assert [panel["log"] for panel in panels.values()] == [False] * 4 + [True, False, True]
    assert panels["Largest error of constraints"]["names"][1] == "constraints.speed"
    others = {name for panel in content["panels"] if panel["role"] != "Monitors" for name in panel["names"]}
    assert not {name for name in others if name.startswith(("constraints", "momentum", "energy.e", "energy.w"))}
    assert "constraints.position" not in content["spectra"]["channels"]


def test_small_errors_are_not_lost_beside_large_ones():
    """From 1e-16 to 1e-4 in one curve: 16 bits over a linear range would leave nothing of the small ones."""
    history = monitored_history()
    (series,) = [entry for entry in make_content(history, Options())["series"] if entry["name"] == "constraints.position"]
    assert series["log"] is True
    exact = history["constraints.position"]
    found = 10.0 ** unpacked(series)
    half_a_step = 12 / 65534 / 2 * np.log(10)
    assert found[1:] == pytest.approx(exact[1:], rel=1.01 * half_a_step)
    assert found[0] == pytest.approx(exact[1:].min(), rel=1.01 * half_a_step)  # zero stands at the least that is not
    assert (series["max"], series["min"]) == (exact.max(), 0.0)  # numbers are not packed


def test_monitors_are_told_in_sentences():
    history = monitored_history()
    energy, errors, quality = describe_monitors(history, history.names)
    assert energy["verdict"] == "kept" and "at most 1e-07 J (at 7.85 s)" in energy["text"]
    assert "of the greatest kinetic energy (40 J)" in energy["text"]
    assert errors["verdict"] == "check" and "errors of at most 0.0001 m or rad in position (at 10 s)" in errors["text"]
    assert quality["verdict"] == "check"
    assert "rank 2, but 1 at 10 s" in quality["text"] and "dead centre" in quality["text"]
    away = History(history.time[:150], history.channels, history.values[:150], history.provenance)
    assert describe_monitors(away, away.names)[2]["verdict"] == "regular"
    assert "rank 2 throughout, condition number at most 3.39" in describe_monitors(away, away.names)[2]["text"]
    assert describe_monitors(crane_history(), ()) == []
