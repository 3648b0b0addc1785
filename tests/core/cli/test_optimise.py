"""``kingpost optimise``: what it prints and writes, and that a run follows the inputs it found."""

import json

import numpy as np
import pytest

from kingpost import read_history


def test_the_record_is_printed(kingpost_cli, tmp_path):
    done = kingpost_cli(
        "optimise", "mathematical-pendulum", "--task", "001", "--backend", "vm", "--write", "csv", "--out", tmp_path, "--json"
    )
    assert done.status == 0
    record = json.loads(done.out)
    assert record["status"] == "optimal"
    assert record["cost"] == pytest.approx(6.7581414, abs=1e-7)
    assert record["horizon"] == 3.0
    assert record["hamiltonian"]["min"] == pytest.approx(1.5072847, abs=1e-6)
    assert record["iterations"] > 0


def test_a_run_follows_the_inputs_that_were_found(kingpost_cli, tmp_path):
    found, run = tmp_path / "found", tmp_path / "run"
    common = ("--backend", "vm", "--write", "csv")
    words = ("--horizon", "2", "--intervals", "20", "--starts", "2")
    done = kingpost_cli("optimise", "mathematical-pendulum", *words, *common, "--out", found)
    assert done.status == 0
    assert "optimal after" in done.out
    assert "start line" in done.out
    step = ("--t-end", "2", "--step", "0.1", "--output-step", "0.1", "--integrator", "midpoint")
    ran = kingpost_cli("run", "mathematical-pendulum", *step, "--input", found, *common, "--out", run)
    assert ran.status == 0, ran.err
    first, second = (read_history(folder)["pivot.angle"] for folder in (found, run))
    # Newton's tolerance of a run, 1e-10, through 20 steps; inputs of an optimum are held without a word.
    assert np.abs(first - second).max() < 1e-7


def test_continuation_linear_inputs_and_another_solver(kingpost_cli, tmp_path):
    words = ("--continue", "intervals=10", "--control", "linear", "--solver", "fatrop")
    common = ("--backend", "vm", "--write", "csv", "--out", tmp_path)
    done = kingpost_cli("optimise", "mathematical-pendulum", *words, *common, "--json")
    assert done.status == 0, done.err
    found = json.loads(done.out)["optimal"]
    assert [item["stage"] for item in found["starts"]] == ["intervals = 10", ""]
    assert (found["solver"]["name"], found["task"]["control"], found["intervals"]) == ("fatrop", "linear", 20)
    wrong = kingpost_cli("optimise", "mathematical-pendulum", "--continue", "intervals")
    assert wrong.status != 0
    assert "--continue intervals: expected WHAT=V1,V2,..., e.g. intervals=20,40,80" in wrong.err


def test_phases_are_told(kingpost_cli, tmp_path):
    task = tmp_path / "task.toml"
    task.write_text(
        '[optimal]\ninputs = ["torque"]\nintervals = 8\n[optimal.end]\n"pivot.angle" = 1.5\n"pivot.angle.rate" = 0.0\n'
        '[[optimal.phases]]\nname = "up"\nhorizon = [0.5, 2.0]\nend = { "pivot.angle" = 1.0 }\n'
        '[[optimal.phases]]\nname = "over"\nhorizon = 1.0\n'
    )
    common = ("--backend", "vm", "--write", "csv", "--out", tmp_path / "found")
    done = kingpost_cli("optimise", "mathematical-pendulum", "--task", task, *common)
    assert done.status == 0, done.err
    assert "phase up" in done.out
    assert "phase over" in done.out


def test_what_cannot_work_is_said_in_a_sentence(kingpost_cli):
    done = kingpost_cli("optimise", "mathematical-pendulum", "--intervals", "1")
    assert done.status != 0
    assert "take at least 2 intervals" in done.err


def test_a_model_shows_its_tasks(kingpost_cli):
    shown = kingpost_cli("models", "slider-pendulum").out
    assert "minimum-time" in shown
    assert "1 to 15 s" in shown
    assert "document 001, section 7.2" in kingpost_cli("models", "overhead-crane").out


PENDULUM = ("optimise", "mathematical-pendulum", "--intervals", "10", "--backend", "vm", "--write", "csv")


def test_a_report_has_a_section_of_its_own_and_a_path_a_file(kingpost_cli, tmp_path):
    done = kingpost_cli(*PENDULUM, "--out", tmp_path, "--report", "--path", "pivot.angle")
    assert done.status == 0, done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["history.csv", "path.toml", "report.html", "run.json"]
    page = (tmp_path / "report.html").read_text()
    assert '"hamiltonian":"optimal.hamiltonian"' in page
    assert '"pivot.angle" = { kind = "sampled"' in (tmp_path / "path.toml").read_text()
    # Loads and poses are there, as of a run.
    assert "pivot.Fx" in read_history(tmp_path)


def test_a_file_where_the_folder_should_be_is_refused_and_stays(kingpost_cli, tmp_path):
    (tmp_path / "o").write_text("somebody's")
    done = kingpost_cli(*PENDULUM, "--out", tmp_path / "o")
    assert done.status == 6
    assert f"'{tmp_path / 'o'}' is a file, not a folder; choose another" in done.err
    assert (tmp_path / "o").read_text() == "somebody's"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[optimal\n", "line 1"),
        ("[optimal]\nhorizon = 3.0\n", "inputs"),
        ("[optimal]\ninputs = ['torque']\nhorizon = 'long'\n", "horizon"),
        ("[optimal]\ninputs = ['torque']\nhorizon = 3.0\n[optimal.end]\n'pivot.angel' = 0.0\n", "did you mean 'pivot.angle'"),
        ("[optimal]\ninputs = ['torque']\nhorizon = 3.0\n[optimal.bounds]\ntorque = [2.0, 1.0]\n", "exchange them"),
        ("[optimal]\ninputs = ['torque']\nhorizon = 3.0\nend = {'pivot.angle' = nan}\n", "not a number"),
        ("\x00\x01", "task.toml"),
        ("", "task.toml"),
    ],
)
def test_damaged_task_files_are_named(kingpost_cli, tmp_path, text, message):
    (tmp_path / "task.toml").write_text(text)
    done = kingpost_cli(*PENDULUM, "--task", tmp_path / "task.toml", "--out", tmp_path / "o")
    assert done.status not in (0, 1), done.err
    assert message in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "o").exists()


def test_a_path_of_what_is_not_there_is_refused_before_the_search(kingpost_cli, tmp_path):
    done = kingpost_cli(*PENDULUM, "--path", "pivot.angel", "--out", tmp_path / "o")
    assert "did you mean 'pivot.angle'" in done.err
    assert not (tmp_path / "o").exists()
