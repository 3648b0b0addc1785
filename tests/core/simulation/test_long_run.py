"""Runs that are written while they go on: the same numbers, whatever ends them, and memory that does not grow."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from kingpost import KingpostError, Mechanism, PluginSet, SolverError, prepare, read_history, run_into, simulate, write_run
from kingpost.modelfiles.opened import open_model
from kingpost.results import growing
from kingpost.results.growing import left_over
from kingpost.simulation import blocks

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked and killed as POSIX does")


@pytest.fixture(scope="module")
def pendulum() -> Mechanism:
    return open_model("double-pendulum", PluginSet(), []).mechanism


@pytest.fixture
def small(monkeypatch):
    """Let blocks be short, so that a short run has many."""
    monkeypatch.setattr(growing, "KEPT", 4000)


def test_the_same_numbers_as_all_at_once(tmp_path, pendulum, small):
    simulation = prepare(pendulum, 0.3, output_step=0.001, backend="vm", loads="all")
    done = run_into(simulation, tmp_path, writers="parquet,csv,hdf5")
    whole = simulation.run()
    assert done.samples == 301
    assert [path.name for path in done.files] == ["history.parquet", "history.csv", "history.h5", "run.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in done.files)
    for name in ("history.parquet", "history.csv", "history.h5", "run.json"):
        read = read_history(tmp_path / name)
        assert np.array_equal(read.time, whole.time)
        assert np.array_equal(read.values, whole.values)
        assert read.channels == whole.channels
        assert read.provenance["outcome"] == "complete"
        assert read.provenance["statistics"]["steps"] == whole.provenance["statistics"]["steps"] == 300
    for name in whole.names:
        assert (done.extremes[name].min(), done.extremes[name].max()) == (whole[name].min(), whole[name].max())
        assert done.extremes[name][-1] == whole[name][-1]
    forces = [np.linalg.norm(each.loads("elbow").total[:, 3:], axis=1) for each in (done.extremes, whole)]
    assert forces[0].max() == forces[1].max()


def test_a_solver_that_chooses_its_steps(tmp_path, pendulum, small):
    simulation = prepare(pendulum, 0.5, output_step=0.01, integrator="dop853")
    done = run_into(simulation, tmp_path, writers="csv")
    whole = simulation.run()
    assert np.array_equal(read_history(tmp_path).values, whole.values)
    assert done.extremes.provenance["statistics"] == whole.provenance["statistics"]


def child(work) -> int:
    """Do ``work`` in a process of its own and return how that ended."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.waitpid(pid, 0)[1]


@posix
@pytest.mark.parametrize("name", ["parquet", "hdf5", "csv"])
def test_killed(tmp_path, pendulum, small, name):
    simulation = prepare(pendulum, 1.0, output_step=0.001)
    whole = simulation.run()
    write_run(whole.between(0.0, 0.1), tmp_path, writers=["npz"])

    def killed(fraction):
        if fraction > 0.5:
            os.kill(os.getpid(), signal.SIGKILL)

    assert os.WTERMSIG(child(lambda: run_into(simulation, tmp_path, writers=name, progress=killed))) == signal.SIGKILL
    assert len(read_history(tmp_path)) == 101  # the earlier run is as it was
    (place,) = left_over(tmp_path)
    kept = read_history(place)
    assert 400 < len(kept) < 1001
    assert np.array_equal(kept.values, whole.values[: len(kept)])
    assert kept.provenance["outcome"] == "unfinished"
    assert "did not come to its end" in kept.provenance["warnings"][0]
    run_into(simulation, tmp_path, writers=name)
    assert len(read_history(tmp_path / "run.json")) == 1001
    assert left_over(tmp_path) == [place]  # nobody deletes what may be all that somebody has


def test_one_that_goes_on_is_not_left_over(tmp_path, pendulum, small):
    seen = []

    def look(fraction):
        places = list(tmp_path.glob("unfinished-*"))
        seen.append((len(places), len(left_over(tmp_path)), len(read_history(places[0])) if places else 0))

    run_into(prepare(pendulum, 1.0, output_step=0.001), tmp_path, writers="csv", progress=look)
    assert [entry[:2] for entry in seen[:-1]] == [(1, 0)] * (len(seen) - 1)
    assert seen[-2][2] > seen[0][2]


