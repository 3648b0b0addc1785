"""Python that a file names or that is installed: it is said that it runs, and ``--no-plugins`` keeps it from running."""

import os
import textwrap

import pytest

from kingpost import PluginError, PluginSet
from kingpost.registry.pluginset import SWITCH

PLUGIN = """\
from pathlib import Path

from kingpost import Model, hookimpl
from kingpost.plugins.models.double_pendulum import DoublePendulum

Path({trace!r}).write_text("ran")

class Mine(DoublePendulum):
    \"\"\"A machine.\"\"\"

    name = "mine"

@hookimpl
def kingpost_register_models():
    return [Mine]
"""
HOW = ("--t-end", "0.1", "--backend", "vm", "--write", "csv")


@pytest.fixture
def trace(tmp_path):
    """A file that exists once the plugin was imported."""
    (tmp_path / "plugin.py").write_text(PLUGIN.format(trace=str(tmp_path / "trace")))
    (tmp_path / "machine.toml").write_text('model = "mine"\nplugins = ["plugin.py"]\n')
    return tmp_path / "trace"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The same plugin as a distribution with an entry point; the file that exists once it was imported."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "stranger_plugin.py").write_text(PLUGIN.format(trace=str(tmp_path / "trace")))
    information = tmp_path / "site" / "stranger-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[kingpost]\nstranger = stranger_plugin\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return tmp_path / "trace"


@pytest.mark.parametrize("words", [("run", "machine.toml", *HOW), ("eval", "machine.toml")], ids=lambda words: words[0])
def test_a_file_that_runs_python_is_named_once(kingpost_cli, trace, words):
    outcome = kingpost_cli(*words)
    assert (outcome.status, trace.read_text()) == (0, "ran")
    line = f"kingpost: machine.toml runs Python code: {trace.with_name('plugin.py')}\n"
    assert outcome.err.count(line) == 1
    assert outcome.err.count("runs Python code") == 1


@pytest.mark.parametrize("option", ["--no-plugins", "--no-plug", "--n"])
@pytest.mark.parametrize("words", [("run", "machine.toml", *HOW), ("eval", "machine.toml")], ids=lambda words: words[0])
def test_switched_off_it_is_refused_by_name_and_not_imported(kingpost_cli, trace, words, option):
    outcome = kingpost_cli(*words, option)
    assert not trace.exists()
    assert outcome.status != 0
    if option == "--no-plugins":
        assert "machine.toml:2: " in outcome.err
        assert "plugin.py' is not loaded: plugins are switched off here" in outcome.err
        assert "runs Python code" not in outcome.err


def test_a_plugin_on_the_command_line_is_refused_as_well(kingpost_cli, trace):
    outcome = kingpost_cli("--no-plugins", "run", "mine", "--plugin", "plugin.py")
    assert outcome.status == PluginError.exit_code
    assert "plugins are switched off here" in outcome.err
    assert not trace.exists()
    assert kingpost_cli("run", "mine", "--plugin", "plugin.py", *HOW).err.count("runs Python") == 0  # the user has named it


def test_installed_plugins_are_not_imported(kingpost_cli, installed):
    assert kingpost_cli("run", "double-pendulum", *HOW, "--no-plugins").status == 0
    assert kingpost_cli("--no-plugins", "run", "double-pendulum", *HOW).status == 0
    assert "mine" not in kingpost_cli("models", "--no-plugins").out
    assert not installed.exists()
    assert "mine" in kingpost_cli("models").out
    assert installed.exists()


def test_the_switch_holds_for_python_and_for_processes_that_are_started(installed, monkeypatch, tmp_path):
    monkeypatch.setenv(SWITCH, "1")
    assert "mine" not in PluginSet().models
    (tmp_path / "plugin.py").write_text(textwrap.dedent(PLUGIN.format(trace=str(tmp_path / "trace"))))
    for load in (PluginSet, PluginSet().with_files):
        with pytest.raises(PluginError, match="plugin.py' is not loaded: plugins are switched off here"):
            load([tmp_path / "plugin.py"])
    assert not installed.exists()
    monkeypatch.setenv(SWITCH, "0")
    assert "mine" in PluginSet().models


def test_the_switch_is_as_before_after_a_command(kingpost_cli):
    kingpost_cli("models", "--no-plugins")
    assert SWITCH not in os.environ
