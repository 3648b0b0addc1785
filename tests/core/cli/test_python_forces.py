"""Forces written in plain Python, on the command line."""

import re
import textwrap

import pytest

from kingpost import PluginRaisedError, SolverError
from kingpost.cli.run import DIVERGES

PLUGIN = """\
import numpy as np
from kingpost import Force, Loads, hookimpl

class Gust(Force):
    \"\"\"A gust.\"\"\"
    name = "gust"

    def loads(self, kinematics):
        def effort(t):
            if t[0] > 0.305:
                raise ValueError("no data")
            return np.exp(-t)

        return Loads(efforts={"pivot.angle": kinematics.call(effort, kinematics.t, size=1)})

@hookimpl
def kingpost_register_forces():
    return Gust
"""
MODEL = """\
name = "blown"
plugins = ["gust.py"]

[[bodies]]
name = "bob"
mass = 1.0
com = [0, 0, -1]

[[joints]]
name = "pivot"
kind = "revolute"
parent = "world"
child = "bob"
axis = [0, 1, 0]

[[forces]]
kind = "gust"
name = "evening-gust"

[run]
step = 0.01
write = ["csv"]
"""


@pytest.fixture
def blown(tmp_path):
    (tmp_path / "gust.py").write_text(textwrap.dedent(PLUGIN))
    path = tmp_path / "blown.toml"
    path.write_text(MODEL)
    return path


def test_the_command_says_that_a_force_is_plain_python(blown, kingpost_cli):
    done = kingpost_cli("run", blown, "--t-end", "0.2")
    assert done.status == 0
    note = "interpreter: plain Python inside, in evening-gust; write it with CasADi operations for speed"
    assert f"kingpost: {note}\n" in done.err
    assert note in kingpost_cli("run", blown, "--t-end", "0.2", "-v").err
    assert "plain Python" not in kingpost_cli("run", blown, "--t-end", "0.2", "--backend", "vm").err
    refused = kingpost_cli("run", blown, "--t-end", "0.2", "--backend", "c")
    assert refused.status == SolverError.exit_code
    assert "these forces are plain Python: evening-gust." in refused.err


def test_the_command_names_the_force_that_raised_and_keeps_what_was_computed(blown, kingpost_cli, tmp_path):
    failed = kingpost_cli("run", blown, "--t-end", "1", "--out", "o")
    assert failed.status == PluginRaisedError.exit_code
    assert re.search(r"kingpost: force 'evening-gust' raised ValueError: no data\n  in .*\.py, line \d+, in \w+", failed.err)
    assert failed.out == ""
    assert "The 31 samples up to t = 0.3 s are in o/failed-history.csv, o/failed-run.json" in failed.err
    assert len((tmp_path / "o" / "failed-history.csv").read_text().splitlines()) == 33


@pytest.mark.parametrize("verb", ["equilibrium", "linearize", "eval"])
def test_statics_name_the_force_that_raised_and_its_line(verb, blown, kingpost_cli, tmp_path):
    # Of the angle, so that its derivative is wanted, too.
    always = PLUGIN.replace("t[0] > 0.305", "True").replace(
        "effort, kinematics.t", 'effort, kinematics.coordinate("pivot.angle")'
    )
    (tmp_path / "gust.py").write_text(always)
    failed = kingpost_cli(verb, blown)
    assert failed.status != 0
    assert "force 'evening-gust' raised ValueError: no data\n  in " in failed.err
    assert "gust.py, line 11, in effort" in failed.err
    assert "Traceback" not in failed.err
    assert "fault in kingpost" not in failed.err


def test_a_run_that_diverges_keeps_its_files_and_ends_with_a_status_of_its_own(kingpost_cli, tmp_path):
    # A spring of 100 rad/s and steps of 0.03 s: rk4 is stable up to 2.8 / 100 s.
    (tmp_path / "stiff.toml").write_text(
        MODEL.replace('plugins = ["gust.py"]', "")
        .replace('kind = "gust"\nname = "evening-gust"', 'kind = "joint-spring"\ncoordinate = "pivot.angle"\nstiffness = 1e4')
        .replace("axis = [0, 1, 0]", "axis = [0, 1, 0]\nstart = 0.01")
        .replace("step = 0.01", "step = 0.03")
    )
    done = kingpost_cli("run", "stiff.toml", "--t-end", "6", "--out", "o", "--backend", "vm")
    assert done.status == DIVERGES == 11
    assert "errors outgrow the motion" in done.err
    assert {path.name for path in (tmp_path / "o").iterdir()} >= {"history.csv", "run.json"}
    calm = kingpost_cli("run", "stiff.toml", "--t-end", "6", "--step", "0.02", "--out", "p", "--backend", "vm")
    assert calm.status == 0