def test_interrupted(tmp_path, pendulum, small):
    simulation = prepare(pendulum, 1.0, output_step=0.001)

    def interrupt(fraction):
        if fraction > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"interrupted at t = 0.\d+ s\nThe \d+ samples up to .*interrupted-run.json"):
        run_into(simulation, tmp_path, writers="parquet", progress=interrupt)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["interrupted-history.parquet", "interrupted-run.json"]
    kept = read_history(tmp_path / "interrupted-run.json")
    assert kept.provenance["outcome"] == "interrupted"
    assert np.array_equal(kept.values, simulation.run().values[: len(kept)])
    assert len(kept) > 500


def test_no_more_memory(tmp_path, pendulum, small):
    def exhausted(fraction):
        if fraction > 0.5:
            raise MemoryError

    with pytest.raises(SolverError, match=r"no more memory at t = 0.\d+ s\nThe \d+ samples .*failed-history.csv"):
        run_into(prepare(pendulum, 1.0, output_step=0.001), tmp_path, writers="csv", progress=exhausted)
    assert read_history(tmp_path / "failed-run.json").provenance["outcome"] == "failed"


def test_a_run_that_cannot_go_on(tmp_path, small):
    chain = open_model("double-pendulum", PluginSet(), []).mechanism
    simulation = prepare(chain, 20.0, step=0.5, output_step=0.5, settings={"shoulder.angle": 3.0, "elbow.angle.rate": 50.0})
    with pytest.raises(SolverError) as whole:
        simulation.run()
    with pytest.raises(SolverError, match="failed-history.parquet") as error:
        run_into(simulation, tmp_path, writers="parquet")
    assert str(error.value).partition("\n")[0] == str(whole.value)
    assert np.array_equal(read_history(tmp_path / "failed-run.json").values, whole.value.history.values)


def test_what_cannot_be_written_so(tmp_path, pendulum):
    with pytest.raises(KingpostError, match="npz files cannot be written while a run goes on; take csv, hdf5, parquet"):
        run_into(prepare(pendulum, 1.0), tmp_path, writers="npz")
    with pytest.raises(KingpostError, match="monitors cannot be had of a run that is written while it goes on"):
        run_into(prepare(pendulum, 1.0, monitors=True), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_history_is_not_copied(pendulum):
    history = simulate(pendulum, 0.5)
    assert history.values.base is not None  # the room in which it was computed
    assert not history.values.flags.writeable
    assert not history.values.base.flags.writeable


def test_blocks_count_steps(pendulum):
    statistics = {}
    for _ in blocks.run_in_blocks(prepare(pendulum, 0.1), statistics=statistics):
        pass
    assert statistics == {"steps": 100}


MEASURE = """
import resource, sys
from kingpost import PluginSet, prepare, run_into
from kingpost.modelfiles.opened import open_model
model = open_model("double-pendulum", PluginSet(), []).mechanism
run_into(prepare(model, float(sys.argv[1]), output_step=0.001, loads="all"), sys.argv[2], writers=sys.argv[3])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parquet", "hdf5", "csv"])
def test_memory_does_not_grow(tmp_path, name):
    def most(seconds):
        command = [sys.executable, "-c", MEASURE, str(seconds), str(tmp_path), name]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    most(1)
    short, long = most(60), most(240)  # 5 and 20 million numbers, 40 and 160 MB
    assert long - short < 40_000  # kB


@posix
def test_the_command_writes_large_runs_while_they_go_on(tmp_path, monkeypatch, capsys):
    from kingpost.cli.main import main
    from kingpost.results import run_folder

    monkeypatch.setattr(run_folder, "LARGE", 10_000)
    words = ["run", "double-pendulum", "--t-end", "2", "--out", str(tmp_path)]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "written         while running" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["history.parquet", "run.json"]
    assert main([*words, "--write", "npz"]) == 0
    assert "a file of format npz takes all samples at once, so this run is kept in memory" in capsys.readouterr().err
    assert json.loads((tmp_path / "run.json").read_text())["files"] == ["history.npz"]
    monkeypatch.setattr(run_folder, "_installed", lambda name, plugins: False)
    assert main(words) == 0
    assert json.loads((tmp_path / "run.json").read_text())["files"] == ["history.csv"]
