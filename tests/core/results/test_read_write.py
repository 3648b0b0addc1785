"""Finding a history: folders, records beside files, other people's tables, and what is said when there is none."""

import json

import numpy as np
import pytest

from kingpost.base.channels import Channel
from kingpost.base.errors import FileError, PluginError
from kingpost.base.transactions import COMMIT
from kingpost.registry.pluginset import PluginSet
from kingpost.results import read_write
from kingpost.results.history import History
from kingpost.results.read_write import read_history, write_history
from kingpost.results.run_folder import write_run


@pytest.fixture
def run_folder(history, plugins, tmp_path):
    """A run folder with the history in some formats: run_folder("csv", "npz")."""

    def make(*formats, prefix=""):
        folder = tmp_path / "run"
        folder.mkdir(exist_ok=True)
        files = []
        for name in formats:
            cls = plugins.writers.get(name)
            cls().write(history, folder / f"{prefix}history{cls.suffix}")
            files.append(f"{prefix}history{cls.suffix}")
        (folder / f"{prefix}run.json").write_text(json.dumps({**history.provenance, "files": files}))
        return folder

    return make


def test_a_folder_is_read_by_its_record(run_folder, history, plugins):
    folder = run_folder("png", "csv", "npz")
    assert read_history(folder, plugins) == history
    assert read_history(str(folder), plugins) == history
    (folder / "history.csv").unlink()
    assert read_history(folder, plugins) == history  # there is another
    assert read_history(folder) == history  # with all plugins of this environment


def test_a_format_whose_package_is_missing_is_passed_over(run_folder, history, plugins, monkeypatch):
    folder = run_folder("hdf5", "npz")
    monkeypatch.setattr(plugins.writers.get("hdf5"), "needs", ("no_such_module",))
    assert read_history(folder, plugins) == history
    (folder / "history.npz").unlink()
    with pytest.raises(PluginError, match=r"'hdf5' needs no_such_module; install it with: pip install 'kingpost\[io\]'"):
        read_history(folder, plugins)
    with pytest.raises(PluginError, match=r"pip install 'kingpost\[io\]'"):
        read_history(folder / "history.h5", plugins)
    with pytest.raises(PluginError, match=r"pip install 'kingpost\[io\]'"):
        write_history(history, folder / "new.h5", plugins)
    assert not (folder / "new.h5").exists()


def test_an_incomplete_run_is_read_by_its_own_names(run_folder, history, plugins):
    folder = run_folder("csv", prefix="failed-")
    assert read_history(folder / "failed-history.csv", plugins) == history
    assert read_history(folder / "failed-run.json", plugins) == history
    with pytest.raises(FileError, match="run' holds no run.json, .*; name a file in it: failed-history.csv"):
        read_history(folder, plugins)


def test_a_record_that_lists_other_files_is_not_taken(run_folder, history, plugins):
    folder = run_folder("csv")
    (folder / "history.csv").rename(folder / "old.csv")
    assert read_history(folder / "old.csv", plugins) == History(history.time, history.channels, history.values)


def test_a_record_of_somebody_else_is_not_taken(run_folder, history, plugins):
    folder = run_folder("csv")
    for text in ('{"files": 3}', '{"files": [3]}', "{}"):
        (folder / "run.json").write_text(text)
        assert read_history(folder / "history.csv", plugins).provenance == {}
    (folder / "run.json").write_text("[]")
    with pytest.raises(FileError, match="run.json' is not the record of a run"):
        read_history(folder / "history.csv", plugins)


def test_the_record_of_the_file_itself_comes_first(run_folder, history, plugins):
    folder = run_folder("csv")
    filtered = History(history.time, history.channels, history.values, {"filtered": True})
    write_history(filtered, folder / "history.csv", plugins)
    assert read_history(folder / "history.csv", plugins) == filtered


def test_a_suffix_may_be_in_capitals(history, plugins, tmp_path):
    write_history(history, tmp_path / "X.CSV", plugins)
    assert read_history(tmp_path / "X.CSV", plugins) == history


