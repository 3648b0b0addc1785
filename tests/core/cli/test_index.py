"""``kingpost index``."""

import json

import pytest

from kingpost.cli.main import main


def test_json(capsys):
    assert main(["index", "overhead-crane", "--task", "003", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["index"], found["internal_states"]) == (5, 0)
    assert (found["realisation"]["rank"], found["realisation"]["of"]) == (1, 2)
    assert found["zero_dynamics"] == []
    assert found["structural"]["accepted"] is False
    assert found["refusals"] == []


def test_text_and_levels(capsys):
    assert main(["index", "mass-chain", "--set", "damping=10", "--levels"]) == 0
    out = capsys.readouterr().out
    rows = dict(line.split("  ", 1) for line in out.split("\n\n")[0].splitlines())
    rows = {key: value.strip() for key, value in rows.items()}
    assert rows["task"] == "003: mass2.x by force"
    assert (rows["index"], rows["internal states"]) == ("4", "1")
    assert rows["signature method"].startswith("4, accepted: rank 5 of 5")
    assert rows["realisation"].startswith("tangential: rank 0 of 1")
    assert rows["zero dynamics"] == "-1 [1/s], around rest at the end"
    assert rows["inputs are continuous if"] == "mass2.x C^3 (is C^4)"
    assert "determined" in out.split("\n\n")[1]


def test_a_task_that_cannot_work(tmp_path, capsys):
    """Printed all the same, with the sentence on standard error and in the record."""
    path = tmp_path / "rough.toml"
    path.write_text(
        '[servo]\ninputs = ["force"]\nt_end = 6\n'
        '[servo.path]\n"mass3.x" = { kind = "rest-to-rest", start = 0.5, end = 3, t_start = 0, t_end = 6 }\n'
    )
    assert main(["index", "mass-chain:n=3", "--task", str(path), "--json"]) == 3
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["index"] == 7
    assert found["refusals"][0].startswith("the path is not smooth enough for index 7: 'mass3.x' needs C^6 and is C^4")
    assert f"the servo task of 'mass-chain' cannot work: {found['refusals'][0]}" in captured.err


def test_a_task_in_a_file(tmp_path, capsys):
    path = tmp_path / "task.toml"
    path.write_text(
        '[servo]\ninputs = ["drive"]\nt_end = 3\n'
        '[servo.path]\n"rail.displacement" = { kind = "rest-to-rest", start = 0, end = 1, t_start = 0, t_end = 3 }\n'
    )
    assert main(["index", "slider-pendulum", "--task", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["index"], found["internal_states"]) == (3, 2)
    assert sorted(value for _, value in found["zero_dynamics"]) == pytest.approx([-1.5660459763365826, 1.5660459763365826])


def test_unknown_names(capsys):
    assert main(["index", "mass-chain", "--task", "004"]) != 0
    assert "003" in capsys.readouterr().err
    assert main(["index", "double-pendulum"]) != 0
    assert "task" in capsys.readouterr().err


def test_unstable_zero_dynamics_are_told(tmp_path, capsys):
    """A pendulum that stands on a trolley which is led."""
    path = tmp_path / "task.toml"
    path.write_text(
        '[servo]\ninputs = ["drive"]\nt_end = 3\nsettings = { "gravity" = -9.81 }\n'
        '[servo.path]\n"rail.displacement" = { kind = "rest-to-rest", start = 0, end = 1, t_start = 0, t_end = 3 }\n'
    )
    assert main(["index", "slider-pendulum", "--task", str(path)]) == 0
    out = capsys.readouterr().out
    assert "1.56605, -1.56605 [1/s], around rest at the end; UNSTABLE: only 'stable-inversion' can do this task" in out
