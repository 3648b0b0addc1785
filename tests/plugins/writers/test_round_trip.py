"""What is written reads back the same, bit for bit."""

import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kingpost.base.channels import Channel
from kingpost.base.errors import KingpostError, PluginError
from kingpost.results.history import History
from kingpost.results.read_write import read_history, write_history


def bits(array):
    """Return an array as whole numbers, so that -0 differs from 0 and nan equals nan; the sign of nan means nothing."""
    numbers = np.ascontiguousarray(np.where(np.isnan(array), np.nan, array))
    return numbers.view(np.uint64)


def assert_same(one, other):
    assert one.channels == other.channels
    assert np.array_equal(bits(one.time), bits(other.time))
    assert np.array_equal(bits(one.values), bits(other.values))
    assert json.dumps(dict(one.provenance)) == json.dumps(dict(other.provenance))


def test_reading_gives_what_was_written(history, suffix, plugins, tmp_path):
    path = tmp_path / f"loads{suffix}"
    files = write_history(history, path, plugins)
    assert sorted(files) == sorted(tmp_path.iterdir())
    assert files[0] == path
    again = read_history(path, plugins)
    assert again == history
    assert_same(again, history)
    # The provenance of a format that cannot hold it is in a file beside it.
    assert [file.name for file in files[1:]] == (["loads.csv.json"] if suffix == ".csv" else [])


def test_every_format_gives_the_same_history_of_a_run(kingpost_cli, plugins, tmp_path):
    words = ("run", "double-pendulum", "--t-end", "1", "--out", "o", "--write", "csv,npz,mat,hdf5,parquet")
    assert kingpost_cli(*words).status == 0
    (tmp_path / "o" / "history.mat").rename(tmp_path / "moved.mat")  # what it needs is inside
    whole = read_history("o", plugins)
    assert whole.names[:2] == ("shoulder.angle", "elbow.angle")
    assert whole.provenance["model"]["name"] == "double-pendulum"
    assert "files" not in whole.provenance
    for name in ("o/history.csv", "o/history.npz", "moved.mat", "o/history.h5", "o/history.parquet", "o/run.json"):
        assert read_history(name, plugins) == whole


@pytest.mark.parametrize("samples", [0, 1, 2])
def test_short_histories(suffix, samples, plugins, tmp_path):
    channels = (Channel("a.angle", "rad"), Channel("a.Mx", "N.m", "child", "parent", (1.0, 0.0, 0.0)))
    history = History(np.arange(samples) * 0.5, channels, np.arange(2.0 * samples).reshape(samples, 2), {"n": samples})
    write_history(history, tmp_path / f"x{suffix}", plugins)
    assert read_history(tmp_path / f"x{suffix}", plugins) == history


def test_no_channels(suffix, plugins, tmp_path):
    history = History(np.arange(3.0), (), np.empty((3, 0)))
    write_history(history, tmp_path / f"x{suffix}", plugins)
    assert read_history(tmp_path / f"x{suffix}", plugins) == history


TRICKY = ["time", "kingpost", "end", "a.b", "a_b", "a-b", "a/b", ".", "x" * 70, "x" * 71]
NAMES = st.lists(st.one_of(st.text(max_size=70), st.sampled_from(TRICKY)), max_size=5, unique=True)
NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -0.0, 0.1, math.inf, -math.inf, math.nan]),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_odd_names_and_extreme_numbers(suffix, plugins, tmp_path, data):
    names = data.draw(NAMES)
    samples = data.draw(st.integers(0, 4))
    rows = data.draw(st.lists(st.lists(NUMBERS, min_size=len(names), max_size=len(names)), min_size=samples, max_size=samples))
    texts = st.text(max_size=5)
    at = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=3)
    channels = tuple(
        Channel(name, data.draw(texts), data.draw(texts), data.draw(texts), tuple(data.draw(at))) for name in names
    )
    finite = st.floats(allow_nan=False, allow_infinity=False)
    time = sorted(data.draw(st.lists(finite, min_size=samples, max_size=samples, unique=True)))  # unique takes -0.0 as 0.0
    values = np.array(rows, dtype=float).reshape(samples, len(names))
    history = History(np.array(time, dtype=float), channels, values, {"note": data.draw(texts)})
    write_history(history, tmp_path / f"x{suffix}", plugins)
    assert_same(read_history(tmp_path / f"x{suffix}", plugins), history)


def test_float32_rounds_the_values_and_says_so(history, binary, plugins, tmp_path):
    double, single = tmp_path / f"double{binary}", tmp_path / f"single{binary}"
    write_history(history, double, plugins)
    write_history(history, single, plugins, float32=True)
    again = read_history(single, plugins)
    rounded = history.values.astype(np.float32).astype(float)
    assert not np.array_equal(rounded, history.values)
    assert np.array_equal(again.values, rounded)
    assert np.array_equal(again.time, history.time)
    assert again.channels == history.channels
    assert again.provenance == {**history.provenance, "rounded": "float32"}
    assert "rounded" not in read_history(double, plugins).provenance
    assert single.stat().st_size < double.stat().st_size


def test_float32_on_the_command_line(kingpost_cli, plugins, tmp_path):
    words = ("run", "double-pendulum", "--t-end", "1", "--out", "o", "--write", "csv,parquet:float32=true")
    assert kingpost_cli(*words).status == 0
    exact, rounded = (read_history(tmp_path / "o" / name, plugins) for name in ("history.csv", "history.parquet"))
    assert np.array_equal(rounded.values, exact.values.astype(np.float32))


def test_float32_refuses_what_it_cannot_hold(binary, plugins, tmp_path):
    values = np.array([[1.0, np.inf], [2.0, 1e39]])
    history = History(np.array([0.0, 0.5]), (Channel("a.x", "m"), Channel("a.y", "m")), values)
    with pytest.raises(KingpostError, match=r"channel 'a.y' is 1e\+39 at t = 0.5 s, beyond .* \(3.40282e\+38\)"):
        write_history(history, tmp_path / f"x{binary}", plugins, float32=True)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_option_is_answered(history, plugins, tmp_path):
    with pytest.raises(PluginError, match="writer 'parquet' has no 'flot32'; did you mean 'float32'?"):
        write_history(history, tmp_path / "x.parquet", plugins, flot32=True)
    with pytest.raises(PluginError, match="writer 'csv' has no 'float32'"):
        write_history(history, tmp_path / "x.csv", plugins, float32=True)


@pytest.mark.parametrize("odd", [{"gain": math.nan}, {"gain": {1, 2}}])
def test_a_record_that_is_not_plain_data_is_refused_before_anything_is_written(history, suffix, odd, plugins, tmp_path):
    with pytest.raises(KingpostError, match="must be plain JSON data"):
        write_history(History(history.time, history.channels, history.values, odd), tmp_path / f"x{suffix}", plugins)
    assert list(tmp_path.iterdir()) == []


def test_the_record_beside_a_csv_cannot_hold_two_lists_of_files(history, plugins, tmp_path):
    doubtful = History(history.time, history.channels, history.values, {"files": []})
    with pytest.raises(KingpostError, match="has an entry 'files'"):
        write_history(doubtful, tmp_path / "x.csv", plugins)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_writer_leaves_the_earlier_file(history, plugins, tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    files = write_history(history, path, plugins)
    before = [file.read_bytes() for file in files]

    def fail(self, history, path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(plugins.writers.get("csv"), "write", fail)
    with pytest.raises(KingpostError, match="x.csv' cannot be written: .*No space left"):
        write_history(history, path, plugins)
    assert [file.read_bytes() for file in files] == before
    assert sorted(tmp_path.iterdir()) == sorted(files)
