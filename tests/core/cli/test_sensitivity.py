"""``kingpost sensitivity``."""

from __future__ import annotations

import json

import pytest

from kingpost.cli.main import main

SHORT = ["--t-end", "0.05", "--backend", "vm"]


def test_it_prints_value_and_gradient_as_json(capsys):
    assert main(["sensitivity", "double-pendulum", "--of", "elbow.angle at 0.03", "--to", "mass2", "--json", *SHORT]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["gradient"]) == {"mass2"}
    assert found["at"] == {"mass2": 1.0}
    assert isinstance(found["value"], float)


def test_it_prints_a_table(capsys):
    names = ["--to", "mass*,elbow.angle", "--to", "gravity"]
    assert main(["sensitivity", "double-pendulum", "--of", "max abs elbow.Fx", *names, *SHORT]) == 0
    out = capsys.readouterr().out
    assert "largest abs elbow.Fx at" in out
    table = out.partition("for 1 % more\n")[2].splitlines()[:4]
    assert [line.split()[0] for line in table] == ["mass1", "mass2", "elbow.angle", "gravity"]


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--of", "elbow.angle at 7", "--to", "mass1"], 9, "outside of it"),
        (["--of", "elbow.angle", "--to", "mass1", "--integrator", "radau"], 5, "chooses its own steps"),
        (["--of", "elbow.angle"], 2, "--to"),
        (["--of", "elbow.angle", "--to", "mass1", "--monitors"], 2, "--monitors"),
    ],
)
def test_what_it_refuses(capsys, words, status, message):
    try:
        found = main(["sensitivity", "double-pendulum", *words, *SHORT])
    except SystemExit as end:
        found = end.code
    assert found == status
    assert message in capsys.readouterr().err
