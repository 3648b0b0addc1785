"""What run, fmu-run and cosim share."""

import argparse
from pathlib import Path

import pytest

from kingpost import FileError, PluginError
from kingpost.cli.result_options import add_result_options, result_options


def parse(*words):
    parser = argparse.ArgumentParser()
    add_result_options(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize(("verb", "subject"), [("run", "MODEL"), ("fmu-run", "MODEL"), ("cosim", "SYSTEM")])
def test_the_verbs_that_run_something_take_the_same_options(kingpost_cli, verb, subject):
    shown = " ".join(kingpost_cli(verb, "-h").out.split())
    assert f"--out DIR folder for the results (default: results/{subject})" in shown
    assert "--write FORMAT,... file formats of the history (default: csv)" in shown
    assert "--plot also draw the history, into history.png (needs the 'viz' extra)" in shown
    assert "--report also write report.html:" in shown
    assert "--json print run.json" in shown


def test_by_default_results_go_below_the_folder_results(plugins):
    options = result_options(parse(), "crane", plugins, None)
    assert (options.folder, options.report, options.json) == (Path("results/crane"), False, False)
    assert [writer.name for writer in options.writers] == ["csv"]


@pytest.mark.parametrize(
    ("write", "formats"),
    [(None, ["csv", "png"]), ("npz,csv", ["npz", "csv", "png"]), ("png", ["png"]), ("png,csv", ["png", "csv"])],
)
def test_a_picture_is_one_format_more(plugins, write, formats):
    assert [writer.name for writer in result_options(parse("--plot"), "crane", plugins, write).writers] == formats


def test_what_is_asked_for_is_taken(plugins, tmp_path):
    arguments = parse("--out", str(tmp_path / "x"), "--report", "--json")
    options = result_options(arguments, "crane", plugins, "npz:float32=true,csv")
    assert (options.folder, options.report, options.json) == (tmp_path / "x", True, True)
    assert [writer.name for writer in options.writers] == ["npz", "csv"]
    assert options.writers[0].options.float32


def test_what_cannot_be_written_is_refused_before_the_run(plugins, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=r"--out .*file/x: '.*file' is a file, not a folder; choose another"):
        result_options(parse("--out", str(tmp_path / "file" / "x")), "crane", plugins, None)
    with pytest.raises(PluginError, match="writer 'cvs'"):
        result_options(parse(), "crane", plugins, "cvs")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


@pytest.mark.parametrize(
    ("name", "folder"),
    [("../../x", "results/x"), ("/tmp/x", "results/tmp-x"), ("a\0b", "results/a-b"), ("..", "results/unnamed")],
)
def test_a_name_does_not_decide_where_results_go(plugins, name, folder):
    assert result_options(parse(), name, plugins, None).folder == Path(folder)


def test_a_long_name_does_not_lose_the_run_at_its_end(plugins):
    assert len(result_options(parse(), "n" * 300, plugins, None).folder.name) <= 120
