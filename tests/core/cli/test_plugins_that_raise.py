"""A plugin of somebody else's that raises: whose it is, its file and line, and a status of its own."""

import pytest

from kingpost import KingpostError, PluginRaisedError

BASE = """\
from dataclasses import dataclass
import kingpost
from kingpost import hookimpl
from kingpost.fmu.cosim.masters.interface import Master
from kingpost.simulation.exporter import Exporter

def sqrt(number):
    raise ValueError(f"no root of {number}")

"""
SYSTEM = '[run]\nt_end = 0.1\nmaster = "mine"\n[components.a]\nmodel = "double-pendulum"\nstep = 0.001\nbackend = "vm"\n'
RUN = ("run", "double-pendulum", "--t-end", "0.1", "--backend", "vm", "--out", "o", "--write")
#: By kind: the hook, the class with a line that raises, and the words that use it.
PLUGINS = {
    "integrator": (
        "integrators",
        "class Mine(kingpost.StepMap):\n    name = 'mine'\n    order = 1\n"
        "    def step(self, equations, t, x, u, p, h):\n        return sqrt(-1)",
        (*RUN, "csv", "--integrator", "mine"),
    ),
    "formulation": (
        "formulations",
        "class Mine(kingpost.Formulation):\n    name = 'mine'\n    def derive(self, assembly):\n        return sqrt(-1)",
        (*RUN, "csv", "--formulation", "mine"),
    ),
    "joint loads": (
        "joint_loads",
        "class Mine(kingpost.JointLoads):\n    name = 'mine'\n    takes_closures = True\n"
        "    def constraint_wrenches(self, dynamics, equations, joints):\n        return sqrt(-1)",
        (*RUN, "csv", "--load-method", "mine", "--loads", "all"),
    ),
    "writer": (
        "writers",
        "class Mine(kingpost.Writer):\n    name = 'mine'\n    suffix = '.mine'\n"
        "    def write(self, history, path):\n        return sqrt(-1)",
        (*RUN, "mine"),
    ),
    "model": (
        "models",
        "class Mine(kingpost.Model):\n    name = 'mine'\n    def build(self):\n        return sqrt(-1)",
        ("run", "mine"),
    ),
    "exporter": (
        "exporters",
        "class Mine(Exporter):\n    name = 'mine'\n    suffix = '.mine'\n"
        "    def export(self, model, selection, path):\n        return sqrt(-1)",
        ("export", "double-pendulum", "--to", "mine", "--out", "x.mine"),
    ),
    "master": (
        "masters",
        "class Mine(Master):\n    name = 'mine'\n    def begin(self, coupling):\n        return sqrt(-1)",
        ("cosim", "system.toml"),
    ),
    "command": (
        "commands",
        "class Mine(kingpost.Command):\n    'Fails.'\n    name = 'mine'\n    def configure(self, parser): pass\n"
        "    def run(self, arguments, plugins):\n        return sqrt(-1)",
        ("mine",),
    ),
}


def written(tmp_path, hook, text):
    path = tmp_path / "theirs.py"
    path.write_text(f"{BASE}{text}\n\n@hookimpl\ndef kingpost_register_{hook}():\n    return [Mine]\n")
    (tmp_path / "system.toml").write_text(SYSTEM)
    return path


def line_of(path, text):
    return next(i for i, line in enumerate(path.read_text().splitlines(), start=1) if text in line)


@pytest.mark.parametrize("kind", PLUGINS)
def test_the_plugin_its_file_and_its_line_are_named(kingpost_cli, tmp_path, kind):
    hook, text, words = PLUGINS[kind]
    path = written(tmp_path, hook, text)
    outcome = kingpost_cli(*words, "--plugin", str(path))
    assert outcome.status == PluginRaisedError.exit_code == 10, outcome.err
    assert f"{kind} 'mine' of file {path} raised ValueError: no root of -1" in outcome.err
    # The line that raised, not the one that called it.
    assert f"in {path}, line {line_of(path, 'raise ValueError')}, in sqrt" in outcome.err
    assert "KINGPOST_TRACE_PLUGINS=1" in outcome.err or kind == "master"
    assert "Traceback" not in outcome.err and "fault in kingpost" not in outcome.err


