"""Inputs that move, in model files, in run files and on the command line."""

import json

import numpy as np
import pytest

from kingpost import MechanismError, open_model, read_history
from kingpost.mechanism.trajectories import RestToRest

CART = """\
name = "cart"

[parameters]
most = { default = 4.0, unit = "N" }

[inputs]
push = { unit = "N", moves = { kind = "rest-to-rest", start = 0, end = "most", t_start = 0.1, t_end = 0.8 } }
drag = { unit = "N", default = 0.5 }

[[bodies]]
name = "mass"
mass = 2.0

[[joints]]
name = "rail"
kind = "prismatic"
parent = "world"
child = "mass"
axis = [1, 0, 0]

[[forces]]
kind = "joint-effort"
coordinate = "rail.displacement"
effort = "push - drag"

[run]
t_end = 1
"""


@pytest.fixture
def cart(tmp_path):
    (tmp_path / "cart.toml").write_text(CART)
    return tmp_path / "cart.toml"


def test_an_input_says_in_its_own_file_how_it_moves(cart):
    opened = open_model(cart)
    assert opened.inputs == {"push": RestToRest(0.0, "most", 0.1, 0.8)}
    history = opened.simulate()
    path = RestToRest(0.0, 4.0, 0.1, 0.8).polynomials()
    np.testing.assert_allclose(history["push"], path.value(history.time), rtol=0, atol=1e-13)
    # The impulse of a path that is symmetric about its middle, less the drag, over the mass; a parameter scales it.
    assert history["rail.displacement.rate"][-1] == pytest.approx((4.0 * (0.35 + 0.2) - 0.5) / 2.0, abs=1e-12)
    halved = opened.simulate(settings={"most": 2.0})
    assert halved["rail.displacement.rate"][-1] == pytest.approx((2.0 * 0.55 - 0.5) / 2.0, abs=1e-12)


def test_what_is_said_later_counts(cart, tmp_path):
    assert open_model(cart, settings={"push": 1.0}).inputs == {}
    assert open_model(cart).simulate(settings={"push": 1.0})["rail.displacement.rate"][-1] == pytest.approx(0.25)
    assert open_model(cart).simulate(inputs={"push": 1.0})["rail.displacement.rate"][-1] == pytest.approx(0.25)
    (tmp_path / "drag.csv").write_text("time,drag\n0,0\n1,1\n")
    (tmp_path / "study.toml").write_text('model = "cart.toml"\n[inputs]\ndrag = { file = "drag.csv" }\npush = "2 * t"\n')
    history = open_model(tmp_path / "study.toml").simulate()
    # v' = (2 t - t) / 2
    np.testing.assert_allclose(history["rail.displacement.rate"], history.time**2 / 4, rtol=0, atol=1e-12)
    (tmp_path / "still.toml").write_text('model = "study.toml"\n[set]\npush = 0.0\n')
    history = open_model(tmp_path / "still.toml").simulate()
    np.testing.assert_allclose(history["rail.displacement.rate"], -(history.time**2) / 4, rtol=0, atol=1e-12)


def test_one_state_has_the_inputs_of_its_time(cart):
    opened = open_model(cart)
    assert opened.evaluate({"t": 0.45})["u"] == pytest.approx([2.0, 0.5])
    assert opened.evaluate({"t": 0.9})["vdot"] == pytest.approx([1.75])
    assert opened.evaluate({"t": 0.45, "u": [1.0, 0.0]})["vdot"] == pytest.approx([0.5])


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('kind = "rest-to-rest"', 'kind = "rest"', 7, "input 'push': there is no trajectory of kind 'rest'; did you mean"),
        ("t_end = 0.8", "t_end = 0.05", 7, "input 'push': rest-to-rest trajectory: t_end is 0.05 s"),
        ("t_end = 0.8", "t_end = 0.8, t_stop = 3", 7, "has no 't_stop'"),
        ("moves =", "move =", 7, "input 'push' has no 'move'"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path, old, new, line, message):
    path = tmp_path / "cart.toml"
    path.write_text(CART.replace(old, new))
    with pytest.raises(MechanismError) as error:
        open_model(path)
    assert f"cart.toml:{line}: " in str(error.value)
    assert message in str(error.value)


def test_an_input_that_is_not_there_is_refused(cart, tmp_path):
    (tmp_path / "study.toml").write_text('model = "cart.toml"\n[inputs]\npusch = 3\n')
    with pytest.raises(MechanismError, match=r"'cart' has no input 'pusch'; did you mean 'push'\?"):
        open_model(tmp_path / "study.toml")


def test_the_command_line(kingpost_cli, cart, tmp_path):
    fast = ("--write", "csv", "--output-step", "0.05")
    assert kingpost_cli("run", str(cart), *fast, "--out", "first").status == 0
    first = read_history(tmp_path / "first")
    assert first.provenance["inputs"]["push"]["moves"] == {"trajectory": "rest-to-rest"}
    again = kingpost_cli("run", str(cart), *fast, "--out", "again", "--input", "first", "--set", "most=0")
    assert again.status == 0
    assert "inputs" in again.out
    assert "push (first, cubic)" in again.out.replace(str(tmp_path) + "/", "")
    np.testing.assert_allclose(
        read_history(tmp_path / "again")["rail.displacement"], first["rail.displacement"], rtol=0, atol=2e-4
    )
    (tmp_path / "table.csv").write_text("time,a,b\n0,0,1\n1,2,1\n")
    words = ("--input", "push=table.csv:a:linear", "--input", "drag=sin(t) * 0 + 1")
    assert kingpost_cli("run", str(cart), *fast, "--out", "third", *words).status == 0
    third = read_history(tmp_path / "third")
    np.testing.assert_allclose(third["rail.displacement.rate"], (third.time**2 - third.time) / 2, rtol=0, atol=1e-12)
    record = json.loads((tmp_path / "third" / "run.json").read_text())
    assert record["inputs"]["push"]["moves"] == {
        "file": "table.csv", "column": "a", "interpolation": "linear", "samples": 2
    }  # fmt: skip


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("pusch=table.csv", "'cart' has no input 'pusch'; did you mean 'push'?"),
        ("push=tabel.csv", "is neither a file or folder that is there nor a formula"),
        ("nothing.csv", "there is no such file or folder"),
        ("push=table.csv:c", "has no column 'c'"),
        ("push=table.csv", "say which 'column' to take"),
        ("table.csv", "has no channel that is called like an input of 'cart': push, drag"),
    ],
)
def test_words_of_the_command_line_that_cannot_be(kingpost_cli, cart, tmp_path, word, message):
    (tmp_path / "table.csv").write_text("time,a,b\n0,0,1\n1,2,1\n")
    outcome = kingpost_cli("run", str(cart), "--input", word)
    assert outcome.status != 0
    assert message in " ".join(outcome.err.split())