def test_a_pathless_name_is_found_here(history, plugins, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_history(history, "x.csv", plugins)
    assert read_history("x.csv", plugins) == history


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone.csv", "there is no file or folder '.*gone.csv'."),
        ("run/histroy.csv", "histroy.csv'; did you mean 'history.csv'?"),
        ("nowhere/x.csv", "there is no file or folder"),
        ("table.xls", "no format has the suffix '.xls'.* Known: .csv, .h5, .mat, .npz, .parquet, .png."),
        ("table.parket", "no format has the suffix '.parket'; did you mean '.parquet'?"),
        ("bare", "no format has the suffix ''. Known"),
        ("picture.png", "png files can be written, but not read back"),
        (
            "empty",
            "folder '.*empty' holds no run.json, so it is not the folder of a run; 'kingpost run MODEL' or write_run",
        ),
        ("broken.json", "the record of a run, cannot be read: Expecting"),
        ("list.json", "is not the record of a run: it holds list, expected an object"),
        ("other.json", "lists no 'files', so it is not the record of a run"),
        ("pictures.json", "of its files (picture.png) none can be read back; run again, with csv among the formats"),
        ("missing.json", "of its files gone.csv, gone.npz are not there"),
    ],
)
def test_what_cannot_be_found_is_explained(run_folder, plugins, tmp_path, name, message):
    run_folder("csv")
    (tmp_path / "empty").mkdir()
    for file in ("table.xls", "table.parket", "bare", "picture.png"):
        (tmp_path / file).write_text("")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "other.json").write_text('{"files": 3}')
    (tmp_path / "pictures.json").write_text('{"files": ["picture.png"]}')
    (tmp_path / "missing.json").write_text('{"files": ["gone.csv", "gone.npz"]}')
    with pytest.raises(FileError, match=message.replace("(", r"\(").replace(")", r"\)").replace("?", r"\?")):
        read_history(tmp_path / name, plugins)


def test_writing_names_the_formats_there_are(history, plugins, tmp_path):
    with pytest.raises(FileError, match="no format has the suffix '.xlsx'.* Known: .csv"):
        write_history(history, tmp_path / "x.xlsx", plugins)


def test_a_plugin_can_bring_a_format_but_not_take_one(history, tmp_path):
    path = tmp_path / "formats.py"
    path.write_text(
        "import kingpost, numpy\n"
        "class Count(kingpost.Writer):\n"
        "    '''The number of samples.'''\n"
        "    name, suffix = 'count', '.count'\n"
        "    def write(self, history, path): path.write_text(str(len(history)))\n"
        "    def read(self, path): return kingpost.History(numpy.arange(int(path.read_text())), (), numpy.zeros((50, 0)))\n"
        "class Another(Count):\n"
        "    '''Comes before csv in the alphabet.'''\n"
        "    name, suffix = 'another', '.csv'\n"
        "@kingpost.hookimpl\n"
        "def kingpost_register_writers(): return [Count, Another]\n"
    )
    plugins = PluginSet([path], entry_points=False)
    files = write_history(history, tmp_path / "x.count", plugins)
    assert [file.name for file in files] == ["x.count", "x.count.json"]
    again = read_history(tmp_path / "x.count", plugins)
    assert len(again) == 50
    assert again.provenance == history.provenance
    write_history(history, tmp_path / "x.csv", plugins)
    assert read_history(tmp_path / "x.csv", plugins) == history


# Somebody else's table


def test_a_table_without_our_line_is_read(plugins, tmp_path):
    path = tmp_path / "rig.csv"
    path.write_bytes(b"\xef\xbb\xbf# measured in March\r\nTime [s],luff.My, F 1\r\n0,1e3,2\r\n0.5,-1,nan\r\n")
    history = read_history(path, plugins)
    assert history.channels == (Channel("luff.My", "1"), Channel(" F 1", "1"))
    assert history.time.tolist() == [0.0, 0.5]
    assert history["luff.My"].tolist() == [1000.0, -1.0]
    assert np.isnan(history[" F 1"][1])
    note = "not written by Kingpost: units are not known and given as 1, time is taken as s"
    assert history.provenance == {"source": {"file": "rig.csv", "note": note}}