def test_the_whole_way_there_can_be_seen(kingpost_cli, tmp_path, monkeypatch):
    hook, text, words = PLUGINS["model"]
    monkeypatch.setenv("KINGPOST_TRACE_PLUGINS", "1")
    outcome = kingpost_cli(*words, "--plugin", str(written(tmp_path, hook, text)))
    assert outcome.status == 10
    assert "Traceback" in outcome.err and "in build" in outcome.err


def test_a_plugin_named_by_a_model_file_is_named_as_well(kingpost_cli, tmp_path):
    hook, text, _ = PLUGINS["model"]
    path = written(tmp_path, hook, text)
    (tmp_path / "run.toml").write_text('model = "mine"\nplugins = ["theirs.py"]\n')
    outcome = kingpost_cli("run", "run.toml")
    assert outcome.status == 10
    assert f"model 'mine' of file {path} raised ValueError" in outcome.err


def test_options_that_raise(kingpost_cli, tmp_path):
    text = (
        "@dataclass(frozen=True)\nclass Options:\n    rate: float = 1.0\n"
        "    def __post_init__(self):\n        sqrt(self.rate)\n\n"
        "class Mine(kingpost.Model):\n    name = 'mine'\n    Options = Options\n    def build(self): ..."
    )
    path = written(tmp_path, "models", text)
    outcome = kingpost_cli("run", "mine:rate=2", "--plugin", str(path))
    assert outcome.status == 10
    assert f"plugin file {path} raised ValueError: no root of 2.0" in outcome.err


def test_a_solver_that_raises_keeps_what_it_had(kingpost_cli, tmp_path):
    text = (
        "class Mine(kingpost.Solver):\n    name = 'mine'\n    order = 1\n    def march(self, problem):\n"
        "        for k in range(3):\n            yield problem.x0\n        sqrt(-1)"
    )
    path = written(tmp_path, "integrators", text)
    outcome = kingpost_cli(*RUN, "csv", "--integrator", "mine", "--plugin", str(path))
    assert outcome.status == 10, outcome.err
    assert f"integrator 'mine' of file {path} raised ValueError: no root of -1" in outcome.err
    assert "The 4 samples up to t = 0.03 s are in o/failed-history.csv" in outcome.err


def test_what_kingpost_refuses_in_a_plugin_names_its_line_as_well(kingpost_cli, tmp_path):
    text = "class Mine(kingpost.Model):\n    name = 'mine'\n    def build(self):\n        return kingpost.Body('b', mass='1 +')"
    path = written(tmp_path, "models", text)
    outcome = kingpost_cli("run", "mine", "--plugin", str(path))
    assert outcome.status == 3
    assert "mass: '1 +' is not a formula" in outcome.err
    assert f"\n  in {path}, line {line_of(path, 'kingpost.Body')}, in build" in outcome.err


def test_a_plugin_that_calls_kingpost_wrongly_shows_the_way(kingpost_cli, tmp_path):
    text = "class Mine(kingpost.Model):\n    name = 'mine'\n    def build(self):\n        return kingpost.simulate(3)"
    path = written(tmp_path, "models", text)
    outcome = kingpost_cli("run", "mine", "--plugin", str(path))
    assert outcome.status == 10
    # Whether it is the caller's fault only the whole way tells.
    assert "Traceback" in outcome.err
    assert f"in {path}, line {line_of(path, 'kingpost.simulate')}, in build" in outcome.err


def test_what_a_plugin_gives_back_may_be_at_fault_too(kingpost_cli, tmp_path):
    text = "class Mine(kingpost.Model):\n    name = 'mine'\n    def build(self):\n        return 3"
    path = written(tmp_path, "models", text)
    outcome = kingpost_cli("run", "mine", "--plugin", str(path))
    assert outcome.status == 4
    assert "model 'mine' built 3, expected a kingpost.Mechanism" in outcome.err


@pytest.mark.parametrize(
    "words",
    [("run", "double-pendulum", "--loads", "all,none"), ("run", "double-pendulum", "--loads", "hip")],
)
def test_what_cannot_be_had_has_a_status_of_its_own(kingpost_cli, words):
    outcome = kingpost_cli(*words)
    assert outcome.status == KingpostError.exit_code == 9
    assert "Traceback" not in outcome.err
