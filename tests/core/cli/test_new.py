"""Files to start from run as they are."""

import subprocess
import sys

import pytest

from kingpost import PluginSet
from kingpost.base.toml import tomllib
from kingpost.cli.new import KINDS, STARTS
from kingpost.studies.study_file import read_study


def run_tests_of(folder):
    quiet = ["-q", "-p", "no:cacheprovider", "--rootdir", folder, "-c", folder / "pyproject.toml"]
    return subprocess.run([sys.executable, "-m", "pytest", *quiet, folder], capture_output=True, text=True, check=False)


def test_a_model_runs_at_once(kingpost_cli, tmp_path):
    said = kingpost_cli("new", "model", "my-crane")
    assert said.out.splitlines() == ["wrote my-crane.toml", "try   kingpost run my-crane.toml"]
    done = kingpost_cli("run", "my-crane.toml", "--t-end", "1", "--backend", "vm", "--write", "csv")
    assert done.status == 0, done.err
    assert "my-crane (3 degrees of freedom)" in done.out


@pytest.mark.parametrize("kind", KINDS)
def test_a_plugin_can_be_used_at_once(kind, kingpost_cli, tmp_path):
    said = kingpost_cli("new", "plugin", "My-own", "--kind", kind)
    assert said.status == 0
    plugins = PluginSet([tmp_path / "my-own" / "my_own.py"], entry_points=False)
    (row,) = (row for row in plugins.listing() if row["name"] == "my-own")
    assert (row["kind"], row["origin"]) == (kind, "file")
    project = tomllib.loads((tmp_path / "my-own" / "pyproject.toml").read_text())
    assert project["project"]["entry-points"]["kingpost"] == {"my-own": "my_own"}
    assert project["tool"]["setuptools"]["py-modules"] == ["my_own"]
    command = said.out.splitlines()[1].removeprefix("try   kingpost ").split()
    extra = ["--t-end", "0.1", "--backend", "vm", "--write", "csv"] if command[0] == "run" else []
    done = kingpost_cli(*command, *extra)
    assert done.status == 0, done.err
    assert "my-own" in done.out


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_plugin_passes_its_own_tests(kind, kingpost_cli, tmp_path):
    kingpost_cli("new", "plugin", "mine", "--kind", kind)
    done = run_tests_of(tmp_path / "mine")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


@pytest.mark.slow
def test_a_study_runs_at_once(kingpost_cli, tmp_path):
    said = kingpost_cli("new", "study", "my-seas")
    done = kingpost_cli(*said.out.splitlines()[1].removeprefix("try   kingpost ").split())
    assert done.status == 0, done.err
    assert "6 of 6 done" in done.out
    assert "LIFE [years]" in done.out


def test_a_study_can_be_read(kingpost_cli, plugins, tmp_path):
    kingpost_cli("new", "study", "my-seas")
    study = read_study(tmp_path / "my-seas" / "study.toml", plugins)
    assert study.name == "my-seas"
    (sampler,) = study.samplers
    assert len(list(sampler.cases())) == 6


def test_what_exists_is_left_alone(kingpost_cli, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "scatter.csv").write_text("precious")
    refused = kingpost_cli("new", "study", "mine")
    assert refused.status == 6
    assert "'mine/scatter.csv' exists already" in refused.err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["scatter.csv"]
    assert (tmp_path / "mine" / "scatter.csv").read_text() == "precious"


@pytest.mark.parametrize("name", ["9crane", "../crane", "a b", "", "crane-", "ü"])
def test_names_that_cannot_be_files_are_refused(name, kingpost_cli, tmp_path):
    refused = kingpost_cli("new", "model", name)
    assert refused.status == 3
    assert "use a letter" in refused.err
    assert list(tmp_path.iterdir()) == []


def test_words_of_python_are_no_plugins(kingpost_cli, tmp_path):
    assert "is a word of Python" in kingpost_cli("new", "plugin", "while").err
    assert list(tmp_path.iterdir()) == []


def test_every_place_holder_is_filled(kingpost_cli, tmp_path):
    kingpost_cli("new", "model", "a1", "--into", "there")
    kingpost_cli("new", "study", "a2", "--into", "there")
    for kind in KINDS:
        kingpost_cli("new", "plugin", f"a-{kind}", "--kind", kind, "--into", "there")
    written = [path for path in (tmp_path / "there").rglob("*") if path.is_file()]
    assert len(written) == 1 + 3 + 4 * len(KINDS)
    for path in written:
        for word in ("@NAME@", "@MODULE@", "@CLASS@", "@KIND@", "@WHAT@", "@TRY@"):
            assert word not in path.read_text(), path
    assert len(list(STARTS.iterdir())) == 1 + 3 + 2 + 2 * len(KINDS)
