"""A damaged file is an error, never a history with other numbers."""

import numpy as np
import pytest

from kingpost.base.errors import FileError
from kingpost.results.read_write import read_history, write_history


@pytest.fixture
def written(history, suffix, plugins, tmp_path):
    path = tmp_path / f"x{suffix}"
    write_history(history, path, plugins)
    return path


@pytest.mark.filterwarnings("ignore")  # libraries may grumble first
def test_a_file_that_ends_early_is_refused(written, plugins):
    whole = written.read_bytes()
    cuts = np.unique(np.concatenate([np.linspace(0, len(whole) - 1, 60).astype(int), len(whole) - np.arange(1, 20)]))
    for cut in cuts:
        written.write_bytes(whole[:cut])
        with pytest.raises(FileError, match=written.name):
            read_history(written, plugins)


@pytest.mark.filterwarnings("ignore")
def test_a_flipped_bit_changes_no_number_unseen(history, binary, plugins, tmp_path):
    path = tmp_path / f"x{binary}"
    write_history(history, path, plugins)
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(150):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            again = read_history(path, plugins)
        except FileError:
            refused += 1
            continue
        assert np.array_equal(again.values, history.values)
        assert np.array_equal(again.time, history.time)
        if binary != ".parquet":  # whose description has no checksum, other than its numbers
            assert again == history
    assert refused > 20


def test_a_file_of_another_kind_is_refused(suffix, plugins, tmp_path):
    path = tmp_path / f"x{suffix}"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4)
    with pytest.raises(FileError, match=f"x{suffix}' "):
        read_history(path, plugins)


def test_files_of_others_are_refused(plugins, tmp_path):
    import h5py
    import pyarrow as pa
    import scipy.io
    from pyarrow import parquet

    np.savez(tmp_path / "x.npz", time=np.zeros(3))
    np.save(tmp_path / "y.npy", np.zeros(3))
    (tmp_path / "y.npy").rename(tmp_path / "y.npz")
    scipy.io.savemat(tmp_path / "x.mat", {"time": np.zeros(3)})
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["time"] = np.zeros(3)
    parquet.write_table(pa.table({"time": [0.0]}), tmp_path / "x.parquet")
    for name in ("x.npz", "x.mat", "x.h5", "x.parquet"):
        with pytest.raises(FileError, match="it has no (entry|variable|dataset) 'kingpost'"):
            read_history(tmp_path / name, plugins)
    with pytest.raises(FileError, match="y.npz"):
        read_history(tmp_path / "y.npz", plugins)


def edited(history, plugins, path, old, new, count=1):
    write_history(history, path, plugins)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, count))
    with pytest.raises(FileError) as error:
        read_history(path, plugins)
    return str(error.value)


def test_a_csv_that_was_edited_says_where(history, plugins, tmp_path):
    path = tmp_path / "x.csv"
    assert 'announces 51 samples, but it has 50; if rows were taken out on purpose, correct "samples"' in edited(
        history, plugins, path, '"samples": 50', '"samples": 51'
    )
    assert "it has version 2 of the format, and this Kingpost reads version 1" in edited(
        history, plugins, path, '"version": 1', '"version": 2'
    )
    assert (
        "column 2 is called 'turn.angle', but its first line describes 'slew.angle'; if this was changed on purpose"
        in edited(history, plugins, path, "time,slew.angle,", "time,turn.angle,")
    )
    assert "it has 24 columns, but its first line describes 23; if this was changed on purpose" in edited(
        history, plugins, path, "time,slew.angle,", "time,slew.angle,extra,"
    )
    assert "row 2 (line 4), column 1 ('time'): 'O.1' is not a number" in edited(history, plugins, path, "\n0.1,", "\nO.1,")
    assert "row 2 (line 4) has 24 columns, expected 23" in edited(history, plugins, path, "\n0.1,", "\n0,1,")
    assert "its first line, the description of the columns, is not whole" in edited(history, plugins, path, '"unit"', '"unit')
    assert "its 'channels[0]' lacks 'unit'" in edited(history, plugins, path, '"unit": "rad"', '"eunit": "x"')


def test_rows_can_be_taken_out_on_purpose(history, plugins, tmp_path):
    path = tmp_path / "x.csv"
    write_history(history, path, plugins)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0].replace('"samples": 50', '"samples": 40'), lines[1], *lines[12:]]) + "\n")
    again = read_history(path, plugins)
    assert np.array_equal(again.values, history.values[10:])
