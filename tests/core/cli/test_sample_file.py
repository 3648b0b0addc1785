"""Commands show their samples to programs that started them: thinned, bounded, and without losing a peak."""

import itertools
import json

import numpy as np
import pytest

from kingpost.base.channels import Channel
from kingpost.cli import sample_file
from kingpost.cli.main import main
from kingpost.cli.output import ProgressBar
from kingpost.cli.progress_file import SAMPLES
from kingpost.cli.sample_file import MOST_BYTES, MOST_CHANNELS, MOST_ROWS, SampleFile, important
from kingpost.results.read_write import read_history


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv(SAMPLES, str(tmp_path / "samples"))
    monkeypatch.setattr(sample_file, "PAUSE", 0.0)
    return tmp_path / "samples"


def read(file):
    """Return names, times, least and largest values, read by what the file's description says."""
    head, _, data = file.read_bytes().partition(b"\n")
    names = [channel["name"] for channel in json.loads(head)["channels"]]
    rows = np.frombuffer(data, dtype=np.float64).reshape(-1, 1 + 2 * len(names))
    return names, rows[:, 0], rows[:, 1::2], rows[:, 2::2]


def test_nobody_is_shown_anything_unless_somebody_asks(monkeypatch):
    monkeypatch.delenv(SAMPLES, raising=False)
    assert SampleFile.wanted() is None
    assert ProgressBar("crane").watch is None


@pytest.mark.parametrize("piece", [1, 7, 500, 20_000])
def test_stretches_get_longer_as_a_run_does_and_lose_no_peak(file, piece):
    watch = SampleFile.wanted()
    watch.begin([Channel("a", "m"), Channel("b", "m")])
    total = 20_000
    time, values = 0.01 * np.arange(total), np.random.default_rng(1).normal(size=(total, 2))
    for begin in range(0, total, piece):
        assert watch.due()
        watch.add(time[begin : begin + piece], values[begin : begin + piece])
    names, times, low, high = read(file)
    assert names == ["a", "b"]
    # By hand: 1000 samples as they are, then 500 stretches of each length 2, 4, 8, 16, which end at 16 000, and 125 of 32.
    firsts = [*range(1000)]
    for level in range(1, 5):
        firsts += range(1000 * 2 ** (level - 1), 1000 * 2**level, 2**level)
    firsts += range(16_000, total, 32)
    edges = np.array([*firsts, total])
    assert np.array_equal(times, time[edges[:-1]])
    for k, (begin, end) in enumerate(itertools.pairwise(edges)):
        assert np.array_equal(low[k], values[begin:end].min(axis=0))
        assert np.array_equal(high[k], values[begin:end].max(axis=0))


def test_a_file_is_bounded_whatever_the_length_and_the_channels(file):
    watch = SampleFile.wanted()
    channels = [Channel(f"c{k}", "m") for k in range(2 * MOST_CHANNELS)]
    watch.begin(channels)
    rows = watch._rows
    assert MOST_ROWS / 2 < rows <= MOST_ROWS
    length = 8 * (1 + 2 * MOST_CHANNELS)
    # Sixteen doublings of a run cost half as many rows again, each.
    assert rows * (1 + sample_file.DOUBLINGS / 2) * length <= MOST_BYTES
    assert len(read(file)[0]) == MOST_CHANNELS


def test_what_is_rarely_looked_at_is_left_out_first():
    names = {"crane.pose.ew": "1", "tip.x": "m", "slew.angle": "rad", "crane.pose.px": "m"}
    channels = [Channel(name, unit) for name, unit in names.items()]
    assert important(channels, 4) == [0, 1, 2, 3]
    assert important(channels, 3) == [1, 2, 3]
    assert important(channels, 2) == [1, 2]


def test_a_run_that_begins_anew_is_shown_anew(file):
    watch = SampleFile.wanted()
    for k in range(2):
        watch.begin([Channel(f"c{k}", "m")])
        watch.add(np.array([0.0, 1.0]), np.array([[1.0], [2.0]]))
    names, times, *_ = read(file)
    assert (names, times.tolist()) == (["c1"], [0.0, 1.0])


def test_a_file_that_cannot_be_written_costs_nothing(tmp_path):
    watch = SampleFile(tmp_path / "no" / "folder")
    watch.begin([Channel("a", "m")])
    assert not watch.due()
    watch.add(np.array([0.0]), np.array([[1.0]]))


@pytest.mark.parametrize("solver", ["rk4", "dop853"])
def test_the_samples_of_a_run_are_those_of_its_history(file, tmp_path, solver, capsys):
    words = ["--t-end", "2", "--output-step", "0.01", "--integrator", solver, "--backend", "vm", "--input", "torque=sin(t)"]
    assert main(["run", "mathematical-pendulum", *words, "--write", "csv", "--out", str(tmp_path / "out")]) == 0
    history = read_history(tmp_path / "out")
    names, times, low, high = read(file)
    assert np.array_equal(times, history.time)
    assert set(names) <= set(history.names)
    assert {"torque", "pivot.angle"} <= set(names)
    for k, name in enumerate(names):
        assert np.array_equal(low[:, k], history[name])
    assert np.array_equal(low, high)
