"""Commands tell programs that started them how far they are."""

import json

import pytest

from kingpost.cli import progress_file
from kingpost.cli.main import main
from kingpost.cli.output import ProgressBar
from kingpost.cli.progress_file import VARIABLE, ProgressFile


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "progress"))
    monkeypatch.setattr(progress_file, "PAUSE", 0.0)
    return tmp_path / "progress"


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_nobody_is_told_unless_somebody_asks(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert ProgressFile.wanted() is None


def test_a_bar_tells_fractions_and_the_time_left(file):
    bar = ProgressBar("crane")
    for fraction in (0.0, 0.25, 1.0):
        bar(fraction)
    told = lines(file)
    assert [line["fraction"] for line in told] == [0.0, 0.25, 1.0]
    assert "left_s" not in told[0]
    assert told[1]["left_s"] >= 0.0
    assert told[2]["left_s"] == 0.0
    assert told[0]["doing"] == "crane"


def test_words_may_come_with_or_without_a_fraction(file):
    bar = ProgressBar("study")
    bar.say("3/10 runs", 0.3, 7.0)
    bar.say("iteration 4")
    first, second = lines(file)
    assert first == {"doing": "study", "fraction": 0.3, "left_s": 7.0, "words": "3/10 runs"}
    assert second == {"doing": "study", "words": "iteration 4"}


def test_lines_are_few(file, monkeypatch):
    monkeypatch.setattr(progress_file, "PAUSE", 1e6)
    bar = ProgressBar("crane")
    for k in range(1000):
        bar(k / 1000)
    assert len(lines(file)) == 1


def test_a_file_that_cannot_be_written_costs_nothing(tmp_path):
    ProgressFile(tmp_path / "no" / "folder").note(0.5, "crane")


def test_a_run_tells_its_progress(file, tmp_path, capsys):
    words = ["run", "double-pendulum", "--t-end", "1", "--backend", "vm", "--write", "csv", "--out", str(tmp_path / "out")]
    assert main(words) == 0
    assert lines(file)[-1]["fraction"] == 1.0


def test_a_search_tells_iterations_cost_and_violation(file, tmp_path, capsys):
    words = ["--horizon", "2", "--intervals", "10", "--backend", "vm", "--write", "csv", "--out", str(tmp_path / "out")]
    assert main(["optimise", "mathematical-pendulum", *words]) == 0
    told = [line["numbers"] for line in lines(file) if "numbers" in line]
    assert [entry["iteration"] for entry in told] == list(range(len(told)))
    assert len(told) > 2
    assert told[-1]["violation"] < 1e-6 <= told[0]["violation"]
    assert told[-1]["cost"] > 0
