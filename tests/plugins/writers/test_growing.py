"""Files that grow while a run goes on: readable at any time, and in the end like those that are written at once."""

import errno
import os

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

from kingpost import KingpostError, PluginSet, read_history
from kingpost.plugins.writers import growing_hdf5, thrift
from kingpost.plugins.writers.growing_parquet import body_and_footer, groups_of
from kingpost.results.metadata import Outline, outline_of
from tests.core.results.synthetic import make_history

FORMATS = ["csv", "hdf5", "parquet"]
PLUGINS = PluginSet(entry_points=False)


def begun(history, tmp_path, name, **options):
    writer = PLUGINS.writers.get(name)
    writer = writer(writer.Options(**options)) if options else writer()
    path = tmp_path / f"history{writer.suffix}"
    outline = Outline(history.channels, {**history.provenance, "outcome": "unfinished"}, "0" * 32)
    return writer, path, writer.grow(path, outline)


@pytest.mark.parametrize("name", FORMATS)
def test_at_any_time_all_that_was_given_is_there(tmp_path, name):
    history = make_history(300)
    writer, path, file = begun(history, tmp_path, name)
    assert len(writer.read(path)) == 0
    for first in range(0, 300, 70):
        file.append(history.time[first : first + 70], history.values[first : first + 70])
        seen = writer.read(path)
        assert np.array_equal(seen.values, history.values[: first + 70])
        assert seen.run_id == "0" * 32
        if writer.embeds:
            assert seen.provenance["outcome"] == "unfinished"
    file.finish(outline_of(history.identified()))
    assert writer.read(path) == history if writer.embeds else np.array_equal(writer.read(path).values, history.values)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", FORMATS)
def test_a_part_of_a_file(tmp_path, name):
    history = make_history(300)
    _, path, file = begun(history, tmp_path, name)
    for first in range(0, 300, 70):
        file.append(history.time[first : first + 70], history.values[first : first + 70])
    file.finish(outline_of(history.identified()))
    part = read_history(path, PLUGINS, channels=["tip.*", "slew.Mx"], start=6.95, end=14.0)
    assert part.names == ("tip.x", "tip.y", "tip.z", "slew.Mx")
    assert np.array_equal(part.time, history.time[70:141])
    assert np.array_equal(part["tip.z"], history["tip.z"][70:141])
    with pytest.raises(KingpostError, match="no sample between 100 s and inf s; the history goes from 0 s to 29.9 s"):
        read_history(path, PLUGINS, start=100.0)
    with pytest.raises(KingpostError, match="no channel is called 'tip.q'"):
        read_history(path, PLUGINS, channels="tip.q")


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_of_a_run_without_samples(tmp_path, name):
    history = make_history(1).between(0.0, 0.0)
    writer, path, file = begun(history, tmp_path, name)
    file.finish(Outline(history.channels, history.provenance, "1" * 32, 0))
    assert len(writer.read(path)) == 0


def test_a_torn_line_is_left_out(tmp_path):
    history = make_history(50)
    writer, path, file = begun(history, tmp_path, "csv")
    file.append(history.time, history.values)
    file.close()
    path.write_bytes(path.read_bytes()[:-9])
    assert np.array_equal(writer.read(path).values, history.values[:-1])
    assert len(pd.read_csv(path, comment="#")) == 50  # others see the number that was cut


def test_a_torn_row_group_is_left_out(tmp_path):
    history = make_history(50)
    writer, path, file = begun(history, tmp_path, "parquet")
    file.append(history.time[:30], history.values[:30])
    file.append(history.time[30:], history.values[30:])
    file.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    assert np.array_equal(writer.read(path).values, history.values[:30])
    path.write_bytes(whole)
    beside = groups_of(path)
    beside.write_bytes(beside.read_bytes()[:-1])
    assert np.array_equal(writer.read(path).values, history.values[:30])


def test_other_tools_read_a_parquet_file_that_has_grown(tmp_path):
    history = make_history(300)
    _, path, file = begun(history, tmp_path, "parquet")
    for first in range(0, 300, 10):  # more row groups than fit into a short head of a list
        file.append(history.time[first : first + 10], history.values[first : first + 10])
    file.finish(outline_of(history.identified()))
    table = parquet.read_table(path)
    assert parquet.ParquetFile(path, page_checksum_verification=True).num_row_groups == 30
    assert np.array_equal(table.column("slew.Mx").to_numpy(), history["slew.Mx"])
    assert table.schema.field("slew.Mx").metadata[b"unit"] == b"N.m"
    late = parquet.read_table(path, filters=[("time", ">", 20.0)])
    assert np.array_equal(late.column("time").to_numpy(), history.time[history.time > 20.0])


def test_footers_are_written_as_they_were_read(tmp_path):
    path = tmp_path / "history.parquet"
    PLUGINS.writers.get("parquet")().write(make_history(40), path)
    footer = body_and_footer(path.read_bytes())[1]
    assert thrift.written(thrift.read(footer)) == footer
    with pytest.raises(ValueError, match="ends before it is whole"):
        thrift.read(footer[:-5])


@pytest.mark.parametrize("name", ["hdf5", "parquet"])
def test_half_the_digits(tmp_path, name):
    history = make_history(50)
    writer, path, file = begun(history, tmp_path, name, float32=True)
    file.append(history.time, history.values)
    file.finish(outline_of(history.identified()))
    seen = writer.read(path)
    assert np.array_equal(seen.values, history.values.astype(np.float32))
    assert seen.provenance["rounded"] == "float32"
    other = tmp_path / "other"
    other.mkdir()
    file = begun(history, other, name, float32=True)[2]
    with pytest.raises(KingpostError, match="'.*' is 1e.40 at t = 0 s, beyond the largest 32-bit number"):
        file.append(history.time, np.full_like(history.values, 1e40))
    file.close()


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="room on a disk is taken otherwise")
def test_a_full_disk_is_noticed_before_hdf5_meets_it(tmp_path, monkeypatch):
    history = make_history(50)
    writer, path, file = begun(history, tmp_path, "hdf5")
    file.append(history.time[:30], history.values[:30])

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "posix_fallocate", full)
        with pytest.raises(OSError, match="No space left"):
            file.append(history.time[30:], history.values[30:])
    file.close()
    assert np.array_equal(writer.read(path).values, history.values[:30])
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_record_that_grows_beyond_the_room_kept_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(growing_hdf5, "SPARE", 10)
    history = make_history(50)
    writer, path, file = begun(history, tmp_path, "hdf5")
    file.append(history.time, history.values)
    file.finish(Outline(history.channels, {"warnings": ["x" * 1000]}, "1" * 32, 50))
    assert writer.read(path).provenance == {"warnings": ["x" * 1000]}
