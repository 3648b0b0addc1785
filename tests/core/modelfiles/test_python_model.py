"""Machines in Python files, by FILE.py:NAME."""

import textwrap

import numpy as np
import pytest

from kingpost import FileError, open_model

PENDULUM = """
from kingpost import Body, ForceElement, Joint, Mechanism, Model, Parameter

length = Parameter("length", 1.0, "m")


def make():
    return Mechanism(
        "swing",
        parameters=[length],
        bodies=[Body("bob", mass=2.0, com=(0, 0, -length))],
        joints=[Joint("pivot", "revolute", "world", "bob", axis=(0, 1, 0), start=0.3)],
        forces=[ForceElement("gravity")],
    )


swing = make()


class Swing(Model):
    \"\"\"A swing.\"\"\"

    name = "a-swing"
    t_end = 0.25

    def build(self):
        return swing


def wrong():
    return 3


def broken():
    return 1 / 0


def refused():
    return Mechanism("x y", bodies=[], joints=[])
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "machines.py").write_text(PENDULUM)
    return tmp_path / "machines.py"


@pytest.mark.parametrize("name", ["swing", "make", "Swing"])
def test_a_mechanism_a_function_and_a_model_run(name, file, kingpost_cli, tmp_path):
    done = kingpost_cli("run", f"machines.py:{name}", "--t-end", "0.5", "--set", "length=2", "--write", "csv", "--out", "o")
    assert done.status == 0, done.err
    assert "swing (1 degree of freedom)" in done.out
    angle = np.genfromtxt(tmp_path / "o" / "history.csv", delimiter=",", names=True, deletechars="", skip_header=1)[
        "pivot.angle"
    ]
    # From rest at 0.3 rad: 0.3 - g sin(0.3) / (2 length) t^2 + (g / length)^2 sin(0.3) cos(0.3) t^4 / 24 ..., 2.8e-9 at 0.01 s.
    assert angle[1] == pytest.approx(0.3 - 9.81 * np.sin(0.3) / 4 * 1e-4, abs=4e-9)


def test_the_model_says_how_long(file, kingpost_cli):
    assert "0 s to 0.25 s" in kingpost_cli("run", "machines.py:Swing", "--write", "csv").out


def test_other_verbs_take_it_too(file, kingpost_cli):
    assert "pivot.angle" in kingpost_cli("models", "machines.py:swing").out
    assert 'name = "swing"' in kingpost_cli("models", "machines.py:swing", "--toml").out
    assert kingpost_cli("equilibrium", "machines.py:swing").status == 0
    assert kingpost_cli("linearize", "machines.py:make").status == 0


def test_hooks_of_the_file_are_plugins(tmp_path, kingpost_cli):
    (tmp_path / "own.py").write_text(
        textwrap.dedent(PENDULUM.split("class Swing")[0])
        + textwrap.dedent(
            """
            from kingpost import StepMap, hookimpl

            class Euler(StepMap):
                \"\"\"Euler's.\"\"\"
                name = "plain-euler"
                order = 1
                def step(self, equations, t, x, u, p, h):
                    return x + h * equations.rhs(t, x, u, p)

            @hookimpl
            def kingpost_register_integrators():
                return [Euler]
            """
        )
    )
    done = kingpost_cli("run", "own.py:swing", "--integrator", "plain-euler", "--t-end", "0.1", "--write", "csv")
    assert done.status == 0, done.err
    assert "kane, plain-euler" in done.out


@pytest.mark.parametrize(
    ("word", "status", "said"),
    [
        ("machines.py", 6, "say which machine of the file is meant, machines.py:NAME"),
        ("machines.py:swnig", 6, "has no machine 'swnig'; did you mean 'swing'?"),
        ("machines.py:length", 6, "has no machine 'length'"),
        ("machines.py:Mechanism", 6, "has no machine 'Mechanism'"),
        ("machines.py:wrong", 3, "wrong gives 3, expected a kingpost.Mechanism"),
        ("machines.py:broken", 4, "line 35: broken() failed: ZeroDivisionError"),
        ("machines.py:refused", 3, "line 39: mechanism name 'x y'"),
        ("missing.py:x", 4, "does not exist"),
    ],
)
def test_what_is_wrong_is_said(word, status, said, file, kingpost_cli):
    outcome = kingpost_cli("run", word)
    assert outcome.status == status
    assert said in outcome.err


def test_no_code_runs_where_plugins_are_switched_off(tmp_path, kingpost_cli):
    (tmp_path / "evil.py").write_text("open('ran', 'w')")
    outcome = kingpost_cli("run", "evil.py:x", "--no-plugins")
    assert outcome.status == 4
    assert "switched off" in outcome.err
    assert not (tmp_path / "ran").exists()


def test_only_a_command_line_runs_it(file, plugins, tmp_path, kingpost_cli):
    with pytest.raises(FileError, match="is Python code, which runs only where a command names it"):
        open_model("machines.py:swing", plugins)
    (tmp_path / "run.toml").write_text('model = "machines.py:swing"\n')
    outcome = kingpost_cli("run", "run.toml")
    assert outcome.status == 6
    assert "is Python code" in outcome.err
