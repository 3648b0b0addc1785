"""Folders of runs, written from Python as the command line writes them."""

import json

import numpy as np
import pytest

from kingpost import FileError, History, KingpostError, PluginError, Writer, read_history, simulate, write_run
from kingpost.base.channels import Channel
from kingpost.base.load_frames import COMPONENTS, UNITS
from kingpost.results.run_folder import choose_writers


@pytest.fixture(scope="module")
def machine(plugins):
    return plugins.models.get("double-pendulum")().build()


@pytest.fixture(scope="module")
def history(machine, plugins):
    return simulate(machine, 2.0, loads="all", backend="vm", plugins=plugins)


def bare_history():
    """A history that somebody made by hand, and that says nothing about its origin."""
    time = np.linspace(0.0, 20.0, 401)
    channels = tuple(Channel(f"slew.{name}", unit) for name, unit in zip(COMPONENTS, UNITS, strict=True))
    return History(time, channels, np.sin(np.outer(time, np.arange(1, 7))))


class BreakingWriter(Writer):
    """Fails half-way."""

    name = "breaking"
    suffix = ".brk"

    def write(self, history, path):
        path.write_text("half of")
        raise OSError(28, "No space left on device")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_is_written_reads_back(history, tmp_path):
    files = write_run(history, tmp_path / "new" / "folder")
    assert [path.name for path in files] == ["history.csv", "run.json"]
    assert names(tmp_path / "new" / "folder") == ["history.csv", "run.json"]
    for path in (tmp_path / "new" / "folder", *files):
        assert read_history(path) == history


def test_the_command_line_writes_the_same(kingpost_cli, machine, history, tmp_path):
    words = ("--t-end", "2", "--backend", "vm", "--loads", "all", "--write", "csv,npz", "--out", "theirs")
    assert kingpost_cli("run", "double-pendulum", *words).status == 0
    files = write_run(history, tmp_path / "ours", writers="csv,npz")
    assert names(tmp_path / "theirs") == sorted(path.name for path in files)
    theirs, ours = (read_history(tmp_path / folder) for folder in ("theirs", "ours"))
    assert (theirs.channels, theirs.provenance.keys()) == (ours.channels, ours.provenance.keys())
    np.testing.assert_array_equal(theirs.values, ours.values)
    records = [json.loads((tmp_path / folder / "run.json").read_text()) for folder in ("theirs", "ours")]
    assert records[0]["files"] == records[1]["files"] == ["history.csv", "history.npz"]


@pytest.mark.parametrize("make", [lambda history: history, lambda history: bare_history()], ids=["run", "by hand"])
def test_fatigue_report_and_plot_open_the_folder(kingpost_cli, history, make, tmp_path):
    write_run(make(history), tmp_path / "run")
    for words in (("fatigue", "run"), ("report", "run"), ("plot", "run")):
        outcome = kingpost_cli(*words)
        assert outcome.status == 0, outcome.err
    assert names(tmp_path / "run") == ["history.csv", "plot.png", "report.html", "run.json"]


def test_formats_are_names_with_options_or_writers(history, plugins, tmp_path):
    npz = plugins.writers.get("npz")
    files = write_run(history, tmp_path, writers=["mat:float32=true", npz, plugins.writers.get("csv")()], plugins=plugins)
    assert [path.name for path in files] == ["history.mat", "history.npz", "history.csv", "run.json"]
    assert read_history(tmp_path / "history.mat").provenance["rounded"] == "float32"
    assert read_history(tmp_path / "history.npz") == history
    assert [writer.name for writer in choose_writers(None, plugins)] == ["csv"]


@pytest.mark.parametrize(
    ("writers", "message"),
    [
        ("csv,cvs", "writer 'cvs'.*did you mean 'csv'"),
        (["csv", "npz:float33=true"], "float33"),
        (["npz", "npz:float32=true"], "writers 'npz' and 'npz' both make a file history.npz; choose one of them"),
        ([3], "3 does not select a writer"),
    ],
)
def test_a_wrong_format_is_refused_before_anything_is_written(history, tmp_path, writers, message):
    with pytest.raises(PluginError, match=message):
        write_run(history, tmp_path / "run", writers=writers)
    assert names(tmp_path) == []


def test_what_fails_half_way_leaves_the_earlier_run_as_it_was(history, tmp_path):
    write_run(history, tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in names(tmp_path)}
    with pytest.raises(FileError, match="history.brk' cannot be written: .*No space left"):
        write_run(bare_history(), tmp_path, writers=["csv", BreakingWriter()])
    assert {name: (tmp_path / name).read_bytes() for name in names(tmp_path)} == before


def test_a_prefix_spares_the_earlier_run(history, tmp_path):
    write_run(history, tmp_path)
    files = write_run(bare_history(), tmp_path, prefix="failed-")
    assert [path.name for path in files] == ["failed-history.csv", "failed-run.json"]
    assert read_history(tmp_path) == history
    assert read_history(tmp_path / "failed-history.csv") == read_history(tmp_path / "failed-run.json") == bare_history()


@pytest.mark.parametrize(
    ("provenance", "message"),
    [({"files": []}, "has an entry 'files'"), ({"x": float("nan")}, "must be plain JSON"), ({"x": {1}}, "must be plain JSON")],
)
def test_a_record_that_json_cannot_hold_is_refused(tmp_path, provenance, message):
    history = bare_history()
    with pytest.raises(KingpostError, match=message):
        write_run(History(history.time, history.channels, history.values, provenance), tmp_path / "run")
    assert names(tmp_path) == []
