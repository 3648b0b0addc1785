"""Python that files name, in the verbs of this floor."""

import pytest


@pytest.fixture
def trace(tmp_path):
    """A file that exists once the plugin was imported."""
    (tmp_path / "plugin.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w').close()\n")
    (tmp_path / "machine.toml").write_text('model = "double-pendulum"\nplugins = ["plugin.py"]\n')
    (tmp_path / "system.toml").write_text('name = "pair"\nplugins = ["plugin.py"]\n')
    (tmp_path / "parts.toml").write_text('name = "pair"\n[components.arm]\nmodel = "machine.toml"\n')
    return tmp_path / "trace"


@pytest.mark.parametrize(
    "words",
    [("export", "machine.toml"), ("cosim", "system.toml", "--check"), ("cosim", "parts.toml", "--check")],
    ids=["export", "system", "component"],
)
def test_it_is_named_and_can_be_switched_off(kingpost_cli, trace, words):
    outcome = kingpost_cli(*words, "--no-plugins")
    assert outcome.status != 0
    assert "plugin.py' is not loaded: plugins are switched off here" in outcome.err
    assert not trace.exists()
    assert f"runs Python code: {trace.with_name('plugin.py')}\n" in kingpost_cli(*words).err
    assert trace.exists()
