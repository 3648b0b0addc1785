"""Where plugins come from, and what is said about broken ones."""

import subprocess
import sys

import pytest

import kingpost.registry.pluginset
from kingpost import PluginError, PluginSet, StepMap, simulate
from kingpost.testing.problems import pendulum
from tests.core.registry.plugin_text import PLUGIN


def test_importing_kingpost_loads_no_plugin():
    code = "import sys, kingpost; print([m for m in sys.modules if m == 'kingpost.plugins'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_every_built_in_is_attributed(plugins):
    rows = plugins.listing()
    assert {row["distribution"] for row in rows} == {"kingpost"}
    kinds = {
        "formalism",
        "formulation",
        "integrator",
        "joint loads",
        "force",
        "model",
        "writer",
        "exporter",
        "master",
        "command",
    }
    kinds |= {"inverse dynamics", "servo stepper", "feedback", "transcription", "cost term", "nonlinear solver"}
    kinds |= {"sampler", "reducer", "executor"}
    assert {row["kind"] for row in rows} == kinds
    assert {"rk4", "euler-symplectic", "dop853", "lsoda", "radau", "bdf"} <= {row["name"] for row in rows}
    assert all(row["summary"] and row["version"] == kingpost.__version__ for row in rows)


def test_a_plugin_file_is_loaded_and_runs(plugin_file):
    plugins = PluginSet([plugin_file()], entry_points=False)
    assert "mine" in plugins.integrators
    history = simulate(pendulum(), 1.0, integrator="mine", plugins=plugins)
    assert history.provenance["integrator"]["name"] == "mine"
    assert {"origin": "file", "location": str(plugin_file()), "distribution": "plugin", "version": "local"} in (
        history.provenance["plugins"]
    )


def test_a_class_can_be_used_without_registering_it():
    class Own(StepMap):
        """Euler."""

        name = "own"
        order = 1

        def step(self, equations, t, x, u, p, h):
            return x + h * equations.rhs(t, x, u, p)

    assert simulate(pendulum(), 0.1, integrator=Own).provenance["integrator"]["name"] == "own"
    with pytest.raises(PluginError, match="3 does not select a integrator"):
        simulate(pendulum(), 0.1, integrator=3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nonexistent_module\n", "line 1: ModuleNotFoundError: No module named 'nonexistent_module'"),
        ("x = 1\nraise SystemExit(3)\n", "line 2: SystemExit: 3"),
        ("def f(:\n", "line 1: SyntaxError: invalid syntax"),
        ("x = 1\n", "defines no hook; add for example"),
        (
            PLUGIN.replace("kingpost_register_integrators", "kingpost_register_integrator"),
            "unknown hook 'kingpost_register_integrator'; did you mean 'kingpost_register_integrators'?",
        ),
        (PLUGIN.replace("@hookimpl\n", ""), "'kingpost_register_integrators' is not marked as a hook; put @kingpost.hookimpl"),
        (
            PLUGIN.replace("integrators():", "integrators(config):"),
            "hook 'kingpost_register_integrators(config)' has a wrong signature; write 'def kingpost_register_integrators():'",
        ),
        (
            PLUGIN.replace("def step", "def stepp"),
            "integrator class 'Mine' lacks the method step(self, equations, t, x, u, p, h)",
        ),
        (
            PLUGIN.replace("t, x, u, p, h):", "t, x):"),
            "integrator class 'Mine': step(self, equations, t, x) must take (self, equations, t, x, u, p, h)",
        ),
        (PLUGIN.replace('    name = "mine"\n', ""), "integrator class 'Mine' lacks 'name', the text that selects it"),
        (PLUGIN.replace("    order = 1\n", ""), "integrator class 'Mine' lacks the class attribute 'order'"),
        (PLUGIN.replace("(StepMap)", ""), "does not derive from kingpost.equations.integrator.Integrator"),
        (PLUGIN.replace("[Mine]", "[Mine()]"), "expected classes (not instances)"),
        (PLUGIN.replace("[Mine]", "[1 / 0]"), ", line 14: ZeroDivisionError: division by zero"),
        (
            PLUGIN.replace("    order = 1\n", "    order = 1\n    Options = dict\n"),
            "integrator class 'Mine': Options must be a dataclass",
        ),
    ],
)
def test_a_broken_file_stops_at_once_with_a_reason(plugin_file, text, message):
    path = plugin_file(text)
    with pytest.raises(PluginError) as error:
        PluginSet([path], entry_points=False)
    assert str(path) in str(error.value)
    assert message in str(error.value)


