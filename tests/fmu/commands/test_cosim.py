"""``kingpost cosim`` as a user meets it."""

import json
import zipfile

import numpy as np
import pytest

from kingpost import read_history
from kingpost.fmu.cosim import (
    cosimulate,
    read_system,
)
from tests.fmu.building import needs_compiler

SYSTEM = """
name = "masses"
[run]
t_end = 0.4
step = 0.02
[components.a]
fmu = "{a}"
[components.b]
fmu = "{b}"
[[connections]]
from = "a.position"
to = "b.other"
[[connections]]
from = "b.force"
to = "a.force"
"""


@pytest.fixture
def system_file(tmp_path, masses):
    path = tmp_path / "masses.toml"
    path.write_text(SYSTEM.format(**masses(2)))
    return path


def test_a_run(system_file, kingpost_cli, tmp_path, as_fmus, plugins):
    outcome = kingpost_cli("cosim", system_file, "--out", "out", "--write", "csv,npz", "--picture", "system.svg")
    assert outcome.status == 0, outcome.err
    assert "2 components, 2 connections" in outcome.out
    assert "a.position" in outcome.out
    expected = cosimulate(as_fmus(step=0.02, t_end=0.4), plugins=plugins)
    found = read_history(tmp_path / "out" / "history.npz")
    np.testing.assert_array_equal(found.values, expected.values)
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["system"]["order"] == ["a", "b"]
    assert record["integrator"]["name"] == "jacobi"
    assert kingpost_cli("report", "out").status == 0
    picture = (tmp_path / "system.svg").read_text()
    assert picture.count("<!-- ") >= 4
    assert "<!-- position → other -->" in picture


def test_systems_of_other_tools(kingpost_cli, tmp_path, masses, as_fmus, plugins):
    """An SSP archive, the .ssd in it, and an OspSystemStructure.xml: the same numbers."""
    system = as_fmus(step=0.02, t_end=0.4)
    expected = cosimulate(system, plugins=plugins)
    with zipfile.ZipFile(system.write_ssp(tmp_path / "masses.ssp", plugins)) as archive:
        archive.extractall(tmp_path / "unpacked")
    structure = system.write_osp(tmp_path / "osp", plugins)
    for path in (tmp_path / "masses.ssp", tmp_path / "unpacked" / "SystemStructure.ssd", structure, structure.parent):
        outcome = kingpost_cli("cosim", path, "--out", "out", "--write", "npz")
        assert outcome.status == 0, outcome.err
        np.testing.assert_array_equal(read_history(tmp_path / "out" / "history.npz").values, expected.values)


@pytest.mark.parametrize(
    ("name", "folder"), [("../escaped", "escaped"), ("{folder}/absolute", ""), ("n" * 300, ""), ("a/../../b", "a-..-..-b")]
)
@pytest.mark.parametrize("kind", ["toml", "ssp"])
def test_the_name_of_a_system_does_not_decide_where_results_go(
    system_file, kingpost_cli, tmp_path, monkeypatch, plugins, name, folder, kind
):
    """Everything is below results/, and nothing else is written."""
    work = tmp_path / "work"
    (work / "results").mkdir(parents=True)
    name = name.format(folder=tmp_path)
    text = system_file.read_text().replace('"masses"', json.dumps(name)).replace("t_end = 0.4", "t_end = 0.02")
    path = work / "s.toml"
    path.write_text(text)
    if kind == "ssp":
        path = read_system(path).write_ssp(work / "s.ssp", plugins)
    before = {entry.name for entry in tmp_path.iterdir()}
    monkeypatch.chdir(work)
    outcome = kingpost_cli("cosim", path, "--write", "csv")
    assert outcome.status == 0, outcome.err
    (made,) = (work / "results").iterdir()
    assert made.name == folder or not folder
    assert (made / "history.csv").is_file()
    assert {entry.name for entry in tmp_path.iterdir()} == before
    assert json.loads((made / "run.json").read_text())["model"]["name"] == name


def test_a_name_that_is_none_is_refused_before_the_run(system_file, kingpost_cli):
    system_file.write_text(system_file.read_text().replace('"masses"', '"a\\u0000b"'))
    outcome = kingpost_cli("cosim", system_file)
    assert outcome.status == 3
    assert f"{system_file}:2: a system is called 'a\\x00b'; its name is a text of one line" in outcome.err


