"""A door in Python for every verb of the command line: the same answers."""

import json

import numpy as np
import pytest

from kingpost import KingpostError, equilibrium, evaluate, export, linearize, open_model
from kingpost.testing.problems import oscillator, pendulum


def test_an_oscillator_is_looked_at_settled_and_linearised(plugins):
    machine = oscillator()
    answer = evaluate(machine, {"q": [0.3], "v": [0.0]}, plugins=plugins)
    system = linearize(machine, plugins=plugins)
    # One frequency, seen twice: as stiffness over mass, and as an eigenvalue.
    squared = -answer["vdot"][0] / 0.3
    assert squared > 0 and system.modes[0].eigenvalue.imag ** 2 == pytest.approx(squared, rel=1e-9)
    assert np.abs(equilibrium(machine, plugins=plugins).x).max() < 1e-12


def test_a_pendulum_stands_on_its_head_if_any_place_will_do(plugins):
    up = {"q": [np.pi - 0.01]}
    assert equilibrium(pendulum(), up, stable=False, plugins=plugins).x[0] == pytest.approx(np.pi, abs=1e-9)
    assert equilibrium(pendulum(), up, plugins=plugins).stable


def test_the_doors_say_what_the_verbs_print(kingpost_cli, plugins):
    opened = open_model("double-pendulum", plugins)
    printed = json.loads(kingpost_cli("eval", "double-pendulum").out)
    assert json.loads(json.dumps(opened.evaluate())) == printed
    printed = json.loads(kingpost_cli("linearize", "double-pendulum", "--from", "equilibrium", "--json").out)
    np.testing.assert_allclose(opened.linearize(start="equilibrium").A, printed["A"], rtol=1e-12, atol=1e-12)
    printed = json.loads(kingpost_cli("equilibrium", "double-pendulum", "--json").out)
    np.testing.assert_allclose(opened.equilibrium().x, [*printed["q"], *printed["v"]], atol=1e-12)


def test_an_export_from_python_is_the_file_of_the_verb(kingpost_cli, tmp_path, plugins):
    done = export(open_model("double-pendulum", plugins).mechanism, tmp_path / "a.fmu", outputs=["elbow.*"], plugins=plugins)
    assert done.path == tmp_path / "a.fmu" and done.path.stat().st_size > 10_000
    opened = open_model("double-pendulum", plugins).export(tmp_path / "b.fmu", loads="all")
    assert kingpost_cli("export", "double-pendulum", "-o", str(tmp_path / "c.fmu")).status == 0
    assert opened.path.read_bytes() == (tmp_path / "c.fmu").read_bytes()


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"w": [1]}, "a state has no 'w'"),
        ({"q": [1, 2]}, r"q must be a list of 1 numbers \(pivot.angle\), got 2"),
        ({"q": ["x"]}, r"q\[0\] = 'x' is not a finite number"),
        ({"t": float("nan")}, "t = nan is not a finite number"),
        ({"parameters": 3}, "parameters must be an object"),
    ],
)
def test_wrong_states_are_answered(state, message, plugins):
    with pytest.raises(KingpostError, match=message):
        evaluate(pendulum(), state, plugins=plugins)
