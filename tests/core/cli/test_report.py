"""``kingpost report`` as a user meets it."""

import argparse
from pathlib import Path

import pytest

from kingpost import KingpostError
from kingpost.cli.report import Report
from kingpost.results.read_write import read_history, write_history
from tests.core.report.synthetic import crane_history, foreign_history


@pytest.fixture
def report(plugins, tmp_path, monkeypatch, capsys):
    """Run the verb with the given words in a folder of its own, and return what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        command, parser = Report(), argparse.ArgumentParser()
        command.configure(parser)
        assert command.run(parser.parse_args([str(word) for word in words]), plugins) == 0
        return capsys.readouterr().out

    return run


def test_a_report_is_written_beside_the_history(report, tmp_path):
    write_history(crane_history(), tmp_path / "results" / "history.npz")
    printed = report("results/history.npz")
    page = tmp_path / "results" / "report.html"
    assert f"file  {Path('results/report.html')}\nsize  {page.stat().st_size / 1e6:.2f} MB, complete in itself\n" in printed
    assert "time  0 s to 20 s, 401 samples\n" in printed
    assert "left out" not in printed
    assert "<h1>vessel-crane</h1>" in page.read_text()


def test_options_reach_the_page(report, tmp_path):
    write_history(crane_history(), tmp_path / "history.npz")
    words = ("--title", "Sea trial", "--skip", "4", "--slopes", "3,10", "--joints", "slew, luff", "--out", "pages/sea.html")
    report("history.npz", *words)
    text = (tmp_path / "pages" / "sea.html").read_text()
    assert "<h1>Sea trial</h1>" in text
    assert '"slopes":[3.0,10.0]' in text
    assert '"skip":4.0' in text
    assert "knuckle.Fx" not in text.partition('"channels":[[')[0]  # only in the list of all channels


def test_a_file_without_a_record_lends_its_name(report, tmp_path):
    write_history(foreign_history(), tmp_path / "bouncing-ball.npz")
    printed = report("bouncing-ball.npz")
    assert "<h1>bouncing-ball</h1>" in (tmp_path / "report.html").read_text()
    assert "left out  No joint loads: this result holds none." in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "there is no file or folder 'nowhere'"),
        (["history.npz", "--out", "page.pdf"], "--out page.pdf: the name of a page must end in .html"),
        (["history.npz", "--joints", "luf"], "no loads of a joint 'luf'; did you mean 'luff'?"),
        (["history.npz", "--skip", "21"], "skip = 21 s does not fit a history that lasts 20 s"),
    ],
)
def test_wrong_words_are_answered(report, tmp_path, words, message):
    write_history(crane_history(), tmp_path / "history.npz")
    with pytest.raises(KingpostError) as caught:
        report(*words)
    assert message in str(caught.value)


def test_slopes_must_be_numbers(report, capsys):
    with pytest.raises(SystemExit):
        report("x", "--slopes", "3;4")
    assert "'3;4' is not a list of numbers, such as 3,4,5" in capsys.readouterr().err


def test_a_report_that_cannot_be_made_costs_no_results(kingpost_cli, monkeypatch, tmp_path):
    def refuse(history):
        raise KingpostError("no report can be made of this")

    monkeypatch.setattr("kingpost.report.page.report_file", refuse)
    words = ("run", "double-pendulum", "--t-end", "1", "--backend", "vm", "--write", "csv", "--report", "--out", "run")
    outcome = kingpost_cli(*words)
    assert outcome.status != 0
    assert "no report can be made of this" in outcome.err
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["history.csv", "run.json"]


def test_the_report_of_a_run_names_it(kingpost_cli, tmp_path):
    words = ("run", "double-pendulum", "--t-end", "1", "--backend", "vm", "--write", "csv", "--report", "--out", "run")
    assert kingpost_cli(*words).status == 0
    run_id = read_history(tmp_path / "run").run_id
    assert f'"run_id":"{run_id}"' in (tmp_path / "run" / "report.html").read_text()


def test_hot_spots_reach_the_page(report, tmp_path):
    write_history(crane_history(), tmp_path / "history.npz")
    spot = '[[hotspots]]\nname = "{}"\nangle_deg = {}\ncurve = "D-air"\n[hotspots.stress]\n"slew.Fz" = 3e5\n'
    (tmp_path / "spots.toml").write_text("".join(spot.format(f"ring-{k}", 120 * k) for k in range(3)))
    report("history.npz", "--hotspots", "spots.toml", "--accept", "noise")
    page = (tmp_path / "report.html").read_text()
    assert '"rings":[{"joints":["slew"],"spots":[0,1,2]}]' in page and "ring-2" in page
    with pytest.raises(KingpostError, match="accept 'noise'"):
        report("history.npz", "--hotspots", "spots.toml")
    with pytest.raises(SystemExit):
        report("history.npz", "--curves", "spots.toml")