def test_a_look_without_a_run(system_file, kingpost_cli, tmp_path):
    outcome = kingpost_cli("cosim", system_file, "--check", "--master", "gauss-seidel")
    assert outcome.status == 0, outcome.err
    for words in (
        "a -> b",
        "a.position -> b.other",
        "inputs without a connection: speed",
        "algebraic loop  none",
        "can go back",
    ):
        assert words in outcome.out
    assert not (tmp_path / "results").exists()
    described = json.loads(kingpost_cli("cosim", system_file, "--check", "--json").out)
    assert described["components"]["b"]["open_inputs"] == ["speed"]
    assert described["algebraic_loops"] == []


def test_mistakes_end_with_the_status_of_other_commands(system_file, kingpost_cli):
    outcome = kingpost_cli("cosim", system_file, "--master", "nobody")
    assert outcome.status == 4
    system_file.write_text(system_file.read_text().replace("b.other", "b.othr"))
    outcome = kingpost_cli("cosim", system_file)
    assert outcome.status == 3
    assert (
        "masses.toml:10: connection from 'a.position' to 'b.othr': 'b' has no input 'othr'; did you mean 'other'" in outcome.err
    )
    assert kingpost_cli("cosim", "none.toml").status == 6


@needs_compiler
def test_a_hang_ends_within_the_time_that_the_file_or_the_command_allows(broken, kingpost_cli, tmp_path):
    text = f'[run]\nt_end = 0.1\ntimeout = 0.5\n[components.spring]\nfmu = "{broken("HANG")}"\n'
    (tmp_path / "system.toml").write_text(text)
    outcome = kingpost_cli("cosim", "system.toml", "--out", "out", "--write", "csv")
    assert outcome.status == 5
    assert "did not answer within 0.5 s while stepping" in outcome.err and "allow more (--timeout)" in outcome.err
    assert len(read_history(tmp_path / "out" / "failed-history.csv")) == 4
    outcome = kingpost_cli("cosim", "system.toml", "--timeout", "0.7", "--out", "out", "--write", "csv")
    assert "did not answer within 0.7 s" in outcome.err
    (tmp_path / "system.toml").write_text(text.replace("0.5", "-1"))
    outcome = kingpost_cli("cosim", "system.toml")
    assert outcome.status == 3 and "timeout is -1" in outcome.err


def test_fmus_can_be_kept_in_the_process_or_apart(masses, kingpost_cli, tmp_path):
    paths = masses(2)
    (tmp_path / "system.toml").write_text(
        f'[components.a]\nfmu = "{paths["a"]}"\nisolate = true\n[components.b]\nfmu = "{paths["b"]}"\n'
    )

    def isolated(*words):
        components = json.loads(kingpost_cli("cosim", "system.toml", "--check", "--json", *words).out)["components"]
        return [components[name]["isolated"] for name in "ab"]

    assert isolated() == isolated("--in-process") == [True, False]
    (tmp_path / "copy.fmu").write_bytes(paths["b"].read_bytes() + b" ")  # other bytes, the same archive
    (tmp_path / "system.toml").write_text(
        '[components.a]\nfmu = "copy.fmu"\n[components.b]\nfmu = "copy.fmu"\nisolate = true\n'
    )
    assert isolated() == [True, True]
    assert isolated("--in-process") == [False, True]


@needs_compiler
def test_what_a_failed_run_had_computed_is_on_disk(broken, kingpost_cli, tmp_path):
    (tmp_path / "system.toml").write_text(
        f'[run]\nt_end = 0.1\n[components.spring]\nfmu = "{broken("NAN_LATER")}"\nisolate = false\n'
    )
    outcome = kingpost_cli("cosim", "system.toml", "--out", "out", "--write", "csv")
    assert outcome.status == 5
    assert "is nan at t = 0.04 s" in outcome.err
    assert "The 4 samples up to t = 0.03 s are in" in outcome.err
    kept = read_history(tmp_path / "out" / "failed-history.csv")
    assert kept.time.tolist() == pytest.approx([0, 0.01, 0.02, 0.03])
    assert json.loads((tmp_path / "out" / "failed-run.json").read_text())["outcome"] == "failed"
