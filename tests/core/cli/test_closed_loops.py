"""Closed loops from the command line: run files, single states, and what cannot be, each named and nothing left half-done."""

import json
import re

import numpy as np
import pytest

from kingpost.results.read_write import read_history

MODEL = """
name = "my-four-bar"

[parameters]
rocker = { default = 2.5, unit = "m" }
beside = { default = 0.0, unit = "m", description = "of the pin from the plane" }

[[bodies]]
name = "crank"
mass = 1.0
com = [0.5, 0, 0]
inertia = [0.001, 0.1, 0.1]
[[bodies]]
name = "coupler"
mass = 3.0
com = [1.5, 0, 0]
inertia = [0.02, 2.25, 2.25]
[[bodies]]
name = "rocker"
mass = 2.0
com = ["rocker / 2", 0, 0]
inertia = [0.01, 1.04, 1.04]

[[joints]]
name = "pivot"
kind = "revolute"
parent = "world"
child = "crank"
axis = [0, -1, 0]
start = 1.0471975511965976
start_rate = 2.0
[[joints]]
name = "pin"
kind = "revolute"
parent = "crank"
child = "coupler"
axis = [0, -1, 0]
position = [1, 0, 0]
start = -0.471236417256804
[[joints]]
name = "foot"
kind = "revolute"
parent = "world"
child = "rocker"
axis = [0, -1, 0]
position = [3, 0, 0]
start = 1.564393222865947

# A revolute pin in a plane loop: three of its five rows follow from the others.
[[closures]]
name = "eye"
kind = "revolute"
parent = "rocker"
child = "coupler"
axis = [0, -1, 0]
position = ["rocker", "beside", 0]
child_position = [3, 0, 0]

[[forces]]
kind = "gravity"

[run]
t_end = 0.1
step = 0.01
backend = "vm"
write = ["csv"]
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "four-bar.toml"
    path.write_text(MODEL)
    return path


# --- run files


def test_a_run_file_closes_loops_and_watches_them(kingpost_cli, model, tmp_path):
    (tmp_path / "far.toml").write_text(
        'model = "four-bar.toml"\n[set]\n"pivot.angle" = 1.2\n[run]\nclose_loops = true\nmonitors = true\n'
    )
    outcome = kingpost_cli("run", "far.toml", "--out", "o")
    assert outcome.status == 0, outcome.err
    assert "kingpost: warning: 'pivot.angle' starts" in outcome.err
    history = read_history(tmp_path / "o")
    assert history["constraints.position"].max() < 1e-12
    assert np.abs(history["energy.error"]).max() < 1e-4  # of rk4 with 10 ms, of 83 J
    # The command line comes first, both ways.
    assert kingpost_cli("run", "far.toml", "--out", "p", "--no-close-loops").status == 3
    assert not (tmp_path / "p").exists()
    assert kingpost_cli("run", "far.toml", "--out", "p", "--no-monitors").status == 0
    assert not any(name.startswith(("constraints", "momentum")) for name in read_history(tmp_path / "p").names)
    (tmp_path / "far.toml").write_text('model = "four-bar.toml"\n[run]\nmonitors = "yes"\n')
    refused = kingpost_cli("run", "far.toml")
    assert refused.status == 3
    assert "far.toml:3: [run]: monitors: expected true or false, got 'yes'" in refused.err


# --- one state


def test_eval_tells_errors_multipliers_and_loads_of_closures(kingpost_cli, model, tmp_path):
    answer = json.loads(kingpost_cli("eval", model).out)
    constraints = answer["constraints"]
    assert constraints["owners"] == ["eye", "eye"] and constraints["redundant_closures"] == ["eye"]
    # Without --at it is where a run starts: the rates of pin and rocker are fitted to that of the crank.
    assert answer["v"][0] == pytest.approx(2.0, abs=1e-12) and abs(answer["v"][2]) > 0.1
    assert np.abs([*constraints["position"], *constraints["speed"]]).max() < 1e-13
    assert np.isfinite(answer["vdot"]).all()
    # The pin pushes the rocker as the foot needs it: moments about the foot of pin force, weight and inertia.
    wrench = np.array(answer["loads"]["eye"]["wrench"])
    assert np.linalg.norm(wrench[3:]) > 1.0 and abs(wrench[4]) < 1e-12
    angle, coupler = answer["q"][2], answer["q"][0] + answer["q"][1]
    lever = coupler - angle  # in the axes of the coupler, x along it, the rocker is turned by -lever
    # The load acts on the coupler; the rocker gets the opposite. Across the rocker, in the plane: -sin, cos.
    across = -(wrench[3] * np.sin(lever) + wrench[5] * np.cos(lever))
    inertia = 1.04 + 2.0 * 1.25**2
    assert across * 2.5 - 2.0 * 9.81 * 1.25 * np.cos(angle) == pytest.approx(inertia * answer["vdot"][2], rel=1e-9)


def test_eval_takes_a_state_as_it_is_and_says_what_does_not_fit(kingpost_cli, model, tmp_path):
    (tmp_path / "open.json").write_text('{"q": [1.0471975511965976, -0.4, 1.564393222865947], "v": [2, 0, 0]}')
    outcome = kingpost_cli("eval", model, "--at", "open.json")
    assert outcome.status == 0
    assert "the state does not satisfy the loops: 'eye' is open by 0.17" in outcome.err
    assert "'eye' runs apart at" in outcome.err and "--close-loops takes the nearest state" in outcome.err
    assert json.loads(outcome.out)["q"][1] == -0.4
    closed = kingpost_cli("eval", model, "--at", "open.json", "--close-loops")
    assert "does not satisfy" not in closed.err and "'pin.angle' starts" in closed.err
    assert np.abs(json.loads(closed.out)["constraints"]["position"]).max() < 1e-12
    # Positions alone, and closed: the speeds follow.
    (tmp_path / "q.json").write_text('{"q": [1.0471975511965976, -0.471236417256804, 1.564393222865947]}')
    outcome = kingpost_cli("eval", model, "--at", "q.json")
    assert outcome.err == ""
    assert np.abs(json.loads(outcome.out)["constraints"]["speed"]).max() < 1e-13


def test_eval_in_other_coordinates_names_them(kingpost_cli, model):
    answer = json.loads(kingpost_cli("eval", model, "--formulation", "directors").out)
    # Twelve for each of three bodies, and the angles of the three joints, which say how many turns there were.
    assert len(answer["names"]["q"]) == len(answer["q"]) == 39
    assert len(answer["units"]["v"]) == len(answer["v"])


# --- what cannot be


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "beside=0.1"], ["closure 'eye' cannot be closed", "0.1 there and by 0.1 after", "contradict each other"]),
        (["--set", "rocker=9"], ["closure 'eye' cannot be closed", "open by 6.5 there and by 2.01", "may not reach"]),
        (["--set", "pin.angle=0.2"], ["leave closure 'eye' open by 1.57", "pin.angle by -1.2", "--close-loops"]),
        (
            ["--set", "pin.angle.rate=5", "--set", "foot.angle.rate=7"],
            ["speeds contradict each other", "pivot.angle.rate from 2 to", "those that are 0 are fitted"],
        ),
        (
            ["--set", "rocker=1", "--set", "pivot.angle=0", "--set", "pin.angle=0", "--set", "foot.angle=0"],
            ["a dead centre", "the closures eye hold 2 motions nearby, but only 1 there", "Start elsewhere"],
        ),
    ],
)  # fmt: skip
def test_starts_that_cannot_be_are_named_and_leave_nothing(kingpost_cli, model, tmp_path, words, said):
    outcome = kingpost_cli("run", model, "--out", "o", *words)
    assert outcome.status == 3
    assert [part for part in said if part not in outcome.err] == []
    assert not (tmp_path / "o").exists()


def test_a_step_too_large_for_newton_is_named_and_keeps_what_was(kingpost_cli, model, tmp_path):
    words = ["--integrator", "midpoint", "--step", "0.5", "--output-step", "0.5", "--t-end", "5", "--monitors"]
    outcome = kingpost_cli("run", model, "--out", "o", *words)
    assert outcome.status == 5
    for part in (
        "'my-four-bar' with midpoint: the state after t = ",
        "Newton's method did not solve the equations of the step in 20 iterations (largest scaled residual",
        "the worst is the balance of '",
        "try a step smaller than 0.5 s, or more iterations (midpoint:iterations=40)",
    ):
        assert part in outcome.err
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == ["failed-history.csv", "failed-run.json"]
    history = read_history(tmp_path / "o" / "failed-history.csv")
    assert {"energy.error", "momentum.angular.y", "constraints.position", "constraints.condition"} <= set(history.names)


def test_a_redundant_closure_is_told(kingpost_cli, model, tmp_path):
    outcome = kingpost_cli("run", model, "--out", "o")
    assert outcome.status == 0
    assert "eye (revolute); redundant: eye" in outcome.out
    assert re.search(r"not unique +loads of .*eye.*: smallest by the size of their loops", outcome.out)
    assert json.loads((tmp_path / "o" / "run.json").read_text())["redundant_closures"] == ["eye"]


def test_the_command_line_closes_loops_and_watches_them(kingpost_cli, tmp_path):
    wide = ["four-bar", "--t-end", "0.1", "--set", "crank-pivot.angle=1.2", "--out", str(tmp_path), "--write", "npz"]
    refused = kingpost_cli("run", *wide)
    assert refused.status == 3
    assert "leave closure 'rocker-pin' open" in refused.err
    outcome = kingpost_cli("run", *wide, "--close-loops", "--monitors")
    assert outcome.status == 0, outcome.err
    assert "1 degree of freedom: 3 speeds, 2 constraints" in outcome.out
    assert "rocker-pin (point-on-line)" in outcome.out
    assert "'crank-pivot.angle' starts +0.1371 from its start value" in outcome.err
    with np.load(tmp_path / "history.npz") as stored:
        assert any("constraints.condition" in str(value) for value in stored.values())
