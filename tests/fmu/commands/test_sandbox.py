"""``--sandbox`` of the verbs that run FMUs."""

import argparse
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from kingpost import KingpostError, read_history
from kingpost.fmu.commands.sandbox import files_of_system, run_in_sandbox
from kingpost.fmu.cosim import cosimulate
from kingpost.fmu.process.sandbox import sandbox_available
from tests.fmu.building import hostile, needs_compiler, oscillator
from tests.fmu.hostile_archives import ARCHIVES, DESCRIPTIONS

SYSTEM = """
name = "masses"
[run]
t_end = 0.4
step = 0.02
[components.a]
fmu = "{a}"
isolate = true
[components.b]
fmu = "{b}"
isolate = true
[[connections]]
from = "a.position"
to = "b.other"
[[connections]]
from = "b.force"
to = "a.force"
"""


@pytest.fixture
def command(tmp_path):
    """Run ``kingpost`` in a process of its own, which becomes another one."""
    reason = sandbox_available()
    if reason is not None:
        pytest.skip(f"needs a sandbox ({reason})")

    tmp_path.chmod(0o755)  # root gives commands to another user

    def run(*words):
        line = [sys.executable, "-m", "kingpost", *map(str, words)]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)

    return run


@needs_compiler
def test_a_run_has_the_same_results_in_a_sandbox(command, tmp_path):
    oscillator(tmp_path)
    (tmp_path / "force.csv").write_text("time,force\n0,1\n1,2\n")
    words = ("fmu-run", "oscillator.fmu", "--inputs", "force.csv", "--write", "csv")
    done = command(*words, "--sandbox")
    assert done.returncode == 0, done.stderr
    inside = read_history(tmp_path / "results" / "oscillator" / "history.csv")
    assert command(*words, "--out", "outside").returncode == 0
    np.testing.assert_array_equal(inside.values, read_history(tmp_path / "outside" / "history.csv").values)


@pytest.mark.slow
@needs_compiler
def test_components_in_processes_of_their_own_work_in_a_sandbox(command, tmp_path, masses, as_fmus, plugins):
    """Shared memory, pipes and lifelines; the FMUs are not in the folder of the system."""
    (tmp_path / "system").mkdir()
    path = tmp_path / "system" / "masses.toml"
    path.write_text(SYSTEM.format(**masses(2)))
    done = command("cosim", path, "--sandbox", "--out", "out", "--write", "npz", "--picture", "out/system.svg")
    assert done.returncode == 0, done.stderr
    expected = cosimulate(as_fmus(step=0.02, t_end=0.4), plugins=plugins)
    np.testing.assert_array_equal(read_history(tmp_path / "out" / "history.npz").values, expected.values)
    assert (tmp_path / "out" / "system.svg").is_file()
    done = command("cosim", path, "--sandbox", "--picture", "system.svg")
    assert done.returncode == KingpostError.exit_code
    assert "the picture can only be drawn in the folder of the results: --picture results/masses/x.svg" in done.stderr


@pytest.mark.slow
@needs_compiler
def test_a_component_that_crashes_in_a_sandbox_costs_no_results(command, tmp_path):
    hostile(tmp_path, "crash")
    (tmp_path / "system.toml").write_text('[run]\nt_end = 0.3\nstep = 0.1\n[components.a]\nfmu = "hostile.fmu"\n')
    done = command("cosim", "system.toml", "--sandbox", "--out", "out", "--write", "csv")
    assert done.returncode == 5 and "its process was killed by SIGSEGV while stepping" in done.stderr
    assert (tmp_path / "out" / "failed-history.csv").is_file()


@pytest.mark.slow
@needs_compiler
def test_checks_find_the_same_in_a_sandbox(command, tmp_path):
    fmu = oscillator(tmp_path, "LEAK")
    found = []
    for words in ((), ("--sandbox",)):
        done = command("fmu-check", fmu, "--json", "--skip", "speed", *words)
        assert done.returncode in (0, 8), done.stderr
        found.append({entry["name"]: entry["outcome"] for entry in json.loads(done.stdout)["checks"]})
    assert found[0] == found[1]


@pytest.mark.quick("link")
@pytest.mark.parametrize("kind", [*ARCHIVES, *DESCRIPTIONS])
def test_archives_made_to_do_harm_are_refused(command, tmp_path, kind):
    write, _ = {**ARCHIVES, **DESCRIPTIONS}[kind]
    write(tmp_path / "x.fmu")
    before = set(Path("/tmp").glob("kingpost-*"))
    done = command("fmu-run", "x.fmu", "--sandbox")
    assert done.returncode == 6 and done.stderr.startswith("kingpost: 'x.fmu'") and len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.rglob("escaped")) and not Path("/tmp/escaped").exists()
    assert not {path for path in set(Path("/tmp").glob("kingpost-*")) - before if "sandbox" in path.name}


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="needs root")
def test_root_is_told_of_files_that_the_user_of_the_sandbox_cannot_read(command, tmp_path):
    zipfile.ZipFile(tmp_path / "x.fmu", "w").close()
    (tmp_path / "x.fmu").chmod(0o600)
    done = command("fmu-check", "x.fmu", "--sandbox", "--only", "archive")
    assert done.returncode == KingpostError.exit_code and "allow others to read it, or run as an ordinary user" in done.stderr


@pytest.mark.parametrize("folder", [".", "..", "models"])
def test_a_folder_for_results_in_which_there_is_more_to_lose_is_refused(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    fmu = Path("models/x.txt")
    fmu.write_text("")
    with pytest.raises(KingpostError, match="can write in the folder of the results, and '.*' also holds .* choose one for"):
        run_in_sandbox(argparse.Namespace(words=[]), [fmu], Path(folder))


def test_what_a_system_is_made_of(tmp_path):
    (tmp_path / "system").mkdir()
    for name in ("a.fmu", "system/b.fmu"):
        (tmp_path / name).write_text("")
    path = tmp_path / "system" / "x.toml"
    path.write_text('[components.a]\nfmu = "../a.fmu"\n[components.b]\nfmu = "b.fmu"\nstart = ["x", {y = "../none.fmu"}]\n')
    found = {file.resolve() for file in files_of_system(path)}
    assert found == {tmp_path / "system", tmp_path / "a.fmu", tmp_path / "system" / "b.fmu"}
    assert files_of_system(tmp_path / "x.ssp") == [tmp_path / "x.ssp"]