def test_a_missing_file_and_a_file_that_is_not_python(tmp_path):
    with pytest.raises(PluginError, match="plugin file '.*gone.py' does not exist"):
        PluginSet([tmp_path / "gone.py"])
    (tmp_path / "plugin.txt").write_text(PLUGIN)
    with pytest.raises(PluginError, match="its name must end in .py"):
        PluginSet([tmp_path / "plugin.txt"])


def test_an_installed_plugin_is_loaded_from_its_entry_point(installed):
    installed(good=PLUGIN)
    plugins = PluginSet()
    row = next(row for row in plugins.listing() if row["name"] == "mine")
    assert (row["distribution"], row["version"], row["origin"]) == ("kingpost-good", "1.2.3", "entry point")


def test_a_broken_installed_plugin_stops_only_a_run_that_needs_it(installed, tmp_path):
    installed(bad="import nonexistent_module", worse="raise SystemExit('no')", good=PLUGIN)
    plugins = PluginSet()
    assert [str(broken) for broken in plugins.broken] == [
        f"kingpost-bad 1.2.3: import failed in {tmp_path}/bad.py, line 1: "
        "ModuleNotFoundError: No module named 'nonexistent_module'",
        f"kingpost-worse 1.2.3: import failed in {tmp_path}/worse.py, line 1: SystemExit: no",
    ]
    simulate(pendulum(), 0.1, integrator="mine", plugins=plugins)
    with pytest.raises(PluginError) as error:
        simulate(pendulum(), 0.1, integrator="special", plugins=plugins)
    assert "unknown integrator 'special'" in str(error.value)
    assert "could not be loaded: kingpost-bad 1.2.3: import failed in " in str(error.value)


def test_one_bad_class_does_not_take_the_others_along(installed):
    installed(half=PLUGIN.replace("[Mine]", "[Mine, int]"))
    plugins = PluginSet()
    assert "mine" in plugins.integrators
    assert "integrator class 'int' does not derive from" in plugins.broken[0].reason


def test_two_plugins_with_one_name_are_refused_when_it_is_used(installed):
    installed(one=PLUGIN, two=PLUGIN, three=PLUGIN.replace('"mine"', '"rk4"'))
    plugins = PluginSet()
    with pytest.raises(
        PluginError, match="two plugins register integrator 'mine': 'kingpost-one 1.2.3' and 'kingpost-two 1.2.3'"
    ):
        simulate(pendulum(), 0.1, integrator="mine", plugins=plugins)
    with pytest.raises(PluginError, match=f"'rk4': 'kingpost {kingpost.__version__}' and 'kingpost-three 1.2.3'"):
        simulate(pendulum(), 0.1, integrator="rk4", plugins=plugins)
    simulate(pendulum(), 0.1, integrator="euler-symplectic", plugins=plugins)


def test_the_allow_list_and_the_trace(installed, monkeypatch, capsys):
    installed(one=PLUGIN, two=PLUGIN.replace('"mine"', '"other"'))
    monkeypatch.setenv("KINGPOST_LOAD_PLUGINS", "kingpost-two")
    monkeypatch.setenv("KINGPOST_TRACE_PLUGINS", "1")
    plugins = PluginSet()
    assert "other" in plugins.integrators
    assert "mine" not in plugins.integrators
    assert "[kingpost] kingpost_register_integrators: kingpost-two 1.2.3 -> Mine" in capsys.readouterr().err
    monkeypatch.setenv("KINGPOST_LOAD_PLUGINS", "")
    assert "other" not in PluginSet().integrators
