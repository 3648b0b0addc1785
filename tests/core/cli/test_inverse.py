"""``kingpost inverse``."""

import csv
import json

import numpy as np
import pytest

from kingpost.cli.main import main
from kingpost.results.read_write import read_history

CRANE = ("inverse", "overhead-crane", "--stepper", "bdf2:step=0.02", "--write", "csv")


def said(capsys):
    outcome = capsys.readouterr()
    return outcome.out, outcome.err


def test_inputs_stand_under_their_own_names_beside_the_coordinates(tmp_path, capsys):
    assert main([*CRANE, "--task", "003", "--out", str(tmp_path)]) == 0
    table, _ = said(capsys)
    assert "index          5, 0 internal states, 1 of 2 measures driven directly" in table
    assert "work           2452.5" in table
    with (tmp_path / "history.csv").open() as file:
        rows = list(csv.reader(line for line in file if not line.startswith("#")))
    for name in ("time", "travel.displacement", "trolley_force", "winch_torque", "desired.load.x", "servo.position.load.z"):
        assert any(cell.startswith(name) for cell in rows[0]), name
    history = read_history(tmp_path)
    k = int(np.argmin(np.abs(history.time - 1.0)))
    # Our notes' closed form; second order of 0.02 s.
    assert history["trolley_force"][k] == pytest.approx(466.12438, abs=0.2)
    assert history["winch_torque"][k] == pytest.approx(-139.89379, abs=0.02)
    assert json.loads((tmp_path / "run.json").read_text())["inverse"]["index"]["index"] == 5


def test_fatigue_of_the_manoeuvre_in_one_command(tmp_path, capsys):
    assert main([*CRANE, "--task", "003", "--out", str(tmp_path), "--fatigue", "travel"]) == 0
    table, _ = said(capsys)
    assert "travel.Fx  N " in table
    assert "rainflow" in table


def test_the_report_shows_where_the_load_should_be(tmp_path, capsys):
    assert main([*CRANE, "--task", "003", "--out", str(tmp_path), "--report"]) == 0
    page = (tmp_path / "report.html").read_text()
    assert '"ghosts": [{"name": "load"' in page or '"ghosts":[{"name":"load"' in page
    assert "Servo-constraints" in page
    assert "of an earlier run" not in said(capsys)[1]


@pytest.mark.parametrize("words", [("run", "double-pendulum", "--t-end", "0.1", "--write", "csv"), (*CRANE, "--task", "003")])
def test_an_earlier_report_stays_and_is_named_as_by_a_run(tmp_path, capsys, words):
    """Nothing but the files of the result is touched, and what does not belong to it is said."""
    (tmp_path / "report.html").write_text("earlier")
    assert main([*words, "--out", str(tmp_path)]) == 0
    assert "report.html' is of an earlier run; --report makes it anew" in said(capsys)[1]
    assert (tmp_path / "report.html").read_text() == "earlier"


def test_keep_taut_says_what_it_took(tmp_path, capsys):
    words = ("inverse", "overhead-crane:form=dependent", "--task", "000-4.4.1", "--stepper", "bdf2:step=0.05", "--write", "csv")
    assert main([*words, "--keep-taut", "870", "--out", str(tmp_path)]) == 0
    table, _ = said(capsys)
    assert "kept taut      the manoeuvre takes 3." in table or "kept taut      the manoeuvre takes 4." in table
    assert read_history(tmp_path)["rope.tension"].min() >= 870.0


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("--task", "004"), 3, "'overhead-crane' has no task '004'; did you mean '003'?"),
        (("--task", "003", "--method", "flt"), 4, "unknown inverse dynamics 'flt'; did you mean 'flat'?"),
        (("--task", "003", "--stepper", "bdf2:step=0.7"), 5, "is not a whole number of steps of 0.7 s"),
        (("--task", "003", "--method", "flat", "--set", "load_mas=1"), 3, "load_mas"),
    ],
)
def test_what_is_wrong_is_named(words, status, message, capsys):
    assert main(["inverse", "overhead-crane", *words]) == status
    assert message in said(capsys)[1]


def test_unstable_zero_dynamics_stop_a_causal_method(capsys):
    assert main(["inverse", "passive-joint-arm", "--task", "003", "--set", "kappa=0.5"]) == 3
    assert "the zero dynamics are unstable: 2.449" in said(capsys)[1]
