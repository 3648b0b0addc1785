"""What other people's tools find in our files, by their own plain calls."""

import csv
import json
import re

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io
from pyarrow import parquet

from kingpost.base.channels import Channel
from kingpost.plugins.writers.mat import matlab_name
from kingpost.results.history import History
from kingpost.results.metadata import from_text
from kingpost.results.read_write import read_history, write_history


def test_csv_has_a_line_of_json_then_names_then_numbers(history, plugins, tmp_path):
    write_history(history, tmp_path / "x.csv", plugins)
    first, second, third, *_ = (tmp_path / "x.csv").read_text().splitlines()
    assert first.startswith("# {")
    described = json.loads(first[1:])
    assert (described["format"], described["version"], described["samples"]) == ("kingpost history", 1, 50)
    assert described["time"] == {"unit": "s"}
    assert described["channels"][0] == {"name": "slew.angle", "unit": "rad"}
    assert {
        "name": "slew.Mx", "unit": "N.m", "frame": "child", "side": "child", "at": [0.0, 0.1, -2.5],
    } in described["channels"]  # fmt: skip
    assert "provenance" not in described
    assert second == ",".join(["time", *history.names])
    assert [float(number) for number in third.split(",")] == [0.0, *history.values[0]]
    record = json.loads((tmp_path / "x.csv.json").read_text())
    assert record == {**history.provenance, "run_id": history.identified().run_id, "files": ["x.csv"]}


def test_csv_times_are_short_and_exact(plugins, tmp_path):
    time = np.array([0.1, 0.30000000000000004, 1e-5, 1e22, 123456.789])
    write_history(History(time, (), np.empty((5, 0))), tmp_path / "x.csv", plugins)
    assert (tmp_path / "x.csv").read_text().splitlines()[2:] == ["0.1", "0.30000000000000004", "1e-05", "1e+22", "123456.789"]


def test_csv_names_stay_on_one_line_and_hide_nothing_from_pandas(plugins, tmp_path):
    names = ["a,b", 'say "x"', "two\nlines", "no. #1", "carriage\rreturn"]
    history = History(np.arange(2.0), tuple(Channel(name, "1") for name in names), np.arange(10.0).reshape(2, 5))
    write_history(history, tmp_path / "x.csv", plugins)
    lines = (tmp_path / "x.csv").read_bytes().split(b"\n")
    assert len(lines) == 5  # the last one is empty
    expected = ["time", "a,b", 'say "x"', "two_lines", "no. _1", "carriage_return"]
    assert next(csv.reader([lines[1].decode()])) == expected
    assert list(pd.read_csv(tmp_path / "x.csv", comment="#").columns) == expected
    assert read_history(tmp_path / "x.csv", plugins).names == tuple(names)


def test_pandas_reads_csv(history, plugins, tmp_path):
    write_history(history, tmp_path / "x.csv", plugins)
    table = pd.read_csv(tmp_path / "x.csv", comment="#", index_col="time")
    assert list(table.columns) == list(history.names)
    assert np.array_equal(table.to_numpy(), history.values)
    assert np.array_equal(table.index.to_numpy(), history.time)


def test_numpy_reads_npz(history, plugins, tmp_path):
    write_history(history, tmp_path / "x.npz", plugins)
    with np.load(tmp_path / "x.npz") as archive:
        assert np.array_equal(archive["time"], history.time)
        assert np.array_equal(archive["values"], history.values)
        assert archive["names"].tolist() == list(history.names)
        assert archive["units"].tolist() == [channel.unit for channel in history.channels]
        assert json.loads(str(archive["kingpost"]))["provenance"] == history.provenance


def test_scipy_reads_mat(history, plugins, tmp_path):
    write_history(history, tmp_path / "x.mat", plugins)
    content = scipy.io.loadmat(tmp_path / "x.mat", squeeze_me=True)
    assert np.array_equal(content["time"], history.time)
    assert np.array_equal(content["slew_Mx"], history["slew.Mx"])
    assert np.array_equal(content["slew_actuator_Fz"], history["slew.actuator.Fz"])
    described = json.loads(str(content["kingpost"]))
    assert described["provenance"] == history.provenance
    entry = next(entry for entry in described["channels"] if entry["name"] == "slew.Mx")
    assert (entry["unit"], entry["stored_as"], entry["at"]) == ("N.m", "slew_Mx", [0.0, 0.1, -2.5])
    assert scipy.io.loadmat(tmp_path / "x.mat")["time"].shape == (50, 1)  # a column, as MATLAB people like it


def test_mat_keeps_single_precision_single(history, plugins, tmp_path):
    write_history(history, tmp_path / "x.mat", plugins, float32=True)
    content = scipy.io.loadmat(tmp_path / "x.mat")
    assert content["slew_Mx"].dtype == np.float32
    assert content["time"].dtype == np.float64


def test_mat_variables_are_what_matlab_accepts(plugins, tmp_path):
    long = "a" * 70
    names = ["end", "for", "2nd.angle", "_x", "boom-tip.x", "boom_tip.x", "boom.tip_x", "time", "kingpost", long + "1",
             long + "2", "Ünit", ""]  # fmt: skip
    history = History(np.arange(2.0), tuple(Channel(name, "m") for name in names), np.arange(26.0).reshape(2, 13))
    write_history(history, tmp_path / "x.mat", plugins)
    content = scipy.io.loadmat(tmp_path / "x.mat")
    stored = [entry.get("stored_as", entry["name"]) for entry in json.loads(str(content["kingpost"].item()))["channels"]]
    assert stored == ["end_", "for_", "x2nd_angle", "x_x", "boom_tip_x", "boom_tip_x_2", "boom_tip_x_3", "time_2", "kingpost_2",
                      "a" * 63, "a" * 61 + "_2", "x_nit", "x"]  # fmt: skip
    for j, name in enumerate(stored):
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,62}", name)
        assert content[name].ravel().tolist() == [j, 13 + j]
    assert matlab_name("slew.angle.rate") == "slew_angle_rate"


