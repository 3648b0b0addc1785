"""``kingpost fmu-run`` as a user meets it."""

import functools
import json

import pytest

from kingpost.base.errors import FileError, SolverError
from kingpost.fmu.commands.run import FmuRunner
from kingpost.results.read_write import read_history
from tests.fmu.building import needs_compiler, oscillator

pytestmark = needs_compiler


@pytest.fixture
def command(run_verb):
    return functools.partial(run_verb, FmuRunner())


def test_the_command_writes_what_other_verbs_read(folder, command, tmp_path):
    words = ("--t-end", 1, "--set", "mass=1", "--outputs", "position,velocity", "--write", "csv", "--report")
    status, out, err = command(oscillator(folder), *words)
    assert status == 0 and "oscillator: [ok] instantiated, 1 degree of freedom" in err
    history = read_history(tmp_path / "results" / "oscillator")
    assert history.names == ("position", "velocity") and history.unit("velocity") == "m/s"
    assert history.provenance["fmu"]["start_values"] == {"mass": 1.0}
    assert (tmp_path / "results" / "oscillator" / "report.html").stat().st_size > 10_000
    assert "steps     100 of 0.01 s" in out and f"{history['position'][-1]:.6g} m at the end" in out
    status, out, err = command(oscillator(folder), "--json", "--quiet", "--out", "quiet", "--write", "csv")
    assert json.loads(out)["fmu"]["guid"] == "{oscillator}" and not err


def test_the_command_keeps_the_samples_of_a_crash(folder, command, tmp_path):
    assert command(oscillator(folder), "--out", "results", "--write", "csv")[0] == 0
    whole = (tmp_path / "results" / "history.csv").read_bytes()
    status, _, err = command(oscillator(folder, "CRASH_LATER"), "--out", "results", "--write", "csv")
    assert status == SolverError.exit_code
    assert "was killed by SIGSEGV" in err and "The 4 samples up to t = 0.03 s are in results/failed-history.csv" in err
    assert len(read_history(tmp_path / "results" / "failed-history.csv")) == 4
    assert (tmp_path / "results" / "history.csv").read_bytes() == whole


def test_a_hang_ends_within_the_time_allowed(folder, kingpost_cli, tmp_path):
    words = ("fmu-run", oscillator(folder, "HANG"), "--out", "results", "--write", "csv")
    outcome = kingpost_cli(*words, "--timeout", "0.5")
    assert outcome.status == SolverError.exit_code
    assert "did not come back within 0.5 s while stepping from t = 0.03 s by 0.01 s" in outcome.err
    assert "allow more (--timeout)" in outcome.err
    assert len(read_history(tmp_path / "results" / "failed-history.csv")) == 4
    outcome = kingpost_cli(*words, "--run-timeout", "0.01")
    assert "the run was given 0.01 s, and has no sample; allow more (--run-timeout)" in outcome.err


def test_the_command_refuses_clearly(folder, command):
    assert command("nothing.fmu")[0] == FileError.exit_code
    status, _, err = command(oscillator(folder), "--set", "mass")
    assert status == 3 and "write NAME=VALUE" in err
    status, _, err = command(oscillator(folder), "--set", "mas=1")
    assert status == 3 and "did you mean 'mass'?" in err
    status, _, err = command(oscillator(folder), "--write", "cvs")
    assert status == 4 and "did you mean 'csv'?" in err
    assert command(oscillator(folder), "--inputs", "nothing.csv")[0] == FileError.exit_code