def test_a_table_without_rows_or_last_line_end_is_read(plugins, tmp_path):
    (tmp_path / "x.csv").write_text("time,a")
    assert len(read_history(tmp_path / "x.csv", plugins)) == 0
    (tmp_path / "x.csv").write_text("time,a\n1,2")
    assert read_history(tmp_path / "x.csv", plugins)["a"].tolist() == [2.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it has no line with the names of its columns"),
        ("# only words\n", "it has no line with the names of its columns"),
        ("x,y\n1,2\n", "its first column is called 'x'; it must hold the time, and be called time"),
        ("1,2\n3,4\n", "its first column is called '1'"),
        ("time,a,a\n1,2,3\n", "it has several columns called 'a'"),
        ("time;a;b\n1;2;3\n", "its columns are not separated by commas"),
        ("time\ta\n1\t2\n", "its columns are not separated by commas"),
        ("time\nx\n", "row 1 (line 2), column 1 ('time'): 'x' is not a number"),
        ("time,a\n1,2\n3,4,5\n", "row 2 (line 3) has 3 columns, expected 2"),
        ("time,a\n1\n2\n", "row 1 (line 2) has 1 columns, expected 2"),
        ("# x\n\ntime,a\n1,2\n", "it has no line with the names of its columns"),
        ("time,a\n1,2\n\n3,x4\n", "row 2 (line 4), column 2 ('a'): 'x4' is not a number"),
        ("time,a\n1,\n", "row 1 (line 2), column 2 ('a'): '' is not a number"),
        ("time,a\n1,1.5.2\n", "'1.5.2' is not a number"),
    ],
)
def test_a_wrong_table_is_explained(text, message, plugins, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(FileError) as error:
        read_history(tmp_path / "x.csv", plugins)
    assert message in str(error.value)
    assert "x.csv' is damaged, or is no csv file with a history: " in str(error.value)


def test_a_table_that_is_no_text(plugins, tmp_path):
    (tmp_path / "x.csv").write_bytes(b"time,a\n1,\xff\xfe\n")
    with pytest.raises(FileError, match="it is not UTF-8 text"):
        read_history(tmp_path / "x.csv", plugins)


def rewritten(history, end):
    """The same channels, of another run."""
    return History(history.time, history.channels, history.values * 2, {**history.provenance, "end": end})


@pytest.mark.parametrize("name", ["history.csv", "history.npz", "history.mat"])
def test_files_of_two_runs_are_refused_by_name(history, plugins, tmp_path, name):
    other = rewritten(history, "other")
    formats = name.removeprefix("history.")
    write_run(history, tmp_path / "a", writers=formats, plugins=plugins)
    write_run(other, tmp_path / "b", writers=formats, plugins=plugins)
    (tmp_path / "b" / name).replace(tmp_path / "a" / name)
    message = (
        f"{name}' is of run {other.identified().run_id}, but 'run.json' beside it is of run {history.identified().run_id}: "
        "files of two runs were mixed. Run again"
    )
    with pytest.raises(FileError, match=message):
        read_history(tmp_path / "a", plugins)
    if name == "history.csv":  # whose provenance is in the record
        with pytest.raises(FileError, match=message):
            read_history(tmp_path / "a" / name, plugins)
    else:
        assert read_history(tmp_path / "a" / name, plugins) == other


def test_files_of_earlier_versions_are_read_but_not_mixed_with_those_of_today(run_folder, history, plugins):
    folder = run_folder("csv")  # without an id
    assert read_history(folder, plugins) == history
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, "run_id": "0" * 32}))
    with pytest.raises(FileError, match="is of a run without an id, as earlier versions wrote it, but 'run.json'.* of run 000"):
        read_history(folder, plugins)


def test_the_id_of_a_run_is_that_of_all_its_files(history, plugins, tmp_path):
    write_run(history, tmp_path, writers="csv,npz,mat:float32=true,hdf5,parquet,png", plugins=plugins)
    run_id = json.loads((tmp_path / "run.json").read_text())["run_id"]
    assert run_id == history.identified().run_id != rewritten(history, "other").identified().run_id
    for suffix in ("csv", "npz", "mat", "h5", "parquet"):
        assert read_history(tmp_path / f"history.{suffix}", plugins).run_id == run_id
    assert run_id.encode() in (tmp_path / "history.png").read_bytes()


def test_an_exchange_that_was_cut_off_is_read_as_if_it_were_finished(history, plugins, tmp_path, monkeypatch):
    other = rewritten(history, "other")
    write_run(history, tmp_path / "run", plugins=plugins)
    write_run(other, tmp_path / "run" / COMMIT, plugins=plugins)
    (tmp_path / "run" / COMMIT / "history.csv").replace(tmp_path / "run" / "history.csv")  # half of the work

    def not_permitted(folder):
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(read_write, "settle", not_permitted)
        for path in (tmp_path / "run", tmp_path / "run" / "history.csv", tmp_path / "run" / "run.json"):
            assert read_history(path, plugins) == other
        assert (tmp_path / "run" / COMMIT).is_dir()
    assert read_history(tmp_path / "run", plugins) == other
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["history.csv", "run.json"]


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ((0, 1, 1), "times must rise, but sample 2 is at 1.0 s after 1.0 s (1 such places)"),
        ((0, 2, 1), "sample 2 is at 1.0 s after 2.0 s"),
        ((0, "nan", 1), "the time of sample 1 is nan"),
        ((0, 1, "inf"), "the time of sample 2 is inf"),
    ],
)
def test_times_that_are_none_are_refused(tmp_path, times, message):
    (tmp_path / "x.csv").write_text("time,a\n" + "".join(f"{time},1\n" for time in times))
    with pytest.raises(FileError) as error:
        read_history(tmp_path / "x.csv")
    assert message in str(error.value)


@pytest.mark.parametrize("name", ["a" * 300, "a\0b.csv", "gone/x.csv"], ids=["long", "NUL", "gone"])
def test_names_that_no_file_has_are_refused(tmp_path, name):
    with pytest.raises(FileError, match="there is no file or folder"):
        read_history(tmp_path / name)


def test_a_record_names_files_beside_it_and_nowhere_else(tmp_path):
    (tmp_path / "elsewhere.csv").write_text("time,a\n0,1\n")
    (tmp_path / "run").mkdir()
    for name in ("../elsewhere.csv", "b" * 300 + ".csv", "b\0.csv"):
        (tmp_path / "run" / "run.json").write_text(json.dumps({"files": [name]}))
        with pytest.raises(FileError, match="lists no 'files'"):
            read_history(tmp_path / "run")