def test_h5py_finds_units(history, plugins, tmp_path):
    write_history(history, tmp_path / "x.h5", plugins)
    with h5py.File(tmp_path / "x.h5") as file:
        assert list(file) == ["kingpost", "time", *history.names]
        dataset = file["slew.Mx"]
        assert np.array_equal(dataset[:], history["slew.Mx"])
        assert (dataset.attrs["units"], dataset.attrs["frame"], dataset.attrs["side"]) == ("N.m", "child", "child")
        assert dataset.attrs["at"].tolist() == [0.0, 0.1, -2.5]
        assert file["time"].attrs["units"] == "s"
        assert np.array_equal(dataset.dims[0][0][:], history.time)
        assert (dataset.compression, dataset.shuffle, dataset.fletcher32) == ("gzip", True, True)
        # How SIMA and qats find the time of a series
        assert dataset.attrs["start"] == 0.0
        assert dataset.attrs["delta"] == pytest.approx(0.1, rel=1e-15)
        assert json.loads(file["kingpost"].asstr()[0])["provenance"] == history.provenance


def test_h5_has_checksums_on_what_describes_the_data(history, plugins, tmp_path):
    write_history(history, tmp_path / "x.h5", plugins)
    signature, version = b"\x89HDF\r\n\x1a\n", 2  # the first version of the superblock with checksums
    assert (tmp_path / "x.h5").read_bytes().startswith(signature + bytes([version]))


@pytest.mark.parametrize("time", [[0.0, 0.1, 0.2001], [0.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, np.nan]])
def test_h5_says_no_step_where_there_is_none(time, plugins, tmp_path):
    write_history(History(np.array(time), (Channel("a.x", "m"),), np.zeros((3, 1))), tmp_path / "x.h5", plugins)
    with h5py.File(tmp_path / "x.h5") as file:
        assert "delta" not in file["a.x"].attrs


def test_h5_grids_of_long_runs_are_even(plugins, tmp_path):
    # Times are multiplied, t_start + i h, so an hour at 50 Hz is off its grid by rounding only.
    time = 1000.1 + np.arange(180_000) * 0.02
    write_history(History(time, (Channel("a.x", "m"),), np.zeros((len(time), 1))), tmp_path / "x.h5", plugins)
    with h5py.File(tmp_path / "x.h5") as file:
        assert file["a.x"].attrs["delta"] == pytest.approx(0.02, rel=1e-12)


def test_pyarrow_finds_units(history, plugins, tmp_path):
    write_history(history, tmp_path / "x.parquet", plugins, float32=True)
    table = parquet.read_table(tmp_path / "x.parquet")
    assert table.column_names == ["time", *history.names]
    described = table.schema.field("slew.Mx").metadata
    assert described == {b"unit": b"N.m", b"frame": b"child", b"side": b"child", b"at": b"[0.0, 0.1, -2.5]"}
    assert json.loads(table.schema.metadata[b"kingpost"])["provenance"] == {**history.provenance, "rounded": "float32"}
    assert (str(table.schema.field("time").type), str(table.schema.field("slew.Mx").type)) == ("double", "float")
    column = parquet.ParquetFile(tmp_path / "x.parquet").metadata.row_group(0).column(7)
    assert column.compression == "ZSTD"
    assert "BYTE_STREAM_SPLIT" in column.encodings
    frame = pd.read_parquet(tmp_path / "x.parquet")
    assert np.array_equal(frame["slew.Mx"].to_numpy(), history["slew.Mx"].astype(np.float32))


@pytest.mark.parametrize("suffix", [".h5", ".parquet"])
def test_a_channel_called_time_stands_beside_the_time(suffix, plugins, tmp_path):
    path = tmp_path / f"x{suffix}"
    history = History(np.arange(2.0), (Channel("time", "h"), Channel("time_2", "d")), np.array([[3.0, 5.0], [4.0, 6.0]]))
    write_history(history, path, plugins)
    expected = {"time": [0.0, 1.0], "time_2": [3.0, 4.0], "time_2_2": [5.0, 6.0]}
    if suffix == ".parquet":
        assert parquet.read_table(path).to_pydict() == expected
    else:
        with h5py.File(path) as file:
            assert {name: file[name][:].tolist() for name in file if name != "kingpost"} == expected
    assert read_history(path, plugins) == history


def test_the_python_of_the_docs_runs(kingpost_cli, root, capsys):
    words = ("run", "vessel-crane", "--t-end", "1", "--write", "csv,npz,mat,hdf5,parquet")
    assert kingpost_cli(*words).status == 0
    _, ours, theirs = re.findall(r"```python\n(.*?)```", (root / "docs" / "results.md").read_text(), flags=re.S)
    exec(compile(ours, "docs/results.md", "exec"), {})
    assert capsys.readouterr().out.startswith("rad ")
    found = {}
    exec(compile(theirs, "docs/results.md", "exec"), found)
    assert found["units"]["hull.roll"] == found["unit"] == "rad"
    assert np.array_equal(found["roll"], found["table"]["hull.roll"])


def test_the_description_in_the_docs_is_one(root):
    (text,) = re.findall(r"```json\n(.*?)```", (root / "docs" / "results.md").read_text(), flags=re.S)
    metadata = from_text(text)
    assert metadata.channels[1] == Channel("slew.Mx", "N.m", "child", "child", (0.0, 0.0, 0.0))
    assert metadata.provenance == {"model": {"name": "vessel-crane"}}
